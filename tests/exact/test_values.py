"""Exact signs and relative enclosures at one ε."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.values import compare_at, enclose_at, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from exact.sign_functions import EPS, ONE, exp, functions

LIMITS = Limits()
epsilons = st.fractions(Fraction(1, 50), Fraction(20), max_denominator=50)


@given(functions, functions, epsilons)
def test_signs_are_those_of_a_ring(
    left: ExponentialPolynomial, right: ExponentialPolynomial, eps: Fraction
) -> None:
    sign_left, sign_right = sign_at(left, eps, LIMITS), sign_at(right, eps, LIMITS)
    assert sign_at(left * right, eps, LIMITS) == sign_left * sign_right
    assert compare_at(left, right, eps, LIMITS) == -compare_at(right, left, eps, LIMITS)
    assert compare_at(left, left, eps, LIMITS) == 0
    if right.as_constant() is None and sign_right:
        ratio = ExponentialRatio.of(left, {right: 1})
        assert sign_at(ratio, eps, LIMITS) == sign_left * sign_right
        assert compare_at(ratio, ratio, eps, LIMITS) == 0


def test_tiny_values_keep_their_digits() -> None:
    # e^-1000 (1 - e^-1): 1000 / ln 10 = 434.29 decimal places.
    tiny = enclose_at(exp(-1000) - exp(-1001), Fraction(1), 64, LIMITS)
    assert 0 < tiny.lower < tiny.upper < Fraction(1, 10**434)
    scaled = enclose_at(ONE - exp(-1), Fraction(1), 64, LIMITS)
    unit = enclose_at(exp(-1000), Fraction(1), 64, LIMITS)
    assert tiny.meets(Enclosure(scaled.lower * unit.lower, scaled.upper * unit.upper))


def test_a_denominator_that_is_zero_is_refused() -> None:
    pole = ExponentialRatio.of(ONE, {EPS - ONE: 1})
    with pytest.raises(ZeroDivisionError):
        sign_at(pole, Fraction(1), LIMITS)
    with pytest.raises(ZeroDivisionError):
        enclose_at(pole, Fraction(1), 10, LIMITS)


def test_reasons_can_name_any_epsilon() -> None:
    for eps in (Fraction(10**400), Fraction(1, 10**400)):
        hidden = exp(Fraction(1, 2**300_000)) - ONE
        with pytest.raises(LimitReached, match="precision-budget"):
            sign_at(hidden, eps, LIMITS)
