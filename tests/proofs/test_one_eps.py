"""Lower bounds reached at one eps, and pairs of inputs that are found by climbing."""

from __future__ import annotations

from fractions import Fraction

import dipapprox
from dipapprox import Answer, Options, RealProof
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.machines import number_json
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
