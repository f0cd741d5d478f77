"""Stars in bulk: the doubles' bounds against balls, for few nodes and many, sharp and sound."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Connected, Event, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.stars import read_star
from dipapprox.numerics.kinds import Tier
from tests.event_strategies import less
from tests.numerics.alone import alone
from tests.numerics.one_by_one import power

REAL = tuple(family for family in FAMILIES.values() if not family.is_discrete)


def random_law(chance: random.Random) -> Distribution:
    mean = Fraction(chance.randint(-6, 6), chance.choice((1, 2, 3)))
    scale = chance.choice((Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(5)))
    return Distribution(chance.choice(REAL), mean, scale)


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


@pytest.mark.parametrize(("nodes", "seed"), [(4, 0), (20, 1)])
def test_the_bounds_hold_whatever_the_number_of_nodes(nodes: int, seed: int) -> None:
    chance = random.Random(seed)
    laws = list(dict.fromkeys(random_law(chance) for _ in range(chance.randint(1, 3))))
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
    found = Eliminated(Tier.FLOAT64).enclose(stars, 40, Limits())
    for star, enclosure in zip(stars, found, strict=True):
        n, m = star.below[0][1], star.above[0][1]
        assert Fraction(1, (n + m + 1) * comb(n + m, n)) in enclosure


@pytest.mark.parametrize("family", REAL)
def test_comparisons_of_two_samples_are_stars_too(family: Family) -> None:
    """Either spelling of x < y, among enough events for the bulk interface."""
    first = Distribution(family, Fraction(1, 3), Fraction(2))
    second = Distribution(family, Fraction(0), Fraction(1))
    events: list[Connected] = [Event((first, second), (less(0, 1),))] * 10
    events += [Event((first, second), (less(1, 0),))] * 10
    found = Eliminated(Tier.FLOAT64).enclose(events, 40, Limits())
    one_by_one = [alone(Eliminated(Tier.BALLS), event, 60, Limits()) for event in events[::10]]
    for place, enclosure in enumerate(found):
        slow = one_by_one[place // 10]
        assert isinstance(slow, Enclosure)
        assert enclosure.meets(slow) and enclosure.width <= Fraction(1, 2**40)
    low, high = found[0], found[-1]
    assert 1 in low + high
    assert read_star(Event((first, second), (less(0, 1, 1),))) is None
