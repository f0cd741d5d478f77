"""What is proved of a service: for every eps and every sequence of calls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.errors import INTERRUPTED, UserError
from dipapprox.language.core import Value
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits
from dipapprox.privacy.description import Description, Table, count, known, seconds_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budgets import budget_text, private_text
from dipapprox.services.model import NOTHING
from dipapprox.services.pairs import Examiner
from dipapprox.services.prove_service import Loss, find_loss
from dipapprox.services.traces import Event, Reply

_MOST_ROWS = 30
"""Calls of a trace, in its table."""

_INSERTED = "—"


@dataclass(frozen=True, slots=True)
class ServiceProof(Result):
    """The answer to: is the service (D·eps, 0)-private for every eps and every sequence of calls?

    Budgets are multiples of eps.

    Attributes:
        service: What was asked about.
        answer: DP: `upper` is a budget, and at most the claimed one. Not_DP: there is no budget, or
            the claimed one is less than `lower`.
        budget: The claimed one; None if none was.
        examiner: Whose queries and replies are seen.
        loss: All that was found.
        seconds: From the service to the answer.
    """

    service: Service = field(repr=False)
    answer: Answer
    budget: Fraction | None
    examiner: Examiner
    loss: Loss = field(repr=False)
    seconds: float

    asked: ClassVar[str] = "compare its answer: proof.answer is Answer.DP"

    @property
    def lower(self) -> Fraction:
        """No smaller budget serves every eps."""
        return self.loss.lower

    @property
    def upper(self) -> Fraction | None:
        """A budget that serves every eps; None if none is known, or there is none."""
        return self.loss.upper

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.loss.is_exact

    @property
    def reason(self) -> str | None:
        """Why the least budget is not known, or that there is none; None if it is known."""
        loss = self.loss
        if loss.one_sided:
            return "support: a reply that only one of two adjacent runs can give"
        if loss.repetition is not None:
            return "calls that can be repeated for ever, each time with a gain"
        if loss.vanishing:
            return "replies that tell the runs apart however small ε is"
        return loss.reason or None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run before there was an answer."""
        return self.answer is Answer.UNKNOWN and self.reason == INTERRUPTED

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `prove --json`, a contract with other tools."""
        parameters = self.service.parameters
        return {
            "program": self.service.name,
            "params": {name: exact_text(value) for name, value in parameters.items()},
            "verdict": self.answer.value,
            "reason": self.reason,
            "budget": None if self.budget is None else exact_text(self.budget),
            "least_budget": {
                "lower": exact_text(self.lower),
                "upper": None if self.upper is None else exact_text(self.upper),
                "exact": self.is_exact,
            },
            "structures": [],
            "published_weight": None,
            "states": self.loss.states,
            "quotient_states": self.loss.pairs,
            "witness": self._witness(),
            "seconds": round(self.seconds, 6),
        }

    def _witness(self) -> dict[str, object] | None:
        trace, repetition = self.loss.trace, self.loss.repetition
        if trace is None:
            return None
        gain = None if repetition is None else repetition.gain
        eps = None if repetition is None else repetition.eps
        return {
            "kind": "calls",
            "calls": [self._event(event) for event in trace.events],
            "repeated": [self._event(each) for each in repetition.events] if repetition else [],
            "gain": None if gain is None else exact_text(gain),
            "gains_at_eps": None if eps is None else exact_text(eps),
            "budget": None if self.loss.unbounded else exact_text(self.lower),
        }

    def _event(self, event: Event) -> dict[str, object]:
        return {
            "first": None if event.first is None else event.first.text(),
            "second": None if event.second is None else event.second.text(),
            "reply": None if event.reply is None else dict(self._reply(event.reply)),
        }

    def _reply(self, reply: Reply) -> Iterator[tuple[str, int | str]]:
        for cell, value in zip(self.service.replies, reply, strict=True):
            if value is not None and value != NOTHING:
                yield cell.name, _value(value)

    # --- for people -----------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return what people see of it: the answer, then the calls behind it."""
        claim = None if self.budget is None else f"{private_text(self.budget)} for every ε > 0"
        facts = known(
            ("claim", claim),
            ("scope", self._scope()),
            ("least budget", self._least_budget()),
            ("reason", self.reason),
            ("proof", self._proof()),
            ("service", self._size()),
            ("computed", f"exact, {seconds_text(self.seconds)}"),
        )
        headline = f"{self.service.name}: {self._sentence()}"
        return Description(
            headline, self.answer.value, self.answer.tone, facts, tuple(self._below())
        )

    def _scope(self) -> str:
        added = self.service.change is Change.INSERT
        change = "one data call more or less" if added else "another value in one data call"
        seen = "all queries and replies are seen"
        if self.examiner.users is not None:
            users = " and ".join(sorted(self.examiner.users))
            seen = f"{users} see their queries and replies"
        return f"every sequence of calls, {change}; {seen}"

    def _sentence(self) -> str:
        match self.answer:
            case Answer.DP:
                budget = self.upper if self.budget is None else self.budget
                return f"{private_text(budget)} for every ε > 0"
            case Answer.NOT_DP if self.loss.unbounded:
                return "not (D ε, 0)-DP, whatever D is"
            case Answer.NOT_DP:
                return f"not {private_text(self.budget)} for every ε > 0"
            case Answer.UNKNOWN:
                return "not decided"

    def _least_budget(self) -> str:
        if self.loss.unbounded:
            return "none"
        if self.upper is None:
            return f"at least {budget_text(self.lower)}, if there is one"
        if self.is_exact:
            return f"{budget_text(self.upper)}, exact"
        return f"at least {budget_text(self.lower)}, at most {budget_text(self.upper)}"

    def _proof(self) -> str | None:
        loss = self.loss
        if loss.one_sided:
            return "the last reply below has probability 0 in the second run"
        if loss.repetition is not None:
            gain, eps = loss.repetition.gain, loss.repetition.eps
            each = f"at ε = {eps}, a quotient > 1" if gain is None else f"{exact_text(gain)} · ε"
            return f"the repeated calls leave both runs where they were, and gain {each}"
        if loss.vanishing:
            return "the quotient of the probabilities below does not go to 1 with ε"
        if self.upper is None:
            return None
        kept = ", additive cells by their differences" if loss.by_differences else ""
        return f"at most: longest path over pairs of states{kept}; at least: the calls below"

    def _size(self) -> str:
        loss, cells = self.loss, self.service.states
        sizes = [count(len(cells), "state cell"), count(loss.states, "state")]
        return ", ".join([*sizes, f"{count(loss.pairs, 'pair')} of states"])

    def _below(self) -> Iterator[Table]:
        trace, repetition = self.loss.trace, self.loss.repetition
        if trace is not None and trace.events and (self.loss.unbounded or self.lower):
            title = "Calls and replies that tell the runs apart"
            yield self._table(title if repetition is None else "Calls, once", trace.events)
        if repetition is not None:
            yield self._table("Calls, again and again", repetition.events)

    def _table(self, title: str, events: Sequence[Event]) -> Table:
        rows = [self._row(event) for event in events]
        if len(rows) > _MOST_ROWS:
            half = _MOST_ROWS // 2
            left = len(rows) - 2 * half
            rows = [*rows[:half], (f"… {left} more", "", ""), *rows[-half:]]
        return Table(title, ("first run", "second run", "reply"), tuple(rows))

    def _row(self, event: Event) -> tuple[str, str, str]:
        calls = [_INSERTED if c is None else c.text() for c in (event.first, event.second)]
        shown = [] if event.reply is None else list(self._reply(event.reply))
        several = len(self.service.replies) > 1
        said = [f"{name} = {value}" if several else str(value) for name, value in shown]
        return calls[0], calls[1], ", ".join(said)


