"""What random choices gave on a path: sets of outcomes, as decision diagrams.

A set is a number: of a node with a choice and, for each of its outcomes, the set that is left to
the choices made before it. Nodes are shared, and equal sets mostly have equal numbers: a set of a
thousand choices ("the number of heads is a multiple of 3") has a few thousand nodes, and paths that
meet are united in a few steps. Choices are independent: with the weights w_k of the outcomes,

    Pr[node] = Σ_k w_k Pr[child_k]          Pr[union] = Σ Pr[member]

What an input is may decide which outcomes a set has: a node may have a *reading* of an input cell
for its choice, whose outcomes are the values of the cell's domain. At an input its weights are 1
and 0. On the way to the root of a set a cell is read once at most: below a reading nothing is left
of older readings of the same cell (`given`).

References:
    R. E. Bryant: Graph-based algorithms for Boolean function manipulation, 1986 (two outcomes).
    A. Darwiche, P. Marquis: A knowledge compilation map, 2002 (d-DNNF: with disjoint unions).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb

from dipapprox.errors import BrokenInvariant
from dipapprox.language import traversal

NEVER, ALWAYS = 0, 1
"""The empty set, and that of all outcomes of all choices."""

UNION = -1
Node = tuple[int, tuple[int, ...], tuple[int, ...]]
"""(choice, outcomes, their children), or (`UNION`, nothing, disjoint members). Outcomes ascend; the
set has nothing of those without a child. Children have smaller numbers than their parents, and
mention smaller choices only. `NEVER` is the empty union, `ALWAYS` another node without children."""

NO_CHOICES: tuple[Node, ...] = ((UNION, (), ()), (UNION - 1, (), ()))
"""The nodes `NEVER` and `ALWAYS`."""

_CREDIT = 4
"""Nodes that unions may look at for every node that a split adds: their work grows as that of the
paths does. What is not looked at stays a `UNION`."""


class OutcomeSets:
    def __init__(self) -> None:
        self.nodes: list[Node] = list(NO_CHOICES)
        self._numbers: dict[Node, int] = {}
        self._largest = [UNION, UNION]
        self._unions: dict[tuple[int, ...], int] = {}
        self._counts: dict[int, int] = {}  # outcomes of the choices
        self._cells: dict[int, int] = {}  # of the readings, as masks
        self._read = [0, 0]  # the cells that each node has readings of
        # By a cell and a value, what sets are there.
        self._given: dict[tuple[int, int], dict[int, int]] = {}
        self._credit = 0

    @property
    def has_readings(self) -> bool:
        return bool(self._cells)

    def largest(self, number: int) -> int:
        """Return the largest choice that a set mentions, -1 if it mentions none."""
        return self._largest[number]

    def reads(self, number: int, cell: int) -> bool:
        return bool(self._read[number] >> cell & 1)

    def split(self, number: int, choice: int, outcomes: int) -> list[int]:
        """Split a set by the outcomes of a choice that is larger than all that it mentions."""
        if choice <= self._largest[number]:
            raise BrokenInvariant("a choice was made twice on a path")
        self._credit += _CREDIT
        self._counts[choice] = outcomes
        if outcomes == 1:
            return [number]
        return [self._added((choice, (outcome,), (number,))) for outcome in range(outcomes)]

    def told(self, number: int, reading: int, cell: int, values: Iterable[int], size: int) -> int:
        """Restrict a set to inputs in which a cell has one of some values, places in its domain.

        The reading is newer than all choices that the set mentions; the domain has so many values.
        """
        if reading <= self._largest[number]:
            raise BrokenInvariant("a reading must be the newest choice of a set")
        self._credit += _CREDIT
        self._counts[reading], self._cells[reading] = size, 1 << cell
        children = {value: self.given(number, 1 << cell, value) for value in values}
        return self._node(reading, {k: child for k, child in children.items() if child != NEVER})

    def given(self, number: int, cell: int, value: int) -> int:
        """Return what a set is where a cell, given by its mask, has a value."""
        if not self._read[number] & cell:
            return number
        known = self._given.setdefault((cell, value), {})
        nodes, read, cells = self.nodes, self._read, self._cells
        waiting = [number]
        while waiting:
            here = waiting[-1]
            head, outcomes, children = nodes[here]
            if cells.get(head) == cell:
                known[here] = children[outcomes.index(value)] if value in outcomes else NEVER
            elif here not in known:
                missing = [k for k in children if read[k] & cell and k not in known]
                if missing:
                    waiting += missing
                    continue
                below = [known[k] if read[k] & cell else k for k in children]
                if head == UNION:
                    kept = self._members(below)
                    known[here] = self._added((UNION, (), kept)) if kept[1:] else (*kept, NEVER)[0]
                else:
                    left = zip(outcomes, below, strict=True)
                    known[here] = self._node(head, {k: child for k, child in left if child})
            waiting.pop()
        return known[number]

    def union(self, sets: Iterable[int]) -> int:
        """Return the union of disjoint sets.

        Raises:
            BrokenInvariant: If two of them are seen to have something in common: a bug.
        """
        wanted = self._members(sets)
        waiting = [wanted]
        parted: dict[tuple[int, ...], tuple[int, dict[int, tuple[int, ...]]]] = {}
        while waiting:
            members = waiting[-1]
            if self._known(members) is not None:
                waiting.pop()
                continue
            if members not in parted:
                largest = max([self._largest[member] for member in members])
                columns = self._columns(members, largest)
                parts = {outcome: self._members(each) for outcome, each in columns.items()}
                parted[members] = largest, parts
            choice, below = parted[members]
            missing = [each for each in below.values() if self._known(each) is None]
            if not below or (missing and self._credit <= 0):
                self._unions[members] = self._added((UNION, (), members))
            elif missing:
                self._credit -= len(members)
                waiting += missing
            else:
                children = ((k, self._known(each)) for k, each in below.items())
                self._unions[members] = self._node(choice, {k: c for k, c in children if c})
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

    def _columns(self, sets: tuple[int, ...], choice: int) -> dict[int, list[int]]:
        """Return what is left of sets for each outcome of a choice, where anything is.

        Args:
            sets: None of them mentions a larger choice.
            choice: If it is mentioned inside a union, nothing is returned.
        """
        columns: list[list[int]] = [[] for _ in range(self._counts.get(choice, 0))]
        others = []
        for each in sets:
            head, outcomes, children = self.nodes[each]
            if head == choice:
                for outcome, child in zip(outcomes, children, strict=True):
                    columns[outcome].append(child)
            elif self._largest[each] == choice:
                return {}
            else:
                others.append(each)
        if others:
            cell, read = self._cells.get(choice, 0), self._read
            for outcome, own in enumerate(columns):
                own += [self.given(k, cell, outcome) if read[k] & cell else k for k in others]
        return {outcome: own for outcome, own in enumerate(columns) if own}

    def _node(self, choice: int, children: dict[int, int]) -> int:
        """Return the node with some children, by outcome; none of them is `NEVER`."""
        if not children:
            return NEVER
        outcomes = tuple(sorted(children))
        below = tuple([children[outcome] for outcome in outcomes])
        if len(outcomes) == self._counts[choice] and len(set(below)) == 1:
            return below[0]
        return self._added((choice, outcomes, below))

    def _added(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            head, _, children = node
            self._largest.append(
                head if head != UNION else max([self._largest[child] for child in children])
            )
            read = self._cells.get(head, 0)
            for child in children if self._cells else ():
                read |= self._read[child]
            self._read.append(read)
        return number


def reachable(nodes: Sequence[Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes that sets consist of, children before their parents."""
    return sorted(traversal.reachable(roots, lambda node: nodes[node][2]))


