"""Suprema, exact where they are limits, and the sets where functions are negative."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exact.signs.negative_set import negative_set
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exact.signs.supremum import Infinity, Supremum, enclose_supremum, limit_at_infinity
from dipapprox.exact.signs.values import compare_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from exact.sign_functions import EPS, ONE, coarse_functions, constant, exp

LIMITS = Limits()
F = Fraction
TINY = F(1, 10**20)


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
    assert F("0.8717875") < found.upper.lower < F("0.8717885")
