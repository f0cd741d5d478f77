"""Prices of functions, and signs of functions of eps, against values in floats; no false one is."""

from fractions import Fraction
from math import exp as float_exp
from math import log
from statistics import NormalDist

import numpy as np
import pytest
from flint import arb, arb_poly
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

import dipapprox
from dipapprox import Answer, Options
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.kernel import signs
from dipapprox.kernel.balls import between, precision
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.excesses import Excesses, Label, Prices, Published, positive_part
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.proofs import growth_bound
from dipapprox.kernel.several import FARTHEST, _above, _range
from dipapprox.kernel.signs import ALL, Epsilons, Signs, read_epsilons
from tests.cases import check_answers
from tests.exact.sign_functions import EPS, ONE, constant, exp, product
from tests.kernel.ends import lower, upper
from tests.kernel.graphs import FINE, small
from tests.kernel.machines import judged
from tests.kernel.simpson import simpson

UNIT = Fraction(1)
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
        law = graph.density(Law("Lap", Fraction(0), UNIT, 0))
        found.append([law, graph.moved(law, UNIT, draw(shifts))])
    f, g = found[0]
    for one, other in found[1:]:
        f, g = graph.times(f, one), graph.times(g, other)
    return graph, f, g


@given(pairs())
def test_prices(made) -> None:
    graph, f, g = made
    price = Prices(graph, UNIT).price(f, g)
    assume(price is not None)
    known = simpson(graph, 1.0)
    # Inside of pieces: at their ends values are those of one side.
    one, other = (known[number][:, 1:-1].ravel() for number in (f, g))
    assert np.all(one <= float_exp(price) * other * (1 + 1e-6) + 1e-9)


CHOSEN = """
input q in 0..2
output y in real
adjacent linf 1
y <- 0
a <- Lap(q, 1 / eps)
if q = 1 then
    b <- Lap(1, 1 / eps)
else
    b <- Lap(0, 1 / eps)
end
if a > b then
    y <- a
end
"""


def test_comparisons_that_finite_inputs_choose_have_a_price() -> None:
    """No budget of all numbers between the inputs serves them."""
    claim = {"eps": 1, "eps_prv": 4, "delta": 0}
    found = dipapprox.verify(dipapprox.parse(CHOSEN), **claim, options=Options(proved=True))
    assert found.answer is Answer.DP and found.replayed is not None


def test_restrictions_compare_as_intervals_do() -> None:
    graph, points = Graph(), [Fraction(k, 2) for k in (-1, 1, 3, 5)]
    law = graph.density(Law("Gauss", Fraction(0), UNIT, 0))
    ends = [(a, b) for a in (None, 0, 1) for b in (None, 1, 2)][1:]
    for pair in ((one, other) for one in ends for other in ends):
        f, g = (
            graph.restrict(law, *(None if end is None else Fraction(end) for end in own))
            for own in pair
        )
        price = Prices(graph, UNIT).price(f, g)
        one, other = (
            [(low is None or low <= x) and (high is None or x <= high) for x in points]
            for low, high in pair
        )
        assert (price == 0) == all(b for a, b in zip(one, other, strict=True) if a)


def test_products_of_different_lengths_or_signs_do_not_compare() -> None:
    graph = Graph()
    f, g, h = (graph.density(Law("Lap", Fraction(mean), UNIT, 0)) for mean in (0, 1, 2))
    prices = Prices(graph, UNIT)
    product = graph.times(f, g)
    assert prices.price(product, graph.times(g, h)) == 2
    assert prices.price(graph.times(product, f), graph.times(g, h)) is None
    assert prices.price(product, graph.times(graph.times(g, h), f)) is None
    a, b, c = (graph.total(graph.restrict(each, Fraction(0), None)) for each in (f, g, h))
    forth, back = graph.times(a, b), graph.times(graph.minus_one, graph.times(b, c))
    assert prices.price(forth, graph.times(b, c)) == 2
    for pair in ((forth, back), (back, forth)):
        assert prices.price(*pair) is None


@given(
    pairs(bounded=True), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(2)]), st.booleans()
)
def test_excesses_are_integrals_of_what_is_above(made, eps_prv, halved) -> None:
    """Whether the quotient of the functions falls, rises, or does neither."""
    graph, f, g = made
    label: Label = (None,)
    parts = [{label: [Published(((),), graph.one, (each,))]} for each in (f, g)]
    growth = growth_bound(eps_prv, 60, above=False)
    found = Excesses(graph, UNIT, eps_prv, 60).of_pair(parts[0], parts[1])
    p = graph.rational(Fraction(1, 2)) if halved else graph.one
    excess = graph.add("excess", (f, g, p, graph.one), growth, True)
    true = simpson(graph, 1.0)[excess]
    bounds = evaluate(graph, [excess], UNIT, FINE)[excess]
    assert lower(bounds) - 1e-5 <= true <= upper(bounds) + 1e-5
    assert upper(bounds) - lower(bounds) < 1e-9
    assert found or true <= 1e-5


