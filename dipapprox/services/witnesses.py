"""Courses of calls and replies along paths of pairs of runs, as events on values.

Up to the call in which the runs differ they are one run: its replies are those that lead to the
states on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.language.core import Value
from dipapprox.services.model import Call, Outcome, State
from dipapprox.services.pairs import Cover, Edge, PairGraph
from dipapprox.services.reachable import Arrival, Examiner
from dipapprox.services.system import System
from dipapprox.services.traces import Event, Reply


class Witnesses:
    """Writes the courses of a graph.

    Args:
        graph: Of pairs.
        system: Of the states in it.
        values: The same service, with values for all cells.
        examiner: Who looks.
    """

    def __init__(
        self, graph: PairGraph, system: System, values: System, examiner: Examiner
    ) -> None:
        self._graph = graph
        self._system = system
        self._values = values
        self._examiner = examiner

    def events_from(self, cover: Cover, edges: Sequence[Edge]) -> list[Event]:
        """Return the calls up to a covering pair and along edges.

        Replies have None where samples are published after the runs differ.
        """
        events = list(self._before(cover.state))
        events.append(Event(self._data(cover.first), self._data(cover.second), None))
        return events + [self.event(edge) for edge in edges]

    def event(self, edge: Edge) -> Event:
        """Return what an edge stands for."""
        reply = edge.outcomes[0].reply if self._sees(edge.call) else None
        return Event(edge.call, edge.call, reply)

    def _data(self, value: Value | None) -> Call | None:
        return None if value is None else Call(0, self._system.calls[0].name, (value,))

    def _sees(self, call: Call) -> bool:
        return self._examiner.sees(self._system, call)

    def _before(self, state: State) -> Iterator[Event]:
        """Yield calls and replies that lead to a state."""
        arrivals: list[tuple[Arrival, State]] = []
        while (before := self._graph.parents[state]) is not None:
            arrivals.append((before, state))
            state = before.state
        now = self._values.initial
        for arrival, there in reversed(arrivals):
            call = self._with_value(arrival.call)
            outcome = self._leading(now, call, arrival.outcome, there)
            yield Event(call, call, _shown(outcome) if self._sees(call) else None)
            now = outcome.state

    def _leading(self, now: State, call: Call, wanted: Outcome, there: State) -> Outcome:
        """Return the outcome on values that is one of a state by differences."""
        outcomes = self._values.step(now, call)
        for outcome in outcomes:
            fits = all(b is None or a == b for a, b in zip(outcome.state, there, strict=True))
            if fits and outcome.reply == wanted.reply:
                return outcome
        return outcomes[0]

    def _with_value(self, call: Call) -> Call:
        """Give data of any value the least one."""
        if not (call.is_data and self._system.any_data):
            return call
        domain = self._system.service.data.arguments[0].domain
        values = [value for value in domain if isinstance(value, Fraction)]
        return Call(0, call.name, (min(values, key=lambda v: (abs(v), v)),))


def _shown(outcome: Outcome) -> Reply:
    """Return a reply in which samples show a number near their means."""
    reply = list(outcome.reply)
    for published in outcome.published:
        number = published.mean.constant
        if published.ends is not None:
            low, high = map(Fraction, published.ends)
            number = min(max(number, low), high)
        reply[published.cell] = number
    return tuple(reply)
