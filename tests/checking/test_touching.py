"""Probabilities that differ by the claimed factor exactly: no bits tell, closed forms do."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from dipapprox.checking.check import check
from dipapprox.privacy.claim import Claim
from dipapprox.replays.result import Outcome
from tests.checking.certified import PROGRAMS, Fields, certificate, replaced, signed

CASES: list[tuple[str, dict[str, int], str, str]] = [
    ("literature/prefix_sum", {"N": 3}, "1", "1"),  # sums
    ("literature/prefix_sums", {"N": 3}, "1", "1"),
    ("literature/top_k_selection", {}, "1", "1"),  # comparisons at a distance of 1000
    ("literature/partial_sum", {"N": 3}, "1/2", "1/2"),
    ("geometric_mechanism", {}, "1/2", "1/2"),  # integers
    ("literature/k_ary_randomised_response", {}, "1", "1"),  # choices
]


def critical(name: str, values: dict[str, int], eps: str, budget: str) -> Fields:
    parameters = {key: Fraction(value) for key, value in values.items()}
    claim = Claim(Fraction(eps), Fraction(0), Fraction(budget))
    fields = certificate(PROGRAMS / f"{name}.dpg", parameters, claim)
    assert fields["verdict"] == "DP"
    return fields


@pytest.mark.parametrize(("name", "values", "eps", "budget"), CASES)
def test_what_is_tight_is_confirmed(
    name: str, values: dict[str, int], eps: str, budget: str
) -> None:
    result = check(json.dumps(critical(name, values, eps, budget)))
    assert result.outcome is Outcome.CONFIRMED, result.reason
    assert result.shared == ()
    assert result.precision < 200  # not by bits


@pytest.mark.parametrize("missing", [Fraction(1, 10**30), Fraction(1, 10**220)])
@pytest.mark.parametrize("name", ["literature/prefix_sum", "geometric_mechanism"])
def test_what_is_nearly_true_is_refuted(name: str, missing: Fraction) -> None:
    """A budget that is 10^-220 too small: far below any bits of enclosures."""
    fields = critical(name, {"N": 3} if "sum" in name else {}, "1/2", "1/2")
    place = ("claim", "eps_prv")
    forged = signed(replaced(fields, place, str(Fraction(1, 2) - missing)))
    assert check(forged).outcome is Outcome.REFUTED
