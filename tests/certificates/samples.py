"""One certificate of each kind."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from dipapprox.privacy.claim import Claim
from tests.checking.budgets.proved import budget_certificate
from tests.checking.certified import PROGRAMS, Fields, certificate
from tests.checking.decisions.decided import decision_certificate

SAMPLES = ("DP", "Not_DP", "private", "listed", "violated", "budget", "no budget")


@cache
def sample(kind: str) -> Fields:
    """Return a small certificate; "private" has covers, "listed" has listed pairs."""
    match kind:
        case "DP" | "Not_DP":
            delta = Fraction(1, 40 if kind == "DP" else 50)
            claim = Claim(Fraction(1, 2), delta, Fraction(1, 10))
            found = certificate(PROGRAMS / "svt_gauss.dpg", {}, claim)
        case "private":
            found = decision_certificate("sparse", budget="1/2", delta="exp(-2)")
        case "listed":
            found = decision_certificate("svt4", interval="2.04..inf", pairs="-1,0~0,-1")
        case "budget" | "no budget":
            name = "range" if kind == "budget" else "svt_without_limit"
            found = budget_certificate(PROGRAMS / "automata" / f"{name}.dipa")
        case _:
            found = decision_certificate("svt4")
    return found
