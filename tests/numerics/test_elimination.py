"""Elimination and events by rank, against counting, other engines and scipy."""

import random
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import asin, factorial, pi, prod, sqrt

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.stats import norm

from dipapprox import Enclosure, LimitReached, Limits, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.canonical import canonical_factors
from dipapprox.events.event import Connected, Event, Star
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.numerics import conditioning as engine
from dipapprox.numerics.closed_form import ClosedForm
from dipapprox.numerics.conditioning import (
    Conditioned,
    Separator,
    panels_for,
    separation_by,
    weighted,
)
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.plan_text import plan_lines
from dipapprox.numerics.gaussian_rank.cones import Polyhedron, cones_of
from dipapprox.numerics.gaussian_rank.orthants import GaussianRank
from dipapprox.numerics.methods import InOrder, Tier, TriedMethod, has_density, is_gaussian
from dipapprox.numerics.nested.engine import Nested
from tests.cases import examples, part
from tests.event_strategies import REAL_FAMILIES, events, form, gauss, laplace, less, of_family
from tests.numerics.one_by_one import alone, enclosed

Q = Fraction
ENGINE = Eliminated()  # shared on purpose: what it remembers must not matter


def equal(family: Family, count: int) -> tuple[Distribution, ...]:
    return (Distribution(family, Q(1, 3), Q(2, 7)),) * count


