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

from dipapprox.automata.vectors import LEFT_FREE, Cost, Move, Shift, Vector, VectorSearch, is_within
from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form
from dipapprox.kernel.paths import Sample
from dipapprox.kernel.rounds import Rounds
from dipapprox.limits import check_limits
from dipapprox.proof_steps.heads import (
    START,
    Changes,
    Head,
    Heads,
    Moves,
    QuietRuns,
    Way,
    fast,
    node_of,
    step_of,
)
from dipapprox.proof_steps.machines import Json, form_json, number_json

_Leaf = tuple[int | None, Sequence[tuple[Shift, Shift]]]
"""Where a path leads, and for every move its allowance and the shifts of the samples."""

MOST_ENTRIES = 200_000  # of all vectors
MOST_COMPARED = 500_000  # vectors that others are compared with: some seconds
MOST_PATIENCE = 3_000  # vectors; from then on entries that grow round after round are given up


class PotentialSearch(VectorSearch[Head, Way]):
    """The search for nodes.

    Args:
        with_facts: Whether to keep in mind how numbers that are held compare.
        with_quiet: Whether runs that are quiet from a head on are shifted together.
    """

    def __init__(
        self,
        machine: Rounds,
        budget: Fraction,
        with_facts: bool,
        with_quiet: bool = False,
        most: int = MOST_ENTRIES,
    ) -> None:
        self._machine = machine
        self._heads = Heads(machine, with_facts)
        self._ways, self._unit = self._heads.ways, self._heads.unit
        super().__init__(START, fast(budget / self._heads.price), most, MOST_COMPARED)
        self.quiet = QuietRuns(machine, self._heads, with_quiet)
        self._needy = self._needing()
        self._pins: dict[Head, dict[int, int]] = {}
        # For each vector: for each way and case the one that it leads to, None at ends.
        self._links: dict[int, dict[tuple[int, Changes], int | None]] = {}
        self._needed: dict[int, set[Shift]] = {}  # its entries that have to be allowances

    @property
    def least(self) -> Fraction:
        """The budget that the proof needs that was found, not more than B."""
        return self._heads.price * Fraction(self.value)

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
        heads = [self.members[number].node for number in reached]
        places = {(head.values, head.held): place for place, head in enumerate(heads) if place}
        return step_of(nodes, self.quiet.written(places))

    def _find(self) -> None:
        """Find a closed family, or raise what `step` does.

        Where many cells are held, fixed shifts of most of them are tried first: all shifts of all
        of them are too many.
        """
        wide = any(len(head.held) > LEFT_FREE for head in self._ways)
        for pins in (*([self._heads.pins()] if wide else ()), {}):
            self._pins = pins
            try:
                self.look()
            except NoCertificate:
                if not pins:
                    raise
            else:
                return

    def leaving(self, node: Head) -> list[Way]:
        return [way for way in self._ways[node] if not self._needs_nothing(node, way)]

    def component(self, node: Head) -> int:
        return self._heads.components[node]

    def moves_on(self, way: Way, shift: Shift, case: Changes) -> Iterator[Move]:
        pins = {} if way.target is None else self._pins.get(way.target, {})
        for move in self._moves(way).of(shift, case):
            if all(move[0][place] == level for place, level in pins.items()):
                yield move

    def cost(self, node: Head, way: Way, found: Vector) -> Cost | None:
        wanted, needs = self._at_ends(node, way), way.target is None or way.target in self._needy
        if (needs and not found) or any(shift not in found for shift in wanted):
            return None
        dearest = min(found.values()) if needs else 0
        return max([dearest, *(found[shift] for shift in wanted)])

    def rank(self, cost: Cost, room: Cost) -> Cost:
        return -cost  # a walk that costs more is soon found

    def lasting(self, way: Way, found: Vector, number: int) -> Vector:
        """Return a vector; where many were seen, without what grew since its head was there."""
        if way.target not in self._needy:
            return {}
        last: int | None = number if len(self.members) > MOST_PATIENCE else None
        while last is not None and self.members[last].node != way.target:
            before = self.members[last].before
            last = None if before is None else before[0]
        old = {} if last is None else self.members[last].vector
        return {s: cost for s, cost in found.items() if cost <= old.get(s, cost)} or found

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

    def _moves(self, way: Way) -> Moves:
        if way.moves is None:
            held = () if way.target is None else way.target.held
            way.moves = Moves(way.path, held, self._unit, self._heads.price, self._cap)
        return way.moves

    # --- writing -----------------------------------------------------------------------------

    def _reached(self) -> list[int]:
        """Return the vectors that a proof needs, and note their links."""
        waiting = [0]
        self._links, self._needed = {}, {}
        for number in waiting:  # which grows
            if number in self._links:
                continue
            links, member = self._links.setdefault(number, {}), self.members[number]
            for place, way in enumerate(self._ways[member.node]):
                for case in () if self._needs_nothing(member.node, way) else way.cases:
                    links[place, case] = None
                    if way.target is not None:
                        found = self.after(member.vector, way, case)
                        front = self.fronts[way.target].items()
                        target = next(k for k, own in front if is_within(found, own.vector))
                        links[place, case] = target
                        waiting.append(target)
            least = min(member.vector, key=lambda shift: (member.vector[shift], shift), default=())
            self._needed[number] = {least} & member.vector.keys()
        return sorted(self._links)

    def _written(self, reached: Sequence[int]) -> list[Json]:
        numbers = {member: number for number, member in enumerate(reached)}
        while self._grow(reached):
            check_limits()
        return [self._node(number, numbers) for number in reached]

    def _grow(self, reached: Sequence[int]) -> bool:
        """Add what entries that are needed come from; return whether there was something."""
        grown = False
        for number in reached:
            for (place, case), target in self._links[number].items():
                for wanted in self._wanted(number, place, target):
                    source = self._source(number, place, case, *wanted)[0]
                    if source not in self._needed[number]:
                        self._needed[number].add(source)
                        grown = True
        return grown

    def _wanted(self, number: int, place: int, target: int | None) -> list[tuple[Shift, Cost]]:
        """Return the entries at the end of a way, with what they may cost."""
        if target is None:
            return [((), self._cap)]
        head, vector = self.members[number].node, self.members[target].vector
        ends = self._at_ends(head, self._ways[head][place])
        return [(shift, vector[shift]) for shift in sorted(self._needed[target])] + [
            (shift, self._cap) for shift in ends
        ]

    def _source(
        self, number: int, place: int, case: Changes, wanted: Shift, most: Cost
    ) -> tuple[Shift, Shift]:
        """Return an entry that an entry at the end comes from, and the shifts of the samples."""
        member = self.members[number]
        way = self._ways[member.node][place]
        found = [
            (shift not in self._needed[number], spent + cost, shift, chosen)
            for shift, spent in member.vector.items()
            for after, cost, chosen in self.moves(way, case, shift)
            if after == wanted and spent + cost <= most
        ]
        _, _, source, chosen = min(found)
        return source, chosen

    def _node(self, number: int, numbers: Mapping[int, int]) -> Json:
        needed, member = sorted(self._needed[number]), self.members[number]
        head = member.node
        allowances: list[Json] = []
        for shift in needed:
            moved: list[Json] = [number_json(self._unit * each) for each in shift]
            left = self._heads.price * (self._cap - member.vector[shift])
            allowances.append([number_json(left), moved])
        cases: list[Json] = []
        for place, way in enumerate(self._ways[head]):
            if self._needs_nothing(head, way):
                cases.append(None)
                continue
            leaves: dict[Changes, _Leaf] = {}
            for case in way.cases:
                target = self._links[number][place, case]
                wanted = self._wanted(number, place, target)
                moves = [self._source(number, place, case, *each) for each in wanted]
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
