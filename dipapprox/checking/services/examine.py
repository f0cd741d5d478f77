"""What a certificate of a service states, compared with what the check finds.

At most: values V on pairs of states, 0 for a state with itself. For every pair, call and reply that
is seen the next states of both runs can be paired within V (`pairing`), and those after calls that
differ within the upper bound. By induction over the calls nothing is lost but that. Where cells are
kept by differences, or hold any number, the same is examined by `differences`.

At least, and against any budget: the calls and replies are followed in both runs (`runs`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from dipapprox.checking.claims import BudgetClaim, Interval
from dipapprox.checking.decisions.found_signs import FoundSigns
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.services.differences import Differences, Pair
from dipapprox.checking.services.pairing import Outcomes, lose_at_most
from dipapprox.checking.services.replies import Followed, Listed
from dipapprox.checking.services.runs import FollowedCalls, Malformed, OfService, read_row
from dipapprox.checking.services.transitions import Call, Row, Transitions
from dipapprox.checking.services.ways import Ways
from dipapprox.data_classes import replace
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.language.domains import AllIntegers, AllReals
from dipapprox.language.parser import parse
from dipapprox.language.services import Change, Service, elaborate_service
from dipapprox.limits import Limits


def claim_of_service(record: OfService) -> BudgetClaim:
    """Return what a certificate states."""
    bounds = record.least_budget
    lower = Fraction(0) if bounds is None else bounds.lower
    upper = None if bounds is None else bounds.upper
    users = " and ".join(record.examiner)
    caveat = f"what others than {users} see" if users else None
    repeated = record.evidence.repeated
    anywhere = repeated is None or repeated.eps is None
    return BudgetClaim(record.claim.budget, lower, upper, bounds is None, caveat, anywhere)


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
    kept = record.evidence.by_difference
    names = [cell.name for cell in service.states]
    if list(kept) != [name for name in names if name in kept]:
        partial.differ("evidence.by_difference", "expected state cells, in order of declaration")
        return
    try:
        _examine(record, service, partial, limits)
    except Malformed as wrong:
        partial.differ(wrong.where, wrong.what)


def _examine(record: OfService, service: Service, partial: PartialResult, limits: Limits) -> None:
    users = frozenset(record.examiner)

    def seen(call: Call) -> bool:
        asked = call.handler.users
        if call.handler.is_data:
            return False
        return not users or not asked or bool(users & set(asked))

    cells = [*(each.cell for each in service.states), *service.replies]
    bounds, pairs = record.least_budget, record.evidence.pairs
    upper = None if bounds is None or pairs is None else bounds.upper
    if record.evidence.by_difference or any(isinstance(c.domain, AllReals) for c in cells):
        if upper is not None:
            kept = record.evidence.by_difference
            values = _differences(record, service)
            Differences(service, kept, values, seen, partial, limits).examine(upper)
        followed = Followed(Ways(service, (), limits))
        FollowedCalls(record, service, followed, seen, partial, limits).examine()
        return
    transitions = Transitions(service, limits)
    if upper is not None:
        _ByValue(record, service, transitions, seen, partial, limits).examine(upper)
    FollowedCalls(record, service, Listed(transitions), seen, partial, limits).examine()


def _differences(record: OfService, service: Service) -> dict[Pair, Fraction]:
    """Read the values of pairs with cells that are kept by differences."""
    kept = record.evidence.by_difference
    cells = tuple(
        replace(each.cell, domain=AllIntegers()) if each.name in kept else each.cell
        for each in service.states
    )
    free = [cell.name in kept for cell in cells]
    values: dict[Pair, Fraction] = {}
    for place, pair in enumerate(record.evidence.pairs or ()):
        where = f"evidence.pairs[{place}]"
        first, second = (read_row(plain, cells, where) for plain in (pair.first, pair.second))
        if any(value for value, is_free in zip(second, free, strict=True) if is_free):
            raise Malformed(where, "expected 0 in the second state, where a difference is kept")
        apart = [v for v, is_free in zip(first, free, strict=True) if is_free]
        one, two = (
            tuple(None if is_free else v for v, is_free in zip(row, free, strict=True))
            for row in (first, second)
        )
        values[one, two, tuple(v for v in apart if isinstance(v, Fraction))] = pair.value
    return values


class _ByValue:
    """Examines an upper bound, all cells by value."""

    def __init__(
        self,
        record: OfService,
        service: Service,
        transitions: Transitions,
        seen: Callable[[Call], bool],
        partial: PartialResult,
        limits: Limits,
    ) -> None:
        self.record = record
        self.service = service
        self.transitions = transitions
        self.seen = seen
        self.partial = partial
        self.limits = limits
        self.signs = FoundSigns(Interval(Fraction(0), None), limits)

    def examine(self, upper: Fraction) -> None:
        values: dict[tuple[Row, Row], Fraction] = {}
        cells = tuple(each.cell for each in self.service.states)
        for place, pair in enumerate(self.record.evidence.pairs or ()):
            where = f"evidence.pairs[{place}]"
            rows = tuple(read_row(plain, cells, where) for plain in (pair.first, pair.second))
            values[rows[0], rows[1]] = pair.value
        calls = list(self.transitions.calls())

        def value(first: Row, second: Row) -> Fraction | None:
            return Fraction(0) if first == second else values.get((first, second))

        for left, right in self.covering(calls):
            if not lose_at_most(left, right, upper, value, self.signs):
                cost = brief_text(upper)
                text = f"more than {cost} is stated to be lost from a pair that calls reach"
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
            if not lose_at_most(outcomes, others, most, value, self.signs):
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


def _text(row: Row) -> str:
    return f"({', '.join(map(str, row))})"
