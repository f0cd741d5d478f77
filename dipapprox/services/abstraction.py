"""Large services: cells that are compared with constants are kept by differences as well.

Two runs differ in few cells, and mostly by known numbers: a slot holds one point more. What such
*counters* hold is left open: comparisons then have several cases (`ranges`), all of which are
followed, so that there are at least the pairs of runs that calls lead to. The longest path is an
upper bound. Where calls that can be repeated seem to gain, the counters that change on the way
round are given their values, and all is done again.

The lower bound is a course of calls on values. It is searched among pairs of runs with values for
the counters, along edges that lose nothing of the upper bound:

    weight + V(target) = V(pair)        V the longest paths of the pairs by differences
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from math import inf

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.language.core import Value
from dipapprox.language.services import Service
from dipapprox.limits import Limits, limited
from dipapprox.linear.form import LinearForm
from dipapprox.services.loss import Loss, Repetition, paths_of, weight_of
from dipapprox.services.model import Call, Inexpressible, State, Untracked
from dipapprox.services.pairs import EQUAL, Covering, Edge, Exploration, Node, PairGraph
from dipapprox.services.ranges import range_of
from dipapprox.services.reachable import Arrival, Examiner
from dipapprox.services.search import PairSearch, tight_path
from dipapprox.services.system import BY_VALUE, System

_MOST_BEFORE = 50
"""States in which the runs may begin to differ, in the search for a course of calls."""

_MOST_PAIRS = 30_000
"""Pairs that are looked at in this search."""

_MOST_COURSES = 5
"""Courses that are run on values."""


def loss_by_counters(
    service: Service,
    examiner: Examiner,
    limits: Limits,
    most: float = inf,
    eps: Fraction | None = None,
) -> Loss | None:
    """Find the loss with counters by differences.

    Args:
        service: Elaborated.
        examiner: Who looks.
        limits: Of all.
        most: States, and pairs, that are looked at for each choice of counters.
        eps: The only one that is asked about; None asks about all.

    Returns:
        Bounds, the upper one known, or that there is none; None if differences show neither.
    """
    additive = frozenset(cell.name for cell in service.states if cell.is_additive)
    counters = {s.name for s in service.states if range_of(s.cell) is not None}
    numbers = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    any_data = numbers
    with EarlyEnd(), limited(limits):
        while counters:
            kept = additive | counters
            try:
                search = _Search(service, kept, additive, any_data, examiner, limits, most, eps)
                if search.is_open:
                    return None
                if not search.cycle:
                    return search.loss()
                repetition = search.repetition()
                if repetition is not None:
                    return replace(
                        search.known(), trace=repetition.trace, repetition=repetition, reason=""
                    )
                needed: Collection[str] = search.counted_round() & counters
            except Untracked as missing:
                needed = missing.cells & counters
                if not needed and any_data:
                    any_data = False
                    continue
            except (Inexpressible, UserError):
                # States that calls do not lead to may be looked at, so this is no error.
                return None
            if not needed:
                return None
            counters.difference_update(needed)
    return None


class _Search(PairSearch):
    """Pairs with some cells by differences.

    Args:
        service: Elaborated.
        kept: Cells by differences.
        additive: Those of them that are in the pairs in which a course is searched.
        any_data: Whether data of all values is one call.
        examiner: Who looks.
        limits: Of all.
        most: States, and pairs, that are looked at.
        eps: The only one that is asked about.

    Raises:
        Untracked: If values are needed.
        Inexpressible, UserError, LimitReached: See `System.step`.
    """

    def __init__(
        self,
        service: Service,
        kept: frozenset[str],
        additive: frozenset[str],
        any_data: bool,
        examiner: Examiner,
        limits: Limits,
        most: float,
        eps: Fraction | None,
    ) -> None:
        system = System(service, kept, any_data, limits, eps)
        values = System(service, BY_VALUE, False, limits, eps)
        super().__init__(PairGraph(), system, values, examiner, limits)
        self.fine = System(service, additive, any_data, limits, eps)
        Exploration(self.graph, system, examiner, limits).run(most)
        self.lost, self.cycle = paths_of(self.graph, limits)
        self.numbers = {node: number for number, node in enumerate(self.graph.nodes)}
        self.parts: dict[int, tuple[int, tuple[Fraction | None, ...]]] = {}
        self.tight: dict[int, list[int]] = {}

    @property
    def is_open(self) -> bool:
        """Whether the longest paths bound nothing."""
        edges = (edge for row in self.graph.edges for edge in row)
        return self.graph.one_sided is not None or any(edge.gain.upper is None for edge in edges)

    def counted_round(self) -> set[str]:
        """Return the cells that change on the way round the cycle, or are asked for."""
        found: set[str] = set()
        for node, arc in self.cycle:
            for outcome in self.graph.edges[node][arc].outcomes:
                found.update(name for name, _ in outcome.where)
                kept = [
                    cell for cell in self.system.service.states if cell.name in self.system.kept
                ]
                for cell, form in zip(kept, outcome.forms, strict=True):
                    if form != LinearForm.symbol(cell.name):
                        found.add(cell.name)
        return found

    def loss(self) -> Loss:
        """Return the bounds."""
        starts = (self.lost[node] + cover.gain for node, cover in self.graph.covers.items())
        upper = max((self.graph.least, *starts))
        reason = "what counters hold is left open" if upper else ""
        found = replace(self.known(), upper=upper, reason=reason, values=self.lost)
        with EarlyEnd(), limited(self.limits):
            try:
                return self.with_course(found)
            except (Inexpressible, Untracked):
                return found
        return found

    # --- calls to repeat ------------------------------------------------------------------------

    def repetition(self) -> Repetition | None:
        """Return the calls round the cycle, if runs on values follow it and come back."""
        found = self.round_of(self.cycle)
        if found is None:
            return None
        _, leading, turned = found
        exploration = Exploration(PairGraph(), self.fine, self.examiner, self.limits)
        exploration.graph.parents = {self.fine.initial: None}
        search = PairSearch(exploration.graph, self.fine, self.values, self.examiner, self.limits)
        for node, cover in exploration.covering(self.fine.initial):
            place = exploration.number(node)
            begin = None if place == EQUAL else self.followed(exploration, place, leading)
            if begin is None:
                continue
            place = begin[-1].target if begin else place
            round_ = self.followed(exploration, place, turned)
            if round_ is not None and round_[-1].target == place:
                repetition = search.repeated(cover, begin, round_)
                if repetition is not None:
                    return repetition
        return None

    def followed(
        self, exploration: Exploration, node: int, edges: Sequence[Edge]
    ) -> list[Edge] | None:
        """Return edges of pairs by value that follow those by differences; None if they end."""
        found = []
        for edge in edges:
            nodes = exploration.graph.nodes
            number = next(k for k, call in enumerate(self.fine.calls) if self.stands(call, edge))
            wanted = self.graph.nodes[edge.target] if edge.target != EQUAL else None
            step = next(
                (
                    each
                    for each in exploration.edges(node, number)
                    if each.target != EQUAL and self.abstracted(nodes[each.target]) == wanted
                    if each.gain.upper is not None and weight_of(each) == weight_of(edge)
                ),
                None,
            )
            if step is None:
                return None
            found.append(step)
            node = step.target
        return found

    def stands(self, call: Call, edge: Edge) -> bool:
        """Whether a call is that of an edge, or stands for it."""
        if call.is_data and self.system.any_data:
            return edge.call.is_data
        return call == edge.call

    # --- courses on values ----------------------------------------------------------------------

    def with_course(self, known: Loss) -> Loss:
        assert known.upper is not None
        if not known.upper:
            return known
        exploration = Exploration(PairGraph(), self.fine, self.examiner, self.limits)
        search = PairSearch(exploration.graph, self.fine, self.values, self.examiner, self.limits)
        begins = islice(self.begins(exploration, known.upper), _MOST_COURSES)
        courses = ((cover, self.course(exploration, begin)) for begin, cover in begins)
        found = self.shown(
            known, (search.events_from(cover, edges) for cover, edges in courses if edges)
        )
        return replace(found, reason="") if found.is_known else found

    def begins(self, exploration: Exploration, upper: Fraction) -> Iterator[tuple[int, Covering]]:
        """Yield pairs by value from which all of the upper bound may be lost."""
        parents: dict[State, Arrival | None] = {self.fine.initial: None}
        exploration.graph.parents = parents
        waiting = [self.fine.initial]
        for state in waiting:
            self.limits.check()
            for node, cover in exploration.covering(state):
                if self.lost_from(node) + cover.gain == upper:
                    yield exploration.number(node), cover
            for call in self.fine.calls:
                for outcome in self.fine.step(state, call):
                    if outcome.state not in parents and len(parents) < _MOST_BEFORE:
                        parents[outcome.state] = Arrival(state, call, outcome)
                        waiting.append(outcome.state)

    def course(self, exploration: Exploration, begin: int) -> list[Edge] | None:
        """Return a shortest course along which all is lost that may be lost from a pair."""
        nodes = exploration.graph.nodes

        @cache
        def lost(node: int) -> Fraction:
            return Fraction(0) if node == EQUAL else self.lost_from(nodes[node])

        def known(node: int) -> Iterator[Edge]:
            self.limits.check()
            for call in self.promising(nodes[node]) if len(nodes) < _MOST_PAIRS else ():
                for edge in exploration.edges(node, call):
                    if edge.gain.upper is not None:
                        yield edge

        return tight_path(begin, known, lost)

    def promising(self, node: Node) -> list[int]:
        """Return the calls that may lose nothing of the upper bound."""
        number = self.numbers[self.abstracted(node)]
        if number not in self.tight:
            lost = (*self.lost, Fraction(0))  # the last is that of EQUAL
            tight = [
                edge
                for edge in self.graph.edges[number]
                if weight_of(edge) + lost[edge.target] == lost[number]
            ]
            self.tight[number] = [
                place
                for place, call in enumerate(self.fine.calls)
                if any(self.stands(call, edge) for edge in tight)
            ]
        return self.tight[number]

    def lost_from(self, node: Node) -> Fraction:
        """Return the longest path from a pair by value, its counters by differences."""
        number = self.numbers.get(self.abstracted(node))
        return Fraction(0) if number is None else self.lost[number]

    def abstracted(self, node: Node) -> Node:
        """Return the pair without the values of its counters."""
        (first, ours), (second, theirs) = map(self.without, node[:2])
        apart = iter(node[2])
        differences = [
            next(apart) if a is None or b is None else _FREE if a is b else a - b
            for a, b in zip(ours, theirs, strict=True)
        ]
        return first, second, tuple(differences)

    def without(self, number: int) -> tuple[int, tuple[Fraction | None, ...]]:
        """Return a state without the values of its counters, and these."""
        known = self.parts.get(number)
        if known is None:
            rest: list[Value | None] = []
            counted: list[Fraction | None] = []
            for cell, value in zip(
                self.system.service.states, self.fine.states[number], strict=True
            ):
                if cell.name in self.system.kept:
                    assert not isinstance(value, str)
                    counted.append(value)
                    value = None
                rest.append(value)
            known = self.parts[number] = self.system.number(tuple(rest)), tuple(counted)
        return known


_FREE = Fraction(0)
