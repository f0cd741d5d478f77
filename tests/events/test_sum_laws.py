"""Laws of sums against characteristic functions; samples used only together, by substitution."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from scipy.special import gamma

from dipapprox.events.sums import law_of
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm

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
