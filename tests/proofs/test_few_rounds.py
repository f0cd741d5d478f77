"""Rounds that are written out: lower bounds where what is published does not tell the steps."""

from __future__ import annotations

import pytest

import dipapprox
from dipapprox import StreamProof
from dipapprox.privacy.verdict import Answer
from dipapprox.replays.result import Outcome
from tests.proofs.test_random_streams import Writer, of_rounds

SILENT = """
stream q in real
publishes {no}
adjacent linf 1
rT <- Lap(0, 2 / eps)
forever do
    read q
    r <- Lap(q, 4 / eps)
    if r >= rT then
        ABOVE
        exit
    end
end
"""


@pytest.mark.parametrize("above", ["publish no", ""])
def test_the_end_is_seen_in_some_rounds(above: str) -> None:
    text = SILENT.replace("ABOVE", above)
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/2").answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP
    shown = dipapprox.probability(rounds, eps=1, input="8,8")
    symbols = [word for word in (above.removeprefix("publish "), "ended") if word]
    nothing = ["nothing"] * len(symbols)
    assert {each.output[: len(symbols)] for each in shown.outputs} == {
        tuple(symbols),
        tuple(nothing),
    }


def test_a_claim_below_what_some_rounds_need_is_refuted() -> None:
    text = SILENT.replace("ABOVE", "publish no")
    program = dipapprox.parse(text)
    proof = dipapprox.prove(program, budget="1/4")
    assert proof.answer is Answer.NOT_DP
    assert "2 rounds, written out" in str(proof.describe())
    assert "at any" not in str(proof.describe())
    certificate = dipapprox.certify(program, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/4").answer is Answer.NOT_DP


@pytest.mark.parametrize("seed", [27, 84])
def test_silent_rounds_lose_again_and_again(seed: int) -> None:
    """What is published tells no step, but all runs that publish nothing need more and more."""
    text = Writer(seed).program()
    proof = dipapprox.prove(dipapprox.parse(text))
    assert isinstance(proof, StreamProof) and proof.again is not None
    assert proof.has_none
    assert of_rounds(text, 1).lower < of_rounds(text, 2).lower < of_rounds(text, 3).lower
    certificate = dipapprox.certify(proof.subject, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
