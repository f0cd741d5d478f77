"""Inequalities and zones: what they imply, contain and prove, against linear programming."""

from fractions import Fraction
from itertools import product

import numpy as np
from event_strategies import events
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dipapprox.errors import LimitReached
from dipapprox.events.event import Event
from dipapprox.limits import at_most, check_limits
from dipapprox.linear.form import Difference, FormSpan, LinearForm, Symbol, difference
from dipapprox.linear.half_spaces import (
    Inequality,
    has_interior,
    have_integer_point,
    implies,
    nearest_point,
)
from dipapprox.linear.programme import LinearProgramme, Optimum, UnknownSide
from dipapprox.linear.zones import Zone, union
from tests.cases import refuses


def greatest_slack(event: Event) -> float:
    """max { t <= 1 : form + t <= 0 for every guard }, in floating point."""
    size = len(event.samples)
    rows = [[*(float(g.coefficient(s)) for s in range(size)), 1.0] for g in event.guards]
    bounds = [(None, None)] * size + [(None, 1)]
    right = [-float(g.constant) for g in event.guards]
    objective = np.array([0.0] * size + [-1.0])
    result = linprog(objective, A_ub=np.array(rows), b_ub=right, bounds=bounds)
    assert result.success
    return float(-result.fun)


@given(events())
def test_has_interior_agrees_with_linear_programming(event) -> None:
    assert has_interior(event.guards) == (greatest_slack(event) > 1e-7)


@given(events(most=4))
def test_implies_agrees_with_linear_programming(event) -> None:
    *premises, conclusion = event.guards
    opposite = Event(event.samples, (*premises, -conclusion))
    assert implies(premises, conclusion) == (greatest_slack(opposite) <= 1e-7)


UNKNOWNS = "xyz"

numbers = st.sampled_from([Fraction(k, 6) for k in range(-12, 13)])
rows = st.lists(st.dictionaries(st.sampled_from(UNKNOWNS), numbers, min_size=1), max_size=5)
prices = st.sampled_from([None, *(Fraction(k, 3) for k in range(5))])
rates = st.lists(prices, min_size=3, max_size=3)
sides = st.lists(st.sampled_from(UnknownSide), min_size=3, max_size=3)


@given(rows, rates, sides, st.lists(numbers, min_size=10, max_size=10))
def test_solutions_prove_each_other(given_rows, given_rates, given_sides, right) -> None:
    rate = dict(zip(UNKNOWNS, given_rates, strict=True))
    side = dict(zip(UNKNOWNS, given_sides, strict=True))
    programme = LinearProgramme([row.items() for row in given_rows], rate, side)
    for start in (0, 5):  # the second solution begins where the first one ended
        bounds = right[start : start + len(given_rows)]
        found = programme.solve(bounds)
        assert all(y >= 0 for y in found.flow)
        for unknown, most in rate.items():
            if most is None:
                continue
            flows = zip(found.flow, given_rows, strict=True)
            total = sum((y * row.get(unknown, 0) for y, row in flows), Fraction(0))
            limit = most if isinstance(found, Optimum) else Fraction(0)
            assert side[unknown] is UnknownSide.AT_LEAST_ZERO or total <= limit
            assert side[unknown] is UnknownSide.AT_MOST_ZERO or -total <= limit
        gained = -sum((y * h for y, h in zip(found.flow, bounds, strict=True)), Fraction(0))
        if not isinstance(found, Optimum):
            assert gained > 0
            continue
        assert gained == found.value
        for row, h in zip(given_rows, bounds, strict=True):
            assert sum((a * found.shift[unknown] for unknown, a in row.items()), Fraction(0)) <= h
        assert found.value == sum(abs(x) * (rate[k] or 0) for k, x in found.shift.items())
        for unknown, x in found.shift.items():
            assert rate[unknown] is not None or not x
            assert side[unknown] is not UnknownSide.AT_LEAST_ZERO or x >= 0
            assert side[unknown] is not UnknownSide.AT_MOST_ZERO or x <= 0


def within_the_box(size: int) -> list[Inequality]:
    return [Inequality(((k, sign),), 3) for k in range(size) for sign in (1, -1)]


@st.composite
def systems(draw: st.DrawFn) -> tuple[int, list[Inequality]]:
    size = draw(st.integers(1, 3))
    found = []
    for _ in range(draw(st.integers(1, 5))):
        row = draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size))
        terms = tuple((k, a) for k, a in enumerate(row) if a)
        if terms:
            found.append(Inequality(terms, draw(st.integers(-6, 3))))
    return size, found


