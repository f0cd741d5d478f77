"""What a graph of pairs says of the loss, and courses of calls and replies along its paths.

    service -> transitions (`system`) -> pairs of runs (`pairs`) -> longest path (`loss`)
        -> the calls and replies along it, run again on values: a lower bound

The longest path is an upper bound whatever the replies leave open. The least budget is known where
both meet.

Courses are events on values. Up to the calls in which the runs differ they are one run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import inf

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd
from dipapprox.graphs import shortest_way
from dipapprox.language.services import Change
from dipapprox.limits import check_limits
from dipapprox.services.loss import (
    Cycle,
    Loss,
    Reply,
    Runs,
    SeenCall,
    Trace,
    from_start,
    noted,
    paths_of,
    repeated,
    with_best_replies,
)
from dipapprox.services.model import AskedService, Call, Inexpressible, Untracked
from dipapprox.services.pairs import EQUAL, Covering, Edge, OneSided, RunPairs, with_data
from dipapprox.services.system import BY_VALUE, System

_MOST_COURSES = 300  # courses whose probabilities are compared
_MOST_TOPS = 20  # longest paths that are run on values, to find one that shows its whole length
_MOST_SINGLE = 50  # calls that lead back to where they are made, and are looked at one by one
_MOST_JUMPS = 200  # steps with quotients that do not vanish with eps which are looked at one by one


def loss_by_values(asked: AskedService, most: float = inf) -> Loss:
    """Find the loss with values for all cells that are not additive."""
    service = asked.service
    additive = frozenset(cell.name for cell in service.states if cell.is_additive)
    numbers = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    ways = [(additive, True)] * numbers + [(additive, False)] if additive else []
    for kept, any_data in (*ways, (BY_VALUE, False)):
        pairs = RunPairs(System(asked, kept, any_data))
        known = Loss(pairs=pairs)
        try:
            with EarlyEnd() as end:
                try:
                    pairs.explore(most)
                except Inexpressible as missing:
                    known = known.because(str(missing))
        except Untracked:
            continue
        is_whole = end.reason is None
        known = known.because(end.reason)
        search = PairSearch(pairs, System(asked) if additive else pairs.system, is_whole)
        with EarlyEnd() as end:
            found = search.conclude(known)
            return found if found.unbounded else search.at_last(found)
        return known.because(end.reason)
    raise AssertionError("with values for all cells everything is tracked")


def tight_path(
    start: int, edges: Callable[[int], Iterable[Edge]], lost: Callable[[int], Fraction]
) -> list[Edge]:
    """Return a shortest path along which all is lost that may be lost from a pair on; no edges if
    none is found.

    Nothing is lost from EQUAL.
    """

    def tight(node: int) -> Iterator[tuple[Edge, int]]:
        here = lost(node)
        return ((e, e.target) for e in edges(node) if e.weight + lost(e.target) == here)

    found = shortest_way([start], tight, lambda node: not lost(node))
    return [] if found is None else found[1]


class PairSearch:
    """Pairs, all of them if `is_whole`, and what shows what they say."""

    def __init__(self, pairs: RunPairs, values: System, is_whole: bool = True) -> None:
        self.pairs, self.values, self.is_whole = pairs, values, is_whole
        self.system = pairs.system

    def conclude(self, known: Loss) -> Loss:
        """Return what longest paths bound, or what shows that there is no budget."""
        pairs = self.pairs
        for course in islice(self.telling(), _MOST_JUMPS):
            found = noted(known, *with_best_replies(course, from_start(self.values)))
            if found.unbounded:
                return found
        if pairs.one_sided is not None:
            return self.with_short_course(known.because(_BY_NOISE))
        values, cycle = paths_of(pairs)
        if cycle:
            found = self.repetition(known, cycle)
            if found.unbounded:
                return found
            return self.with_short_course(known.because(_BY_REPETITION))
        if not pairs.covers and not pairs.least:
            return self.with_short_course(known) if known.reason else replace(known, upper=_ZERO)
        starts = {node: values[node] + edge.weight for node, (_, edge) in pairs.covers.items()}
        most = max(starts.values(), default=pairs.least)
        tops = [node for node, start in starts.items() if start == most]
        lost = (*values, _ZERO)  # the last is that of EQUAL
        courses = (
            self.events_from(
                pairs.covers[top], tight_path(top, pairs.edges.__getitem__, lost.__getitem__)
            )
            for top in tops[:_MOST_TOPS]
        )
        upper = max(most, pairs.least)
        bounded = self.shown(replace(known, upper=upper, values=values), courses)
        if bounded.unbounded:
            return bounded
        unknown = any(edge.gain.upper is None for row in pairs.edges for edge in row)
        if known.reason or unknown:
            bounded = replace(bounded, upper=None, values=()).because(_UNBOUNDED)
            return self.with_short_course(bounded) if known.reason else bounded
        if not bounded.is_known:
            bounded = self.with_short_course(bounded)
        return bounded if bounded.is_known else bounded.because(self.doubt())

    def shown(self, known: Loss, courses: Iterable[Sequence[SeenCall]]) -> Loss:
        """Return what courses show at least; the first that shows all that may be lost will do."""
        for course in courses:
            trace, runs = with_best_replies(course, from_start(self.values))
            if runs.first and known.trace is None:
                known = replace(known, trace=trace)
            known = noted(known, trace, runs)
            if known.is_known or known.unbounded:
                break
        return known

    def with_short_course(self, known: Loss) -> Loss:
        """Return the bounds with a better course, if a short one shows more.

        Where replies leave open what a service remembers, the course along a longest path may show
        little: other states of the two runs answer alike. So courses are followed on values, with
        the whole distribution over states, the shortest first. Not where a limit ended the
        exploration: what is missing is then the rest of the pairs.
        """
        if not self.is_whole:
            return known
        with EarlyEnd():
            for course, runs in short_courses(self.values):
                known = noted(known, course, runs)
                if known.unbounded or (known.upper is not None and known.lower >= known.upper):
                    break
        return known

    def doubt(self) -> str:
        if not self.pairs.determined:
            return "replies do not determine what the service remembers"
        if any(edge.gain.exact is None for row in self.pairs.edges for edge in row):
            return "what replies tell is no multiple of eps"
        return "clamped replies hide part of a difference"

    # --- no budget ------------------------------------------------------------------------------

    def telling(self) -> Iterator[list[SeenCall]]:
        """Yield courses whose last reply only one run can give; if there is none, those whose last
        reply seems to tell the runs apart however small eps is."""
        if self.pairs.one_sided is not None:
            yield from self.one_sided(self.pairs.one_sided)
            return
        for node, row in enumerate(self.pairs.edges):
            for edge in row:
                if edge.gain.is_unbounded and (path := self.path_to((node,))) is not None:
                    yield [*self.events_from(*path[:2]), self.event(edge)]

    def one_sided(self, only: OneSided) -> Iterator[list[SeenCall]]:
        """Yield a course, if there is one, to a reply that only one run, then the first, gives."""
        node, call, reply, is_back = only
        path = self.path_to((node,))
        if path is not None:
            course = [*self.events_from(*path[:2]), SeenCall(call, call, reply)]
            if is_back:  # adjacent calls are so in both orders
                course = [SeenCall(e.second, e.first, e.reply) for e in course]
            yield course

    def at_last(self, known: Loss) -> Loss:
        """Return what is known with the reply that is the last resort."""
        found = known
        if self.pairs.last_resort is not None:
            for course in self.one_sided(self.pairs.last_resort):
                found = noted(found, *with_best_replies(course, from_start(self.values)))
        return replace(found, otherwise=known) if found.unbounded else known

    def repetition(self, known: Loss, cycle: Cycle) -> Loss:
        """Return what is known when the calls round a cycle were run on values; where replies leave
        open where the runs are, single calls that lead back are tried, too."""
        single = (
            ((node, number),)
            for node, row in enumerate(self.pairs.edges)
            for number, edge in enumerate(row)
            if edge.target == node and edge.weight > 0
        )
        others = () if self.pairs.determined else islice(single, _MOST_SINGLE)
        for each in (cycle, *others):
            found = self.round_of(each)
            if found is not None:
                known = self.repeated(known, *found)
            if known.unbounded:
                break
        return known

    def repeated(
        self, known: Loss, cover: Covering, leading: Sequence[Edge], turned: Sequence[Edge]
    ) -> Loss:
        """Return what is known when the calls round a cycle were run on values."""
        before = self.events_from(cover, leading)
        return repeated(known, before, list(map(self.event, turned)), self.values)

    # --- paths ----------------------------------------------------------------------------------

    def path_to(self, wanted: Collection[int]) -> tuple[Covering, list[Edge], int] | None:
        """Return a shortest path from a covering pair to a wanted one: start, edges, end."""

        def leaving(node: int) -> Iterator[tuple[Edge, int]]:
            return ((e, e.target) for e in self.pairs.edges[node] if e.target != EQUAL)

        found = shortest_way(self.pairs.covers, leaving, wanted.__contains__)
        return None if found is None else (self.pairs.covers[found[0]], *found[1:])

    def round_of(self, cycle: Cycle) -> tuple[Covering, list[Edge], list[Edge]] | None:
        """Return a covering pair, the path from there to a cycle, and once round it."""
        nodes = [node for node, _ in cycle]
        path = self.path_to(nodes)
        if path is None:
            return None
        cover, leading, entry = path
        turn = nodes.index(entry)
        return cover, leading, [self.pairs.edges[n][a] for n, a in (*cycle[turn:], *cycle[:turn])]

    def event(self, edge: Edge) -> SeenCall:
        """Return what an edge stands for; replies have None where samples are published."""
        first, second = edge.calls
        is_seen = first is not None and first == second and self.system.sees(first)
        return SeenCall(first, second, edge.outcomes[0].values if is_seen else None)

    def events_from(self, cover: Covering, edges: Sequence[Edge]) -> list[SeenCall]:
        state, differing = cover
        events = list[SeenCall]()
        while (before := self.pairs.parents[state]) is not None:
            state, call = before.state, before.call
            if call.is_data and self.system.any_data:
                call = with_data(call, *self.pairs.calm)
            reply = before.outcome.values if self.system.sees(call) else None
            events.append(SeenCall(call, call, reply))
        return [*reversed(events), *map(self.event, (differing, *edges))]


_ZERO = Fraction(0)
_BY_NOISE = "whether a reply is possible in one run only depends on its noise"
_BY_REPETITION = "calls that can be repeated may gain something each time"
_UNBOUNDED = "how much a reply tells is not bounded for every eps"


def short_courses(system: System) -> Iterator[tuple[Trace, Runs]]:
    """Yield courses whose last reply may tell two runs apart, and the runs after them."""
    waiting = deque([(Trace(), from_start(system), False)])
    compared = 0
    while waiting and compared < _MOST_COURSES:
        check_limits()
        course, runs, differ = waiting.popleft()
        following = [(event, differ) for event in _alike(system, runs)]
        if not differ:
            following += [(event, True) for event in _differing(system)]
        for event, apart in following:
            filled, after = with_best_replies([event], runs)
            if not after.first:
                continue
            longer = course + filled
            if after.second:
                waiting.append((longer, after, apart))
            if not after.second or (apart and event.reply is not None):
                compared += bool(after.second)
                yield longer, after


def _alike(system: System, runs: Runs) -> Iterator[SeenCall]:
    """Yield what both runs may be asked, with all replies of the first one."""
    for call in system.calls:
        if not system.sees(call):
            yield SeenCall(call, call, None)
            continue
        replies = dict[Reply, None]()
        for state in runs.first:
            replies.update((outcome.values, None) for outcome in system.step(state, call))
        for reply in replies:
            yield SeenCall(call, call, reply)


def _differing(system: System) -> Iterator[SeenCall]:
    """Yield the calls in which the runs may differ."""
    calls: list[Call | None] = [call for call in system.calls if call.is_data]
    if system.service.change is Change.INSERT:
        yield from (
            event for c in calls for event in (SeenCall(c, None, None), SeenCall(None, c, None))
        )
    else:
        yield from (SeenCall(one, other, None) for one in calls for other in calls if one != other)
