"""Laws of sums against characteristic functions; stars of integers against sums over the centre."""

import cmath
import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from random import Random

import pytest
from scipy.special import gamma

from dipapprox.events.event import Star
from dipapprox.events.sums import law_of
from dipapprox.exact.methods import Exact
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE, FAMILIES
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.integers.sums import IntegerSums
from tests.thorough import part

ONE = Fraction(1)
PAIRS = [*combinations_with_replacement(FAMILIES.values(), 2)]


def characteristic(law: Distribution, t: float) -> complex:
    """E[exp(i t X)], from the literature."""
    b, turned = float(law.scale), cmath.exp(1j * t * float(law.mean))
    match law.family.name:
        case "Gauss":
            value: complex = math.exp(-((b * t) ** 2) / 2)
        case "Lap":
            value = 1 / (1 + (b * t) ** 2)
        case "LapPlus":
            value = 1 / (1 - 1j * b * t)
        case "LapMinus":
            value = 1 / (1 + 1j * b * t)
        case "DLap":
            p = math.exp(-1 / b)
            value = (1 - p) ** 2 / (1 - 2 * p * math.cos(t) + p * p)
        case "Logistic":
            value = math.pi * b * t / math.sinh(math.pi * b * t)
        case "Gumbel" | "GumbelMinus" as name:
            value = complex(gamma(1 - 1j * b * t * (1 if name == "Gumbel" else -1)))
        case "DGauss":
            weights = {k: math.exp(-((k / b) ** 2) / 2) for k in range(-40, 41)}
            total = sum(w * math.cos(k * t) for k, w in weights.items())
            value = total / sum(weights.values())
    return turned * value


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_law_of_a_sum_is_that_of_its_terms(first: Family, second: Family) -> None:
    for a, b, c in product((1, 2), (1, -1, -2), (1, -1)):
        laws = (
            Distribution(first, ONE, Fraction(2)),
            Distribution(second, Fraction(-3), ONE),
            Distribution(first, Fraction(4), Fraction(1, 2)),
        )
        form = LinearForm.of({0: Fraction(a), 1: Fraction(b), 2: Fraction(c)})
        law = law_of(form, laws)
        assert len(law.terms) + bool(law.variance) <= 3
        for t in (0.1, 0.7, 2.0):
            wanted = math.prod(
                (characteristic(laws[int(k)], float(x) * t) for k, x in form.terms), start=1 + 0j
            )
            found = cmath.exp(1j * t * float(law.mean) - float(law.variance) * t * t / 2)
            for factor, term in law.terms:
                found *= characteristic(term, float(factor) * t)
            assert cmath.isclose(found, wanted, rel_tol=1e-12)


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
