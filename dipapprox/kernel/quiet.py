"""Runs that publish nothing more, and others that do not either, on other paths.

A *quiet pair* is the heads of a round in two runs: values of cells, and cells that hold something
random, in the second run so much more than in the first one; with the *last words* of a run, what
it publishes as it ends, or none: then it does not end.

Theorem. From a quiet pair let both runs draw the same noise, as long as their paths draw from the
same families. For every path of the first run that publishes nothing and goes on, or the last
words and ends, and for every path of the second run let, whatever inputs change by,

  - the second path publish the last words and end;
  - or their guards contradict each other, but for ties of continuous samples;
  - or both go on, publish nothing, read equally many inputs, and lead to a pair with these last
    words of which the same holds.

Then, but for a set of probability 0, whenever the first run publishes nothing before it ends with
its last words, the second one does so, too, after at most as many rounds; or if there are none,
whenever the first run goes on for some rounds and publishes nothing, so does the second one.

Proof. By induction over the rounds of the first run. What is not drawn alike is any number here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.forms import Form, Stored
from dipapprox.kernel.machine import read_value
from dipapprox.kernel.paths import Held, Path, Read, Sample, between, number_form
from dipapprox.kernel.reading import as_integer, as_list, as_number
from dipapprox.kernel.regions import known_forms, order_of, renamed_forms, same_atoms
from dipapprox.kernel.rounds import Follower, Rounds

Cells = tuple[tuple[tuple[str, Stored], ...], tuple[str, ...]]
"""Values of cells, and others that are held."""

Last = tuple[Stored, ...] | None
"""What a run publishes as it ends; None if it goes on."""

Ends = Mapping[Cells, Mapping[Last, tuple[Fraction, ...]]]
"""For some last words of runs that are quiet from there on, the shifts of what is held."""

MOST_PAIRS = 1_000


@dataclass(frozen=True, slots=True)
class Quiet:
    """A quiet pair: the cells of the first run, and of the second one; shifts of what both hold."""

    cells: tuple[Cells, Cells]
    shifts: tuple[Fraction, ...]
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
    found: dict[Cells, dict[Last, tuple[Fraction, ...]]] = {}
    for each in listed:
        number, shifts, words = as_list(each, "a quiet pair", 3)
        if not 0 < as_integer(number, "a place") < len(places):
            raise BadProof("there is no such place")
        cells = places[number]
        moved = [as_number(s, "a shift") for s in as_list(shifts, "shifts", len(cells[1]))]
        last = None if words is None else tuple(map(read_value, as_list(words, "last words")))
        if last in found.setdefault(cells, {}):
            raise BadProof("runs that end alike have several shifts in one place")
        found[cells][last] = tuple(moved)
    follower = Follower(machine)
    turns = cache(lambda cells: follower.round(dict(cells[0]), cells[1]))
    pairs = [Quiet((c, c), s, last) for c, own in found.items() for last, s in own.items()]
    require_quiet(machine, places[1:], pairs, turns)
    return found


def require_quiet(
    machine: Rounds,
    places: Sequence[Cells],
    pairs: Iterable[Quiet],
    turns: Callable[[Cells], Sequence[Path]],
) -> None:
    """Make sure that pairs are quiet, as are all that they lead to; `turns` are their paths."""
    waiting, done = [*pairs], set[Quiet]()
    while waiting:
        own = waiting.pop()
        if own in done:
            continue
        done.add(own)
        if len(done) > MOST_PAIRS:
            raise Refused(f"more than {MOST_PAIRS} quiet pairs")
        ours, theirs = map(turns, own.cells)
        for path, other in product(ours, theirs):
            spend(20)
            if (own.may_end(path) or not (path.ended or path.said)) and not own.may_end(other):
                waiting += _next(machine, places, own, path, other)


def _next(
    machine: Rounds, places: Sequence[Cells], own: Quiet, path: Path, other: Path
) -> list[Quiet]:
    """Return the pair that two paths lead to; none if they are not taken together."""
    apart, size, one = _apart(machine, own.shifts, path, other), len(path.atoms), Fraction(1)
    # What the second run has are numbers of its own, so much more than those of the first one.
    known = [*known_forms(path), *renamed_forms(other, size)]
    for atom, (low, high) in apart.items():
        known.append((Form(-low, ((atom, -one), (atom + size, one))), False))
        known.append((Form(high, ((atom, one), (atom + size, -one))), False))
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


def _apart(
    machine: Rounds, shifts: Sequence[Fraction], path: Path, other: Path
) -> dict[int, tuple[Fraction, Fraction]]:
    """Return between what it lies how much more the atoms are that two paths have in common."""
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for number in range(same_atoms(path.atoms, other.atoms)):
        match path.atoms[number]:
            case Held():
                found[number] = shifts[number], shifts[number]
            case Read(name):
                found[number] = machine.change(name)
            case Sample(mean=mean):
                # The noise is the same: what moves is the mean.
                found[number] = between(Form(Fraction(0), mean.terms), found)
    return found


def _place_of(places: Sequence[Cells], path: Path) -> Cells:
    """Return the first place where a run may be behind a path."""
    store = path.store
    for values, held in places:
        if all(name in store and store[name] == value for name, value in values) and all(
            isinstance(store.get(name), Form) for name in held
        ):
            return values, held
    raise Refuted("a run may be where no place is")
