"""What is known of the loss of a service: bounds, and what shows them in the graph of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from dipapprox.data_classes import dataclass, field
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, is_nonnegative
from dipapprox.exact.signs.values import compare_at, difference
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.services.longest import Cycle, longest_paths
from dipapprox.services.model import State
from dipapprox.services.pairs import Edge, PairGraph
from dipapprox.services.ratios import NO_GAIN, gain_of
from dipapprox.services.system import System
from dipapprox.services.traces import Runs, SeenCall, Trace, total_of, with_best_replies

_CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Repetition:
    """Calls that can be repeated, and gain something each time.

    Attributes:
        trace: Up to where the repetition begins.
        events: What is repeated; both runs are then in the states that they were in before.
        gain: In eps, for each time; None if it is no multiple of eps.
        eps: Where the quotient is > 1 for certain; None: everywhere.
        is_hidden: Whether replies leave open in which states the runs are. The first run then has
            a state that it comes back to with a probability f, and from all states of the second
            one that the calls lead to the replies have probabilities of at most r < f; so after k
            times the quotient is at least (f / r)^k times a constant. The gain is that of f / r.
    """

    trace: Trace
    events: tuple[SeenCall, ...]
    gain: Fraction | None
    eps: Fraction | None
    is_hidden: bool = False


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
        by_differences: Whether some cells were kept by differences.
        determined: Whether replies determine the states.
        any_data: Whether data of all values was one call.
        decided: The handlers whose samples decide something, by number.
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
    any_data: bool = False
    decided: frozenset[int] = frozenset()
    states_of: tuple[State, ...] = field(default=(), repr=False)
    graph: PairGraph = field(default_factory=PairGraph, compare=False, repr=False)
    values: tuple[Fraction, ...] = field(default=(), repr=False)

    @property
    def unbounded(self) -> bool:
        """Whether no budget serves every eps."""
        return self.one_sided or self.vanishing or self.repetition is not None

    @property
    def is_known(self) -> bool:
        """Whether the bounds of the least budget meet, or all but meet."""
        return self.upper is not None and self.upper - self.lower <= _CLOSE

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.upper is not None and self.upper == self.lower


def weight_of(edge: Edge) -> Fraction:
    """Return what an edge may add to the loss, in eps; 0 where that is not bounded."""
    if edge.gain is NO_GAIN:
        return edge.cost
    return edge.cost + (edge.gain.upper or 0)


def paths_of(graph: PairGraph, limits: Limits) -> tuple[tuple[Fraction, ...], Cycle]:
    """Return what the longest path from every pair loses, in eps; or a cycle that gains.

    Raises:
        LimitReached: If the time runs out.
    """
    rows = [[(edge.target, weight_of(edge)) for edge in row] for row in graph.edges]
    unit = lcm(1, *{weight.denominator for row in rows for _, weight in row})
    arcs = [
        [(target, weight.numerator * (unit // weight.denominator)) for target, weight in row]
        for row in rows
    ]
    values, cycle = longest_paths(arcs, limits)
    return tuple([Fraction(value, unit) for value in values]), cycle


def repeated(
    leading: Sequence[SeenCall], turned: Sequence[SeenCall], values: System, limits: Limits
) -> Repetition | None:
    """Return calls as a repetition, if both runs come back to where they were, with a gain.

    Args:
        leading: Up to where the repetition begins; None for numbers that samples show.
        turned: What is repeated.
        values: With values for all cells.
        limits: Asked often.
    """
    before, runs = with_best_replies(leading, values, limits)
    if not runs.first or not runs.second:
        return None
    begin = runs.begun(runs.first, runs.second) if runs.are_known else runs.copy()
    events, after = with_best_replies(turned, values, limits, begin)
    if not (runs.are_known and after.are_known):
        events, _ = with_best_replies(turned, values, limits, runs.copy())
        return _repeated_unseen(before, events, runs, values, limits)
    if after.first.keys() != runs.first.keys() or after.second.keys() != runs.second.keys():
        return None
    if after.orders[0] != after.orders[1]:
        return None
    found = _quotients([(total_of(after.first), total_of(after.second))], values, limits)
    return None if found is None else Repetition(before, events, *found)


MOST_HIDDEN = 50
"""States in which the second run may be while calls are repeated."""


def _repeated_unseen(
    trace: Trace, events: tuple[SeenCall, ...], runs: Runs, values: System, limits: Limits
) -> Repetition | None:
    """Return calls as a repetition whose states are not known; see `Repetition`."""
    following = list(runs.second)
    answers = list[tuple[int, ExponentialRatio]]()
    for state in following:  # which grows
        if len(following) > MOST_HIDDEN:
            return None
        after = runs.begun((), (state,))
        for event in events:
            after.go(event)
        if after.second:
            answers.append((after.orders[1], total_of(after.second)))
            following += [each for each in after.second if each not in following]
    for state in runs.first:
        after = runs.begun((state,), ())
        for event in events:
            after.go(event)
        back = after.first.get(state)
        if back is not None and all(order == after.orders[0] for order, _ in answers):
            found = _quotients([(back, each) for _, each in answers], values, limits)
            if found is not None:
                return Repetition(trace, events, *found, is_hidden=True)
    return None


def _quotients(
    pairs: Sequence[tuple[ExponentialRatio, ExponentialRatio]], values: System, limits: Limits
) -> tuple[Fraction | None, Fraction | None] | None:
    """Return the least gain, or an eps, at which all quotients are > 1; None if none is found."""
    gains = [gain_of(p, q, limits).exact for p, q in pairs]
    exact = [gain for gain in gains if gain is not None]
    if not pairs or any(gain <= 0 for gain in exact):
        return None
    if len(exact) == len(gains):
        return min(exact), None
    eps = values.eps
    if eps is None:
        p, q = pairs[gains.index(None)]
        found = is_nonnegative(difference(q, p), ALL_EPSILONS, limits)
        if not isinstance(found, Negative):
            return None
        eps = found.eps
    if all(compare_at(p, q, eps, limits) > 0 for p, q in pairs):
        return None, eps
    return None
