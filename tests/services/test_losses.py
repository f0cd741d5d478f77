"""Losses of services: least budgets by hand and by brute force, counters by differences."""

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Limits, Options, ServiceProof, UserError
from dipapprox.bundled import BUNDLED
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG, parse_program, read_source
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import Change, elaborate_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.limits import limited
from dipapprox.questions.decide import Decide
from dipapprox.questions.prove import Prove
from dipapprox.questions.question import read_keywords
from dipapprox.services.loss import Runs, SeenCall, from_start, with_best_replies
from dipapprox.services.model import AskedService, Call, CallOutcome, Gain, Inexpressible, gain_of
from dipapprox.services.pairs import RunPairs
from dipapprox.services.prove_service import find_loss, loss_by_counters
from dipapprox.services.search import loss_by_values
from dipapprox.services.service_proof import prove_service
from dipapprox.services.system import System
from tests.cases import check_answers, evaluated, examples, refuses, template_of, text_of
from tests.grammars import texts
from tests.schemas import check_schema
from tests.services.examples import COIN, DATA, HEAD, ONCE, proof_of, service_of, slots

NOISE = "reply <- clamp(DLap(n, 1 / eps), 0, 1)"


def changed(old: str, new: str) -> str:
    return (HEAD + DATA + ONCE).replace(old, new)


USERS = (
    "state n in 0..1 <- 0\nstate a in bool <- false\nstate b in bool <- false\n"
    "output reply in {0, 1, stop}\n" + DATA
) + "".join(
    f"on query {name} seen by {user} do\nif {cell} then reply <- stop else {cell} <- true\n"
    f"reply <- clamp(DLap(n, {scale} / eps), 0, 1) end\nend\n"
    for name, user, cell, scale in (("ask", "alice", "a", 1), ("look", "bob", "b", 2))
)


def test_claims_and_limits() -> None:
    service = service_of(HEAD + DATA + ONCE)
    assert prove_service(service, Fraction(1), ()).answer is Answer.DP
    assert prove_service(service, Fraction(99, 100), ()).answer is Answer.NOT_DP
    for limits in (Limits(states=2), Limits(seconds=0)):
        with limited(limits):
            proof = prove_service(service, None, ())
        assert proof.answer is Answer.UNKNOWN
        assert "limit" in (proof.reason or "")
        check_schema("prove", proof.to_dict())


# --- hidden choices -------------------------------------------------------------------------------

STORED = text_of("services/losses-stored")


@given(texts("services", 9, "disclosing"))
def test_decide_confirms_that_there_is_no_budget(text) -> None:
    """What leaves no budget, unrolled, breaks a large one for some eps."""
    service = service_of(text)
    loss = find_loss(AskedService(service))
    assume(loss.one_sided or loss.vanishing)
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

UNSEEN = template_of("losses-unseen")

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


# --- Losses of services: short courses, counters by differences, replies that lead elsewhere ------


def differing(system: System) -> Iterator[tuple[Call | None, Call | None]]:
    """The calls of the two runs where they differ, in both orders."""
    data = [call for call in system.calls if call.is_data]
    if system.service.change is Change.INSERT:
        for call in data:
            yield call, None
            yield None, call
    else:
        yield from ((one, other) for one in data for other in data if one != other)


def gains(system: System, runs: Runs, left: int, differ: bool) -> Iterator[Gain | None]:
    """What all courses of calls and replies show, by enumeration; None: only one run can.

    Args:
        system: With values for all cells.
        runs: Up to here.
        left: How many calls may follow.
        differ: Whether the runs differ already.
    """
    if differ:
        yield runs.gain() if runs.second else None
    if not left or not runs.second:
        return
    for call in system.calls:
        for value in (None,) if call.is_data else system.service.replies[0].domain:
            after = runs.after(SeenCall(call, call, None if value is None else (value,)))
            if after.first:
                yield from gains(system, after, left - 1, differ)
    for first, second in () if differ else differing(system):
        yield from gains(system, runs.after(SeenCall(first, second, None)), left - 1, True)


