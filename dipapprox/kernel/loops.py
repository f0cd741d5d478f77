"""Loops: what all their courses come to, as scalars of what they end with.

A loop's heads are the states before its condition, without their scalars: stores with the functions
and inequalities of the samples that they hold. One turn is linear in the scalar: it takes a head to
finitely many heads and ends, each with a weight >= 0. The measure of an end is the sum, over all
finite courses that lead there, of the products of their weights. Heads are left out one after the
other (Kleene 1956; Kemeny and Snell, Finite Markov Chains, on absorbing chains): a course from i to
j by way of k goes to k, returns there any number of times, and goes on, so that

    w_ij + w_ik (1 + w_kk + w_kk^2 + ...) w_kj

are the courses from i to j by way of heads that are left out. The series converges where w_kk < 1,
which whoever evaluates it has to know. A set of heads that is never left has one that is the last
to be left out: it leads nowhere, or to itself alone, and the loop is refused. Else the courses end,
but for a null set (there are finitely many heads). A loop that ends for certain is no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.nodes import Graph, Node

MOST_HEADS = 2_000
"""Most heads of one loop."""

S = TypeVar("S")
E = TypeVar("E")

Head = tuple[object, S, Node]
"""What a state has in common with others of one head, the state with the scalar 1, its scalar."""


def absorbed(
    graph: Graph,
    states: Iterable[Head[S]],
    turn: Callable[[S], tuple[Iterable[Head[S]], Iterable[tuple[E, Node]]]],
) -> list[tuple[E, Node]]:
    """Return what a loop ends with, each with its scalar: the sum over all courses.

    Args:
        graph: Of scalars.
        states: Where it is entered.
        turn: What a state leads to by one turn: states before the condition, and ends.
    """
    heads, numbers, ends = list[S](), dict[object, int](), list[E]()
    # Where a turn from each head leads: to heads from 1 on, and to ends, as -1, -2, …; the loop is
    # entered from 0.
    onward: list[dict[int, Node]] = [{}]

    def add(source: int, target: int, weight: Node) -> None:
        known = onward[source].get(target, graph.zero)
        onward[source][target] = graph.plus(known, weight)

    def reach(source: int, states: Iterable[Head[S]]) -> None:
        for key, head, scalar in states:
            number = numbers.setdefault(key, len(onward))
            if number == len(onward):
                if number > MOST_HEADS:
                    raise Refused(f"a loop with more than {MOST_HEADS} states at its head")
                onward.append({})
                heads.append(head)
            add(source, number, scalar)

    reach(0, states)
    # The list grows while it is gone through.
    for place, head in enumerate(heads, 1):
        again, left = turn(head)
        reach(place, again)
        for end, scalar in left:
            ends.append(end)
            add(place, -len(ends), scalar)
    for middle in range(1, len(onward)):
        targets = onward[middle]
        back = targets.pop(middle, graph.zero)
        if not targets:
            raise NotProved("a loop that is not known to end")
        for source in (0, *range(middle + 1, len(onward))):
            to = onward[source].pop(middle, graph.zero)
            if to == graph.zero:
                continue
            spend(len(targets))
            through = graph.times(to, graph.star(back))
            for target, weight in targets.items():
                add(source, target, graph.times(through, weight))
    return [(ends[-1 - number], scalar) for number, scalar in onward[0].items()]
