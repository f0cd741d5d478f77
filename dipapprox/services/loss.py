"""What is known of the loss of a service: bounds, and what shows them in the graph of pairs.

One course of calls and replies has exact probabilities in two runs, whatever was abstracted. All
cells have values there, and the distribution over states that replies leave open is carried along.
So what a trace shows is a lower bound of the loss, however it was found.

Numbers that Laplace noise shows have densities. What they stand for are the events that such
numbers, up to h, were shown: their probabilities are the densities times h^*order*, as h vanishes,
the order being how many such numbers there are, and a run with ways of several orders is as likely
as those of the least. As densities are continuous, quotients of densities of equal order are
limits of quotients of probabilities of these events, and no smaller budget serves them.

Longest paths in graphs with cycles: by strong components, or a cycle that gains something.

Weights are integers, so nothing is lost to rounding. A path may end anywhere: no value is < 0.

Nodes are improved by their arcs as long as that is possible (Bellman and Ford). Let the best arc of
a node be the one that improved it last. As values only grow, V(node) <= weight + V(target) for it,
and < just before it was the best: so the way round a cycle of such arcs gains something. Without
such cycles values are weights of simple paths, of which there are finitely many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, product
from math import lcm

from dipapprox.data_classes import Record, field, replace
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, is_nonnegative
from dipapprox.exact.signs.values import compare_at, difference, sign_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.graphs import strong_components
from dipapprox.language.core import Value
from dipapprox.limits import check_limits
from dipapprox.services.model import Call, CallOutcome, Gain, Published, State, chance_of, gain_of
from dipapprox.services.pairs import RunPairs
from dipapprox.services.system import System

Reply = tuple[Value | None, ...]  # values of the reply cells
Belief = dict[State, ExponentialRatio]
"""The probability to have got here, for each state; the states of one run."""


class SeenCall(Record):
    first: Call | None  # the call in the first run; None if there is none
    second: Call | None
    reply: Reply | None  # what both answer; None if it is not seen


Trace = tuple[SeenCall, ...]  # a course of calls and replies in two runs


class Runs(Record, eq=False):
    """The two runs of a trace, with values for all cells.

    `orders` is how many densities their probabilities have for factors.
    """

    system: System
    first: Belief
    second: Belief
    orders: tuple[int, int] = (0, 0)

    @property
    def are_known(self) -> bool:
        """Whether replies tell in which state each of the two is."""
        return len(self.first) == 1 == len(self.second)

    def after(self, *events: SeenCall) -> Runs:
        """Return the runs when both have answered."""
        first, second, (ours, theirs) = self.first, self.second, self.orders
        for event in events:
            check_limits()
            first, ours = self._after(first, ours, event.first, event.reply)
            second, theirs = self._after(second, theirs, event.second, event.reply)
        return Runs(self.system, first, second, (ours, theirs))

    def _after(
        self, belief: Belief, before: int, call: Call | None, reply: Reply | None
    ) -> tuple[Belief, int]:
        if call is None:
            return belief, before
        found: dict[int, Belief] = {}
        for state, weight in belief.items():
            for outcome in self.system.step(state, call):
                chance = (0, outcome.probability) if reply is None else chance_of(outcome, reply)
                if chance is None:
                    continue
                order, factor = chance
                total = weight * factor
                there = found.setdefault(order, {})
                known = there.get(outcome.state)
                there[outcome.state] = total if known is None else known + total
        least = min(found, default=0)
        return found.get(least, {}), before + least

    def gain(self) -> Gain | None:
        """Return how much likelier the first run is, which can answer so; None if the second
        cannot."""
        if not self.first:
            raise ValueError("the first run cannot answer so")
        if not self.second or self.orders[0] != self.orders[1]:
            return None
        return self.system.gain(total_of(self.first), total_of(self.second))

    def is_one_sided(self) -> bool:
        """Whether the first run can answer so, and the second cannot, or by more densities."""
        if not self.first or (self.second and self.orders[0] >= self.orders[1]):
            return False
        eps = self.system.eps
        return eps is None or sign_at(total_of(self.first), eps) > 0


def begun(system: System, first: Iterable[State], second: Iterable[State]) -> Runs:
    """Return runs that begin in given states, each as if certain; without any: nowhere."""
    certainly = ExponentialRatio.constant(1)
    return Runs(system, dict.fromkeys(first, certainly), dict.fromkeys(second, certainly))


def from_start(system: System) -> Runs:
    """Return both runs, with no calls yet."""
    return begun(system, [system.initial], [system.initial])


def total_of(belief: Belief) -> ExponentialRatio:
    return sum(belief.values(), ExponentialRatio.constant(0))


def with_best_replies(events: Sequence[SeenCall], runs: Runs) -> tuple[tuple[SeenCall, ...], Runs]:
    """Fill in the published numbers, None in replies, that tell the two runs apart best from where
    they are; return the events, and the runs after them."""
    filled = []
    for event in events:
        if event.reply is not None and None in event.reply and event.first is not None:
            event = replace(event, reply=_best_reply(event.reply, event, runs))
        filled.append(event)
        runs = runs.after(event)
    return tuple(filled), runs


def _best_reply(reply: Reply, event: SeenCall, runs: Runs) -> Reply:
    """Choose among the ends, or the means, what tells most."""
    both = (runs.first, event.first), (runs.second, event.second)
    shown = [each for own in both for each in _alike(*own, reply, runs.system)]
    candidates: list[tuple[Value | None, ...]] = []
    for place, value in enumerate(reply):
        if value is not None:
            candidates.append((value,))
            continue
        samples = [each for own in shown if isinstance(each := own.reply[place], Published)]
        ends = {Fraction(end) for each in samples for end in each.ends or ()}
        numbers = ends or {each.mean.constant for each in samples}
        # Without numbers the calls before do not lead here: such a trace shows nothing.
        candidates.append((min(numbers), max(numbers)) if numbers else (None,))
    best, most = reply, None
    for chosen in dict.fromkeys(product(*candidates)):
        after = runs.after(replace(event, reply=chosen))
        gain = after.gain() if after.first else None
        if gain is not None and (most is None or gain.lower > most):
            best, most = chosen, gain.lower
    return best


def _alike(
    belief: Belief, call: Call | None, reply: Reply, system: System
) -> Iterator[CallOutcome]:
    """Yield outcomes with a reply, but for the numbers of samples."""
    for state in belief:
        for outcome in () if call is None else system.step(state, call):
            if outcome.values == reply:
                yield outcome


_CLOSE = Fraction(1, 10**9)


class Repetition(Record):
    """Calls that can be repeated, and gain something each time."""

    # What is repeated; both runs are then in the states that they were in before.
    events: tuple[SeenCall, ...]
    gain: Fraction | None  # in eps, for each time; None if it is no multiple of eps
    eps: Fraction | None  # where the quotient is > 1 for certain; None: everywhere
    # Whether replies leave open in which states the runs are. The first run then has a state that
    # it comes back to with a probability f, and from all states of the second one that the calls
    # lead to the replies have probabilities of at most r < f; so after k times the quotient is at
    # least (f / r)^k times a constant. The gain is that of f / r.
    is_hidden: bool = False


class Loss(Record):
    """What is known of the loss of a service, in eps."""

    lower: Fraction = Fraction(0)  # no smaller budget serves every eps
    upper: Fraction | None = None  # a budget that serves every eps; None if none is known
    # Calls and replies that show `lower`, or that there is no budget; where calls are repeated,
    # those before.
    trace: Trace | None = None
    repetition: Repetition | None = None  # calls to repeat: then there is no budget
    one_sided: bool = False  # whether only the first run can give the last reply of `trace`
    vanishing: bool = False  # whether the quotient of `trace` stays away from 1 as eps vanishes
    reason: str = ""
    # Those that were looked at; None for none.
    pairs: RunPairs | None = field(default=None, compare=False, repr=False)
    # Of the pairs, where `upper` is known: how much may still be lost from there.
    values: tuple[Fraction, ...] = field(default=(), repr=False)
    # What is known without the last resort (`RunPairs`); None: that was not needed.
    otherwise: Loss | None = field(default=None, compare=False, repr=False)

    @property
    def unbounded(self) -> bool:
        """Whether no budget serves every eps."""
        return self.one_sided or self.vanishing or self.repetition is not None

    @property
    def by_differences(self) -> bool:
        return self.pairs is not None and bool(self.pairs.system.kept)

    @property
    def is_known(self) -> bool:
        """Whether the bounds of the least budget meet, or all but meet."""
        return self.upper is not None and self.upper - self.lower <= _CLOSE

    def because(self, reason: str | None) -> Loss:
        """The same, for a reason; the first one stays."""
        return replace(self, reason=self.reason or reason or "")


def noted(known: Loss, trace: Trace, runs: Runs) -> Loss:
    """Return what is known when a course was run on values."""
    if runs.is_one_sided():
        return replace(known, upper=None, trace=trace, one_sided=True, reason="")
    gain = runs.gain() if runs.first else None  # other replies would have led there
    if gain is None:
        return known
    if gain.is_unbounded:
        return replace(known, upper=None, trace=trace, vanishing=True, reason="")
    return replace(known, lower=gain.lower, trace=trace) if gain.lower > known.lower else known


def paths_of(pairs: RunPairs) -> tuple[tuple[Fraction, ...], Cycle]:
    """Return what the longest path from every pair loses, in eps; or a cycle that gains."""
    rows = [[(edge.target, edge.weight) for edge in row] for row in pairs.edges]
    unit = lcm(1, *{weight.denominator for row in rows for _, weight in row})
    arcs = [
        [(target, weight.numerator * (unit // weight.denominator)) for target, weight in row]
        for row in rows
    ]
    values, cycle = longest_paths(arcs)
    return tuple([Fraction(value, unit) for value in values]), cycle


def repeated(
    known: Loss, leading: Sequence[SeenCall], turned: Sequence[SeenCall], values: System
) -> Loss:
    """Return what is known when calls were repeated on values: with a gain if both runs come back.

    Replies have None for numbers that samples show.
    """
    before, runs = with_best_replies(leading, from_start(values))
    if not runs.first or not runs.second:
        return known
    # What is certain counts as that.
    begin = begun(values, runs.first, runs.second) if runs.are_known else runs
    events, after = with_best_replies(turned, begin)
    gained = _gained(events, begin)
    if gained is None:
        return known
    is_back = begin is not runs and (
        after.first.keys() == runs.first.keys() and after.second.keys() == runs.second.keys()
    )
    found = Repetition(events, *gained, is_hidden=not is_back)
    return replace(known, trace=before, repetition=found, reason="")


MOST_HIDDEN = 50  # states in which the second run may be while calls are repeated


def _gained(
    events: tuple[SeenCall, ...], runs: Runs
) -> tuple[Fraction | None, Fraction | None] | None:
    """Return what calls gain each time, and where; None if that is not known (`Repetition`)."""
    following = list(runs.second)
    answers = list[tuple[int, ExponentialRatio]]()
    for state in following:  # which grows
        if len(following) > MOST_HIDDEN:
            return None
        after = begun(runs.system, (), (state,)).after(*events)
        if after.second:
            answers.append((after.orders[1], total_of(after.second)))
            following += [each for each in after.second if each not in following]
    for state in runs.first:
        after = begun(runs.system, (state,), ()).after(*events)
        back = after.first.get(state)
        if back is not None and all(order == after.orders[0] for order, _ in answers):
            found = _quotients([(back, each) for _, each in answers], runs.system)
            if found is not None:
                return found
    return None


def _quotients(
    pairs: Sequence[tuple[ExponentialRatio, ExponentialRatio]], values: System
) -> tuple[Fraction | None, Fraction | None] | None:
    """Return the least gain, or an eps, at which all quotients are > 1; None if none is found."""
    gains = [gain_of(p, q).exact for p, q in pairs]
    exact = [gain for gain in gains if gain is not None]
    if not pairs or any(gain <= 0 for gain in exact):
        return None
    if len(exact) == len(gains):
        return min(exact), None
    eps = values.eps
    if eps is None:
        p, q = pairs[gains.index(None)]
        found = is_nonnegative(difference(q, p), ALL_EPSILONS)
        if not isinstance(found, Negative):
            return None
        eps = found.eps
    if all(compare_at(p, q, eps) > 0 for p, q in pairs):
        return None, eps
    return None


Arc = tuple[int, int]  # target and weight; a target < 0 is an end
Cycle = tuple[tuple[int, int], ...]  # nodes and numbers of their arcs, round a cycle


def longest_paths(arcs: Sequence[Sequence[Arc]]) -> tuple[tuple[int, ...], Cycle]:
    """Find the longest path from every node, whose arcs are given: the greatest weight of a path
    that begins there, at least 0; and a cycle of positive weight, empty if there is none. If there
    is one, the values mean nothing."""
    component = strong_components([[t for t, _ in row if t >= 0] for row in arcs])
    values = [0] * len(arcs)
    # Arcs lead to components of the same or a smaller number.
    order = sorted(range(len(arcs)), key=lambda node: component[node])
    for _, group in groupby(order, key=lambda node: component[node]):
        nodes = list(group)
        best: dict[int, int] = {}
        improved = True
        while improved:
            check_limits()
            improved = False
            nodes.reverse()  # paths go up or down, mostly
            for node in nodes:
                for number, (target, weight) in enumerate(arcs[node]):
                    value = weight + (values[target] if target >= 0 else 0)
                    if value > values[node]:
                        values[node], best[node] = value, number
                        improved = True
            cycle = _cycle(arcs, best)
            if cycle:
                return tuple(values), cycle
    return tuple(values), ()


def _cycle(arcs: Sequence[Sequence[Arc]], best: Mapping[int, int]) -> Cycle:
    """Return a way round along the best arcs of nodes; empty if there is none."""
    seen: dict[int, int] = {}
    for start in best:
        node = start
        while node in best and node not in seen:
            seen[node] = start
            node = arcs[node][best[node]][0]
        if seen.get(node) == start:
            turn = [node]
            while (node := arcs[node][best[node]][0]) != turn[0]:
                turn.append(node)
            return tuple([(each, best[each]) for each in turn])
    return ()
