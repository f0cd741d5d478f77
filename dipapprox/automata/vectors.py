"""Cost vectors: what the shifts so far have cost, for every shift of the values that are stored.

After a part of a run and a change of its inputs two vectors over {0, 1}^live say all that the rest
needs: the least cost of u (and of v; see `runs.py`) so far, given the u (v) of the last sample
that each live variable took. Costs are whole multiples of one unit. A step from m by a transition
takes a new u in {0, 1}: at most m(x) for `insample >= x`, at least m(x) for `insample < x`; 1 for
u and 0 for v if the sample is shown. It costs the rate if it is not what the position prefers.

`∞` stands for what is impossible, and for what is so dear that it is never part of a cheapest
shift; making entries larger keeps an upper bound an upper bound. What is added to all entries of
one vector may be taken from the other: only sums count. So pairs are kept with least entry 0 in the
second, and one pair is *within* another if for some amount the first vector plus it and the second
less it are at most the other's.

A fixed shift for values that many are stored beside: a strategy, where all shifts are too many.

Cost vectors have an entry for every shift of the live values. Pinning a value to one shift leaves
the entries with that shift, and makes all others ∞: the search then finds what this strategy costs,
an upper bound of the least budget.

What one step stores and all that keep it make a *web*: places, each a node and a live variable,
joined along the edges that keep the value. A web that is compared on cycles with `insample >= x`
alone is pinned to +1, with `insample < x` alone to -1: gone round often, the cycles leave no other
choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dipapprox.automata.model import Automaton, OutputSample, Transition
from dipapprox.automata.unfolding import Unfolding, unit_of
from dipapprox.data_classes import Record, replace
from dipapprox.graphs import bits, components

Vectors = npt.NDArray[np.int64]
"""Shape (2, 2^live): u and v; whole numbers, at most `Prices.infinite`."""

_Wholes = npt.NDArray[np.signedinteger[Any]]
_LARGEST = 2**40  # units that a cap may have: sums of a few entries stay far below the end of int64
_SMALL = 2**28  # the same for 32 bits


class VectorStep(Record):
    """One edge, with all changes of its input that are looked at."""

    edge: int
    changes: tuple[int, ...]  # 1 and -1 at an input, else 0
    # For every index of a new vector the old indices it may come from; the last column of an old
    # vector, infinite, fills the rows up.
    before: npt.NDArray[np.intp]
    prices: npt.NDArray[np.int64]  # what each of these costs, for each change, for u and for v


class Prices:
    """The steps of a graph in whole units.

    Attributes:
        unit: One unit, in multiples of ε.
        cap: What the least budget cannot pass, in units, if it is finite.
        infinite: One more.
        live: The variables that each node's vectors speak of.
    """

    def __init__(self, graph: Unfolding, live: tuple[int, ...], pins: Pins, cap: Fraction) -> None:
        """Prepare; `fits` must hold, and vectors speak of live variables that are not pinned."""
        self.graph = graph
        self.pins = pins
        self.live = [
            [x for x in bits(mask) if x not in pins[node]] for node, mask in enumerate(live)
        ]
        self.unit = unit_of(graph)
        self.cap = int(cap / self.unit)
        self.infinite = self.cap + 1
        self._known: dict[int, tuple[VectorStep, ...]] = {}
        self._shapes: dict[object, VectorStep] = {}

    def start(self) -> Vectors:
        return np.zeros((2, 1), dtype=np.int64)

    def steps(self, node: int) -> tuple[VectorStep, ...]:
        if node not in self._known:
            self._known[node] = tuple(self._step(edge) for edge in self.graph.leaving[node])
        return self._known[node]

    def after(self, stack: npt.NDArray[np.int64], step: VectorStep) -> npt.NDArray[np.int64]:
        """Return what a step makes of some pairs of vectors, not normalised.

        Args:
            stack: Shape (pairs, 2, 2^live).

        Returns:
            Shape (pairs, changes of the step, 2, 2^live at its target).
        """
        infinite = np.full((len(stack), 2, 1), self.infinite, dtype=np.int64)
        extended = np.concatenate((stack, infinite), axis=2)
        sums = extended[:, None, :, step.before] + step.prices
        found: npt.NDArray[np.int64] = sums.min(axis=4)
        return found

    def normalise(self, stack: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Bring pairs, shape (…, 2, 2^live), to least entry 0 in v and no entry that is too dear,
        in place.

        Returns:
            The least cost of each pair; more than the cap where every shift is too dear.
        """
        lower, upper = stack[..., 0, :], stack[..., 1, :]
        least = upper.min(axis=-1, keepdims=True)
        upper -= least
        lower += least
        np.minimum(stack, self.infinite, out=stack)
        values: npt.NDArray[np.int64] = lower.min(axis=-1)
        upper[upper + values[..., None] > self.cap] = self.infinite
        return values

    def _step(self, edge: int) -> VectorStep:
        """Prepare a step, or take what was prepared for one that differs in its states only."""
        ends, transition = self.graph.edges[edge], self.graph.transition(edge)
        shape = (
            *(
                (tuple(self.live[k]), tuple(self.pins[k].items()))
                for k in (ends.source, ends.target)
            ),
            *(transition.above, transition.below, transition.assigned, transition.output),
            *(self.graph.automaton.rate(transition), self.graph.automaton.reads(transition)),
            self.graph.automaton.fresh_cost(transition),
        )
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = self._prepared(edge)
        return replace(known, edge=edge)

    def _prepared(self, edge: int) -> VectorStep:
        graph, automaton = self.graph, self.graph.automaton
        transition = graph.transition(edge)
        before_live = self.live[graph.edges[edge].source]
        after_live = self.live[graph.edges[edge].target]
        place = {variable: bit for bit, variable in enumerate(before_live)}
        above = sum(1 << place[x] for x in bits(transition.above) if x in place)
        below = sum(1 << place[x] for x in bits(transition.below) if x in place)
        old = np.tile(np.arange(1 << len(before_live)), 2)
        new = np.repeat(np.array([0, 1]), 1 << len(before_live))
        fits = np.where(new == 1, old & above == above, old & below == 0)
        old, new = old[fits], new[fits]
        reached = np.zeros_like(old)
        for bit, variable in enumerate(after_live):
            taken = transition.assigned >> variable & 1
            reached |= (new if taken else old >> place[variable] & 1) << bit
        order = np.argsort(reached, kind="stable")
        old, new, reached = old[order], new[order], reached[order]
        counts = np.bincount(reached, minlength=1 << len(after_live))
        column = np.arange(len(reached)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = 1 << len(after_live), max(1, int(counts.max()))
        before = np.full(shape, 1 << len(before_live), dtype=np.intp)
        before[reached, column] = old
        chosen = np.zeros(shape, dtype=np.intp)
        chosen[reached, column] = new
        rate = int(automaton.rate(transition) / self.unit)
        fresh = int(automaton.fresh_cost(transition) / self.unit)
        changes = _changes(automaton, transition)
        forbidden = self._forbidden(edge)
        prices = []
        for change in changes:
            # Rows: u prefers 1 unless the input falls, v prefers 0 unless it rises.
            price = np.array(
                [[0 if change < 0 else rate, rate if change < 0 else 0],
                 [rate if change > 0 else 0, 0 if change > 0 else rate]]
            )  # fmt: skip
            if transition.output is OutputSample.COMPARED:
                price[0, 0] = price[1, 1] = self.infinite
                price[0, 1] = rate * abs(change)
                price[1, 0] = 0
            price[0] += fresh * abs(change)
            price[forbidden] = self.infinite
            prices.append(price[:, chosen])
        return VectorStep(edge, changes, before, np.stack(prices))

    def is_blocked(self, edge: int) -> bool:
        """Whether the pinned values leave no shift to the sample of an edge."""
        return bool(self._forbidden(edge).all(axis=1).any())

    def _forbidden(self, edge: int) -> npt.NDArray[np.bool_]:
        """Return which new u (row 0) and v (row 1), 0 or 1, the pinned values rule out."""
        transition, ends = self.graph.transition(edge), self.graph.edges[edge]
        before, after = self.pins[ends.source], self.pins[ends.target]
        above = [before[x] for x in bits(transition.above) if x in before]
        below = [before[x] for x in bits(transition.below) if x in before]
        taken = [after[x] for x in bits(transition.assigned) if x in after]
        forbidden = np.zeros((2, 2), dtype=bool)
        for level in (0, 1):
            one = any(shift < level for shift in (*above, *taken))
            zero = any(shift >= level for shift in (*below, *taken))
            forbidden[level] = zero, one
        return forbidden


def _changes(automaton: Automaton, transition: Transition) -> tuple[int, ...]:
    """Return the changes of an input to look at: a shown sample pays for both signs alike."""
    if not automaton.reads(transition):
        return (0,)
    if transition.output is OutputSample.COMPARED:
        return tuple(change for change in automaton.changes if change)[:1]
    return automaton.changes


def fits(graph: Unfolding, cap: Fraction) -> bool:
    """Whether a cap, and the rates, are few enough units for 64 bits."""
    automaton, unit = graph.automaton, unit_of(graph)
    costs = [automaton.rate(t) + automaton.fresh_cost(t) for t in automaton.transitions]
    return max(cap, *costs, Fraction(0)) / unit < _LARGEST


class Front:
    """Vectors of one node none of which is within another.

    They lie side by side, entry by entry: levels, indices, vectors, in 32 bits if that is enough.
    Bounds have a very large number for ∞, which anything is within.
    """

    def __init__(self, infinite: int) -> None:
        self._infinite = infinite
        self._large = _LARGEST if infinite >= _SMALL else _SMALL
        self._type = np.int64 if infinite >= _SMALL else np.int32
        self._rows: _Wholes | None = None
        self._bounds: _Wholes = np.zeros(0, dtype=self._type)
        self._keys: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, vectors: Vectors, key: int) -> bool:
        """Add vectors unless they are within some that are there; drop those within them."""
        row: _Wholes = vectors[:, :, None].astype(self._type)
        bound = np.where(row >= self._infinite, self._large, row)
        if self._rows is None:
            self._rows, self._bounds, self._keys = row.copy(), bound, np.array([key])
            return True
        gaps = np.maximum.reduce(row - self._bounds, axis=1)
        if (gaps[0] + gaps[1] <= 0).any():
            return False
        gaps = np.maximum.reduce(self._rows - bound, axis=1)
        kept = gaps[0] + gaps[1] > 0
        if not kept.all():
            self._rows, self._bounds = self._rows[:, :, kept], self._bounds[:, :, kept]
            self._keys = self._keys[kept]
        self._rows = np.concatenate((self._rows, row), axis=2)
        self._bounds = np.concatenate((self._bounds, bound), axis=2)
        self._keys = np.append(self._keys, key)
        return True

    @property
    def keys(self) -> list[int]:
        """The keys of the vectors that are left."""
        return [int(key) for key in self._keys]

    def __contains__(self, key: int) -> bool:
        return bool((self._keys == key).any())


