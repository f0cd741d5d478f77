"""What has a closed form has one value, and what has none, or a long one, is refused."""

from fractions import Fraction
from math import exp, isclose
from typing import Any

import pytest

from dipapprox.kernel import exponentials, nodes
from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import NotProved, Refused, Refuted, budget
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum, power
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.signs import ALL, Signs
from kernel.ends import lower
from tests.cases import refuses
from tests.kernel.graphs import ONE, law

HALF, TWO = Fraction(1, 2), Fraction(2)


def number(graph: Graph, scalar: Node, signs: Signs, eps: Fraction = ONE) -> float:
    """The value of a scalar at some eps; of one that is >= 0 the numerator has the sign."""
    (found,) = exact_values(graph, [scalar], signs).values()
    with precision(200):
        value = float(lower(found.ball(eps)))
    assert found.numerator.sign(eps) == (value > 0) - (value < 0)
    return value


@pytest.mark.parametrize("family", ["Lap", "DLap"])
@pytest.mark.parametrize("from_left", [True, False])
def test_what_is_integrated_twice_has_no_integral(family, from_left) -> None:
    graph = Graph()
    once = graph.running(graph.density(law(family)), from_left)
    for twice in (graph.total(once), graph.total(graph.running(once, not from_left))):
        refuses(Refuted, "does not converge", exact_values, graph, [twice], Signs.at(ONE))
    # From the end where it vanishes on there is one: the mean of max(0, X - Y), or, as sums count
    # both ends, of max(0, X - Y + 1).
    again = graph.running(once, from_left)
    found = number(
        graph, graph.total(graph.times(again, graph.density(law(family)))), Signs.at(ONE)
    )
    expected = 0.75
    if family == "DLap":
        size = (1 - exp(-1)) / (1 + exp(-1))
        mass = {k: size * exp(-abs(k)) for k in range(-30, 31)}
        expected = sum(mass[j] * mass[k] * max(0, j - k + 1) for j in mass for k in mass)
    assert abs(found - expected) < 1e-9


def test_scales_that_are_no_multiples_of_one_over_eps_are_known_at_one_eps() -> None:
    graph = Graph()
    fixed, growing = (graph.density(law("Lap", 0, 2, power)) for power in (0, -1))
    above = [graph.total(graph.restrict(each, ONE, None)) for each in (fixed, growing)]
    refuses(Refused, "for every eps", exact_values, graph, above[:1], Signs(ALL))
    assert abs(number(graph, above[1], Signs(ALL), TWO) - exp(-1) / 2) < 1e-15
    for eps in (ONE, TWO):
        assert abs(number(graph, above[0], Signs.at(eps), eps) - exp(-0.5) / 2) < 1e-15


def test_loops_that_need_not_end_are_refused() -> None:
    graph = Graph()
    grows, falls = (graph.add("weight", (), Ratio(Sum.exponential(rate))) for rate in (1, -1))
    for scalar in (graph.one, graph.rational(TWO), grows):
        for signs in (Signs(ALL), Signs.at(ONE)):
            refuses(NotProved, "not known to end", exact_values, graph, [graph.star(scalar)], signs)
    assert abs(number(graph, graph.star(falls), Signs(ALL)) - 1 / (1 - exp(-1))) < 1e-15


def test_functions_of_many_pieces_and_parts_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(nodes, "MOST_PARTS", 4)
    graph = Graph()
    f = graph.density(law("Lap"))
    ends = graph.restrict(f, Fraction(-1), ONE)
    (found,) = exact_values(graph, [ends], Signs.at(ONE)).values()
    assert len(found.points) == 3
    other = graph.density(law("Lap", HALF))
    both = graph.times(ends, other)
    with pytest.raises(Refused, match="more work"), budget(100):
        exact_values(graph, [both], Signs.at(ONE))
    graph.total(both)
    refuses(Refused, "more than 4 parts", graph.running, both, True)


# --- exponential polynomials and their quotients --------------------------------------------------


def value(function: Sum | Ratio, eps: Fraction) -> float:
    if isinstance(function, Ratio):
        below = 1.0
        for factor, exponent in function.denominator:
            below *= value(factor, eps) ** exponent
        return value(function.numerator, eps) / below
    at = float(eps)
    return sum(float(c) * at**n * exp(float(q) * at) for (q, n), c in function.terms)


def near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def test_only_multiples_of_eps_are_exponents() -> None:
    def linear(c: Any, n: int = 1, q: Any = 0) -> Ratio:
        return Ratio(Sum.of([((Fraction(q), n), Fraction(c))]))

    assert near(value(linear(Fraction(-1, 2)).exponential(), Fraction(3)), exp(-1.5))
    assert linear(0).exponential() == Ratio.constant(Fraction(1))
    quotient = Ratio(Sum.constant(1)) * Ratio(Sum.exponential(1) + Sum.constant(1)).inverse()
    for other in (linear(1, 0), linear(1, 2), linear(1, 1, 1), linear(1) + linear(1, 0), quotient):
        refuses(Refused, "no rational multiple", other.exponential)


def test_what_is_too_long_is_refused(monkeypatch) -> None:
    assert power(Fraction(-2, 3), 5) == Fraction(-32, 243)
    assert power(Fraction(2, 3), -2) == Fraction(9, 4)
    for base, exponent in ((Fraction(2), 10**6), (Fraction(2), -(10**6)), (Fraction(2) ** 999, 99)):
        refuses(Refused, "too long", power, base, exponent)
    refuses(Refused, "too long", Sum.constant, Fraction(2) ** 70_000)
    refuses(Refused, "too long", Sum.exponential, Fraction(2) ** 70_000)
    monkeypatch.setattr(exponentials, "MOST_TERMS", 6)
    three = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(3))
    with pytest.raises(Refused, match="a product of more than 6"):
        _ = three * three
    two = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(2))
    assert len((three * two).terms) == 4
    with pytest.raises(Refused, match="more than 6 terms"):
        Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(7))