@pytest.mark.parametrize("half", [1, 2])
@pytest.mark.parametrize("rate", [Fraction(1, 4), UNIT, Fraction(3)])
def test_several_functions_of_other_masses_than_1_are_bounded_from_both_sides(half, rate) -> None:
    """Halves of normal laws: (x < 1) where f has the mean 0, and g 1; at most half of what is above
    rate times twice as much is above rate."""
    graph, ends = Graph(), (None, UNIT)
    f, g = (
        graph.restrict(graph.density(Law("Gauss", Fraction(m), UNIT, 0)), *ends) for m in (0, 1)
    )
    p = graph.rational(Fraction(1, half))
    normal = NormalDist()

    def above(x: float) -> float:
        # Losses are 1/2 - x each.
        most, factor = min(1.0, 1 - log(rate * half) - x), float(rate * half)
        less = factor * normal.pdf(x - 1) * normal.cdf(most - 1)
        return normal.pdf(x) * normal.cdf(most) - less

    true = quad(above, -12, 1, limit=200, epsabs=1e-12)[0] / half
    for side in (True, False):
        excess = graph.add("excess", (f, g, f, g, p, graph.one), rate, side)
        bounds = evaluate(graph, [excess], UNIT, accuracy(20))[excess]
        found = upper(bounds) if side else lower(bounds)
        assert 0 <= (found - true) * (1 if side else -1) <= 1e-3


@pytest.mark.parametrize("ends", [(None, Fraction(0)), (Fraction(0), None)])
def test_what_is_beyond_the_grid_counts_on_either_side(ends) -> None:
    """Of half a normal law, whose tails begin where they have a fiftieth of the mass."""
    graph = Graph()
    law = graph.density(Law("Gauss", Fraction(0), UNIT, 0))
    parts = (graph.restrict(law, *ends), graph.restrict(law, UNIT, UNIT), graph.one, graph.one)
    excess = graph.add("excess", parts, UNIT, True)
    bounds = evaluate(graph, [excess], UNIT, FINE._replace(bits=1))[excess]
    assert lower(bounds) < 0.48 < 0.5 < upper(bounds)


def test_masses_whose_losses_are_no_interval_of_the_grid_lie_at_the_greatest() -> None:
    """Two thirds at 0; and what may be farther down than losses go, where it is at most."""
    with precision(64):
        third, step, both = arb(1) / 3, Fraction(1, 4), -(-2 << 32) // 3 + 1
        found = _above(iter([(third, third, arb(1))] * 2), arb(0), step, 32)
        assert (found.start, found.masses, found.infinite) == (0, (both,), 0)
        partly = between(arb(-FARTHEST - 6).exp(), arb(-FARTHEST + 4).exp())
        for y, least in ((partly, -FARTHEST + 4), (arb(-2 * FARTHEST).exp(), -FARTHEST)):
            low = _above(iter([(third, third, y)] * 2), arb(0), step, 32)
            assert low.masses == (both,)
            assert 4 * least <= low.start <= 4 * least + 1


def test_where_one_input_never_is_all_counts() -> None:
    graph = Graph()
    law, other = (graph.density(Law(name, Fraction(0), UNIT, 0)) for name in ("Gauss", "Lap"))
    parts = (law, graph.restrict(law, None, Fraction(0)), other, other, graph.one, graph.one)
    for above in (True, False):
        excess = graph.add("excess", parts, Fraction(1000), above)
        bounds = evaluate(graph, [excess], UNIT, FINE)[excess]
        assert (0.5 <= upper(bounds) < 0.501) if above else (0.499 < lower(bounds) <= 0.5)


def test_what_is_beyond_the_grid_counts_in_units_of_the_mass() -> None:
    """Half a normal law, of which the other input never shows what is above 1: .1587."""
    graph = Graph()
    law, other = (graph.density(Law(name, Fraction(0), UNIT, 0)) for name in ("Gauss", "Lap"))
    halves = [graph.restrict(law, Fraction(0), end) for end in (None, UNIT)]
    inside = graph.restrict(other, -UNIT, UNIT)
    parts = (*halves, inside, inside, graph.one, graph.one)
    excess = graph.add("excess", parts, Fraction(10**6), True)
    assert upper(evaluate(graph, [excess], UNIT, FINE._replace(bits=1))[excess]) > 0.1586 * (
        1 - float_exp(-1)
    )


