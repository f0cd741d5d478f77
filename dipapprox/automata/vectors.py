"""Cost vectors: what the shifts so far have cost, for every shift of the values that are held.

After a part of a run and a change of its inputs a vector over {-1, 0, 1}^held says all that the
rest needs: the least that the samples so far cost, given the shift of each value that is held; what
is left out is dearer than a cap, and never part of a cheapest shift below it. The adversary chooses
steps and changes of inputs, the shifts answer; the least entry is the cost of the walk that led to
a vector. Steps are monotone, so vectors *within* others, with entries that are no larger, need no
search: the adversary prefers larger ones. With a cap there are finitely many, so a search ends:

- with a family of vectors that is closed: every step from one of them ends within another. Its
  largest least entry is a budget, and the family its proof (`kernel.potential`);
- or with a walk that costs more than the cap;
- or at a limit, with the largest value seen.

Component by component, since no step leads back; inside one the largest vectors first: the
adversary's saturated loops come first and most else is within them. What walks are made of others
say: steps of automata (`optimum`), paths of a machine's rounds (`proof_steps.potentials`).

A fixed shift for values that many are held beside: a strategy, where all shifts are too many.
Pinning a value to one shift leaves the entries with that shift: the search then finds what this
strategy costs, an upper bound of the least budget.

What one step stores and all that keep it make a *web*: places, each a node and a held value, joined
along the steps that keep the value. A web that is compared on cycles with `sample >= x` alone is
pinned to +1, with `sample < x` alone to -1: gone round often, the cycles leave no other choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from dipapprox.data_classes import Record
from dipapprox.errors import NoCertificate
from dipapprox.graphs import components
from dipapprox.limits import check_limits

Shift = tuple[int, ...]  # of the values that are held
Cost = Any  # an integer, or a fraction
Vector = Mapping[Shift, Cost]
Change = Any  # of the inputs that a way reads
Move = tuple[Shift, Cost, Shift]  # shifts at the end, what they cost, and those of samples


class VectorWay(Protocol):
    """A way on from a node; `cases` are the changes of its inputs that are looked at."""

    @property
    def target(self) -> Any:
        """Where it leads; None for an end."""

    @property
    def cases(self) -> Iterable[Change]: ...


Node = TypeVar("Node", bound=Hashable)
OwnWay = TypeVar("OwnWay", bound=VectorWay)


class Member(Record, Generic[Node, OwnWay]):
    """A vector of a family."""

    node: Node
    vector: Vector
    room: Cost  # how far all its entries together are below what is too dear
    # The member that it was made of first, with the way and the changes; None at the start.
    before: tuple[int, OwnWay, Change] | None = None


class Dearer(NoCertificate):
    """A walk costs more than the cap, whatever its samples are shifted by."""

    def __init__(self, walk: Sequence[tuple[Any, Change]]) -> None:
        super().__init__("no shifts were found for the budget")
        self.walk = walk  # its ways, with the changes of their inputs


class VectorSearch(ABC, Generic[Node, OwnWay]):
    """A search for a closed family of vectors.

    Args:
        cap: Costs above it are not told apart.
        most: Entries that all vectors may have, and, if less, vectors that others are compared
            with.
        is_greedy: Whether the largest vector alone is kept of what a way makes, and of a node that
            is not come back to: then a dear walk is found, and no proof.

    Attributes:
        value: The largest least cost of a walk so far.
        members: All vectors that were made; `fronts` has for each node those that are within no
            other, by number.
    """

    def __init__(
        self, start: Node, cap: Cost, most: int, most_compared: int, is_greedy: bool = False
    ) -> None:
        self._start, self._cap = start, cap
        self._most, self._most_compared, self._is_greedy = most, most_compared, is_greedy
        self._known: dict[tuple[int, Change], dict[Shift, list[Move]]] = {}

    @abstractmethod
    def leaving(self, node: Node) -> Iterable[OwnWay]:
        """Return the ways on from a node that may need something."""

    @abstractmethod
    def component(self, node: Node) -> int:
        """Return the strongly connected component of a node: no way leads to a larger one."""

    def kind(self, way: OwnWay) -> object:
        """Return the object that ways have in common that have the same moves."""
        return way

    @abstractmethod
    def moves_on(self, way: OwnWay, shift: Shift, case: Change) -> Iterable[Move]:
        """Return moves on a way, the cheapest ones among them."""

    def cost(self, node: Node, way: OwnWay, found: Vector) -> Cost | None:
        """Return what a walk costs, from the vector at its end; None for more than the cap."""
        return min(found.values(), default=None)

    def rank(self, cost: Cost, room: Cost) -> Cost:
        """Return what says which vectors of a component come first: the least."""
        return room

    def lasting(self, way: OwnWay, found: Vector, number: int) -> Vector:
        """Return what is kept of the vector at the end of a way from a member."""
        return found

    def moves(self, way: OwnWay, case: Change, shift: Shift) -> Sequence[Move]:
        """Return the cheapest moves on a way, by what they leave."""
        known = self._known.setdefault((id(self.kind(way)), case), {})
        if shift not in known:
            best: dict[Shift, Move] = {}
            for each in self.moves_on(way, shift, case):
                if each[0] not in best or each[1] < best[each[0]][1]:
                    best[each[0]] = each
            known[shift] = [*best.values()]
        return known[shift]

    def after(self, vector: Vector, way: OwnWay, case: Change) -> dict[Shift, Cost]:
        """Return the vector at the end of a way."""
        known, found = self._known.get((id(self.kind(way)), case), {}), dict[Shift, Cost]()
        for shift, spent in vector.items():
            for reached, cost, _ in known.get(shift) or self.moves(way, case, shift):
                total = spent + cost
                if total <= self._cap and total < found.get(reached, total + 1):
                    found[reached] = total
        return found

    def look(self) -> None:
        """Find a closed family.

        Raises:
            Dearer: If a walk costs more than the cap.
            NoCertificate: If there are too many vectors.
            LimitReached: If a limit is reached.
        """
        self.value, self._entries, self._compared = 0, 0, 0
        self._known.clear()
        self.members: list[Member[Node, OwnWay]] = [Member(self._start, {(): 0}, self._cap + 1)]
        self.fronts: dict[Node, dict[int, Member[Node, OwnWay]]] = {}
        self._dearest: tuple[int, OwnWay, Change] | None = None
        self._last: tuple[int, OwnWay, Change] | None = None
        waiting: list[tuple[int, Cost, int]] = [(0, 0, 0)]
        done = set[Node]()
        while waiting:
            check_limits()
            *_, number = heappop(waiting)
            member = self.members[number]
            if number and number not in self.fronts[member.node]:
                continue
            if self._is_greedy and member.node in done and not self._is_cyclic(member.node):
                continue
            done.add(member.node)
            for way in self.leaving(member.node):
                made = list[tuple[Cost, Member[Node, OwnWay]]]()
                for case in way.cases:
                    found, before = self.after(member.vector, way, case), (number, way, case)
                    cost = self.cost(member.node, way, found)
                    if cost is None:
                        raise Dearer(self._walk(before))
                    if cost > self.value:
                        self.value, self._dearest = cost, before
                    if cost == self.value:
                        self._last = before
                    if way.target is None:
                        continue
                    kept = self.lasting(way, found, number)
                    room = len(kept) * (self._cap + 1) - sum(kept.values())
                    made.append((cost, Member(way.target, kept, room, before)))
                if self._is_greedy:
                    made = [min(made, key=lambda each: each[1].room)]
                for cost, new in made:
                    if self._add(new):
                        place, rank = -self.component(new.node), self.rank(cost, new.room)
                        heappush(waiting, (place, rank, len(self.members) - 1))

    def _is_cyclic(self, node: Node) -> bool:
        """Whether a way leads on within the component of a node."""
        place = self.component(node)
        return any(self.component(way.target) == place for way in self.leaving(node))

    def dearest_walk(self, last: bool = False) -> list[tuple[OwnWay, Change]]:
        """Return the first walk that costs `value`, or the last, which goes round cycles more."""
        return self._walk(self._last if last else self._dearest)

    def _walk(self, last: tuple[int, OwnWay, Change] | None) -> list[tuple[OwnWay, Change]]:
        found = list[tuple[OwnWay, Change]]()
        while last is not None:
            number, *step = last
            found.append((step[0], step[1]))
            last = self.members[number].before
        return found[::-1]

    def _add(self, new: Member[Node, OwnWay]) -> bool:
        """Add a vector, unless it is within one that is there; drop those within it."""
        front, room, vector = self.fronts.setdefault(new.node, {}), new.room, new.vector
        larger = [known.vector for known in front.values() if known.room <= room]
        self._compared += len(front)
        if self._compared > self._most_compared:
            raise NoCertificate("the search compares too many vectors")
        if any(is_within(vector, each) for each in larger):
            return False
        self._entries += len(new.vector)
        if self._entries > self._most:
            raise NoCertificate(f"cost vectors of more than {self._most} entries")
        smaller = [(k, known.vector) for k, known in front.items() if known.room >= room]
        for number, each in smaller:
            if is_within(each, vector):
                del front[number]
        front[len(self.members)] = new
        self.members.append(new)
        return True


def is_within(vector: Vector, other: Vector) -> bool:
    """Whether a vector has entries that are at most those of another."""
    for shift, cost in other.items():
        own = vector.get(shift)
        if own is None or own > cost:
            return False
    return True


# --- Pinned values --------------------------------------------------------------------------------


LEFT_FREE = 4
"""Values at one node that are not pinned where more are held."""

Variable = TypeVar("Variable", int, str)


def pin(
    live: Sequence[Sequence[Variable]],
    kept: Iterable[tuple[tuple[int, Variable], tuple[int, Variable]]],
    compared: Iterable[tuple[tuple[int, Variable], int]],
) -> tuple[dict[Variable, int], ...]:
    """Pin values so that at most `LEFT_FREE` others are live at any node.

    Args:
        live: The variables that are live at each node.
        kept: Places that hold the same value, at the two ends of an edge.
        compared: Places whose value is compared on a cycle, each with the shift that it wants.

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
        crowded = any(len(live[node]) - len(pins[node]) > LEFT_FREE for node, _ in web)
        if len(own) == 1 or crowded:
            (shift,) = own if len(own) == 1 else {0}
            for node, variable in web:
                pins[node][variable] = shift
    return tuple(pins)
