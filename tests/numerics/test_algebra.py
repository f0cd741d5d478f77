"""Function algebras: laws, convolutions, and doubles that lie where the balls say."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Event, Star
from dipapprox.laws.distribution import Distribution, tail_mass
from dipapprox.laws.families import (
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    REFLECTED_EXPONENTIAL,
    REFLECTED_GUMBEL,
)
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import (
    BallAlgebra,
    BallFunction,
    PanelPiece,
    convolved_pieces,
)
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid, build_lattice
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from dipapprox.numerics.elimination import grid_evaluator
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.grid_evaluator import new_evaluator, read_star
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.refinement import GridRequirements, RefinementLevel
from dipapprox.numerics.methods import Tier
from tests import cases as asked
from tests.cases import refuses
from tests.event_strategies import REAL_FAMILIES, less, of_family
from tests.numerics.one_by_one import alone, power, value, whole
from tests.numerics.soundness import any_law, run

Q = Fraction
Algebra = FunctionAlgebra[Any, Enclosure | NotEnclosed]
"""Either of the two; their functions are different things."""


def grid_for(
    *laws: Distribution, points: tuple[Fraction, ...] = (), bits: int = 56, fineness: int = 1
) -> Grid:
    grid = build_grid(laws, points, bits, fineness)
    assert isinstance(grid, Grid)
    return grid


def ball_algebra(grid: Grid) -> BallAlgebra:
    return BallAlgebra(grid, 96, 40)


ALGEBRAS: tuple[Callable[[Grid], Algebra], ...] = (Float64Algebra, ball_algebra)
both = pytest.mark.parametrize("make", ALGEBRAS, ids=["float64", "balls"])

rationals = st.fractions(min_value=-5, max_value=5, max_denominator=12)
scales = st.fractions(min_value=Q(1, 50), max_value=30, max_denominator=50)
laws = st.builds(Distribution, st.sampled_from(REAL_FAMILIES), rationals, scales)


def total(algebra: Algebra, function: Any) -> Enclosure:
    result = whole(algebra, function)
    assert isinstance(result, Enclosure)
    return result


@given(st.lists(laws, min_size=1, max_size=4), st.lists(rationals, max_size=3))
def test_grid_covers_the_laws_and_knows_what_it_loses(samples, points) -> None:
    grid = grid_for(*samples, points=tuple(points), bits=40)
    marks = grid.boundaries
    assert all(low < high for low, high in pairwise(marks))
    for law, span in grid.spans.items():
        left, right = (abs(marks[end] - law.mean) / law.scale for end in (span.first, span.last))
        outside = to_enclosure(
            tail_mass(law.family, left, -1, 99) + tail_mass(law.family, right, 1, 99)
        )
        assert outside.upper <= span.lost
        if law.real.has_kink:
            assert law.mean in marks
        if law.family is EXPONENTIAL:
            assert left == 0
        if law.family is REFLECTED_EXPONENTIAL:
            assert right == 0
    for point in points:
        assert marks[grid.index(point)] in (point, marks[0], marks[-1])


@pytest.mark.parametrize("scale", [Q(10) ** 400, Q(1, 10**400)])
def test_grid_refuses_scales_beyond_doubles(scale) -> None:
    samples = [Distribution(GAUSSIAN, Q(0), s) for s in (Q(1), scale)]
    assert isinstance(build_grid(samples, [], 50), NotEnclosed)


def test_grid_refuses_a_cut_that_is_not_a_boundary() -> None:
    grid = grid_for(Distribution(GAUSSIAN, Q(0), Q(1)))
    refuses(ValueError, "not a boundary", grid.index, Q(1, 97))


@both
@given(law=laws)
@settings(max_examples=8)
def test_density_integrates_to_one_up_to_the_tails(make, law) -> None:
    grid = grid_for(law)
    mass = total(make(grid), make(grid).density(law))
    assert mass.upper >= 1 - grid.spans[law].lost and mass.lower <= 1
    assert mass.width < Q(1, 10**13)


def test_doubles_lie_where_the_balls_say() -> None:
    report = run(1_500, seed=3)
    assert report.violations is None
    assert report.sharp > 0.9 * report.checks


BITS = 160
UNIT_LAW = Distribution(GAUSSIAN, Q(0), Q(1))


def algebra_for(*laws: Distribution) -> BallAlgebra:
    """The algebra for some laws and shifts by multiples of 1/60."""
    grid = build_grid(laws, (), 100)
    return BallAlgebra(grid.also_in([Q(1, 60)]), BITS, 60)


@pytest.mark.parametrize("seed", asked.part(range(6), 2))
def test_bands_of_two_samples_are_differences_of_distribution_functions(seed) -> None:
    """Σ over the sample of what lies in [x, x + w], and what does not, is everything."""
    chance = random.Random(100 + seed)
    law = any_law(chance)
    algebra = algebra_for(law)
    width = Q(chance.randint(1, 60), 12)
    (running,) = algebra.running([(algebra.density(law),)], True)
    band = algebra.difference(algebra.moved(running, width), running)
    beyond = algebra.moved(algebra.survival(law), width)
    density = algebra.density(law)
    parts = algebra.product_totals([(density, band), (density, beyond), (density, running)])
    total = Enclosure.exact(0)
    for part in parts:
        total = total + part
    assert total.width < Q(1, 2**60) and abs(total.lower - 1) < Q(1, 2**60)


def test_what_the_grid_does_not_fit_is_refused() -> None:
    algebra = algebra_for(UNIT_LAW)
    refuses(ValueError, "multiple", algebra.moved, algebra.cdf(UNIT_LAW), Q(1, 7))
    refuses(ValueError, "panels", algebra.panels, algebra.moved(algebra.cdf(UNIT_LAW), Q(1, 60)))


def test_an_integral_needs_ends() -> None:
    algebra = algebra_for(UNIT_LAW)
    for side in (True, False):
        refuses(BrokenInvariant, None, algebra.running, [(algebra.cdf(UNIT_LAW),)], side)
    refuses(BrokenInvariant, None, algebra.product_totals, [(algebra.cdf(UNIT_LAW),)])


def band(low: int, high: int, *, wide: bool) -> Event:
    """x_0, or x_0 + x_1, is at most 2 above x_2 and at most 1 below; all go on in bands."""
    more = {1: Q(1)} if wide else {}
    guards = (
        LinearForm.of({0: Q(1), **more, 2: Q(-1)}, Q(-high)),
        LinearForm.of({0: Q(-1), **{k: -c for k, c in more.items()}, 2: Q(1)}, Q(-low)),
        LinearForm.of({2: Q(1), 3: Q(-1)}),
        LinearForm.of({3: Q(1), 2: Q(-1)}, Q(-3)),
        LinearForm.of({3: Q(1), 4: Q(-1)}),
        LinearForm.of({4: Q(1), 3: Q(-1)}, Q(-1)),
    )
    used = [0, *more, 2, 3, 4]
    renamed = tuple(g.renamed(lambda s: used.index(int(s))) for g in guards)
    return Event((UNIT_LAW,) * len(used), renamed)


@pytest.mark.parametrize("wide", [False, True])
def test_too_many_panels_are_no_failure(monkeypatch, wide) -> None:
    event = band(1, 2, wide=wide)
    found = alone(Eliminated(Tier.BALLS), event, 40)
    assert found.width <= Q(1, 2**40)
    monkeypatch.setattr(grid_evaluator, "MEMORY", 2**18)
    refused = alone(Eliminated(Tier.BALLS), event, 40)
    assert isinstance(refused, NotEnclosed) and "more than the memory holds" in refused.reason


def integrals(
    algebra: Float64Algebra, laws: list[Distribution], exponents: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of ∫ density of the first law · Π cdf^e · Π survival^e."""
    functions = [algebra.cdf(law) for law in laws] + [algebra.survival(law) for law in laws]
    return algebra.monomials(laws[0], functions, exponents)


