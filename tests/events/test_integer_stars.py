"""Stars of integers: leaves between integers, sums with counts, closed forms, one normal form."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import pytest

from dipapprox.events.event import Star
from dipapprox.exact.methods import Exact
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.numerics.integers.sums import IntegerSums
from tests.thorough import part


def law(random: Random, half: bool, family: Family = DISCRETE_LAPLACE) -> Distribution:
    mean = random.randint(-2, 2) + Fraction(half, 2)
    return Distribution(family, mean, Fraction(random.randint(1, 3), random.randint(1, 2)))


def star(random: Random, *families: Family) -> Star:
    def leaves(least: int) -> tuple[tuple[Distribution, int], ...]:
        own = {law(random, True, random.choice(families)) for _ in range(random.randint(least, 2))}
        return tuple((each, random.randint(1, 3)) for each in own)

    return Star(law(random, False, families[0]), leaves(1), leaves(1))


def probability(found: Star) -> float:
    """Add up over the centre."""

    def mass(each: Distribution, value: float) -> float:
        q = 2.718281828459045 ** (-1 / float(each.scale))
        return (1 - q) / (1 + q) * q ** abs(value - float(each.mean))

    def below(each: Distribution, value: int) -> float:
        return sum(mass(each, value - k - 0.5) for k in range(80))

    def above(each: Distribution, value: int) -> float:
        return sum(mass(each, value + k + 0.5) for k in range(80))

    return sum(
        mass(found.centre, c)
        * prod(below(each, c) ** n for each, n in found.below)
        * prod(above(each, c) ** n for each, n in found.above)
        for c in range(-60, 61)
    )


@pytest.mark.parametrize("seed", part(range(8), 2))
def test_sums_and_closed_forms_are_the_sum_over_the_centre(seed: int) -> None:
    example = star(Random(seed), DISCRETE_LAPLACE)
    (exact,) = Exact().enclose([example], 50, Limits())
    (summed,) = IntegerSums().enclose([example], 50, Limits())
    assert exact.meets(summed)
    assert summed.width <= Fraction(1, 2**50)
    assert abs(float(summed.lower) - probability(example)) < 1e-9
