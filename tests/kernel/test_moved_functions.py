"""Functions after a change of variables, in closed form, at points; and sums of two samples."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.signs import Signs
from tests.kernel.graphs import ONE, law, totals

REALS, INTEGERS = ["Lap", "LapPlus", "LapMinus"], ["DLap"]


def value(pieces: Any, t: Fraction) -> float:
    """A function in closed form, at eps = 1 and a point that is none of its ends."""
    place = sum(point < t for point in pieces.points)
    terms = pieces.pieces[place].items()
    return sum(_number(c) * float(t) ** k * exp(float(b * t)) for (k, b), c in terms)


def _number(ratio: Ratio) -> float:
    below = 1.0
    for factor, exponent in ratio.denominator:
        below *= _at_one(factor) ** exponent
    return _at_one(ratio.numerator) / below


def _at_one(terms: Any) -> float:
    return sum(float(c) * exp(float(q)) for (q, _), c in terms.terms)


@pytest.mark.parametrize("families", [REALS, INTEGERS], ids=["reals", "integers"])
@given(data=st.data())
def test_a_moved_function_is_the_function_elsewhere(
    families: list[str], data: st.DataObject
) -> None:
    graph, _ = data.draw(totals(families))
    whole = families == INTEGERS
    f = data.draw(st.sampled_from([k for k, d in enumerate(graph.discrete) if d is not None]))
    noise = law(families[0], 0, data.draw(st.sampled_from([1, 2])))
    if graph.nodes[f].kind in ("density", "restrict", "product"):
        f = data.draw(st.sampled_from([f, graph.add("convolved", [f], noise)]))
    slopes = [Fraction(-1), ONE] if whole else [Fraction(k, 2) for k in (-4, -2, -1, 1, 2, 3)]
    slope, offset = data.draw(st.sampled_from(slopes)), Fraction(data.draw(st.integers(-3, 3)))
    offset = offset if whole else offset / 3
    moved = graph.moved(f, slope, offset)
    found = exact_values(graph, [f, moved], Signs.at(ONE))
    for k in range(-6, 7):
        t = Fraction(k) if whole else Fraction(k) + Fraction(1, 97)
        expected = value(found[f], slope * t + offset)
        assert abs(value(found[moved], t) - expected) <= 1e-9 * (1 + abs(expected))


def test_functions_are_changed_by_what_has_an_inverse_alone() -> None:
    graph = Graph()
    real, whole = graph.density(law("Lap")), graph.density(law("DLap"))
    for function, slope, offset in (
        (real, Fraction(0), ONE),
        (real, Fraction(0), Fraction(0)),
        (whole, Fraction(2), Fraction(0)),
        (whole, Fraction(1, 2), Fraction(0)),
        (whole, ONE, Fraction(1, 2)),
        (whole, Fraction(-1), Fraction(1, 2)),
    ):
        with pytest.raises(ValueError, match="no change of variables"):
            graph.moved(function, slope, offset)
    half = graph.rational(Fraction(1, 2))
    assert graph.moved(half, Fraction(2), ONE) == half


def test_numbers_stay_where_functions_move() -> None:
    """A weight that is an integral is not that of the moved function."""
    graph = Graph()
    f, g = graph.density(law("Lap")), graph.density(law("LapPlus", 1))
    square, third = graph.total(graph.times(f, f)), graph.rational(Fraction(1, 3))
    assert graph.moved(square, Fraction(2), ONE) == square
    mixed = graph.mix([(square, f), (third, g), (graph.one, graph.times(f, g))])
    moved = graph.moved(mixed, Fraction(-2), ONE)
    found = exact_values(graph, [mixed, moved, f, g], Signs.at(ONE))
    for k in range(-6, 7):
        t = Fraction(k, 3) + Fraction(1, 97)
        one, other = (value(found[each], 1 - 2 * t) for each in (f, g))
        # The integral of f^2 is 1/4.
        expected = one / 4 + other / 3 + one * other
        assert abs(value(found[moved], t) - expected) < 1e-12
    assert graph.mix([(graph.one, f)]) == f
    both = graph.mix([(graph.one, f), (third, g)])
    (pieces,) = exact_values(graph, [both], Signs.at(ONE)).values()
    assert abs(value(pieces, Fraction(2)) - (exp(-2) / 2 + exp(-1) / 3)) < 1e-12
    # A product with 1, from either side, is the other factor; one with 0 is 0; likewise sums.
    for number, times, plus in ((graph.one, square, None), (graph.zero, graph.zero, square)):
        for one, other in ((number, square), (square, number)):
            assert graph.times(one, other) == times
            assert plus is None or graph.plus(one, other) == plus
    twice = exact_values(graph, [graph.mix([(third, f), (square, f)])], Signs.at(ONE))
    (pieces,) = twice.values()
    assert abs(value(pieces, ONE) - 7 / 24 * exp(-1)) < 1e-12


def test_multiples_of_integers_are_not_added() -> None:
    """They leave gaps; of real numbers any multiples may be."""
    graph = Graph()
    real, whole = (
        [graph.density(law(family, mean)) for mean in (0, 1)] for family in ("Lap", "DLap")
    )
    for p, q in ((1, 1), (1, -1), (-1, -1), (2, 1), (1, -3), (2, 2), (-2, 2)):
        assert graph.combined(real[0], p, real[1], q) is not None
        assert (graph.combined(whole[0], p, whole[1], q) is None) == ({abs(p), abs(q)} != {1})
