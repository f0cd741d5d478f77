"""Shipped programs keep what their headers claim; others have values derived by hand."""

from pathlib import Path
from typing import Any

import pytest

from dipapprox import Options
from dipapprox.questions.claims import ClaimOutcome, StatedClaim, claims_in, try_claim
from dipapprox.questions.decide import Decide
from tests.cases import THOROUGH

PROGRAMS = Path(__file__).parent.parent / "programs"
CLAIMS = claims_in(PROGRAMS)

_DEAR = (
    *("noisy_max_with_gap", "partial_sum", "sparse_vector_with_gap", "numeric_sparse_vector"),
    *("band_sparse_vector", "svt_discrete_gauss", "numeric_sparse_vector_reused", "prefix_sum"),
)
"""Files whose claims take long: `make thorough` asks them, and the corpus asks about them."""


def kind(claim: StatedClaim) -> tuple[object, ...]:
    """What makes a claim another one than those of its header that are like it."""
    return type(claim.question), claim.answer, claim.for_all


def chosen() -> list[Any]:
    """The claims that are asked, each with a name: half of the kinds in a header."""
    found = []
    for path, claims in CLAIMS.items():
        some = {kind(each): each for each in reversed(claims)}.values()
        some = [*some][len(path.stem) % min(2, len(some)) :: 2]
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
