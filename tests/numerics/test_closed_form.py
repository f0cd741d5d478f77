"""Closed forms against independent oracles: erfc, the quadrature engine, symmetry."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.closed_form import CLOSED_FORM, enclose_closed_form, is_half_space
from dipapprox.numerics.methods import InOrder, TriedMethod
from tests.numerics.recording import Recording

SMALL = st.fractions(min_value=-4, max_value=4, max_denominator=5)
POSITIVE = st.fractions(min_value=Fraction(1, 4), max_value=4, max_denominator=4)


@st.composite
def half_spaces(draw: st.DrawFn, family: Family, most: int) -> Event:
    size = draw(st.integers(1, most))
    laws = tuple(Distribution(family, draw(SMALL), draw(POSITIVE)) for _ in range(size))
    terms = {k: draw(SMALL.filter(bool)) for k in range(size)}
    return Event(laws, (LinearForm.of(terms, draw(SMALL)),))


def mirrored(event: Event) -> Event:
    return Event(event.samples, (-event.guards[0],))


@given(half_spaces(GAUSSIAN, 4), st.integers(10, 300))
def test_gaussian_half_spaces(event: Event, bits: int) -> None:
    found = enclose_closed_form(event, bits)
    other = enclose_closed_form(mirrored(event), bits)
    assert 0 <= found.lower <= found.upper <= 1 and found.width <= Fraction(1, 2**bits)
    assert 1 in found + other
    (guard,) = event.guards
    terms = [(guard.coefficient(k), law) for k, law in enumerate(event.samples)]
    mean = float(guard.constant + sum(c * law.mean for c, law in terms))
    deviation = math.sqrt(sum((c * law.scale) ** 2 for c, law in terms))
    expected = math.erfc(mean / deviation / math.sqrt(2)) / 2
    slack = Fraction(1e-13)
    assert found.lower - slack <= Fraction(expected) <= found.upper + slack


def test_everything_else_goes_to_the_other_method_in_order() -> None:
    gauss = Distribution(GAUSSIAN, Fraction(0), Fraction(1))
    laplace = Distribution(LAPLACE, Fraction(0), Fraction(1))
    below = LinearForm.of({0: Fraction(1), 1: Fraction(-1)})
    mixed = Event((gauss, laplace), (below,))
    two = Event((laplace,) * 3, (below, LinearForm.of({1: Fraction(1), 2: Fraction(-1)})))
    box = Event(
        (gauss,), (LinearForm.of({0: Fraction(1)}), LinearForm.of({0: Fraction(-1)}, -Fraction(1)))
    )
    simple = Event((gauss, gauss), (below,))
    method = Recording(Enclosure(Fraction(0), Fraction(1, 2)))
    rest = TriedMethod(lambda: method, lambda event: True)
    closed = InOrder([TriedMethod(lambda: CLOSED_FORM, is_half_space, trivial=True), rest], "both")
    found = closed.enclose((mixed, simple, two, box), 50, Limits())
    assert method.asked == [mixed, two, box]
    assert Fraction(1, 2) in found[1]
    assert found[1].width <= Fraction(1, 2**50)
    assert [found[k] for k in (0, 2, 3)] == [Enclosure(Fraction(0), Fraction(1, 2))] * 3
    assert closed.name == "recording"
