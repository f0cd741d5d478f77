"""Divergences of published numbers, and proved signs, against closed forms and scipy."""

from collections.abc import Callable, Sequence
from fractions import Fraction as F
from itertools import pairwise, product
from math import exp, log, sqrt

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import expon, laplace, norm

from dipapprox import Enclosure, NotEnclosed, Options
from dipapprox.arithmetic.legendre import legendre_rule
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE, EXPONENTIAL, GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.sampled import Sampled
from dipapprox.numerics.methods import Tier
from dipapprox.numerics.real_outputs.densities import (
    Leaf,
    combination_in_balls,
    signs_in_balls,
    signs_in_doubles,
)
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split
from dipapprox.numerics.real_outputs.panel_polynomials import (
    Combination,
    PanelPolynomials,
    _ratios,
    combination,
)
from dipapprox.privacy.subjects import open_method
from tests.cases import cases
from tests.event_strategies import form, gauss, of_family

GAUSS, LAPLACE = GAUSSIAN, LAPLACE
SCIPY = {GAUSS: norm, LAPLACE: laplace, EXPONENTIAL: expon}
HALF = F(1, 2)


def number(
    laws: Sequence[Distribution], guards: Sequence[LinearForm], published: LinearForm
) -> tuple[Part, ...]:
    return (Part((), (Marginal(Event(tuple(laws), tuple(guards)), published),)),)


def growth(budget: F) -> Enclosure:
    with precision(300):
        found = to_enclosure(to_ball(budget).exp())
    assert isinstance(found, Enclosure)
    return found


def opened(tier: Tier = Tier.AUTO) -> HockeyStick:
    return HockeyStick(open_method(Options()), tier)


def split(
    first: tuple[Part, ...],
    second: tuple[Part, ...],
    budget: F,
    bits: int = 40,
    stick: HockeyStick | None = None,
) -> Split:
    found = (stick or opened()).divergence(first, second, growth(budget), bits)
    assert isinstance(found, Split), found
    assert found.value.width <= F(1, 2**bits)
    return found


def test_high_precision_and_the_root() -> None:
    noise = [number([of_family(GAUSS, mean, 1)], [], form({0: 1})) for mean in (0, 1)]
    found = split(noise[0], noise[1], F(1), 120)
    # f > e g where y < 1/2 - 1
    ((low, high),) = found.intervals
    assert low is None and abs(high + HALF) < F(1, 2**50)
    assert split(noise[0], noise[1], F(1), 50).value.meets(found.value)


def test_nothing_on_one_side() -> None:
    noise = number([of_family(GAUSS, 0, 1)], [], form({0: 1}))
    assert split(noise, (), F(1)).value == Enclosure.exact(1)
    assert split((), noise, F(1)).value == Enclosure.exact(0)


def test_parts_add_up_before_the_maximum() -> None:
    positive, negative = form({0: -1}), form({0: 1})
    noise = [of_family(GAUSS, 0, 1)], [of_family(GAUSS, 1, 1)]
    whole = [number(laws, [], form({0: 1})) for laws in noise]
    halves = [
        number(laws, [positive], form({0: 1})) + number(laws, [negative], form({0: 1}))
        for laws in noise
    ]
    assert split(halves[0], halves[1], HALF).value.meets(split(whole[0], whole[1], HALF).value)


def test_integer_noise_and_tied_forms_have_reasons() -> None:
    integer = number([of_family(DISCRETE_LAPLACE, 0, 1)], [], form({0: 1}))
    tied = number(
        [of_family(LAPLACE, 0, 1)] * 3,
        [form({0: 1, 1: -1}), form({1: 1, 2: -1}), form({0: 1, 2: -2})],
        form({0: 1, 1: 1}),
    )
    for parts, word in ((integer, "integer noise"), (tied, "x1 + x2")):
        found = opened().divergence(parts, parts, growth(F(1)), 30)
        assert not isinstance(found, Split) and word in found.reason


# --- against quadrature ---------------------------------------------------------------------------

_means = st.integers(-3, 3).map(lambda k: F(k, 2))
_families = st.sampled_from([GAUSS, LAPLACE])


@st.composite
def _comparisons(draw: st.DrawFn) -> tuple[list[Distribution], list[Distribution], list[bool]]:
    """Laws at two inputs, the first of the published sample; which of the others are below it."""
    count = draw(st.integers(1, 4))
    laws = []
    for _ in range(count):
        family, scale = draw(_families), draw(st.sampled_from([F(1), F(3, 2), F(2)]))
        laws.append([Distribution(family, draw(_means), scale) for _ in range(2)])
    sides = [draw(st.booleans()) for _ in range(count - 1)]
    return [each[0] for each in laws], [each[1] for each in laws], sides


