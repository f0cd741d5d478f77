"""Certificates of services are written: what was proved, and all a check needs.

In: a proof and the service's text. Out: the JSON object that `certificates.services` defines.
Unknown has no certificate, nor has what rests on closed forms that are no multiples of eps.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import repeat
from typing import Any

from dipapprox.certificates.budgets import BudgetClaimed, StatedBounds
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.services import (
    FORMAT,
    VERSION,
    CertificateAgainstService,
    CertificateOfService,
    PairValue,
    RecordedCall,
    RecordedEvent,
    RecordedService,
    RepeatedCalls,
    ServiceEvidence,
)
from dipapprox.certificates.statement import Computed, PlainValue
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Value
from dipapprox.language.parser import parse
from dipapprox.language.services import elaborate_service
from dipapprox.privacy.certificate import MOST_ENTRIES, Certificate, versions
from dipapprox.privacy.verdict import Answer
from dipapprox.services.model import NOTHING, Call, State
from dipapprox.services.service_proof import ServiceProof
from dipapprox.services.traces import Event

_UNASSIGNED = "no_reply"


def certify_service(proof: ServiceProof, text: str) -> Certificate:
    """Record what was proved of a service.

    Args:
        proof: The answer.
        text: The text of the service.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is not the service's.
        LimitReached: If the evidence is too large.
    """
    missing = without_evidence(proof)
    if missing is not None:
        raise UserError(f"no certificate: {missing}")
    service, loss = proof.service, proof.loss
    if elaborate_service(parse(text), service.parameters, service.name) != service:
        raise UserError("the text is not that of the service of which this was proved")
    private = proof.answer is Answer.DP
    upper = loss.upper if private else None
    bounds = None if loss.unbounded else StatedBounds(lower=loss.lower, upper=upper)
    pairs = _pairs(proof) if private else None
    if pairs is not None and len(pairs) * len(service.states) > MOST_ENTRIES:
        raise LimitReached("the certificate would be too large")
    trace, repetition = loss.trace, loss.repetition
    repeated = None
    if repetition is not None:
        events = tuple(_event(event) for event in repetition.events)
        repeated = RepeatedCalls(events=events, gain=repetition.gain, eps=repetition.eps)
    shown = trace is not None and (loss.unbounded or loss.lower)
    users = () if proof.examiner.users is None else tuple(sorted(proof.examiner.users))
    stated: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": RecordedService(
            name=service.name, language="dpg", text=text, sha256=text_hash(text)
        ),
        "params": dict(service.parameters),
        "examiner": users,
        "claim": BudgetClaimed(budget=proof.budget),
        "least_budget": bounds,
        "evidence": ServiceEvidence(
            pairs=pairs,
            calls=tuple(_event(event) for event in trace.events) if trace and shown else None,
            repeated=repeated,
            by_difference=_kept(proof),
        ),
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if private:
        return Certificate.of(CertificateOfService(**stated, verdict="DP"))
    return Certificate.of(CertificateAgainstService(**stated, verdict="Not_DP"))


def without_evidence(proof: ServiceProof) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    loss = proof.loss
    if proof.answer is Answer.UNKNOWN:
        return "the answer is Unknown"
    if proof.implements is not None:
        return "the proof is about the service that it implements"
    if proof.eps is not None:
        return "the answer is about one ε"
    if loss.vanishing:
        return "what replies tell is no multiple of ε"
    if loss.repetition is not None and loss.repetition.is_hidden:
        return "replies leave open in which states calls are repeated"
    if not loss.unbounded and loss.upper is None:
        return "no budget is known"
    exact = all(edge.gain.exact is not None for row in loss.graph.edges for edge in row)
    if not exact and _kept(proof):
        return "what replies tell is no multiple of ε, and cells are kept by differences"
    return None


def _kept(proof: ServiceProof) -> tuple[str, ...]:
    """Return the cells that are kept by differences: no state has values for them."""
    cells, states = proof.service.states, proof.loss.states_of
    return tuple(cell.name for cell, value in zip(cells, states[0], strict=True) if value is None)


def _pairs(proof: ServiceProof) -> tuple[PairValue, ...]:
    graph, states = proof.loss.graph, proof.loss.states_of
    return tuple(
        PairValue(_row(states[first], apart), _row(states[second], None), value)
        for (first, second, apart), value in zip(graph.nodes, proof.loss.values, strict=True)
    )


def _row(state: State, apart: tuple[Fraction, ...] | None) -> tuple[PlainValue, ...]:
    """Return the values of a state, with differences, or 0, for what has none."""
    left = repeat(Fraction(0)) if apart is None else iter(apart)
    return tuple(_value(next(left) if value is None else value) for value in state)


def _plain(values: tuple[Value | None, ...]) -> tuple[PlainValue, ...]:
    return tuple(_value(value) for value in values)


def _value(value: Value | None) -> PlainValue:
    if value is None or value == NOTHING:
        return _UNASSIGNED
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else exact_text(value)
    return value


def _event(event: Event) -> RecordedEvent:
    reply = None if event.reply is None else _plain(event.reply)
    return RecordedEvent(first=_call(event.first), second=_call(event.second), reply=reply)


def _call(call: Call | None) -> RecordedCall | None:
    return None if call is None else RecordedCall(name=call.name, values=_plain(call.values))
