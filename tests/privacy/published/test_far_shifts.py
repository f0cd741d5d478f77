"""Numbers that tell inputs apart by many deviations: answers, whatever the size."""

from __future__ import annotations

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


def least_eps_prv(text: str, shift: int, delta: str) -> LeastEpsPrv:
    found = dipapprox.profile(dipapprox.parse(text, {"D": shift}), eps=1, delta=delta)
    assert isinstance(found, LeastEpsPrv)
    return found


# m²/2 + m z with Φ(-z) - φ(z) / (m + z) about 10^-6: z is 4.7534 and less.


@pytest.mark.parametrize(("delta", "least"), [("0", 50_000), ("1/2", 49_998.6137)])
def test_the_least_budget_of_laplace_noise(delta: str, least: float) -> None:
    budget = least_eps_prv(_PLAIN.format("Lap"), 50_000, delta).eps_prv_enclosure
    assert budget.upper - budget.lower < F(1, 10**9)
    assert abs(float(budget.lower) - least) < 1e-3


@pytest.mark.parametrize("noise", ["Gauss", "Lap"])
def test_numbers_behind_a_test(noise: str) -> None:
    found = least_eps_prv(_BEHIND_A_TEST.format(noise), 100, "1e-6").eps_prv_enclosure
    assert found.upper - found.lower < F(1, 10**9)
    least = {"Gauss": 5470.7308, "Lap": 100.4898}[noise]
    assert abs(float(found.lower) - least) < 1e-3


def test_beyond_all_factors_there_is_a_lower_bound() -> None:
    found = least_eps_prv(_BEHIND_A_TEST.format("Gauss"), 1000, "1e-6")
    assert found.eps_prv_enclosure.upper is None
    assert found.eps_prv_enclosure.lower > 9_999
    assert "above 10000" in found.run.reason
