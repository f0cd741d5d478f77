"""Pure budgets of published numbers: closed forms, couplings, and claims a hair away."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, logistic, norm

import dipapprox
from dipapprox import Answer, Limits
from dipapprox.pairs.boxes.vertices import difference_pairs
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import execute_for_declared
from tests.cases import cases
from tests.texts import text_of

COUNTS = "input q[2] in 0..2\noutput y[2] in real\nadjacent linf 1\n"
BITS = COUNTS.replace("0..2", "0..1")
BIT = "input q in 0..1\noutput y in real\nadjacent all\n"
_TWO = BIT.replace("y in", "y[2] in")
COUNT = "input q in 0..2\noutput y in real\nadjacent linf 1\n"
CLAMPED = "y[1] <- clamp(Gauss(q, 1), 0, 1)\ny[2] <- clamp(Logistic(q, 1), 0, 3)\n"
MIXTURE = """
b <- choose {0 : 1/2, 1 : 1/2}
if b = 0 then y <- Lap(q, 2/eps) else y <- Lap(q, 1/eps) end
"""
ABSOLUTE = """
r <- Lap(q, 1/eps)
if r < 0 then y <- -r else y <- r end
"""
MIXTURES = """
for i in 1..2 do
    b <- choose {0 : 1/2, 1 : 1/2}
    r <- Lap(q[i], 1/eps)
    s <- Lap(q[i], 2/eps)
    if b = 1 then y[i] <- clamp(r, 0, 1) else y[i] <- clamp(s, 0, 1) end
