"""One certificate of each kind."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from dipapprox.privacy.claim import Claim
from tests.checking.budgets.proved import budget_certificate
from tests.checking.certified import PROGRAMS, Fields, certificate

SAMPLES = ("DP", "Not_DP", "budget", "no budget")


@cache
def sample(kind: str) -> Fields:
    """Return a small certificate."""
    match kind:
        case "DP" | "Not_DP":
            delta = Fraction(1, 40 if kind == "DP" else 50)
            claim = Claim(Fraction(1, 2), delta, Fraction(1, 10))
            found = certificate(PROGRAMS / "svt_gauss.dpg", {}, claim)
        case _:
            name = "range" if kind == "budget" else "svt_without_limit"
            found = budget_certificate(PROGRAMS / "automata" / f"{name}.dipa")
    return found
