"""Claims about real inputs at one ε that a budget for every ε answers."""

from __future__ import annotations

import json

import pytest

import dipapprox
from dipapprox import Answer, Verdict
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import NoCertificate

COMPARED = """
input q[2] in real
output out in {0, 1}
adjacent l1 1
r <- Lap(q[1], 2 / eps)
s <- Lap(q[2], 5 / eps)
if r >= s then out <- 1 else out <- 0 end
"""


def verified(text: str, eps: str, eps_prv: str, delta: str, pairs: str = "all") -> Verdict:
    program = dipapprox.parse(text)
    found = dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=delta, pairs=pairs)
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("eps", "eps_prv", "delta", "answer"),
    [
        ("1", "1/2", "1/10", Answer.DP),
        ("1", "1/5", "0", Answer.DP),  # the budget is 1/5
        ("3", "3/5", "0", Answer.DP),
        ("1", "19/100", "0", Answer.UNKNOWN),
        ("3", "1/5", "0", Answer.UNKNOWN),
    ],
)
def test_a_budget_answers_where_inputs_are_compared(
    eps: str, eps_prv: str, delta: str, answer: Answer
) -> None:
    found = verified(COMPARED, eps, eps_prv, delta)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.reason is None and found.delta_enclosure == Enclosure.exact(0)


@pytest.mark.parametrize(
    ("eps", "eps_prv", "delta", "answer"),
    [
        ("1/2..1", "eps", "0", Answer.DP),
        ("1/2..1", "eps/5", "eps/10", Answer.DP),  # nothing is left over
        ("1/2..1", "eps/6", "0", Answer.UNKNOWN),
        ("1/2..1", "1/5", "0", Answer.DP),
        ("1/2..1", "19/100", "0", Answer.UNKNOWN),
        ("1/2..1", "log(1 + eps)", "0", Answer.DP),
        ("1/2..1", "eps/10 + delta/10", "1/100", Answer.UNKNOWN),
        ("1", "sqrt(eps)/4", "exp(-3)", Answer.DP),
        ("1", "sqrt(eps)/6", "exp(-3)", Answer.UNKNOWN),
    ],
)
def test_claims_that_vary_with_eps(eps: str, eps_prv: str, delta: str, answer: Answer) -> None:
    found = dipapprox.verify(dipapprox.parse(COMPARED), eps=eps, eps_prv=eps_prv, delta=delta)
    assert found.answer is answer
    assert json.loads(found.to_json())["verdict"] == answer.value
    assert found.describe()


def test_its_certificate_is_that_of_the_budget() -> None:
    found = verified(COMPARED, "1", "1/2", "1/10")
    with pytest.raises(NoCertificate, match="'prove --certificate' records"):
        dipapprox.certify(dipapprox.parse(COMPARED), COMPARED, found)
