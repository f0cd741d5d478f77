"""Logistic and Gumbel laws: numbers of their densities, and what they are to mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

import dipapprox
from dipapprox.arithmetic.legendre import legendre_rule
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.laws.families import GUMBEL, LOGISTIC, REFLECTED_GUMBEL
from dipapprox.laws.family import RealFamily
from dipapprox.numerics.algebras.sampled_laws import sample_law

BITS = 100
BOTH = pytest.mark.parametrize("family", [GUMBEL, REFLECTED_GUMBEL])


def above(number: Fraction, truth: arb, ratio: float = 1.001) -> bool:
    """A bound holds, and is not much more than that."""
    return bool(truth <= to_ball(number)) and bool(to_ball(number) <= truth * ratio)


def mean_over_v(function: Callable[[acb], acb], low: float, high: float) -> arb:
    """∫ function e^-v dv, v = e^-z has the standard exponential law."""
    found = acb.integral(lambda v, _: function(v) * (-v).exp(), low, high)
    assert found.imag.contains(0)
    return found.real


def test_the_numbers_of_the_density() -> None:
    with precision(BITS):
        assert above(GUMBEL.steep, arb(-1).exp())
        slopes = []
        for sign in (1, -1):
            v = (3 + sign * arb(5).sqrt()) / 2
            slopes.append((v * v - v) * (-v).exp())
        assert GUMBEL.curved is not None
        assert above(GUMBEL.curved, slopes[0] - slopes[1])
        # z f is extreme where z (1 - e^-z) = 1: between these points, by the signs there.
        extremes = []
        for low, high in (("1.349976", "1.349977"), ("-0.806467", "-0.806465")):
            ends = [z * (1 - (-z).exp()) - 1 for z in (arb(low), arb(high))]
            assert ends[0] * ends[1] < 0
            z = arb(low).union(arb(high))
            extremes.append(z * GUMBEL.pdf(z, 0))
        assert above(GUMBEL.drift, extremes[0] - extremes[1])
        information = arb.pi() ** 2 / 6 + (1 - arb.const_euler()) ** 2
        assert above(GUMBEL.bend, information)


def test_the_information_is_that_of_the_scale() -> None:
    """E s² and E|ds| over most of the law."""
    with precision(64):

        def score(v: acb) -> acb:
            z = -v.log()
            return z * (1 - v) - 1

        def bent(v: acb) -> acb:
            z = -v.log()
            return z * (1 - v) + z * z * v

        information = arb.pi() ** 2 / 6 + (1 - arb.const_euler()) ** 2
        for function in (lambda v: score(v) ** 2, bent):
            # What is left out at 0 is at most ∫ (ln² v + 2) dv, beyond 60 nothing to speak of.
            found = mean_over_v(function, 1e-7, 60)
            assert abs(found - information) < 1e-4


def functions(family: RealFamily, z: acb) -> list[acb]:
    """Density, distribution function and survival function by flint's complex functions."""
    outer = -z if family is GUMBEL else z
    w = outer.exp()
    ends = [(-w).exp(), 1 - (-w).exp()]
    return [(outer - w).exp(), *(ends if family is GUMBEL else ends[::-1])]


@BOTH
def test_values_and_majorants_on_panels(family: RealFamily) -> None:
    chance = np.random.default_rng(5)
    turn = 1.0 if family is GUMBEL else -1.0
    center = turn * np.concatenate([chance.uniform(-8, 40, 40), chance.uniform(-3, 3, 40), [0.0]])
    half = chance.choice([1e-9, 0.1, 0.3, 0.7, 1.5], len(center))
    rule = legendre_rule(24, (1.5, 2.0, 3.0, 5.0, 9.0))
    found = sample_law(family, center, half, rule)
    points = [-1.0, *rule.nodes.tolist(), 1.0]
    with precision(400):
        for k, (c, h) in enumerate(zip(center.tolist(), half.tolist(), strict=True)):
            for place in range(0, len(points), 5):
                truth = functions(family, acb(arb(c) + arb(h) * points[place]))
                for which, value in enumerate(truth):
                    error = abs(value.real - found.values[which, place, k])
                    assert not error > found.error[which, k]
            for r, (wide, high) in enumerate(zip(rule.wide, rule.high, strict=True)):
                for angle in np.linspace(0, 2 * math.pi, 13):
                    x, y = c + h * wide * math.cos(angle), h * high * math.sin(angle)
                    for which, value in enumerate(functions(family, acb(x, y))):
                        # The place is rounded, too.
                        assert not value.abs_lower() > found.majorants[which, r + 1, k] * (1 + 1e-9)


# --- what it is drawn for -------------------------------------------------------------------------

NOISY_MAX = """
input  q[3] in 0..2
output best in 1..3
adjacent linf 1
for i in 1..3 do
    v[i] <- Gumbel(q[i], 2 / eps)
end
best <- argmax(v)
"""


@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 2), (2, 0, 1), (1, 2, 2)])
def test_the_noisy_maximum_is_the_exponential_mechanism(scores: tuple[int, ...]) -> None:
    """Pr[i] = e^(q_i / b) / Σ e^(q_j / b) is in every enclosure."""
    found = dipapprox.probability(dipapprox.parse(NOISY_MAX), eps=1, input=scores)
    listed = {each["output"]["best"]: each["probability"] for each in found.to_dict()["outputs"]}
    assert len(listed) == 3
    with precision(BITS):
        weights = [(arb(q) / 2).exp() for q in scores]
        for place, weight in enumerate(weights, start=1):
            low, high = (to_ball(Fraction(end)) for end in listed[place])
            assert low <= weight / sum(weights, arb(0)) <= high
            assert high - low < 2.0**-40


def test_published_numbers_have_a_price_in_one_direction_only() -> None:
    """f(z) > e f(z - 1) where v > 2 / (e - 1): δ is what e^-v and e e^(-v e) differ by there; on
    the other side f(z - 1) is nowhere more than e f(z)."""
    program = dipapprox.parse(
        "input q in {0, 1}\noutput y in real\nadjacent linf 1\ny <- Gumbel(q, 1 / eps)"
    )
    found = dipapprox.profile(program, eps=1, eps_prv=1).to_dict()
    low, high = (to_ball(Fraction(end)) for end in found["delta_enclosure"])
    with precision(BITS):
        e = arb(1).exp()
        v = 2 / (e - 1)
        assert low <= (-v).exp() - e * (-v * e).exp() <= high
        assert high - low < 1e-9
    assert found["witness"]["input"] == {"q": 0}


def test_logistic_noise() -> None:
    with precision(BITS):
        assert above(LOGISTIC.steep, arb(1) / 4)
        assert above(LOGISTIC.curved, arb(3).sqrt() / 9)
        # z f is largest where z tanh(z/2) = 1: between these points, by the signs there.
        ends = arb("1.5434046384"), arb("1.5434046385")
        low, high = (z * (z / 2).tanh() - 1 for z in ends)
        assert low < 0 < high
        z = ends[0].union(ends[1])
        assert above(LOGISTIC.drift, 2 * z * LOGISTIC.pdf(z, 0))