end
"""
ABSOLUTES = "y[1] <- abs(Lap(q, 1/eps))\ny[2] <- abs(Lap(q, 2/eps))\n"
APART = (
    BITS.replace("linf", "l1")
    + "y[1] <- clamp(Gauss(q[1], 1/2), 0, 1)\n"
    + MIXTURE.replace("y <-", "y[2] <-").replace("(q,", "(q[2],")
)
BESIDE = MIXTURE.replace("y <-", "y[1] <-") + "y[2] <- clamp(Logistic(q, 1), 0, 1)\n"


def _least_of_the_index() -> float:
    """How much likelier it is for (0, 1) than for (1, 0) that the second is the first above."""

    def chance(first: int, second: int) -> float:
        def density(t: float) -> float:
            below, above = laplace.cdf(t - first, scale=4), laplace.sf(t - second, scale=4)
            return float(laplace.pdf(t, scale=2) * below * above)

        return float(quad(density, -80, 80, points=[0, 1], epsabs=1e-13, limit=300)[0])

    return log(chance(0, 1) / chance(1, 0))


@cases(
    "text, least",
    (COUNTS + "for i in 1..2 do\n    y[i] <- Lap(q[i], 3/eps)\nend\n", 2 / 3),
    (BIT.replace("all", "decreasing 1") + "y <- Gumbel(q, 1)\n", 1.0),
    (BIT.replace("all", "decreasing 1") + "y <- LapPlus(q, 1) + 1\n", 1.0),
    # The first is left below and the second is above, and the answer's density costs 1.
    (text_of("published/pure_budgets-sparse"), 1 + _least_of_the_index()),
    (COUNT + ABSOLUTE, 1.0),
    # Where the densities are greatest: 3/8 against what is left a unit away.
    (COUNT + MIXTURE, log(0.375 / (exp(-0.5) / 8 + exp(-1) / 4))),
    # Noise without closed forms: at the ends of clamps, and far out, where cosh 1 is left.
    (BIT + "y <- clamp(Gauss(q, 3), 1/2, 5/2)\n", log(norm.sf(0.5) / norm.sf(2.5 / 3))),
    pytest.param(
        _TWO + CLAMPED,
        log(norm.cdf(0) / norm.cdf(-1)) + log(logistic.sf(2) / logistic.sf(3)),
        marks=pytest.mark.thorough,
    ),
    (BIT + "y <- abs(Logistic(q, 1))\n", log((exp(1) + exp(-1)) / 2)),
    # Paths that are the same at q = 0 are counted.
    (_TWO + ABSOLUTES, 1.5),
    # The densities of the sum are as 1 + z is to 2 + z, far out: no place attains it.
    (_TWO + "y[1] <- Lap(q, 3)\ny[2] <- Lap(q, 2) + Lap(0, 2)\n", 5 / 6),
    # An end of the clamp is as likely beside either path of the other number.
    (APART, log(norm.cdf(0) / norm.cdf(-2))),
    # Just above 0 both densities are 1/4 + 1/8, against what is left of them a unit away.
    pytest.param(
        BITS + MIXTURES, 2 * log(0.75 / (exp(-1) / 2 + exp(-0.5) / 4)), marks=pytest.mark.thorough
    ),
    # The end of the clamp has no closed form, and the other number two scales.
    pytest.param(
        _TWO + BESIDE,
        log(0.375 / (exp(-0.5) / 8 + exp(-1) / 4)) + log(logistic.cdf(0) / logistic.cdf(-1)),
        marks=pytest.mark.thorough,
    ),
)
def test_least_pure_budgets_are_enclosed_and_told_from_their_neighbours(text, least) -> None:
    program = dipapprox.parse(text)
    found = dipapprox.profile(program, eps=1, delta=0)
    assert found.reason is None
    bounds = found.eps_prv_enclosure
    assert bounds.lower - Fraction(1, 10**12) <= least <= bounds.upper + Fraction(1, 10**12)
    assert bounds.upper - bounds.lower < Fraction(1, 10**9)
    hair = Fraction(1, 10**6)
    for budget, answer in ((bounds.upper, Answer.DP), (bounds.lower - hair, Answer.NOT_DP)):
        assert dipapprox.verify(program, eps=1, eps_prv=budget, delta=0).answer is answer


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


@cases(
    "text, infinite",
    (BIT + "y <- Gumbel(q, 1)\n", True),
    (BIT.replace("all", "increasing 1") + "y <- -Gumbel(q, 1)\n", True),
    (BIT.replace("all", "decreasing 1") + "y <- GumbelMinus(q, 1)\n", True),
    # Gaussian densities that are shifted have no largest quotient.
    (_TWO + "y[1] <- Gauss(q, 1)\ny[2] <- 0\n", True),
    (_TWO + "a <- Gauss(q, 1)\nb <- Gauss(0, 1)\ny[1] <- a + b\ny[2] <- a - 2 * b\n", True),
    (_TWO + "y[1] <- Gauss(0, 1)\ny[2] <- Lap(q, 1)\n", False),
)
def test_shifts_without_a_price_have_no_least_budget(text, infinite) -> None:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    assert found.eps_prv_enclosure.infinite is infinite


# --- Numbers bounded by couplings, and by what tells less and more --------------------------------

MECHANISM = """
input q[2] in {{0, 1}}
adjacent linf 1
output y in real
output c in {{0, 1}}
a <- {first}(q[1], 2 / eps)
b <- {second}(q[2], 3 / eps)
y <- {published}
c <- {compared}
"""


@pytest.mark.parametrize("first", ["Lap", "LapPlus", "Gauss"])
@pytest.mark.parametrize("published", ["a", "a - b", "a + 2 * q[2]", "0"])
@pytest.mark.parametrize("compared", ["a >= b", "a + b >= 2 * q[1]"])
def test_a_coupling_never_promises_too_much(first, published, compared) -> None:
    """Where the divergence at a slightly larger budget can be told, it is 0."""
    text = MECHANISM.format(first=first, second="Lap", published=published, compared=compared)
    program = dipapprox.parse(text)
    states = execute(program, True, Limits(), real_outputs=True)
    couplings = Couplings(states, Fraction(1), Limits())
    zero, one = Fraction(0), Fraction(1)
    pair = ((zero, zero), (one, one))
    budget = couplings.budget(pair)
    if budget is None:
        return
    found = dipapprox.profile(program, eps=1, eps_prv=budget, pairs=(pair,))
    assert found.delta_enclosure.lower == 0


@cases(
    "body, budget",
    ("y <- abs(Logistic(q, 2))", Fraction(1, 2)),
    ("y <- Logistic(2 * q, 3 / eps)\nc <- y > 1/2", Fraction(2, 3)),  # eps is 1
    # At both ends of the change one guard is the stricter one; between, the other might be.
    ("x <- Lap(q, 1)\ny <- 0\nif x > 1/2 and x > q then c <- 1 end", None),
    ("y <- Gauss(q, 1)", None),
)
def test_vertices_are_enough_where_guards_point_apart(body, budget) -> None:
    text = "input q in real 0..1\nadjacent linf 1\noutput y in real\noutput c in {0, 1}\nc <- 0\n"
    program = dipapprox.parse(text + body + "\n")
    states = execute_for_declared(program, True, Limits())
    couplings = Couplings(states, Fraction(1), Limits())
    assert couplings.budget_between(difference_pairs(program)) == budget


def test_no_pure_budget_serves_gaussian_noise_or_published_inputs() -> None:
    for body in ("y <- Gauss(q, 1 / eps)", "y <- q + 1"):
        text = f"input q in real\nadjacent linf 1\noutput y in real\n{body}\n"
        found = dipapprox.prove(dipapprox.parse(text))
        assert found.has_none


@cases(
    "other",
    "y <- Lap(1, 1)",  # wider: the logarithm of the quotient has no bound by moves alone
    "y <- 2 * Lap(1, 2)",
    "y <- Gauss(1, 2)",
    "y <- Lap(1, 2) + Lap(0, 2)",
    "y <- Lap(1, 2)\n c <- 1",
    "c <- choose { 0 : 1/2, 1 : 1/2 }\n y <- Lap(1, 2)",
)
def test_paths_that_differ_in_more_than_means_do_not(other) -> None:
    text = (
        "input x in 0..1\noutput y in real\noutput c in {0, 1}\nadjacent all\nc <- 0\n"
        f"if x = 0 then\n y <- Lap(0, 2)\nelse\n {other}\nend\n"
    )
    program = dipapprox.parse(text)
    limits = Limits()
    states = execute(program, True, limits, real_outputs=True)
    pair = (Fraction(0),), (Fraction(1),)
    assert Couplings(states, Fraction(1), limits).budget(pair) is None


def test_two_paths_are_not_moved_into_one() -> None:
    """At x = 0 a coin of the noise decides between two paths, at x = 1 there is one of half of
    the mass for each of them: each is as likely, and no set is more likely."""
    text = (
        "input x in 0..1\noutput y in real\nadjacent all\nr <- Lap(0, 1)\nb <- Lap(0, 1)\n"
        "if x = 0 then\n if r <= 0 then y <- b else y <- b end\n"
        "else\n if r <= 0 then y <- b else y <- b + 1 end\nend\n"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    # Of b against half b and half b + 1 the quotient of densities is at most 2 / (1 + e^-1).
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert float(lower) >= 0.3798
    assert upper is None or float(upper) >= 0.3798


SHARED = text_of("published/pure_budgets-shared")


def _delta(text: str, eps_prv: str) -> dipapprox.Enclosure:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    return found.delta_enclosure


def test_sums_with_a_common_sample_are_bounded_from_both_sides() -> None:
    alone = SHARED.replace("output y, z", "output y").replace("z <- b + c", "")
    samples = SHARED.replace("y <- a + b", "y <- a").replace("z <- b + c", "z <- c")
    found, less, more = (_delta(each, "1/2") for each in (SHARED, alone, samples))
    assert found.lower >= less.lower - Fraction(1, 10**6)
    assert found.upper <= more.upper + Fraction(1, 10**6)
    assert found.lower < found.upper < Fraction(4, 10)


def test_sums_that_take_too_many_panels_are_enclosed_less_well() -> None:
    """y moves by 1, of scale 2, and z by 3: δ is an integral of δ of z at what y has lost."""
    x = np.linspace(-80, 80, 40_001)
    f, g = ((3 * np.exp(-abs(x - m) / 3) - np.exp(-abs(x - m))) / 16 for m in (3, 0))
    y = (np.arange(200) + 0.5) / 200
    inner = np.exp(-abs(y - 1) / 2) / 4
    lost = [0.5, -0.5, *(y - 0.5)]
    weight = [0.5, 0.5 * exp(-0.5), *(inner / 200)]
    truth = sum(
        w * np.maximum(f - exp(0.5 - each) * g, 0).sum() * 0.004
        for w, each in zip(weight, lost, strict=True)
    )
    found = _delta(text_of("published/pure_budgets-summed"), "1/2")
    assert found.width < Fraction(1, 10**6)
    assert truth == pytest.approx(float(found.lower), abs=1e-4)


def test_the_least_budget_has_two_ends() -> None:
    found = dipapprox.profile(dipapprox.parse(SHARED), eps=1, delta="1/20")
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert Fraction(1, 2) < lower < upper <= 2
    for eps_prv, answer in ((lower, Answer.NOT_DP), (upper, Answer.DP)):
        eps_prv += Fraction(answer is Answer.DP, 100) - Fraction(answer is Answer.NOT_DP, 100)
        claim = dipapprox.verify(dipapprox.parse(SHARED), eps=1, eps_prv=eps_prv, delta="1/20")
        assert claim.answer is answer


def test_pairs_without_densities_are_bounded_each_for_itself() -> None:
    """Of 0 and 4 the first number alone tells much more than of 0 and 1."""
    program = dipapprox.parse(text_of("published/pure_budgets-far"))
    alone = dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5", pairs=[((4,), (0,))])
    assert alone.answer is Answer.NOT_DP
    assert dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5").answer is Answer.NOT_DP
    found = dipapprox.profile(program, eps=1, eps_prv=1).delta_enclosure
    assert found.lower >= alone.delta_enclosure.lower > Fraction(1, 2)
