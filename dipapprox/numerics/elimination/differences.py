"""Comparisons with offsets in, their probabilities as integrals of univariate functions out.

In: a `DifferenceEvent`: x_i <= x_j + w. Out: `Terms` as of `plan`, with functions at shifted
places. Samples are integrated out as there. Let r have the density f (times what was passed to it),
and the bounds l + a <= r for some l, r <= h + b for some h. Split by which bound is the greatest
below (l*, a*) and which the least above (h*, b*): every part has the further bounds

    l + a <= l* + a*,    h* + b* <= h + b,    l* + a* <= h* + b*,

and with G(t) = ∫_{-∞}^t f the integral over r is

    G(h* + b*) - G(l* + a*),    G(h* + b*) with h* alone,    ∫_{l* + a*}^∞ f with l* alone.

If l* is h*, the difference is one function of it, a band: a sample whose only neighbour bounds it
on both sides is a leaf still, and trees of bands split into no parts. The parts are disjoint and
cover the event up to probability 0. Bounds that shortest paths imply are dropped; a cycle of total
<= 0 has probability 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import lcm

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass, replace
from dipapprox.limits import Limits
from dipapprox.linear.differences import are_open, needed
from dipapprox.numerics.elimination.order_event import DifferenceEvent, Edge, OrderEvent
from dipapprox.numerics.elimination.plan import (
    Factors,
    FunctionDifference,
    FunctionTable,
    Moved,
    RestrictedDensity,
    Running,
    Terms,
    times,
)
from dipapprox.numerics.elimination.refinement import GridRequirements

Bounds = Mapping[Edge, int]
"""{(i, j): w}: x_i <= x_j + w / unit, for one unit."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is left: the functions on each sample, by sample, and the bounds."""

    factors: tuple[tuple[int, Factors], ...]
    bounds: frozenset[tuple[Edge, int]]


def eliminate_differences(
    event: DifferenceEvent, limits: Limits, table: FunctionTable
) -> Terms | NotEnclosed:
    """Integrate out all samples of a connected event; see `plan.eliminate`.

    Raises:
        LimitReached: If the time runs out.
    """
    unit = lcm(*(w.denominator for _, _, w in event.bounds))
    bounds = tight({(i, j): int(w * unit) for i, j, w in event.bounds})
    if bounds is None:
        return ()
    work = _Work(unit, table)
    start = tuple((i, ((table.leaf(sample), 1),)) for i, sample in enumerate(event.samples))
    pending: dict[int, dict[_State, int]] = defaultdict(lambda: defaultdict(int))
    pending[len(start)][_State(start, frozenset(bounds.items()))] = 1
    created = 0
    for count in range(len(start), 1, -1):
        for state, coefficient in pending.pop(count, {}).items():
            limits.check()
            for after, sign in work.without_one(state):
                created += 1
                pending[count - 1][after] += sign * coefficient
            if created > limits.pieces:
                return NotEnclosed(
                    f"its {len(event.samples)} samples and {len(event.bounds)} comparisons with "
                    f"offsets split into more than {limits.pieces} pieces"
                )
    return tuple((c, state.factors[0][1]) for state, c in pending[1].items() if c)


def on_one_grid(event: DifferenceEvent, limits: Limits) -> GridRequirements | None:
    """What a grid must offer for all functions of an event; None if some function is moved.

    Where all samples but one are leaves, only laws are moved, and they are laws again.

    Raises:
        LimitReached: If the time runs out.
    """
    table = FunctionTable()
    if isinstance(eliminate_differences(event, limits, table), NotEnclosed):
        return None
    if any(isinstance(function, Moved) for function in table.functions):
        return None
    leaves = (f.sample for f in table.functions if isinstance(f, RestrictedDensity))
    required = GridRequirements.of(OrderEvent(tuple(leaves), frozenset()))
    return replace(required, samples=len(event.samples), moved=True)


