"""Least budgets of pure privacy of published numbers: closed forms, and claims a hair away."""

from fractions import Fraction
from math import exp, log

import pytest
from scipy.integrate import quad
from scipy.stats import laplace, logistic, norm

import dipapprox
from dipapprox.privacy.verdict import Answer

COUNTS = "input q[2] in 0..2\noutput y[2] in real\nadjacent linf 1\n"
BITS = COUNTS.replace("0..2", "0..1")
BIT = "input q in 0..1\noutput y in real\nadjacent all\n"
COUNT = "input q in 0..2\noutput y in real\nadjacent linf 1\n"
CLAMPED = "y[1] <- clamp(Gauss(q, 1), 0, 1)\ny[2] <- clamp(Logistic(q, 1), 0, 3)\n"
MIXTURE = """
b <- choose {0 : 1/2, 1 : 1/2}
if b = 0 then
    y <- Lap(q, 2/eps)
else
    y <- Lap(q, 1/eps)
end
"""
ABSOLUTE = """
r <- Lap(q, 1/eps)
if r < 0 then
    y <- -r
else
    y <- r
end
"""
MIXTURES = """
for i in 1..2 do
    b <- choose {0 : 1/2, 1 : 1/2}
    r <- Lap(q[i], 1/eps)
    s <- Lap(q[i], 2/eps)
    if b = 1 then
        y[i] <- clamp(r, 0, 1)
    else
        y[i] <- clamp(s, 0, 1)
    end
end
"""
ABSOLUTES = "y[1] <- abs(Lap(q, 1/eps))\ny[2] <- abs(Lap(q, 2/eps))\n"
SUM = "y[1] <- Lap(q, 3)\ny[2] <- Lap(q, 2) + Lap(0, 2)\n"
APART = (
    BITS.replace("linf", "l1")
    + "y[1] <- clamp(Gauss(q[1], 1/2), 0, 1)\n"
    + MIXTURE.replace("y <-", "y[2] <-").replace("(q,", "(q[2],")
)
BESIDE = MIXTURE.replace("y <-", "y[1] <-") + "y[2] <- clamp(Logistic(q, 1), 0, 1)\n"
SPARSE = """
output above[2] in {0, 1}
output y in real
adjacent linf 1
for i in 1..2 do
    above[i] <- 0
end
y <- 0
t <- Lap(0, 2/eps)
for i in 1..2 do
    r <- Lap(q[i], 4/eps)
    if r >= t then
        above[i] <- 1
        y <- Lap(q[i], 1/eps)
        exit
    end
end
"""
TWO = "for i in 1..2 do\n    y[i] <- Lap(q[i], 3/eps)\nend\n"


def _least_of_the_index() -> float:
    """How much likelier it is for (0, 1) than for (1, 0) that the second is the first above."""

    def chance(first: int, second: int) -> float:
        def density(t: float) -> float:
            below, above = laplace.cdf(t - first, scale=4), laplace.sf(t - second, scale=4)
            return float(laplace.pdf(t, scale=2) * below * above)

        return float(quad(density, -80, 80, points=[0, 1], epsabs=1e-13, limit=300)[0])

    return log(chance(0, 1) / chance(1, 0))