def _density(laws: Sequence[Distribution], sides: Sequence[bool]) -> Callable[[float], float]:
    own, *others = [SCIPY[each.family](float(each.mean), float(each.scale)) for each in laws]

    def at(y: float) -> float:
        found = own.pdf(y)
        for other, below in zip(others, sides, strict=True):
            found *= other.cdf(y) if below else other.sf(y)
        return float(found)

    return at


def _by_quadrature(
    f: Callable[[float], float], g: Callable[[float], float], factor: float, marks: Sequence[float]
) -> float:
    total = 0.0
    edges = sorted({-45.0, 45.0, *np.linspace(-12, 12, 49).tolist(), *marks})
    for low, high in pairwise(edges):
        total += quad(lambda y: max(f(y) - factor * g(y), 0.0), low, high, epsabs=1e-10)[0]
    return total


@settings(max_examples=2)
@given(_comparisons(), st.sampled_from([F(0), F(1, 4), F(1)]), st.sampled_from([F(1), F(-3)]))
def test_comparisons_agree_with_quadrature(drawn, budget, scale) -> None:
    one, two, sides = drawn
    guards = [form({k + 1: 1, 0: -1} if b else {0: 1, k + 1: -1}) for k, b in enumerate(sides)]
    stick = opened()
    parts = [number(laws, guards, form({0: 1})) for laws in (one, two)]
    found = split(parts[0], parts[1], budget, 36, stick)
    densities = _density(one, sides), _density(two, sides)
    marks = [float(each.mean) for each in (*one, *two)]
    expected = _by_quadrature(*densities, exp(float(budget)), marks)
    assert abs(float(found.value.lower) - expected) < 1e-7
    # Another unit, another origin, another direction: the same divergence.
    moved = [number(laws, guards, form({0: scale}, 7)) for laws in (one, two)]
    assert split(moved[0], moved[1], budget, 36, stick).value.meets(found.value)
    # Cells publish less, the more cells the more.
    places = [F(k, 2) for k in range(-8, 9)]
    for cells in (places[::4], places):
        ends = [None, *cells, None]
        total = F(0)
        for interval in pairwise(ends):
            above, below = (stick.masses.of(part, 36, {0: (interval,)}) for part in parts)
            total += max(above.lower - growth(budget).upper * below.upper, F(0))
        assert total <= found.value.upper
    assert total >= found.value.lower - HALF


@pytest.mark.parametrize("top", [True, False])
@settings(max_examples=1)
@given(st.lists(st.tuples(_means, _means), min_size=3, max_size=3), _families)
def test_gaps_agree_with_quadrature(top, means, family) -> None:
    """y = x0 - x1 with x0 >= x1 >= x2, or the difference without any guard."""
    guards = [form({1: 1, 0: -1}), form({2: 1, 1: -1})] if top else []
    laws = [[Distribution(family, pair[k], F(2)) for pair in means] for k in range(2)]
    used = [each if top else each[:2] for each in laws]
    parts = [number(each, guards, form({0: 1, 1: -1})) for each in used]
    found = split(parts[0], parts[1], F(1, 4), 36)

    def density(laws: Sequence[Distribution]) -> Callable[[float], float]:
        grid = np.linspace(-60, 60, 3001)
        first, second, third = [
            SCIPY[each.family](float(each.mean), float(each.scale)) for each in laws
        ]
        weight = second.pdf(grid) * (third.cdf(grid) if top else 1.0)

        def at(y: float) -> float:
            if top and y < 0:
                return 0.0
            return float(np.sum(first.pdf(grid + y) * weight) * (grid[1] - grid[0]))

        return at

    f, g = (density(each) for each in laws)
    places = np.linspace(0 if top else -40, 40, 801 if top else 1601)
    values = np.array([max(f(y) - exp(0.25) * g(y), 0.0) for y in places])
    expected = float(np.trapezoid(values, places))
    assert abs(float(found.value.lower) - expected) < 1e-3


def _polynomials(coefficients: object, distance: float) -> PanelPolynomials:
    parts = np.array(coefficients).shape[1]
    none = np.zeros(parts, np.int64)
    return PanelPolynomials(
        np.array(coefficients), np.full(parts, distance), none, 0, none, np.ones(parts)
    )


