"""Calls and replies of a certificate, followed in both runs: lower bounds, and no bound at all.

In: the recorded events. Both runs are followed with all states that replies leave open. What is
shown: p = e^(lower eps) q; or q = 0 < p; or calls that bring either run back to where it was, and
gain. With densities of continuous noise, of which both runs have as many, p / q is the limit of
quotients of probabilities of small neighbourhoods; q = 0 < p holds in a neighbourhood, too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from dipapprox.certificates.services import (
    CertificateAgainstService,
    CertificateOfService,
    RecordedCall,
    RecordedEvent,
)
from dipapprox.certificates.statement import PlainValue
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.services.pairing import exponent, limit, slope
from dipapprox.checking.services.replies import Replies, plus, times
from dipapprox.checking.services.transitions import UNASSIGNED, Call, Row
from dipapprox.checking.services.ways import Values
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import sign_of
from dipapprox.data_classes import dataclass
from dipapprox.language import core
from dipapprox.language.domains import admits
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits

OfService = CertificateOfService | CertificateAgainstService


class Malformed(Exception):
    """A value that is in no domain, or a call that there is not."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what)
        self.where = where
        self.what = what


@dataclass(frozen=True, slots=True)
class _Belief:
    """The states of one run, with the probability to be there, and its order (`replies`)."""

    states: dict[Values, Quotient]
    order: int = 0

    @property
    def total(self) -> Quotient:
        return reduce(plus, self.states.values(), constant(0))

    @property
    def restarted(self) -> _Belief:
        return _Belief({state: constant(1) for state in self.states})


_Runs = tuple[_Belief, _Belief]

_NONE = Fraction(0)


class FollowedCalls:
    """Follows the calls of a certificate.

    Args:
        record: The certificate.
        service: Its service.
        replies: Of that.
        seen: Whether the examiner sees a call.
        partial: Where what is false is noted.
        limits: Asked where signs are told.
    """

    def __init__(
        self,
        record: OfService,
        service: Service,
        replies: Replies,
        seen: Callable[[Call], bool],
        partial: PartialResult,
        limits: Limits,
    ) -> None:
        self.limits = limits
        self.record = record
        self.service = service
        self.replies = replies
        self.seen = seen
        self.partial = partial

    def examine(self) -> None:
        """Examine the lower bound, or that there is none.

        Raises:
            Malformed: If there is no such call, value or reply.
            Stuck: If something cannot be derived.
            LimitReached: If the limits run out.
        """
        bounds, evidence = self.record.least_budget, self.record.evidence
        if evidence.calls is None:
            return
        initial = tuple(cell.initial for cell in self.service.states)
        runs = _Belief({initial: constant(1)}), _Belief({initial: constant(1)})
        differing = 0
        for place, event in enumerate(evidence.calls):
            where = f"evidence.calls[{place}]"
            runs, differs = self._go(runs, event, where)
            differing += differs
        if differing > 1:
            self.partial.differ("evidence.calls", "the runs differ in more than one call")
            return
        p, q = (run.total for run in runs)
        if evidence.repeated is not None:
            self._repeated(runs)
        elif bounds is None:
            if not p.top or q.top:
                self.partial.differ("evidence.calls", "the last reply is not one-sided")
        elif not p.top or not q.top or not _show(runs, bounds.lower):
            self.partial.differ("evidence.calls", "they do not show the lower bound")

    def _repeated(self, runs: _Runs) -> None:
        repeated = self.record.evidence.repeated
        assert repeated is not None
        if any(len(run.states) != 1 for run in runs):
            raise Stuck("replies leave open what is remembered")
        begin = runs[0].restarted, runs[1].restarted
        after = begin
        for place, event in enumerate(repeated.events):
            after, differs = self._go(after, event, f"evidence.repeated.events[{place}]")
            if differs:
                self.partial.differ("evidence.repeated", "the runs differ in a call")
                return
        pairs = zip(begin, after, strict=True)
        if any(one.states.keys() != other.states.keys() for one, other in pairs):
            self.partial.differ("evidence.repeated", "the runs are not back where they were")
            return
        if after[0].order != after[1].order:
            raise Stuck("a reply that is a density in one run only")
        p, q = (run.total for run in after)
        if repeated.eps is not None:
            if sign_of(p.minus(q), repeated.eps, self.limits) <= 0:
                self.partial.differ("evidence.repeated.eps", "nothing is gained there")
        elif exponent(p, q) != repeated.gain:
            self.partial.differ("evidence.repeated.gain", "the check finds another gain")

    def _go(self, runs: _Runs, event: RecordedEvent, where: str) -> tuple[_Runs, bool]:
        """Follow an event; also return whether the runs differ in it."""
        first, second = self._call(event.first, where), self._call(event.second, where)
        calls = [call for call in (first, second) if call is not None]
        differs = (
            first is None or second is None or first.values != second.values
            or first.handler != second.handler
        )  # fmt: skip
        if not calls or (differs and not all(call.handler.is_data for call in calls)):
            raise Malformed(where, "only data calls may differ")
        if differs and (len(calls) == 2) != (self.service.change is Change.REPLACE):
            raise Malformed(where, "the sequences of calls are not adjacent")
        if any(self.seen(call) != (event.reply is not None) for call in calls):
            raise Malformed(where, "whether the reply is seen is another matter")
        reply = None
        if event.reply is not None:
            reply = read_row(event.reply, self.service.replies, where, UNASSIGNED)
        return (self._after(runs[0], first, reply), self._after(runs[1], second, reply)), differs

    def _after(self, belief: _Belief, call: Call | None, reply: Row | None) -> _Belief:
        if call is None:
            return belief
        found: dict[Values, Quotient] = {}
        orders = set()
        for state, weight in belief.states.items():
            for row, probability, order in self.replies.answers(_whole(state), call, reply):
                total = times(weight, probability)
                found[row] = plus(found[row], total) if row in found else total
                orders.add(order)
        if len(orders) > 1:
            raise Stuck("a reply that is a density in some states only")
        return _Belief(found, belief.order + max(orders, default=0))

    def _call(self, recorded: RecordedCall | None, where: str) -> Call | None:
        if recorded is None:
            return None
        for handler in self.service.handlers:
            if handler.name == recorded.name:
                return Call(handler, read_row(recorded.values, handler.arguments, where))
        raise Malformed(where, f"the service has no call '{recorded.name:.40}'")


