"""Specs: what they mean, and the errors of bad ones, all before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.experiments.sweep.spec import Spec, read_axis, read_spec
from dipapprox.experiments.sweep.sweep import check_programs

PROGRAM = """param N = 1
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
r <- Lap(q, N / eps)
if r >= 1 then out <- 1 end
"""

GRID = '[[grid]]\ntask = "verify"\nprograms = ["p.dpg"]\neps = 1\ndelta = 0\n'

Read = Callable[[str], Spec]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a spec that stands beside the program p.dpg, and check its programs."""
    (tmp_path / "p.dpg").write_text(PROGRAM)

    def from_text(text: str) -> Spec:
        path = tmp_path / "grid.toml"
        path.write_text(text)
        spec = read_spec(path)
        check_programs(spec)
        return spec

    return from_text


def test_patterns_name_programs(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "q.dpg").write_text(PROGRAM)
    spec = read(GRID.replace('"p.dpg"', '"**/*.dpg"'))
    assert [p.name for p in spec.grids[0].programs] == ["more/q.dpg", "p.dpg"]


@given(
    st.fractions(-5, 5, max_denominator=50),
    st.fractions(Fraction(1, 20), 2, max_denominator=20),
    st.integers(1, 30),
)
def test_ranges_are_exact_and_include_both_ends(
    first: Fraction, step: Fraction, count: int
) -> None:
    last = first + step * (count - 1)
    table = {"from": str(first), "to": str(last), "step": str(step)}
    values = [Fraction(v) for v in read_axis("x", table, "x").values]
    assert values == [first + k * step for k in range(count)]
    if count > 1:
        by_count = {"from": first, "to": last, "count": count}
        assert [Fraction(v) for v in read_axis("x", by_count, "x").values] == values
