"""What is said of quotients of functions, and of sums of losses, against values in floats."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import exp

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.excesses import Excess, Excesses, Ratios
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.published import Label, Published
from kernel.ends import upper
from kernel.graphs import FINE, small
from kernel.simpson import simpson

ONE = Fraction(1)
SCALES = [Fraction(1, 2), Fraction(1), Fraction(2)]

families = st.sampled_from(["Gauss", "Lap", "Lap", "LapPlus", "LapMinus"])
shifts = st.sampled_from([Fraction(k, 2) for k in range(-2, 3)])


@st.composite
def pairs(draw: st.DrawFn, bounded: bool = False) -> tuple[Graph, Node, Node]:
    """Two functions that are made alike, of laws that are shifted."""
    graph = Graph()
    found = []
    for _ in range(draw(st.integers(1, 3))):
        family, mean, scale = draw(families), draw(small), draw(st.sampled_from(SCALES))
        both = [graph.density(Law(family, mean + shift, scale, 0)) for shift in (0, draw(shifts))]
        kind = draw(st.sampled_from(["law", "law", "left", "right", "between"]))
        if kind in ("left", "right"):
            both = [graph.running(each, kind == "left") for each in both]
        elif kind == "between":
            low = draw(small)
            moves = draw(st.sampled_from([(0, 0), (0, 1), (1, 0), (-1, 0)]))
            both = [
                graph.restrict(each, low, low + 3 + move)
                for each, move in zip(both, moves, strict=True)
            ]
        found.append(both)
    if bounded:
        law = graph.density(Law("Lap", Fraction(0), ONE, 0))
        found.append([law, graph.moved(law, ONE, draw(shifts))])
    f, g = found[0]
    for one, other in found[1:]:
        f, g = graph.times(f, one), graph.times(g, other)
    return graph, f, g


@given(pairs())
def test_prices_and_monotone_quotients(made: tuple[Graph, Node, Node]) -> None:
    graph, f, g = made
    found = Ratios(graph, ONE).compare(f, g)
    known = simpson(graph, 1.0)
    # Inside of pieces: at their ends values are those of one side.
    one, other = (known[number][:, 1:-1].ravel() for number in (f, g))
    tiny = 1e-9
    if found.price is not None:
        assert np.all(one <= exp(found.price) * other * (1 + 1e-6) + tiny)
    assume(-1 in found.ways or 1 in found.ways)
    step = max(1, len(one) // 300)
    one, other = one[::step], other[::step]
    if -1 in found.ways and 1 in found.ways:
        left = np.outer(one, other)
        assert np.allclose(left, left.T, rtol=1e-6, atol=tiny)
    elif -1 in found.ways:
        left = np.outer(one, other)
        assert np.all(np.triu(left - left.T) >= -1e-6 * left - tiny)
    else:
        left = np.outer(one, other)
        assert np.all(np.triu(left - left.T) <= 1e-6 * left.T + tiny)


@pytest.mark.parametrize("p", [-1, 0, Fraction(1, 2), 1, 2])
@pytest.mark.parametrize("q", [-1, 0, Fraction(1, 2), 1, 2])
def test_numbers_compare_as_they_do(p: Fraction, q: Fraction) -> None:
    graph = Graph()
    one, other = (graph.rational(Fraction(each)) for each in (p, q))
    price = Ratios(graph, ONE).compare(one, other).price
    assert (price == 0) == (p == q or 0 <= p <= q)
    assert price in (None, 0)


def test_restrictions_compare_as_intervals_do() -> None:
    graph, points = Graph(), [Fraction(k, 2) for k in (-1, 1, 3, 5)]
    law = graph.density(Law("Gauss", Fraction(0), ONE, 0))
    ends = [(a, b) for a in (None, 0, 1) for b in (None, 1, 2)][1:]
    for pair in product(ends, repeat=2):
        f, g = (
            graph.restrict(law, *(None if end is None else Fraction(end) for end in own))
            for own in pair
        )
        found = Ratios(graph, ONE).compare(f, g)
        one, other = (
            [(low is None or low <= x) and (high is None or x <= high) for x in points]
            for low, high in pair
        )
        assert (found.price == 0) == all(b for a, b in zip(one, other, strict=True) if a)
        places = list(combinations(range(len(points)), 2))
        if any(one) and any(other):
            crossed = [(one[s] and other[t], one[t] and other[s]) for s, t in places]
            assert (-1 in found.ways) == all(there >= back for there, back in crossed)
            assert (1 in found.ways) == all(there <= back for there, back in crossed)


def test_multiples_of_one_density_rise_and_fall_with_it() -> None:
    graph = Graph()
    for family in ("Gauss", "LapPlus", "GumbelMinus"):
        law = Law(family, Fraction(1), ONE, 0)
        one, twice = (graph.density(law, Fraction(k)) for k in (1, 2))
        assert Ratios(graph, ONE).compare(one, twice) == (0, {-1, 1})
        assert Ratios(graph, ONE).compare(twice, one) == (None, {-1, 1})


def test_products_of_different_lengths_or_signs_do_not_compare() -> None:
    graph = Graph()
    f, g, h = (graph.density(Law("Lap", Fraction(mean), ONE, 0)) for mean in (0, 1, 2))
    ratios = Ratios(graph, ONE)
    product = graph.times(f, g)
    assert ratios.compare(product, graph.times(g, h)).price == 2
    assert ratios.compare(graph.times(product, f), graph.times(g, h)).price is None
    assert ratios.compare(product, graph.times(graph.times(g, h), f)).price is None
    a, b, c = (graph.total(graph.restrict(each, Fraction(0), None)) for each in (f, g, h))
    forth, back = graph.times(a, b), graph.times(graph.minus_one, graph.times(b, c))
    assert ratios.compare(forth, graph.times(b, c)).price == 2
    for pair in ((forth, back), (back, forth)):
        assert ratios.compare(*pair).price is None


@settings(max_examples=6)
@given(pairs(bounded=True), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(2)]))
def test_excesses_are_above_the_integral_and_near_it(
    made: tuple[Graph, Node, Node], eps_prv: Fraction
) -> None:
    graph, f, g = made
    label: Label = (None,)
    parts = [{label: [Published(((),), graph.one, (each,))]} for each in (f, g)]
    found = Excesses(graph, ONE, eps_prv).of_pair(parts[0], parts[1])
    cuts = [Fraction(k, 4) for k in range(-28, 29)]
    cells = Excess((graph.one, graph.one), (f, g)).cells(graph, cuts)
    known = simpson(graph, 1.0)
    # Sets of whole cells tell less.
    true = sum(max(0.0, known[x] - exp(eps_prv) * known[y]) for x, y in cells)
    if not found:
        assert true <= 1e-7
        return
    (excess,) = found
    bound = _bound(graph, excess, cuts, eps_prv)
    assert bound >= true - 1e-7
    if excess.functions is not None:
        assert bound <= _bound(graph, excess, cuts[::8], eps_prv) + 1e-7
        assert bound <= true + 1 / 4


def _bound(graph: Graph, excess: Excess, cuts: list[Fraction], eps_prv: Fraction) -> float:
    cells = excess.cells(graph, cuts)
    values = evaluate(graph, {node for pair in cells for node in pair}, ONE, FINE)
    with precision(200):
        balls = [(values[x], values[y]) for x, y in cells]
        return float(upper(excess.bound(balls, to_ball(eps_prv).exp())))
