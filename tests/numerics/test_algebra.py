"""Laws of the function algebras, the same for both; grids; and the doubles against the balls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import to_enclosure
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, REFLECTED_EXPONENTIAL
from dipapprox.laws.tails import tail_mass
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra
from tests.families import REAL_FAMILIES
from tests.numerics.one_by_one import whole
from tests.numerics.soundness import run

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
def test_grid_covers_the_laws_and_knows_what_it_loses(
    samples: list[Distribution], points: list[Fraction]
) -> None:
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
def test_grid_refuses_scales_beyond_doubles(scale: Fraction) -> None:
    samples = [Distribution(GAUSSIAN, Q(0), s) for s in (Q(1), scale)]
    assert isinstance(build_grid(samples, [], 50), NotEnclosed)


def test_grid_refuses_a_cut_that_is_not_a_boundary() -> None:
    grid = grid_for(Distribution(GAUSSIAN, Q(0), Q(1)))
    with pytest.raises(ValueError, match="not a boundary"):
        grid.index(Q(1, 97))


@both
@given(law=laws)
@settings(max_examples=8)
def test_density_integrates_to_one_up_to_the_tails(
    make: Callable[[Grid], Algebra], law: Distribution
) -> None:
    grid = grid_for(law)
    mass = total(make(grid), make(grid).density(law))
    assert mass.upper >= 1 - grid.spans[law].lost and mass.lower <= 1
    assert mass.width < Q(1, 10**13)


def test_doubles_lie_where_the_balls_say() -> None:
    report = run(1_500, seed=3)
    assert report.violations is None
    assert report.sharp > 0.9 * report.checks
