"""Pairs in one order only: answers, certificates and curves against the pairs one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import dipapprox
from dipapprox import Claim
from dipapprox.language.core import Input, Norm, Within
from dipapprox.pairs.selections import AllPairs, is_symmetric

Q = Fraction

ONE_SIDED = """
input q[2] in {0, 1, 2}
output out in {0, 1}
adjacent RULE
x <- LapPlus(q[1] + q[2], 1 / eps)
out <- 0
if x >= 2 then out <- 1 end
"""
"""Pr[out = 1] is 1 if q[1] + q[2] >= 2, e^(eps (q[1] + q[2] - 2)) below: each order matters."""


def pairs(rule: Norm, radius: int) -> list[tuple[Input, Input]]:
    inputs = list(product((Q(0), Q(1), Q(2)), repeat=2))
    sign = 1 if rule is Norm.INCREASING else -1
    return [
        (u, v)
        for u in inputs
        for v in inputs
        if u != v and all(0 <= sign * (b - a) <= radius for a, b in zip(u, v, strict=True))
    ]


@pytest.mark.parametrize("radius", [1, 2])
@pytest.mark.parametrize("rule", [Norm.INCREASING, Norm.DECREASING])
def test_every_question_is_about_these_pairs_alone(rule: Norm, radius: int) -> None:
    program = dipapprox.parse(ONE_SIDED.replace("RULE", f"{rule.value} {radius}"))
    assert program.adjacency == Within(rule, Q(radius))
    assert not is_symmetric(program, AllPairs())
    listed = pairs(rule, radius)
    claim = Claim(Q(1, 2), Q(0), Q(1, 3))
    whole, alone = (
        dipapprox.verify(
            program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta, pairs=chosen
        )
        for chosen in ("all", listed)
    )
    assert whole.pairs == alone.pairs
    assert whole.answer is alone.answer
    assert whole.witness is None or (whole.witness.input, whole.witness.adjacent) in listed
    first, second = (
        dipapprox.profile(program, eps=Q(1, 2), eps_prv=Q(1, 3), pairs=chosen)
        for chosen in ("all", listed)
    )
    assert first.delta_enclosure.meets(second.delta_enclosure)
    rho, other = (
        dipapprox.profile(program, eps=Q(1, 2), renyi=(2, "inf"), pairs=each)
        for each in ("all", listed)
    )
    assert rho.rho == other.rho
