"""Outward rounding against exact fractions, on doubles of all sizes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.rounding import Array

UNIT = st.just(0.0) | st.floats(rounding.FLOOR, 1) | st.integers(0, 900).map(lambda k: 2.0**-k)
ARRAYS = st.lists(UNIT, min_size=1, max_size=12).map(lambda values: np.array(values))
TINY = st.integers(1, 2**70).map(lambda n: Fraction(n, 2**1090))
PROBABILITIES = st.one_of(st.fractions(0, 1), TINY, UNIT.map(Fraction), TINY.map(lambda t: 1 - t))


@given(PROBABILITIES)
def test_conversion_is_outward_and_tight(value: Fraction) -> None:
    low, high = rounding.below(value), rounding.above(value)
    assert 0 <= low <= high <= 1
    assert Fraction(low) <= value <= Fraction(high)
    assert all(end == 0 or end >= rounding.FLOOR for end in (low, high))
    if low >= rounding.FLOOR:
        assert high <= np.nextafter(low, np.inf)
    assert (low == high) == (Fraction(low) == value)


@given(ARRAYS, ARRAYS)
def test_products_and_sums(left: Array, right: Array) -> None:
    size = min(len(left), len(right))
    left, right = left[:size], right[:size]
    results = [
        (rounding.product_below(left, right), rounding.product_above(left, right)),
        (rounding.sum_below(left, right), rounding.sum_above(left, right)),
    ]
    for k, (a, b) in enumerate(zip(map(Fraction, left), map(Fraction, right), strict=True)):
        for exact, (low, high) in zip((a * b, a + b), results, strict=True):
            assert Fraction(low[k]) <= exact <= Fraction(high[k])
            assert all(end == 0 or end >= rounding.FLOOR for end in (low[k], high[k]))
            if exact >= 2 * Fraction(rounding.FLOOR):
                assert high[k] <= np.nextafter(np.nextafter(low[k], np.inf), np.inf)
        if a in (0, 1) or b in (0, 1):
            assert results[0][0][k] == results[0][1][k] == a * b
        if a == 0 or b == 0:
            assert results[1][0][k] == results[1][1][k] == a + b


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=8).filter(any), st.data())
def test_tightening_keeps_the_truth_and_never_widens(
    weights: list[int], data: st.DataObject
) -> None:
    total = sum(weights)
    truth = [Fraction(weight, total) for weight in weights]
    slack = st.sampled_from([Fraction(0), Fraction(1, 2**60), Fraction(1, 10), Fraction(1)])
    lower = np.array([rounding.below(max(p - data.draw(slack), Fraction(0))) for p in truth])
    upper = np.array([rounding.above(min(p + data.draw(slack), Fraction(1))) for p in truth])
    assert not rounding.contradicts_one(lower, upper)
    low, high = rounding.tightened(lower, upper)
    assert (low >= lower).all() and (high <= upper).all()
    for p, a, b in zip(truth, low, high, strict=True):
        assert Fraction(float(a)) <= p <= Fraction(float(b))


@pytest.mark.parametrize("bounds", [([0.5, 0.5001], [0.6, 0.6]), ([0.1, 0.1], [0.4, 0.5999])])
def test_contradictions_are_noticed(bounds: tuple[list[float], list[float]]) -> None:
    lower, upper = map(np.array, bounds)
    assert rounding.contradicts_one(lower, upper)
