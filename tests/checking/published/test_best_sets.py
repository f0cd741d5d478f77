"""Divergences at any factor, with a set: against closed forms, on either side of 1."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt

import pytest
from scipy import special

import dipapprox
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.published.best_sets import BestSets
from dipapprox.checking.published.divergences import Divergences
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure

F = Fraction


def gaussian(shift: float, alpha: float) -> float:
    place = special.log1p(alpha - 1) / shift
    return float(special.ndtr(shift / 2 - place) - alpha * special.ndtr(-shift / 2 - place))


def laplace(shift: float, alpha: float) -> float:
    return float(max(0.0, 1 - alpha, 1 - exp(-shift / 2) * sqrt(alpha)))


PROGRAMS = {
    "y <- Gauss(q, 2)\n": (gaussian, 0.5),
    "y <- Lap(q, 2)\n": (laplace, 0.5),
    # What is published beside the number tells nothing, or is the same for all inputs.
    "x <- Lap(0, 1)\nif x < 1 then\n y <- Gauss(q, 2)\nelse\n y <- Gauss(q + 5, 2)\n"
    " s <- 1\nend\n": (gaussian, 0.5),
    # All below 0 is one outcome: of the Laplace noise its losses are one, too.
    "r <- Lap(q, 2)\nif r < 0 then\n y <- 0\nelse\n y <- r\nend\n": (laplace, 0.5),
}


@pytest.mark.parametrize("laws", PROGRAMS)
def test_sets_attain_divergences(laws: str) -> None:
    profile, shift = PROGRAMS[laws]
    text = f"input q in 0..1\noutput s in 0..1\noutput y in real\nadjacent linf 1\ns <- 0\n{laws}"
    program = dipapprox.parse(text)
    best = BestSets(Divergences(Distributions(program, F(1), Limits()), Limits()))
    zero, one = (F(0),), (F(1),)
    for pair in ((zero, one), (one, zero)):
        for alpha in (F(1, 4), F(9, 10), F(1), F(6, 5), F(2)):
            found = best.at(pair, Enclosure.exact(alpha), 48)
            true = F(profile(shift, float(alpha)))
            lower = found.first.lower - alpha * found.second.upper
            assert found.value.lower - F(1, 10**12) <= true <= found.value.upper + F(1, 10**12)
            assert found.value.width < F(1, 2**44) and lower > found.value.upper - F(1, 2**44)


def test_equal_pairs_are_of_one_kind() -> None:
    text = "input q in 0..3\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1)\n"
    program = dipapprox.parse(text)
    best = BestSets(Divergences(Distributions(program, F(1), Limits()), Limits()))
    up = {best.kinds(((F(k),), (F(k + 1),))) for k in range(3)}
    assert len(up) == 1 and best.kinds(((F(1),), (F(0),))) not in up
