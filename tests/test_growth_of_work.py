"""The work of a whole verification grows as its program does, counted in calls of functions."""

from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox import Answer, Claim, Limits, Options
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from tests.cases import cases
from tests.texts import text_of, texts_in
from tests.work import calls

PROGRAMS = Path(__file__).parent.parent / "programs"


def work(name: str, size: int) -> int:
    """Count the calls of one pair's verification."""
    text = read_source(PROGRAMS / f"{name}.dpg", {}).program

    def run() -> None:
        program = elaborate(text, {"N": Fraction(size)}, name)
        zeros = (program.inputs[0].domain[0],) * size
        ones = (program.inputs[0].domain[-1],) * size
        claim = Claim(Fraction(1, 2), delta=Fraction(1, 100))
        verdict = verify(Setting(program, OrderedPairs(((zeros, ones),)), Options()), claim)
        assert verdict.answer is Answer.DP
        assert verdict.final_states in (size, size + 1)

    return calls(run)


@cases("name, sizes, most", ("svt_gauss", (20, 60), 2.3), ("noisy_max_gauss", (12, 24), 2.0))
def test_work_grows_as_the_guards_do(name, sizes, most) -> None:
    """Sparse vectors have linearly many guards, argmax has quadratically many."""
    work(name, sizes[0])  # what is imported and remembered at the first use
    first, second = (work(name, size) for size in sizes)
    assert second < most * first


CHANCES = texts_in("chances")
"""Loops with random choices, whose paths double with every round."""


@pytest.mark.parametrize("name", CHANCES)
def test_work_grows_as_the_rounds_do(name) -> None:
    text = parse(CHANCES[name], "chances")

    def work(rounds: int) -> int:
        def run() -> None:
            program = elaborate(text, {"N": Fraction(rounds)}, "chances")
            claim = Claim(Fraction(1, 2), delta=Fraction(1, 2))
            verify(Setting(program, AllPairs(), Options()), claim)

        return calls(run)

    work(3)
    assert work(12) < 3.3 * work(4)


def test_a_walk_takes_the_same_work_for_every_place_and_round() -> None:
    """N rounds have N² / 2 places: calls for one of them, with the union of half of all ends."""
    text = parse(text_of("tests/growth_of_work-walk"), "walk")

    def work(rounds: int) -> float:
        program = elaborate(text, {"N": Fraction(rounds)}, "walk")
        return calls(lambda: execute(program, True, Limits(), compared=True)) / rounds**2

    work(3)
    assert work(60) < 150
