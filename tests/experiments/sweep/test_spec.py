"""Specs: what they mean, and the errors of bad ones, all before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import UserError
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no grid"),
        ("grid = 3", "'grid' must be tables"),
        ("[[grid]\n", "not TOML"),
        ("eps = nan", "nan is no number"),
        ("eps = -inf", "-inf is no number"),
        ("eps = 1e999999999", "1e999999999 is too long or too extreme"),
        ("[limits]\ntimeout = 1e300\n" + GRID, "timeout is at most"),
        ("[limits]\nmemory = 1e300\n" + GRID, "memory is at most"),
        ("[[grids]]", "unknown key 'grids'"),
        ("[limit]\n" + GRID, "unknown key 'limit'"),
        ("[limits]\ntimeout = 0\n" + GRID, "timeout must be a number > 0, got 0"),
        ('[limits]\ntimeout = "5"\n' + GRID, "timeout must be a number > 0"),
        ("[limits]\nmemory = 1.5\n" + GRID, "memory must be whole MiB"),
        ("[[grid]]\n", "has no task"),
        ('[[grid]]\ntask = "verfy"\n', "unknown task 'verfy'"),
        (GRID + "epsprv = 1\n", "unknown key 'epsprv'"),
        (GRID.replace("eps = 1\n", ""), "'eps' is missing"),
        (GRID.replace("delta = 0", "delta = 2"), "delta"),
        (GRID.replace("delta = 0", "delta = true"), "delta"),
        (GRID.replace("delta = 0", "delta = []"), "has no values"),
        (GRID.replace("delta = 0", "delta = [0, 0.0]"), "the value 0 comes twice"),
        (GRID.replace("delta = 0", "delta = [[0]]"), "got a list"),
        (GRID.replace("delta = 0", "delta = { from = 1, to = 0 }"), "before its start"),
        (GRID.replace("delta = 0", "delta = { from = 0, to = 1, stp = 1 }"), "'stp'"),
        (GRID.replace("delta = 0", "delta = { from = 0, to = 1, step = 0 }"), "must be > 0"),
        (GRID.replace("eps = 1", "eps = -1"), "eps must be > 0"),
        (GRID.replace("eps = 1", 'eps = "one"'), "eps"),
        (GRID + 'engine = "nestd"\n', "unknown value 'nestd'"),
        (GRID + "precision = 1\n", "precision must be in"),
        (GRID + "precision = 40.5\n", "whole number of bits"),
        (GRID + 'pairs = "pairs.json"\n', "names no pairs"),
        (GRID + "parameters = { M = 1 }\n", "M"),
        (GRID + 'parameters = { N = "x" }\n', "parameter 'N'"),
        (GRID.replace("p.dpg", "missing.dpg"), "grid 1: there is no file"),
        (GRID.replace("p.dpg", "*.txt"), "no program matches"),
        (GRID.replace('["p.dpg"]', "3"), "'programs' must name files"),
        (
            GRID.replace("delta = 0", "delta = { from = 0, to = 1, count = 100000 }").replace(
                "eps = 1", "eps = { from = 1, to = 10000 }"
            ),
            "1000000000 cases; at most 1000000",
        ),
        (
            GRID.replace("delta = 0", "delta = { from = 0, to = 1, step = 1e-9 }"),
            "a range of 1000000001 values",
        ),
        (
            '[[grid]]\ntask = "profile"\nprograms = "p.dpg"\neps_prv = 1\ndelta = 0\neps = 1\n',
            "one question at a time",
        ),
    ],
)
def test_bad_specs_are_refused_with_the_place(read: Read, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read(text)
    assert message in caught.value.render()


def test_a_wrong_program_is_refused_before_anything_runs(read: Read, tmp_path: Path) -> None:
    read(GRID)
    (tmp_path / "p.dpg").write_text(PROGRAM.replace("Lap", "Lop"))
    with pytest.raises(UserError, match="Lop"):
        check_programs(read_spec(tmp_path / "grid.toml"))


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
