"""An upper bound from one cost vector a node, where all pairs of vectors are too many.

A vector has the least cost so far for every shift, in {-1, 0, 1}, of the stored values that are
live; what all walks to a node and all changes of their inputs cost is joined: entry by entry the
largest. Steps are monotone, so what a step makes of a joined vector bounds what it makes of each,
and the least vectors beyond which no step leads bound the dearest walk: the shifts of stored
values may depend on the walk that follows, those of other samples on their input's change too.
That is less than all that shifts can do, so the bound need not be tight.

Costs are whole multiples of one unit; `∞` stands for what is impossible or above a cap.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dipapprox.automata.model import OutputSample, Transition, members
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.vectors import fits, unit_of
from dipapprox.automata.weights import live_variables
from dipapprox.data_classes import dataclass, field
from dipapprox.limits import Limits

_MOST_LIVE = 6
_MOST_ENTRIES = 1_000_000
"""Entries of the vectors of all nodes."""

_SHIFTS = (-1, 0, 1)

_Costs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinedFamily:
    """A proof that `value` is a budget: every step from a node's vector ends within its target's.

    Attributes:
        unit: What an entry of 1 costs, in multiples of ε.
        live: The variables that each node's vector speaks of, ascending; digit i of an index, in
            base 3, is 1 + the shift of the i-th of them.
        vectors: For each node its vector, None for ∞.
        value: The budget.
    """

    unit: Fraction
    live: tuple[tuple[int, ...], ...]
    vectors: tuple[tuple[int | None, ...], ...] = field(compare=False, repr=False)
    value: Fraction


def join(graph: Unfolding, cap: Fraction, limits: Limits) -> JoinedFamily | None:
    """Return the joined cost vectors of a graph; None if they pass the cap, or are too large.

    Args:
        graph: The quotient of an automaton, or of its cells.
        cap: Costs above it are not told apart.
        limits: Asked for the time.

    Raises:
        LimitReached: If time is up.
    """
    live = live_variables(graph)
    widths = [mask.bit_count() for mask in live]
    if max(widths) > _MOST_LIVE or sum(3**width for width in widths) > _MOST_ENTRIES:
        return None
    if not fits(graph, cap):
        return None
    return _Joining(graph, live, cap, limits).run()


@dataclass(frozen=True, slots=True)
class _Step:
    """What an edge makes of a vector.

    Attributes:
        target: Where it leads.
        before: For every index of a new vector the old indices it may come from; the last entry of
            an old vector, infinite, fills the rows up.
        prices: What each of these costs, for each change of the input.
    """

    target: int
    before: npt.NDArray[np.intp]
    prices: _Costs


class _Joining:
    """Vectors that grow, component by component, until no step leads beyond them."""

    def __init__(
        self, graph: Unfolding, live: tuple[int, ...], cap: Fraction, limits: Limits
    ) -> None:
        self.graph, self.limits = graph, limits
        self.live = [tuple(members(mask)) for mask in live]
        self.unit = unit_of(graph)
        self.cap = int(cap / self.unit)
        self.infinite = self.cap + 1
        self.vectors: list[_Costs | None] = [None] * len(live)
        self._shapes: dict[object, tuple[npt.NDArray[np.intp], _Costs]] = {}

    def run(self) -> JoinedFamily | None:
        """Join to the end."""
        graph = self.graph
        self._grow(0, np.zeros(1, dtype=np.int64))
        by_component: list[list[int]] = [[] for _ in range(max(graph.components) + 1)]
        for node, component in enumerate(graph.components):
            by_component[component].append(node)
        for component in reversed(range(len(by_component))):  # edges never lead to larger numbers
            waiting = by_component[component][::-1]
            while waiting:
                self.limits.check()
                node = waiting.pop()
                vector = self.vectors[node]
                if vector is None:
                    continue
                extended = np.append(vector, self.infinite)
                for edge in graph.leaving[node]:
                    step = self._step(edge)
                    sums = extended[step.before] + step.prices
                    made = np.minimum(sums.min(axis=2).max(axis=0), self.infinite)
                    if int(made.min()) > self.cap:
                        return None
                    if self._grow(step.target, made) and graph.is_internal(edge):
                        waiting.append(step.target)
        return self._result()

    def _grow(self, node: int, made: _Costs) -> bool:
        vector = self.vectors[node]
        joined = made if vector is None else np.maximum(vector, made)
        if vector is not None and (joined == vector).all():
            return False
        self.vectors[node] = joined
        return True

    def _result(self) -> JoinedFamily | None:
        found = [vector for vector in self.vectors if vector is not None]  # all are reachable
        value = max(int(vector.min()) for vector in found)
        if value > self.cap:
            return None
        vectors = [
            tuple([None if cost > value else cost for cost in vector.tolist()]) for vector in found
        ]
        return JoinedFamily(self.unit, tuple(self.live), tuple(vectors), value * self.unit)

    def _step(self, edge: int) -> _Step:
        """Prepare a step, or take what was prepared for one that differs in its states only."""
        ends, transition = self.graph.edges[edge], self.graph.transition(edge)
        automaton = self.graph.automaton
        shape = (
            *(self.live[ends.source], self.live[ends.target]),
            *(transition.above, transition.below, transition.assigned),
            *(transition.output is OutputSample.COMPARED, automaton.rate(transition)),
            *(automaton.reads(transition), automaton.fresh_cost(transition)),
        )
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = self._prepared(edge, transition)
        return _Step(ends.target, *known)

    def _prepared(self, edge: int, transition: Transition) -> tuple[npt.NDArray[np.intp], _Costs]:
        graph, automaton = self.graph, self.graph.automaton
        before_live = self.live[graph.edges[edge].source]
        after_live = self.live[graph.edges[edge].target]
        place = {variable: digit for digit, variable in enumerate(before_live)}
        shown = transition.output is OutputSample.COMPARED
        ways: list[list[tuple[int, int]]] = [[] for _ in range(3 ** len(after_live))]
        for old in range(3 ** len(before_live)):
            held = {x: old // 3**digit % 3 - 1 for x, digit in place.items()}
            highest = min((held[x] for x in members(transition.above)), default=1)
            lowest = max((held[x] for x in members(transition.below)), default=-1)
            for shift in _SHIFTS:
                if lowest <= shift <= highest and not (shown and shift):
                    new = sum(
                        (1 + (shift if transition.assigned >> x & 1 else held[x])) * 3**digit
                        for digit, x in enumerate(after_live)
                    )
                    ways[new].append((old, shift))
        width = max(map(len, ways))
        before = np.full((len(ways), width), 3 ** len(before_live), dtype=np.intp)
        shifts = np.zeros((len(ways), width), dtype=np.int64)
        for row, each in enumerate(ways):
            for column, (old, shift) in enumerate(each):
                before[row, column], shifts[row, column] = old, shift
        rate = int(automaton.rate(transition) / self.unit)
        fresh = int(automaton.fresh_cost(transition) / self.unit)
        changes = automaton.changes if automaton.reads(transition) else (0,)
        prices = [rate * np.abs(shifts - change) + fresh * abs(change) for change in changes]
        return before, np.stack(prices)
