"""The wrapper of flint's integrator: enclosures, limits and exceptions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.boxes import Box
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import LimitReached
from dipapprox.laws.families import GAUSSIAN
from dipapprox.numerics.nested.evaluation import Effort, integrate

EFFORT = Effort(60, arb(2) ** -20, 20_000)


def density(x: arb) -> arb:
    return GAUSSIAN.pdf(x, 0)


def density_bound(z: acb) -> arb:
    return GAUSSIAN.pdf_bound(Box.around(z), 0)


ends = st.fractions(-9, 9, max_denominator=16)


@given(ends, ends)
def test_gaussian_integrals_contain_the_distribution_function(a: Fraction, b: Fraction) -> None:
    with precision(100):
        lower, upper = to_ball(a).mid(), to_ball(b).mid()
        found = integrate(density, density_bound, lower, upper, EFFORT)
        assert found.overlaps(GAUSSIAN.mass(lower, upper, 0, 0))
        enclosure = to_enclosure(found)
    assert enclosure.width < Fraction(1, 2**54)


def test_an_empty_range_is_exactly_zero() -> None:
    assert integrate(density, density_bound, arb(1), arb(1), EFFORT).is_zero()


@pytest.mark.parametrize("error", [LimitReached("time limit: 1 s"), KeyboardInterrupt()])
def test_exceptions_arrive_as_they_were_raised_and_at_once(error: BaseException) -> None:
    calls = 0

    def failing(x: arb) -> arb:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise error
        return density(x)

    with precision(100), pytest.raises(type(error)) as caught:
        integrate(failing, density_bound, arb(-8), arb(8), EFFORT)
    assert caught.value is error
    assert calls == 5
