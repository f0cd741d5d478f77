"""Suprema, exact where they are limits, and the sets where functions are negative."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exact.signs.negative_set import NegativeRange, negative_set
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exact.signs.supremum import (
    Infinity,
    Supremum,
    derivative,
    enclose_supremum,
    limit_at_infinity,
    limit_at_zero,
)
from dipapprox.exact.signs.values import compare_at, enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from exact.sign_functions import EPS, OMEGA, OMEGA_BOUNDS, ONE, coarse_functions, constant, exp

LIMITS = Limits()
F = Fraction
TINY = F(1, 10**20)


def test_interior_maximum() -> None:
    # x e^-x is largest at 1, a rational zero of its derivative, with the value e^-1.
    found = enclose_supremum(EPS * exp(-1), ALL_EPSILONS, TINY, LIMITS)
    assert isinstance(found, Supremum)
    assert found.place == Enclosure.exact(1)
    assert found.value.width <= TINY
    assert F("0.36787944117144232159") in Enclosure(found.value.lower - TINY, found.value.upper)
    # e^-x - e^-2x is largest at ln 2, with the value 1/4.
    found = enclose_supremum(exp(-1) - exp(-2), ALL_EPSILONS, TINY, LIMITS)
    assert isinstance(found, Supremum)
    assert F(1, 4) in found.value
    assert found.value.width <= TINY
    assert found.place is not None
    assert found.place.lower < F("0.693147180559945309417232") < found.place.upper


def test_intervals_cut_the_maximum_off() -> None:
    part = EpsilonInterval(F(2), F(3))
    found = enclose_supremum(EPS * exp(-1), part, TINY, LIMITS)
    assert isinstance(found, Supremum)
    assert found.place == Enclosure.exact(2)
    assert compare_at(EPS * exp(-1), constant(found.value.upper), F(2), LIMITS) <= 0
    point = EpsilonInterval(F(2), F(2), True, True)
    assert enclose_supremum(EPS, point, TINY, LIMITS) == Supremum(
        Enclosure.exact(2), Enclosure.exact(2)
    )
    assert enclose_supremum(EPS, part, TINY, LIMITS) == Supremum(
        Enclosure.exact(3), Enclosure.exact(3)
    )


def test_unbounded_functions() -> None:
    assert isinstance(enclose_supremum(EPS, ALL_EPSILONS, TINY, LIMITS), NotEnclosed)
    pole = ExponentialRatio.of(ONE, {ONE - exp(-1): 1})
    assert isinstance(enclose_supremum(pole, ALL_EPSILONS, TINY, LIMITS), NotEnclosed)


def test_ratios() -> None:
    # x / (e^x - 1) -> 1 at 0, tanh(x / 2) -> 1 at infinity, x / (1 + x²) has its maximum 1/2 at 1.
    bose = ExponentialRatio.of(EPS, {exp(1) - ONE: 1})
    assert enclose_supremum(bose, ALL_EPSILONS, TINY, LIMITS) == Supremum(
        Enclosure.exact(1), Enclosure.exact(0)
    )
    tanh = ExponentialRatio.of(ONE - exp(-1), {ONE + exp(-1): 1})
    assert enclose_supremum(tanh, ALL_EPSILONS, TINY, LIMITS) == Supremum(Enclosure.exact(1), None)
    witch = ExponentialRatio.of(EPS, {ONE + EPS * EPS: 1})
    assert enclose_supremum(witch, ALL_EPSILONS, TINY, LIMITS) == Supremum(
        Enclosure.exact(F(1, 2)), Enclosure.exact(1)
    )


@pytest.mark.parametrize("power", [1, 2, 3])
def test_limits_of_ratios(power: int) -> None:
    # (e^2x - 1)² is 4x² near 0.
    ratio = ExponentialRatio.of((exp(2) - ONE) ** 2, {exp(1) - ONE: power})
    assert limit_at_zero(ratio) == {1: 0, 2: 4, 3: Infinity.PLUS}[power]
    assert limit_at_infinity(-ratio) is Infinity.MINUS
    below = ExponentialRatio.of(exp(2) + EPS, {exp(1) + EPS: power})
    assert limit_at_infinity(below) == {1: Infinity.PLUS, 2: 1, 3: 0}[power]
    assert limit_at_infinity(ExponentialRatio.of(EPS * exp(1), {exp(1): 1})) is Infinity.PLUS


@given(coarse_functions, coarse_functions)
def test_derivatives_of_ratios_are_difference_quotients(
    above: ExponentialPolynomial, below: ExponentialPolynomial
) -> None:
    below = below * below + ONE
    if below.as_constant() is not None:
        return
    ratio = ExponentialRatio.of(above, {below: 1})
    step, at = F(1, 10**12), F(7, 5)
    slope, left, right = (
        enclose_at(f, x, 100, LIMITS)
        for f, x in ((derivative(ratio), at), (ratio, at - step), (ratio, at + step))
    )
    assert isinstance(slope, Enclosure)
    assert isinstance(left, Enclosure)
    assert isinstance(right, Enclosure)
    quotient = (right.lower - left.lower) / (2 * step)
    assert abs(quotient - slope.lower) < F(1, 10**12)


@given(coarse_functions)
def test_the_supremum_is_a_bound_and_is_reached(function: ExponentialPolynomial) -> None:
    decaying = function * exp(-3)
    width = F(1, 10**9)
    found = enclose_supremum(decaying, ALL_EPSILONS, width, LIMITS)
    if isinstance(found, NotEnclosed):
        assert limit_at_infinity(decaying) is Infinity.PLUS
        return
    assert found.value.width <= width
    above = constant(found.value.upper) - decaying
    assert isinstance(is_nonnegative(above, ALL_EPSILONS, LIMITS), Nonnegative)
    below = constant(found.value.lower - width) - decaying
    assert isinstance(is_nonnegative(below, ALL_EPSILONS, LIMITS), Negative)


def test_negative_set_of_svt3() -> None:
    # Spec section 8, oracle 4: e^eps / 192 against the printed form, violated until 0.871788.
    first = (
        exp(F(-1, 2)).scaled(F(-85, 192))
        + exp(-1).scaled(F(5, 12))
        + exp(F(-3, 2)).scaled(F(1, 32))
        + EPS * (exp(F(-1, 2)) + exp(-1)).scaled(F(1, 8))
    )
    gap = exp(1).scaled(F(1, 192)) - first
    (found,) = negative_set(gap, ALL_EPSILONS, TINY, LIMITS)
    assert found.upper is not None
    assert F("0.8717875") < found.upper.lower < F("0.8717885")


def test_negative_sets_at_ends_and_between() -> None:
    double = OMEGA * OMEGA * (EPS - ONE)
    found = negative_set(double, ALL_EPSILONS, TINY, LIMITS)
    assert len(found) == 2  # the double zero is not in the set
    assert found[0].upper == found[1].lower
    assert OMEGA_BOUNDS[0] < found[1].lower.lower < OMEGA_BOUNDS[1]
    assert found[1].upper == Enclosure.exact(1)
    part = negative_set(ONE - EPS, EpsilonInterval(F(1, 2), F(2)), TINY, LIMITS)
    assert part == (NegativeRange(Enclosure.exact(1), Enclosure.exact(2)),)
    closed = EpsilonInterval(F(1, 2), F(2), lower_included=True, upper_included=True)
    (upwards,) = negative_set(ONE - EPS, closed, TINY, LIMITS)
    assert (upwards.lower_included, upwards.upper_included) == (False, True)
    (downwards,) = negative_set(EPS - ONE, closed, TINY, LIMITS)
    assert (downwards.lower_included, downwards.upper_included) == (True, False)
    from_zero = EpsilonInterval(F(1), F(2), lower_included=True, upper_included=True)
    (touching,) = negative_set(ONE - EPS, from_zero, TINY, LIMITS)
    assert (touching.lower_included, touching.upper_included) == (False, True)
    assert negative_set(ONE - EPS, ALL_EPSILONS, TINY, LIMITS) == (
        NegativeRange(Enclosure.exact(1), None),
    )
    assert negative_set(constant(0), ALL_EPSILONS, TINY, LIMITS) == ()
    pole = ExponentialRatio.of(ONE, {ONE - EPS: 1})
    assert negative_set(pole, ALL_EPSILONS, TINY, LIMITS) == (
        NegativeRange(Enclosure.exact(1), None),
    )
