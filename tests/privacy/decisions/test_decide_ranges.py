"""Ends of violated ranges hold for the true δ, also where δ is known by brackets only."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.language.load import load
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.signs import merged
from dipapprox.privacy.options import Options

PROGRAMS = Path(__file__).parents[3] / "programs" / "dipc"
SVT4 = PROGRAMS / "svt4.dpg"


@pytest.mark.parametrize("sensitivity", ["1/1000000", "1/1000000000000"])
def test_where_noise_is_tiny_so_is_the_epsilon_of_the_witness(sensitivity: str) -> None:
    # SVT4 with sensitivity Δ at ε is SVT4 with 1 at ε/Δ: at ε = 1 both sides are below e^-250000.
    program = load(SVT4, {"Delta": Fraction(sensitivity)})
    question = DecisionQuestion(Fraction(1), read_delta("0"))
    found = decide(program, question, AllPairs(), Options()).violation
    assert found.left.lower > found.right.upper > 0
    assert found.eps / Fraction(sensitivity) < 200
    assert found.checked_by is not None


def _range(lower: int, upper: int | None, blur: Fraction = Fraction(0)) -> NegativeRange:
    end = None if upper is None else Enclosure(upper - blur, upper + blur)
    return NegativeRange(Enclosure(lower - blur, lower + blur), end)


def test_the_union_of_ranges() -> None:
    assert merged([]) == ()
    assert merged([_range(3, 4), _range(0, 2), _range(1, 3)]) == (_range(0, 3), _range(3, 4))
    assert merged([_range(1, 5), _range(2, None), _range(0, 1)]) == (_range(0, 1), _range(1, None))
    from_end = replace(_range(1, 3), lower_included=True)
    to_end = replace(_range(2, 4), upper_included=True)
    assert merged([_range(1, 2), from_end, _range(3, 4), to_end]) == (
        NegativeRange(Enclosure.exact(1), Enclosure.exact(4), True, True),
    )
    blur = Fraction(1, 10)
    # These may touch or not.
    assert merged([_range(1, 2, blur), _range(2, 3, blur)]) == (
        _range(1, 2, blur),
        _range(2, 3, blur),
    )
    (joined,) = merged([_range(1, 3, blur), _range(2, 4, blur), _range(1, 2)])
    assert joined == NegativeRange(Enclosure(1 - blur, Fraction(1)), Enclosure(4 - blur, 4 + blur))
