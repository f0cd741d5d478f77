"""A fixed shift for values that many are stored beside: a strategy, where all shifts are too many.

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
from typing import TypeVar

from dipapprox.automata.model import members
from dipapprox.automata.unfolding import Unfolding
from dipapprox.graphs import components

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
        for variable in members(live[edge.target] & ~transition.assigned):
            kept.append(((edge.source, variable), (edge.target, variable)))
        if graph.is_internal(index):
            compared += [((edge.source, x), 1) for x in members(transition.above)]
            compared += [((edge.source, x), -1) for x in members(transition.below)]
    return pin([list(members(mask)) for mask in live], kept, compared, most)
