"""Potentials of machines with rounds: a search for nodes that prove a budget.

After some rounds all that the rest needs is a cost vector: for every shift of the cells that hold
something random the least that the samples so far cost, over the changes of the inputs so far. A
family of vectors is closed if every path and every change lead from each of them to one whose
entries are at least as large. Such a family, with no vector whose least entry is above B, is a
proof of B: allowances are B less the entries. Found front by front; only entries that some node
needs become allowances.

Shifts are -1, 0 and 1 times the most that a mean changes: enough where guards compare two samples,
or a sample and a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form
from dipapprox.kernel.paths import Sample
from dipapprox.kernel.rounds import Rounds
from dipapprox.language.traversal import reachable
from dipapprox.limits import check_limits
from dipapprox.proof_steps.heads import (
    START,
    Changes,
    Head,
    Heads,
    Moves,
    QuietRuns,
    Shift,
    Way,
    fast,
    node_of,
    step_of,
)
from dipapprox.proof_steps.machines import Json, form_json, number_json

_Leaf = tuple[int | None, Sequence[tuple[Shift, Shift]]]
"""Where a path leads, and for every move its allowance and the shifts of the samples."""

_Cost = Any  # in prices of `Heads`: an integer, or a fraction
Vector = Mapping[Shift, _Cost]  # the least cost for every shift; what is left out is too dear
MOST_ENTRIES = 200_000  # of all vectors
MOST_COMPARED = 500_000  # vectors that others are compared with: some seconds
MOST_PATIENCE = 3_000  # vectors; from then on entries that grow round after round are given up
LEFT_FREE = 4  # cells at one head that are shifted by all there is where those of others are fixed


class Member(Record, frozen=False):
    """A vector of a closed family."""

    head: Head
    vector: Vector
    # The member that it was made of first, with the way and the changes; None at the start.
    before: tuple[int, Way, Changes] | None = None
    # For each way and case the member that it leads to; None at ends.
    links: dict[tuple[int, Changes], int | None] = field(default_factory=dict)
    needed: set[Shift] = field(default_factory=set)  # the entries that have to be allowances


class Dearer(NoCertificate):
    """A walk costs more than the budget, whatever its samples are shifted by."""

    def __init__(self, walk: Sequence[tuple[Way, Changes]]) -> None:
        super().__init__("no shifts were found for the budget")
        self.walk = walk  # its ways, with the changes of their inputs


class PotentialSearch:
    """The search for nodes.

    Args:
        with_facts: Whether to keep in mind how numbers that are held compare.
        with_quiet: Whether runs that are quiet from a head on are shifted together.
        with_loose: Whether paths are joined that differ in what no path depends on.
    """

    def __init__(
        self,
        machine: Rounds,
        budget: Fraction,
        with_facts: bool,
        with_quiet: bool = False,
        with_loose: bool = False,
        most: int = MOST_ENTRIES,
    ) -> None:
        self._machine = machine
        self._heads = Heads(machine, with_facts, with_loose)
        self._ways, self._unit = self._heads.ways, self._heads.unit
        self._budget: _Cost = fast(budget / self._heads.price)
        self.quiet = QuietRuns(machine, self._heads, with_quiet)
        self._needy = self._needing()
        self._least: _Cost = 0
        self._pins: dict[Head, dict[int, int]] = {}
        self._members: list[Member] = []
        self._front: dict[Head, list[int]] = {}
        self._entries, self._compared, self._most = 0, 0, most

    @property
    def least(self) -> Fraction:
        """The budget that the proof needs that was found, not more than B."""
        return self._heads.price * Fraction(self._least)

    def step(self) -> Json:
        """Return a proof.

        Raises:
            Dearer: If there is none: the walk costs more, if shifts are as they say above.
            NoCertificate: If none is found.
            LimitReached: If a limit is reached.
        """
        self._find()
        reached = self._reached()
        nodes = self._written(reached)
        heads = [self._members[number].head for number in reached]
        places = {(head.values, head.held): place for place, head in enumerate(heads) if place}
        return step_of(nodes, self.quiet.written(places))

    def _find(self) -> None:
        """Find a closed family, or raise what `step` does.

        Where many cells are held, fixed shifts of most of them are tried first: all shifts of all
        of them are too many.
        """
        wide = any(len(head.held) > LEFT_FREE for head in self._ways)
        for pins in (*([self._heads.pins(LEFT_FREE)] if wide else ()), {}):
            self._pins = pins
            try:
                self._look()
            except NoCertificate:
                if not pins:
                    raise
            else:
                return

    def _look(self) -> None:
        """Find a closed family of vectors with the pinned shifts alone."""
        self._least, self._entries, self._compared = 0, 0, 0
        self._members, self._front = [Member(START, {(): 0})], {}
        # Nothing leads back to a component that is done with: so all costs of it are known.
        waiting: list[tuple[int, _Cost, int, int]] = [(0, 0, 0, 0)]
        order = count(1)
        while waiting:
            check_limits()
            *_, number = heappop(waiting)
            member = self._members[number]
            if number and number not in self._front[member.head]:
                continue
            for way in self._ways[member.head]:
                for case in way.cases:
                    if self._needs_nothing(member.head, way):
                        continue
                    found = self._after(member.vector, way, case)
                    wanted = self._at_ends(member.head, way)
                    needs = way.target is None or way.target in self._needy
                    if (needs and not found) or any(shift not in found for shift in wanted):
                        raise Dearer([*self._walk(number), (way, case)])
                    dearest = min(found.values()) if needs else 0
                    self._least = max([self._least, dearest, *(found[shift] for shift in wanted)])
                    if way.target is None:
                        continue
                    kept = self._lasting(way.target, found, number) if needs else {}
                    if self._add(way.target, kept, (number, way, case)):
                        place = -self._heads.components[way.target]
                        heappush(waiting, (place, -dearest, next(order), len(self._members) - 1))

    def _needs_nothing(self, head: Head, way: Way) -> bool:
        """Whether a way is impossible, seen by nobody, or a quiet end."""
        if way.path.ended and way.path.said in self.quiet.of(head):
            return True
        return not way.is_possible or (way.path.ended and not self._machine.ends)

    def _needing(self) -> set[Head]:
        """Return the heads from where some runs need allowances: those that are not quiet."""
        found = {head for head in self._ways if None not in self.quiet.of(head)}
        size = -1
        while size < len(found):
            size = len(found)
            for head in self._ways.keys() - found:
                for way in self._ways[head]:
                    if not self._needs_nothing(head, way) and (
                        way.target is None or way.target in found or self._at_ends(head, way)
                    ):
                        found.add(head)
        return found

    def _at_ends(self, head: Head, way: Way) -> list[Shift]:
        """Return the shifts that have to be among those behind a way, of what ends quietly."""
        if way.target is None:
            return []
        own, quiet = self.quiet.of(head), not way.path.said
        ends = self.quiet.of(way.target).items()
        return [shift for last, shift in ends if not (quiet and last in own)]

    # --- vectors -----------------------------------------------------------------------------

    def _after(self, vector: Vector, way: Way, case: Changes) -> dict[Shift, _Cost]:
        """Return the vector at the end of a path."""
        found: dict[Shift, _Cost] = {}
        pins = {} if way.target is None else self._pins.get(way.target, {})
        for shift, spent in vector.items():
            for after, cost, _ in self._moves(way).after(shift, case):
                if pins and any(after[place] != level for place, level in pins.items()):
                    continue
                total = spent + cost
                if total <= self._budget and total < found.get(after, total + 1):
                    found[after] = total
        return found

    def _moves(self, way: Way) -> Moves:
        if way.moves is None:
            held = () if way.target is None else way.target.held
            loose = [] if way.target is None else self._heads.loose(way.target)
            way.moves = Moves(way.path, held, loose, self._unit, self._heads.price, self._budget)
        return way.moves

    def _walk(self, number: int) -> list[tuple[Way, Changes]]:
        """Return the walk that led to a member."""
        found = []
        before = self._members[number].before
        while before is not None:
            found.append(before[1:])
            before = self._members[before[0]].before
        return found[::-1]

    def _lasting(self, head: Head, vector: Vector, number: int) -> Vector:
        """Return a vector; where many were seen, without what grew since its head was there."""
        last: int | None = number if len(self._members) > MOST_PATIENCE else None
        while last is not None and self._members[last].head != head:
            before = self._members[last].before
            last = None if before is None else before[0]
        old = {} if last is None else self._members[last].vector
        return {s: cost for s, cost in vector.items() if cost <= old.get(s, cost)} or vector

    def _add(self, head: Head, vector: Vector, before: tuple[int, Way, Changes]) -> bool:
        """Add a vector, unless it is within one that is there; drop those within it."""
        front = self._front.setdefault(head, [])
        self._compared += len(front)
        if self._compared > MOST_COMPARED:
            raise NoCertificate("the search compares too many vectors")
        if any(_within(vector, self._members[k].vector) for k in front):
            return False
        self._entries += len(vector)
        if self._entries > self._most:
            raise NoCertificate("the proof is too large")
        front[:] = [k for k in front if not _within(self._members[k].vector, vector)]
        front.append(len(self._members))
        self._members.append(Member(head, vector, before))
        return True

    # --- writing -----------------------------------------------------------------------------

    def _reached(self) -> list[int]:
        """Return the members that a proof needs, with their links."""
        kept = [0, *sorted(k for front in self._front.values() for k in front)]
        for number in kept:
            member = self._members[number]
            for place, way in enumerate(self._ways[member.head]):
                for case in () if self._needs_nothing(member.head, way) else way.cases:
                    target = None
                    if way.target is not None:
                        found = self._after(member.vector, way, case)
                        target = next(
                            k
                            for k in self._front[way.target]
                            if _within(found, self._members[k].vector)
                        )
                    member.links[place, case] = target

        def following(number: int) -> Iterator[int]:
            return (k for k in self._members[number].links.values() if k is not None)

        return sorted(reachable((0,), following))

    def _written(self, reached: Sequence[int]) -> list[Json]:
        numbers = {member: number for number, member in enumerate(reached)}
        for number in reached:
            vector = self._members[number].vector
            if vector:
                least = min(vector, key=lambda shift: (vector[shift], shift))
                self._members[number].needed.add(least)
        while self._grow(reached):
            check_limits()
        return [self._node(self._members[k], numbers) for k in reached]

    def _grow(self, reached: Sequence[int]) -> bool:
        """Add what entries that are needed come from; return whether there was something."""
        grown = False
        for number in reached:
            member = self._members[number]
            for (place, case), target in member.links.items():
                for wanted in self._wanted(member, place, target):
                    source = self._source(member, place, case, *wanted)[0]
                    if source not in member.needed:
                        member.needed.add(source)
                        grown = True
        return grown

    def _wanted(self, member: Member, place: int, target: int | None) -> list[tuple[Shift, _Cost]]:
        """Return the entries at the end of a way, with what they may cost."""
        if target is None:
            return [((), self._budget)]
        after = self._members[target]
        ends = self._at_ends(member.head, self._ways[member.head][place])
        return [(shift, after.vector[shift]) for shift in sorted(after.needed)] + [
            (shift, self._budget) for shift in ends
        ]

    def _source(
        self, member: Member, place: int, case: Changes, wanted: Shift, most: _Cost
    ) -> tuple[Shift, Shift]:
        """Return an entry that an entry at the end comes from, and the shifts of the samples."""
        way = self._ways[member.head][place]
        found = [
            (shift not in member.needed, spent + cost, shift, chosen)
            for shift, spent in member.vector.items()
            for after, cost, chosen in self._moves(way).after(shift, case)
            if after == wanted and spent + cost <= most
        ]
        _, _, source, chosen = min(found)
        return source, chosen

    def _node(self, member: Member, numbers: Mapping[int, int]) -> Json:
        needed = sorted(member.needed)
        head, loose = member.head, self._heads.loose(member.head)
        allowances: list[Json] = []
        for shift in needed:
            moved: list[Json] = [
                None if name in loose else number_json(self._unit * each)
                for name, each in zip(head.held, shift, strict=True)
            ]
            left = self._heads.price * (self._budget - member.vector[shift])
            allowances.append([number_json(left), moved])
        cases: list[Json] = []
        for place, way in enumerate(self._ways[member.head]):
            if self._needs_nothing(head, way):
                cases.append(None)
                continue
            leaves: dict[Changes, _Leaf] = {}
            for case in way.cases:
                target = member.links[place, case]
                wanted = self._wanted(member, place, target)
                moves = [self._source(member, place, case, *each) for each in wanted]
                leaves[case] = None if target is None else numbers[target], moves
            cases.append(self._nested(way, needed, leaves, 0))
        return node_of(head, allowances, cases)

    def _nested(
        self, way: Way, needed: Sequence[Shift], leaves: Mapping[Changes, _Leaf], place: int
    ) -> Json:
        """Return cases for one input after the other; one for all where it is known to do."""
        moves = self._linear(way, leaves)
        if moves is not None:
            target, listed = next(iter(leaves.values()))
            sources = [needed.index(source) for source, _ in listed]
            return {"to": target, "moves": [list(own) for own in zip(sources, moves, strict=True)]}
        number, values = way.ends[place]
        parts = ({c: leaf for c, leaf in leaves.items() if c[place] == v} for v in values)
        return {
            "input": number,
            "cases": [self._nested(way, needed, part, place + 1) for part in parts],
        }

    def _linear(self, way: Way, leaves: Mapping[Changes, _Leaf]) -> list[Json] | None:
        """Return shifts of the samples, for every move, that are linear in the changes of inputs.

        None if there are none; or if the dearest changes for different samples may not come
        together: then shifts for all changes cost more than any of them.
        """
        cases = list(leaves)
        first, last = cases[0], cases[-1]
        free = [k for k, (low, high) in enumerate(zip(first, last, strict=True)) if low != high]
        if len({(to, *(source for source, _ in own)) for to, own in leaves.values()}) > 1:
            return None
        samples = [k for k, atom in enumerate(way.path.atoms) if isinstance(atom, Sample)]
        found: list[Json] = []
        for move, (source, chosen) in enumerate(leaves[first][1]):
            levels = {case: own[move][1] for case, (_, own) in leaves.items()}
            prices = [self._moves(way).prices(source, case, own) for case, own in levels.items()]
            if max(map(sum, prices)) != sum(map(max, zip(*prices, strict=True))):
                return None
            written: list[Json] = []
            for number, (atom, level) in enumerate(zip(samples, chosen, strict=True)):
                slopes = {}
                for k in free:
                    end = levels[*first[:k], last[k], *first[k + 1 :]][number]
                    if end != level:
                        slopes[k] = Fraction(end - level) / (last[k] - first[k])
                if any(way.ends[k][0] > atom for k in slopes) or any(
                    own[number] - level != sum(s * (case[k] - first[k]) for k, s in slopes.items())
                    for case, own in levels.items()
                ):
                    return None
                start = level - sum(slope * first[k] for k, slope in slopes.items())
                terms = [(way.ends[k][0], self._unit * slope) for k, slope in slopes.items()]
                form = Form(self._unit * start, tuple(terms))
                written.append(form_json(form) if terms else number_json(form.constant))
            found.append(written)
        return found


def _within(vector: Vector, other: Vector) -> bool:
    """Whether a vector has entries that are at most those of another."""
    return all(shift in vector and vector[shift] <= cost for shift, cost in other.items())
