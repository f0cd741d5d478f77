"""Exact in, proved out: conversions between fractions and balls."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure


@given(st.integers(-(2**90), 2**90), st.integers(-300, 300), st.integers(0, 2**25))
def test_dyadic_balls_survive_the_round_trip_exactly(
    mantissa: int, exponent: int, radius: int
) -> None:
    scale = Fraction(2) ** exponent
    with precision(128):
        ball = arb((mantissa, exponent), (radius, exponent))
        enclosure = to_enclosure(ball)
        assert exact_fraction(ball.mid()) == mantissa * scale
    assert isinstance(enclosure, Enclosure)
    assert enclosure.lower <= (mantissa - radius) * scale
    assert enclosure.upper >= (mantissa + radius) * scale
    # flint keeps 30 bits of a radius: all of ours.
    assert enclosure.width == 2 * radius * scale


def test_nested_blocks_restore_in_order() -> None:
    with precision(100):
        with precision(200):
            assert ctx.prec == 200
        assert ctx.prec == 100


@pytest.mark.parametrize("wrong", [0.1, 1.0, "1", None, arb(1)])
def test_only_exact_numbers_become_balls(wrong: object) -> None:
    with pytest.raises(TypeError):
        to_ball(wrong)  # type: ignore[arg-type]  # that is refused


@pytest.mark.parametrize("ball", [arb("nan"), arb("inf"), arb(0, arb("inf")), arb(1) / 0])
def test_non_finite_balls_are_not_enclosed(ball: arb) -> None:
    assert isinstance(to_enclosure(ball), NotEnclosed)


def test_immense_exponents_stay_small_and_sound() -> None:
    with precision(64):
        tiny = to_enclosure(arb(-(10**12)).exp())
        negative = to_enclosure(-(arb(-(10**12)).exp()))
        assert isinstance(to_enclosure(arb(10**12).exp()), NotEnclosed)
        with pytest.raises(OverflowError):
            exact_fraction(arb(-(10**12)).exp().mid())
    assert isinstance(tiny, Enclosure)
    assert isinstance(negative, Enclosure)
    assert tiny.lower <= 0 < tiny.upper < Fraction(1, 2**60000)
    assert negative.lower < 0 <= negative.upper
