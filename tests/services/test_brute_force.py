"""Losses of services: short courses, counters by differences, replies that lead elsewhere."""

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Answer, Limits, Options, ServiceProof, UserError
from dipapprox.bundled import BUNDLED
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import Change
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.questions.decide import Decide
from dipapprox.questions.prove import Prove
from dipapprox.questions.question import read_keywords
from dipapprox.services.model import AskedService, Call, CallOutcome, Inexpressible
from dipapprox.services.pairs import RunPairs
from dipapprox.services.prove_service import find_loss
from dipapprox.services.ratios import Gain, gain_of
from dipapprox.services.service_proof import prove_service
from dipapprox.services.system import System
from dipapprox.services.traces import Runs, SeenCall
from tests.cases import refuses
from tests.services.examples import COIN, DATA, HEAD, ONCE, service_of
from tests.services.strategies import services
from tests.texts import text_of
from tests.thorough import examples


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
            after = runs.copy()
            after.go(SeenCall(call, call, None if value is None else (value,)))
            if after.first:
                yield from gains(system, after, left - 1, differ)
    for first, second in () if differ else differing(system):
        after = runs.copy()
        after.go(SeenCall(first, second, None))
        yield from gains(system, after, left - 1, True)


@pytest.mark.parametrize("at", [(None,), (Fraction(1, 5), Fraction(2))])
@examples(3)
@given(services(), st.data())
def test_no_three_calls_lose_more(at, text, data) -> None:
    """For every ε, and at one of those of the table."""
    asked = AskedService(service_of(text), Limits(), data.draw(st.sampled_from(at)))
    loss = find_loss(asked)
    if loss.upper is None:
        return
    system = System(asked)
    most = Fraction(0)
    for gain in gains(system, Runs(system), 3, False):
        assert gain.upper is not None if asked.eps else not gain.is_unbounded
        most = max(most, gain.lower)
    assert most <= loss.upper
    known = loss.lower == loss.upper if asked.eps is None else loss.is_known
    if known and loss.trace is not None and len(loss.trace) <= 3:
        assert loss.lower == most


@examples(4)
@given(
    services(), st.lists(st.sampled_from(["data 0", "data 1", "ask", "ask"]), max_size=3), st.data()
)
def test_decide_confirms_the_budget_on_unrolled_calls(text, calls, data) -> None:
    service = service_of(text)
    loss = find_loss(AskedService(service, Limits()))
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
    return prove_service(service_of(text), budget, (), Limits(), eps)


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


# --- What single courses of calls show ------------------------------------------------------------

REAL = text_of("services/brute_force-real")
TRACED, MIX = Call(0, "data", (Fraction(1),)), Call(1, "mix", ())
ASK = Call(2, "ask", ())


def shown(one: str, other: str, number: Fraction) -> Runs:
    text = REAL.replace("ONE", one).replace("OTHER", other)
    runs = Runs(System(AskedService(service_of(text), Limits())))
    runs.go(SeenCall(TRACED, None, None))
    runs.go(SeenCall(MIX, MIX, None))
    runs.go(SeenCall(ASK, ASK, (number, "false")))
    return runs


def test_densities_of_several_scales_are_those_of_the_mixture() -> None:
    """(e^-eps|1 - n| + e^(-4 eps|1 - n|) 4) / ... : the slope at 0 is (1 + 16) / (1 + 4)."""
    gain = shown("Lap(n, 1 / eps)", "Lap(n, 1/4 / eps)", Fraction(1)).gain()
    assert gain.lower == Fraction(17, 5)


def test_whole_noise_shows_no_fractions() -> None:
    text = REAL.replace("ONE", "DLap(n, 1 / eps)").replace("OTHER", "1/2")
    runs = Runs(System(AskedService(service_of(text), Limits())))
    runs.go(SeenCall(ASK, ASK, (Fraction(1, 2), "false")))
    assert not runs.first


def test_a_reply_without_a_match_bounds_nothing() -> None:
    text = REAL.replace("ONE", "Lap(n, 1 / eps)").replace("OTHER", "0")
    service = service_of(text)
    system = System(AskedService(service, Limits()))
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


def test_powers_are_exact() -> None:
    gain = gain_of(ratio(E, ONE + E), ratio(ONE, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (1, 1, 1)
    gain = gain_of(ratio(ONE, ONE + E), ratio(E, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (-1, -1, -1)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_signs_of_denominators_do_not_matter(sign) -> None:
    """(1 + e^ε) / 2 over 1: less than e^ε, and that is the least such power."""
    below = (E - ONE).scaled(sign)
    p = ratio(((ONE + E) * HALF * (E - ONE)).scaled(sign), below)
    q = ratio((E - ONE).scaled(sign), below)
    gain = gain_of(p, q, Limits())
    assert (gain.exact, gain.upper, gain.lower) == (None, 1, 1)
    back = gain_of(q, p, Limits())
    assert back.upper <= 0
    assert back.lower == Fraction(-1, 2)
