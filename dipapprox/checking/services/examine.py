"""What a certificate of a service states, compared with what the check finds.

At most: values V on pairs of states, 0 for a state with itself. For every pair, call and reply that
is seen the next states of both runs can be paired within V (`pairing`), and those after calls that
differ within the upper bound. By induction over the calls nothing is lost but that.

At least: the calls and replies are followed in both runs, with all states that they leave open; the
probabilities are p = e^(lower eps) q. Against any budget: q = 0 < p, or calls that bring either run
back to where it was, and gain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from dipapprox.certificates.services import (
    CertificateAgainstService,
    CertificateOfService,
    RecordedCall,
    RecordedEvent,
)
from dipapprox.certificates.statement import PlainValue
from dipapprox.checking.budgets.examine import BudgetClaim
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.services.pairing import Outcomes, exponent, limit, lose_at_most, total
from dipapprox.checking.services.transitions import UNASSIGNED, Call, Row, Transitions
from dipapprox.checking.values import Stuck
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.parser import parse
from dipapprox.language.services import Change, Service, elaborate_service
from dipapprox.limits import Limits

OfService = CertificateOfService | CertificateAgainstService

Belief = dict[Row, Quotient]
"""The states of one run, with the probability to be there."""


def claim_of_service(record: OfService) -> BudgetClaim:
    """Return what a certificate states."""
    bounds = record.least_budget
    lower = Fraction(0) if bounds is None else bounds.lower
    upper = None if bounds is None else bounds.upper
    users = " and ".join(record.examiner)
    caveat = f"what others than {users} see" if users else None
    return BudgetClaim(record.claim.budget, lower, upper, bounds is None, caveat)


def examine_service(record: OfService, partial: PartialResult, limits: Limits) -> None:
    """Examine all that a certificate states about its service.

    Raises:
        Stuck: If something cannot be derived.
        LimitReached: If `limits` run out.
    """
    try:
        service = elaborate_service(parse(record.program.text), record.params, record.program.name)
    except UserError as error:
        partial.differ("program.text", f"it is no service: {error.message}")
        return
    declared = {user for handler in service.queries for user in handler.users}
    for user in record.examiner:
        if user not in declared:
            partial.differ("examiner", f"the service has no user '{user:.40}'")
    if partial.differences:
        return
    check = _Examination(record, service, partial, limits)
    try:
        check.upper()
        check.lower()
    except _Malformed as wrong:
        partial.differ(wrong.where, wrong.what)


class _Malformed(Exception):
    """A value that is in no domain, or a call that there is not."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what)
        self.where = where
        self.what = what