@given(systems())
def test_it_is_what_enumeration_says(drawn) -> None:
    size, system = drawn
    expected = any(
        all(sum(a * point[k] for k, a in each.terms) <= each.bound for each in system)
        for point in product(range(-3, 4), repeat=size)
    )
    assert have_integer_point([*system, *within_the_box(size)]) is expected


def test_what_goes_on_for_ever_is_given_up() -> None:
    """2 x - 2 y = 1 after division: a strip without integer points and without end."""
    strip = [Inequality(((0, 3), (1, -3)), 2), Inequality(((0, -3), (1, 3)), -1)]
    assert have_integer_point(strip) in (None, False)


Q = Fraction
VERTICES = 4  # the first is the number 0

differences = st.tuples(
    st.integers(-1, VERTICES - 2), st.integers(-1, VERTICES - 2), st.integers(-1, 5).map(Q)
).filter(lambda each: each[0] != each[1])

points = st.tuples(*(st.integers(-40, 40) for _ in range(VERTICES - 1))).map(
    # Off all boundaries: denominators of their own.
    lambda at: tuple(Q(n, 5) + Q(1, p) for n, p in zip(at, (101, 211, 401), strict=True))
)


def inside(bounds: list[Difference], point: tuple[Fraction, ...]) -> bool:
    at = {-1: Q(0), **dict(enumerate(point))}
    return all(at[v] - at[u] < w for u, v, w in bounds)


def read(zone: Zone) -> list[Difference]:
    found = [difference(form) for form in zone.forms()]
    assert None not in found
    return [each for each in found if each is not None]


@given(given_=st.lists(differences, min_size=1, max_size=6), point=points)
def test_a_zone_is_its_facets(given_, point) -> None:
    zone = Zone.of(given_)
    assert inside(given_, point) == (zone is not None and inside(read(zone), point))


def split(base: list[Difference], cuts: list[Difference]) -> list[list[Difference]]:
    """Disjoint parts up to boundaries."""
    parts = [base]
    for u, v, w in cuts:
        parts = [[*part, more] for part in parts for more in ((u, v, w), (v, u, -w))]
    return parts


@given(
    base=st.lists(differences, max_size=2),
    cuts=st.lists(differences, min_size=1, max_size=3),
    chosen=st.lists(st.booleans(), min_size=8, max_size=8),
    point=points,
)
def test_a_union_has_the_points_of_its_parts(base, cuts, chosen, point) -> None:
    some = [part for part, use in zip(split(base, cuts), chosen, strict=False) if use]
    zones = [zone for zone in map(Zone.of, some) if zone is not None]
    whole = union(zones) if zones else None
    if whole is not None:
        assert inside(read(whole), point) == any(inside(read(zone), point) for zone in zones)


@given(
    base=st.lists(differences, min_size=1, max_size=4),
    cuts=st.lists(differences, min_size=1, max_size=3),
)
def test_what_was_split_is_joined(base, cuts) -> None:
    zones = [zone for zone in map(Zone.of, split(base, cuts)) if zone is not None]
    before = Zone.of(base)
    assume(before is not None and len(zones) > 1)
    whole = union(zones)
    # A facet of the whole may be implied by others in every part.
    assert whole is None or whole.bounds == before.bounds
    if whole is None:
        own = {facet for zone in zones for facet in zone.facets.items()}
        assert not before.facets.items() <= own


halves = st.sampled_from([Fraction(k, 2) for k in range(-3, 4)])
forms = st.builds(LinearForm.of, st.dictionaries(st.integers(0, 3), halves), halves)


@given(st.lists(forms, max_size=6))
def test_told_sums_are_right(listed) -> None:
    span = FormSpan()
    names: dict[Symbol, LinearForm] = {}
    for number, form in enumerate(listed):
        name = f"y{number}"
        told = span.put(form, name)
        names[name] = form
        if told is not None:
            assert told.substitute(names) == form
    leading = list(span.rows)
    for sample, (row, own) in span.rows.items():
        assert [row.coefficient(other) for other in leading] == [int(k == sample) for k in leading]
        assert own.substitute(names) == row


def test_pivots_of_systems_are_no_steps() -> None:
    """Nobody's share of steps depends on how many pivots a system takes that it asks about."""
    x, y = LinearForm.symbol(0), LinearForm.symbol(1)
    with at_most(0):
        refuses(LimitReached, "0 steps", check_limits)
        assert nearest_point([x + y + LinearForm.constant_form(1)], (0, 1)) is not None
