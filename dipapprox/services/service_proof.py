"""What is proved of a service: for every eps and every sequence of calls.

Subroutines for idealised steps (theorem 1): let two services have the same cells and calls. If in
every state that calls lead to, and at every call, reply and next state have the same joint law for
every eps, then by induction over the calls the courses of both have the same probabilities, and
what one loses the other loses. So a handler that draws from an ideal mechanism may be replaced by a
sampler, a loop of coins say.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.digits import exact_text
from dipapprox.errors import EarlyEnd, NoCertificate, UserError
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.services import Change, Service
from dipapprox.limits import check_limits
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.notation import plain_value
from dipapprox.privacy.run import Replayed
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.services.evidence import replayed
from dipapprox.services.loss import Loss, Reply, SeenCall
from dipapprox.services.model import (
    NOTHING,
    AskedService,
    Call,
    Replied,
    State,
    Step,
    row_text,
    spelled_out,
)
from dipapprox.services.prove_service import find_loss
from dipapprox.services.system import System, merged

_MOST_ROWS = 30  # calls of a trace, in its table
_INSERTED = "—"


class ServiceProof(BudgetAnswer):
    """The answer about a service, for every sequence of calls.

    Attributes:
        implements: The name of a service with the same laws of replies and states, of which `loss`
            was found; None if it was found of the service.
    """

    subject: AskedService = field(repr=False)
    loss: Loss = field(repr=False)
    implements: str | None = None

    @property
    def service(self) -> Service:
        """What was asked about."""
        return self.subject.service

    def replay(self) -> Replayed:
        """Replay a proof; see `BudgetAnswer.replay`."""
        if self.implements is not None:
            raise NoCertificate("it has no rules for services that implement others")
        return replayed(self.subject, self.loss, self.budget)

    def _where_violated(self) -> str:
        return f" for {self._epsilons()}"

    def _without_budget(self) -> str:
        return f"no D makes it (D ε, 0)-DP for {self._epsilons()}"

    def _witness(self) -> dict[str, object] | None:
        trace, repetition = self.loss.trace, self.loss.repetition
        if trace is None:
            return None
        gain = None if repetition is None else repetition.gain
        eps = None if repetition is None else repetition.eps
        return {
            "kind": "calls",
            "calls": [self._event(event) for event in trace],
            "repeated": [self._event(each) for each in repetition.events] if repetition else [],
            "gain": None if gain is None else exact_text(gain),
            "gains_at_eps": None if eps is None else exact_text(eps),
            "budget": None if self.loss.unbounded else exact_text(self.lower),
        }

    def _event(self, event: SeenCall) -> dict[str, object]:
        return {
            "first": None if event.first is None else event.first.text(),
            "second": None if event.second is None else event.second.text(),
            "reply": None if event.reply is None else dict(self._reply(event.reply)),
        }

    def _reply(self, reply: Reply) -> Iterator[tuple[str, int | str]]:
        for cell, value in zip(self.service.replies, reply, strict=True):
            if value is not None and value != NOTHING:
                yield cell.name, plain_value(value)

    # --- for people -----------------------------------------------------------------------------

    def _scope(self) -> str:
        added = self.service.change is Change.INSERT
        change = "one data call more or less" if added else "another value in one data call"
        seen = "all queries and replies are seen"
        users = sorted(self.subject.users)
        if users:
            verb = "sees" if len(users) == 1 else "see"
            seen = f"{' and '.join(users)} {verb} their queries and replies"
        return f"every sequence of calls, {change}; {seen}"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        cells = count(len(self.service.states), "state cell")
        pairs = count(self.quotient_states or 0, "pair")
        size = f"{cells}, {count(self.states, 'state')}, {pairs} of states"
        same = None
        if self.implements is not None and self.states:
            same = f"{self.implements}: every reply and next state has the same law, at every call"
        return [("implements", same), ("proof", self._proof()), ("service", size)]

    def _proof(self) -> str | None:
        loss = self.loss
        if loss.one_sided:
            return "the last reply below has probability 0 in the second run"
        if loss.repetition is not None:
            gain, eps = loss.repetition.gain, loss.repetition.eps
            each = f"at ε = {eps}, a quotient > 1" if gain is None else f"{exact_text(gain)} · ε"
            if loss.repetition.is_hidden:
                return (
                    "whatever states the replies leave open: each time round the replies gain "
                    f"{each}, in the first run from a state that it comes back to"
                )
            return f"the repeated calls leave both runs where they were, and gain {each}"
        if loss.vanishing:
            return "the quotient of the probabilities below does not go to 1 with ε"
        if self.upper is None:
            return None
        kept = ", some cells by their differences" if loss.by_differences else ""
        return f"at most: longest path over pairs of states{kept}; at least: the calls below"

    def _below(self) -> Iterator[Table]:
        trace, repetition = self.loss.trace, self.loss.repetition
        if trace and (self.loss.unbounded or self.lower):
            title = "Calls and replies that tell the runs apart"
            yield self._table(title if repetition is None else "Calls, once", trace)
        if repetition is not None:
            yield self._table("Calls, again and again", repetition.events)

    def _table(self, title: str, events: Sequence[SeenCall]) -> Table:
        rows = [self._row(event) for event in events]
        if len(rows) > _MOST_ROWS:
            half = _MOST_ROWS // 2
            left = len(rows) - 2 * half
            rows = [*rows[:half], (f"… {left} more", "", ""), *rows[-half:]]
        return Table(title, ("first run", "second run", "reply"), tuple(rows))

    def _row(self, event: SeenCall) -> tuple[str, str, str]:
        calls = [_INSERTED if c is None else c.text() for c in (event.first, event.second)]
        shown = [] if event.reply is None else list(self._reply(event.reply))
        several = len(self.service.replies) > 1
        said = [f"{name} = {value}" if several else str(value) for name, value in shown]
        return calls[0], calls[1], ", ".join(said)


def prove_service(
    service: Service, budget: Fraction | None, users: tuple[str, ...], eps: Fraction | None = None
) -> ServiceProof:
    """Find the least D for which a service is (D·eps, 0)-private for every eps.

    Args:
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        users: Whose queries and replies are seen; empty: everybody's.
        eps: The only one that is asked about; None for every eps > 0.
    """
    begun = time.monotonic()
    asked = AskedService(service, eps, users_of(service, users))
    return ServiceProof(**fields_of(asked, find_loss(asked), budget, begun))


def fields_of(
    asked: AskedService, loss: Loss, budget: Fraction | None, begun: float
) -> dict[str, Any]:
    """Return the fields of an answer about a service, of which a loss was found; `begun` is on the
    monotonic clock."""
    if loss.otherwise is not None and budget is not None and budget < loss.otherwise.lower:
        loss = loss.otherwise  # which says enough about the claim, and has a proof
    pairs, reason = loss.pairs, loss.reason or None
    if loss.one_sided:
        reason = "support: a reply that only one of two adjacent runs can give"
    elif loss.repetition is not None:
        reason = "calls that can be repeated for ever, each time with a gain"
    elif loss.vanishing:
        reason = "replies that tell the runs apart however small ε is"
    return {
        "program": asked.service.name,
        "parameters": asked.service.parameters,
        "lower": loss.lower,
        "upper": loss.upper,
        "has_none": loss.unbounded,
        "reason": reason,
        "states": 0 if pairs is None else len(pairs.parents),
        "quotient_states": 0 if pairs is None else len(pairs.nodes),
        "budget": budget,
        "eps": asked.eps,
        "seconds": time.monotonic() - begun,
        "subject": asked,
        "loss": loss,
    }


def users_of(service: Service, users: Iterable[str]) -> frozenset[str]:
    """Return some users; a `UserError` if no query of the service names one of them."""
    declared = dict.fromkeys(user for handler in service.queries for user in handler.users)
    for user in users:
        if user not in declared:
            named = ", ".join(declared)
            hint = f"queries are seen by {named}" if named else "everybody sees all its queries"
            raise UserError(f"the service has no user '{user}'", hint)
    return frozenset(users)


# --- Subroutines ----------------------------------------------------------------------------------


Shown = tuple[Replied, State]  # reply, next state


class Deviation(Record):
    """Where two services do not do the same."""

    state: State
    call: Call
    reply: Replied
    after: State

    def text(self, name: str, idealised: str) -> str:
        where = f"in state {row_text(self.state)}, at '{self.call.text()}'"
        reply, after = row_text(self.reply), row_text(self.after)
        what = f"reply {reply} and state {after} have other probabilities"
        return f"{name} does not implement {idealised}: {where}, {what}"


def prove_implementation(
    service: Service, idealised: Service, budget: Fraction | None, users: tuple[str, ...]
) -> ServiceProof:
    """Find the least D of a service by that of another one, which it implements.

    Args:
        idealised: With ideal mechanisms in their place.
        users: Whose queries and replies are seen; empty: everybody's.

    Returns:
        What holds of both; Unknown, with the place, if the service does not implement the other.

    Raises:
        UserError: If they have other cells or calls.
    """
    begun = time.monotonic()
    asked, ideal = (
        AskedService(each, None, users_of(service, users)) for each in (service, idealised)
    )
    reason = ""
    with EarlyEnd() as end:
        found = first_deviation(asked, ideal)
        reason = "" if found is None else found.text(service.name, idealised.name)
    reason = end.reason or reason
    loss = Loss(reason=reason) if reason else find_loss(ideal)
    return ServiceProof(**fields_of(asked, loss, budget, begun), implements=idealised.name)


def first_deviation(asked: AskedService, idealised: AskedService) -> Deviation | None:
    """Return where a service does not implement another; None if it does."""
    _require_alike(asked.service, idealised.service)
    own, ideal = System(asked), System(idealised)
    for state in ideal.reachable():
        for call in ideal.calls:
            check_limits()
            found = _differing(own.step(state, call), ideal.step(state, call))
            if found is not None:
                return Deviation(state, call, *found)
    return None


def _require_alike(service: Service, idealised: Service) -> None:
    both = service, idealised
    parts = (
        ("state cells", service.states, idealised.states),
        ("outputs", service.replies, idealised.replies),
        ("calls", *([(h.name, h.arguments, h.users) for h in s.handlers] for s in both)),
        ("adjacency", service.change, idealised.change),
    )
    for name, own, ideal in parts:
        if own != ideal:
            hint = "an implementation has the cells and calls of what it implements"
            raise UserError(f"'{service.name}' and '{idealised.name}' differ in their {name}", hint)


def _differing(ours: Step, theirs: Step) -> Shown | None:
    """Return what two steps show with different probabilities; None if there is nothing."""
    own, ideal = _law(ours), _law(theirs)
    if own.keys() != ideal.keys():
        own, ideal = (
            _law(merged([each for outcome in step for each in spelled_out(outcome)]))
            for step in (ours, theirs)
        )
    zero = ExponentialRatio.constant(0)
    for shown in dict.fromkeys((*ideal, *own)):
        if (own.get(shown, zero) - ideal.get(shown, zero)).numerator:
            return shown
    return None


def _law(step: Step) -> Mapping[Shown, ExponentialRatio]:
    return {(o.reply, o.state): o.probability for o in step}
