"""The least budget of a service for every sequence of calls, or what shows that there is none.

    service -> transitions (`system`) -> pairs of runs (`pairs`) -> longest path (`loss`)
        -> the calls and replies along it, run again on values (`traces`): a lower bound

The longest path is an upper bound whatever the replies leave open. The least budget is known where
both meet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from math import inf, prod

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd
from dipapprox.language.domains import AllReals
from dipapprox.language.services import Change
from dipapprox.limits import limited
from dipapprox.services.abstraction import loss_by_counters
from dipapprox.services.loss import Cycle, Loss, noted, paths_of
from dipapprox.services.model import AskedService, Call, Inexpressible, Untracked
from dipapprox.services.pairs import Edge, RunPairs
from dipapprox.services.search import PairSearch, tight_path
from dipapprox.services.system import BY_VALUE, System
from dipapprox.services.traces import Reply, Runs, SeenCall, Trace, with_best_replies

_MOST_COURSES = 300  # courses whose probabilities are compared


def short_courses(system: System) -> Iterator[tuple[Trace, Runs]]:
    """Yield courses whose last reply may tell two runs apart, and the runs after them."""
    waiting = deque([(Trace(), Runs(system), False)])
    compared = 0
    while waiting and compared < _MOST_COURSES:
        system.limits.check()
        course, runs, differ = waiting.popleft()
        following = [(event, differ) for event in _alike(system, runs)]
        if not differ:
            following += [(event, True) for event in _differing(system)]
        for event, apart in following:
            filled, after = with_best_replies([event], system, runs.copy())
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


_LARGE = 10_000
"""States from which on it is tried to keep cells that are compared by differences, too."""

_FEW = 1000  # states and pairs that are looked at first for what shows that there is no budget
_MOST_TOPS = 20  # longest paths that are run on values, to find one that shows its whole length
_MOST_SINGLE = 50  # calls that lead back to where they are made, and are looked at one by one
_MOST_JUMPS = 200  # steps with quotients that do not vanish with eps which are looked at one by one


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


def loss_by_values(asked: AskedService, most: float = inf) -> Loss:
    """Find the loss with values for all cells that are not additive."""
    service = asked.service
    additive = frozenset(cell.name for cell in service.states if cell.is_additive)
    numbers = all(isinstance(v, Fraction) for v in service.data.arguments[0].domain)
    ways = [(additive, True)] * numbers + [(additive, False)] if additive else []
    for kept, any_data in (*ways, (BY_VALUE, False)):
        pairs = RunPairs(System(asked, kept, any_data))
        reason = ""
        try:
            with EarlyEnd() as end, limited(asked.limits):
                try:
                    pairs.explore(most)
                except Inexpressible as missing:
                    reason = str(missing)
        except Untracked:
            continue
        search = _Search(pairs, System(asked) if additive else pairs.system)
        search.is_whole = end.reason is None
        return search.answer(Loss(reason=end.reason or reason, pairs=pairs))
    raise AssertionError("with values for all cells everything is tracked")


class _Search(PairSearch):
    is_whole = True
    """Whether all pairs were found."""

    def answer(self, known: Loss) -> Loss:
        with EarlyEnd() as end, limited(self.limits):
            try:
                return self.conclude(known)
            except Inexpressible as missing:
                return replace(known, reason=known.reason or str(missing))
        return replace(known, reason=known.reason or end.reason or "")

    def conclude(self, known: Loss) -> Loss:
        pairs = self.pairs
        if pairs.one_sided is not None:
            found = self.run(known, self.one_sided_course())
            if found.unbounded:
                return found
            reason = "whether a reply is possible in one run only depends on its noise"
            return self.with_short_course(replace(known, reason=known.reason or reason))
        for course in islice(self.jumps(), _MOST_JUMPS):
            found = self.run(known, course)
            if found.unbounded:
                return found
        unknown = any(edge.gain.upper is None for row in pairs.edges for edge in row)
        values, cycle = paths_of(pairs)
        if cycle:
            found = self.repetition(known, cycle)
            if found.unbounded:
                return found
            reason = "calls that can be repeated may gain something each time"
            return self.with_short_course(replace(known, reason=known.reason or reason))
        if not pairs.covers and not pairs.least:
            if known.reason:
                return self.with_short_course(known)
            return replace(known, upper=Fraction(0))
        starts = {node: values[node] + cover.gain for node, cover in pairs.covers.items()}
        upper = max(starts.values(), default=pairs.least)
        tops = [node for node, start in starts.items() if start == upper]
        upper = max(upper, pairs.least)
        courses = (
            self.events_from(pairs.covers[top], self.along(top, values))
            for top in tops[:_MOST_TOPS]
        )
        bounded = self.shown(replace(known, upper=upper, values=values), courses)
        if bounded.unbounded:
            return bounded
        if known.reason or unknown:
            bounded = replace(bounded, upper=None, values=())
        if known.reason:
            return self.with_short_course(bounded)
        if unknown:
            return replace(bounded, reason="how much a reply tells is not bounded for every eps")
        if not bounded.is_known:
            bounded = self.with_short_course(bounded)
        return bounded if bounded.is_known else replace(bounded, reason=self.doubt())

    def with_short_course(self, known: Loss) -> Loss:
        """Return the bounds with a better course, if a short one shows more.

        Where replies leave open what a service remembers, the course along a longest path may show
        little: other states of the two runs answer alike. So courses are followed on values, with
        the whole distribution over states, the shortest first. Not where a limit ended the
        exploration: what is missing is then the rest of the pairs.
        """
        if not self.is_whole:
            return known
        with EarlyEnd(), limited(self.limits), suppress(Inexpressible):
            for course, runs in short_courses(self.values):
                known = noted(known, course, runs)
                if known.unbounded or (known.upper is not None and known.lower >= known.upper):
                    break
        return known

    def doubt(self) -> str:
        """Say why the two bounds do not meet."""
        if not self.pairs.determined:
            return "replies do not determine what the service remembers"
        if any(edge.gain.exact is None for row in self.pairs.edges for edge in row):
            return "what replies tell is no multiple of eps"
        return "clamped replies hide part of a difference"

    def along(self, node: int, values: Sequence[Fraction]) -> list[Edge]:
        """Return the edges of a longest path with as few calls as possible."""
        lost = (*values, Fraction(0))  # the last is that of EQUAL
        path = tight_path(node, self.pairs.edges.__getitem__, lost.__getitem__)
        assert path is not None
        return path

    # --- no budget ------------------------------------------------------------------------------

    def one_sided_course(self) -> list[SeenCall]:
        """Return the calls up to the reply that only one run can give."""
        found = self.pairs.one_sided
        assert found is not None
        events = self.events_to(found.node)
        assert events is not None
        return [*events, SeenCall(found.call, found.call, found.reply)]

    def jumps(self) -> Iterator[list[SeenCall]]:
        """Yield courses whose last reply seems to tell the runs apart however small eps is."""
        for node, row in enumerate(self.pairs.edges):
            for edge in row:
                if edge.gain.is_unbounded:
                    leading = self.events_to(node)
                    if leading is not None:
                        yield [*leading, self.event(edge)]

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
                cover, leading, turned = found
                known = self.repeated(known, self.pairs.covers[cover], leading, turned)
            if known.unbounded:
                break
        return known
