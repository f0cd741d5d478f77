"""Laws of the function algebras, the same for both; grids; and the doubles against the balls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import factorial, isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import to_enclosure
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.laws.tails import tail_mass
from dipapprox.numerics.algebras import sampled, sampled_laws
from dipapprox.numerics.algebras.algebra import FunctionAlgebra
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.sampled_laws import Samples
from tests.families import REAL_FAMILIES
from tests.numerics.one_by_one import integral, power, product, whole
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
each_family = pytest.mark.parametrize("family", REAL_FAMILIES)

rationals = st.fractions(min_value=-5, max_value=5, max_denominator=12)
scales = st.fractions(min_value=Q(1, 50), max_value=30, max_denominator=50)
laws = st.builds(Distribution, st.sampled_from(REAL_FAMILIES), rationals, scales)


def total(algebra: Algebra, function: Any) -> Enclosure:
    result = whole(algebra, function)
    assert isinstance(result, Enclosure)
    return result


def chain(algebra: Algebra, law: Distribution, count: int) -> Enclosure:
    """Enclose Pr[x_1 < … < x_count] up to the mass lost."""
    density = algebra.density(law)
    function = density
    for _ in range(count - 1):
        function = product(algebra, integral(algebra, function), density)
    return total(algebra, function)


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
        assert isinstance(outside, Enclosure) and outside.upper <= span.lost
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


@both
@each_family
def test_equal_samples_come_in_every_order_alike(
    make: Callable[[Grid], Algebra], family: Family
) -> None:
    law = Distribution(family, Q(1, 3), Q(5, 7))
    grid = grid_for(law, bits=70)
    for count in (2, 3, 5):
        value = chain(make(grid), law, count)
        exact, lost = Q(1, factorial(count)), count * grid.spans[law].lost
        assert value.lower <= exact <= value.upper + lost
        assert value.width < Q(1, 10**12)


@each_family
def test_balls_are_relatively_accurate(family: Family) -> None:
    law = Distribution(family, Q(0), Q(1))
    grid = grid_for(law, bits=190, fineness=2)
    count = 24 if family is GAUSSIAN else 12
    value = chain(BallAlgebra(grid, 128, 48), law, count)
    exact, lost = Q(1, factorial(count)), count * grid.spans[law].lost
    assert value.lower <= exact <= value.upper + lost
    assert value.width + lost < exact / 10**6


def test_balls_reach_below_the_doubles() -> None:
    """Pr[law > far] is a standard Gaussian's tail above 53 / sqrt 2, about 1e-307."""
    law = Distribution(GAUSSIAN, Q(0), Q(1))
    far = Distribution(GAUSSIAN, Q(53), Q(1))
    algebra = BallAlgebra(grid_for(law, far, bits=2800, fineness=8), 192, 60)
    value = total(algebra, product(algebra, algebra.density(far), algebra.survival(law)))
    root = Q(isqrt(53**2 * 10**40 // 2), 10**20)
    above, below = (
        to_enclosure(tail_mass(GAUSSIAN, root + step, 1, 300)) for step in (Q(1, 10**20), Q(0))
    )
    assert isinstance(above, Enclosure) and isinstance(below, Enclosure)
    assert above.lower <= value.upper and value.lower <= below.upper
    assert value.lower > 0 and value.upper < Q(1, 10**300)
    assert value.width < value.lower / 10**12


@pytest.mark.parametrize(("make", "count"), list(zip(ALGEBRAS, (1000, 20), strict=True)))
@each_family
def test_powers_of_equal_samples(
    make: Callable[[Grid], Algebra], count: int, family: Family
) -> None:
    law = Distribution(family, Q(0), Q(1))
    fineness = 3 if count == 1000 else 1
    algebra = make(grid_for(law, bits=64, fineness=fineness))
    value = total(
        algebra,
        product(algebra, power(algebra, algebra.cdf(law), count), algebra.density(law)),
    )
    assert value.lower <= Q(1, count + 1) <= value.upper + Q(2 * count + 2, 2**64)
    assert value.width < Q(1, 10**11)
    assert value.lower >= 0 and value.upper < 1


def test_doubles_lie_where_the_balls_say() -> None:
    report = run(1_500, seed=3)
    assert report.violations is None
    assert report.sharp > 0.9 * report.checks


def _no_sampling_error(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = sampled.sampling_error
    monkeypatch.setattr(sampled, "sampling_error", lambda f, c, k: 0 * exact(f, c, k))


def _no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "UNIT_ROUNDOFF", 0.0)
    _change_samples(monkeypatch, lambda law: replace(law, error=law.error / 32))


def _small_majorants(monkeypatch: pytest.MonkeyPatch) -> None:
    factors = np.array([1.0, 1.0, 0.9])[:, None, None]
    _change_samples(monkeypatch, lambda law: replace(law, majorants=law.majorants * factors))


def _change_samples(monkeypatch: pytest.MonkeyPatch, change: Callable[[Samples], Samples]) -> None:
    exact = sampled_laws.sample_law
    monkeypatch.setattr(sampled_laws, "sample_law", lambda *panels: change(exact(*panels)))


@pytest.mark.parametrize("breakage", [_no_sampling_error, _no_rounding, _small_majorants])
def test_a_broken_bound_is_caught(
    monkeypatch: pytest.MonkeyPatch, breakage: Callable[[pytest.MonkeyPatch], None]
) -> None:
    breakage(monkeypatch)
    assert run(500, seed=4).violations


@each_family
def test_many_laws_are_what_each_of_them_is_alone(family: Family) -> None:
    """Laws that are sampled with others, in groups, on one grid."""
    many = [Distribution(family, Q(k, 3), Q(k % 4 + 1, 2)) for k in range(24)]
    grid = grid_for(*many)
    together = Float64Algebra(grid)
    assert sum(span.last - span.first for span in grid.spans.values()) > 300
    for law in (*many[:3], *many[-3:]):
        alone = Float64Algebra(Grid(grid.unit, grid.marks, {law: grid.spans[law]}))
        for function in ("density", "cdf", "survival"):
            sampled_with_others = getattr(together, function)(law)
            assert np.array_equal(sampled_with_others.layers, getattr(alone, function)(law).layers)
        mass = total(together, together.density(law))
        assert 1 - grid.spans[law].lost <= mass.upper and mass.lower <= 1 and mass.width < 1e-13
