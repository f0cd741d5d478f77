"""The checker's own pieces against exact counts and closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking import pairs
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.factor import factor_of
from dipapprox.checking.facts import Line
from dipapprox.checking.orders import General, factors
from dipapprox.checking.trees import Forest, TreeValues
from dipapprox.distributions import Distribution, Family
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.adjacency import adjacent_pairs
from tests.event_strategies import CONTINUOUS

LIMITS = Limits()
ONE = Fraction(1)


def probability(laws: list[Distribution], lines: list[Line], bits: int) -> Enclosure:
    """Enclose the probability that all lines are <= 0."""
    found = factors(laws, lines, LIMITS)
    total = Enclosure.exact(1)
    if found is None:
        return Enclosure.exact(0)
    forest = Forest()
    values = TreeValues(forest, bits, LIMITS)
    for factor in found:
        assert not isinstance(factor, General)
        low = high = Fraction(0)
        for sign, trees in factor:
            a = b = ONE
            for tree in trees:
                each = values.value(forest.plant(tree))
                assert isinstance(each, Enclosure)
                a, b = a * each.lower, b * each.upper
            low, high = (low + a, high + b) if sign > 0 else (low - b, high - a)
        total = Enclosure(total.lower * max(low, Fraction(0)), total.upper * high)
    return total


def less(a: int, b: int, shift: Fraction = Fraction(0)) -> Line:
    """x_a <= x_b + shift."""
    terms = tuple(sorted([(a, ONE), (b, -ONE)]))
    return Line(-shift, terms)


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    size = draw(st.integers(2, 5))
    pair = st.permutations(range(size)).map(lambda order: (order[0], order[1]))
    return size, draw(st.lists(pair, min_size=1, max_size=6, unique=True))


@settings(deadline=None, max_examples=24)
@given(comparisons(), st.sampled_from(CONTINUOUS))
def test_like_samples_are_counted(event: tuple[int, list[tuple[int, int]]], family: Family) -> None:
    """Of iid samples every order is equally likely."""
    size, edges = event
    orders = list(permutations(range(size)))
    good = sum(all(order[a] < order[b] for a, b in edges) for order in orders)
    laws = [Distribution(family, Fraction(1, 3), Fraction(2))] * size
    found = probability(laws, [less(a, b) for a, b in edges], 50)
    assert Fraction(good, len(orders)) in found
    assert found.width < Fraction(1, 2**40)


@settings(deadline=None, max_examples=15)
@given(
    st.fractions(-3, 3, max_denominator=8),
    st.fractions(-3, 3, max_denominator=8),
    st.sampled_from([Fraction(1, 1000), ONE, Fraction(5)]),
    st.booleans(),
)
def test_scaled_shifted_mirrored_comparisons(
    mean: Fraction, bound: Fraction, scale: Fraction, mirrored: bool
) -> None:
    """c x + d y <= k is a comparison of scaled samples; bounds and their complements sum to 1."""
    laws = [Distribution(Family.GAUSSIAN, mean, scale), Distribution(Family.LAPLACE, bound, ONE)]
    line = Line(-bound, ((0, Fraction(2)), (1, Fraction(3 if mirrored else -3))))
    single = Line(-bound, ((0, ONE),))
    for each in (line, single):
        first = probability(laws, [each], 60)
        second = probability(laws, [each.times(Fraction(-1))], 60)
        assert 1 in first + second
        assert first.width < Fraction(1, 2**50)
    both = probability(laws, [line, single], 60) + probability(
        laws, [line.times(Fraction(-1)), single], 60
    )
    assert both.meets(probability(laws, [single], 60))
    assert both.width < Fraction(1, 2**50)


def test_known_values() -> None:
    laws = [Distribution(Family.GAUSSIAN, Fraction(0), ONE)]
    below_one = probability(laws, [Line(-ONE, ((0, ONE),))], 60)
    # Phi(1), Abramowitz and Stegun table 26.1
    assert below_one.meets(Enclosure(Fraction("0.841344746068542"), Fraction("0.841344746068543")))
    contradiction = [less(0, 1), less(1, 2), less(2, 0, -ONE)]
    assert factors(laws * 3, contradiction, LIMITS) is None


PROGRAM = """
input q[3] in {0, 1, 1/2}
output out in {a, b}
adjacent NORM
x <- Gauss(q[1] + q[2], 1 / eps)
out <- a
if x >= q[3] then out <- b end
"""


@pytest.mark.parametrize(
    "norm",
    [
        *("all", "linf 1/2", "linf 0", "l1 1", "l1 2", "l0 1", "l0 2", "{ (0,0,0) ~ (1,1,1) }"),
        *("increasing 1/2", "increasing 0", "decreasing 1"),
    ],
)
def test_adjacent_pairs_are_those_of_the_enumeration(norm: str) -> None:
    program = dipapprox.parse(PROGRAM.replace("NORM", norm))
    inputs = pairs.all_inputs(program)
    masks = pairs.adjacent_indices(program, inputs)
    own = {(inputs[u], inputs[v]) for u, mask in masks for v in mask.nonzero()[0]}
    assert own == set(adjacent_pairs(program.inputs, program.adjacency))
    for u, v in list(product(inputs, inputs))[::37]:
        if u != v:
            assert pairs.are_adjacent(program, u, v) is ((u, v) in own)


@settings(deadline=None, max_examples=18)
@given(
    st.lists(st.lists(st.integers(0, 8), min_size=3, max_size=3), min_size=2, max_size=5),
    st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(2), Fraction(20_000)]),
)
def test_the_largest_delta_is_that_of_the_definition(
    weights: list[list[int]], budget: Fraction
) -> None:
    inputs = [(Fraction(k),) for k in range(len(weights))]
    scale = [max(1, sum(weight)) for weight in weights]
    given_rows = [
        {(Fraction(o),): ((w << 80) // s, ((w << 80) // s) + 1) for o, w in enumerate(weight) if w}
        for weight, s in zip(weights, scale, strict=True)
    ]
    factor = factor_of(budget, 80)
    every = [(u, v) for u in inputs for v in inputs if u != v]
    neighbours = pairs.listed_indices(every, inputs)
    found = pairs.largest(inputs, given_rows, 80, factor, neighbours, LIMITS)
    exact = max(
        pairs.delta_of(given_rows[u], given_rows[v], 80, factor).lower
        for u in range(len(inputs))
        for v in range(len(inputs))
        if u != v
    )
    assert found.pairs == len(every)
    assert exact in Enclosure(
        found.delta.lower - Fraction(1, 2**70), found.delta.upper + Fraction(1, 2**70)
    )
    assert found.delta.width < Fraction(1, 2**40)


def test_outputs_sum_to_one() -> None:
    program = dipapprox.parse(PROGRAM.replace("NORM", "all"))
    derived = Distributions(program, Fraction(1, 2), LIMITS)
    bounds = derived.at(60)
    for input in pairs.all_inputs(program)[:9]:
        found = bounds.for_input(input).values()
        assert sum(a for a, _ in found) <= 1 << bounds.unit <= sum(b for _, b in found)


def test_contradictions_between_scaled_samples_end() -> None:
    """2 x <= y - 1, y <= 3 z - 1, 3 z <= 2 x - 1; a further comparison comes first."""
    laws = [Distribution(Family.LAPLACE, Fraction(0), ONE)] * 4
    cycle = [
        Line(ONE, ((0, Fraction(2)), (1, -ONE))),
        Line(ONE, ((1, ONE), (2, Fraction(-3)))),
        Line(ONE, ((0, Fraction(-2)), (2, Fraction(3)))),
    ]
    assert probability(laws, [less(0, 3), *cycle], 40) == Enclosure.exact(0)
    assert probability(laws, [*cycle, less(3, 0)], 40) == Enclosure.exact(0)