@pytest.mark.parametrize("distance", [0.0, 1 / 64])
def test_ratios_of_polynomials_are_bounded(distance) -> None:
    """At points of every part, for all functions within the distance; and no more than E / m."""
    chance = np.random.default_rng(3)
    f = chance.uniform(-1, 1, (4, 60)) / [[1], [4], [8], [16]] + [[1], [0], [0], [0]]
    g = chance.uniform(-1, 1, (4, 60)) / [[1], [4], [8], [16]] + [[1 / 2], [0], [0], [0]]
    least, most, _ = _ratios(_polynomials(f, distance), _polynomials(g, 2 * distance))
    x = np.linspace(-1, 1, 33)
    p, q = (np.polynomial.chebyshev.chebval(x, each) for each in (f, g))
    floor = g[0] - np.abs(g[1:]).sum(axis=0) - 2 * distance
    known = floor > 0
    assert 10 < known.sum() < 50 and np.isinf(most[~known]).all() and not least[~known].any()
    p, q, floor, f, g = p[known], q[known], floor[known], f[:, known], g[:, known]
    least, most = least[known], most[known]
    assert ((p + distance) / (q - 2 * distance) <= most[:, None] * (1 + 1e-12)).all()
    assert (
        np.maximum(p - distance, 0) / (q + 2 * distance) >= least[:, None] * (1 - 1e-12) - 1e-12
    ).all()
    r = np.maximum(f[0], 0) / g[0]
    away = (np.abs(f - r * g).sum(axis=0) + distance * (1 + 2 * r)) / floor
    assert (most <= (r + away) * (1 + 1e-8)).all()
    assert (least >= np.maximum(r - away, 0) * (1 - 1e-8) - 1e-8).all()


def test_weighted_sums_of_exact_values_err_by_their_roundings_at_most() -> None:
    """Against rational numbers: functions whose values are what they are at the nodes."""
    chance, rule, exact = np.random.default_rng(5), legendre_rule(6, (2.0, 4.0)), np.vectorize(F)
    parts = []
    for _ in range(5):
        values = chance.uniform(0, 1, (6, 40)) * 2.0 ** chance.integers(-3, 4, 40)
        layers = np.vstack([values, np.tile(values.max(axis=0), (3, 1)), np.ones((1, 40))])
        parts.append(Sampled(layers, 0, 2.0**-900))
    weights = [F(k, 7) for k in (1, -2, 3, -4, 5)]
    for wide in (F(0), F(1, 2**40)):
        functions = [Combination.of(f, rule) for f in parts]
        terms = [(Enclosure(w, w + wide), f) for w, f in zip(weights, functions, strict=True)]
        found = combination(terms, rule, 40)
        true = sum(w * exact(f.layers[:6]) for w, f in zip(weights, parts, strict=True))
        assert (abs(exact(found.values) - true) <= exact(found.error)).all()
        assert (found.error <= (1e-14 + 10 * float(wide)) * found.majorants[0]).all()
    one, other = (Combination(f.layers[:6], np.zeros(40), f.layers[6:9]) for f in parts[:2])
    for wide in (F(0), F(1, 2**40)):
        factor = Enclosure(F(-8, 7) - wide, F(-8, 7))
        found = combination([(Enclosure.exact(1), one), (factor, other)], rule, 40)
        true = exact(one.values) - F(8, 7) * exact(other.values)
        assert (abs(exact(found.values) - true) <= exact(found.error)).all()


Y = LinearForm.symbol(0)


def value(terms: list[tuple[F, Distribution]], y: F) -> arb:
    """Σ weight · density at y, at the precision of the block."""
    total = arb(0)
    for weight, law in terms:
        z = to_ball((y - law.mean) / law.scale)
        total += to_ball(weight / law.scale) * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
    return total


def ends(leaf: Leaf, grid: Grid) -> tuple[F, F]:
    low, high = (F(grid.marks[leaf.panel + k], grid.unit) for k in (0, 1))
    width = (high - low) / 2**leaf.depth
    return low + leaf.place * width, low + (leaf.place + 1) * width


_weights = st.integers(-8, 8).filter(bool).map(lambda k: F(k, 7))
_laws = st.tuples(st.integers(-4, 4), st.sampled_from([F(1, 2), F(1), F(3, 2)]))


