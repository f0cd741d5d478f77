"""Claims about real inputs at one ε that a budget for every ε answers."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, Verdict
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import BrokenInvariant, NoCertificate

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


ROUNDED = """
input x in real 0..4
output y in 0..4
adjacent linf 1
y <- clamp(round(Lap(x, 1 / eps)), 0, 4)
"""


@pytest.mark.parametrize(
    ("eps", "eps_prv", "answer"),
    [
        ("1", "1", Answer.DP),
        ("1", "1.000001", Answer.DP),
        ("1", "0.999", Answer.NOT_DP),
        ("1/2..1", "eps", Answer.DP),
        ("1/2..1", "eps * 0.999", Answer.NOT_DP),
    ],
)
def test_rounded_noise_is_told_a_hair_inside_and_outside(
    eps: str, eps_prv: str, answer: Answer
) -> None:
    found = dipapprox.verify(dipapprox.parse(ROUNDED), eps=eps, eps_prv=eps_prv, delta=0)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.engine == "budget" and found.delta_enclosure == Enclosure.exact(0)


def test_a_budget_is_the_upper_end_of_profiles_and_calibrations() -> None:
    program = dipapprox.parse(ROUNDED)
    found = dipapprox.profile(program, eps="1/2", delta=0)
    assert isinstance(found, dipapprox.LeastEpsPrv) and found.reason is None
    least = found.eps_prv_enclosure
    assert least.upper == Fraction(1, 2) and Fraction(1, 2) - Fraction(1, 10**6) <= least.lower
    assert "budget" in found.engine.split(" + ")
    calibrated = dipapprox.calibrate(program, eps_prv=1, delta=0)
    assert calibrated.reason is None
    assert calibrated.certified is not None and calibrated.refuted is not None
    assert 1 - Fraction(1, 10**5) <= calibrated.certified.eps <= 1 < calibrated.refuted.eps


def test_a_budget_that_a_pair_contradicts_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "dipapprox.proofs.budget_verdict.serving_budget"
    monkeypatch.setattr(name, lambda *_: Fraction(9, 10))
    with pytest.raises(BrokenInvariant, match="than a budget proves"):
        dipapprox.profile(dipapprox.parse(ROUNDED), eps=1, delta=0)
