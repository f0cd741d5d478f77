"""Zones: their unions hold the same points, and what was split is joined again."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from dipapprox.linear.form import Difference, difference
from dipapprox.linear.zones import Zone, union

Q = Fraction
VERTICES = 4  # the first is the number 0
Point = tuple[Fraction, ...]

differences = st.tuples(
    st.integers(-1, VERTICES - 2), st.integers(-1, VERTICES - 2), st.integers(-1, 5).map(Q)
).filter(lambda each: each[0] != each[1])

points = st.tuples(*(st.integers(-40, 40) for _ in range(VERTICES - 1))).map(
    # Off all boundaries: denominators of their own.
    lambda at: tuple(Q(n, 5) + Q(1, p) for n, p in zip(at, (101, 211, 401), strict=True))
)


def inside(bounds: list[Difference], point: Point) -> bool:
    at = {-1: Q(0), **dict(enumerate(point))}
    return all(at[v] - at[u] < w for u, v, w in bounds)


def read(zone: Zone) -> list[Difference]:
    found = [difference(form) for form in zone.forms()]
    assert None not in found
    return [each for each in found if each is not None]


@given(given_=st.lists(differences, min_size=1, max_size=6), point=points)
def test_a_zone_is_its_facets(given_: list[Difference], point: Point) -> None:
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
def test_a_union_has_the_points_of_its_parts(
    base: list[Difference], cuts: list[Difference], chosen: list[bool], point: Point
) -> None:
    some = [part for part, use in zip(split(base, cuts), chosen, strict=False) if use]
    zones = [zone for zone in map(Zone.of, some) if zone is not None]
    whole = union(zones) if zones else None
    if whole is not None:
        assert inside(read(whole), point) == any(inside(read(zone), point) for zone in zones)


@given(
    base=st.lists(differences, min_size=1, max_size=4),
    cuts=st.lists(differences, min_size=1, max_size=3),
)
def test_what_was_split_is_joined(base: list[Difference], cuts: list[Difference]) -> None:
    zones = [zone for zone in map(Zone.of, split(base, cuts)) if zone is not None]
    before = Zone.of(base)
    assume(before is not None and len(zones) > 1)
    assert before is not None
    whole = union(zones)
    # A facet of the whole may be implied by others in every part.
    assert whole is None or whole.bounds == before.bounds
    if whole is None:
        own = {facet for zone in zones for facet in zone.facets.items()}
        assert not before.facets.items() <= own
