"""Lower bounds reached at one eps, and pairs of inputs that are found by climbing."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, Options
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.limits import Limits
from dipapprox.proofs.prove_real import prove_real
from tests.kernel.test_potentials import file_of, text
from tests.proofs.confirmation import confirm

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
CLIMBED = """
input a in real
input b in real
input c in real
output out in {0, 1, 2}
adjacent linf 1
t <- Lap(1, 2 / eps)
x <- Lap(a, 2 / eps)
y <- Lap(b, 4 / eps)
z <- Lap(c, 1 / eps)
if y > 0 then
  if t > 1/2 and z <= x then out <- 0 else out <- 1 end
else
  if z > t then out <- 0 else out <- 2 end
end
"""


def test_more_is_lost_at_one_eps_than_at_the_ends() -> None:
    proof = prove_real(dipapprox.parse(IN_BETWEEN), Limits())
    lost = proof.between
    assert lost is not None and lost.eps
    assert Fraction(1, 3) < proof.lower < Fraction(7, 20)
    confirm(proof)
    # What is lost there as eps vanishes, or grows, is less.
    program = dipapprox.parse(IN_BETWEEN)
    answer = dipapprox.prove(program, reals=True)
    assert f"At ε = {lost.eps}" in str(answer)
    fields = answer.to_dict()["witness"]
    assert isinstance(fields, dict) and fields["kind"] == "one eps"


def test_a_pair_that_is_found_by_climbing_closes_the_interval() -> None:
    proof = prove_real(dipapprox.parse(CLIMBED), Limits())
    assert proof.lower == proof.upper == Fraction(5, 4)
    confirm(proof)


@pytest.mark.parametrize("program", [IN_BETWEEN, CLIMBED])
def test_both_are_replayed(program: str) -> None:
    options = Options(proved=True)
    proof = dipapprox.prove(dipapprox.parse(program), reals=True, options=options)
    assert proof.answer is Answer.DP, proof.unproved
    machine, claim, steps = file_of(proof)
    assert claim["at least"] == text(proof.lower)
    judged = replay(machine, claim, steps)
    assert isinstance(judged, Budgets) and not judged.at_any
