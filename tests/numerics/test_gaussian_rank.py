"""Gaussian events by rank: orthants, additivity, other engines, integration, degenerate ones."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from math import asin, pi, sqrt

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Event
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.gaussian_rank.cones import Cones, Polyhedron, cones_of
from dipapprox.numerics.gaussian_rank.engine import GaussianRank
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone

Q = Fraction
Coefficients = dict[int, int | Fraction]


def form(terms: Coefficients, constant: int | Fraction = 0) -> LinearForm:
    return LinearForm.of({k: Q(c) for k, c in terms.items()}, Q(constant))


def enclosed(event: Event, bits: int = 60) -> Enclosure:
    """The enclosure by rank, proved to be as narrow as asked."""
    found = alone(GaussianRank(), event, bits, Limits())
    assert found.width <= Q(1, 2**bits) and found.lower >= 0 and found.upper <= 1
    return found


# --- closed forms -----------------------------------------------------------------------------


def cosine(f: LinearForm, g: LinearForm) -> float:
    """The correlation of two forms of standard normal variables."""

    def mixed(x: LinearForm, y: LinearForm) -> float:
        return float(sum(c * y.coefficient(s) for s, c in x.terms))

    return mixed(f, g) / sqrt(mixed(f, f) * mixed(g, g))


ORTHANTS = [
    [form({0: 1}), form({1: 1})],
    [form({0: 1, 1: 2}), form({0: -3, 1: 1, 2: 5})],
    [form({0: 1, 1: 1}), form({0: -1000, 1: -999})],
    [form({0: 1}), form({1: 1}), form({2: 1})],
    [form({0: 1, 1: 2, 3: 7}), form({0: -3, 1: 1, 2: 5}), form({0: 1, 2: Q(1, 3), 4: -2})],
    [form({0: 1, 1: 1}), form({1: 1, 2: 1}), form({0: -1, 2: -1})],
]


@pytest.mark.parametrize("forms", ORTHANTS)
def test_orthants(forms: list[LinearForm]) -> None:
    found = enclosed(Event((gauss(0),) * 5, tuple(forms)))
    angles = [asin(cosine(f, g)) for f, g in combinations(forms, 2)]
    expected = 1 / 4 + angles[0] / (2 * pi) if len(forms) == 2 else 1 / 8 + sum(angles) / (4 * pi)
    assert abs(float(found.lower) - expected) < 1e-13


# --- cones and orthants -----------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_signed_cones_cover_every_point_as_often_as_the_polyhedron(seed: int) -> None:
    """Guards that meet in one vertex, are parallel, equal, implied, or contradict each other."""
    chance = random.Random(seed)
    rank = chance.randint(1, 4)
    normals = [tuple(fmpq(i == j) for j in range(rank)) for i in range(rank)]
    extra = chance.randint(0, 4)
    normals += [tuple(fmpq(chance.randint(-2, 2)) for _ in range(rank)) for _ in range(extra)]
    normals = [normal for normal in normals if any(x != 0 for x in normal)]
    chance.shuffle(normals)
    bounds = tuple(fmpq(chance.randint(-1, 2)) for _ in normals)
    whole = Polyhedron(tuple(normals), bounds, (fmpq(1),) * rank)
    cones = cones_of(whole, Limits())
    assert isinstance(cones, Cones)
    for _ in range(20):
        point = [fmpq(chance.randint(-3000, 3000), 997) for _ in range(rank)]
        slacks = [
            b - sum(c * x for c, x in zip(a, point, strict=True))
            for a, b in zip(normals, bounds, strict=True)
        ]
        count = 0
        for cone in cones.cones:
            signed = zip(cone.guards, cone.turned, strict=True)
            count += cone.sign * all(slacks[g] * (-1 if t else 1) > 0 for g, t in signed)
        assert count == all(slack > 0 for slack in slacks)


def test_what_would_take_too_long_is_refused_or_wider() -> None:
    wide = Event((gauss(0),) * 20, tuple(less(k, k + 1, k) for k in range(9)))
    many = [form({k: a, (k + 3) % 7: b}, -2) for k in range(7) for a, b in ((1, 2), (3, -1))]
    many += [-guard - form({}, 9) for guard in many]
    for guards in (tuple(many), tuple(less(k, k + 1) for k in range(12))):
        found = alone(GaussianRank(), Event(wide.samples, guards), 40, Limits())
        assert isinstance(found, NotEnclosed)


# --- degenerate ones --------------------------------------------------------------------------


def test_what_it_is_not_for() -> None:
    chain = Event((gauss(0),) * 11, tuple(less(k, k + 1) for k in range(10)))
    mixed = Event((gauss(0), laplace(0)), (less(0, 1),))
    found = GaussianRank().enclose((chain, mixed), 40, Limits())
    assert found[0] == NotEnclosed("guards of a rank above 9")
    assert found[1] == NotEnclosed("not all samples are Gaussian")
