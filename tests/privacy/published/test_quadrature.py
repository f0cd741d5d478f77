"""Divergences of programs with real outputs against quadrature of densities written by hand.

The program publishes a if a >= b + c, else the constant 0 and, if asked, which of the two it was;
a has the density p(y) Pr[b <= y - c] there.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, inf
from random import Random

import pytest
from scipy import integrate, stats

import dipapprox
from tests.thorough import part

LAWS = {"Gauss": stats.norm, "Lap": stats.laplace}


@pytest.mark.parametrize("seed", part(range(3), 2))
def test_random_programs_agree_with_quadrature(seed: int) -> None:
    random = Random(seed)
    first, second = (random.choice(sorted(LAWS)) for _ in range(2))
    scales = [random.randint(1, 4) for _ in range(2)]
    slope, offset = random.choice((-2, 1, 3)), random.randint(-1, 2)
    budget = Fraction(random.randint(0, 3), 4)
    program = dipapprox.parse(
        "input q, t in {0, 1}\nadjacent linf 1\noutput y in real\noutput above in {0, 1}\n"
        f"a <- {first}({slope} * q, {scales[0]} / eps)\nb <- {second}(t, {scales[1]} / eps)\n"
        f"y <- 0\nabove <- a >= b + {offset}\nif above = 1 then\n    y <- 5 - 2 * a\nend\n"
    )
    found = dipapprox.profile(program, eps=1, eps_prv=budget, pairs="0,0~1,1")

    def density(place: float, q: int, t: int) -> float:
        law, other = LAWS[first], LAWS[second]
        below = other.cdf(place - offset, loc=t, scale=scales[1])
        return float(law.pdf(place, loc=slope * q, scale=scales[0]) * below)

    def divergence(u: tuple[int, int], v: tuple[int, int]) -> float:
        factor = exp(float(budget))
        marks = sorted({0.0, slope, offset, offset + 1.0})

        def excess(place: float) -> float:
            return max(density(place, *u) - factor * density(place, *v), 0.0)

        ends = [-inf, *marks, inf]
        total = sum(
            integrate.quad(excess, a, b, limit=400, epsabs=1e-9)[0] for a, b in pairwise(ends)
        )
        above = [integrate.quad(density, -inf, inf, args=w, limit=400)[0] for w in (u, v)]
        return float(total + max(1 - above[0] - factor * (1 - above[1]), 0.0))

    wanted = max(divergence((0, 0), (1, 1)), divergence((1, 1), (0, 0)))
    assert found.delta_enclosure.width < 1e-9
    assert abs(float(found.delta_enclosure.lower) - wanted) < 1e-6
