"""Claims that stand with programs: how they are read, and what becomes of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox.errors import SourceError
from dipapprox.privacy.options import Options
from dipapprox.questions.claims import Claim, Outcome, claims_in, read_claims, try_claim
from dipapprox.questions.decide import Decide
from dipapprox.questions.prove import Prove
from dipapprox.questions.verify import Verify

PROGRAMS = Path(__file__).parents[2] / "programs"
EXAMPLES = PROGRAMS.parent / "examples" / "mechanisms.py"

NOISY = """
param b = 1
input q in {0, 1}
output out in {0, 1}
adjacent linf 1
out <- Lap(q, b / eps) > 0
"""


def claim(line: str) -> Claim:
    (found,) = read_claims(f"# {line}\n{NOISY}", "noisy.dpg")
    return found


def tried(line: str, folder: Path) -> tuple[Outcome, str]:
    file = folder / "noisy.dpg"
    file.write_text(f"# {line}\n{NOISY}")
    (found,) = claims_in(file)[file]
    tested = try_claim(found, file, Options())
    return tested.outcome, tested.message


def test_what_a_claim_says_makes_the_question() -> None:
    one = claim("claim: Not_DP at eps = 1/2, eps_prv = log(2), delta = 0.01, b = 3, pairs = 0~1")
    assert isinstance(one.question, Verify)
    assert (one.answer, one.parameters) == ("Not_DP", {"b": Fraction(3)})
    two = claim("claim: DP for eps in 0..1 at budget = 2, b = 1/2")
    assert isinstance(two.question, Decide)
    assert (two.question.budget, two.parameters) == (2, {"b": Fraction(1, 2)})
    assert isinstance(claim("claim: DP for all eps").question, Decide)
    three = claim("claim: least budget 3/4 for all N at b = 1")
    assert isinstance(three.question, Prove)
    assert (three.least, three.for_all, three.answer) == (Fraction(3, 4), "N", "DP")
    four = claim("claim: Not_DP (LC) for real inputs")
    assert isinstance(four.question, Prove)
    assert (four.structure, four.question.reals) == ("LC", True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("claim: private", "this is no claim"),
        ("claim: DP at eps", "'eps' is no setting"),
        ("claim: DP at eps = 1", "delta is missing"),
        ("claim: DP at eps = 1, delta = 2", "delta must be in"),
        ("claim: DP at eps = 1, delta = 0, eps = 2", "'eps' is set twice"),
        ("claim: DP for all eps at eps = 1, delta = 0", "without an eps of their own"),
        ("expected: DP at N = 1", "eps is missing"),
        ("claim: least budget much", "the least budget must be a number"),
    ],
)
def test_what_is_no_claim_is_shown(line: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        claim(line)
    assert message in error.value.render()
    assert error.value.render().startswith("noisy.dpg:1:")


@pytest.mark.parametrize(
    ("line", "outcome", "message"),
    [
        ("claim: DP at eps = 1, delta = 0", Outcome.HOLDS, ""),
        ("claim: Not_DP at eps = 1, delta = 0", Outcome.FALSE, "DP: noisy: the claim holds"),
        ("claim: DP at eps = 1, delta = 0, b = 1/2", Outcome.FALSE, "Witness"),
        ("claim: DP at eps = 1, delta = 0, N = 1", Outcome.ERROR, "no parameter 'N'"),
        ("claim: refused at eps = 1, delta = 0, N = 1", Outcome.HOLDS, ""),
        ("claim: least budget 2 for real inputs at b = 1/2", Outcome.HOLDS, ""),
        ("claim: least budget 1 for real inputs at b = 1/2", Outcome.FALSE, "at least 2"),
        ("claim: least budget 3 for real inputs at b = 1/2", Outcome.FALSE, "at most 2"),
        ("claim: Not_DP for all eps at budget = 1/2", Outcome.HOLDS, ""),
    ],
)
def test_outcomes(line: str, outcome: Outcome, message: str, tmp_path: Path) -> None:
    found, said = tried(line, tmp_path)
    assert (found, bool(said)) == (outcome, bool(message))
    assert message in said


def test_what_is_not_decided_does_not_hold() -> None:
    (asked,) = read_claims("claim: least budget 3/4 for real inputs", "count_above")
    tested = try_claim(asked, Path(f"{EXAMPLES}:count_above"), Options())
    assert tested.outcome is Outcome.UNKNOWN
    assert tested.message.startswith("the least budget is at least 1/2, at most 3/4")


def test_every_line_of_the_programs_is_a_claim() -> None:
    found = claims_in(PROGRAMS)
    assert len(found) > 100
    assert sum(map(len, found.values())) > 400
    words = ("# expected:", "# decide:", "# prove:", "# claim:")
    for path, claims in found.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(claims) == sum(line.startswith(words) for line in lines), path


def test_functions_have_their_claims_in_docstrings() -> None:
    found = claims_in(EXAMPLES)
    assert [len(claims) for claims in found.values()] == [1, 1, 1, 0]
    for path, claims in found.items():
        for each in claims:
            assert try_claim(each, path, Options()).outcome is Outcome.HOLDS


def test_an_assertion_shows_the_witness() -> None:
    program = dipapprox.parse(NOISY)
    assert dipapprox.assert_private(program, eps=1).answer is dipapprox.Answer.DP
    with pytest.raises(AssertionError, match="Witness: these outputs are too likely"):
        dipapprox.assert_private(program, eps=1, eps_prv="1/2")
