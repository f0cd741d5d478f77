"""VerifyPair and sums over arrays against exact distributions inside the enclosures."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.pairs.divergence import (
    Factor,
    certain_outputs,
    difference_over,
    divergence,
    eps_prv_factor,
    likely_outputs,
)
from dipapprox.pairs.hockey_stick import (
    HockeyStickBounds,
    bounds_in_doubles,
    bounds_in_integers,
    enclosure,
    positive_part,
    rounding_factor,
)
from dipapprox.privacy.details import least_factor
from tests.cases import refuses

BUDGETS = st.fractions(0, 5, max_denominator=100)
LAWS = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any) for _ in range(2))
    )
)


def probabilities(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def around(values: list[Fraction], bits: int) -> list[Enclosure]:
    """Enclosures of width <= 2**-bits, off-centre, exact where the value is 0."""
    third = Fraction(1, 3 * 2**bits)
    return [
        Enclosure(max(v - third, Fraction(0)), min(v + 2 * third, Fraction(1)))
        if v
        else Enclosure.exact(0)
        for v in values
    ]


def exact_delta(p: list[Fraction], q: list[Fraction], budget: Fraction) -> Enclosure:
    """delta for exactly known distributions; as thin as e^eps_prv at 400 bits."""
    exact = [Enclosure.exact(v) for v in p], [Enclosure.exact(v) for v in q]
    return divergence(*exact, eps_prv_factor(budget, 400))


@given(LAWS, BUDGETS, st.integers(4, 80))
def test_bounds_contain_delta_and_shrink(laws, budget, bits) -> None:
    p, q = map(probabilities, laws)
    delta = divergence(around(p, bits), around(q, bits), eps_prv_factor(budget, bits))
    true = exact_delta(p, q, budget)
    assert delta.lower <= true.lower <= true.upper <= delta.upper
    # The paper's error bound, |V| terms each of width 2^-bits + e^eps_prv 2^-bits (twice).
    assert delta.width <= 2 * len(p) * (1 + eps_prv_factor(budget, 60).lower + 1) / 2**bits
    assert delta.lower >= 0
    assert delta.upper <= 1


@given(LAWS, BUDGETS, st.integers(4, 60))
def test_witness_set_attains_the_lower_bound(laws, budget, bits) -> None:
    p, q = map(probabilities, laws)
    first, second, factor = around(p, bits), around(q, bits), eps_prv_factor(budget, bits)
    certain = certain_outputs(first, second, factor)
    delta = divergence(first, second, factor)
    over = difference_over(certain, first, second, factor)
    assert over.lower == delta.lower
    assert over.upper <= delta.upper
    # Every other set has a smaller difference than delta (Lemma 2).
    likely = likely_outputs(first, second, factor)
    assert set(certain) <= set(likely)
    assert difference_over(likely, first, second, factor).lower <= delta.upper


def test_randomised_response_closed_form() -> None:
    # Keep the bit with probability 3/4: p/q = 3, so delta = 3/4 - e^(1/2)/4 at budget 1/2.
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    delta = exact_delta(p, q, Fraction(1, 2))
    with ctx.workprec(300):
        reference = (3 - arb(0.5).exp()) / 4
        assert float(reference) == pytest.approx(float(delta.lower))
    assert delta.width < Fraction(1, 2**390)
    assert exact_delta(p, q, Fraction(11, 10)) == Enclosure.exact(0)  # e^1.1 > 3


def test_budgets_beyond_all_bounds() -> None:
    factor = eps_prv_factor(Fraction(10**12), 40)
    assert factor.upper is None
    p = [Enclosure.exact(Fraction(1, 2)), Enclosure.exact(Fraction(1, 2))]
    q = [Enclosure.exact(0), Enclosure.exact(1)]
    assert divergence(p, q, factor) == Enclosure.exact(Fraction(1, 2))
    assert likely_outputs(p, q, factor) == certain_outputs(p, q, factor) == (0,)
    refuses(ValueError, "no lower bound", difference_over, (1,), p, q, factor)
    unknown = [Enclosure(Fraction(0), Fraction(1, 8))]
    assert divergence([p[0]], unknown, factor) == Enclosure(Fraction(0), Fraction(1, 2))


TINY = 2.0**-1074
DOUBLES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1.0, TINY, 3 * TINY, 2.0**-1022, 1 - 2.0**-53, 0.1, 2.0**-53]),
    st.integers(0, 1074).map(lambda k: 2.0**-k),
)
WIDTHS = st.sampled_from([0.0, TINY, 1e-300, 1e-17, 1e-12, 0.5])
ALL_BUDGETS = st.one_of(
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


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=40), ALL_BUDGETS)
def test_doubles_contain_the_exact_bounds(cells, budget) -> None:
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


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=10), ALL_BUDGETS)
def test_integers_contain_the_exact_bounds(cells, budget) -> None:
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
def test_any_order_of_summation_is_covered(terms, random) -> None:
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
    refuses(BrokenInvariant, None, enclosure, 1.5, 1.6, 3, None)
    assert enclosure(0.5, 1.6, 3, None).upper == 1


DELTAS = st.fractions(0, 1, max_denominator=40)


def brute_force(first: list[Fraction], second: list[Fraction], delta: Fraction) -> Fraction | None:
    """The least E >= 1 by all sets; None for infinity."""
    best = Fraction(1)
    for size in range(1, len(first) + 1):
        for chosen in combinations(range(len(first)), size):
            p = sum(first[k] for k in chosen)
            q = sum(second[k] for k in chosen)
            if q:
                best = max(best, (p - delta) / q)
            elif p > delta:
                return None
    return best


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.data(), DELTAS)
def test_the_least_factor_is_that_of_all_sets(first, data, delta) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    slack = data.draw(st.just(Fraction(0)) | st.fractions(0, Fraction(1, 50), max_denominator=1000))
    p, q = probabilities(first), probabilities(second)
    wide_p, wide_q = (
        [Enclosure(max(x - slack, Fraction(0)), x + slack) for x in side] for side in (p, q)
    )
    exact = brute_force(p, q, delta)
    found = least_factor(wide_p, wide_q, delta)
    if found.lower is None:
        assert exact is None
    elif exact is not None:
        assert found.lower <= exact
        assert found.upper is None or exact <= found.upper
    else:
        assert found.upper is None
    if not slack:
        assert found.lower == found.upper == exact
    if not slack and exact is not None and exact > 1:
        # It is the boundary: delta is reached there and exceeded just before.
        assert divergence(wide_p, wide_q, Factor(exact, exact)) == Enclosure.exact(delta)
        chosen = found.outputs
        assert sum(p[k] for k in chosen) - exact * sum(q[k] for k in chosen) == delta
        before = (1 + exact) / 2
        assert divergence(wide_p, wide_q, Factor(before, before)).lower > delta
