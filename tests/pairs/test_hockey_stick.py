"""Sums over arrays against exact rationals: containment, width, and zeros that stay zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.pairs.divergence import Factor, divergence, eps_prv_factor
from dipapprox.pairs.hockey_stick import (
    HockeyStickBounds,
    bounds_in_doubles,
    bounds_in_integers,
    enclosure,
    positive_part,
    rounding_factor,
)

TINY = 2.0**-1074
DOUBLES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1.0, TINY, 3 * TINY, 2.0**-1022, 1 - 2.0**-53, 0.1, 2.0**-53]),
    st.integers(0, 1074).map(lambda k: 2.0**-k),
)
WIDTHS = st.sampled_from([0.0, TINY, 1e-300, 1e-17, 1e-12, 0.5])
BUDGETS = st.one_of(
    st.fractions(0, 3, max_denominator=20),
    st.sampled_from(
        [Fraction(0), Fraction(1, 10**9), Fraction(700), Fraction(800), Fraction(20000)]
    ),
)
CELLS = st.tuples(DOUBLES, WIDTHS).map(lambda c: (c[0], min(c[0] + c[1], 1.0)))


def summed(first: HockeyStickBounds, second: HockeyStickBounds) -> Enclosure:
    lower = positive_part(first.lower - second.high_scaled).sum()
    upper = positive_part(first.upper - second.low_scaled).sum()
    return enclosure(lower, upper, len(first.lower), first.scale)


def exact(cells: list[tuple[float, float]]) -> list[Enclosure]:
    return [Enclosure(Fraction(low), Fraction(high)) for low, high in cells]


def shared(cell: tuple[float, float], number: int) -> tuple[float, float]:
    """Scale a cell down so that so many are parts of one distribution, in the numbers in use."""
    low, high = (Fraction(end) / (number + 1) for end in cell)
    return rounding.below(low), rounding.above(high)


def doubles(cells: list[tuple[float, float]], factor: Factor) -> HockeyStickBounds:
    lower, upper = (np.array(column, dtype=np.float64) for column in zip(*cells, strict=True))
    return bounds_in_doubles(lower, upper, factor)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=40), BUDGETS)
def test_doubles_contain_the_exact_bounds(
    cells: list[tuple[tuple[float, float], tuple[float, float]]], budget: Fraction
) -> None:
    first, second = ([shared(c[k], len(cells)) for c in cells] for k in (0, 1))
    factor = eps_prv_factor(budget, 64)
    sum_of = summed(doubles(first, factor), doubles(second, factor))
    true = divergence(exact(first), exact(second), factor)
    assert sum_of.lower <= true.lower
    assert sum_of.upper >= true.upper
    if budget > 700:
        return  # the factor has no double: tiny probabilities are not told from 0
    # Not much is lost: a rounding of e^eps_prv, of scaling, of the sums, and tiny numbers.
    slack = Fraction(len(cells) + 8, 2**51)
    scale = sum(Fraction(c[1]) for c in first)
    tiny = len(cells) * 2 * Fraction(rounding.FLOOR)
    assert sum_of.upper <= true.upper + slack * scale + tiny
    assert true.lower <= sum_of.lower + slack * scale + tiny


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=10), BUDGETS)
def test_integers_contain_the_exact_bounds(
    cells: list[tuple[tuple[float, float], tuple[float, float]]], budget: Fraction
) -> None:
    first, second = (exact([shared(c[k], len(cells)) for c in cells]) for k in (0, 1))
    bits = 90
    factor = eps_prv_factor(budget, bits)
    sum_of = summed(
        bounds_in_integers(first, factor, bits), bounds_in_integers(second, factor, bits)
    )
    true = divergence(first, second, factor)
    assert sum_of.lower <= true.lower <= true.upper <= sum_of.upper
    assert sum_of.width <= true.width + Fraction(2 * len(cells) + 2, 2**bits)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.randoms())
def test_any_order_of_summation_is_covered(terms: list[float], random: object) -> None:
    true = sum(map(Fraction, terms))
    for order in (terms, terms[::-1], sorted(terms), sorted(terms, reverse=True)):
        one_by_one = 0.0
        for term in order:
            one_by_one += term
        for total in (
            one_by_one,
            float(np.sum(order)),
            float(np.array(order) @ np.ones(len(order))),
        ):
            assert Fraction(total) * rounding_factor(len(terms)) >= true
            assert Fraction(total) * (2 - rounding_factor(len(terms))) <= true


def test_sums_above_one_are_a_bug() -> None:
    with pytest.raises(BrokenInvariant):
        enclosure(1.5, 1.6, 3, None)
    assert enclosure(0.5, 1.6, 3, None).upper == 1