# --- Pinned values --------------------------------------------------------------------------------


Variable = TypeVar("Variable", int, str)
Pins = tuple[dict[int, int], ...]
"""For each node the shift, -1, 0 or 1, of each pinned variable that is live there."""


def pin(
    live: Sequence[Sequence[Variable]],
    kept: Iterable[tuple[tuple[int, Variable], tuple[int, Variable]]],
    compared: Iterable[tuple[tuple[int, Variable], int]],
    most: int,
) -> tuple[dict[Variable, int], ...]:
    """Pin values so that at most `most` others are live at any node.

    Args:
        live: The variables that are live at each node.
        kept: Places that hold the same value, at the two ends of an edge.
        compared: Places whose value is compared on a cycle, each with the shift that it wants.
        most: How many may be left.

    Returns:
        For each node the shift of each variable that is pinned there.
    """
    places = [(node, variable) for node, own in enumerate(live) for variable in own]
    numbers = {place: number for number, place in enumerate(places)}
    edges = [(numbers[one], numbers[other]) for one, other in kept]
    signs: list[set[int]] = [set() for _ in places]
    for place, sign in compared:
        signs[numbers[place]].add(sign)
    webs = [
        ([places[number] for number in web], set().union(*(signs[number] for number in web)))
        for web in components(len(places), edges)
    ]
    pins: list[dict[Variable, int]] = [{} for _ in live]
    # Those that cycles decide first, then the ones that are live at the most nodes.
    for web, own in sorted(webs, key=lambda each: (len(each[1]) != 1, -len(each[0]))):
        crowded = any(len(live[node]) - len(pins[node]) > most for node, _ in web)
        if len(own) == 1 or crowded:
            (shift,) = own if len(own) == 1 else {0}
            for node, variable in web:
                pins[node][variable] = shift
    return tuple(pins)


def pinned(graph: Unfolding, live: Sequence[int], most: int) -> Pins:
    """Pin values of an automaton; `live` are masks of variables for each node."""
    kept, compared = [], []
    for index, edge in enumerate(graph.edges):
        transition = graph.transition(index)
        for variable in bits(live[edge.target] & ~transition.assigned):
            kept.append(((edge.source, variable), (edge.target, variable)))
        if graph.is_internal(index):
            compared += [((edge.source, x), 1) for x in bits(transition.above)]
            compared += [((edge.source, x), -1) for x in bits(transition.below)]
    return pin([list(bits(mask)) for mask in live], kept, compared, most)
