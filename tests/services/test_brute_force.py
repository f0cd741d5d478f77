"""Losses of random services against all short sequences of calls, and against `decide`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import Change
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.limits import Limits
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.questions.decide import Decide
from dipapprox.questions.question import read_keywords
from dipapprox.services.model import AskedService, Call
from dipapprox.services.prove_service import find_loss
from dipapprox.services.ratios import Gain
from dipapprox.services.system import System
from dipapprox.services.traces import Runs, SeenCall
from tests.services.examples import service_of
from tests.services.strategies import services
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


@examples(3)
@given(services())
def test_no_three_calls_lose_more(text: str) -> None:
    compare(text, 3)


def compare(text: str, longest: int) -> None:
    """Compare the loss of a service with that of all its short courses."""
    limits = Limits()
    service = service_of(text)
    loss = find_loss(AskedService(service, limits))
    system = System(AskedService(service, limits))
    most = Fraction(0)
    for gain in gains(system, Runs(system), longest, False):
        if loss.upper is None:
            continue
        assert gain is not None
        assert not gain.is_unbounded
        most = max(most, gain.lower)
    if loss.upper is not None:
        assert most <= loss.upper
        if loss.is_exact and loss.trace is not None and len(loss.trace) <= longest:
            assert most == loss.upper


@examples(4)
@given(
    services(), st.lists(st.sampled_from(["data 0", "data 1", "ask", "ask"]), max_size=3), st.data()
)
def test_decide_confirms_the_budget_on_unrolled_calls(
    text: str, calls: list[str], data: st.DataObject
) -> None:
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


def test_decide_refutes_less_than_the_exact_budget() -> None:
    """The calls that show the least budget, unrolled: it holds, and a little less does not."""
    text = (
        "state n in 0..2 <- 0\nstate left in 0..2 <- 2\noutput reply in {0, 1, 2, stop}\n"
        "on data d in 0..2 do n <- d end\non query ask do\nif left = 0 then reply <- stop else\n"
        "left <- left - 1\nreply <- clamp(DLap(n, 1 / eps), 0, 2) end\nend\n"
    )
    service = service_of(text)
    loss = find_loss(AskedService(service, Limits()))
    assert loss.is_exact
    assert loss.upper == 4
    unrolled = unroll(parse(text), service, read_calls("data 2, ask, ask", service))
    core = elaborate(unrolled, {}, "f")
    for budget, answer in ((Fraction(4), Answer.DP), (Fraction(399, 100), Answer.NOT_DP)):
        question = read_keywords(Decide, {"budget": budget})
        assert question.answer(core, Options()).answer is answer
