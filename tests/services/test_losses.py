"""Least budgets against the figures of the specification, and against arguments by hand."""

from fractions import Fraction

import pytest
from hypothesis import given

import dipapprox
from dipapprox import Answer, Limits, Options, SourceError, UserError
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG, parse_program
from dipapprox.language.parser import parse
from dipapprox.language.services import elaborate_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.questions.decide import Decide
from dipapprox.questions.question import read_keywords
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss
from dipapprox.services.service_proof import prove_service
from dipapprox.services.traces import SeenCall
from tests.cases import cases, refuses
from tests.schemas import check_schema
from tests.services.examples import DATA, HEAD, ONCE, proof_of, service_of, slots
from tests.services.strategies import services
from tests.texts import text_of


@pytest.mark.parametrize("kind", ["int", "-v..v"])
@cases(
    "t, v, queries, least",
    (1, 1, "sum", 2),
    (1, 1, "count", 1),
    (1, 1, "sum, count", 2),
    (1, 2, "sum, count", 2),
    (2, 1, "sum", 4),
    (2, 1, "count", 2),
    (2, 2, "sum", 4),
    (3, 1, "sum, count", 6),
)
def test_the_table_of_the_specification(t, v, queries, least, kind) -> None:
    proof = proof_of(slots(kind, queries), t=t, v=v)
    assert proof.is_exact
    assert proof.upper == least
    assert proof.loss.by_differences == (kind == "int")


@pytest.mark.parametrize(("t", "v", "least"), [(1, 1, 2), (2, 1, None), (2, 2, None)])
def test_a_shared_pool(t, v, least) -> None:
    for kind in ("int", "-v..v"):
        proof = proof_of(slots(kind, "sum", pool=True), t=t, v=v)
        assert proof.upper == least
        assert proof.loss.unbounded == (least is None)


NOISE = "reply <- clamp(DLap(n, 1 / eps), 0, 1)"


def changed(old: str, new: str) -> str:
    return (HEAD + DATA + ONCE).replace(old, new)


@cases(
    "answer, verdict, why",
        ("if n = 1 then reply <- clamp(DLap(0, 1/eps), 0, 1) else reply <- 0 end",
         Answer.NOT_DP, None),
        ("if n = 1 then reply <- clamp(DLap(0, 1/eps), 0, 1)\n"
         "else reply <- clamp(DLap(0, 2/eps), 0, 1) end", Answer.DP, None),
        ("if n = 1 then reply <- clamp(DLap(0, 1/eps), 0, 1)\n"
         "else reply <- clamp(DLap(0, 1/eps), 1, 1) end", Answer.NOT_DP, None),
        ("reply <- choose {n: 3/4, 1 - n: 1/4}", Answer.NOT_DP, lambda it: it.loss.vanishing),
        # It says what to ask.
        ("z <- Gauss(n, 1 / eps)\nif z > 0 then reply <- 1 else reply <- 0 end",
         Answer.UNKNOWN, lambda it: "'profile'" in it.reason),
)  # fmt: skip
def test_noise_of_different_kinds(answer, verdict, why) -> None:
    proof = proof_of(changed(NOISE, answer))
    assert proof.answer is verdict and (why is None or why(proof))


def test_forgetting_to_count_leaves_no_budget() -> None:
    proof = proof_of(changed("done <- true", "skip"))
    assert proof.answer is Answer.NOT_DP
    assert proof.loss.repetition.gain == 1


@cases(
    "old, new, words",
    (NOISE, "reply <- 0\nwhile n = 1 do skip end", r":\d+:\d+: loop error: the loop never ends"),
    (NOISE, "if n = 1 then reply <- 0 end", "query 'ask' may end without a reply"),
    (NOISE, "reply <- n + 1", "'reply' gets 2, which is not in its domain"),
    ("n <- d", "n <- n + d", "'n' gets 2, which is not in its domain"),
)
def test_endless_loops_and_missing_replies_are_errors_with_a_place(old, new, words) -> None:
    refuses(SourceError, words, proof_of, changed(old, new))


USERS = (
    "state n in 0..1 <- 0\nstate a in bool <- false\nstate b in bool <- false\n"
    "output reply in {0, 1, stop}\n" + DATA
) + "".join(
    f"on query {name} seen by {user} do\nif {cell} then reply <- stop else {cell} <- true\n"
    f"reply <- clamp(DLap(n, {scale} / eps), 0, 1) end\nend\n"
    for name, user, cell, scale in (("ask", "alice", "a", 1), ("look", "bob", "b", 2))
)


def test_users_alone_and_together() -> None:
    assert proof_of(USERS).upper == Fraction(3, 2)
    assert proof_of(USERS, "alice", "bob").upper == Fraction(3, 2)
    assert proof_of(USERS, "alice").upper == 1
    assert proof_of(USERS, "bob").upper == Fraction(1, 2)
    refuses(UserError, "no user 'carol'", proof_of, USERS, "carol")


def test_a_cell_that_leaves_its_domain_beside_an_additive_one() -> None:
    text = HEAD.replace("0..1 <- 0", "0..1 <- 0\nstate total in int <- 0", 1) + ONCE
    with pytest.raises(SourceError, match="'n' gets 2, which is not in its domain"):
        proof_of(text + "on data d in {0, 1} do total <- total + d; n <- n + 1 end\n")


def test_claims_and_limits() -> None:
    service = service_of(HEAD + DATA + ONCE)
    assert prove_service(service, Fraction(1), (), Limits()).answer is Answer.DP
    assert prove_service(service, Fraction(99, 100), (), Limits()).answer is Answer.NOT_DP
    for limits in (Limits(states=2), Limits(seconds=0)):
        proof = prove_service(service, None, (), limits)
        assert proof.answer is Answer.UNKNOWN
        assert "limit" in (proof.reason or "")
        check_schema("prove", proof.to_dict())


# --- hidden choices -------------------------------------------------------------------------------

STORED = text_of("services/losses-stored")


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
def test_decide_confirms_that_there_is_no_budget(text) -> None:
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


# --- replies that the examiner does not see -------------------------------------------------------

UNSEEN = """state n in 0..1 <- 0
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
def test_who_does_not_see_a_reply_learns_nothing_from_it(body) -> None:
    text = UNSEEN.format(body=body)
    service = elaborate_service(parse_program(text, DPG, "hidden"), {}, "hidden")
    proof = dipapprox.prove(service, examiner="bob")
    assert (proof.lower, proof.upper) == (Fraction(0), Fraction(0))
    # Together they can ask for ever.
    assert dipapprox.prove(service, examiner="alice,bob").answer is dipapprox.Answer.NOT_DP
