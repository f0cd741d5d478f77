"""Lower bounds that are reached at one eps, or between inputs that are no ends and near no ray."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, Options, RealProof
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.result import Outcome
from tests.kernel.test_potentials import file_of

IN_BETWEEN = """
input q in real 0..1
input p in real 0..1
output out in {0, 1}
adjacent increasing 1
t <- Lap(1, 4 / eps)
x <- Lap(q, 1/2 / eps)
y <- Lap(p, 1 / eps)
if y > 1/2 and x <= t then out <- 0 else out <- 1 end
"""


def proved(program: str) -> RealProof:
    """The answer, with both ends replayed by the kernel."""
    options = Options(proved=True)
    proof = dipapprox.prove(dipapprox.parse(program), reals=True, options=options)
    assert isinstance(proof, RealProof)
    assert proof.answer is Answer.DP, proof.unproved
    machine, claim, steps = file_of(proof)
    assert claim["at least"] == number_json(proof.lower)
    judged = replay(machine, claim, steps)
    assert isinstance(judged, Budgets) and not judged.at_any
    return proof


def test_more_is_lost_at_one_eps_than_at_the_ends() -> None:
    answer = proved(IN_BETWEEN)
    lost = answer.proof.between
    assert lost is not None and lost.eps
    # What is lost there as eps vanishes, or grows, is less.
    assert Fraction(1, 3) < answer.lower < Fraction(7, 20)
    assert f"At ε = {lost.eps}" in str(answer)
    fields = answer.to_dict()["witness"]
    assert isinstance(fields, dict) and fields["kind"] == "one eps"


HEAD = "output out in {0, 1, 2}\nadjacent linf 1\n"

HALVES = """
input q in real
r <- Lap(q, 4 / eps)
s <- Lap(0, 3 / eps)
if s < 0 then
  if r >= 1 then out <- 1 else out <- 0 end
else
  if r >= s then out <- 0 else out <- 1 end
end
"""
FROM_THE_MIDDLE = """
input q in real 0..2
r <- Lap(q + 1, 3 / eps)
s <- Lap(q, 3 / eps)
if r >= 2 then out <- 0 elif s >= r then out <- 1 elif s < 1 then out <- 0 else out <- 2 end
"""


@pytest.mark.parametrize("text", [HALVES, FROM_THE_MIDDLE])
def test_their_certificates_are_confirmed(text: str) -> None:
    line, _, body = text.strip().partition("\n")
    text = f"{line}\n{HEAD}{body}\n"
    proof = dipapprox.prove(dipapprox.parse(text))
    certificate = dipapprox.certify(dipapprox.parse(text), text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
