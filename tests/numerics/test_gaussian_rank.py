"""Gaussian events by rank: orthants, additivity, other engines, integration, degenerate ones."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from math import asin, comb, factorial, pi, sqrt

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event, Impossible
from dipapprox.events.reduce import reduce
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.gaussian_rank.cones import Cones, cones_of
from dipapprox.numerics.gaussian_rank.engine import GaussianRank
from dipapprox.numerics.gaussian_rank.polyhedron import Polyhedron
from dipapprox.numerics.nested.engine import Nested
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone
from tests.numerics.test_engines_agree import random_event

Q = Fraction
Coefficients = dict[int, int | Fraction]


def form(terms: Coefficients, constant: int | Fraction = 0) -> LinearForm:
    return LinearForm.of({k: Q(c) for k, c in terms.items()}, Q(constant))


def enclosed(event: Event, bits: int = 60) -> Enclosure:
    """The enclosure by rank, proved to be as narrow as asked."""
    found = alone(GaussianRank(), event, bits, Limits())
    assert isinstance(found, Enclosure), (event, found)
    assert found.width <= Q(1, 2**bits) and found.lower >= 0 and found.upper <= 1
    return found


def whole(event: Event, bits: int = 60) -> Enclosure:
    """The enclosure of any Gaussian event of rank at most 3: reduced, but not taken apart."""
    guards = irredundant(event.guards)
    if guards is None:
        return Enclosure.exact(0)
    return enclosed(Event(event.samples, guards), bits) if guards else Enclosure.exact(1)


def polyhedron(chance: random.Random, rank: int, size: int, guards: int) -> Event:
    """Guards that are combinations of `rank` forms; small numbers, so that coincidences occur."""
    samples = tuple(
        Distribution(
            GAUSSIAN,
            Q(chance.randint(-3, 3), chance.choice((1, 2, 3))),
            Q(chance.randint(1, 5), chance.choice((1, 2))),
        )
        for _ in range(size)
    )
    forms = [form({k: chance.randint(-3, 3) for k in range(size)}) for _ in range(rank)]
    found = []
    for _ in range(guards):
        total = LinearForm.constant_form(chance.choice((0, 0, -1, -4, -9, 3)))
        for each in forms:
            total = total + each.scaled(Q(chance.randint(-2, 2)))
        if not total.is_constant:
            found.append(total)
    return Event(samples, tuple(found))


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


def test_an_orthant_to_thousands_of_bits() -> None:
    forms = form({0: 1, 1: 2}), form({0: -3, 1: 1, 2: 5})
    found = enclosed(Event((gauss(0),) * 3, forms), 3000)
    with precision(3100):
        rho = arb(-1) / (to_ball(5) * 35).sqrt()
        other = to_enclosure(arb(1) / 4 + rho.asin() / (2 * arb.pi()))
    assert isinstance(other, Enclosure) and other.meets(found)


def test_boxes_are_products_of_intervals() -> None:
    """Thousands of bits, origin inside and outside; the factors have rank 1."""
    sides = [(Q(-1), Q(2)), (Q(1, 3), Q(5, 2)), (Q(0), Q(1))]
    one = [enclosed(Event((gauss(0),), _interval(0, *side)), 700) for side in sides]
    for rank in (2, 3):
        guards = tuple(g for k in range(rank) for g in _interval(k, *sides[k]))
        found = enclosed(Event((gauss(0),) * rank, guards), 700)
        low = high = Q(1)
        for each in one[:rank]:
            low, high = low * each.lower, high * each.upper
        assert found.meets(Enclosure(low, high))


def _interval(sample: int, low: Fraction, high: Fraction) -> tuple[LinearForm, LinearForm]:
    return form({sample: -1}, low), form({sample: 1}, -high)


# --- laws -------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_halves_add_up(seed: int) -> None:
    """Whatever cuts a polyhedron in two; cuts through the origin and through vertices as well."""
    chance = random.Random(seed)
    rank = chance.randint(1, 3)
    event = polyhedron(chance, rank, chance.randint(rank, 8), chance.randint(1, 5))
    cut = polyhedron(chance, 1, len(event.samples), 1).guards
    if event.guards:
        cut = (*cut, event.guards[0] + form({}, chance.randint(0, 2)))
        cut = (*cut, event.guards[0].scaled(Q(2)) - event.guards[-1])
    for guard in cut:
        if guard.is_constant:
            continue
        below, above = (Event(event.samples, (*event.guards, g)) for g in (guard, -guard))
        if _rank(below) <= 3:
            assert (whole(below) + whole(above)).meets(whole(event))


def _rank(event: Event) -> int:
    rows = [[float(g.coefficient(k)) for k in range(len(event.samples))] for g in event.guards]
    return int(np.linalg.matrix_rank(np.array(rows)))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(5, 200), st.integers(5, 200))
def test_more_bits_meet_fewer(seed: int, bits: int, more: int) -> None:
    chance = random.Random(seed)
    event = polyhedron(chance, 3, chance.randint(3, 8), chance.randint(1, 6))
    method = GaussianRank()
    guards = irredundant(event.guards)
    if guards:
        reduced = Event(event.samples, guards)
        first, second = (alone(method, reduced, b, Limits()) for b in (bits, more))
        assert isinstance(first, Enclosure) and isinstance(second, Enclosure)
        assert first.meets(second) and second.width <= Q(1, 2**more)


# --- other methods ------------------------------------------------------------------------------


def test_elimination_agrees_on_orders() -> None:
    chance = random.Random(5)
    compared = 0
    for _ in range(25):
        event = random_event(chance, chance.randint(2, 4), [GAUSSIAN])
        guards = irredundant(event.guards)
        other = alone(Eliminated(), event, 60, Limits())
        if guards and isinstance(other, Enclosure) and _rank(event) < 4:
            assert enclosed(Event(event.samples, guards)).meets(other), event
            compared += 1
    assert compared > 12


@pytest.mark.parametrize("seed", [3, 4, 11])
def test_nested_quadrature_agrees_in_space(seed: int) -> None:
    """In three samples, so that quadrature is nested three deep."""
    chance = random.Random(seed)
    event = polyhedron(chance, 3, 3, chance.randint(3, 5))
    guards = irredundant(event.guards)
    assert guards and _rank(Event(event.samples, guards)) == 3
    other = Event(event.samples, guards)
    found = alone(Nested(Strategy.LEAST_NESTING), other, 25, Limits())
    assert isinstance(found, Enclosure) and found.meets(enclosed(other))


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


@given(
    st.floats(-0.99, 0.99),
    st.floats(-0.99, 0.99),
    st.floats(-0.9, 0.9),
    st.tuples(*[st.floats(-4, 4)] * 3),
    st.floats(0, 4),
    st.floats(-1, 1),
    st.floats(0, 1),
)
def test_plackett_integrands_are_bounded_on_the_strip(
    first: float,
    second: float,
    mixed: float,
    bounds: tuple[float, float, float],
    place: float,
    height: float,
    more: float,
) -> None:
    """Three variables, plain complex arithmetic: the derivative has a closed form."""
    inverse = np.linalg.inv([[1, mixed], [mixed, 1]])
    c = np.array([first, second])
    q = c @ inverse @ c
    if not 1e-6 < q < 0.999:
        return
    b = bounds
    root = sqrt(q) + more * (0.9999 - sqrt(q)) * (q < 0.99)
    tanh = np.tanh(complex(place, 0.7 * height))
    t, speed = tanh / root, (1 - tanh * tanh) / root
    total = 0j
    for j in range(2):
        own, other = t * c[j], t * c[1 - j]
        left = 1 - own * own
        exponent = (b[0] ** 2 - 2 * own * b[0] * b[j + 1] + b[j + 1] ** 2) / (2 * left)
        density = np.exp(-exponent) / (2 * pi * np.sqrt(left))
        to_first = (other - mixed * own) / left
        to_partner = (mixed - other * own) / left
        mean = to_first * b[0] + to_partner * b[j + 1]
        variance = 1 - to_first * other - to_partner * mixed
        total += c[j] * density * erfc(-(b[2 - j] - mean) / np.sqrt(2 * variance)) / 2
    bound = (2 * abs(b[0]) + sqrt(2)) / (sqrt(2 * pi) * np.cos(1.4))
    assert abs(total * speed) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("rank", [4, 5, 6])
def test_the_first_of_many_is_the_largest(rank: int) -> None:
    """Correlations of 1/2: 1 / (n + 1) by symmetry; and -1/2 along a chain: 1 / (n + 1)!."""
    bits = 40 if rank < 6 else 14
    star = tuple(less(k, 0) for k in range(1, rank + 1))
    assert Q(1, rank + 1) in enclosed(Event((gauss(0),) * (rank + 1), star), bits)
    if rank < 6:
        chain = tuple(less(k, k + 1) for k in range(rank))
        assert Q(1, factorial(rank + 1)) in enclosed(Event((gauss(0),) * (rank + 1), chain), bits)


def test_independent_blocks_are_products() -> None:
    """x ⊥ z given y: correlations that vanish, but not exactly, on the way."""
    samples = (gauss(0),) * 5
    chain = [form(dict.fromkeys(range(k + 1), Q(1))) for k in range(5)]  # partial sums
    found = enclosed(Event(samples, tuple(chain)), 40)
    assert Q(comb(10, 5), 4**5) in found


def test_what_would_take_too_long_is_refused_or_wider() -> None:
    wide = Event((gauss(0),) * 20, tuple(less(k, k + 1, k) for k in range(9)))
    many = [form({k: a, (k + 3) % 7: b}, -2) for k in range(7) for a, b in ((1, 2), (3, -1))]
    many += [-guard - form({}, 9) for guard in many]
    for guards in (tuple(many), tuple(less(k, k + 1) for k in range(12))):
        found = alone(GaussianRank(), Event(wide.samples, guards), 40, Limits())
        assert isinstance(found, NotEnclosed)


# --- degenerate ones --------------------------------------------------------------------------


def test_degenerate_guards() -> None:
    samples = (gauss(0), gauss(1, 2), gauss(-1, 3), gauss(2))
    line = form({0: 2, 1: -1, 2: Q(1, 2), 3: 1}, -1)
    once = enclosed(Event(samples, (line,)))
    assert whole(Event(samples, (line, line, line.scaled(Q(3))))).meets(once)
    assert isinstance(reduce(Event(samples, (line, -line))), Impossible)
    assert (once + enclosed(Event(samples, (-line,)))).meets(Enclosure.exact(1))
    sliver = enclosed(Event(samples, (line, -line - form({}, Q(1, 10**9)))), 100)
    assert Q(1, 10**11) < sliver.lower < sliver.upper < Q(1, 10**9)


def test_guards_may_be_implied_or_contradict_each_other() -> None:
    one, other, both = form({0: 1}), form({1: 1}), form({0: 1, 1: 1})
    quarter, nothing = Enclosure.exact(Q(1, 4)), Enclosure.exact(0)
    for guards, expected in (
        ((one, other, both), quarter),  # implied, tight at the vertex
        ((one, other, both - form({}, 1)), quarter),
        ((one, one), Enclosure.exact(Q(1, 2))),
        ((one, -one), nothing),
        ((one, other, form({0: -1, 1: -1})), nothing),
        ((one, other, form({2: 1}), both), Enclosure.exact(Q(1, 8))),  # tight on an edge
        ((one, other, form({2: 1}), both + form({2: 1})), Enclosure.exact(Q(1, 8))),
    ):
        assert enclosed(Event((gauss(0),) * 3, guards)).meets(expected)


def test_what_it_is_not_for() -> None:
    chain = Event((gauss(0),) * 11, tuple(less(k, k + 1) for k in range(10)))
    mixed = Event((gauss(0), laplace(0)), (less(0, 1),))
    found = GaussianRank().enclose((chain, mixed), 40, Limits())
    assert found[0] == NotEnclosed("guards of a rank above 9")
    assert found[1] == NotEnclosed("not all samples are Gaussian")


def test_scales_that_are_far_apart() -> None:
    """x + 10^-6 y <= z, x <= w, z - w <= 10^6: to first order x <= min(z, w)."""
    tiny, large = Q(1, 10**6), Q(10**6)
    samples = (gauss(0), gauss(0, tiny), gauss(0, large), gauss(0, large))
    first, second = form({0: 1, 1: 1, 2: -1}), form({0: 1, 3: -1})
    pair = enclosed(Event(samples, (first, second)), 200)
    assert abs(float(pair.lower) - 0.25) < 1e-5
    third = form({2: 1, 3: -1}, -large)
    inside = enclosed(Event(samples, (first, second, third)), 200)
    outside = enclosed(Event(samples, (first, second, -third)), 200)
    assert (inside + outside).meets(pair)


@pytest.mark.parametrize("power", [6, 40, 1000])
def test_the_origin_may_be_very_near_a_face(power: int) -> None:
    """Continuity: the measure moves by at most the density times the shift."""
    small = Q(1, 10**power)
    samples = (gauss(0),) * 3
    forms = [form({0: 1, 1: 2}), form({0: -3, 1: 1, 2: 5}), form({0: 1, 2: 1})]
    exact = enclosed(Event(samples, tuple(forms)), 50)
    shifted = [f + form({}, s * small) for f, s in zip(forms, (1, -1, Q(1, 3)), strict=True)]
    near = enclosed(Event(samples, tuple(shifted)), 50)
    assert abs(near.lower - exact.lower) <= 3 * small + Q(1, 2**49)


def test_the_limit_of_time_is_kept() -> None:
    event = Event((gauss(0),) * 3, tuple(form({k: 1, (k + 1) % 3: 1}, -1) for k in range(3)))
    with pytest.raises(LimitReached):
        alone(GaussianRank(), event, 60, Limits(seconds=0.0))