@pytest.mark.parametrize(
    ("text", "least"),
    [
        (COUNTS + TWO, 2 / 3),
        # The first is left below and the second is above, and the answer's density costs 1.
        (BITS.splitlines()[0] + SPARSE, 1 + _least_of_the_index()),
        (COUNT + ABSOLUTE, 1.0),
        # Where the densities are greatest: 3/8 against what is left a unit away.
        (COUNT + MIXTURE, log(0.375 / (exp(-0.5) / 8 + exp(-1) / 4))),
        # Noise without closed forms: at the ends of clamps, and far out, where cosh 1 is left.
        (BIT + "y <- clamp(Gauss(q, 3), 1/2, 5/2)\n", log(norm.sf(0.5) / norm.sf(2.5 / 3))),
        pytest.param(
            BIT.replace("y in", "y[2] in") + CLAMPED,
            log(norm.cdf(0) / norm.cdf(-1)) + log(logistic.sf(2) / logistic.sf(3)),
            marks=pytest.mark.thorough,
        ),
        (BIT + "y <- abs(Logistic(q, 1))\n", log((exp(1) + exp(-1)) / 2)),
        # Paths that are the same at q = 0 are counted.
        (BIT.replace("y in", "y[2] in") + ABSOLUTES, 1.5),
        # The densities of the sum are as 1 + z is to 2 + z, far out: no place attains it.
        (BIT.replace("y in", "y[2] in") + SUM, 5 / 6),
        # An end of the clamp is as likely beside either path of the other number.
        (APART, log(norm.cdf(0) / norm.cdf(-2))),
    ],
)
def test_least_pure_budgets_are_enclosed_and_told_from_their_neighbours(
    text: str, least: float
) -> None:
    program = dipapprox.parse(text)
    found = dipapprox.profile(program, eps=1, delta=0)
    assert found.reason is None
    bounds = found.eps_prv_enclosure
    assert bounds.lower - Fraction(1, 10**12) <= least <= bounds.upper + Fraction(1, 10**12)
    assert bounds.upper - bounds.lower < Fraction(1, 10**8)
    hair = Fraction(1, 10**6)
    for budget, answer in ((bounds.upper, Answer.DP), (bounds.lower - hair, Answer.NOT_DP)):
        assert dipapprox.verify(program, eps=1, eps_prv=budget, delta=0).answer is answer


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "least"),
    [
        # Just above 0 both densities are 1/4 + 1/8, against what is left of them a unit away.
        (BITS + MIXTURES, 2 * log(0.75 / (exp(-1) / 2 + exp(-0.5) / 4))),
        # The end of the clamp has no closed form, and the other number two scales.
        (
            BIT.replace("y in", "y[2] in") + BESIDE,
            log(0.375 / (exp(-0.5) / 8 + exp(-1) / 4)) + log(logistic.cdf(0) / logistic.cdf(-1)),
        ),
    ],
)
def test_sums_over_choices_of_independent_numbers_are_products(text: str, least: float) -> None:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    assert found.reason is None
    bounds = found.eps_prv_enclosure
    assert bounds.lower - Fraction(1, 10**12) <= least <= bounds.upper + Fraction(1, 10**12)
    assert bounds.upper - bounds.lower < Fraction(1, 10**9)


def test_the_lower_end_is_that_of_the_pair_that_needs_most() -> None:
    """Densities of two scales are not compared, of neither pair: 1/2 costs less than 5/2."""
    text = BIT + MIXTURE.replace("Lap(q, 2/eps)", "clamp(Gauss(q, 3), 1/2, 5/2)").replace(
        "Lap(q, 1/eps)", "clamp(Gauss(q, 2), 1/2, 5/2)"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    bounds = found.eps_prv_enclosure
    assert bounds.upper is None
    above = [norm.sf((2.5 - q) / 3) + norm.sf((2.5 - q) / 2) for q in (1, 0)]
    assert abs(float(bounds.lower) - log(above[0] / above[1])) < 1e-12


@pytest.mark.parametrize(
    ("noise", "rule", "least"),
    [
        ("Gumbel(q, 1)", "all", None),
        ("Gumbel(q, 1)", "decreasing 1", 1),
        ("-Gumbel(q, 1)", "increasing 1", None),
        ("GumbelMinus(q, 1)", "decreasing 1", None),
        ("LapPlus(q, 1) + 1", "decreasing 1", 1),
    ],
)
def test_shifts_without_a_price_have_no_least_budget(
    noise: str, rule: str, least: int | None
) -> None:
    program = dipapprox.parse(BIT.replace("all", rule) + f"y <- {noise}\n")
    if least is None:
        found = dipapprox.profile(program, eps=1, delta=0)
        assert found.eps_prv_enclosure.infinite
    else:
        for budget, answer in ((Fraction(least), Answer.DP), (Fraction(99, 100), Answer.NOT_DP)):
            assert dipapprox.verify(program, eps=1, eps_prv=budget, delta=0).answer is answer
