"""Calls that can be repeated where replies leave open in which states the runs are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.services.service_proof import ServiceProof
from dipapprox.services.system import BY_VALUE, System
from dipapprox.services.traces import with_best_replies
from tests.services.examples import proof_of, service_of

STORED_COIN = """
adjacent insert
state n in 0..2 <- 0
state coin in 0..2 <- 2
output reply in -5..5
on data d in {0, 1} do if n < 2 then n <- n + d end end
on query ask do
    if coin = 2 then coin <- choose {0 : 1/2, 1 : 1/2} end
    reply <- clamp(DLap(MEAN, 1 / eps), -5, 5)
    END
end
"""
SEEN_OR_NOT = """
adjacent replace
state n in 0..1 <- 0
state keep in 0..1 <- 0
output reply in 0..1
on data d in {0, 1} do
    keep <- choose {1 : 1/2, 0 : 1/2}
    if keep = 1 then n <- d end
end
on query ask do reply <- clamp(DLap(n, 1 / eps), 0, 1) end
"""
NO_MULTIPLE = """
adjacent replace
state n in 0..1 <- 0
state keep in 0..1 <- 0
output reply in 0..1
on data d in {0, 1} do
    keep <- choose {1 : 1/2, 0 : 1/2}
    if keep = 1 then n <- d end
end
on query ask do
    z <- Lap(n, 2 / eps)
    if z >= 1/2 then reply <- 1 else reply <- 0 end
end
"""


def shown(text: str, proof: ServiceProof, times: int, eps: Fraction) -> Fraction:
    """How much likelier the first run is after some repetitions, at least, at one eps."""
    repetition = proof.loss.repetition
    assert repetition is not None
    system = System(service_of(text), BY_VALUE, False, Limits(), eps)
    _, runs = with_best_replies(repetition.trace, system, Limits())
    for _ in range(times):
        for event in repetition.events:
            runs.go(event)
    gain = runs.gain()
    assert gain is not None
    return gain.lower


@pytest.mark.parametrize(
    ("text", "gain"),
    [
        (STORED_COIN.replace("MEAN", "n + coin").replace("END", ""), Fraction(1)),
        (STORED_COIN.replace("MEAN", "2 * n - coin").replace("END", ""), Fraction(2)),
        (SEEN_OR_NOT, Fraction(1)),
        (NO_MULTIPLE, None),
    ],
)
def test_answers_for_ever_leave_no_budget(text: str, gain: Fraction | None) -> None:
    proof = proof_of(text)
    assert proof.answer is Answer.NOT_DP and proof.has_none
    repetition = proof.loss.repetition
    assert repetition is not None and repetition.is_hidden
    assert repetition.gain == gain
    eps = repetition.eps or Fraction(1)
    assert shown(text, proof, 60, eps) > shown(text, proof, 20, eps) + (39 * gain if gain else 0)
