"""A fixed shift for values that many are stored beside: a strategy, where all shifts are too many.

Cost vectors have an entry for every shift of the live values. Pinning a value to one shift leaves
one entry of each pair, and makes all others ∞: the search then finds what this strategy costs, an
upper bound of the least budget.

What one step stores and all that keep it make a *web*: pairs of a node and a live variable, joined
along the edges that do not assign it. A web that is compared on cycles with `insample >= x` alone
is pinned to +1, with `insample < x` alone to -1: gone round often, the cycles leave no other
choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.automata.model import members
from dipapprox.automata.unfolding import Unfolding
from dipapprox.data_classes import dataclass

Pins = tuple[dict[int, int], ...]
"""For each node the shift, -1, 0 or 1, of each pinned variable that is live there."""


@dataclass(slots=True)
class _Web:
    """Where a stored value is live, and how cycles compare it."""

    places: list[tuple[int, int]]
    compared_below: bool = False
    compared_above: bool = False


def pin(graph: Unfolding, live: Sequence[int], most: int) -> Pins:
    """Pin values so that at most `most` others are live at any node.

    Args:
        graph: The quotient.
        live: The variables that are live at each node, as masks.
        most: How many may be left.
    """
    pins: list[dict[int, int]] = [{} for _ in graph.states]
    undecided = []
    for web in _webs(graph, live):
        if web.compared_above != web.compared_below:
            _fix(pins, web, 1 if web.compared_above else -1)
        else:
            undecided.append(web)
    free = [mask.bit_count() - len(pins[node]) for node, mask in enumerate(live)]
    for web in sorted(undecided, key=lambda web: -len(web.places)):
        if any(free[node] > most for node, _ in web.places):
            _fix(pins, web, 0)
            for node, _ in web.places:
                free[node] -= 1
    return tuple(pins)


def _fix(pins: Sequence[dict[int, int]], web: _Web, shift: int) -> None:
    for node, variable in web.places:
        pins[node][variable] = shift


def _webs(graph: Unfolding, live: Sequence[int]) -> list[_Web]:
    """Join the pairs of a node and a live variable along the edges that keep the value."""
    pairs = [(node, variable) for node, mask in enumerate(live) for variable in members(mask)]
    above = {pair: pair for pair in pairs}

    def root(pair: tuple[int, int]) -> tuple[int, int]:
        while above[pair] != pair:
            above[pair] = above[above[pair]]
            pair = above[pair]
        return pair

    for index, edge in enumerate(graph.edges):
        kept = live[edge.target] & ~graph.transition(index).assigned
        for variable in members(kept):
            above[root((edge.source, variable))] = root((edge.target, variable))
    webs: dict[tuple[int, int], _Web] = {}
    for pair in pairs:
        webs.setdefault(root(pair), _Web([])).places.append(pair)
    for index, edge in enumerate(graph.edges):
        if graph.is_internal(index):
            transition = graph.transition(index)
            for variable in members(transition.above):
                webs[root((edge.source, variable))].compared_above = True
            for variable in members(transition.below):
                webs[root((edge.source, variable))].compared_below = True
    return list(webs.values())
