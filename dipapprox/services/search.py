"""What a graph of pairs says of the loss, and courses of calls and replies along its paths.

Courses are events on values. Up to the call in which the runs differ they are one run: its replies
are those that lead to the states on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.graphs import shortest_way
from dipapprox.language.core import Value
from dipapprox.services.loss import Cycle, Loss, noted, repeated
from dipapprox.services.model import Arrival, Call, CallOutcome, Published, State
from dipapprox.services.pairs import EQUAL, Covering, Edge, RunPairs
from dipapprox.services.system import System
from dipapprox.services.traces import Reply, SeenCall, with_best_replies


def tight_path(
    start: int, edges: Callable[[int], Iterable[Edge]], lost: Callable[[int], Fraction]
) -> list[Edge] | None:
    """Return a shortest path along which all is lost that may be lost from a pair on; None for
    none.

    Nothing is lost from EQUAL.
    """

    def tight(node: int) -> Iterator[tuple[Edge, int]]:
        here = lost(node)
        return ((e, e.target) for e in edges(node) if e.weight + lost(e.target) == here)

    found = shortest_way([start], tight, lambda node: not lost(node))
    return None if found is None else found[1]


class PairSearch:
    """Pairs, and what shows what they say."""

    def __init__(self, pairs: RunPairs, values: System) -> None:
        self.pairs, self.values = pairs, values
        self.system, self.limits = pairs.system, values.limits

    def run(self, known: Loss, course: Sequence[SeenCall]) -> Loss:
        """Return what is known when a course was run on values."""
        return noted(known, *with_best_replies(course, self.values))

    def shown(self, known: Loss, courses: Iterable[Sequence[SeenCall]]) -> Loss:
        """Return what courses show at least; the first that shows all that may be lost will do."""
        for course in courses:
            trace, runs = with_best_replies(course, self.values)
            if runs.first and known.trace is None:
                known = replace(known, trace=trace)
            known = noted(known, trace, runs)
            if known.is_known or known.unbounded:
                break
        return known

    # --- paths ----------------------------------------------------------------------------------

    def path_to(self, wanted: Callable[[int], bool]) -> tuple[int, list[Edge], int] | None:
        """Return a shortest path from a covering pair to a wanted one: start, edges, end."""

        def leaving(node: int) -> Iterator[tuple[Edge, int]]:
            return ((e, e.target) for e in self.pairs.edges[node] if e.target != EQUAL)

        return shortest_way(self.pairs.covers, leaving, wanted)

    def round_of(self, cycle: Cycle) -> tuple[int, list[Edge], list[Edge]] | None:
        """Return a covering pair, the path from there to a cycle, and once round it."""
        nodes = [node for node, _ in cycle]
        path = self.path_to(lambda node: node in nodes)
        if path is None:
            return None
        cover, leading, entry = path
        turn = nodes.index(entry)
        return cover, leading, [self.pairs.edges[n][a] for n, a in (*cycle[turn:], *cycle[:turn])]

    def repeated(
        self, known: Loss, cover: Covering, leading: Sequence[Edge], turned: Sequence[Edge]
    ) -> Loss:
        """Return what is known when the calls round a cycle were run on values."""
        before = self.events_from(cover, leading)
        return repeated(known, before, list(map(self.event, turned)), self.values)

    # --- events ---------------------------------------------------------------------------------

    def events_to(self, node: int) -> list[SeenCall] | None:
        """Return the calls up to a pair; None if none lead there."""
        path = self.path_to(lambda each: each == node)
        return None if path is None else self.events_from(self.pairs.covers[path[0]], path[1])

    def events_from(self, cover: Covering, edges: Sequence[Edge]) -> list[SeenCall]:
        """Return the calls up to a covering pair and along edges; replies have None where samples
        are published after the runs differ."""
        events = list(self._before(cover.state))
        events.append(SeenCall(self._data(cover.first), self._data(cover.second), None))
        return events + [self.event(edge) for edge in edges]

    def event(self, edge: Edge) -> SeenCall:
        """Return what an edge stands for."""
        reply = edge.outcomes[0].values if self.system.sees(edge.call) else None
        return SeenCall(edge.call, edge.call, reply)

    def _data(self, value: Value | None) -> Call | None:
        return None if value is None else Call(0, self.system.calls[0].name, (value,))

    def _before(self, state: State) -> Iterator[SeenCall]:
        arrivals: list[tuple[Arrival, State]] = []
        while (before := self.pairs.parents[state]) is not None:
            arrivals.append((before, state))
            state = before.state
        now = self.values.initial
        for arrival, there in reversed(arrivals):
            call = self._with_value(arrival.call)
            outcome = self._leading(now, call, arrival.outcome, there)
            yield SeenCall(call, call, _shown(outcome) if self.system.sees(call) else None)
            now = outcome.state

    def _leading(self, now: State, call: Call, wanted: CallOutcome, there: State) -> CallOutcome:
        """Return the outcome on values that is one of a state by differences."""
        outcomes = self.values.step(now, call)
        for outcome in outcomes:
            fits = all(b is None or a == b for a, b in zip(outcome.state, there, strict=True))
            if fits and outcome.values == wanted.values:
                return outcome
        return outcomes[0]

    def _with_value(self, call: Call) -> Call:
        """Give data of any value the least one."""
        if not (call.is_data and self.system.any_data):
            return call
        domain = self.system.service.data.arguments[0].domain
        values = [value for value in domain if isinstance(value, Fraction)]
        return Call(0, call.name, (min(values, key=lambda v: (abs(v), v)),))


def _shown(outcome: CallOutcome) -> Reply:
    """Return a reply in which samples show a number near their means."""
    reply = list[Value | None]()
    for each in outcome.reply:
        if isinstance(each, Published):
            number = each.mean.constant
            low, high = each.ends or (number, number)
            each = min(max(number, Fraction(low)), Fraction(high))
        reply.append(each)
    return tuple(reply)