def read_row(
    plain: tuple[PlainValue, ...], cells: tuple[core.Cell, ...], where: str, besides: str = ""
) -> Row:
    """Read the values of cells.

    Args:
        plain: As the file has them.
        cells: Their domains.
        where: In the file.
        besides: A name that every cell may have.

    Raises:
        Malformed: If one is not in its domain.
    """
    if len(plain) != len(cells):
        raise Malformed(where, f"expected {len(cells)} values, got {len(plain)}")
    row: list[core.Value] = []
    for value, cell in zip(plain, cells, strict=True):
        read: core.Value
        try:
            is_number = isinstance(value, int) or "/" in value
            read = Fraction(value) if is_number else str(value)
        except ZeroDivisionError:
            raise Malformed(where, "a denominator is 0") from None
        if not (besides and read == besides) and not admits(cell.domain, read):
            raise Malformed(where, f"{value!s:.40} is not in the domain of '{cell.name}'")
        row.append(read)
    return tuple(row)


def _whole(state: Values) -> Row:
    """Return a state all of whose cells have values."""
    row = tuple(value for value in state if value is not None)
    if len(row) < len(state):
        raise Stuck("what a cell holds is not known")
    return row


def _show(runs: _Runs, lower: Fraction) -> bool:
    """Whether no budget below `lower` has p <= e^(budget eps) q for every eps.

    Raises:
        Stuck: If that is not told by the limits as eps grows and vanishes, and may be so.
    """
    if runs[0].order != runs[1].order:
        raise Stuck("a reply that is a density in one run only")
    p, q = (run.total for run in runs)
    if limit(p, q) >= lower or (slope(p, q) or _NONE) >= lower:
        return True
    exponent(p, q)  # else some eps in between may show more
    return False
