"""Budgets that serve every eps, all inputs and any number of rounds: the rule of potentials.

A node of a proof is a store at the head of a round, with facts, forms over its cells that are >= 0
or > 0 (in both runs: they follow from guards that both meet), and with *allowances*: each a number
V >= 0 and a shift of every cell that holds something random. The start, node 0, has one: V = B. An
allowance (V, s) says: whatever remains may cost V, if the second run's cells hold what the first
run's do, shifted by s; of some cells it may say nothing: they hold any number. A cell of which no
allowance says anything is *loose*: paths that differ in what they leave there may be joined.

Theorem. Let every path from every node contradict its facts, or lead to the end or to a node whose
facts follow (`paths`); and let for every change of the inputs that are read on it every
allowance (V', s') at its end come from an allowance (V, s) of the node and a shift of every sample
on the path, so that

  - what is shifted meets the guards of the path again, publishes the same, and leaves s' in the
    cells of the next node;
  - V >= V' + sum of |shift of a sample - change of its mean| / size, if its scale is size / eps,

in a direction in which its family can be shifted (`laws`); other samples are as far as their means.
Then the machine is (B eps, 0)-differentially private for every eps > 0 and any number of rounds.

Proof. Follow a run from node to node: it takes paths p_1, …, p_n, and has an allowance at its end.
Going back from it, every sample has a shift, and the shifts cost B at most. Let x be the samples
of the first run, x + s those of the second. If x takes these paths with inputs u, so does x + s
with inputs u', and publishes the same; x -> x + s has Jacobian 1, and the density of x under u is
at most e^(eps B) times that of x + s under u'. Integrate over all x that take these paths and
publish something in a set, and add over paths, which are disjoint: Pr[S | u] <= e^(B eps)
Pr[S | u'].

Where an allowance says nothing of a cell, nothing that is made sure of from it depends on what the
second run has there: neither guards, what is published and means, nor cells of which the next
allowance says something. So that holds for each allowance that has part in an average there.

Quiet runs. A *quiet pair* is the heads of a round in two runs: values of cells, and cells that hold
something random, in the second run so much more than in the first one; with the *last words* of a
run, what it publishes as it ends, or none: then it does not end. From a quiet pair let both runs
draw the same noise, as long as their paths draw from the same families. For every path of the first
run that publishes nothing and goes on, or the last words and ends, and for every path of the second
run let, whatever inputs change by,

  - the second path publish the last words and end;
  - or their guards contradict each other, but for ties of continuous samples;
  - or both go on, publish nothing, read equally many inputs, and lead to a pair with these last
    words of which the same holds.

Then, but for a set of probability 0, whenever the first run publishes nothing before it ends with
its last words, the second one does so, too, after at most as many rounds; or if there are none,
whenever the first run goes on for some rounds and publishes nothing, so does the second one. (By
induction over the rounds of the first run. What is not drawn alike is any number here.)

Let some cells, with values and shifts, be a quiet pair of a run with itself. At nodes with these
cells the shifts are an allowance with V = 0, for what from there on publishes nothing but these
last words; other allowances need not serve that, and if it does not end, there need be no other. So
all runs that take the same paths to such a node, but were not at such a node before and quiet
since, and from there on end so, or go on, have one shift of what they drew before, and of the noise
behind it none. The second runs take the same paths to the node, and end so, too, or go on. No
others come there: those of other paths to such a node, or of whole runs, take these paths, and
where one leads on from another, publish something in between.

Choices. Paths tell apart what is chosen at random, with probabilities that are the same at all
inputs: the shift of a path has them as factors on both sides. Runs that are quiet together choose
each for itself. What is joined holds all that samples in its region may do, whatever is chosen.

Any change. Where an input may change by any amount, that is not known: all that has to be >= 0, 0,
or worth a number, has to be so without it. Shifts may be as large as it is.

Cases. A proof may say for an input of a path what is done if it changes by its least and by its
largest change: shifts s for changes D that meet guards and publish the same form a convex set of
pairs (D, s), on which the cost is convex, so what is between is served as well, by averages. For
integers it says so for each. What is not parted so holds for all changes between: shifts are then
linear in them. Of `is_alone` machines all inputs may be parted at once: one changes at a time.

Paths that read, draw and leave the same, and publish the same numbers, may have one case: then it
is made sure once that shifts meet the guards of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.forms import Form, Stored, has_integers, only, over
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.machine import Number, read_value
from dipapprox.kernel.paths import Beside, Held, Path, Read, Sample, between, number_form
from dipapprox.kernel.reading import as_exact, as_integer, as_list, as_name, as_record, as_rows
from dipapprox.kernel.regions import (
    Order,
    follows,
    joined,
    known_forms,
    order_of,
    read_form,
    read_guards,
    renamed_forms,
    same_atoms,
)
from dipapprox.kernel.rounds import Cells, Rounds
from dipapprox.kernel.walk import Guard

Last = tuple[Stored, ...] | None  # what a run publishes as it ends; None if it goes on

Ends = Mapping[Cells, Mapping[Last, tuple[Number, ...]]]
"""For some last words of runs that are quiet from there on, the shifts of what is held."""

MOST_PAIRS = 1_000


class Quiet(NamedTuple):
    """A quiet pair: the cells of the first run, and of the second one; shifts of what both hold."""

    cells: tuple[Cells, Cells]
    shifts: tuple[Number, ...]
    last: Last

    def may_end(self, path: Path) -> bool:
        """Whether a path ends with the last words."""
        return self.last is not None and path.ended and path.said == self.last


def read_quiet(machine: Rounds, places: Sequence[Cells], json: object) -> Ends:
    """Read [place, shifts, last words], pairs of a run with itself in places that are not 0.

    The theorem is made sure of.
    """
    listed = as_list(json, "quiet pairs")
    if listed and (not machine.ends or machine.padding is not None):
        raise Refuted("it is not seen that runs end")
    found: dict[Cells, dict[Last, tuple[Number, ...]]] = {}
    for each in listed:
        number, shifts, words = as_list(each, "a quiet pair", 3)
        if not 0 < as_integer(number, "a place") < len(places):
            raise BadProof("there is no such place")
        cells = places[number]
        moved = [as_exact(s, "a shift") for s in as_list(shifts, "shifts", len(cells[1]))]
        last = None if words is None else tuple(map(read_value, as_list(words, "last words")))
        if last in found.setdefault(cells, {}):
            raise BadProof("runs that end alike have several shifts in one place")
        found[cells][last] = tuple(moved)
    pairs = [Quiet((c, c), s, last) for c, own in found.items() for last, s in own.items()]
    require_quiet(machine, places[1:], pairs)
    return found


def require_quiet(machine: Rounds, places: Sequence[Cells], pairs: Iterable[Quiet]) -> None:
    """Make sure that pairs are quiet, as are all that they lead to."""
    waiting, done = [*pairs], set[Quiet]()
    while waiting:
        own = waiting.pop()
        if own in done:
            continue
        done.add(own)
        if len(done) > MOST_PAIRS:
            raise Refused(f"more than {MOST_PAIRS} quiet pairs")
        ours, theirs = map(machine.follower.round, own.cells)
        for path, other in product(ours, theirs):
            spend(20)
            if (own.may_end(path) or not (path.ended or path.said)) and not own.may_end(other):
                waiting += _next(machine, places, own, path, other)


def _next(
    machine: Rounds, places: Sequence[Cells], own: Quiet, path: Path, other: Path
) -> list[Quiet]:
    """Return the pair that two paths lead to; none if they are not taken together."""
    size, apart, known = len(path.atoms), dict[int, tuple[Number, Number]](), known_forms(path)
    # What the second run has are numbers of its own; atoms that both have lie between two ends.
    for atom in range(same_atoms(path.atoms, other.atoms)):
        match path.atoms[atom]:
            case Held():
                low = high = own.shifts[atom]
            case Read(name):
                if (change := machine.change(name)) is None:
                    continue
                low, high = change
            case Sample(mean=mean):
                # The noise is the same: what moves is the mean.
                low, high = between(Form(0, mean.terms), apart)
        apart[atom] = low, high
        known.append((Form(-low, ((atom, -1), (atom + size, 1))), False))
        known.append((Form(high, ((atom, 1), (atom + size, -1))), False))
    known += renamed_forms(other, size)
    if order_of(known) is None:
        return []
    if path.ended or other.ended or other.said:
        raise Refuted("the second run ends otherwise, or is not quiet")
    if sorted(path.reads) != sorted(other.reads):
        raise Refuted("two runs read other numbers from here on")
    cells = _place_of(places, path), _place_of(places, other)
    if cells[0][1] != cells[1][1]:
        raise Refuted("two runs hold other cells")
    shifts = []
    for name in cells[0][1]:
        ours, theirs = (number_form(each.store.get(name)) for each in (path, other))
        low, high = between(Form(theirs.constant - ours.constant, theirs.terms), apart)
        if low != high or ours.terms != theirs.terms:
            raise Refuted(f"'{name}' is shifted otherwise")
        shifts.append(low)
    return [Quiet(cells, tuple(shifts), own.last)]


def _place_of(places: Sequence[Cells], path: Path) -> Cells:
    """Return the first place where a run may be behind a path."""
    store = path.store
    for values, held in places:
        if all(name in store and store[name] == value for name, value in values) and all(
            isinstance(store.get(name), Form) for name in held
        ):
            return values, held
    raise Refuted("a run may be where no place is")


Allowance = tuple[Number, list[Form]]  # what the rest may cost; shifts of what is held
Moving = Mapping[str, Form]  # by cell what it moves with


class Place(NamedTuple):
    """A node: what is known of cells, and allowances with their shifts.

    Facts are forms over the held cells, by number.
    """

    cells: Cells
    facts: tuple[Guard, ...]
    allowances: tuple[Allowance, ...]

    @property
    def loose(self) -> list[str]:
        """The cells of which no allowance says what the second run holds."""
        shifts = [own for _, own in self.allowances]
        return [
            n for k, n in enumerate(self.cells[1]) if shifts and all(s[k].terms for s in shifts)
        ]


def read_places(json: object) -> list[Place]:
    """Read the nodes of a proof; what their paths do is read later."""
    found = []
    fields = "values", "held", "facts", "allowances", "cases"
    for each in as_list(json, "nodes"):
        record = as_record(each, "a node", fields)
        held = tuple([as_name(name, "a cell") for name in as_list(record["held"], "cells")])
        values: dict[str, Stored] = dict(as_rows(record["values"], "values", as_name, read_value))
        if len({*values, *held}) < len(record["values"]) + len(held):
            raise BadProof("a cell twice")
        facts = read_guards(record["facts"], len(held))
        allowances = []
        for pair in as_list(record["allowances"], "allowances"):
            value, shifts = as_list(pair, "an allowance", 2)
            listed = enumerate(as_list(shifts, "shifts", len(held)))
            own = [only(k) if s is None else Form(as_exact(s, "a shift")) for k, s in listed]
            allowances.append((as_exact(value, "an allowance"), own))
        if any(value < 0 for value, _ in allowances):
            raise Refuted("an allowance below 0")
        spend(10 + len(values) + sum(len(shifts) + 1 for _, shifts in allowances))
        found.append(Place((tuple(values.items()), held), tuple(facts), tuple(allowances)))
    start = found[0] if found else None
    if start is None or any(start.cells) or start.facts or len(start.allowances) != 1:
        raise BadProof("node 0 is the start: nothing is known, and it has one allowance")
    return found


def potential(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """V(source) >= cost of a path + V(target), for every path from every node: V(start) is enough.

    Theorem (`potential`): V is what the rest of a run may cost at most; a path costs what it costs
    to shift its samples so that the second run takes it, too, and publishes the same. Quiet runs
    have the shift of a quiet pair.
    """
    places = read_places(step["nodes"])
    quiet = read_quiet(machine, [place.cells for place in places], step["quiet"])
    for number, (place, json) in enumerate(zip(places, step["nodes"], strict=True)):
        if number and machine.round is None:
            raise BadProof("a machine without rounds has one node")
        if not place.allowances and None not in quiet.get(place.cells, {}):
            raise Refuted("a node without an allowance")
        paths = machine.follower.round(place.cells) if number else machine.follower.turns(None)
        if place.loose and place.cells in quiet:
            raise Refuted("what is held is loose where runs are quiet")
        ends = joined(paths, place.facts, place.loose)
        cases = as_list(json["cases"], "cases")
        if len(cases) != len(ends):
            raise Refuted(f"node {number} has {len(ends)} paths, not {len(cases)}")
        together: dict[int, list[Path]] = {}
        for own, ((_, path), case) in enumerate(zip(ends, cases, strict=True)):
            spend(10)
            first = own if case is None or isinstance(case, list | dict) else case
            if first != own and (as_integer(first, "a path") not in together or not cases[first]):
                raise BadProof("no case stands in an earlier place")
            together.setdefault(first, []).append(path)
        for first, alike in together.items():
            found = _Step(machine, places, quiet, place, alike)
            found.case(cases[first], {})
            if len(found.heads) > 1:
                raise Refuted("a path leads to nodes that are not alike")
    return Budgets(Fraction(places[0].allowances[0][0]))


def in_common(machine: Rounds, path: Path) -> object:
    """Return what paths of one case have in common: all but guards and what has values."""
    numbers = [value if isinstance(value, Form) else None for value in path.said]
    kept = None if machine.round is None else frozenset(path.store.items())
    return path.atoms, path.ended, tuple(numbers), kept


class _Step:
    """Paths of one case from a node, for all changes of their inputs."""

    def __init__(
        self,
        machine: Rounds,
        places: Sequence[Place],
        quiet: Ends,
        source: Place,
        paths: Sequence[Path],
    ) -> None:
        path = paths[0]
        spend(10 * len(paths))
        if len(paths) > 1 and len({in_common(machine, each) for each in paths}) > 1:
            raise Refuted("paths of one case are not alike")
        self._machine, self._places, self._quiet = machine, places, quiet
        self._source, self._paths = source, paths
        guards = dict.fromkeys([guard for each in paths for guard in each.guards])
        self._path = replace(path, guards=tuple(guards)) if len(paths) > 1 else path
        self._changes = machine.changes(path)
        is_start = source is places[0]
        self._own = {} if is_start else quiet.get(source.cells, {})
        self._at = cache(self._after)
        self.heads = set[object]()

    @cached_property
    def _orders(self) -> list[Order]:
        """What is known on each path that is possible."""
        found = [order_of([*self._source.facts, *known_forms(path)]) for path in self._paths]
        return [order for order in found if order is not None]

    def case(self, json: object, fixed: Mapping[int, Number]) -> None:
        """Go through cases; some inputs, atoms of the path, change by known amounts."""
        if json is None:
            quiet = all(each.said in self._own for each in self._paths)
            unseen = self._path.ended and (quiet or not self._machine.ends)
            if not unseen and self._orders:
                raise Refuted("a path is possible, and seen")
            return
        if isinstance(json, list):
            inputs = list(self._changes)
            if fixed or not inputs or not self._machine.is_alone:
                raise Refuted("several inputs may change")
            for k, each in zip(inputs, as_list(json, "cases", len(inputs)), strict=True):
                self.case(each, {other: 0 for other in inputs if other != k})
            return
        if isinstance(json, dict) and "input" in json:
            record = as_record(json, "a case", ("input", "cases"))
            number = as_integer(record["input"], "an input")
            if number not in self._changes or number in fixed:
                raise BadProof("an input that is not read, or twice")
            values = self._machine.extremes(self._changes[number])
            cases = as_list(record["cases"], "cases", len(values))
            for value, each in zip(values, cases, strict=True):
                self.case(each, {**fixed, number: value})
            return
        record = as_record(json, "a case", ("to", "moves"))
        moves, target = as_list(record["moves"], "moves"), record["to"]
        if (target is None) != (self._path.ended or self._machine.round is None):
            raise Refuted("a run goes on after its end, or ends before")
        held, wanted = self._at(None if target is None else as_integer(target, "a node"))
        if len(moves) != len(wanted):
            raise Refuted("a move for every allowance of the next node is wanted")
        for move, allowance in zip(moves, wanted, strict=True):
            self._move(move, fixed, held, allowance)

    def _after(self, target: int | None) -> tuple[Moving, list[Allowance]]:
        """Return what is held at the next node, if the path leads there, and what is wanted."""
        if target is None:
            return {}, [(0, [])]
        if not 0 < target < len(self._places):
            raise BadProof("there is no such node")
        place, store = self._places[target], self._path.store
        if any(name not in store or store[name] != v for name, v in place.cells[0]):
            raise Refuted("the cells of the next node hold something else")
        held = {name: number_form(store.get(name)) for name in place.cells[1]}
        facts = [(over(form, [*held.values()]), strict) for form, strict in place.facts]
        for order, (form, strict) in product(self._orders if facts else (), facts):
            if not follows(form, strict, order):
                raise Refuted("a fact does not follow")
        self.heads.add((place.cells, place.facts, *place.loose))
        quiet = self._quiet.get(place.cells, {}).items()
        # Runs that were quiet before have their shift from there.
        ends = [shifts for last, shifts in quiet if self._path.said or last not in self._own]
        wanted = [*place.allowances, *((0, [*map(Form, shifts)]) for shifts in ends)]
        if self._machine.whole and wanted and not all(map(has_integers, held.values())):
            raise Refuted("a cell holds a fraction")
        return {name: Form(0, form.terms) for name, form in held.items()}, wanted

    def _move(
        self, json: object, fixed: Mapping[int, Number], held: Moving, wanted: Allowance
    ) -> None:
        """Check that an allowance at the end comes from one of the node."""
        path = self._path
        choice, listed = as_list(json, "a move", 2)
        if not 0 <= as_integer(choice, "an allowance") < len(self._source.allowances):
            raise BadProof("there is no such allowance")
        left, own = self._source.allowances[choice]
        given = iter(as_list(listed, "shifts"))
        # The shift of every atom, first those of what is held: forms over the changes of inputs.
        shifts = [*own]
        for number, atom in enumerate(path.atoms[len(own) :], len(own)):
            match atom:
                case Held():
                    shifts.append(only(number))
                case Read():
                    shifts.append(Form(fixed[number]) if number in fixed else only(number))
                case Sample():
                    stated = read_form(next(given, None), number)
                    if not all(isinstance(path.atoms[k], Read) for k, _ in stated.terms):
                        raise BadProof("shifts depend on inputs")
                    shifts.append(over(stated, shifts))
        if next(given, None) is not None:
            raise BadProof("more shifts than samples")
        spend(sum(4 + len(form.terms) for form, _ in path.guards) + 4 * (len(shifts) + len(held)))
        both = Beside((path, path), (None, shifts), self._changes)
        both.require_alike()
        missing = wanted[0] + both.cost() - left
        if missing > 0:
            raise Refuted(f"{missing} is missing of an allowance")
        for (name, form), other in zip(held.items(), wanted[1], strict=True):
            if not other.terms and over(form, shifts) != other:
                raise Refuted(f"'{name}' is shifted otherwise")
