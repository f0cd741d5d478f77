"""All zeros of known products are found, with their multiplicities and the signs between."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval, simplest_between
from dipapprox.exact.signs.values import sign_at
from dipapprox.exact.signs.zero import refine
from dipapprox.exact.signs.zeros import SignChart, zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from exact.sign_functions import EPS, ONE, constant, exp, functions, product, small_fractions

LIMITS = Limits()
F = Fraction


def check_signs(function: ExponentialPolynomial, chart: SignChart) -> None:
    """Compare every sign with exact signs at points of its gap."""
    starts = (chart.interval.lower, *(zero.upper for zero in chart.zeros))
    ends = (*(zero.lower for zero in chart.zeros), chart.interval.upper)
    gaps = zip(starts, ends, chart.signs, strict=True)
    for (lower, upper, sign), place in zip(gaps, range(100), strict=False):
        zero_left = chart.zeros[place - 1] if place else None
        if upper is not None and lower >= upper:
            # Touching boxes: their common end is no zero.
            if zero_left is not None and not zero_left.is_exact:
                assert sign_at(function, lower, LIMITS) == sign
            continue
        points = [simplest_between(lower, upper)]
        points.append(simplest_between(lower, points[0]))
        points.append(simplest_between(points[0], upper))
        assert {sign_at(function, point, LIMITS) for point in points} == {sign}


def test_the_zero_function_and_constants() -> None:
    assert zeros(constant(0), ALL_EPSILONS, LIMITS).signs == (0,)
    assert zeros(constant(-3), ALL_EPSILONS, LIMITS).signs == (-1,)
    assert zeros(EPS.scaled(F(-1, 7)), EpsilonInterval(F(1), None), LIMITS).signs == (-1,)
    assert zeros(exp(-3), EpsilonInterval(F(1), F(2)), LIMITS).signs == (1,)


def test_what_is_beyond_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    double = (exp(F(1, 2)) - constant(2)) ** 2
    assert [zero.multiplicity for zero in zeros(double, ALL_EPSILONS, LIMITS).zeros] == [2]
    monkeypatch.setattr("dipapprox.exact.signs.zeros._WORK_BUDGET", 1)
    with pytest.raises(LimitReached, match="degree-budget"):
        zeros(double, ALL_EPSILONS, LIMITS)


Known = Fraction | tuple[Fraction, Fraction]
"""A factor: ε - root, or e^(rate ε) - level given as (rate, level)."""

rates = st.sampled_from([F(1, 3), F(1, 2), F(1), F(3, 2), F(2)])
some: st.SearchStrategy[Known] = small_fractions | st.tuples(rates, small_fractions)
known = st.lists(st.tuples(some, st.integers(1, 3)), min_size=1, max_size=3)


@given(known, st.sampled_from([ONE, exp(F(1, 3)) + EPS, exp(-2) + ONE]))
def test_products_of_known_factors(
    factors: list[tuple[Known, int]], positive: ExponentialPolynomial
) -> None:
    expected: dict[Fraction | str, int] = {}  # a root, or its decimals
    pieces: list[ExponentialPolynomial] = [positive]
    for factor, power in factors:
        key: Fraction | str
        if isinstance(factor, Fraction):
            pieces += [EPS - constant(factor)] * power
            key = factor
        else:
            rate, level = factor
            pieces += [exp(rate) - constant(level)] * power
            if level <= 1:
                continue
            with precision(400):
                key = str((to_ball(level).log() / to_ball(rate)).str(60, radius=False))
        expected[key] = expected.get(key, 0) + power
    function = product(pieces)
    chart = zeros(function, ALL_EPSILONS, LIMITS)
    found = sorted(zero.multiplicity for zero in chart.zeros)
    assert found == sorted(expected.values())
    for zero in chart.zeros:
        with precision(400):
            places = [
                place
                for place in expected
                if (to_ball(place) if isinstance(place, Fraction) else arb(place))
                in to_ball(zero.lower).union(to_ball(zero.upper))
            ]
        assert len(places) == 1
    check_signs(function, chart)


@given(functions, st.booleans())
def test_signs_of_any_function(function: ExponentialPolynomial, bounded: bool) -> None:
    interval = EpsilonInterval(F(1, 3), F(7, 2), True, True) if bounded else ALL_EPSILONS
    chart = zeros(function, interval, LIMITS)
    assert len(chart.signs) == len(chart.zeros) + 1
    check_signs(function, chart)
    for zero in chart.zeros:
        fine = refine(zero, F(1, 10**15), LIMITS)
        assert zero.lower <= fine.lower <= fine.upper <= zero.upper
        if zero.is_exact:
            assert sign_at(function, zero.lower, LIMITS) == 0
        else:
            before, after = (sign_at(function, end, LIMITS) for end in (fine.lower, fine.upper))
            assert before * after == (-1) ** zero.multiplicity