@pytest.mark.parametrize("at", [(None,), (Fraction(1, 5), Fraction(2))])
@examples(3)
@given(texts("services", 9), st.data())
def test_no_three_calls_lose_more(at, text, data) -> None:
    """For every ε, and at one of those of the table."""
    asked = AskedService(service_of(text), data.draw(st.sampled_from(at)))
    loss = find_loss(asked)
    if loss.upper is None:
        return
    system = System(asked)
    most = Fraction(0)
    for gain in gains(system, from_start(system), 3, False):
        assert gain.upper is not None if asked.eps else not gain.is_unbounded
        most = max(most, gain.lower)
    assert most <= loss.upper
    known = loss.lower == loss.upper if asked.eps is None else loss.is_known
    if known and loss.trace is not None and len(loss.trace) <= 3:
        assert loss.lower == most


@examples(4)
@given(
    texts("services", 9),
    st.lists(st.sampled_from(["data 0", "data 1", "ask", "ask"]), max_size=3),
    st.data(),
)
def test_decide_confirms_the_budget_on_unrolled_calls(text, calls, data) -> None:
    service = service_of(text)
    loss = find_loss(AskedService(service))
    if loss.upper is None:
        return
    change = "+data 1" if service.change is Change.INSERT else "+data 0~1"
    planned = [*calls, "ask"]
    planned.insert(data.draw(st.integers(0, len(calls))), change)
    program = parse(text)
    unrolled = unroll(program, service, read_calls(", ".join(planned), service))
    assert parse(print_program(unrolled)) == unrolled
    core = elaborate(unrolled, {}, "f")
    question = read_keywords(Decide, {"budget": loss.upper})
    assert question.answer(core, Options()).answer is Answer.DP


# --- at one ε -------------------------------------------------------------------------------------

CLOSE = Fraction(1, 10**9)


def proof_at(text: str, eps: Fraction, budget: Fraction | None = None) -> ServiceProof:
    return prove_service(service_of(text), budget, (), eps)


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
    refuses(UserError, "only services are proved at one ε", question.answer, program, Options())
    asked = read_keywords(Prove, {"examiner": "bob", "reals": True})
    refuses(UserError, "only services have users", asked.answer, program, Options())


# --- What single courses of calls show ------------------------------------------------------------

REAL = text_of("services/brute_force-real")
TRACED, MIX = Call(0, "data", (Fraction(1),)), Call(1, "mix", ())
ASK = Call(2, "ask", ())


def shown(one: str, other: str, number: Fraction) -> Runs:
    text = REAL.replace("ONE", one).replace("OTHER", other)
    asked = SeenCall(ASK, ASK, (number, "false"))
    start = from_start(System(AskedService(service_of(text))))
    return start.after(SeenCall(TRACED, None, None), SeenCall(MIX, MIX, None), asked)


def test_densities_of_several_scales_are_those_of_the_mixture() -> None:
    """(e^-eps|1 - n| + e^(-4 eps|1 - n|) 4) / ... : the slope at 0 is (1 + 16) / (1 + 4)."""
    gain = shown("Lap(n, 1 / eps)", "Lap(n, 1/4 / eps)", Fraction(1)).gain()
    assert gain.lower == Fraction(17, 5)


def test_whole_noise_shows_no_fractions() -> None:
    text = REAL.replace("ONE", "DLap(n, 1 / eps)").replace("OTHER", "1/2")
    start = from_start(System(AskedService(service_of(text))))
    assert not start.after(SeenCall(ASK, ASK, (Fraction(1, 2), "false"))).first


def test_a_reply_without_a_match_bounds_nothing() -> None:
    text = REAL.replace("ONE", "Lap(n, 1 / eps)").replace("OTHER", "0")
    service = service_of(text)
    system = System(AskedService(service))
    exploration = RunPairs(system)
    one, other = (
        CallOutcome(
            system.step(system.initial, TRACED)[0].probability, (Fraction(k), "false"), (), ()
        )
        for k in (0, 1)
    )
    with pytest.raises(Inexpressible, match="one run may give and the other cannot"):
        list(exploration.grouped((one,), (other,)))


