"""The least budget D* by search: best first over nodes with cost vectors, dominance, a cap.

The adversary chooses edges and changes of inputs, the shifts answer; the value of a pair of
vectors, the sum of their least entries, is the cost of the walk that led to it, D* the largest.
Vectors within others need no search: the adversary prefers larger ones, and steps and values are
monotone. With entries above the cap made infinite there are finitely many, so the search ends:

- with a family of vectors that is closed: every step from one of them ends within another. Its
  largest value is a budget, whatever the cap was, since making entries larger does no harm;
- or with a walk that costs more than the cap. The cap is a budget of every well-formed automaton
  (`weights.py`), so this one is not well-formed;
- or at a limit, with the largest value seen.

Component by component, since no edge leads back; inside one best first, which means the largest sum
of entries: the adversary's saturated loops come first and most else is within them. Where too many
values are live at once, some are pinned (`vectors.py`), and what is found is an upper bound.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from dipapprox.automata.runs import shortest_walk
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.vectors import Front, Pins, Prices, Vectors, fits, pinned
from dipapprox.automata.weights import live_variables
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.limits import check_limits

MOST_LIVE = 12
"""Live variables at one node up to which vectors have entries for all shifts, 2 · 2^live."""

_LEFT_FREE = 4  # live variables at one node that are not pinned where there are more
MOST_ENTRIES = 5_000_000  # entries of all vectors that a search may make: 40 MB


class ClosedFamily(Record):
    """That `value` is a budget: there are closed families of vectors.

    The first step from the empty run and every step from a member of one end within a member, and
    no member's value is larger.
    """

    pairs: int  # how many pairs of vectors the families have
    value: Fraction
    # How many families there are: each run is a walk of the graph without some edges, for one of
    # several sets of these; for each set there is a family.
    cases: int = 1
    # How many nodes the graph has, if it is that of coarser cells; None for the automaton.
    cells: int | None = None


class OptimumFound(Record):
    walk: tuple[int, ...]  # edges of the quotient of the dearest walk seen
    changes: tuple[int, ...]  # the change of the input at each of them
    # Whether it costs more than the cap: there is no budget, unless values are pinned.
    passed_cap: bool
    is_pinned: bool  # whether some shifts were fixed, so that the walk may cost less than it seems
    # The proof that no walk costs more; None, with the reason, if the search did not end.
    family: ClosedFamily | None
    reason: str | None
    vectors: int


def search(graph: Unfolding, cap: Fraction) -> OptimumFound:
    """Search the quotient of an automaton, which keeps the budget `cap` if it is well-formed, for
    its dearest walk."""
    live = live_variables(graph)
    if not fits(graph, cap):
        return OptimumFound((), (), False, False, None, "the rates have no small common unit", 0)
    pins: Pins = ({},) * len(live)
    if max(mask.bit_count() for mask in live) > MOST_LIVE:
        pins = pinned(graph, live, _LEFT_FREE)
        found = _by_cases(graph, live, pins, cap)
        if found is not None:
            return found
    return _Search(Prices(graph, live, pins, cap)).run()


MOST_CASES = 60
"""Edges that are impossible with pinned shifts, for each of which there is a search of its own."""


def _by_cases(
    graph: Unfolding, live: tuple[int, ...], pins: Pins, cap: Fraction
) -> OptimumFound | None:
    """Search by cases where some edges are impossible with the pinned shifts; None if that fails.

    A run that takes such an edge takes no other one: for each of them there is a search without the
    others, in which the values that its guard compares are not pinned.
    """
    prices = Prices(graph, live, pins, cap)
    blocked = [edge for edge in range(len(graph.edges)) if prices.is_blocked(edge)]
    if not 0 < len(blocked) <= MOST_CASES:
        return None
    sources = {graph.edges[edge].source for edge in blocked}
    targets = {graph.edges[edge].target for edge in blocked}
    if any(shortest_walk(graph, each, sources.__contains__) is not None for each in targets):
        return None  # some walk takes two of them, or one of them twice
    results = list[OptimumFound]()
    for case in (None, *blocked):
        leaving = tuple(
            tuple([edge for edge in row if edge == case or edge not in blocked])
            for row in graph.leaving
        )
        used = 0 if case is None else graph.transition(case).used
        own = tuple({x: s for x, s in fixed.items() if not used >> x & 1} for fixed in pins)
        left = (mask.bit_count() - len(own[node]) for node, mask in enumerate(live))
        if max(left) > MOST_LIVE:
            return None
        part = replace(graph, leaving=leaving)
        results.append(_Search(Prices(part, live, own, cap)).run())
        if results[-1].family is None:
            return None
    families = [each.family for each in results if each.family is not None]
    value = max(each.value for each in families)
    dearest = results[[each.value for each in families].index(value)]
    family = ClosedFamily(sum(each.pairs for each in families), value, len(families))
    made = sum(each.vectors for each in results)
    return replace(dearest, family=family, vectors=made, is_pinned=True)


def dear_walk(graph: Unfolding, cap: Fraction) -> OptimumFound:
    """Look for a dear walk, not for the dearest: of what a step makes only the first is kept.

    Args:
        cap: A walk that costs more ends the search.

    Returns:
        A search that did not end; a walk of no steps if vectors are too wide.
    """
    prices = _prices(graph, cap)
    if prices is None:
        return OptimumFound((), (), False, False, None, "the vectors are too wide", 0)
    return _Search(prices, most=1).run()


def _prices(graph: Unfolding, cap: Fraction) -> Prices | None:
    """Return the steps of a graph with nothing pinned; None if vectors are too wide."""
    live = live_variables(graph)
    if not fits(graph, cap) or max(mask.bit_count() for mask in live) > MOST_LIVE:
        return None
    return Prices(graph, live, ({},) * len(live), cap)


def joined_family(graph: Unfolding, cap: Fraction) -> ClosedFamily | None:
    """Return a closed family of one pair of vectors a node, where all pairs are too many.

    What walks to a node and changes of their inputs cost is joined: entry by entry the largest.
    Steps are monotone, so what a step makes of joined vectors bounds what it makes of each, and
    vectors beyond which no step leads bound the dearest walk. The bound need not be tight.

    Args:
        cap: Costs above it are not told apart.

    Returns:
        None if the vectors pass the cap, or are too large.
    """
    prices = _prices(graph, cap)
    if prices is None:
        return None
    joined: dict[int, Vectors] = {0: prices.start()}
    waiting = [(-graph.components[0], 0)]  # no edge leads to a larger number
    while waiting:
        check_limits()
        _, node = heappop(waiting)
        for step in prices.steps(node):
            made = np.minimum(prices.after(joined[node][None], step)[0], prices.infinite)
            if made.min(axis=2).sum(axis=1).max() > prices.cap:
                return None
            target = graph.edges[step.edge].target
            larger = np.maximum(joined.get(target, 0), made.max(axis=0))
            if target not in joined or (larger != joined[target]).any():
                joined[target] = larger
                heappush(waiting, (-graph.components[target], target))
    value = max(int(vectors.min(axis=1).sum()) for vectors in joined.values())
    return None if value > prices.cap else ClosedFamily(len(joined), value * prices.unit)


class _Search:
    """The state of one search: all vectors made, with how they were reached; of the pairs that a
    step makes `most` are kept, all if None."""

    def __init__(self, prices: Prices, most: int | None = None) -> None:
        self.prices = prices
        self.most = most
        self.fronts = [Front(prices.infinite) for _ in prices.graph.states]
        self.vectors: list[Vectors] = []
        self.origins: list[tuple[int, int, int, int]] = []  # node, parent, edge, change
        self.heap: list[tuple[int, int, int]] = []
        self.seen: set[tuple[int, bytes]] = set()
        graph = prices.graph
        self.cyclic = [any(map(graph.is_internal, leaving)) for leaving in graph.leaving]
        self.done: set[int] = set()
        self.expanded: set[int] = set()
        self.entries = 0
        self.best = -1
        self.dearest = -1

    def run(self) -> OptimumFound:
        self._add(0, self.prices.start(), 0, (-1, -1, 0))
        try:
            while self.heap:
                check_limits()
                if self.entries > MOST_ENTRIES:
                    reason = f"cost vectors of more than {MOST_ENTRIES} entries"
                    return self._result(reason=reason)
                _, _, key = heappop(self.heap)
                node = self.origins[key][0]
                if self.cyclic[node]:
                    if key in self.expanded or key not in self.fronts[node]:
                        continue
                elif node in self.done:
                    continue
                if not self._expand(node, key):
                    return self._result(passed_cap=True)
        except LimitReached as limit:
            return self._result(reason=limit.reason)
        return self._result()

    def _expand(self, node: int, key: int) -> bool:
        """Take all steps from a pair of vectors; False if one of them passes the cap.

        Where no walk leads back to a node, all that will ever be there is there by now: the pairs
        of such a node are taken together.
        """
        graph = self.prices.graph
        keys = [key] if self.cyclic[node] else self.fronts[node].keys
        if self.most is not None:
            keys = sorted(keys, key=lambda k: -int(self.vectors[k].sum()))[: self.most]
        self.expanded.add(key)
        self.done.add(node)
        stack = np.stack([self.vectors[key] for key in keys])
        for step in self.prices.steps(node):
            after = self.prices.after(stack, step)
            values = self.prices.normalise(after)
            target = graph.edges[step.edge].target
            origins = [(key, step.edge, change) for key in keys for change in step.changes]
            pairs, costs = after.reshape((-1, *after.shape[2:])), values.reshape(-1)
            dearest = int(costs.argmax())
            if costs[dearest] > self.prices.cap:
                self.origins.append((target, *origins[dearest]))
                self.dearest = len(self.origins) - 1
                return False
            # The largest first: most others are within them.
            order = np.argsort(-pairs.sum(axis=(1, 2)))[: self.most]
            for row in order:
                self._add(target, pairs[row], int(costs[row]), origins[row])
        return True

    def _add(self, node: int, vectors: Vectors, value: int, origin: tuple[int, int, int]) -> None:
        """Keep a pair of vectors, its least cost and how it came, unless others are as dear."""
        key = len(self.vectors)
        text = node, vectors.tobytes()
        if text in self.seen or not self.fronts[node].add(vectors, key):
            return
        self.seen.add(text)
        self.vectors.append(vectors.copy())  # a view would keep its whole stack
        self.entries += vectors.size
        self.origins.append((node, *origin))
        component = self.prices.graph.components[node]
        heappush(self.heap, (-component, -int(vectors.sum()), key))
        if value > self.best:
            self.best, self.dearest = value, key

    def _result(self, *, passed_cap: bool = False, reason: str | None = None) -> OptimumFound:
        walk, changes = self._walk(self.dearest)
        is_whole = not passed_cap and reason is None and self.most is None
        pairs = sum(len(front.keys) for front in self.fronts)
        family = ClosedFamily(pairs, self.best * self.prices.unit) if is_whole else None
        is_pinned = any(self.prices.pins)
        return OptimumFound(walk, changes, passed_cap, is_pinned, family, reason, len(self.vectors))

    def _walk(self, key: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        steps = []
        while self.origins[key][1] >= 0:
            _, parent, edge, change = self.origins[key]
            steps.append((edge, change))
            key = parent
        steps.reverse()
        return tuple(edge for edge, _ in steps), tuple(change for _, change in steps)
