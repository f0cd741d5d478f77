"""Losses at one ε against logarithms of the closed forms, and against all short courses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.bundled import BUNDLED
from dipapprox.errors import UserError
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.limits import Limits
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.questions.prove import Prove
from dipapprox.questions.question import read_keywords
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss
from dipapprox.services.service_proof import ServiceProof, prove_service
from dipapprox.services.system import System
from dipapprox.services.traces import Runs
from tests.schemas import check_schema
from tests.services.examples import COIN, DATA, HEAD, ONCE, service_of
from tests.services.strategies import services
from tests.services.test_brute_force import gains
from tests.thorough import examples

CLOSE = Fraction(1, 10**9)


def proof_at(text: str, eps: Fraction, budget: Fraction | None = None) -> ServiceProof:
    return prove_service(service_of(text), budget, (), Limits(), eps)


NOISE = "reply <- clamp(DLap(n, 1 / eps), 0, 1)"
FIXED = ONCE.replace(NOISE, "k <- choose {0 : 1/4, 1 : 3/4}\nif k = 1 then reply <- n "
                     "else reply <- 1 - n end")  # fmt: skip


@pytest.mark.parametrize("eps", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_fixed_coins_lose_a_fixed_number(eps: Fraction) -> None:
    proof = proof_at(HEAD + DATA + FIXED, eps)
    assert proof.answer is Answer.DP
    assert proof.upper is not None
    assert proof.upper - proof.lower < CLOSE
    expected = Fraction(math.log(3)) / eps  # a double is next to the logarithm
    assert proof.lower - CLOSE < expected < proof.upper + CLOSE
    assert proof.lower < proof.upper  # ln 3 is irrational
    assert proof.reason is None
    check_schema("prove", proof.to_dict())
    assert proof_at(HEAD + DATA + FIXED, eps, proof.upper).answer is Answer.DP
    assert proof_at(HEAD + DATA + FIXED, eps, proof.lower - CLOSE).answer is Answer.NOT_DP


def test_a_hidden_coin_loses_less_than_the_pairs_say() -> None:
    """The true loss is ln((1 + e^eps) / 2), a fair answer at most eps."""
    proof = proof_at(HEAD + COIN + ONCE, Fraction(1))
    assert proof.upper == 1
    assert abs(proof.lower - Fraction(math.log((1 + math.e) / 2))) < CLOSE


def test_multiples_of_eps_stay_exact() -> None:
    for eps in (Fraction(1, 3), Fraction(7)):
        proof = proof_at(HEAD + DATA + ONCE, eps)
        assert proof.is_exact
        assert proof.upper == 1


def test_only_services_are_asked_at_one_eps() -> None:
    program = elaborate(read_source(BUNDLED / "svt_laplace.dpg", {}).program, {}, "svt_laplace")
    question = read_keywords(Prove, {"eps": 1, "reals": True})
    with pytest.raises(UserError, match="only services are proved at one ε"):
        question.answer(program, Options())


@examples(3)
@given(services(), st.sampled_from([Fraction(1, 5), Fraction(2)]))
def test_no_three_calls_lose_more(text: str, eps: Fraction) -> None:
    service = service_of(text)
    loss = find_loss(AskedService(service, Limits(), eps))
    system = System(AskedService(service, Limits(), eps))
    if loss.upper is None:
        return
    most = Fraction(0)
    for gain in gains(system, Runs(system), 3, False):
        assert gain is not None
        assert gain.upper is not None
        most = max(most, gain.lower)
    assert most <= loss.upper
    if loss.is_known and loss.trace is not None and len(loss.trace) <= 3:
        assert loss.lower == most
