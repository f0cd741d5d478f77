"""Convolutions in three algebras: doubles lie where the balls say, balls where closed forms say."""

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_poly
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import (
    EXPONENTIAL,
    FAMILIES,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    REFLECTED_GUMBEL,
)
from dipapprox.laws.family import Family
from dipapprox.numerics.algebras.balls import (
    BallAlgebra,
    BallFunction,
    PanelPiece,
    convolved_pieces,
)
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_lattice
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from dipapprox.numerics.elimination.grid_evaluator import new_evaluator
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.refinement import GridRequirements, RefinementLevel
from tests.cases import refuses
from tests.numerics.one_by_one import value

Q = Fraction
CONTINUOUS = [family for family in FAMILIES.values() if not family.is_discrete]
HALF = Q(1, 2)


def law(family: Family, mean: Fraction | int = 0, scale: Fraction | int = 1) -> Distribution:
    return Distribution(family, Q(mean), Q(scale))


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
def test_doubles_lie_where_the_balls_say(seed) -> None:
    chance = random.Random(seed)
    laws = [law(chance.choice(CONTINUOUS), 0, chance.choice((1, Q(3, 2)))) for _ in range(3)]
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


@pytest.mark.parametrize("family", CONTINUOUS)
def test_sums_of_two_have_their_known_densities(family) -> None:
    """Gauss: of the scale 5 for 3 and 4. Logistic and Gumbel, equal scales, the latter with
    Macdonald's function: 2 e^-x K_0(2 e^(-x/2)). Exponential type, scales 1 and 2: partial
    fractions."""
    gumbel = {GUMBEL: 1, REFLECTED_GUMBEL: -1}
    scales = {GAUSSIAN: (3, 4), LOGISTIC: (1, 1), **dict.fromkeys(gumbel, (1, 1))}.get(
        family, (1, 2)
    )
    one, two = (law(family, 0, s) for s in scales)
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
    tiny = law(GAUSSIAN, 0, Q(1, 2**24))
    required = GridRequirements(frozenset([tiny]), frozenset(), 3, frozenset([(tiny, tiny)]))
    for fineness, fits in ((1, True), (64, False)):
        level, table = RefinementLevel(fineness), FunctionTable()
        found = new_evaluator(required, 48, level, table, 2048)
        assert isinstance(found, NotEnclosed) is not fits
    far = law(GAUSSIAN, 2**30, Q(1, 2**10))
    both = GridRequirements(frozenset([far]), frozenset(), 3, frozenset([(far, far)]))
    assert isinstance(
        new_evaluator(both, 48, RefinementLevel(1), FunctionTable(), 2048), NotEnclosed
    )