def _value(value: Value) -> int | str:
    """A value as JSON has it: whole numbers as such, other numbers and names as texts."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else exact_text(value)
    return value


def prove_service(
    service: Service, budget: Fraction | None, users: tuple[str, ...], limits: Limits
) -> ServiceProof:
    """Find the least D for which a service is (D·eps, 0)-private for every eps.

    Args:
        service: Elaborated.
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        users: Whose queries and replies are seen; empty: everybody's.
        limits: States, and pairs of states, count as states.

    Raises:
        UserError: If there is no such user, or a choice is no probability distribution.
        SourceError: If a handler does something meaningless in a state that calls lead to.
    """
    begun = time.monotonic()
    examiner = examiner_of(service, users)
    loss = find_loss(service, examiner, limits)
    answer = Answer.UNKNOWN
    if loss.unbounded or (budget is not None and budget < loss.lower):
        answer = Answer.NOT_DP
    elif loss.upper is not None and (budget is None or loss.upper <= budget):
        answer = Answer.DP
    return ServiceProof(service, answer, budget, examiner, loss, time.monotonic() - begun)


def examiner_of(service: Service, users: tuple[str, ...]) -> Examiner:
    """Return the examiner that some users are together.

    Raises:
        UserError: If no query of the service names one of them.
    """
    declared = dict.fromkeys(user for handler in service.queries for user in handler.users)
    for user in users:
        if user not in declared:
            named = ", ".join(declared)
            hint = f"queries are seen by {named}" if named else "everybody sees all its queries"
            raise UserError(f"the service has no user '{user}'", hint)
    return Examiner(frozenset(users) if users else None)