@st.composite
def orders(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A connected order on up to six elements."""
    size = draw(st.integers(2, 6))
    names = draw(st.permutations(range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True))
    for j in range(1, size):
        if not any(j in edge for edge in edges if min(edge) < j):
            edges.append((draw(st.integers(0, j - 1)), j))
    return size, [(names[i], names[j]) for i, j in edges]


@given(order=orders(), family=st.sampled_from(REAL_FAMILIES))
def test_equal_samples_count_linear_extensions(order, family) -> None:
    size, edges = order
    extensions = sum(
        all(ranks[i] < ranks[j] for i, j in edges) for ranks in permutations(range(size))
    )
    value = enclosed(ENGINE, Event(equal(family, size), tuple(less(i, j) for i, j in edges)))
    assert Q(extensions, factorial(size)) in value
    assert value.width < Q(1, 2**40)


HARD: dict[str, Connected] = {
    "means a million apart": Event((gauss(0), gauss(10**6), laplace(0)), (less(0, 1), less(2, 1))),
    "the same, impossible": Event((gauss(0), gauss(10**6), gauss(0)), (less(0, 1), less(1, 2))),
    "scales 1e-6 and 1e6": Event(
        (gauss(0, Q(1, 10**6)), laplace(1, 10**6), laplace(0)), (less(0, 1), less(1, 2))
    ),
    "both": Event(
        (gauss(0, Q(1, 10**6)), laplace(10**6, 10**6), gauss(-(10**6))), (less(0, 1), less(1, 2))
    ),
    "a thousand equal samples": Star(gauss(0), ((gauss(0), 1000),), ()),
    "eps = 1e-6": Star(gauss(0, 2 * 10**6), ((gauss(1, 4 * 10**6), 25),), ()),
    "eps = 50": Star(laplace(0, Q(2, 50)), ((laplace(1, Q(4, 50)), 25),), ()),
    "means 1e18 apart": Star(gauss(10**18 + 3), ((gauss(0), 1), (gauss(10**18 + 3), 2)), ()),
    # Grids that keep 64 bits have the standard Gaussian up to 75/8: a kink just before that end.
    "a kink next to an end": Star(gauss(0), ((laplace(Q(75, 8) - Q(1, 10**18), 10**6), 2),), ()),
    "below 1e-300": Star(gauss(-50), ((gauss(0), 3),), ()),
    "a scale of 1e-30": Event(
        (gauss(0, Q(1, 10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
    "a scale of 1e30": Event(
        (gauss(0, Q(10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
}


def test_values_known_by_symmetry_at_the_extremes() -> None:
    assert Q(1, 1001) in enclosed(Eliminated(), HARD["a thousand equal samples"], 90)
    # The least of three centred samples, one of them with a tiny scale: 1/4 in the limit.
    assert abs(enclosed(Eliminated(), HARD["a scale of 1e30"], 90).lower - Q(1, 4)) < Q(1, 10**25)
    assert enclosed(Eliminated(), HARD["below 1e-300"], 1100).upper < Q(1, 10**300)


def grid(side: int) -> Event:
    """A square grid of samples, ascending along both axes: many cycles."""
    rows = [less(k, k + 1) for k in range(side * side) if (k + 1) % side]
    columns = [less(k, k + side) for k in range(side * (side - 1))]
    laws: list[Distribution] = [gauss(k % 3) for k in range(side * side)]
    return Event(tuple(laws), (*rows, *columns))


def test_too_many_pieces_are_refused_with_a_reason() -> None:
    with limited(Limits(pieces=300)):
        found = alone(Eliminated(), grid(5), 40)
    assert "25 samples and 40 comparisons" in found.reason and "300 pieces" in found.reason


def test_a_time_limit_names_the_component() -> None:
    with (
        pytest.raises(LimitReached, match=r"time limit: 0.2 s") as reached,
        limited(Limits(seconds=0.2)),
    ):
        alone(Eliminated(), grid(5), 40)
    assert reached.value.event == grid(5)


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
def test_orthants(forms) -> None:
    found = enclosed(GaussianRank(), Event((gauss(0),) * 5, tuple(forms)), 60)
    angles = [asin(cosine(f, g)) for f, g in combinations(forms, 2)]
    expected = 1 / 4 + angles[0] / (2 * pi) if len(forms) == 2 else 1 / 8 + sum(angles) / (4 * pi)
    assert abs(float(found.lower) - expected) < 1e-13


# --- cones and orthants -----------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_signed_cones_cover_every_point_as_often_as_the_polyhedron(seed) -> None:
    """Guards that meet in one vertex, are parallel, equal, implied, or contradict each other."""
    chance = random.Random(seed)
    rank = chance.randint(1, 4)
    normals = [tuple(fmpq(i == j) for j in range(rank)) for i in range(rank)]
    extra = chance.randint(0, 4)
    normals += [tuple(fmpq(chance.randint(-2, 2)) for _ in range(rank)) for _ in range(extra)]
    normals = [normal for normal in normals if any(x != 0 for x in normal)]
    chance.shuffle(normals)
    bounds = tuple(fmpq(chance.randint(-1, 2)) for _ in normals)
    forms = fmpq_mat([list(normal) for normal in normals])
    whole = Polyhedron(forms * forms.transpose(), bounds, rank)
    cones = cones_of(whole)
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
        found = alone(GaussianRank(), Event(wide.samples, guards), 40)
        assert isinstance(found, NotEnclosed)


# --- degenerate ones --------------------------------------------------------------------------


def test_what_it_is_not_for() -> None:
    chain = Event((gauss(0),) * 11, tuple(less(k, k + 1) for k in range(10)))
    mixed = Event((gauss(0), laplace(0)), (less(0, 1),))
    found = GaussianRank().enclose((chain, mixed), 40)
    assert found[0] == NotEnclosed("guards of a rank above 9")
    assert found[1] == NotEnclosed("not all samples are Gaussian")


DOUBLES = Eliminated(Tier.FLOAT64)
INNER = InOrder(
    [
        TriedMethod(lambda: Eliminated(Tier.FLOAT64), has_density),
        TriedMethod(GaussianRank, is_gaussian, narrows=False),
    ],
    "inner",
)
CONTINUOUS = [family for family in FAMILIES.values() if not family.is_discrete]


def row(constant: int, **terms: int) -> LinearForm:
    """2 a - b + 1 is row(1, x0=2, x1=-1)."""
    named: dict[Symbol, Fraction] = {int(name[1:]): Q(c) for name, c in terms.items()}
    return LinearForm.of(named, Q(constant))


def ring(families: list[Family]) -> Event:
    """Three samples, each pair in one guard with noise of its own."""
    samples = [of_family(family, k, 1 + k % 2) for k, family in enumerate(families)]
    noise = [of_family(GAUSSIAN, 0, 2)] * 3
    guards = (row(0, x0=1, x1=1, x3=1), row(-1, x1=1, x2=1, x4=1), row(1, x2=1, x0=-1, x5=1))
    return Event((*samples, *noise), guards)


@pytest.mark.parametrize("family", CONTINUOUS)
@pytest.mark.parametrize("bounds", [(None, None), (Q(-1, 3), None), (Q(1), Q(2)), (Q(60), None)])
def test_rules_integrate_what_they_bound(family, bounds) -> None:
    """Pr[a s + y <= b, s between bounds] = ∫ φ(s) Φ((b - a s) / τ) ds, by elimination of s, y."""
    a, tau, b = Q(3, 2), Q(4, 5), Q(1, 7)
    own, noise = of_family(family, Q(1, 2), Q(5, 4)), of_family(GAUSSIAN, 0, tau)
    guards = [LinearForm.of({0: a, 1: Q(1)}, -b)]
    low, high = bounds
    guards += [] if low is None else [LinearForm.of({0: Q(-1)}, low)]
    guards += [] if high is None else [LinearForm.of({0: Q(1)}, -high)]
    whole = alone(DOUBLES, Event((own, noise), tuple(guards)), 40)
    separation = separation_by(Event((own, noise), tuple(guards)), (0,))
    (separator,) = separation.separators
    assert separator == Separator(0, low, high, ((1, a),), a * a / tau**2)
    panels = panels_for(separator, own, 45)
    assert panels is not None
    with precision(120):
        rule = weighted(separator, own, panels, 45)
        total = arb(0)
        for place, weight in zip(rule.places, rule.weights, strict=True):
            half_space = Event((noise,), (LinearForm.of({0: Q(1)}, a * place - b),))
            inner = ClosedForm().one(half_space, 80)
            total += weight * to_ball(inner.lower)
        found = to_enclosure(total + arb(0, (rule.error + arb(2) ** -70).upper()))
    assert isinstance(whole, Enclosure)
    found = Enclosure(found.lower, found.upper + rule.lost)
    assert found.meets(whole) and found.width < Q(1, 2**42)


def test_errors_hold_where_panels_are_too_wide() -> None:
    """The bound is of use only if it grows with the error: a rule for 4 bits, read to 60."""
    own, noise = of_family(GAUSSIAN), of_family(GAUSSIAN, 0, Q(1, 4))
    event = Event((own, noise), (row(-1, x0=2, x1=1),))
    separation = separation_by(event, (0,))
    truth = ClosedForm().one(event, 90)
    (separator,) = separation.separators
    panels = panels_for(separator, own, 4)
    assert panels is not None
    with precision(150):
        rule = weighted(separator, own, panels, 60)
        values = [
            ClosedForm().one(Event((noise,), (LinearForm.of({0: Q(1)}, 2 * t - 1),)), 90)
            for t in rule.places
        ]
        total = arb(0)
        for weight, value in zip(rule.weights, values, strict=True):
            total += weight * to_ball(value.lower)
        cut = Q(2, 2**4)  # the range is that of 4 bits
        error = abs(total - to_ball(truth.lower))
        assert error <= rule.error + to_ball(cut) + arb(2) ** -80
        assert rule.error < 1


@pytest.mark.parametrize("chosen", part([(1,), (0, 1, 2)], 2))
def test_any_separators_give_one_probability(chosen) -> None:
    event = ring([GAUSSIAN] * 3)
    by_rank = alone(GaussianRank(), event, 40)
    separation = separation_by(event, chosen)
    assert separation is not None and isinstance(by_rank, Enclosure)
    bits = 6 if len(chosen) == 3 else 20
    found = engine.Conditioned(DOUBLES)._by_values(event, (separation,), bits)
    assert found.meets(by_rank) and found.width < Q(1, 2**bits)


def test_events_of_one_shape_have_their_own_means() -> None:
    """Separations are remembered without means: asked again, each event is told with its own."""
    event, conditioned = ring([GAUSSIAN] * 3), Conditioned(DOUBLES)
    for mean in (Q(0), Q(2), Q(-1)):
        samples = (of_family(GAUSSIAN, mean, event.samples[0].scale), *event.samples[1:-1])
        last = event.samples[-1].affine(Q(1), mean / 2)
        moved = Event((*samples, last), event.guards)
        by_rank = alone(GaussianRank(), moved, 40)
        found = alone(conditioned, moved, 20)
        assert found.meets(by_rank) and found.width < Q(1, 2**16)


def test_work_is_known_before() -> None:
    """Three separators at 200 bits: refused at once; so are nests too deep."""
    samples = [of_family(GAUSSIAN, 0, k + 1) for k in range(12)]
    guards = []
    for k, pair in enumerate([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (1, 3)]):
        guards.append(LinearForm.of({pair[0]: Q(1), pair[1]: Q(1), 5 + k: Q(1)}, Q(k - 3)))
    event = Event(tuple(samples), tuple(guards))
    found = alone(Conditioned(INNER), event, 200)
    assert "values in turn" in found.reason or "leave only" in found.reason
    nested = alone(Nested(Strategy.LEAST_NESTING, most=1000), event, 40)
    assert isinstance(nested, NotEnclosed) and "evaluations" in nested.reason


@pytest.mark.parametrize(("scale", "bits"), [(Q(1, 10**100), 40), (Q(10) ** 20, 40), (Q(1), 9999)])
def test_what_is_out_of_range_is_refused_or_true(scale, bits) -> None:
    event = ring([GAUSSIAN] * 3)
    samples = (of_family(GAUSSIAN, 0, scale), *event.samples[1:])
    event = Event(samples, event.guards)
    with limited(Limits(seconds=60)):
        found = alone(Conditioned(INNER), event, bits)
    if bits == 40:
        assert found.meets(alone(GaussianRank(), event, 40))
    else:
        assert isinstance(found, NotEnclosed)


_GRID = np.linspace(-12, 12, 4801)


def _read(lines: Sequence[str]) -> float:
    """Do what a plan says, in its words, by trapezoids."""
    known = dict[str, NDArray[np.float64]]()

    def product(names: str) -> NDArray[np.float64]:
        powers = (name.partition("^") for name in names.split())
        return np.prod([known[name] ** int(power or 1) for name, _, power in powers], axis=0)

    def term(words: str) -> float:
        sign, times, names = re.fullmatch(r"([-+]? ?)(\d*) ?(?:integral of )?(.*)", words).groups()
        value = np.trapezoid(product(names), _GRID) if names else 1
        return float(value * int(times or 1) * (-1 if "-" in sign else 1))

    for line in lines:
        name, _, words = line.partition(" = ")
        if found := re.fullmatch(r"density of Gauss\((.*), (.*?)\)( where .*)?", words):
            mean, scale = (float(Fraction(each)) for each in found.groups()[:2])
            known[name] = norm.pdf(_GRID, mean, scale)
            if found[3]:
                lower, upper = (f" {found[3]} ".removeprefix("  where ")).split("t")
                below = float(Fraction(lower.removesuffix(" <= ").strip() or "-99"))
                above = float(Fraction(upper.removeprefix(" <= ").strip() or "99"))
                known[name] *= (below <= _GRID) & (above >= _GRID)
        elif found := re.fullmatch("integral of (.*) (up to t|from t on)", words):
            sums = cumulative_trapezoid(product(found[1]), _GRID, initial=0)
            known[name] = sums if found[2] == "up to t" else sums[-1] - sums
        elif found := re.fullmatch(r"(f\d+)\(t ([-+]) (.*)\)", words):
            moved = float(Fraction(found[3])) * (1 if found[2] == "+" else -1)
            known[name] = np.interp(_GRID + moved, _GRID, known[found[1]])
        elif found := re.fullmatch(r"(f\d+) - (f\d+)", words):
            known[name] = known[found[1]] - known[found[2]]
        elif name == "probability" and words in ("0", "1"):
            return float(words)
        elif name == "probability":
            groups = re.findall(r"\(([^()]*)\)", words) or [words]
            return float(np.prod([sum(map(term, re.split(" (?=[-+] )", g))) for g in groups]))
    raise AssertionError(lines)


@examples(10)
@given(events(most=4, general=False, families=(GAUSSIAN,)))
def test_plans_in_words_come_to_the_probability(event) -> None:
    lines = plan_lines(event)
    if lines[-1].startswith("probability = "):
        factors = canonical_factors(event)
        found = [enclosed(ENGINE, each, 30) for each in factors or ()]
        wanted = prod(float(each.lower) for each in found) if factors is not None else 0
        assert _read(lines) == pytest.approx(wanted, abs=5e-3)  # it jumps at bounds


def test_plans_in_words_say_what_is_impossible() -> None:
    one = gauss(0, 1)
    order = less(0, 1), less(1, 0) + LinearForm.constant_form(1)
    assert plan_lines(Event((one, one), order)) == ("probability = 0",)
    assert plan_lines(Event((), ())) == ("probability = 1",)