class _Work:
    """Integrates out one sample after the other; offsets are in units of 1 / `unit`."""

    def __init__(self, unit: int, table: FunctionTable) -> None:
        self._unit = unit
        self._table = table

    def without_one(self, state: _State) -> Iterator[tuple[_State, int]]:
        """Integrate out the cheapest sample."""
        lows: dict[int, dict[int, int]] = {v: {} for v, _ in state.factors}
        highs: dict[int, dict[int, int]] = {v: {} for v, _ in state.factors}
        for (i, j), w in state.bounds:
            lows[j][i] = -w
            highs[i][j] = w
        # The fewest functions on it: then what is moved is mostly a law.
        size = {v: len(own) for v, own in state.factors}
        chosen = min(lows, key=lambda v: (_parts(lows[v], highs[v]), size[v], v))
        yield from self._split(state, chosen, lows[chosen], highs[chosen])

    def _split(
        self, state: _State, chosen: int, lows: dict[int, int], highs: dict[int, int]
    ) -> Iterator[tuple[_State, int]]:
        """Split by the active bounds; `lows` and `highs` say v: offset of the chosen sample's."""
        factors = dict(state.factors)
        own = factors.pop(chosen)
        rest = {pair: w for pair, w in state.bounds if chosen not in pair}
        below: list[int | None] = [*sorted(lows)] or [None]
        above: list[int | None] = [*sorted(highs)] or [None]
        for low, high in product(below, above):
            more = [((other, low), lows[low] - a) for other, a in lows.items() if low is not None]
            more += [
                ((high, other), b - highs[high]) for other, b in highs.items() if high is not None
            ]
            if low is not None and high is not None:
                if low == high:
                    if lows[low] >= highs[high]:
                        continue
                else:
                    more.append(((low, high), highs[high] - lows[low]))
            # What is left of tight bounds is tight.
            further = [each for each in more if each[0][0] != each[0][1]]
            bounds = tight(_with(rest, further)) if further else rest
            if bounds is None:
                continue
            for target, number, sign in self._messages(own, low, high, lows, highs):
                gained = {**factors, target: times(factors[target], number)}
                left = tuple(sorted(gained.items()))
                yield _State(left, frozenset(bounds.items())), sign

    def _messages(
        self,
        own: Factors,
        low: int | None,
        high: int | None,
        lows: Mapping[int, int],
        highs: Mapping[int, int],
    ) -> Iterator[tuple[int, int, int]]:
        """Yield (neighbour, number of the function passed to it, sign)."""
        number = self._table.number
        if high is None:
            assert low is not None
            above = number(Running(own, from_left=False))
            yield low, self._moved(above, lows[low]), 1
            return
        below = number(Running(own, from_left=True))
        if low == high:
            ends = self._moved(below, highs[high]), self._moved(below, lows[low])
            yield high, number(FunctionDifference(*ends)), 1
            return
        yield high, self._moved(below, highs[high]), 1
        if low is not None:
            yield low, self._moved(below, lows[low]), -1

    def _moved(self, function: int, offset: int) -> int:
        """t -> f(t + offset); for a sample by itself it is that of the shifted sample."""
        if not offset:
            return function
        by, table = Fraction(offset, self._unit), self._table
        integral = table.functions[function]
        if isinstance(integral, Running) and len(integral.factors) == 1:
            ((leaf, exponent),) = integral.factors
            density = table.functions[leaf]
            if isinstance(density, RestrictedDensity) and exponent == 1:
                own = table.number(RestrictedDensity(density.sample.shifted(-by)))
                return table.number(replace(integral, factors=((own, 1),)))
        return table.number(Moved(function, by))


def _parts(lows: Mapping[int, int], highs: Mapping[int, int]) -> tuple[int, int]:
    """How many states integrating a sample out makes, and how many bounds it has."""
    both = [(low, high) for low in lows for high in highs]
    states = sum(1 if low == high else 2 for low, high in both)
    return states or len(lows) + len(highs), len(lows) + len(highs)


def _with(bounds: Mapping[Edge, int], more: Iterable[tuple[Edge, int]]) -> dict[Edge, int]:
    found = dict(bounds)
    for pair, w in more:
        found[pair] = min(found.get(pair, w), w)
    return found


def tight(bounds: Bounds) -> dict[Edge, int] | None:
    """Drop the bounds that paths of others imply; None if a cycle has a total of at most 0."""
    edges = [(i, j, w) for (i, j), w in bounds.items()]
    return needed(bounds) if are_open(edges) else None