# --- Signs of functions of eps: those that the verifier proves are proved, and no false one is ----

HALF, TWO = Fraction(1, 2), Fraction(2)
INTERVALS = (
    ALL,
    Epsilons(Fraction(0), TWO),
    Epsilons(HALF, None),
    Epsilons(HALF, TWO),
    Epsilons(Fraction(1), Fraction(1)),
)


def as_sum(function: ExponentialPolynomial) -> Sum:
    return Sum.of(((q, n), c) for (n, q), c in function.terms)


def test_how_many_cuts_and_rises_are_enough(monkeypatch) -> None:
    """Rises from 0 on, slopes of one sign, and slopes of slopes at both ends need no cuts."""
    near_e = constant(Fraction(271828182845904, 10**14))
    functions_of = {
        ALL: [exp(1) - ONE - EPS, EPS * exp(1) - EPS],
        Epsilons(Fraction(1), TWO): [exp(1) - near_e, exp(-1) - exp(-2), product([EPS - ONE] * 2)],
        Epsilons(HALF, Fraction(1)): [near_e + constant(HALF) - exp(1), product([EPS - ONE] * 2)],
    }
    monkeypatch.setattr(signs, "MOST_BOXES", 2)
    for on, known in functions_of.items():
        for function in known:
            assert Signs(on).tell(as_sum(function), positive=False)
    square = as_sum(product([EPS - ONE] * 2))
    assert not Signs(Epsilons(HALF, Fraction(7, 2))).tell(square, positive=False)
    monkeypatch.setattr(signs, "MOST_RISES", 0)
    assert not Signs(Epsilons(Fraction(1), TWO)).tell(square, positive=False)


def test_only_what_has_one_sign_is_divided_by() -> None:
    signs = Signs(ALL)
    grows, falls = (Ratio(as_sum(each)) for each in (exp(1) - ONE, ONE - exp(1)))
    for eps in (HALF, TWO):
        for one in (grows, falls):
            whole = (signs.inverse(one) * one + Ratio.constant(Fraction(-1))).numerator
            assert whole.sign(eps) == 0
        # A quotient has the sign of its numerator.
        assert signs.inverse(falls).numerator.sign(eps) == -1


def multiple(family: str, one: int, other: int) -> Fraction | None:
    """The price of a multiple of a density in that of another."""
    graph, own = Graph(), Law(family, Fraction(1), UNIT, 0)
    f, g = (graph.density(own, Fraction(k)) for k in (one, other))
    return Prices(graph, UNIT).price(f, g)


def turned() -> bool:
    """A quotient that is 1.02 at both ends and in the middle, and 3 between."""
    with precision(64):
        low = arb_poly([arb(1), arb(0), arb("-3.96"), arb(0), arb("3.96")])
        found = _range(low + arb("0.02"), low, Fraction(2, 25))
    return not found.is_finite() or found.contains(arb(3))


def test_masses_whose_losses_have_no_end_are_at_infinity() -> None:
    with precision(64):
        third, unit = arb(1) / 3, (1 << 32) // 3 + 1
        for y in (arb.pos_inf(), arb(FARTHEST + 1).exp()):
            found = _above(iter([(third, third / 2, y)]), arb(0), Fraction(1, 4), 32)
            assert (found.infinite, sum(found.masses)) == (unit, 0)


def test_a_quotient_that_turns_is_enclosed_by_those_of_all_values() -> None:
    with precision(64):
        t = arb_poly([0, 1, 0, -1])  # 0 at -1, 0, 1
        for high in (100 + 20 * t, 100 + 60 * t * t, 100 - 60 * t * t):
            found = _range(arb_poly([1]), high, Fraction(2, 25))
            assert all(found.contains(1 / high(arb(k) / 8)) for k in range(-8, 9))


TOUCHES = as_sum(product([EPS * exp(1) - ONE] * 2))
"""It is 0 at an irrational number."""

HIGH = Sum.of([((Fraction(0), 10**9), 1), ((Fraction(0), 0), -1)])


def test_prices_and_signs_that_are_told_or_refused() -> None:
    asked = {"positive_part": positive_part, "read_epsilons": read_epsilons}
    check_answers("kernel_prices", judged(globals() | asked))
