"""The least budget of a service for every sequence of calls, or what shows that there is none.

    service -> transitions (`system`) -> pairs of runs (`pairs`) -> longest path (`longest`)
        -> the calls and replies along it, run again on values (`traces`): a lower bound

The longest path is an upper bound whatever the replies leave open. The least budget is known where
both meet.

Short courses. Short courses of calls, one after the other: what shows more than the longest path
does.

Where replies leave open what a service remembers, the course along a longest path may show little:
other states of the two runs answer alike. Here courses are followed on values, with the whole
distribution over states, the shortest first, and the one that tells most is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import inf, prod

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import EarlyEnd
from dipapprox.language.domains import AllReals
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits, limited
from dipapprox.services.abstraction import loss_by_counters
from dipapprox.services.longest import Cycle
from dipapprox.services.loss import Loss, Repetition, paths_of, weight_of
from dipapprox.services.model import Call, Inexpressible, Untracked
from dipapprox.services.pairs import Edge, Exploration, PairGraph
from dipapprox.services.ratios import Gain
from dipapprox.services.reachable import Examiner
from dipapprox.services.search import PairSearch, tight_path
from dipapprox.services.system import BY_VALUE, System
from dipapprox.services.traces import Reply, Runs, SeenCall, Trace, with_best_replies

_MOST_COURSES = 300
"""Courses whose probabilities are compared."""


@dataclass(frozen=True, slots=True)
class ShownCourse:
    """What a course shows.

    Attributes:
        trace: The course.
        gain: Of the first run over the second; None if only the first run can answer so.
    """

    trace: Trace
    gain: Gain | None

    @property
    def is_unbounded(self) -> bool:
        """Whether it shows that there is no budget."""
        return self.gain is None or self.gain.is_unbounded


def best_short_course(
    system: System, examiner: Examiner, upper: Fraction | None, limits: Limits
) -> ShownCourse | None:
    """Return the course that shows most among short ones.

    Args:
        system: With values for all cells.
        examiner: Who looks.
        upper: In eps; no course shows more, so that the search may end there. None: not known.
        limits: Asked often.

    Raises:
        LimitReached: If the time runs out.
        Inexpressible: See `System.step`.
    """
    best: ShownCourse | None = None
    waiting = deque([_Course((), Runs(system, limits), False)])
    compared = 0
    while waiting and compared < _MOST_COURSES:
        limits.check()
        course = waiting.popleft()
        for event, differ in _next(system, examiner, course):
            (filled,), after = with_best_replies([event], system, limits, course.runs.copy())
            if not after.first:
                continue
            events = *course.events, filled
            if not after.second:
                if after.is_one_sided():
                    return ShownCourse(events, None)
                continue
            waiting.append(_Course(events, after, differ))
            if not differ or event.reply is None:
                continue
            compared += 1
            gain = after.gain()
            if gain is None:
                continue
            if gain.is_unbounded:
                return ShownCourse(events, gain)
            if best is None or best.gain is None or gain.lower > best.gain.lower:
                best = ShownCourse(events, gain)
                if upper is not None and gain.lower >= upper:
                    return best
    return best


@dataclass(frozen=True, slots=True)
class _Course:
    events: tuple[SeenCall, ...]
    runs: Runs
    differ: bool


def _next(system: System, examiner: Examiner, course: _Course) -> Iterator[tuple[SeenCall, bool]]:
    """Yield what may follow, and whether the runs differ then."""
    for event in _alike(system, examiner, course.runs):
        yield event, course.differ
    if not course.differ:
        for event in _differing(system):
            yield event, True


def _alike(system: System, examiner: Examiner, runs: Runs) -> Iterator[SeenCall]:
    """Yield what both runs may be asked, with all replies of the first one."""
    for call in system.calls:
        if not examiner.sees(system, call):
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


_LARGE = 10_000
"""States from which on it is tried to keep cells that are compared by differences, too."""

_FEW = 1000
"""States and pairs that are looked at first for what shows that there is no budget."""

_MOST_TOPS = 20
"""Longest paths that are run on values, to find one that shows its whole length."""

_MOST_SINGLE = 50
"""Calls that lead back to where they are made, and are looked at one by one."""

_MOST_JUMPS = 200
"""Steps with quotients that do not vanish with eps which are looked at one by one."""


def find_loss(
    service: Service, examiner: Examiner, limits: Limits, eps: Fraction | None = None
) -> Loss:
    """Find the least budget, or bounds of it.

    Args:
        service: Elaborated.
        examiner: Who looks.
        limits: Of all.
        eps: The only one that is asked about; None asks about all.

    Raises:
        SourceError: If a handler does something meaningless in a state that calls lead to.
        UserError: If a random choice is no probability distribution for some eps.
    """
    if _size(service) <= _LARGE:
        return loss_by_values(service, examiner, limits, inf, eps)
    coarse = loss_by_counters(service, examiner, limits, _LARGE, eps)
    if coarse is not None and (coarse.is_known or coarse.unbounded):
        return coarse
    for most in (_FEW, inf):
        fine = loss_by_values(service, examiner, limits, most, eps)
        if fine.unbounded or fine.upper is not None:
            return fine
    coarse = coarse or loss_by_counters(service, examiner, limits, inf, eps)
    if coarse is None:
        return fine
    shown = replace(coarse, lower=fine.lower, trace=fine.trace)
    return shown if fine.lower > coarse.lower else coarse


def _size(service: Service) -> int:
    """Return how many states there are at most, additive cells left out."""
    return prod(
        len(s.cell.domain) for s in service.states if not isinstance(s.cell.domain, AllReals)
    )


def loss_by_values(
    service: Service,
    examiner: Examiner,
    limits: Limits,
    most: float = inf,
    eps: Fraction | None = None,
) -> Loss:
    """Find the loss with values for all cells that are not additive.

    Args:
        service: Elaborated.
        examiner: Who looks.
        limits: Of all.
        most: States, and pairs, that are looked at.
        eps: The only one that is asked about; None asks about all.

    Raises:
        SourceError, UserError: See `find_loss`.
    """
    additive = frozenset(cell.name for cell in service.states if cell.is_additive)
    numbers = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    ways = [(True, True), (True, False)] if additive else []
    ways = [(a, b) for a, b in ways if numbers or not b] + [(False, False)]
    for by_differences, any_data in ways:
        graph = PairGraph()
        system = System(service, additive if by_differences else BY_VALUE, any_data, limits, eps)
        try:
            reason = ""
            with EarlyEnd() as end, limited(limits):
                try:
                    Exploration(graph, system, examiner, limits).run(most)
                except Inexpressible as missing:
                    reason = str(missing)
        except Untracked:
            continue
        values = System(service, BY_VALUE, False, limits, eps) if additive else system
        search = _Search(graph, system, values, examiner, limits)
        search.is_whole = end.reason is None
        return search.answer(reason if end.reason is None else end.reason)
    raise AssertionError("with values for all cells everything is tracked")


class _Search(PairSearch):
    is_whole = True
    """Whether all pairs were found."""

    def answer(self, reason: str) -> Loss:
        known = self.known(reason)
        with EarlyEnd() as end, limited(self.limits):
            try:
                return self.conclude(known)
            except Inexpressible as missing:
                return replace(known, reason=known.reason or str(missing))
        return replace(known, reason=known.reason or end.reason or "")

    def conclude(self, known: Loss) -> Loss:
        graph = self.graph
        if graph.one_sided is not None:
            found = self.one_sided_trace()
            if found is not None:
                return replace(known, trace=found, one_sided=True, reason="")
            reason = "whether a reply is possible in one run only depends on its noise"
            return self.with_short_course(replace(known, reason=known.reason or reason))
        vanishing = self.vanishing_trace()
        if vanishing is not None:
            return replace(known, trace=vanishing, vanishing=True, reason="")
        unknown = any(edge.gain.upper is None for row in graph.edges for edge in row)
        values, cycle = paths_of(graph, self.limits)
        if cycle:
            repetition = self.repetition(cycle)
            if repetition is not None:
                trace = repetition.trace
                return replace(known, trace=trace, repetition=repetition, reason="")
            reason = "calls that can be repeated may gain something each time"
            return self.with_short_course(replace(known, reason=known.reason or reason))
        if not graph.covers and not graph.least:
            if known.reason:
                return self.with_short_course(known)
            return replace(known, upper=Fraction(0))
        starts = {node: values[node] + cover.gain for node, cover in graph.covers.items()}
        upper = max(starts.values(), default=graph.least)
        tops = [node for node, start in starts.items() if start == upper]
        upper = max(upper, graph.least)
        courses = (
            self.events_from(graph.covers[top], self.along(top, values))
            for top in tops[:_MOST_TOPS]
        )
        best = self.shown(replace(known, upper=upper), courses)
        known = replace(known, lower=best.lower, trace=best.trace)
        if known.reason:
            return self.with_short_course(known)
        if unknown:
            return replace(known, reason="how much a reply tells is not bounded for every eps")
        bounded = replace(known, upper=upper, values=values)
        if not bounded.is_known:
            bounded = self.with_short_course(bounded)
        return bounded if bounded.is_known else replace(bounded, reason=self.doubt())

    def with_short_course(self, known: Loss) -> Loss:
        """Return the bounds with a better course, if a short one shows more.

        Not where a limit ended the exploration: what is missing is then the rest of the pairs.
        """
        if not self.is_whole:
            return known
        with EarlyEnd(), limited(self.limits):
            try:
                found = best_short_course(self.values, self.examiner, known.upper, self.limits)
            except Inexpressible:
                return known
            if found is None:
                return known
            if found.is_unbounded:
                one_sided = found.gain is None
                known = replace(known, upper=None, trace=found.trace, reason="")
                return replace(known, one_sided=one_sided, vanishing=not one_sided)
            if found.gain is not None and found.gain.lower > known.lower:
                return replace(known, lower=found.gain.lower, trace=found.trace)
        return known

    def doubt(self) -> str:
        """Say why the two bounds do not meet."""
        if not self.graph.determined:
            return "replies do not determine what the service remembers"
        if any(edge.gain.exact is None for row in self.graph.edges for edge in row):
            return "what replies tell is no multiple of eps"
        return "clamped replies hide part of a difference"

    # --- paths ----------------------------------------------------------------------------------

    def along(self, node: int, values: Sequence[Fraction]) -> list[Edge]:
        """Return the edges of a longest path with as few calls as possible."""
        lost = (*values, Fraction(0))  # the last is that of EQUAL
        path = tight_path(node, self.graph.edges.__getitem__, lost.__getitem__)
        assert path is not None
        return path

    # --- no budget ------------------------------------------------------------------------------

    def one_sided_trace(self) -> Trace | None:
        """Return a trace that ends in the reply, if only one run can give it there."""
        found = self.graph.one_sided
        assert found is not None
        events = self.events_to(found.node)
        assert events is not None
        events.append(SeenCall(found.call, found.call, found.reply))
        filled, runs = with_best_replies(events, self.values, self.limits)
        if not runs.is_one_sided():
            return None
        return filled

    def vanishing_trace(self) -> Trace | None:
        """Return a trace whose quotient does not go to 1 as eps vanishes, if one is found."""
        places = [
            (node, edge)
            for node, row in enumerate(self.graph.edges)
            for edge in row
            if edge.gain.is_unbounded
        ]
        for node, edge in places[:_MOST_JUMPS]:
            leading = self.events_to(node)
            if leading is None:
                continue
            events = [*leading, self.event(edge)]
            filled, runs = with_best_replies(events, self.values, self.limits)
            gain = runs.gain()
            if gain is not None and gain.is_unbounded:
                return filled
        return None

    def repetition(self, cycle: Cycle) -> Repetition | None:
        """Return the calls round a cycle, if runs on values confirm what they gain.

        Where replies leave open where the runs are, single calls that lead back are tried, too.
        """
        single = (
            ((node, number),)
            for node, row in enumerate(self.graph.edges)
            for number, edge in enumerate(row)
            if edge.target == node and weight_of(edge) > 0
        )
        others = () if self.graph.determined else islice(single, _MOST_SINGLE)
        for each in (cycle, *others):
            found = self.round_of(each)
            if found is not None:
                cover, leading, turned = found
                repetition = self.repeated(self.graph.covers[cover], leading, turned)
                if repetition is not None:
                    return repetition
        return None
