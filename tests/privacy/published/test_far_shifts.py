"""Infinite and large budgets: inputs told apart by many deviations, and irrational scales."""

from fractions import Fraction as F

import pytest

import dipapprox
from dipapprox.privacy.profiles.profile_result import LeastEpsPrv

_PLAIN = "param D = 1\ninput q in {{0, D}}\noutput y in real\nadjacent all\ny <- {}(q, 1/eps)"
_BEHIND_A_TEST = """param D = 1
input q in {{0, D}}
output o in {{0, 1}}
output y in real
adjacent all
o <- 0
y <- 0
r <- Lap(q / D, 1/eps)
if r > 0 then
    o <- 1
    y <- {}(q, 1/eps)
end"""


def least(text: str, delta: str, eps: str = "1", **parameters: int) -> LeastEpsPrv:
    return dipapprox.profile(dipapprox.parse(text, parameters), eps=eps, delta=delta)


# m²/2 + m z with Φ(-z) - φ(z) / (m + z) about 10^-6: z is 4.7534 and less.


@pytest.mark.parametrize(("delta", "truth"), [("0", 50_000), ("1/2", 49_998.6137)])
def test_the_least_budget_of_laplace_noise(delta: str, truth: float) -> None:
    budget = least(_PLAIN.format("Lap"), delta, D=50_000).eps_prv_enclosure
    assert budget.upper - budget.lower < F(1, 10**9)
    assert abs(float(budget.lower) - truth) < 1e-3


@pytest.mark.parametrize("noise", ["Gauss", "Lap"])
def test_numbers_behind_a_test(noise: str) -> None:
    found = least(_BEHIND_A_TEST.format(noise), "1e-6", D=100).eps_prv_enclosure
    assert found.upper - found.lower < F(1, 10**9)
    truth = {"Gauss": 5470.7308, "Lap": 100.4898}[noise]
    assert abs(float(found.lower) - truth) < 1e-3


def test_beyond_all_factors_there_is_a_lower_bound() -> None:
    found = least(_BEHIND_A_TEST.format("Gauss"), "1e-6", D=1000)
    assert found.eps_prv_enclosure.upper is None
    assert found.eps_prv_enclosure.lower > 9_999
    assert "above 10000" in found.run.reason


_PUBLISHED = "input q in {0, 1}\noutput y in real\nadjacent all\ny <- "
_ONE_SIDED = """input q in {0, 1}
output o in 0..2
adjacent all
a <- Lap(0, sqrt(2)/eps)
o <- 0
if a >= 1 then
    if q = 1 then o <- 1 end
else
    if q = 0 then o <- 2 end
end"""


@pytest.mark.parametrize("text", [_ONE_SIDED, _PUBLISHED + "LapPlus(q, sqrt(2)/eps)"])
def test_outputs_that_the_adjacent_input_never_has(text: str) -> None:
    found = least(text, "1/10")
    assert found.eps_prv_enclosure.infinite
    assert found.run.reason is None and found.witness is not None
    # Pr[a < 1] is about 0.753 and Pr[y < 1] about 0.507: beyond that there is no need.
    enough = least(text, "4/5").eps_prv_enclosure
    assert enough.lower is not None and enough.upper is not None


_FINITE = """input q in {0, 100}
output o in 0..1
adjacent all
a <- Gauss(q, sqrt(2)/eps)
o <- a >= 0"""
_HALF = """input q in 0..1
output o in 0..1
adjacent all
a <- Gauss(0, sqrt(2)/eps)
o <- a >= 0 and q = 1"""


@pytest.mark.parametrize(
    ("text", "eps_prv", "delta", "answer"),
    [
        (_PUBLISHED + "Gauss(q, sqrt(3)/eps)", "1000", "1/2", "DP"),
        pytest.param(
            *(_PUBLISHED + "Gauss(q, sqrt(3)/eps)", "1e9", "1e-60", "DP"),
            marks=pytest.mark.thorough,
        ),
        (_PUBLISHED + "LapPlus(q, sqrt(2)/eps)", "1e30", "1/10", "Not_DP"),
        (_ONE_SIDED, "5000", "4/5", "DP"),
        (_HALF, "5000", "51/100", "DP"),
        (_HALF, "1e30", "49/100", "Not_DP"),
        # Pr[a < 0] = 1/2 for q = 0, and for q = 100 it is about e^-2504
        (_FINITE, "2400", "2/5", "Not_DP"),
        (_FINITE, "2600", "2/5", "DP"),
    ],
)
def test_claims_with_large_budgets(text: str, eps_prv: str, delta: str, answer: str) -> None:
    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, eps=1, eps_prv=eps_prv, delta=delta)
    assert verdict.answer.value == answer
    tightest = dipapprox.profile(program, eps=1, eps_prv=eps_prv).delta_enclosure
    assert tightest.upper > F(delta) if answer == "Not_DP" else tightest.lower < F(delta)


def test_reasons_for_claims_that_are_left_open_are_true() -> None:
    program = dipapprox.parse(_PUBLISHED + "Gauss(q, sqrt(3)/eps)")
    verdict = dipapprox.verify(program, eps=1, eps_prv=64, delta="1e-78")
    assert verdict.answer is dipapprox.Answer.UNKNOWN
    below = verdict.run.reason.split("δ below ")[1].split(";")[0]
    assert 0 < F(below) < F(1, 10**70)
