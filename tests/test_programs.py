"""Shipped programs keep what their headers claim; others have values derived by hand."""

from fractions import Fraction
from math import comb, factorial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Claim, Options
from dipapprox.questions.claims import ClaimOutcome, StatedClaim, claims_in, try_claim
from dipapprox.questions.decide import Decide
from tests.thorough import THOROUGH

PROGRAMS = Path(__file__).parent.parent / "programs"
CLAIMS = claims_in(PROGRAMS)

_DEAR = (
    *("noisy_max_with_gap", "partial_sum", "sparse_vector_with_gap", "numeric_sparse_vector"),
    *("band_sparse_vector", "svt_discrete_gauss"),
)
"""Files whose claims take long: `make thorough` asks them, and the corpus asks about them."""


def kind(claim: StatedClaim) -> tuple[object, ...]:
    """What makes a claim another one than those of its header that are like it."""
    return type(claim.question), claim.answer, claim.for_all


def chosen() -> list[Any]:
    """The claims that are asked, each with a name."""
    found = []
    for path, claims in CLAIMS.items():
        some = {kind(each): each for each in reversed(claims)}.values()
        asked = claims if THOROUGH else () if path.stem in _DEAR else some
        found += [pytest.param(path, each, id=f"{path.stem}: {each.text}") for each in asked]
    return found


@pytest.mark.parametrize(("path", "claim"), chosen())
def test_a_claim_holds(path, claim) -> None:
    short = claim.answer == "Not_DP" or (claim.answer == "DP" and claim.parameters.get("N", 1) <= 2)
    proved = isinstance(claim.question, Decide) and short
    tested = try_claim(claim, path, Options(proved=proved))
    assert tested.outcome is ClaimOutcome.HOLDS, tested.message


def test_every_header_names_a_source_and_claims_something() -> None:
    """What begins like a claim is one, or reading it has failed."""
    assert len(CLAIMS) > 100
    assert sum(map(len, CLAIMS.values())) > 400
    words = ("# expected:", "# decide:", "# prove:", "# claim:")
    for path, claims in CLAIMS.items():
        text = path.read_text(encoding="utf-8")
        assert len(claims) == sum(line.startswith(words) for line in text.splitlines()) > 0, path
        header = text.split("\n\n")[0]
        assert "# source: " in header or "Zhu and Wang" in header, path
    dipc = [claims for path, claims in CLAIMS.items() if path.parent.name == "dipc"]
    decided = [[each for each in claims if isinstance(each.question, Decide)] for claims in dipc]
    assert len(decided) == 17 and all(decided)


# --- Programs of no paper's suite, from text to verdict, against values derived by hand -----------

HEADER = "input q in {DOMAIN}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
PHI = NormalDist().cdf
LIBRARY_ERROR = Fraction(1, 10**13)  # of the float64 reference values


def program(body: str, domain: str = "0, 1") -> dipapprox.Program:
    return dipapprox.parse(HEADER.replace("DOMAIN", domain) + body)


BELOW_ZERO = "y <- Gauss(0, 1/eps)\nx <- Gauss(q, 1/eps)\nif y < x and x < 0 then out <- 1 end"
THREE_BELOW = """
xa <- Gauss(q, 1/eps); xb <- Gauss(0, 1/eps); xc <- Gauss(0, 1/eps); y <- Gauss(5, 1/eps)
if xa < y and xb < y and xc < y and xa > 1/2 then out <- 1 end
"""


@pytest.mark.parametrize(
    ("body", "domain", "budget"),
    [(BELOW_ZERO, "0, 1", "0.08"), (BELOW_ZERO, "0, 50", "0.08"), (THREE_BELOW, "0, 1", "0.4")],
)
def test_programs_that_mislead_the_published_tool(body, domain, budget) -> None:
    claim = Claim(8, Fraction(1, 100), Fraction(budget))
    verdict = dipapprox.verify(
        program(body, domain), eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta
    )
    assert verdict.answer is Answer.NOT_DP
    assert verdict.witness.delta_enclosure.lower > claim.delta


LINEAR = "a <- Gauss(0, 1/eps); b <- Gauss(1, 2/eps); c <- Gauss(q, 3/eps)\n" + (
    "if 2*a - b/2 + 1 <= c + q then out <- 1 end"
)
"""2a - b/2 - c has mean -1/2 - q and variance (4 + 1 + 9) / eps²."""
TWO_BELOW_TWO = """
for i in 1..4 do v[i] <- Gauss(0, 1/eps) end
if v[1] < v[3] and v[1] < v[4] and v[2] < v[3] and v[2] < v[4] then out <- 1 end
"""
CHAIN = """
for i in 1..6 do v[i] <- Gauss(0, 1/eps) end
if v[1] < v[2] < v[3] < v[4] < v[5] < v[6] then out <- 1 end
"""
COUNT = """
count <- 0
for i in 1..6 do
    x <- Lap(0, 1/eps)
    if x > 0 then count <- count + 1 end
end
if count >= 4 then out <- 1 end
"""


@pytest.mark.parametrize(
    ("body", "eps", "q", "value"),
    [
        *((LINEAR, eps, 0, PHI(-0.5 * float(eps) / 14**0.5)) for eps in ("1e-6", "0.5", "50")),
        *((LINEAR, eps, 1, PHI(1.5 * float(eps) / 14**0.5)) for eps in ("1e-6", "0.5", "50")),
        (TWO_BELOW_TWO, "1/2", 0, Fraction(1, 6)),
        (CHAIN, "1/2", 0, Fraction(1, factorial(6))),
        (CHAIN.replace("Gauss", "Lap"), "1/2", 0, Fraction(1, factorial(6))),
        (COUNT, "3", 0, Fraction(sum(comb(6, k) for k in (4, 5, 6)), 2**6)),
    ],
)
def test_the_chance_of_one(body, eps, q, value) -> None:
    found = dipapprox.probability(program(body), eps=eps, input=(q,))
    (one,) = (each.probability for each in found.outputs if each.output == (1,))
    assert one.width <= Fraction(1, 2**40)
    error = LIBRARY_ERROR if isinstance(value, float) else 0
    assert one.lower - error <= Fraction(value) <= one.upper + error


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
