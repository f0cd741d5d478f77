"""Runs that publish nothing more, and others that do not either, on other paths.

A *quiet pair* is the heads of a round in two runs: values of cells, and cells that hold something
random, in the second run so much more than in the first one; with the *last words* of a run, what
it publishes as it ends, or none: then it does not end.

Theorem. From every quiet pair let both runs draw the same noise, as long as their paths draw from
the same families. For every path of the first run that publishes nothing and goes on, or the last
words and ends, and for every path of the second run let, whatever inputs change by,

  - the second path publish the last words and end;
  - or both go on, publish nothing, read equally many inputs, and lead to a quiet pair with these
    last words;
  - or their guards contradict each other, but for ties of continuous samples.

Then, but for a set of probability 0, whenever the first run publishes nothing before it ends with
its last words, the second one does so, too, after at most as many rounds; or if there are none,
whenever the first run goes on for some rounds and publishes nothing, so does the second one.

Proof. By induction over the rounds of the first run. What is not drawn alike is any number here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.forms import Form, Stored, only, over
from dipapprox.kernel.machine import read_value
from dipapprox.kernel.paths import Changes, Held, Path, Read, Sample, number_form
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record
from dipapprox.kernel.regions import (
    contradiction,
    known_forms,
    same_atoms,
)
from dipapprox.kernel.rounds import Follower, Rounds

Cells = tuple[tuple[tuple[str, Stored], ...], tuple[str, ...]]
"""Values of cells, and others that are held."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """A quiet pair: the cells of the first run, and of the second one.

    `last` is None if runs do not end.
    """

    cells: tuple[Cells, Cells]
    shifts: tuple[Fraction, ...]
    last: tuple[Stored, ...] | None

    @property
    def held(self) -> tuple[str, ...]:
        """What both runs hold."""
        return self.cells[0][1]

    def may_end(self, path: Path) -> bool:
        """Whether a path ends with the last words."""
        return self.last is not None and path.ended and path.said == self.last


def read_quiet(machine: Rounds, places: Sequence[Cells], json: object) -> list[Quiet]:
    """Read quiet pairs of places, 0 is none of them, and make sure that the theorem holds."""
    listed = as_list(json, "quiet pairs")
    if listed and (not machine.ends or machine.padding is not None):
        raise Refuted("it is not seen that runs end")
    found, rows = [], []
    for each in listed:
        record = as_record(each, "a quiet pair", ("places", "shifts", "last", "paths"))
        numbers = [as_integer(k, "a place") for k in as_list(record["places"], "places", 2)]
        if not all(0 < number < len(places) for number in numbers):
            raise BadProof("there is no such place")
        first, second = (places[number] for number in numbers)
        shifts = as_list(record["shifts"], "shifts", len(first[1]))
        if first[1] != second[1]:
            raise Refuted("two runs hold other cells")
        last = record["last"]
        if last is not None:
            last = tuple(map(read_value, as_list(last, "last words")))
        moved = tuple([as_number(shift, "a shift") for shift in shifts])
        found.append(Quiet((first, second), moved, last))
        rows.append(record["paths"])
    follower = Follower(machine)
    for own, reasons in zip(found, rows, strict=True):
        ours, theirs = (follower.round(dict(values), held) for values, held in own.cells)
        for path, row in zip(ours, as_list(reasons, "paths", len(ours)), strict=True):
            if not own.may_end(path) and (path.ended or path.said):
                as_list(row, "paths of other runs", 0)
                continue
            for other, why in zip(theirs, as_list(row, "paths", len(theirs)), strict=True):
                spend(20)
                _require(machine, found, own, (path, other), why)
    return found


def _require(
    machine: Rounds, pairs: Sequence[Quiet], own: Quiet, paths: tuple[Path, Path], json: object
) -> None:
    """Make sure that one of the three is true: nothing, the number of a pair, or multipliers."""
    path, other = paths
    if json is None:
        if not own.may_end(other):
            raise Refuted("the second run does not end with the last words")
        return
    moved, changes = second_atoms(machine, own.shifts, path, other)
    if isinstance(json, list):
        second = [(over(form, moved), strict) for form, strict in known_forms(other)]
        contradiction(json, [*known_forms(path), *second], changes)
        return
    number = as_integer(json, "a quiet pair")
    if not 0 <= number < len(pairs):
        raise BadProof("there is no such quiet pair")
    after = pairs[number]
    if path.ended or other.ended or other.said or after.last != own.last:
        raise Refuted("one of two runs ends, or is not quiet")
    if sorted(path.reads) != sorted(other.reads):
        raise Refuted("two runs read other numbers from here on")
    for each, (values, _) in zip(paths, after.cells, strict=True):
        if any(name not in each.store or each.store[name] != value for name, value in values):
            raise Refuted("the cells of the next quiet pair hold something else")
    for name, shift in zip(after.held, after.shifts, strict=True):
        ours, theirs = (number_form(each.store.get(name)) for each in paths)
        if over(theirs, moved) != ours.plus(Form(shift)):
            raise Refuted(f"'{name}' is shifted otherwise")


def second_atoms(
    machine: Rounds, shifts: Sequence[Fraction], path: Path, other: Path
) -> tuple[list[Form], Changes]:
    """Return what the atoms of the second path are, and between what inputs change.

    They are forms over the atoms of the first path; behind these come the second path's own, and
    then the changes of the inputs that both read.
    """
    size = len(path.atoms)
    same = same_atoms(path.atoms, other.atoms)
    moved, changes = list[Form](), dict[int, tuple[Fraction, Fraction]]()
    for number, atom in enumerate(other.atoms):
        spend(len(moved))
        if number >= same:
            moved.append(only(size + number))
            continue
        form = only(number)
        match atom:
            case Held():
                form = form.plus(Form(shifts[number]))
            case Read(name):
                change = size + len(other.atoms) + number
                form, changes[change] = form.plus(only(change)), machine.change(name)
            case Sample(mean=mean):
                # The noise is the same: what moves is the mean.
                form = form.plus(over(mean, moved)).plus(mean.scaled(Fraction(-1)))
        moved.append(form)
    return moved, changes
