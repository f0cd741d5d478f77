"""The least budget of a service for every sequence of calls, or what shows that there is none.

Small services: `search`. Large ones: cells that are compared with constants are kept by differences
as well.

Two runs differ in few cells, and mostly by known numbers: a slot holds one point more. What such
*counters* hold is left open: comparisons then have several cases (`handlers`), all of which are
followed, so that there are at least the pairs of runs that calls lead to. The longest path is an
upper bound. Where calls that can be repeated seem to gain, they are followed on values, filling
counters before calls that ask for it; if that leads nowhere back, the counters that change on the
way round are given their values, and all is done again.

The lower bound is a course of calls on values. It is searched among pairs of runs with values for
the counters, along edges that lose nothing of the upper bound:

    weight + V(target) = V(pair)        V the longest paths of the pairs by differences
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache, cached_property
from itertools import islice
from math import inf, prod

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.language.core import Value
from dipapprox.language.domains import AllReals
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.services.handlers import cells_told, hull_of, range_of
from dipapprox.services.invariants import Invariants
from dipapprox.services.loss import Cycle, Loss, paths_of
from dipapprox.services.model import Arrival, AskedService, Call, Inexpressible, State, Untracked
from dipapprox.services.pairs import EQUAL, Covering, Edge, Node, RunPairs
from dipapprox.services.search import PairSearch, loss_by_values, tight_path
from dipapprox.services.system import System

_LARGE = 10_000
"""States from which on it is tried to keep cells that are compared by differences, too."""

_FEW = 1000  # states and pairs that are looked at first for what shows that there is no budget


def find_loss(asked: AskedService) -> Loss:
    """Find the least budget, or bounds of it."""
    domains = (each.cell.domain for each in asked.service.states)
    # How many states there are at most, additive cells left out.
    if prod(len(each) for each in domains if not isinstance(each, AllReals)) <= _LARGE:
        return loss_by_values(asked)
    coarse = loss_by_counters(asked, _LARGE)
    if coarse is not None and (coarse.is_known or coarse.unbounded):
        return coarse
    for most in (_FEW, inf):
        fine = loss_by_values(asked, most)
        if fine.unbounded or fine.upper is not None:
            return fine
    coarse = coarse or loss_by_counters(asked)
    if coarse is None:
        return fine
    shown = replace(coarse, lower=fine.lower, trace=fine.trace)
    return shown if fine.lower > coarse.lower else coarse


_MOST_BEFORE = 50
"""States in which the runs may begin to differ, in the search for a course of calls."""

_MOST_PAIRS = 30_000  # pairs that are looked at in this search
_MOST_ROUNDS = 20  # of calls that are repeated, until both runs are where they were before
_MOST_COURSES = 5  # courses that are run on values


def loss_by_counters(asked: AskedService, most: float = inf) -> Loss | None:
    """Find the loss with counters by differences, looking at so many states and pairs for each
    choice of counters: bounds, the upper one known, or that there is none; None if differences
    show neither."""
    service = asked.service
    additive = frozenset(cell.name for cell in service.states if cell.is_additive)
    counters = {s.name for s in service.states if range_of(s.cell) is not None}
    any_data = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    with EarlyEnd():
        while counters:
            try:
                search = _Search(System(asked, additive | counters, any_data))
                search.require_domains(most)
                search.pairs.explore(most)
                edges = (edge for row in search.pairs.edges for edge in row)
                if search.pairs.one_sided or any(edge.gain.upper is None for edge in edges):
                    return None  # the longest paths bound nothing
                search.lost, cycle = paths_of(search.pairs)
                if not cycle:
                    return search.loss()
                repeated = search.counted_repetition(cycle)
                if repeated.unbounded:
                    return repeated
                needed: Collection[str] = search.counted_round(cycle) & counters
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
    """Pairs with some cells by differences: all counters in `system`, those that nothing compares
    in `fine`, the pairs in which a course is searched."""

    lost: tuple[Fraction, ...] = ()
    """What may be lost from each pair."""

    def __init__(self, system: System) -> None:
        super().__init__(RunPairs(system), System(system.asked))
        self.without = cache(self._without)

    @cached_property
    def fine(self) -> PairSearch:
        kept = self.system.kept - self.system.plain.compared
        fine = System(self.system.asked, kept, self.system.any_data)
        return PairSearch(RunPairs(fine), self.values)

    def require_domains(self, most: float) -> None:
        """Make sure that all cells always get values of their domains, and that nothing compares
        those that data go into, as of these only the ends are followed: else `Untracked`."""
        system, data = self.system, self.system.service.data.arguments[0]
        states, plain = system.reachable(most), system.plain
        cells = [cell for cell in system.service.states if cell.name in system.kept]
        names = tuple(cell.name for cell in cells)
        steps = (system.step(state, call) for state in states for call in system.calls)
        outcomes = [outcome for step in steps for outcome in step]
        fed, found = set[str](), {data.name}
        while found:
            fed |= found
            ways = (way for each in outcomes for way in zip(names, each.forms, strict=True))
            found = {name for name, form in ways if not fed.isdisjoint(form.inputs())} - fed
        if not fed.isdisjoint(plain.compared):
            raise Untracked
        ranges = {str(name): values for name, values in self.pairs.held.items()}
        if system.any_data and (hull := hull_of(data)) is not None:
            ranges[data.name] = hull
        initial: dict[Symbol, LinearForm] = {
            cell.name: LinearForm.constant_form(cell.initial)
            for cell in cells
            if isinstance(cell.initial, Fraction)
        }
        untold = Invariants(names, ranges, initial, outcomes).untold(plain.trusted)
        if untold:
            raise Untracked(untold[:1])

    def counted_round(self, cycle: Cycle) -> set[str]:
        """Return the cells that change on the way round a cycle, or are asked for."""
        edges = [self.pairs.edges[node][arc] for node, arc in cycle]
        return set[str]().union(*map(_asked_for, edges), *map(self.changed, edges))

    def changed(self, edge: Edge) -> set[str]:
        """Return the cells, of those by differences, that calls change."""
        kept = [cell.name for cell in self.system.service.states if cell.name in self.system.kept]
        return {
            name
            for outcome in edge.outcomes
            for name, form in zip(kept, outcome.forms, strict=True)
            if form != LinearForm.symbol(name)
        }

    def loss(self) -> Loss:
        starts = (self.lost[node] + edge.weight for node, (_, edge) in self.pairs.covers.items())
        upper = max((self.pairs.least, *starts))
        found = Loss(upper=upper, values=self.lost, pairs=self.pairs)
        if not upper:
            return found
        with EarlyEnd(), suppress(Untracked):
            begins = islice(self.begins(upper), _MOST_COURSES)
            courses = ((cover, self.course(begin)) for begin, cover in begins)
            found = self.shown(
                found, (self.fine.events_from(cover, edges) for cover, edges in courses if edges)
            )
        if found.is_known or found.unbounded:
            return found
        return found.because("what counters hold is left open")

    # --- calls to repeat ------------------------------------------------------------------------

    def counted_repetition(self, cycle: Cycle) -> Loss:
        """Return what is known if the calls round a cycle are repeated on values."""
        known, found = Loss(pairs=self.pairs), self.round_of(cycle)
        if found is None:
            return known
        (before, _), leading, turned = found
        pairs = self.fine.pairs
        state = self.led_to(before)
        if state is None:
            return known
        for edge in pairs.covering(state):
            way = None if edge.target == EQUAL else self.followed(edge.target, leading)
            begins = dict[int, int]()  # how many calls lead to where rounds begin
            while way is not None and len(begins) < _MOST_ROUNDS:
                here = way[-1].target if way else edge.target
                if here in begins:
                    place = begins[here]
                    known = self.fine.repeated(known, (state, edge), way[:place], way[place:])
                    break
                begins[here] = len(way)
                onward = self.followed(here, turned)
                way = None if onward is None else [*way, *onward]
            if known.unbounded:
                break
        return known

    def led_to(self, state: State) -> State | None:
        """Return a state by value that the calls lead to which lead to one by differences; None if
        its counters forbid them."""
        fine, path = self.fine.system, list[tuple[Arrival, State]]()
        while (arrival := self.pairs.parents[state]) is not None:
            path.append((arrival, state))
            state = arrival.state
        here, parents = fine.initial, dict[State, Arrival | None]({fine.initial: None})
        for arrival, wanted in reversed(path):
            for outcome in fine.step(here, arrival.call):
                if self.without(fine.number(outcome.state))[0] == self.system.number(wanted):
                    break
            else:
                return None
            parents.setdefault(outcome.state, Arrival(here, arrival.call, outcome))
            here = outcome.state
        self.fine.pairs.parents = parents
        return here

    def followed(self, node: int, edges: Sequence[Edge]) -> list[Edge] | None:
        """Return edges of pairs by value that follow those by differences; None if they end.

        Before an edge calls that change nothing but counters are repeated until it is possible.
        """
        found = list[Edge]()
        for edge in edges:
            onward = self.prepared(node, edge)
            if onward is None:
                return None
            found += onward
            node = found[-1].target
        return found

    def prepared(self, node: int, edge: Edge) -> list[Edge] | None:
        begin = self.pairs.numbers[self.abstracted(self.fine.pairs.nodes[node])]
        idle = [
            each
            for each in self.pairs.edges[begin]
            if each.target == begin and not _asked_for(edge).isdisjoint(self.changed(each))
        ]
        for again in (None, *idle):
            way, here, seen = list[Edge](), node, set[int]()
            while here not in seen:
                check_limits()
                seen.add(here)
                step = self.taken(here, edge)
                if step is not None:
                    return [*way, step]
                more = None if again is None else self.taken(here, again)
                if more is None:
                    break
                way.append(more)
                here = more.target
        return None

    def taken(self, node: int, edge: Edge) -> Edge | None:
        """Return the edge of a pair by value that is one of its pair by differences; None if its
        counters forbid it."""
        pairs = self.fine.pairs
        number = next(k for k, c in enumerate(pairs.system.calls) if self.stands(c, edge))
        wanted = self.pairs.nodes[edge.target] if edge.target != EQUAL else None
        onward = (e for e in pairs.leaving(node, number) if e.target != EQUAL)
        same = (e for e in onward if self.abstracted(pairs.nodes[e.target]) == wanted)
        alike = (e for e in same if e.gain.upper is not None and e.weight == edge.weight)
        return next(alike, None)

    def stands(self, call: Call, edge: Edge) -> bool:
        own, _ = edge.calls
        if call.is_data and self.system.any_data:
            return own is not None and own.is_data
        return call == own

    # --- courses on values ----------------------------------------------------------------------

    def begins(self, upper: Fraction) -> Iterator[tuple[int, Covering]]:
        """Yield pairs by value from which all of the upper bound may be lost."""
        pairs = self.fine.pairs
        pairs.parents = self.fine.system.reachable(_MOST_BEFORE)
        for state in pairs.parents:
            check_limits()
            for edge in pairs.covering(state):
                onward = _FREE if edge.target == EQUAL else self.lost_from(pairs.nodes[edge.target])
                if onward + edge.weight == upper:
                    yield edge.target, (state, edge)

    def course(self, begin: int) -> list[Edge]:
        """Return a shortest course along which all is lost that may be lost from a pair."""
        pairs, calls = self.fine.pairs, self.fine.system.calls

        @cache
        def lost(node: int) -> Fraction:
            return _FREE if node == EQUAL else self.lost_from(pairs.nodes[node])

        @cache
        def promising(number: int) -> list[int]:
            """The calls that may lose nothing of the upper bound, by a pair by differences."""
            tight = [
                edge
                for edge in self.pairs.edges[number]
                if edge.weight + (self.lost[edge.target] if edge.target != EQUAL else 0)
                == self.lost[number]
            ]
            return [k for k, c in enumerate(calls) if any(self.stands(c, edge) for edge in tight)]

        def known(node: int) -> Iterator[Edge]:
            check_limits()
            if len(pairs.nodes) >= _MOST_PAIRS:
                return
            for call in promising(self.pairs.numbers[self.abstracted(pairs.nodes[node])]):
                for edge in pairs.leaving(node, call):
                    if edge.gain.upper is not None:
                        yield edge

        return tight_path(begin, known, lost)

    def lost_from(self, node: Node) -> Fraction:
        """Return the longest path from a pair by value, its counters by differences."""
        number = self.pairs.numbers.get(self.abstracted(node))
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

    def _without(self, number: int) -> tuple[int, tuple[Fraction | None, ...]]:
        """Return a state without the values of its counters, and these."""
        rest: list[Value | None] = []
        counted: list[Fraction | None] = []
        states = self.fine.system.states[number]
        for cell, value in zip(self.system.service.states, states, strict=True):
            if cell.name in self.system.kept:
                assert not isinstance(value, str)
                counted.append(value)
                value = None
            rest.append(value)
        return self.system.number(tuple(rest)), tuple(counted)


def _asked_for(edge: Edge) -> set[str]:
    """Return the cells on which it depends whether an edge is possible."""
    return cells_told(told for outcome in edge.outcomes for told, _ in outcome.where)


_FREE = Fraction(0)
