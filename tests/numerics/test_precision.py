"""Exact in, proved out: conversions between fractions and balls."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure


@pytest.mark.parametrize("wrong", [0.1, 1.0, "1", None, arb(1)])
def test_only_exact_numbers_become_balls(wrong: object) -> None:
    with pytest.raises(TypeError):
        to_ball(wrong)  # type: ignore[arg-type]  # that is refused


def test_immense_exponents_stay_small_and_sound() -> None:
    with precision(64):
        tiny = to_enclosure(arb(-(10**12)).exp())
        negative = to_enclosure(-(arb(-(10**12)).exp()))
        assert isinstance(to_enclosure(arb(10**12).exp()), NotEnclosed)
        with pytest.raises(OverflowError):
            exact_fraction(arb(-(10**12)).exp().mid())
    assert tiny.lower <= 0 < tiny.upper < Fraction(1, 2**60000)
    assert negative.lower < 0 <= negative.upper
