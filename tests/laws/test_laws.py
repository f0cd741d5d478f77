"""Logistic and Gumbel laws: numbers of their densities, and what they are to mechanisms."""

from fractions import Fraction

import pytest
from flint import arb

import dipapprox
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.laws.families import GUMBEL, LOGISTIC
from tests.texts import text_of

BITS = 100


def above(number: Fraction, truth: arb, ratio: float = 1.001) -> bool:
    """A bound holds, and is not much more than that."""
    return bool(truth <= to_ball(number)) and bool(to_ball(number) <= truth * ratio)


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


# --- what it is drawn for -------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 2), (2, 0, 1), (1, 2, 2)])
def test_the_noisy_maximum_is_the_exponential_mechanism(scores) -> None:
    """Pr[i] = e^(q_i / b) / Σ e^(q_j / b) is in every enclosure."""
    found = dipapprox.probability(
        dipapprox.parse(text_of("laws/laws-noisy_max")), eps=1, input=scores
    )
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