def truths(grid: Grid, laws: list[Distribution], exponents: np.ndarray) -> list[Enclosure]:
    """The same integrals in balls, nearly exact."""
    algebra = BallAlgebra(grid, 256, 72)
    functions = [algebra.cdf(law) for law in laws] + [algebra.survival(law) for law in laws]
    products = []
    for row in exponents.tolist():
        factors = [algebra.density(laws[0])]
        factors += [power(algebra, f, e) for f, e in zip(functions, row, strict=True) if e]
        products.append(factors)
    found = [each for each in algebra.product_totals(products) if isinstance(each, Enclosure)]
    assert len(found) == len(products)
    return found


def violations(lower: np.ndarray, upper: np.ndarray, exact: list[Enclosure]) -> int:
    """How many bounds are wrong for certain."""
    ends = zip(lower.tolist(), upper.tolist(), exact, strict=True)
    return sum(
        each.upper < Fraction(low) or (high < np.inf and Fraction(high) < each.lower)
        for low, high, each in ends
    )


@pytest.mark.parametrize(("nodes", "seed"), [(4, 12), (20, 6)])
def test_the_bounds_hold_whatever_the_number_of_nodes(nodes, seed) -> None:
    chance = random.Random(seed)
    laws = list(dict.fromkeys(any_law(chance) for _ in range(chance.randint(1, 3))))
    grid = build_grid(laws, (), 50)
    assert isinstance(grid, Grid)
    largest = chance.choice((1, 3, 30))
    rows = [[chance.randint(0, largest) for _ in range(2 * len(laws))] for _ in range(12)]
    exponents = np.array(rows)
    exact = truths(grid, laws, exponents)
    assert all(each.width < Fraction(1, 2**50) for each in exact)
    algebra = Float64Algebra(grid, nodes)
    lower, upper = integrals(algebra, laws, exponents)
    assert violations(lower, upper, exact) == 0
    if nodes == 20:
        assert (upper - lower).max() < 1e-12
    if nodes == 4:
        # The errors are those of sampling: with less allowed for them the bounds are caught.
        algebra.rule = replace(algebra.rule, total_error=algebra.rule.total_error * 1e-9)
        assert violations(*integrals(algebra, laws, exponents), exact) > 0


