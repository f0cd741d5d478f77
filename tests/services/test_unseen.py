"""Replies that the examiner does not see: however they are made, they lose nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.language.load import DPG, parse_program
from dipapprox.language.services import elaborate_service

TEXT = """state n in 0..1 <- 0
output reply in {{0, 1, stop}}
adjacent insert
on data d in {{0, 1}} do n <- d end
on query ask seen by alice do
{body}
end
on query look seen by bob do reply <- stop end
"""

BODIES = (
    "z <- DLap(n, 1 / eps)\nif z <= 0 then reply <- 0 else reply <- 1 end",
    "reply <- clamp(DLap(n, 1 / eps), 0, 1)",
    "r <- clamp(DLap(n, 1 / eps), 0, 1)\nreply <- r",
    "z <- Lap(n, 1 / eps)\nif z > 1 / 2 then reply <- 1 else reply <- 0 end",
    "reply <- n",
)


@pytest.mark.parametrize("body", BODIES)
def test_who_does_not_see_a_reply_learns_nothing_from_it(body: str) -> None:
    text = TEXT.format(body=body)
    service = elaborate_service(parse_program(text, DPG, "hidden"), {}, "hidden")
    proof = dipapprox.prove(service, examiner="bob")
    assert (proof.lower, proof.upper) == (Fraction(0), Fraction(0))
    # Together they can ask for ever.
    assert dipapprox.prove(service, examiner="alice,bob").answer is dipapprox.Answer.NOT_DP
