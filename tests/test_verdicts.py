"""Programs of no paper's suite, from text to verdict, against values derived by hand.

The first three are decided wrongly by the published tool.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial
from statistics import NormalDist

import pytest

import dipapprox
from dipapprox import Answer, Claim

HEADER = "input q in {DOMAIN}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
PHI = NormalDist().cdf
LIBRARY_ERROR = Fraction(1, 10**13)  # of the float64 reference values


def program(body: str, domain: str = "0, 1") -> dipapprox.Program:
    return dipapprox.parse(HEADER.replace("DOMAIN", domain) + body)


def chance(body: str, eps: Fraction, input: tuple[int, ...] = (0,)) -> dipapprox.Enclosure:
    """Enclose Pr[out = 1]."""
    found = dipapprox.probability(program(body), eps=eps, input=input)
    assert isinstance(found, dipapprox.OutputDistribution)
    one = [each.probability for each in found.outputs if each.output == (1,)]
    assert one[0].width <= Fraction(1, 2**40)
    return one[0]


def assert_near(enclosure: dipapprox.Enclosure, value: float) -> None:
    exact = Fraction(value)
    assert enclosure.lower - LIBRARY_ERROR <= exact <= enclosure.upper + LIBRARY_ERROR


BELOW_ZERO = "y <- Gauss(0, 1/eps)\nx <- Gauss(q, 1/eps)\nif y < x and x < 0 then out <- 1 end"
THREE_BELOW = """
xa <- Gauss(q, 1/eps); xb <- Gauss(0, 1/eps); xc <- Gauss(0, 1/eps); y <- Gauss(5, 1/eps)
if xa < y and xb < y and xc < y and xa > 1/2 then out <- 1 end
"""


@pytest.mark.parametrize(
    ("body", "domain", "budget"),
    [(BELOW_ZERO, "0, 1", "0.08"), (BELOW_ZERO, "0, 50", "0.08"), (THREE_BELOW, "0, 1", "0.4")],
)
def test_programs_that_mislead_the_published_tool(body: str, domain: str, budget: str) -> None:
    claim = Claim(8, Fraction(1, 100), Fraction(budget))
    verdict = dipapprox.verify(
        program(body, domain), eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta
    )
    assert verdict.answer is Answer.NOT_DP
    assert verdict.witness is not None
    assert verdict.witness.delta_enclosure.lower > claim.delta


@pytest.mark.parametrize("eps", [Fraction(1, 10**6), Fraction(1, 2), Fraction(50)])
def test_a_linear_guard_is_one_normal_variable(eps: Fraction) -> None:
    body = """
    a <- Gauss(0, 1/eps); b <- Gauss(1, 2/eps); c <- Gauss(q, 3/eps)
    if 2*a - b/2 + 1 <= c + q then out <- 1 end
    """
    for q in (0, 1):
        # 2a - b/2 - c has mean -1/2 - q and variance (4 + 1 + 9) / eps².
        value = PHI((q - 1 + 0.5 + q) / (14**0.5 / float(eps)))
        assert_near(chance(body, eps, (q,)), value)


def test_two_lowers_below_two_uppers() -> None:
    body = """
    for i in 1..4 do v[i] <- Gauss(0, 1/eps) end
    if v[1] < v[3] and v[1] < v[4] and v[2] < v[3] and v[2] < v[4] then out <- 1 end
    """
    assert Fraction(1, 6) in chance(body, Fraction(1, 2))


@pytest.mark.parametrize("noise", ["Gauss", "Lap"])
def test_a_chain_of_six_like_samples(noise: str) -> None:
    body = f"""
    for i in 1..6 do v[i] <- {noise}(0, 1/eps) end
    if v[1] < v[2] < v[3] < v[4] < v[5] < v[6] then out <- 1 end
    """
    assert Fraction(1, factorial(6)) in chance(body, Fraction(1, 2))


def test_counting_positives_is_binomial() -> None:
    body = """
    count <- 0
    for i in 1..6 do
        x <- Lap(0, 1/eps)
        if x > 0 then count <- count + 1 end
    end
    if count >= 4 then out <- 1 end
    """
    assert Fraction(sum(comb(6, k) for k in (4, 5, 6)), 2**6) in chance(body, Fraction(3))


def test_the_boundary_of_a_gaussian_threshold() -> None:
    """delta = Φ(1/2) - e^0 Φ(-1/2) at the best threshold of a unit Gaussian, budget 0."""
    body = "r <- Gauss(q, 1/eps)\nif r >= 1/2 then out <- 1 end"
    boundary = Fraction(PHI(0.5) - PHI(-0.5))
    for offset, answer in ((-1, Answer.NOT_DP), (1, Answer.DP)):
        claim = Claim(1, boundary + Fraction(offset, 10**6), 0)
        assert (
            dipapprox.verify(
                program(body), eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta
            ).answer
            is answer
        )


def test_an_exactly_critical_delta_is_never_refuted() -> None:
    """Pr[q = 1] / Pr[q = 0] is exactly e^eps for a Laplace threshold at 1."""
    body = "r <- Lap(q, 1/eps)\nif r >= 1 then out <- 1 end"
    verdict = dipapprox.verify(program(body), eps=Fraction(1, 2), delta=0)
    assert verdict.answer is not Answer.NOT_DP
    if verdict.answer is Answer.UNKNOWN:
        assert verdict.reason is not None
        assert "critical" in verdict.reason
