"""Functions at shifted places, in balls: they contain the true values, on whatever panels."""

from __future__ import annotations

import random
from fractions import Fraction
from math import lcm

import pytest
from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.placed import Marks, Placed, PlacedAlgebra, TooManyPanels
from tests import thorough
from tests.families import REAL_FAMILIES
from tests.numerics.one_by_one import integral, product

Q = Fraction
BITS = 160
UNIT_LAW = Distribution(GAUSSIAN, Q(0), Q(1))


def algebra_for(law: Distribution, most: int = 10**6) -> tuple[PlacedAlgebra, int]:
    """The algebra for a law, and its unit."""
    centred = law.affine(Q(1), -law.mean)
    grid = build_grid([centred], (), 100)
    assert isinstance(grid, Grid)
    unit = lcm(60, grid.unit, law.mean.denominator)
    return PlacedAlgebra(unit, {centred: grid}, BITS, 60, most, Limits()), unit


def random_law(chance: random.Random) -> Distribution:
    mean = Q(chance.randint(-12, 12), chance.choice((1, 3, 4)))
    scale = Q(chance.randint(1, 40), chance.choice((2, 7, 20)))
    return Distribution(chance.choice(REAL_FAMILIES), mean, scale)


def finer(chance: random.Random, marks: Marks) -> Marks:
    """Boundaries that respect some others, and go beyond them."""
    low, high = marks[0], marks[-1]
    reach = high - low
    more = {chance.randrange(low - reach // 3, high + reach // 3) for _ in range(12)}
    return tuple(sorted({*marks, *more, low - reach // 2, high + reach // 2}))


@pytest.mark.parametrize("seed", thorough.part(range(6), 2))
def test_moved_integrals_contain_what_distribution_functions_say(seed: int) -> None:
    """∫ over (-∞, t + c) of φ (1 - F) is (1 - (1 - F)²) / 2 there, up to what a law loses."""
    chance = random.Random(seed)
    law = random_law(chance)
    algebra, unit = algebra_for(law)
    by = Q(chance.randint(-60, 60), chance.choice((5, 12)))
    (running,) = algebra.running([(algebra.density(law), algebra.survival(law))], True)
    (falling,) = algebra.running([(algebra.density(law), algebra.survival(law))], False)
    moved, other = algebra.moved(running, by), algebra.moved(falling, by)
    marks = finer(chance, moved.marks)
    sharp = 0
    with precision(BITS):
        for panel, (piece, rest) in enumerate(zip(moved.on(marks), other.on(marks), strict=True)):
            at = chance.choice((-1, 0, 1))
            place = Q(marks[panel] + marks[panel + 1] + at * (marks[panel + 1] - marks[panel]), 2)
            point = place / unit + by
            beyond = point - law.mean or -at  # at a kink, on the panel's side of it
            side = 1 if beyond > 0 else -1
            survival = law.real.survival(to_ball((point - law.mean) / law.scale), side)
            expected = (1 - survival * survival) / 2, survival * survival / 2
            for found, value in zip((piece, rest), expected, strict=True):
                own = arb(0) if found is None else found.polynomial(arb(at)) + arb(0, found.radius)
                assert abs(own - value).lower() < arb(2) ** -98, (seed, panel)
                sharp += bool(own.rad() < arb(2) ** -40)
    assert sharp > len(marks)


@pytest.mark.parametrize("seed", thorough.part(range(6), 2))
def test_bands_of_two_samples_are_differences_of_distribution_functions(seed: int) -> None:
    """Σ over the sample of what lies in [x, x + w], and what does not, is everything."""
    chance = random.Random(100 + seed)
    law = random_law(chance)
    algebra, _ = algebra_for(law)
    width = Q(chance.randint(1, 60), 12)
    (running,) = algebra.running([(algebra.density(law),)], True)
    band = algebra.difference(algebra.moved(running, width), running)
    beyond = algebra.moved(algebra.survival(law), width)
    density = algebra.density(law)
    parts = algebra.product_totals([(density, band), (density, beyond), (density, running)])
    total = Enclosure.exact(0)
    for part in parts:
        assert isinstance(part, Enclosure)
        total = total + part
    assert total.width < Q(1, 2**60) and abs(total.lower - 1) < Q(1, 2**60)


def panels_of(function: Placed, marks: Marks) -> int:
    return len(function.on(marks))


def test_panels_have_to_respect_boundaries() -> None:
    algebra, _ = algebra_for(UNIT_LAW)
    rising = integral(algebra, algebra.density(UNIT_LAW))
    first, second, third = rising.marks[:3]
    assert panels_of(rising, (first, second, third)) == 2
    with pytest.raises(BrokenInvariant):
        rising.on((first, third))


def test_an_integral_needs_ends() -> None:
    algebra, _ = algebra_for(UNIT_LAW)
    with pytest.raises(BrokenInvariant):
        integral(algebra, algebra.cdf(UNIT_LAW))


def test_memory_is_bounded() -> None:
    algebra, _ = algebra_for(UNIT_LAW, most=100)
    function = algebra.density(UNIT_LAW)
    with pytest.raises(TooManyPanels):
        for k in range(20):
            moved = algebra.moved(algebra.cdf(UNIT_LAW), Q(k, 5))
            function = product(algebra, function, moved)
