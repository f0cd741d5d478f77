"""Heads of rounds, and the paths between them: what potentials of a machine are made for.

Moves are how the samples of a path may be shifted, and what becomes of the cells that it leaves.
Quiet pairs (`kernel.potential`) are of runs that publish nothing more: a head has a shift of its
cells if all pairs are quiet that it leads to, beside itself with its cells shifted so. Shifts are
-1, 0 and 1 times the unit; those of few cells come first.
Moves are counted in units, what they cost in prices; numbers that are integers are Python's: a
search counts with millions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import permutations, product
from math import lcm
from typing import Any

from dipapprox.automata.vectors import pin
from dipapprox.data_classes import Record
from dipapprox.errors import NoCertificate
from dipapprox.graphs import strong_components
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.forms import Form, Stored
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.machine import Number
from dipapprox.kernel.paths import Held, Path, Read, Sample, number_form
from dipapprox.kernel.potential import Last, Quiet, require_quiet
from dipapprox.kernel.regions import NUMBER, joined, known_forms, order_of
from dipapprox.kernel.rounds import Cells, Rounds
from dipapprox.kernel.walk import Guard
from dipapprox.limits import check_limits, check_states
from dipapprox.proof_steps.liveness import live_at_head
from dipapprox.proof_steps.machines import Json, form_json, number_json, stored_json

Shift = tuple[int, ...]  # of the held cells, in units
Changes = tuple[Number, ...]  # of the inputs that a path reads
_Number = Any  # an integer, or a fraction that is none
_Terms = tuple[tuple[int, _Number], ...]  # of a form; its constant is the same in both runs


class _Sampled(Record):
    """A sample: its mean, what a shift of one unit costs, and the signs of shifts."""

    mean: _Terms
    price: _Number
    signs: tuple[int, ...]


Move = tuple[Shift, _Number, Shift]  # shifts at the end, what they cost, and those of samples


class Moves:
    """The cheapest moves on one path, by what they leave.

    Args:
        held: The cells that it leaves which hold something random.
        loose: Those of them of which nothing is said.
        unit: What shifts are counted in.
        price: What costs are counted in.
        budget: The most that the samples of a move may cost, in prices.
    """

    def __init__(
        self,
        path: Path,
        held: Sequence[str],
        loose: Sequence[str],
        unit: Fraction,
        price: Fraction,
        budget: _Number,
    ) -> None:
        self._unit, self._budget = unit, budget
        self._held = [() if n in loose else _terms(number_form(path.store[n])) for n in held]
        self._known: dict[tuple[Shift, Changes], list[Move]] = {}
        # Samples that are compared together with inputs make up for the changes of these.
        compared = (atom for form, _ in path.guards for atom, _ in form.terms)
        wide = any(isinstance(path.atoms[atom], Read) for atom in compared)
        self._levels = range(-2, 3) if wide else range(-1, 2)
        self._atoms: list[_Sampled | bool] = []
        for atom in path.atoms:
            if isinstance(atom, Sample):
                signs = FAMILIES[atom.family].shifts if atom.power == -1 else ()
                self._atoms.append(
                    _Sampled(_terms(atom.mean), fast(unit / atom.size / price), signs)
                )
            else:
                self._atoms.append(isinstance(atom, Read))
        # A guard may be shifted up, and what is published may not be shifted: both are known with
        # their last atom.
        self._demands: list[list[tuple[_Terms, bool]]] = [[] for _ in path.atoms]
        for form, _ in path.guards:
            self._demands[form.terms[-1][0]].append((_terms(form), False))
        for said in path.said:
            if isinstance(said, Form):
                self._demands[said.terms[-1][0]].append((_terms(said), True))

    def after(self, shift: Shift, case: Changes) -> list[Move]:
        """Return those for shifts of the cells at its beginning, and changes of inputs."""
        if (shift, case) not in self._known:
            best: dict[Shift, Move] = {}
            for each in self._all(shift, case):
                if each[0] not in best or each[1] < best[each[0]][1]:
                    best[each[0]] = each
            self._known[shift, case] = list(best.values())
        return self._known[shift, case]

    def prices(self, shift: Shift, case: Changes, chosen: Shift) -> list[_Number]:
        """Return what each sample of a move costs."""
        shifts, found = list[_Number](), list[_Number]()
        changes, levels, held = iter(case), iter(chosen), iter(shift)
        for atom in self._atoms:
            if isinstance(atom, _Sampled):
                shifts.append(next(levels))
                by = shifts[-1] - sum([c * shifts[k] for k, c in atom.mean])
                found.append(abs(by) * atom.price)
            else:
                shifts.append(next(changes) / self._unit if atom else next(held, 0))
        return found

    def _all(self, shift: Shift, case: Changes) -> Iterator[Move]:
        changes, held = iter(case), iter(shift)
        partial: list[tuple[tuple[_Number, ...], _Number, Shift]] = [((), 0, ())]
        for atom, demands in zip(self._atoms, self._demands, strict=True):
            grown: list[tuple[tuple[_Number, ...], _Number, Shift]] = []
            given = None
            if not isinstance(atom, _Sampled):
                given = fast(next(changes) / self._unit) if atom else next(held, 0)
            for shifts, cost, chosen in partial:
                for value, total, levels in (
                    self._sampled(atom, shifts, cost, chosen)
                    if isinstance(atom, _Sampled)
                    else ((given or 0, cost, chosen),)
                ):
                    after = (*shifts, value)
                    for terms, exact in demands:
                        moved = sum([c * after[k] for k, c in terms])
                        if moved < 0 or (moved and exact):
                            break
                    else:
                        grown.append((after, total, levels))
            partial = grown
        for shifts, cost, chosen in partial:
            ends = [sum([c * shifts[k] for k, c in terms]) for terms in self._held]
            if all(end.denominator == 1 for end in ends):
                yield tuple(map(int, ends)), cost, chosen

    def _sampled(
        self, atom: _Sampled, shifts: Sequence[_Number], cost: _Number, chosen: Shift
    ) -> Iterator[tuple[_Number, _Number, Shift]]:
        mean = sum([c * shifts[k] for k, c in atom.mean])
        for level in self._levels:
            by = level - mean
            if by and (1 if by > 0 else -1) not in atom.signs:
                continue
            total = cost + abs(by) * atom.price
            if total <= self._budget:
                yield level, total, (*chosen, level)


def _terms(form: Form) -> _Terms:
    return tuple([(atom, fast(coefficient)) for atom, coefficient in form.terms])


def fast(value: Number) -> _Number:
    """Return an integer as Python's, which is counted with faster."""
    return value.numerator if value.denominator == 1 else value