class _Examination:
    def __init__(
        self, record: OfService, service: Service, partial: PartialResult, limits: Limits
    ) -> None:
        self.record = record
        self.service = service
        self.partial = partial
        self.limits = limits
        self.transitions = Transitions(service, limits)
        self.users = frozenset(record.examiner)

    def seen(self, call: Call) -> bool:
        users = call.handler.users
        if call.handler.is_data:
            return False
        return not self.users or not users or bool(self.users & set(users))

    # --- at most --------------------------------------------------------------------------------

    def upper(self) -> None:
        bounds, pairs = self.record.least_budget, self.record.evidence.pairs
        if bounds is None or bounds.upper is None or pairs is None:
            return
        values: dict[tuple[Row, Row], Fraction] = {}
        cells = tuple(each.cell for each in self.service.states)
        for place, pair in enumerate(pairs):
            where = f"evidence.pairs[{place}]"
            rows = tuple(_row(plain, cells, where) for plain in (pair.first, pair.second))
            values[rows[0], rows[1]] = pair.value
        calls = list(self.transitions.calls())

        def value(first: Row, second: Row) -> Fraction | None:
            return Fraction(0) if first == second else values.get((first, second))

        for left, right in self.covering(calls):
            if not lose_at_most(left, right, bounds.upper, value):
                text = f"more than {bounds.upper} is stated to be lost from a pair that calls reach"
                self.partial.differ("evidence.pairs", text)
        self.partial.pairs = len(values)
        for (first, second), most in values.items():
            for call in calls:
                self.limits.check()
                self.step(value, first, second, call, most)
                if self.partial.differences:
                    return

    def covering(self, calls: list[Call]) -> list[tuple[Outcomes, Outcomes]]:
        """Return the outcomes of the two runs where they differ."""
        initial = tuple(cell.initial for cell in self.service.states)
        found, waiting, pairs = {initial}, [initial], list[tuple[Outcomes, Outcomes]]()
        for state in waiting:
            data: list[Outcomes] = []
            for call in calls:
                outcomes = self.transitions.outcomes(state, call)
                for _, row in outcomes:
                    if row not in found:
                        found.add(row)
                        waiting.append(row)
                if call.handler.is_data:
                    data.append([(row, p) for (_, row), p in outcomes.items()])
            if self.service.change is Change.INSERT:
                stay = [(state, constant(1))]
                for ways in data:
                    pairs += [(ways, stay), (stay, ways)]
            else:
                pairs += [(one, other) for one, other in product(data, repeat=2) if one != other]
        self.partial.inputs = len(found)
        return pairs

    def step(
        self,
        value: Callable[[Row, Row], Fraction | None],
        first: Row,
        second: Row,
        call: Call,
        most: Fraction,
    ) -> None:
        ours, theirs = self.by_reply(first, call), self.by_reply(second, call)
        for reply, outcomes in ours.items():
            others = theirs.get(reply)
            if others is None:
                text = f"only one run can answer '{call.handler.name}' so: {_text(reply)}"
                self.partial.differ("evidence.pairs", text)
                return
            if not lose_at_most(outcomes, others, most, value):
                text = f"'{call.handler.name}' tells more than the values of its pairs differ"
                self.partial.differ("evidence.pairs", text)

    def by_reply(self, state: Row, call: Call) -> dict[Row, list[tuple[Row, Quotient]]]:
        found: dict[Row, list[tuple[Row, Quotient]]] = defaultdict(list)
        totals: dict[tuple[Row, Row], Quotient] = {}
        for (reply, row), probability in self.transitions.outcomes(state, call).items():
            key = (reply if self.seen(call) else ()), row
            totals[key] = totals[key].plus(probability) if key in totals else probability
        for (reply, row), probability in totals.items():
            found[reply].append((row, probability))
        return found

    # --- at least -------------------------------------------------------------------------------

    def lower(self) -> None:
        bounds, evidence = self.record.least_budget, self.record.evidence
        if evidence.calls is None:
            return
        initial = tuple(cell.initial for cell in self.service.states)
        runs: tuple[Belief, Belief] = ({initial: constant(1)}, {initial: constant(1)})
        differing = 0
        for place, event in enumerate(evidence.calls):
            where = f"evidence.calls[{place}]"
            runs, differs = self.go(runs, event, where)
            differing += differs
        if differing > 1:
            self.partial.differ("evidence.calls", "the runs differ in more than one call")
            return
        p, q = map(_total, runs)
        if evidence.repeated is not None:
            self.repeated(runs)
        elif bounds is None:
            if not p.top or q.top:
                self.partial.differ("evidence.calls", "the last reply is not one-sided")
        elif not p.top or not q.top or not _show(p, q, bounds.lower):
            self.partial.differ("evidence.calls", "they do not show the lower bound")

    def repeated(self, runs: tuple[Belief, Belief]) -> None:
        repeated = self.record.evidence.repeated
        assert repeated is not None
        begin = tuple({row: constant(1) for row in belief} for belief in runs)
        if any(len(belief) != 1 for belief in begin):
            raise Stuck("replies leave open what is remembered")
        after = begin[0], begin[1]
        for place, event in enumerate(repeated.events):
            after, differs = self.go(after, event, f"evidence.repeated.events[{place}]")
            if differs:
                self.partial.differ("evidence.repeated", "the runs differ in a call")
                return
        if any(one.keys() != other.keys() for one, other in zip(begin, after, strict=True)):
            self.partial.differ("evidence.repeated", "the runs are not back where they were")
            return
        if exponent(*map(_total, after)) != repeated.gain:
            self.partial.differ("evidence.repeated.gain", "the check finds another gain")

    def go(
        self, runs: tuple[Belief, Belief], event: RecordedEvent, where: str
    ) -> tuple[tuple[Belief, Belief], bool]:
        """Follow an event; also return whether the runs differ in it."""
        first, second = self.call(event.first, where), self.call(event.second, where)
        calls = [call for call in (first, second) if call is not None]
        differs = (
            first is None or second is None or first.values != second.values
            or first.handler != second.handler
        )  # fmt: skip
        if not calls or (differs and not all(call.handler.is_data for call in calls)):
            raise _Malformed(where, "only data calls may differ")
        if differs and (len(calls) == 2) != (self.service.change is Change.REPLACE):
            raise _Malformed(where, "the sequences of calls are not adjacent")
        if any(self.seen(call) != (event.reply is not None) for call in calls):
            raise _Malformed(where, "whether the reply is seen is another matter")
        reply = None
        if event.reply is not None:
            cells = tuple(
                core.Cell(c.name, c.variable, c.index, (*c.domain, UNASSIGNED))
                for c in self.service.replies
            )
            reply = _row(event.reply, cells, where)
        return (self.after(runs[0], first, reply), self.after(runs[1], second, reply)), differs

    def after(self, belief: Belief, call: Call | None, reply: Row | None) -> Belief:
        if call is None:
            return belief
        found: Belief = {}
        for state, weight in belief.items():
            for (shown, row), probability in self.transitions.outcomes(state, call).items():
                if reply is None or shown == reply:
                    total = weight.times(probability)
                    found[row] = found[row].plus(total) if row in found else total
        return found

    def call(self, recorded: RecordedCall | None, where: str) -> Call | None:
        if recorded is None:
            return None
        for handler in self.service.handlers:
            if handler.name == recorded.name:
                return Call(handler, _row(recorded.values, handler.arguments, where))
        raise _Malformed(where, f"the service has no call '{recorded.name:.40}'")


def _row(plain: tuple[PlainValue, ...], cells: tuple[core.Cell, ...], where: str) -> Row:
    if len(plain) != len(cells):
        raise _Malformed(where, f"expected {len(cells)} values, got {len(plain)}")
    row = []
    for value, cell in zip(plain, cells, strict=True):
        read: core.Value | None = None
        if value in cell.domain:
            read = value if isinstance(value, str) else Fraction(value)
        elif isinstance(value, int) or "/" in value:
            number = Fraction(value)
            read = number if number in cell.domain else None
        if read is None:
            raise _Malformed(where, f"{value!s:.40} is not in the domain of '{cell.name}'")
        row.append(read)
    return tuple(row)


def _total(belief: Belief) -> Quotient:
    return total(list(belief.values()))


def _show(p: Quotient, q: Quotient, lower: Fraction) -> bool:
    """Whether no budget below `lower` has p <= e^(budget eps) q for every eps.

    Raises:
        Stuck: If that is not told by the limit as eps grows.
    """
    if limit(p, q) >= lower:
        return True
    exponent(p, q)  # else eps near 0 may show more
    return False


def _text(row: Row) -> str:
    return f"({', '.join(map(str, row))})"