def as_conjunction(nodes: Sequence[Node], number: int) -> list[tuple[int, frozenset[int]]] | None:
    """Return which outcomes which choices have, the newest choice first, if a set is just that."""
    found: list[tuple[int, frozenset[int]]] = []
    while number != ALWAYS:
        choice, outcomes, children = nodes[number]
        if choice == UNION or len(set(children)) != 1:
            return None
        found.append((choice, frozenset(outcomes)))
        number = children[0]
    return found


def largest_choices(nodes: Sequence[Node]) -> list[int]:
    """Return the largest choice that each node mentions, -1 if it mentions none."""
    found: list[int] = []
    for head, _, children in nodes:
        found.append(max([found[child] for child in children], default=UNION) if head < 0 else head)
    return found


def counting_sets(
    nodes: Sequence[Node], roots: Iterable[int]
) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """Return what sets say that say how many choices, of two outcomes each, have the first one.

    Returns:
        The choices, and the numbers, for those of the roots that are such sets.
    """
    wanted = set(roots)
    mentioned: dict[int, int] = {}  # a mask of choices for each set
    found: dict[int, dict[tuple[int, int], int]] = {NEVER: {}, ALWAYS: {(0, 0): 1}}
    for number in reachable(nodes, wanted):
        head, outcomes, children = nodes[number]
        mentioned[number] = 0 if head < 0 else 1 << head
        own: dict[tuple[int, int], int] = {}  # by choices that are looked at, and that have it
        for place, child in enumerate(children):
            mentioned[number] |= mentioned[child]
            for (seen, first), count in found[child].items():
                key = (seen, first) if head < 0 else (seen + 1, first + (outcomes[place] == 0))
                own[key] = own.get(key, 0) + count
        found.setdefault(number, own)
    result = {}
    for root in wanted:
        size = mentioned[root].bit_count()
        total = [0] * (size + 1)
        for (seen, first), count in found[root].items():
            for more in range(size - seen + 1):
                total[first + more] += count * comb(size - seen, more)
        if all(each in (0, comb(size, k)) for k, each in enumerate(total)):
            mask = mentioned[root]
            choices = frozenset(k for k in range(mask.bit_length()) if mask >> k & 1)
            result[root] = choices, frozenset(k for k, each in enumerate(total) if each)
    return result