@given(st.lists(st.tuples(_weights, _laws), min_size=2, max_size=4), st.booleans())
def test_proved_signs_are_those_of_the_function(drawn, balls) -> None:
    terms = [(weight, gauss(*law)) for weight, law in drawn]
    laws = {law for _, law in terms}
    grid = build_grid(laws, (), 60)
    leaves: list[Leaf] | NotEnclosed
    if balls:
        own = BallAlgebra(grid, 128, 40)
        found = [(Enclosure.exact(weight), own.density(law)) for weight, law in terms]
        leaves = signs_in_balls(combination_in_balls(found, own), own, F(1, 2**40))
    else:
        algebra = Float64Algebra(grid)
        sampled = [
            (Enclosure.exact(weight), Combination.of(algebra.density(law), algebra.rule))
            for weight, law in terms
        ]
        function = combination(sampled, algebra.rule, grid.panels)
        leaves = signs_in_doubles(function, algebra, 2.0**-40)
    assert not isinstance(leaves, NotEnclosed)
    covered = [F(0)] * grid.panels
    with precision(400):
        for leaf in leaves:
            covered[leaf.panel] += F(1, 2**leaf.depth)
            low, high = ends(leaf, grid)
            # Where all laws are kept, the function is what it is.
            kept = all(
                span.first <= leaf.panel < span.last
                for law, span in grid.spans.items()
                if law in laws
            )
            for part in (0, F(1, 3), 1):
                here = value(terms, low + (high - low) * part)
                if leaf.sign and kept:
                    assert leaf.sign * here > -(arb(2) ** -300)
                elif kept:
                    assert abs(here) * to_ball(high - low) <= 4 * to_ball(leaf.excess)
    if not balls or len(terms) > 1:
        assert all(each in (0, 1) for each in covered)


def test_a_touching_zero_costs_nothing() -> None:
    """N(0, 1) is at most twice N(0, 2), and that at 0."""
    first, second = ((Part((), (Marginal(Event((gauss(0, scale),), ()), Y),)),) for scale in (1, 2))
    stick = HockeyStick(open_method(Options()))
    tangent = stick.divergence(first, second, Enclosure.exact(2), 45)
    assert tangent.value.lower == 0 and tangent.value.upper < F(1, 2**45)
    factor = F(2) - F(1, 1000)
    near = stick.divergence(first, second, Enclosure.exact(factor), 60)
    ((low, high),) = near.intervals or ()
    root = sqrt(8 / 3 * log(2 / float(factor)))
    assert float(-low) == pytest.approx(root, rel=1e-6) == float(high)
    mass = [2 * norm.cdf(root / scale) - 1 for scale in (1, 2)]
    assert float(near.value.lower) == pytest.approx(mass[0] - float(factor) * mass[1], rel=1e-6)


SUMS: list[list[tuple[Family, F | int]]] = [
    [(LAPLACE, 1), (LAPLACE, 3)],
    [(LAPLACE, 1), (LAPLACE, F(3, 2)), (GAUSSIAN, 1)],
    [(LAPLACE, 2), (GAUSSIAN, 1)],
]


@cases(
    "noises, most",
    *product(SUMS[::2], (None, F(1, 2))),
    pytest.param(SUMS[1], F(1, 2), marks=pytest.mark.thorough),
)
def test_masses_of_densities_are_those_of_events(noises, most) -> None:
    """Of sums, clamped or not: laws of different scales are sums with weights of both signs."""
    form = LinearForm.of({k: F(1) for k in range(len(noises))})
    guards = () if most is None else (form + LinearForm.constant_form(-most),)
    line, one = HockeyStick(open_method(Options())), Enclosure.exact(1)
    sides = []
    for mean in (0, 1):
        laws = [Distribution(f, F(0 if k else mean), F(b)) for k, (f, b) in enumerate(noises)]
        sides.append((Part((), (Marginal(Event(tuple(laws), guards), form),)),))
    pair = line._opened((sides[0], sides[1]))
    pair.signs(one, 30, Tier.AUTO)
    for intervals in [((None, F(-7, 3)), (F(1, 7), None)), ((F(-20), F(-1, 3)), (F(1, 3), F(9)))]:
        masses = pair.masses(intervals, one, 30, Tier.AUTO)
        assert masses is not None
        for side, own in zip(sides, masses, strict=True):
            event = line.masses.of(side, 40, {0: intervals})
            assert isinstance(event, Enclosure)
            assert own.meets(event) and own.width < F(1, 10**11)
