"""The least budget of a service for every sequence of calls, or what shows that there is none.

    service -> transitions (`system`) -> pairs of runs (`pairs`) -> longest path (`longest`)
        -> the calls and replies along it, run again on values (`traces`): a lower bound

The longest path is an upper bound whatever the replies leave open. The least budget is known where
both meet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.data_classes import dataclass, field, replace
from dipapprox.errors import EarlyEnd
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, is_nonnegative
from dipapprox.exact.signs.values import difference
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.services import Service
from dipapprox.limits import Limits
from dipapprox.services.longest import LongestPaths, longest_paths
from dipapprox.services.model import Call, Inexpressible, State, Untracked
from dipapprox.services.pairs import (
    EQUAL,
    Cover,
    Edge,
    Examiner,
    PairGraph,
    explore_pairs,
)
from dipapprox.services.system import System
from dipapprox.services.traces import Event, Reply, Runs, Trace, total_of, with_best_replies

_MOST_TOPS = 20
"""Longest paths that are run on values, to find one that shows its whole length."""

_MOST_JUMPS = 200
"""Steps with quotients that do not vanish with eps which are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Calls that can be repeated, and gain something each time.

    Attributes:
        trace: Up to where the repetition begins.
        events: What is repeated; both runs are then in the states that they were in before.
        gain: In eps, for each time; None if it is no multiple of eps.
        eps: Where the quotient is > 1 for certain; None: everywhere.
    """

    trace: Trace
    events: tuple[Event, ...]
    gain: Fraction | None
    eps: Fraction | None


@dataclass(frozen=True, slots=True)
class Loss:
    """What is known of the loss of a service, in eps.

    Attributes:
        lower: No smaller budget serves every eps.
        upper: A budget that serves every eps; None if none is known.
        trace: Calls and replies that show `lower`, or that there is no budget.
        repetition: Calls to repeat: then there is no budget.
        one_sided: Whether only the first run can give the last reply of `trace`.
        vanishing: Whether the quotient of `trace` stays away from 1 as eps vanishes.
        reason: Why the least budget is not known; empty if it is.
        states: States that calls lead to.
        pairs: Pairs of states that were looked at.
        by_differences: Whether additive cells were kept by differences.
        determined: Whether replies determine the states.
        states_of: The states by their numbers.
        graph: The pairs.
        values: Of the pairs, where `upper` is known: how much may still be lost from there.
    """

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    trace: Trace | None = None
    repetition: Repetition | None = None
    one_sided: bool = False
    vanishing: bool = False
    reason: str = ""
    states: int = 0
    pairs: int = 0
    by_differences: bool = False
    determined: bool = True
    states_of: tuple[State, ...] = field(default=(), repr=False)
    graph: PairGraph = field(default_factory=PairGraph, compare=False, repr=False)
    values: tuple[Fraction, ...] = field(default=(), repr=False)

    @property
    def unbounded(self) -> bool:
        """Whether no budget serves every eps."""
        return self.one_sided or self.vanishing or self.repetition is not None

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.upper is not None and self.upper == self.lower


def find_loss(service: Service, examiner: Examiner, limits: Limits) -> Loss:
    """Find the least budget, or bounds of it.

    Raises:
        SourceError: If a handler does something meaningless in a state that calls lead to.
        UserError: If a random choice is no probability distribution for some eps.
    """
    additive = any(cell.is_additive for cell in service.states)
    numbers = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    ways = [(True, True), (True, False)] if additive else []
    ways = [(a, b) for a, b in ways if numbers or not b] + [(False, False)]
    for by_differences, any_data in ways:
        graph = PairGraph()
        system = System(service, by_differences, any_data, limits)
        try:
            reason = ""
            with EarlyEnd() as end:
                try:
                    explore_pairs(graph, system, examiner, limits)
                except Inexpressible as missing:
                    reason = str(missing)
        except Untracked:
            continue
        values = System(service, False, False, limits) if additive else system
        search = _Search(system, values, examiner, graph, limits)
        return search.answer(reason if end.reason is None else end.reason)
    raise AssertionError("with values for all cells everything is tracked")


def weight_of(edge: Edge) -> Fraction:
    """Return what an edge may add to the loss, in eps; 0 where that is not bounded."""
    return edge.cost + (edge.gain.upper or 0)


class _Search:
    def __init__(
        self, system: System, values: System, examiner: Examiner, graph: PairGraph, limits: Limits
    ) -> None:
        self.system = system
        self.values = values
        self.examiner = examiner
        self.graph = graph
        self.limits = limits

    def answer(self, reason: str) -> Loss:
        graph = self.graph
        known = Loss(
            reason=reason,
            states=len(graph.parents),
            pairs=len(graph.nodes),
            by_differences=self.system.by_differences,
            determined=graph.determined,
            graph=graph,
            states_of=tuple(self.system.states),
        )
        with EarlyEnd() as end:
            try:
                return self.conclude(known)
            except Inexpressible as missing:
                return replace(known, reason=known.reason or str(missing))
        return replace(known, reason=known.reason or end.reason or "")

    def conclude(self, known: Loss) -> Loss:
        graph = self.graph
        if graph.one_sided is not None:
            found = self.one_sided_trace()
            return replace(known, trace=found, one_sided=True, reason="")
        vanishing = self.vanishing_trace()
        if vanishing is not None:
            return replace(known, trace=vanishing, vanishing=True, reason="")
        unknown = any(edge.gain.upper is None for row in graph.edges for edge in row)
        paths, unit = self.paths()
        if paths.cycle:
            repetition = self.repetition(paths.cycle)
            if repetition is not None:
                trace = repetition.trace
                return replace(known, trace=trace, repetition=repetition, reason="")
            reason = "calls that can be repeated may gain something each time"
            return replace(known, reason=known.reason or reason)
        if not graph.covers:
            return replace(known, upper=None if known.reason else Fraction(0))
        greatest = max(paths.values[node] for node in graph.covers)
        upper = Fraction(greatest, unit)
        values = tuple(Fraction(value, unit) for value in paths.values)
        tops = [node for node in graph.covers if paths.values[node] == greatest]
        for top in tops[:_MOST_TOPS]:
            events = self.events_from(top, self.along(top, values))
            filled, runs = with_best_replies(events, self.values, self.limits)
            if not runs.first:  # other replies would have led here
                continue
            gain = runs.gain()
            if known.trace is None or (gain is not None and gain.lower > known.lower):
                lower = Fraction(0) if gain is None else max(gain.lower, Fraction(0))
                known = replace(known, lower=lower, trace=Trace(filled))
            if known.lower == upper:
                break
        lower = known.lower
        if known.reason:
            return known
        if unknown:
            return replace(known, reason="how much a reply tells is not bounded for every eps")
        reason = "" if lower == upper else self.doubt()
        return replace(known, upper=upper, reason=reason, values=values)

    def doubt(self) -> str:
        """Say why the two bounds do not meet."""
        if not self.graph.determined:
            return "replies do not determine what the service remembers"
        if any(edge.gain.exact is None for row in self.graph.edges for edge in row):
            return "what replies tell is no multiple of eps"
        return "clamped replies hide part of a difference"

    # --- paths ----------------------------------------------------------------------------------

    def paths(self) -> tuple[LongestPaths, int]:
        """Return the longest paths, in units of eps / (an integer)."""
        rows = [[(edge.target, weight_of(edge)) for edge in row] for row in self.graph.edges]
        unit = lcm(1, *{weight.denominator for row in rows for _, weight in row})
        arcs = [[(target, int(weight * unit)) for target, weight in row] for row in rows]
        return longest_paths(arcs, self.limits), unit

    def along(self, node: int, values: Sequence[Fraction]) -> list[Edge]:
        """Return the edges of a longest path with as few calls as possible."""
        came: dict[int, tuple[int, Edge] | None] = {node: None}
        waiting = deque(came)
        last: list[Edge] = []
        while waiting:
            node = waiting.popleft()
            if not values[node]:
                break
            ends = [
                edge
                for edge in self.graph.edges[node]
                if weight_of(edge) + (values[edge.target] if edge.target != EQUAL else 0)
                == values[node]
            ]
            last = [edge for edge in ends if edge.target == EQUAL][:1]
            if last:
                break
            for edge in ends:
                if edge.target not in came:
                    came[edge.target] = node, edge
                    waiting.append(edge.target)
        edges = last
        while (step := came[node]) is not None:
            node, edge = step
            edges.insert(0, edge)
        return edges

    def path_to(self, wanted: Callable[[int], bool]) -> tuple[int, list[Edge], int] | None:
        """Return a shortest path from a covering pair to a node: where it begins, edges, end."""
        came: dict[int, tuple[int, Edge] | None] = dict.fromkeys(self.graph.covers)
        waiting = deque(came)
        while waiting:
            node = waiting.popleft()
            if wanted(node):
                end, edges = node, []
                while (step := came[node]) is not None:
                    node, edge = step
                    edges.append(edge)
                return node, edges[::-1], end
            for edge in self.graph.edges[node]:
                if edge.target != EQUAL and edge.target not in came:
                    came[edge.target] = node, edge
                    waiting.append(edge.target)
        return None

    # --- traces ---------------------------------------------------------------------------------

    def events_from(self, cover: int, edges: Sequence[Edge]) -> list[Event]:
        """Return the calls up to a covering pair and along edges."""
        how = self.graph.covers[cover]
        events = [Event(call, call, self.common_reply(call)) for call in self.calls_to(how.state)]
        events = self.replies_before(events)
        events.append(self.differing(how))
        return events + [self.event(edge) for edge in edges]

    def differing(self, how: Cover) -> Event:
        def call(value: Value | None) -> Call | None:
            return None if value is None else Call(0, self.system.calls[0].name, (value,))

        return Event(call(how.first), call(how.second), None)

    def calls_to(self, state: State) -> list[Call]:
        calls = []
        while (before := self.graph.parents[state]) is not None:
            state, call = before
            calls.append(call)
        return [self.with_value(call) for call in reversed(calls)]

    def with_value(self, call: Call) -> Call:
        """Give data of any value the least one."""
        if not (call.is_data and self.system.any_data):
            return call
        domain = self.system.service.data.arguments[0].domain
        values = [value for value in domain if isinstance(value, Fraction)]
        return Call(0, call.name, (min(values, key=lambda v: (abs(v), v)),))

    def common_reply(self, call: Call) -> Reply | None:
        seen = self.examiner.sees(self.system, call)
        return (None,) * len(self.system.service.replies) if seen else None

    def replies_before(self, events: list[Event]) -> list[Event]:
        """Fill in replies that lead to the states that they are to lead to, on one run."""
        filled = []
        runs = Runs(self.values, self.limits)
        for event in events:
            if event.reply is not None and event.first is not None:
                (state,) = list(runs.first)[:1]
                outcome = self.values.step(state, event.first)[0]
                reply = list(outcome.reply)
                for published in outcome.published:
                    number = published.mean.constant
                    if published.ends is not None:
                        number = min(
                            max(number, Fraction(published.ends[0])), Fraction(published.ends[1])
                        )
                    reply[published.cell] = number
                event = replace(event, reply=tuple(reply))
            runs.go(event)
            filled.append(event)
        return filled

    def event(self, edge: Edge) -> Event:
        seen = self.examiner.sees(self.system, self.plain(edge.call))
        reply = edge.outcomes[0].reply if seen else None
        return Event(edge.call, edge.call, reply)

    def plain(self, call: Call) -> Call:
        return replace(call, values=()) if call.is_data and self.system.any_data else call

    # --- no budget ------------------------------------------------------------------------------

    def one_sided_trace(self) -> Trace:
        found = self.graph.one_sided
        assert found is not None
        path = self.path_to(lambda node: node == found.node)
        assert path is not None
        cover, edges, _ = path
        events = self.events_from(cover, edges)
        events.append(Event(found.call, found.call, found.reply))
        filled, runs = with_best_replies(events, self.values, self.limits)
        if not runs.first or runs.second:
            raise Inexpressible("whether a reply is possible in one run only depends on its noise")
        return Trace(filled)

    def vanishing_trace(self) -> Trace | None:
        """Return a trace whose quotient does not go to 1 as eps vanishes, if one is found."""
        places = [
            (node, edge)
            for node, row in enumerate(self.graph.edges)
            for edge in row
            if edge.gain.is_unbounded
        ]
        for node, edge in places[:_MOST_JUMPS]:
            path = self.path_to(lambda each, wanted=node: each == wanted)  # type: ignore[misc]  # bound early
            if path is None:
                continue
            cover, edges, _ = path
            events = self.events_from(cover, [*edges, edge])
            filled, runs = with_best_replies(events, self.values, self.limits)
            gain = runs.gain()
            if gain is not None and gain.is_unbounded:
                return Trace(filled)
        return None

    def repetition(self, cycle: tuple[tuple[int, int], ...]) -> Repetition | None:
        """Return the calls round a cycle, if runs on values confirm what they gain."""
        nodes = [node for node, _ in cycle]
        path = self.path_to(lambda node: node in nodes)
        if path is None:
            return None
        cover, edges, entry = path
        turn = nodes.index(entry)
        round_ = [self.graph.edges[n][a] for n, a in (*cycle[turn:], *cycle[:turn])]
        before, runs = with_best_replies(self.events_from(cover, edges), self.values, self.limits)
        try:
            begin = runs.restarted()
            events, after = with_best_replies(
                [self.event(edge) for edge in round_], self.values, self.limits, begin.copy()
            )
            again = after.restarted()
        except ValueError:
            return None
        if again.first != begin.first or again.second != begin.second:
            return None
        gain = after.gain()
        if gain is None:
            return None
        trace = Trace(before)
        if gain.exact is not None:
            return Repetition(trace, events, gain.exact, None) if gain.exact > 0 else None
        eps = self.where_greater(total_of(after.first), total_of(after.second))
        return None if eps is None else Repetition(trace, events, None, eps)

    def where_greater(self, p: ExponentialRatio, q: ExponentialRatio) -> Fraction | None:
        """Return an eps at which p > q, if there is one."""
        found = is_nonnegative(difference(q, p), ALL_EPSILONS, self.limits)
        return found.eps if isinstance(found, Negative) else None
