"""Half-spaces in closed form, and guards one by one: against erfc, symmetry and scipy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.closed_form import (
    GUARD_BY_GUARD,
    enclose_closed_form,
    has_half_spaces,
)

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


ROWS = st.lists(
    st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=3
)
STANDARD = (Distribution(GAUSSIAN, Fraction(0), Fraction(1)),) * 3


def event(rows: list[list[int]], constants: list[Fraction]) -> Event:
    """Σ row x + constant <= 0 for every row, x standard Gaussian."""
    guards = [
        LinearForm.of({k: Fraction(c) for k, c in enumerate(row) if c}, constant)
        for row, constant in zip(rows, constants, strict=True)
    ]
    return Event(STANDARD, tuple(guards))


@given(ROWS, st.data())
def test_bounds_hold_whatever_the_dependence(rows: list[list[int]], data: st.DataObject) -> None:
    far = st.sampled_from([Fraction(-12), Fraction(0), Fraction(9)])
    constants = [data.draw(far) for _ in rows]
    asked = event(rows, constants)
    assert has_half_spaces(asked)
    found = GUARD_BY_GUARD.enclose([asked], 10, Limits())[0]
    matrix = np.array(rows, float)
    law = stats.multivariate_normal(
        np.zeros(len(rows)), matrix @ matrix.T, allow_singular=True, seed=1
    )
    true = law.cdf(-np.array([float(c) for c in constants]))
    if isinstance(found, Enclosure):
        assert found.width <= Fraction(1, 2**10)
        assert float(found.lower) - 1e-3 <= true <= float(found.upper) + 1e-3
    else:
        assert 1e-4 < true < 1 - 1e-4 or Fraction(0) in constants or len(set(constants)) > 1


def test_guards_that_may_or_may_not_hold_are_left_to_others() -> None:
    asked = event([[1, 1, 0], [1, -1, 1]], [Fraction(0), Fraction(0)])
    assert isinstance(GUARD_BY_GUARD.enclose([asked], 10, Limits())[0], NotEnclosed)
