"""The least budget D* of an automaton by search: cost vectors along the steps of its quotient.

A step draws a sample, whose shift s is -1, 0 or 1 (`runs.py`, two cuts): for `insample >= x` at
most that of x, for `insample < x` at least that, and 0 if it is shown. It costs the rate for every
unit that s is not the change of the input.

The cap is a budget of every well-formed automaton (`weights.py`): if a walk costs more, this one is
not well-formed. Where too many values are live at once, some are pinned, and what is found is an
upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush

from dipapprox.automata.model import Automaton, OutputSample, Transition
from dipapprox.automata.runs import shortest_walk
from dipapprox.automata.unfolding import Unfolding, label, unit_of
from dipapprox.automata.vectors import LEFT_FREE, Dearer, Move, Shift, Vector, VectorSearch, pin
from dipapprox.automata.weights import live_variables
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached, NoCertificate
from dipapprox.graphs import bits
from dipapprox.limits import check_limits

MOST_LIVE = 6
"""Live variables at one node up to which vectors have entries for all shifts, 3^live."""

_MOST_UNITS = 2**40  # that a cap may have
MOST_ENTRIES = 1_000_000  # of all vectors
MOST_COMPARED = 10_000_000  # vectors that others are compared with

Pins = tuple[dict[int, int], ...]
"""For each node the shift, -1, 0 or 1, of each pinned variable that is live there."""


class ClosedFamily(Record):
    """That `value` is a budget: there are closed families of vectors.

    The first step from the empty run and every step from a member of one end within a member, and
    no member's value is larger.
    """

    vectors: int  # how many the families have
    value: Fraction
    # How many families there are: each run is a walk of the graph without some edges, for one of
    # several sets of these; for each set there is a family.
    cases: int = 1
    # How many nodes the graph has, if it is that of coarser cells; None for the automaton.
    cells: int | None = None


class OptimumFound(Record):
    walk: tuple[int, ...]  # edges of the quotient of the dearest walk seen
    changes: tuple[int, ...]  # the change of the input at each of them
    # Whether it costs more than the cap: there is no budget, unless values are pinned.
    passed_cap: bool
    is_pinned: bool  # whether some shifts were fixed, so that the walk may cost less than it seems
    # The proof that no walk costs more; None, with the reason, if the search did not end.
    family: ClosedFamily | None
    reason: str | None
    vectors: int


class _Kind:
    """What edges have in common that differ in their states only: moves, with costs in units.

    `cases` are the changes of the input that are looked at.
    """

    def __init__(
        self,
        automaton: Automaton,
        step: Transition,
        live: tuple[int, int],
        pins: tuple[dict[int, int], dict[int, int]],
        unit: Fraction,
    ) -> None:
        shown = step.output is OutputSample.COMPARED
        self.cases: tuple[int, ...] = automaton.changes if automaton.reads(step) else (0,)
        if shown and automaton.reads(step):  # it pays for both signs alike
            self.cases = tuple([change for change in self.cases if change])[:1]
        before, after = ([*bits(mask)] for mask in live)
        places = {x: k for k, x in enumerate(before)}
        self._above = [places[x] for x in bits(step.above)]
        self._below = [places[x] for x in bits(step.below)]
        self._after = [None if step.assigned >> x & 1 else places[x] for x in after]
        self._pinned = [(k, pins[1][x]) for k, x in enumerate(after) if x in pins[1]]
        self._levels = range(1) if shown else range(-1, 2)
        self._rate = int(automaton.rate(step) / unit)
        self._fresh = int(automaton.fresh_cost(step) / unit)
        free = dict.fromkeys(bits(step.above), 1) | dict.fromkeys(bits(step.below), -1) | pins[0]
        self._freest = tuple([free.get(x, 0) for x in before])

    @property
    def is_blocked(self) -> bool:
        """Whether the pinned values leave no shift to the sample."""
        return next(self.moves(self._freest, 0), None) is None

    def moves(self, shift: Shift, change: int) -> Iterator[Move]:
        least = max([shift[k] for k in self._below], default=-1)
        most = min([shift[k] for k in self._above], default=1)
        for level in self._levels:
            if least <= level <= most:
                after = tuple([level if k is None else shift[k] for k in self._after])
                if not self._pinned or all(after[k] == own for k, own in self._pinned):
                    cost = self._rate * abs(level - change) + self._fresh * abs(change)
                    yield after, cost, (level,)


class _Step(Record, eq=False):
    edge: int
    target: int
    kind: _Kind

    @property
    def cases(self) -> tuple[int, ...]:
        return self.kind.cases


class _Search(VectorSearch[int, _Step]):
    """The search in a graph, with pinned values; of unpinned ones vectors have all shifts."""

    def __init__(
        self, graph: Unfolding, cap: Fraction, pins: Pins | None = None, is_greedy: bool = False
    ) -> None:
        self.unit = unit_of(graph)
        super().__init__(0, int(cap / self.unit), MOST_ENTRIES, MOST_COMPARED, is_greedy)
        self._graph, self._live = graph, live_variables(graph)
        self._pins: Pins = ({},) * len(self._live) if pins is None else pins
        self._ways: dict[int, list[_Step]] = {}
        self._kinds: dict[object, _Kind] = {}

    def leaving(self, node: int) -> list[_Step]:
        if node not in self._ways:
            self._ways[node] = [self._step(edge) for edge in self._graph.leaving[node]]
        return self._ways[node]

    def _step(self, edge: int) -> _Step:
        automaton, step = self._graph.automaton, self._graph.transition(edge)
        source, target = step.source, self._graph.edges[edge].target
        ends = self._graph.edges[edge].source, target
        live, pins = (self._live[ends[0]], self._live[ends[1]]), [self._pins[k] for k in ends]
        control = automaton.states[source]
        noise = control.reads, control.compared, control.fresh
        key = label(step), noise, live, *(tuple(each.items()) for each in pins)
        if key not in self._kinds:
            given = live, (pins[0], pins[1]), self.unit
            self._kinds[key] = _Kind(automaton, step, *given)
        return _Step(edge, target, self._kinds[key])

    def component(self, node: int) -> int:
        return self._graph.components[node]

    def kind(self, way: _Step) -> _Kind:
        return way.kind

    def moves_on(self, way: _Step, shift: Shift, case: int) -> Iterator[Move]:
        return way.kind.moves(shift, case)

    def found(self) -> OptimumFound:
        """Search, and return what is found, also where the search does not end."""
        passed_cap, reason, family = False, None, None
        try:
            self.look()
        except Dearer as dearer:
            passed_cap, walk = True, dearer.walk
        except NoCertificate as none:
            reason, walk = none.missing, self.dearest_walk()
        except LimitReached as limit:
            reason, walk = limit.reason, self.dearest_walk()
        else:
            walk = self.dearest_walk()
            if not self._is_greedy:
                count = sum(map(len, self.fronts.values()), 1)
                family = ClosedFamily(count, self.value * self.unit)
        edges, changes = _edges_of(walk), tuple([c for _, c in walk])
        is_pinned, made = any(self._pins), len(self.members)
        return OptimumFound(edges, changes, passed_cap, is_pinned, family, reason, made)

    def joined(self) -> ClosedFamily | None:
        """Return a family of one vector a node: entry by entry the largest of all that lead there.

        Steps are monotone, so what a step makes of joined vectors bounds what it makes of each.
        None if they pass the cap.
        """
        vectors: dict[int, Vector] = {0: {(): 0}}
        waiting = [(-self.component(0), 0)]  # no edge leads to a larger number
        while waiting:
            check_limits()
            _, node = heappop(waiting)
            for step in self.leaving(node):
                for case in step.cases:
                    made, old = self.after(vectors[node], step, case), vectors.get(step.target)
                    if old is not None:
                        made = {s: max(old[s], cost) for s, cost in made.items() if s in old}
                    if not made:
                        return None
                    if made != old:
                        vectors[step.target] = made
                        heappush(waiting, (-self.component(step.target), step.target))
        value = max(min(vector.values()) for vector in vectors.values())
        return ClosedFamily(len(vectors), value * self.unit)


def searches(graph: Unfolding, cap: Fraction) -> Iterator[OptimumFound]:
    """Search the quotient of an automaton, which keeps the budget `cap` if it is well-formed, for
    its dearest walk: first with pinned values, where many are live, then without, unless too many
    are."""
    if not _fits(graph, cap):
        yield OptimumFound((), (), False, False, None, "the rates have no small common unit", 0)
        return
    if not _is_narrow(graph, LEFT_FREE):
        pins = _pinned(graph)
        yield _by_cases(graph, pins, cap) or _Search(graph, cap, pins).found()
    if _is_narrow(graph, MOST_LIVE):
        yield _Search(graph, cap).found()


def _fits(graph: Unfolding, cap: Fraction) -> bool:
    """Whether a cap is few enough units: rounds may add one after the other."""
    return cap / unit_of(graph) < _MOST_UNITS


def _is_narrow(graph: Unfolding, most: int) -> bool:
    return max(mask.bit_count() for mask in live_variables(graph)) <= most


MOST_CASES = 60
"""Edges that are impossible with pinned shifts, for each of which there is a search of its own."""


def _by_cases(graph: Unfolding, pins: Pins, cap: Fraction) -> OptimumFound | None:
    """Search by cases where some edges are impossible with the pinned shifts; None if that fails.

    A run that takes such an edge takes no other one: for each of them there is a search without the
    others, in which the values that its guard compares are not pinned.
    """
    live, whole = live_variables(graph), _Search(graph, cap, pins)
    steps = (step for node in range(len(live)) for step in whole.leaving(node))
    blocked = sorted(step.edge for step in steps if step.kind.is_blocked)
    if not 0 < len(blocked) <= MOST_CASES:
        return None
    sources = {graph.edges[edge].source for edge in blocked}
    targets = {graph.edges[edge].target for edge in blocked}
    if any(shortest_walk(graph, each, sources.__contains__) is not None for each in targets):
        return None  # some walk takes two of them, or one of them twice
    results = list[OptimumFound]()
    for case in (None, *blocked):
        leaving = tuple(
            tuple([edge for edge in row if edge == case or edge not in blocked])
            for row in graph.leaving
        )
        used = 0 if case is None else graph.transition(case).used
        own = tuple({x: s for x, s in fixed.items() if not used >> x & 1} for fixed in pins)
        left = (mask.bit_count() - len(own[node]) for node, mask in enumerate(live))
        if max(left) > MOST_LIVE:
            return None
        results.append(_Search(replace(graph, leaving=leaving), cap, own).found())
        if results[-1].family is None:
            return None
    families = [each.family for each in results if each.family is not None]
    value = max(each.value for each in families)
    dearest = results[[each.value for each in families].index(value)]
    family = ClosedFamily(sum(each.vectors for each in families), value, len(families))
    made = sum(each.vectors for each in results)
    return replace(dearest, family=family, vectors=made, is_pinned=True)


def dear_walks(graph: Unfolding, cap: Fraction) -> Iterator[OptimumFound]:
    """Look for dear walks, not for the dearest: of the vectors of a way the largest is kept.

    A walk that costs more than `cap` ends the search; none is found if vectors are too wide. Of two
    that cost as much the second goes round cycles more often: words of it may lose more.
    """
    if _is_narrow(graph, MOST_LIVE) and _fits(graph, cap):
        search = _Search(graph, cap, is_greedy=True)
        found = search.found()
        yield found
        walk = search.dearest_walk(last=True)
        if not found.passed_cap and len(walk) > len(found.walk):
            yield replace(found, walk=_edges_of(walk), changes=tuple([c for _, c in walk]))


def _edges_of(walk: Sequence[tuple[_Step, int]]) -> tuple[int, ...]:
    return tuple([step.edge for step, _ in walk])


def joined_family(graph: Unfolding, cap: Fraction) -> ClosedFamily | None:
    """Return a closed family of one vector a node, where all vectors are too many.

    The bound need not be tight.

    Args:
        cap: Costs above it are not told apart.

    Returns:
        None if the vectors pass the cap, or are too large.
    """
    narrow = _is_narrow(graph, MOST_LIVE) and _fits(graph, cap)
    return _Search(graph, cap).joined() if narrow else None


def _pinned(graph: Unfolding) -> Pins:
    """Pin values so that at most `LEFT_FREE` others are live at any node."""
    live, kept, compared = live_variables(graph), [], []
    for index, edge in enumerate(graph.edges):
        transition = graph.transition(index)
        for variable in bits(live[edge.target] & ~transition.assigned):
            kept.append(((edge.source, variable), (edge.target, variable)))
        if graph.is_internal(index):
            compared += [((edge.source, x), 1) for x in bits(transition.above)]
            compared += [((edge.source, x), -1) for x in bits(transition.below)]
    return pin([list(bits(mask)) for mask in live], kept, compared)
