"""Sign patterns: every set that is positive somewhere is among them, and few others."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import LimitReached
from dipapprox.exact.signs import zero
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ONE, ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.privacy.decisions.patterns import SignChanges, sign_patterns

LIMITS = Limits()

# Factors with one sign change each, ascending: at 1/2, log 2, log 3 and 2; one without.
Y = ExponentialPolynomial.monomial(1, rate=-1)
X = ExponentialPolynomial.monomial(1, power=1)


def _constant(value: str) -> ExponentialPolynomial:
    return ExponentialPolynomial.constant(Fraction(value))


FACTORS = (_constant("1/2") - X, Y - _constant("1/2"), Y - _constant("1/3"), _constant("2") - X)
ONE_SIGN = X + Y
FUNCTIONS = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 3), unique=True, max_size=4), st.booleans()),
    min_size=1,
    max_size=7,
)


def _function(negative: bool, factors: list[int], more: bool) -> ExponentialPolynomial:
    product = -ONE if negative else ONE
    for k in factors:
        product = product * FACTORS[k]
    return product * ONE_SIGN if more else product


def _changes(function: ExponentialPolynomial) -> SignChanges:
    chart = zeros(function, ALL_EPSILONS, LIMITS)
    return SignChanges(chart.signs[0] > 0, tuple(z for z in chart.zeros if z.changes_sign))


@given(FUNCTIONS)
def test_exactly_the_sets_between_sign_changes(
    functions: list[tuple[bool, list[int], bool]],
) -> None:
    signs = {k: _changes(_function(*each)) for k, each in enumerate(functions)}
    expected = [
        frozenset(
            k
            for k, (negative, factors, _) in enumerate(functions)
            if not negative ^ (sum(f < passed for f in factors) % 2 == 1)
        )
        for passed in range(5)
    ]
    found = list(sign_patterns(signs, LIMITS))
    assert len(set(found)) == len(found)
    assert set(found) == set(expected)


def test_many_functions_with_one_common_zero() -> None:
    """Twelve functions that are not proportional, all 0 at log 2: two sets, not 2^12."""
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(12)}
    assert list(sign_patterns(signs, LIMITS)) == [frozenset(range(12)), frozenset()]


def test_zeros_that_nearly_meet_are_told_apart() -> None:
    near = Fraction(1, 10**40)
    signs = {k: _changes(Y - _constant("1/2") - ONE.scaled(k * near)) for k in range(12)}
    found = list(sign_patterns(signs, LIMITS))
    assert found == [frozenset(range(12 - k)) for k in range(13)]


@pytest.mark.parametrize(("count", "fails"), [(3, False), (12, True)])
def test_what_cannot_be_told_apart_is_taken_in_every_order(
    count: int, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the degrees were too high for common divisors."""
    monkeypatch.setattr(zero, "vanishes_too", lambda *_: None)
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(count)}
    if fails:
        with pytest.raises(LimitReached, match="12 sign changes cannot be told apart"):
            list(sign_patterns(signs, LIMITS))
    else:
        assert len(list(sign_patterns(signs, LIMITS))) == 2**count
