"""Finite Markov chains to the law of where they end."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from dipapprox.distributions import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.exponentials import ExponentialRatio

CERTAINLY = ExponentialRatio.constant(1)

Transitions = Sequence[Mapping[int, ExponentialRatio]]
"""For every node the nodes that follow it, with functions other than 0; none for ends."""


def reaching(transitions: Transitions, ends: Collection[int]) -> set[int]:
    """Return the nodes from which an end can be reached."""
    before: dict[int, list[int]] = {}
    for node, following in enumerate(transitions):
        for other in following:
            before.setdefault(other, []).append(node)
    reached = set(ends)
    waiting = list(ends)
    while waiting:
        for node in before.get(waiting.pop(), ()):
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


def law_of_end(
    transitions: Transitions, ends: Collection[int]
) -> tuple[ChoiceLaw, tuple[int, ...]]:
    """Return the law of the end that is reached from node 0, as simple as it gets.

    Nodes that only go on to one other are left out; the rest is numbered breadth first, so that
    chains that do the same mostly look the same. A chain with one end stays a chain: that it gets
    there has to be proved.

    Args:
        transitions: A chain in which every node reaches an end.
        ends: The nodes where it ends.

    Returns:
        The law, and the node that outcome k means, for every k.
    """

    def target(node: int) -> int:
        while len(transitions[node]) == 1:
            ((following, weight),) = transitions[node].items()
            if weight != CERTAINLY:
                break
            node = following
        return node

    order = {target(0): 0}
    rows: list[tuple[tuple[int, ExponentialRatio], ...]] = []
    waiting = deque(order)
    while waiting:
        row: dict[int, ExponentialRatio] = {}
        for following, weight in transitions[waiting.popleft()].items():
            node = target(following)
            if node not in order:
                order[node] = len(order)
                waiting.append(node)
            number = order[node]
            row[number] = row[number] + weight if number in row else weight
        rows.append(tuple(row.items()))
    outcomes = {number: node for node, number in order.items() if node in ends}
    if 0 in outcomes:
        law: ChoiceLaw = FiniteLaw((CERTAINLY,))
    elif len(rows[0]) == len(outcomes) == len(rows) - 1:
        law = FiniteLaw(tuple(weight for _, weight in rows[0]))
    else:
        law = ChainLaw(tuple(rows), tuple(outcomes))
    return law, tuple(outcomes.values())
