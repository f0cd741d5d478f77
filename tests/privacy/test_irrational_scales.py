"""Least budgets of programs with irrational scales: infinite ones, and large ones."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

import dipapprox
from dipapprox.privacy.profiles.profile_result import LeastEpsPrv

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


def least(text: str, eps: str, delta: str) -> LeastEpsPrv:
    found = dipapprox.profile(dipapprox.parse(text), eps=eps, delta=delta)
    assert isinstance(found, LeastEpsPrv)
    return found


@pytest.mark.parametrize("text", [_ONE_SIDED, _PUBLISHED + "LapPlus(q, sqrt(2)/eps)"])
def test_outputs_that_the_adjacent_input_never_has(text: str) -> None:
    found = least(text, "1", "1/10")
    assert found.eps_prv_enclosure.infinite
    assert found.run.reason is None and found.witness is not None
    # Pr[a < 1] is about 0.753 and Pr[y < 1] about 0.507: beyond that there is no need.
    enough = least(text, "1", "4/5").eps_prv_enclosure
    assert enough.lower is not None and enough.upper is not None


def test_budgets_above_64() -> None:
    """Shifts of m = 14 / √2 deviations: as m² = 98, m²/2 + m z at δ = 10^-6, z below 4.7534."""
    found = least(_PUBLISHED + "Gauss(q, sqrt(2)/eps)", "14", "1e-6").eps_prv_enclosure
    assert found.lower is not None and found.upper is not None
    assert F(95) < found.lower < found.upper < F(49) + F(99, 10) * F(47534, 10_000)
    assert found.upper - found.lower < F(1, 10**8)


def test_far_larger_ones_have_a_lower_bound() -> None:
    found = least(_PUBLISHED + "Gauss(q, sqrt(2)/eps)", "100", "1e-6")
    assert found.eps_prv_enclosure.lower == 128 and found.eps_prv_enclosure.upper is None
    assert found.run.reason is not None and "128" in found.run.reason
