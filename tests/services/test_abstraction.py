"""Counters by differences against counters by value, and services too large for values."""

from fractions import Fraction

import pytest
from hypothesis import given

from dipapprox import Answer, Limits, UserError
from dipapprox.bundled import BUNDLED
from dipapprox.language.load import read_source
from dipapprox.language.services import elaborate_service
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss, loss_by_counters
from dipapprox.services.search import loss_by_values
from dipapprox.services.system import System
from dipapprox.services.traces import with_best_replies
from tests.cases import cases
from tests.services.examples import proof_of, service_of
from tests.services.strategies import counting_services
from tests.texts import text_of


@given(counting_services())
def test_differences_of_counters_bound_what_values_show(text) -> None:
    service = service_of(text)
    try:
        by_values = loss_by_values(AskedService(service, Limits()))
    except UserError:
        assert loss_by_counters(AskedService(service, Limits())) is None
        return
    found = loss_by_counters(AskedService(service, Limits()))
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
    loss = find_loss(AskedService(service, Limits()))
    assert loss.lower == loss.upper
    assert loss.upper == 10
    assert loss.pairs is not None and len(loss.pairs.nodes) < 1000
    assert loss.trace is not None
    assert len(loss.trace) == 41 + 5
    values = System(AskedService(service, Limits()))
    gain = with_best_replies(loss.trace, values)[1].gain()
    assert gain.exact == 10


LARGE = text_of("services/abstraction-large")


@cases(
    "end, answer, upper",
    ("left <- left - 1", Answer.DP, Fraction(9)),
    ("left <- left - 1; n[cur] <- 0", Answer.DP, Fraction(2)),
    ("skip", Answer.NOT_DP, None),
)
def test_counters_that_change_on_the_way_round_get_values(end, answer, upper) -> None:
    """What is left of a budget decides where a repetition ends, and is followed by value."""
    proof = proof_of(LARGE.replace("END", end))
    assert proof.answer is answer
    assert proof.loss.by_differences
    assert proof.upper == upper
    assert proof.is_exact == (upper is not None)
    repetition = proof.loss.repetition
    if repetition is not None:
        assert repetition.gain == len(repetition.events)


FULL = text_of("services/abstraction-full")


@pytest.mark.parametrize(("change", "upper"), [("insert", 9), ("replace", 0)])
def test_data_of_any_value_has_one_in_a_course(change, upper) -> None:
    """Nothing is lost before the counter is full, which takes data whose value nothing uses."""
    service = service_of(FULL.replace("SIZE", "40").replace("CHANGE", change))
    loss = find_loss(AskedService(service, Limits()))
    assert loss.lower == loss.upper == upper
    assert loss.by_differences
    if upper:
        assert loss.trace is not None
        values = System(AskedService(service, Limits()))
        gain = with_best_replies(loss.trace, values)[1].gain()
        assert gain is not None and gain.exact == upper
    small = service_of(FULL.replace("SIZE", "3").replace("CHANGE", change))
    assert find_loss(AskedService(small, Limits())).upper == upper