class Head(Record):
    """Where a round begins: values of cells, cells that hold something random, facts.

    `is_first` says that it is the body that begins.
    """

    values: tuple[tuple[str, Stored], ...] = ()
    held: tuple[str, ...] = ()
    facts: tuple[Guard, ...] = ()
    is_first: bool = False


START = Head(is_first=True)
MOST_WITH_FACTS = 1_500
"""Heads that are told apart by what is known of what is held: its orders are many."""

_Place = tuple[int, str]  # a head, by number, and a cell


def step_of(nodes: list[Json], quiet: list[Json]) -> Json:
    """Return the step of some nodes."""
    return {"rule": "potential", "from": [], "nodes": nodes, "quiet": quiet}


def node_of(head: Head, allowances: list[Json], cases: list[Json]) -> Json:
    """Return a node."""
    return {
        "values": [[name, stored_json(value)] for name, value in head.values],
        "held": list(head.held),
        "facts": [[form_json(form), strict] for form, strict in head.facts],
        "allowances": allowances,
        "cases": cases,
    }


class Way(Record, frozen=False):
    """A path, as the search looks at it."""

    numbers: list[int]  # of the paths that are joined to it; its own
    path: Path
    target: Head | None  # where it leads; None for an end
    is_possible: bool  # whether it is not known to be impossible
    # Its inputs, by number, with the changes that are looked at.
    ends: tuple[tuple[int, tuple[Number, ...]], ...]
    moves: Moves | None = None  # those on it; None before they are asked for

    @property
    def cases(self) -> Iterator[Changes]:
        """The changes of all its inputs."""
        return product(*(values for _, values in self.ends))


