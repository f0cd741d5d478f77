"""What is known of the loss of a service: bounds, and what shows them in the graph of pairs.

Longest paths in graphs with cycles: by strong components, or a cycle that gains something.

Weights are integers, so nothing is lost to rounding. A path may end anywhere: no value is < 0.

Nodes are improved by their arcs as long as that is possible (Bellman and Ford). Let the best arc of
a node be the one that improved it last. As values only grow, V(node) <= weight + V(target) for it,
and < just before it was the best: so the way round a cycle of such arcs gains something. Without
such cycles values are weights of simple paths, of which there are finitely many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from math import lcm

from dipapprox.data_classes import Record, field, replace
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, is_nonnegative
from dipapprox.exact.signs.values import compare_at, difference
from dipapprox.exponentials import ExponentialRatio
from dipapprox.graphs import strong_components
from dipapprox.limits import check_limits
from dipapprox.services.pairs import RunPairs
from dipapprox.services.ratios import gain_of
from dipapprox.services.system import System
from dipapprox.services.traces import (
    Runs,
    SeenCall,
    Trace,
    begun,
    from_start,
    total_of,
    with_best_replies,
)

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
    begin = begun(values, runs.first, runs.second) if runs.are_known else runs
    events, after = with_best_replies(turned, begin)
    found = None
    if not (runs.are_known and after.are_known):
        events, _ = with_best_replies(turned, runs)
        found = _repeated_unseen(events, runs)
    elif after.orders[0] == after.orders[1] and (
        after.first.keys() == runs.first.keys() and after.second.keys() == runs.second.keys()
    ):
        gains = _quotients([(total_of(after.first), total_of(after.second))], values)
        found = None if gains is None else Repetition(events, *gains)
    return known if found is None else replace(known, trace=before, repetition=found, reason="")


MOST_HIDDEN = 50  # states in which the second run may be while calls are repeated


def _repeated_unseen(events: tuple[SeenCall, ...], runs: Runs) -> Repetition | None:
    """Return calls as a repetition whose states are not known; see `Repetition`."""
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
                return Repetition(events, *found, is_hidden=True)
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
    """Find the longest path from every node; `arcs` are given for each.

    Returns:
        For each node the greatest weight of a path that begins there, at least 0; and a cycle of
        positive weight, empty if there is none. If there is one, the values mean nothing.
    """
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
