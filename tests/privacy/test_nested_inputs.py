"""All real inputs and every ε of an interval: against single ε, and the lemma against δ itself."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox import Answer, UserError, parse, profile, verify
from tests.schemas import check_schema

_ABOVE = """
input q[2] in real {domain}
output o in {{0, 1}}
adjacent {adjacency}
t <- Gauss(0, 2 / eps)
o <- 0
for i in 1..2 do
    x <- Gauss(q[i], 4 / eps)
    if x >= t then o <- 1; exit end
end
"""


def _text(domain: str = "0..1", adjacency: str = "linf 1") -> str:
    return _ABOVE.format(domain=domain, adjacency=adjacency)


@settings(max_examples=2, deadline=None)
@given(st.sampled_from(["linf 1", "l0 1", "all"]), st.fractions(0, "1/4", max_denominator=20))
def test_the_largest_delta_does_not_fall(adjacency: str, eps_prv: Fraction) -> None:
    program = parse(_text("-1..1", adjacency))
    found = [
        profile(program, eps=eps, eps_prv=eps_prv).delta_enclosure for eps in ("1/4", "1/3", "1/2")
    ]
    assert found[0].lower <= found[1].upper
    assert found[1].lower <= found[2].upper


def test_a_claim_that_holds_everywhere() -> None:
    found = verify(parse(_text()), eps=("1/4", "1/2"), eps_prv="eps", delta="1e-5")
    assert found.answer is Answer.DP
    assert found.pairs is None
    assert "infinitely many" in str(found.describe())
    check_schema("verify_interval", found.to_dict())


def test_what_is_found_bounds_every_delta() -> None:
    program = parse(_text())
    found = verify(program, eps=("1/4", "1/2"), eps_prv="1/10", delta="1/10")
    assert found.answer is Answer.DP
    assert found.delta_enclosure is not None
    for eps in ("1/4", "2/5", "1/2"):
        own = profile(program, eps=eps, eps_prv="1/10").delta_enclosure
        assert own.lower <= found.delta_enclosure.upper


def test_a_claim_that_fails_somewhere_has_a_pair() -> None:
    program = parse(_text())
    found = verify(program, eps=("1/4", "1/2"), eps_prv="1/8", delta="1e-5")
    assert found.answer is Answer.NOT_DP
    assert found.violation is not None
    assert found.witness is not None
    assert verify(program, eps="1/4", eps_prv="1/8", delta="1e-5").answer is Answer.DP
    check_schema("verify_interval", found.to_dict())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_text("1/2..1"), "does not hold 0"),
        (_text().replace("(0, 2 / eps)", "(1/2, 2 / eps)"), "constants"),
        (_text().replace("2 / eps", "2"), "power"),
    ],
)
def test_what_the_lemma_does_not_cover_is_unknown(text: str, reason: str) -> None:
    program = parse(text)
    found = verify(program, eps=("1/4", "1/2"), eps_prv=1, delta="1e-5")
    assert found.answer is Answer.UNKNOWN
    assert found.run.reason is not None
    assert reason in found.run.reason
    assert found.remaining == ((Fraction(1, 4), Fraction(1, 2)),)
    refuted = verify(program, eps=("1/4", "1/2"), eps_prv=0, delta="1e-5")
    assert refuted.answer is Answer.NOT_DP


def test_listed_pairs_are_finite() -> None:
    pairs = [((Fraction(0), Fraction(1)), (Fraction(1), Fraction(1, 3)))]
    found = verify(parse(_text()), eps=("1/4", "1/2"), eps_prv="eps", delta="1e-5", pairs=pairs)
    assert found.answer is Answer.DP
    assert found.pairs == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [("o <- q[1]", "a finite output is an input"), ("x <- DGauss(q[1], 1)", "noise of integers")],
)
def test_where_the_value_of_an_input_is_needed(line: str, message: str) -> None:
    text = f"input q[2] in real 0..1\noutput o in {{0, 1}}\nadjacent linf 1\n{line}\n"
    text += "o <- 0\nif x >= 0 then o <- 1 end\n" if "x" in line else ""
    with pytest.raises(UserError) as error:
        verify(parse(text), eps=1, eps_prv=1, delta="1e-5")
    assert message in str(error.value)
    assert ":4:" in str(error.value)