class Heads:
    """All heads of a machine.

    Args:
        with_facts: Whether it is kept in mind how numbers that are held compare.
        with_loose: Whether paths are joined that differ in what no path depends on.
    """

    def __init__(self, machine: Rounds, with_facts: bool, with_loose: bool = False) -> None:
        self._machine = machine
        self._with_facts, self._with_loose = with_facts, with_loose
        # Cells on which something depends, by where they are held.
        self._tight: dict[Cells, set[str]] = {}
        self._live = live_at_head(machine.round or (), machine.each)
        self.ways: dict[Head, list[Way]] = {}  # the paths from each head
        self.unit = Fraction(0)  # the most that a mean changes; 1 if none does
        self.price = Fraction(1)  # of which all costs of whole units are multiples
        self._explore()
        while with_loose and self._tighten():
            self.ways = {}
            self._explore()
        numbers = {head: number for number, head in enumerate(self.ways)}
        targets = ((way.target for way in ways) for ways in self.ways.values())
        after = [[numbers[each] for each in own if each is not None] for own in targets]
        # For each head its strongly connected component: no path leads to a larger one.
        self.components = dict(zip(self.ways, strong_components(after), strict=True))

    def pins(self, most: int) -> dict[Head, dict[int, int]]:
        """Return fixed shifts, in units, of cells by place: at any head few are without one."""
        numbers = {head: number for number, head in enumerate(self.ways)}
        kept, compared = list[tuple[_Place, _Place]](), list[tuple[_Place, int]]()
        for head, ways in self.ways.items():
            own = numbers[head]
            for way in ways:
                if way.target is None:
                    continue
                target, atoms = numbers[way.target], way.path.atoms
                for name in way.target.held:
                    terms = number_form(way.path.store[name]).terms
                    held = atoms[terms[0][0]] if len(terms) == 1 and terms[0][1] == 1 else None
                    if isinstance(held, Held):
                        kept.append(((own, held.cell), (target, name)))
                if self.components[head] != self.components[way.target]:
                    continue
                for form, _ in way.path.guards:
                    for number, coefficient in form.terms:
                        held = atoms[number]
                        if isinstance(held, Held):
                            compared.append(((own, held.cell), 1 if coefficient > 0 else -1))
        pins = pin([head.held for head in self.ways], kept, compared, most)
        return {
            head: {head.held.index(name): shift for name, shift in own.items()}
            for head, own in zip(self.ways, pins, strict=True)
        }

    def loose(self, head: Head) -> list[str]:
        """Return the cells of a head on which nothing is known to depend."""
        tight = self._tight.setdefault(_cells(head), set())
        return [name for name in head.held if name not in tight] if self._with_loose else []

    def _tighten(self) -> bool:
        """Note on which cells something depends that were loose; return whether there are any."""
        before = sum(map(len, self._tight.values()))
        for head, ways in self.ways.items():
            loose = set(self.loose(head))
            for way in ways if loose else ():
                path = way.path
                told = [atom.mean for atom in path.atoms if isinstance(atom, Sample)]
                told += [form for form, _ in path.guards if way.is_possible]
                told += [form for form in path.said if isinstance(form, Form)]
                if way.target is not None:
                    open_ = self.loose(way.target)
                    told += [number_form(path.store[n]) for n in way.target.held if n not in open_]
                used = {path.atoms[k] for form in told for k, _ in form.terms}
                names = {atom.cell for atom in used if isinstance(atom, Held)}
                self._tight[_cells(head)] |= names & loose
        return sum(map(len, self._tight.values())) > before

    def _explore(self) -> None:
        waiting = [START]
        while waiting:
            head = waiting.pop()
            if head in self.ways:
                continue
            check_states(len(self.ways) + 1)
            if self._with_facts and len(self.ways) == MOST_WITH_FACTS:
                raise NoCertificate("what is known of values that are held has too many cases")
            follower = self._machine.follower
            paths = follower.turns(None) if head.is_first else follower.round(_cells(head))
            alike = joined(paths, head.facts, self.loose(head))
            ways = self.ways[head] = [self._way(head, *own) for own in alike]
            waiting += [way.target for way in ways if way.target is not None]
            for path in paths:
                means = [atom.mean for atom in path.atoms if isinstance(atom, Sample)]
                changes = self._machine.changes(path)
                most = {k: Fraction(max(high, -low)) for k, (low, high) in changes.items()}
                for form in (*means, *(form for form, _ in path.guards)):
                    shifts = [abs(c * most[k]) for k, c in form.terms if k in most]
                    self.unit = max(self.unit, sum(shifts, Fraction(0)))
        self.unit = self.unit or Fraction(1)
        atoms = (atom for ways in self.ways.values() for way in ways for atom in way.path.atoms)
        sizes = {atom.size for atom in atoms if isinstance(atom, Sample)}
        self.price = Fraction(1, lcm(*((self.unit / size).denominator for size in sizes)))

    def _way(self, head: Head, own: list[int], path: Path) -> Way:
        changes = self._machine.changes(path).items()
        if len(changes) < len(path.reads):
            raise NoCertificate("inputs may change by any amount")
        ends = tuple([(k, tuple(self._machine.extremes(change))) for k, change in changes])
        known = order_of([*head.facts, *known_forms(path)])
        if known is None:
            return Way(own, path, None, False, ends)
        target = self.target(path)
        if target is not None and self._with_facts:
            facts = []
            places: list[tuple[int, int, Number]] = [(NUMBER, NUMBER, 0)]
            for number, name in enumerate(target.held):
                form = number_form(path.store[name])
                if len(form.terms) == 1 and form.terms[0][1] == 1:
                    places.append((number, form.terms[0][0], form.constant))
            for (high, x, a), (low, y, b) in permutations(places, 2):
                if x == y or (x, y) in known:
                    least, strict = known.get((x, y), (0, False))
                    terms = sorted([(high, 1), (low, -1)])
                    known_terms = tuple(t for t in terms if t[0] != NUMBER)
                    facts.append((Form(b - a - least, known_terms), strict))
            target = Head(target.values, target.held, tuple(facts))
        return Way(own, path, target, True, ends)

    def target(self, path: Path) -> Head | None:
        """Return where a path leads, without facts; None for an end."""
        if path.ended:
            return None
        live = sorted(self._live & path.store.keys())
        held = tuple(name for name in live if isinstance(path.store[name], Form))
        values = [(name, path.store[name]) for name in live if name not in held]
        return Head(tuple(values), held)