E = ExponentialPolynomial.monomial(1, 0, 1)
HALF = ExponentialPolynomial.constant(Fraction(1, 2))


def ratio(numerator: ExponentialPolynomial, *below: ExponentialPolynomial) -> ExponentialRatio:
    return ExponentialRatio(numerator, tuple((factor, 1) for factor in below))


# --- Counters by differences against counters by value, and services too large for values ---------


@given(texts("services", 9, "counting"))
def test_differences_of_counters_bound_what_values_show(text) -> None:
    try:
        service = service_of(text)
    except UserError:
        assume(False)  # additive cells are not compared
    try:
        by_values = loss_by_values(AskedService(service))
    except UserError:
        assert loss_by_counters(AskedService(service)) is None
        return
    found = loss_by_counters(AskedService(service))
    if found is None:
        return
    assert found.unbounded <= by_values.unbounded
    if found.upper is not None:
        assert not by_values.unbounded
        assert by_values.lower <= found.upper
    if by_values.upper is not None:
        assert found.lower <= by_values.upper


def test_slots_of_many_points() -> None:
    """The paper's server: 2 t, by a course of calls that fills a slot first."""
    parameters = {"t": Fraction(5), "v": Fraction(40)}
    service = elaborate_service(
        read_source(BUNDLED / "services" / "slots.dpg", {}).program, parameters, "slots"
    )
    loss = find_loss(AskedService(service))
    assert loss.lower == loss.upper
    assert loss.upper == 10
    assert loss.pairs is not None and len(loss.pairs.nodes) < 1000
    assert loss.trace is not None
    assert len(loss.trace) == 41 + 5
    values = System(AskedService(service))
    gain = with_best_replies(loss.trace, from_start(values))[1].gain()
    assert gain.exact == 10


LARGE = text_of("services/abstraction-large")


FULL = text_of("services/abstraction-full")


@pytest.mark.parametrize(("change", "upper"), [("insert", 9), ("replace", 0)])
def test_data_of_any_value_has_one_in_a_course(change, upper) -> None:
    """Nothing is lost before the counter is full, which takes data whose value nothing uses."""
    service = service_of(FULL.replace("SIZE", "40").replace("CHANGE", change))
    loss = find_loss(AskedService(service))
    assert loss.lower == loss.upper == upper
    assert loss.by_differences
    if upper:
        assert loss.trace is not None
        values = System(AskedService(service))
        gain = with_best_replies(loss.trace, from_start(values))[1].gain()
        assert gain is not None and gain.exact == upper
    small = service_of(FULL.replace("SIZE", "3").replace("CHANGE", change))
    assert find_loss(AskedService(small)).upper == upper


# --- What services lose, and what is refused: expressions, and what is said of each ---------------


def proved(text: str, *users: str, **parameters: int) -> str:
    """The answer and the least budget, what the loss is like, and why there is none."""
    proof = proof_of(text, *users, **parameters)
    said = [f"{proof.answer.value} {proof.upper}"]
    if proof.upper is not None and not proof.is_exact:
        said.append("not exact")
    kinds = ("by_differences", "unbounded", "vanishing")
    said += [kind.replace("_", " ") for kind in kinds if getattr(proof.loss, kind, False)]
    again = proof.loss and proof.loss.repetition
    if again:
        said.append(f"gain {again.gain} of {len(again.events)} calls")
    return ", ".join([*said, proof.reason] if proof.reason else said)


def powers(p: ExponentialRatio, q: ExponentialRatio) -> str:
    gain = gain_of(p, q)
    return f"{gain.exact}: {gain.lower} to {gain.upper}"


def test_services_and_what_is_refused_of_them() -> None:
    asked = {"ONE": ONE, "slots": slots}
    check_answers("services_lose", evaluated(globals() | asked, UserError))
