"""What random choices gave on a path: sets of outcomes, as decision diagrams.

A set is a number: of a node with a choice and, for each of its outcomes, the set that is left to
the choices made before it. Nodes are shared, and equal sets mostly have equal numbers: a set of a
thousand choices ("the number of heads is a multiple of 3") has a few thousand nodes, and paths that
meet are united in a few steps. Choices are independent: with the weights w_k of the outcomes,

    Pr[node] = Σ_k w_k Pr[child_k]          Pr[union] = Σ Pr[member]

References:
    R. E. Bryant: Graph-based algorithms for Boolean function manipulation, 1986 (two outcomes).
    A. Darwiche, P. Marquis: A knowledge compilation map, 2002 (d-DNNF: with disjoint unions).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dipapprox.errors import BrokenInvariant

NEVER, ALWAYS = 0, 1
"""The empty set, and that of all outcomes of all choices."""

UNION = -1

Node = tuple[int, tuple[int, ...]]
"""(choice, a child for each outcome), or (`UNION`, disjoint members). Children have smaller numbers
than their parents, and mention smaller choices only. `NEVER` is the empty union, `ALWAYS` another
node without children."""

NO_CHOICES: tuple[Node, ...] = ((UNION, ()), (UNION - 1, ()))
"""The nodes `NEVER` and `ALWAYS`."""

_CREDIT = 64
"""Nodes that unions may look at for every node that a split adds: their work grows as that of the
paths does. What is not looked at stays a `UNION`."""


class OutcomeSets:
    """The sets of a run.

    Attributes:
        nodes: By number.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = list(NO_CHOICES)
        self._numbers: dict[Node, int] = {}
        self._largest = [UNION, UNION]
        self._unions: dict[tuple[int, ...], int] = {}
        self._credit = 0

    def largest(self, number: int) -> int:
        """Return the largest choice that a set mentions, -1 if it mentions none."""
        return self._largest[number]

    def split(self, number: int, choice: int, outcomes: int) -> list[int]:
        """Split a set by the outcomes of a choice that is larger than all that it mentions."""
        if choice <= self._largest[number]:
            raise BrokenInvariant("a choice was made twice on a path")
        self._credit += _CREDIT
        return [
            self._node(choice, tuple([number if k == own else NEVER for k in range(outcomes)]))
            for own in range(outcomes)
        ]

    def union(self, sets: Iterable[int]) -> int:
        """Return the union of disjoint sets.

        Raises:
            BrokenInvariant: If two of them are seen to have something in common: a bug.
        """
        wanted = self._members(sets)
        waiting = [wanted]
        while waiting:
            members = waiting[-1]
            if self._known(members) is not None:
                waiting.pop()
                continue
            choice = max([self._largest[member] for member in members])
            columns = _columns(self.nodes, self._largest, members, choice)
            below = [self._members(each) for each in columns]
            missing = [each for each in below if self._known(each) is None]
            if not below or (missing and self._credit <= 0):
                self._unions[members] = self._added((UNION, members))
            elif missing:
                self._credit -= len(members)
                waiting += missing
            else:
                children = [self._known(each) for each in below]
                self._unions[members] = self._node(
                    choice, tuple([child for child in children if child is not None])
                )
        found = self._known(wanted)
        assert found is not None
        return found

    def _known(self, members: tuple[int, ...]) -> int | None:
        if len(members) < 2:
            return members[0] if members else NEVER
        return self._unions.get(members)

    def _members(self, sets: Iterable[int]) -> tuple[int, ...]:
        members = tuple(sorted([each for each in sets if each != NEVER]))
        if len(members) > 1 and (members[0] == ALWAYS or len(set(members)) < len(members)):
            raise BrokenInvariant("sets of outcomes that were taken for disjoint are not")
        return members

    def _node(self, choice: int, children: tuple[int, ...]) -> int:
        if len(set(children)) == 1:
            return children[0]
        return self._added((choice, children))

    def _added(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            head, children = node
            self._largest.append(
                head if head != UNION else max([self._largest[child] for child in children])
            )
        return number


def reachable(nodes: Sequence[Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes that sets consist of, children before their parents."""
    found = set(roots)
    waiting = list(found)
    while waiting:
        for child in nodes[waiting.pop()][1]:
            if child not in found:
                found.add(child)
                waiting.append(child)
    return sorted(found)


def as_conjunction(nodes: Sequence[Node], number: int) -> list[tuple[int, frozenset[int]]] | None:
    """Return which outcomes which choices have, the newest choice first, if a set is just that."""
    found: list[tuple[int, frozenset[int]]] = []
    while number != ALWAYS:
        choice, children = nodes[number]
        below = {child for child in children if child != NEVER}
        if choice == UNION or len(below) != 1:
            return None
        found.append((choice, frozenset(k for k, child in enumerate(children) if child in below)))
        (number,) = below
    return found


class Disjointness:
    """Tells disjoint sets, in bounded time.

    Args:
        nodes: By number.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._largest = largest_choices(nodes)
        self._known: dict[tuple[int, int], bool] = {}
        self._credit = _CREDIT * len(nodes)

    def holds(self, first: int, second: int) -> bool:
        """Whether two sets have nothing in common; False as well if that takes too long to see."""
        known = self._known
        waiting = [(first, second)]
        while waiting:
            pair = waiting[-1]
            if pair in known:
                waiting.pop()
            elif NEVER in pair:
                known[pair] = True
            elif ALWAYS in pair or pair[0] == pair[1]:
                known[pair] = False
            else:
                below = self._below(pair)
                missing = [each for each in below if each not in known]
                if self._credit <= 0 or any(known.get(each) is False for each in below):
                    known[pair] = False
                elif missing:
                    self._credit -= len(missing)
                    waiting += missing
                else:
                    known[pair] = True
        return known[first, second]

    def _below(self, pair: tuple[int, int]) -> list[tuple[int, int]]:
        choice = max(self._largest[each] for each in pair)
        columns = _columns(self._nodes, self._largest, pair, choice)
        if columns:
            return [(first, second) for first, second in columns]
        members = [
            children if head == UNION else (each,)
            for each, (head, children) in ((k, self._nodes[k]) for k in pair)
        ]
        return [(first, second) for first in members[0] for second in members[1]]


def largest_choices(nodes: Sequence[Node]) -> list[int]:
    """Return the largest choice that each node mentions, -1 if it mentions none."""
    found: list[int] = []
    for head, children in nodes:
        found.append(max([found[child] for child in children], default=UNION) if head < 0 else head)
    return found


def _columns(
    nodes: Sequence[Node], largest: Sequence[int], sets: tuple[int, ...], choice: int
) -> list[tuple[int, ...]]:
    """Return for each outcome of a choice what is left of each set.

    Args:
        nodes: By number.
        largest: The largest choice that each node mentions.
        sets: None of them mentions a larger choice, some of them mention this one.
        choice: If it is mentioned inside a union, nothing is returned.
    """
    heads = [nodes[each] for each in sets]
    inside = [largest[each] == choice != head for each, (head, _) in zip(sets, heads, strict=True)]
    if any(inside):
        return []
    count = max([len(children) for head, children in heads if head == choice])
    rows = [
        children if head == choice else (each,) * count
        for each, (head, children) in zip(sets, heads, strict=True)
    ]
    return list(zip(*rows, strict=True))