def test_many_laws_are_shared_out_over_several_grids() -> None:
    """P[all of n equal samples <= c <= all of m] = 1 / ((n + m + 1) C(n + m, n))."""
    stars = [
        Star(law, ((law, n),), ((law, m),))
        for mean in range(30)
        for law in [Distribution(GAUSSIAN, Fraction(mean), Fraction(1, 2))]
        for n, m in ((1, 1), (3, 5))
    ]
    found = Eliminated(Tier.FLOAT64).enclose(stars, 40)
    for star, enclosure in zip(stars, found, strict=True):
        n, m = star.below[0][1], star.above[0][1]
        assert Fraction(1, (n + m + 1) * comb(n + m, n)) in enclosure


@pytest.mark.parametrize("family", REAL_FAMILIES)
def test_comparisons_of_two_samples_are_stars_too(family) -> None:
    """Either spelling of x < y, among enough events for the bulk interface."""
    first = Distribution(family, Fraction(1, 3), Fraction(2))
    second = Distribution(family, Fraction(0), Fraction(1))
    events: list[Connected] = [Event((first, second), (less(0, 1),))] * 10
    events += [Event((first, second), (less(1, 0),))] * 10
    found = Eliminated(Tier.FLOAT64).enclose(events, 40)
    one_by_one = [alone(Eliminated(Tier.BALLS), event, 60) for event in events[::10]]
    for place, enclosure in enumerate(found):
        slow = one_by_one[place // 10]
        assert isinstance(slow, Enclosure)
        assert enclosure.meets(slow) and enclosure.width <= Fraction(1, 2**40)
    low, high = found[0], found[-1]
    assert 1 in low + high
    assert read_star(Event((first, second), (less(0, 1, 1),))) is None


# --- Convolutions in three algebras: doubles lie where the balls say, balls where closed forms ----

HALF = Q(1, 2)


def unlimited() -> None:
    """No limit."""


def lattice(*laws: Distribution, points: tuple[Fraction, ...] = (Q(0), HALF)) -> Grid:
    found = build_lattice(laws, points, [laws], 10, 1)
    assert isinstance(found, Grid), found
    return found


def check(doubles: Sampled, balls: BallFunction, algebra: BallAlgebra, fast: Float64Algebra) -> int:
    """Every node value and every majorant on the panels holds; return how many were checked."""
    rule = fast.rule
    nodes = len(rule.nodes)
    errors = panel_errors(doubles, rule)
    kappa = float(np.max(errors.kappa))
    checked = 0
    with precision(120):
        for panel in range(fast.grid.panels):
            sup, wrong = doubles.layers[nodes, panel] * kappa, errors.values[panel]
            for j in range(0, nodes, 3):
                u = arb(float(rule.nodes[j]))
                exact = value(algebra, balls, panel, u)
                stored = arb(float(doubles.layers[j, panel]))
                # The node is rounded: 2^-52 of a panel, where the function moves little.
                slack = arb(2) ** -48 * float(sup)
                assert abs(stored - exact).lower() <= arb(float(wrong)) + slack, panel
                assert abs(exact).lower() <= arb(float(sup)), panel
                checked += 1
            if not sup:
                assert (
                    algebra.panels(balls)[panel] is None
                    or abs(value(algebra, balls, panel, arb(0))).lower() <= 0
                )
    return checked


@pytest.mark.parametrize("seed", range(1, 3))
def test_convolved_doubles_lie_where_the_balls_say(seed) -> None:
    chance = random.Random(seed)
    laws = [
        of_family(chance.choice(REAL_FAMILIES), 0, chance.choice((1, Q(3, 2)))) for _ in range(3)
    ]
    grid = lattice(*laws)
    fast, slow = Float64Algebra(grid), BallAlgebra(grid, 80, 40)
    first = fast.restrict(fast.density(laws[0]), Q(0), None)
    second = slow.restrict(slow.density(laws[0]), Q(0), None)
    first, second = (
        fast.plus_sample(first, laws[1], unlimited),
        slow.plus_sample(second, laws[1], unlimited),
    )
    assert check(first, second, slow, fast)
    first, second = fast.restrict(first, None, HALF), slow.restrict(second, None, HALF)
    other, others = fast.density(laws[2]), slow.density(laws[2])
    both = fast.convolution(first, other, unlimited), slow.convolution(second, others, unlimited)
    assert check(*both, slow, fast)
    turned = fast.convolution(other, first, unlimited), slow.convolution(others, second, unlimited)
    assert check(*turned, slow, fast)


@pytest.mark.parametrize("family", REAL_FAMILIES)
def test_sums_of_two_have_their_known_densities(family) -> None:
    """Gauss: of the scale 5 for 3 and 4. Logistic and Gumbel, equal scales, the latter with
    Macdonald's function: 2 e^-x K_0(2 e^(-x/2)). Exponential type, scales 1 and 2: partial
    fractions."""
    gumbel = {GUMBEL: 1, REFLECTED_GUMBEL: -1}
    scales = {GAUSSIAN: (3, 4), LOGISTIC: (1, 1), **dict.fromkeys(gumbel, (1, 1))}.get(
        family, (1, 2)
    )
    one, two = (of_family(family, 0, s) for s in scales)
    grid = lattice(one, two)
    slow = BallAlgebra(grid, 80, 40)
    found = slow.plus_sample(slow.density(one), two, unlimited)
    start, width = grid.lattice()
    with precision(120):
        for panel in range(0, grid.panels, 7):
            place = (start + panel + HALF) * width
            x = to_ball(place)
            if family is GAUSSIAN:
                expected = family.pdf(x / 5, 0) / 5
            elif family is LOGISTIC:
                e = (-abs(x)).exp()
                expected = e * (abs(x) - 2 + (abs(x) + 2) * e) / (1 - e) ** 3
            elif family in gumbel:
                v = (-x * gumbel[family]).exp()
                expected = 2 * v * (2 * v.sqrt()).bessel_k(0) if v < 1000 else arb(0)
            elif family is LAPLACE:
                expected = ((-abs(x) / 2).exp() * 2 - (-abs(x)).exp()) / 6
            else:
                side = 1 if family is EXPONENTIAL else -1
                expected = (-abs(x) / 2).exp() - (-abs(x)).exp() if place * side > 0 else arb(0)
            # The first density is cut off where 2^-9 of its mass lies beyond.
            assert abs(value(slow, found, panel, arb(0)) - expected).lower() < 2.0**-9


def test_what_is_no_lattice_is_refused() -> None:
    grid = Grid(1, (0, 1, 3), {})
    refuses(ValueError, "lattice", grid.lattice)


def constant(value: float, read: float, algebra: Float64Algebra) -> Sampled:
    """A constant on the first panel; its node values say something else, within their errors."""
    nodes = len(algebra.rule.nodes)
    layers = np.zeros((nodes + len(algebra.rule.ratios) + 2, algebra.grid.panels))
    layers[-1] = 1.0
    layers[:nodes, 0], layers[nodes:-1, 0] = read, value
    layers[-1, 0] = 1 + abs(value - read) / value
    return Sampled(layers, 0, value)


def test_errors_of_both_functions_multiply_too() -> None:
    """Where 2 is read as 1 twice, 4 is read as 1: off by 3, not by 1 · 1 + 1 · 1."""
    algebra = Float64Algebra(Grid(1, (0, 1, 2), {}))
    function = constant(2.0, 1.0, algebra)
    found = algebra.convolution(function, function, unlimited)
    errors = panel_errors(found, algebra.rule)
    for panel in range(2):
        theta = (algebra.rule.nodes + 1) / 2
        truth = 4 * (theta if panel == 0 else 1 - theta)
        wrong = np.abs(found.layers[: len(theta), panel] - truth).max()
        assert 2.9 < wrong <= errors.values[panel]


def test_pieces_without_coefficients_have_their_radius() -> None:
    """|f| <= 1 and g = 3 on panels of width 1: up to 3 on the first one, and on the second."""
    with precision(64):
        error, three = PanelPiece(arb_poly([]), arb(1)), PanelPiece(arb_poly([3]), arb(0))
        for sides in (([error], [three]), ([three], [error]), ([error], [error])):
            found = convolved_pieces(*sides, arb(1), range(2))
            for piece in found:
                assert piece.radius >= 1
        assert convolved_pieces([None], [three], arb(1), range(2)) == [None, None]


@given(*[st.lists(st.booleans(), min_size=1, max_size=4)] * 2)
def test_panels_are_empty_where_no_two_panels_reach(left, right) -> None:
    with precision(64):
        sides = [[PanelPiece(arb_poly([1]), arb(0)) if full else None for full in side]
                 for side in (left, right)]  # fmt: skip
        found = convolved_pieces(*sides, arb(1), range(-1, len(left) + len(right) + 1))
    pairs = {k + n for k, n in np.ndindex(len(left), len(right)) if left[k] and right[n]}
    for panel, piece in enumerate(found, -1):
        assert (piece is not None) is (panel in pairs or panel - 1 in pairs)


def test_lattices_too_narrow_for_doubles_are_refused() -> None:
    tiny = of_family(GAUSSIAN, 0, Q(1, 2**24))
    required = GridRequirements(frozenset([tiny]), frozenset(), 3, frozenset([(tiny, tiny)]))
    for fineness, fits in ((1, True), (64, False)):
        level, table = RefinementLevel(fineness), FunctionTable()
        found = new_evaluator(required, 48, level, table, 2048)
        assert isinstance(found, NotEnclosed) is not fits
    far = of_family(GAUSSIAN, 2**30, Q(1, 2**10))
    both = GridRequirements(frozenset([far]), frozenset(), 3, frozenset([(far, far)]))
    assert isinstance(
        new_evaluator(both, 48, RefinementLevel(1), FunctionTable(), 2048), NotEnclosed
    )