MOST_HELD = 4  # cells of one head that are shifted


class QuietRuns:
    """The heads from which runs are quiet; none if it is not asked for them."""

    def __init__(self, machine: Rounds, heads: Heads, is_asked: bool) -> None:
        self._machine = machine
        self._heads = heads
        self._found: dict[Cells, dict[Last, Shift]] = {}
        if is_asked and machine.round is not None and machine.ends and machine.padding is None:
            self._search()

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, head: Head) -> Mapping[Last, Shift]:
        """Return the shifts, in units, for the last words of what is quiet from a head on."""
        return {} if head.is_first else self._found.get(_cells(head), {})

    def written(self, places: Mapping[Cells, int]) -> list[Json]:
        """Return the pairs of some numbered places, between which runs are quiet."""
        listed: list[Json] = []
        for cells, number in places.items():
            for last, shift in self._found.get(cells, {}).items():
                try:
                    self._require(places, cells, shift, last)
                except NotProved as none:
                    raise NoCertificate(str(none)) from None
                shifts: list[Json] = [number_json(self._heads.unit * level) for level in shift]
                words: Json = None if last is None else [stored_json(value) for value in last]
                listed.append([number, shifts, words])
        return listed

    # --- looking -----------------------------------------------------------------------------

    def _search(self) -> None:
        places = dict.fromkeys(_cells(head) for head in self._heads.ways if not head.is_first)
        for own in places:
            for last in self._last_words(own):
                if len(own[1]) > MOST_HELD:
                    continue
                levels = product((0, -1, 1), repeat=len(own[1]))
                for shift in sorted(levels, key=lambda each: sum(map(abs, each))):
                    with suppress(NotProved):
                        self._require(places, own, shift, last)
                        self._found.setdefault(own, {})[last] = shift
                        break

    def _require(self, places: Collection[Cells], cells: Cells, shift: Shift, last: Last) -> None:
        shifts = tuple([self._heads.unit * level for level in shift])
        pair = Quiet((cells, cells), shifts, last)
        check_limits()
        require_quiet(self._machine, [*places], [pair])

    def _last_words(self, cells: Cells) -> dict[Last, None]:
        """Return the last words of runs that are quiet from a head on."""
        found: dict[Last, None] = {}
        waiting, known = [cells], {cells}
        for each in waiting:
            for path in self._machine.follower.round(each):
                if path.ended:
                    if not any(isinstance(value, Form) for value in path.said):
                        found[path.said] = None
                elif not path.said and (head := self._heads.target(path)) is not None:
                    found[None] = None
                    after = _cells(head)
                    if after not in known:
                        known.add(after)
                        waiting.append(after)
        return found


def _cells(head: Head) -> Cells:
    return head.values, head.held
