"""The work of a whole verification grows as its program does, counted in calls of functions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_program
from dipapprox.pairs.adjacency import OrderedPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify
from tests.work import calls

PROGRAMS = Path(__file__).parent.parent / "programs"


def work(name: str, size: int) -> int:
    """Count the calls of one pair's verification."""
    text = read_program(PROGRAMS / f"{name}.dpg")

    def run() -> None:
        program = elaborate(text, {"N": Fraction(size)}, name)
        zeros = (program.inputs[0].domain[0],) * size
        ones = (program.inputs[0].domain[-1],) * size
        claim = Claim(Fraction(1, 2), delta=Fraction(1, 100))
        verdict = verify(program, claim, OrderedPairs(((zeros, ones),)), Options())
        assert verdict.answer is Answer.DP
        assert verdict.final_states in (size, size + 1)

    return calls(run)


@pytest.mark.parametrize(
    ("name", "sizes", "most"), [("svt_gauss", (50, 150), 3.2), ("noisy_max_gauss", (20, 40), 4.2)]
)
def test_work_grows_as_the_guards_do(name: str, sizes: tuple[int, int], most: float) -> None:
    """Sparse vectors have linearly many guards, argmax has quadratically many."""
    work(name, sizes[0])  # what is imported and remembered at the first use
    first, second = (work(name, size) for size in sizes)
    assert second < most * first
