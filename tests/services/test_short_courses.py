"""Hidden choices: what longest paths leave open is shown by short courses."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.limits import Limits
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.questions.decide import Decide
from dipapprox.questions.question import read_keywords
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss
from dipapprox.services.traces import SeenCall
from tests.services.examples import proof_of, service_of
from tests.services.strategies import services

STORED = """
adjacent replace
state n in 0..1 <- 0
output reply in {0, 1}
on data d in {0, 1} do
    KEEP
end
on query ask do
    reply <- n
end
"""


def test_what_is_stored_with_noise_may_be_read_for_ever() -> None:
    """Randomised response at arrival: the choice differs by e^eps, whatever is asked later."""
    for keep in (
        "z <- DLap(d, 1 / eps)\nif z >= 1 then n <- 1 else n <- 0 end",
        "n <- choose {d : exp(eps)/(1 + exp(eps)), 1 - d : 1/(1 + exp(eps))}",
    ):
        proof = proof_of(STORED.replace("KEEP", keep))
        assert proof.is_exact
        assert proof.upper == 1


def test_fixed_odds_of_storing_leave_no_budget() -> None:
    proof = proof_of(STORED.replace("KEEP", "n <- choose {d : 3/4, 1 - d : 1/4}"))
    assert proof.answer is Answer.NOT_DP
    assert proof.loss.vanishing


@given(services())
def test_decide_confirms_that_there_is_no_budget(text: str) -> None:
    """What leaves no budget, unrolled, breaks a large one for some eps."""
    service = service_of(text)
    loss = find_loss(AskedService(service, Limits()))
    if not loss.one_sided and not loss.vanishing:
        return
    assert loss.trace is not None
    calls = ", ".join(map(_written, loss.trace))
    unrolled = unroll(parse(text), service, read_calls(calls, service))
    question = read_keywords(Decide, {"budget": Fraction(20)})
    assert question.answer(elaborate(unrolled, {}, "f"), Options()).answer is Answer.NOT_DP


def _written(event: SeenCall) -> str:
    calls = [call for call in (event.first, event.second) if call is not None]
    if event.first == event.second:
        return calls[0].text()
    return f"+data {'~'.join(str(call.values[0]) for call in calls)}"
