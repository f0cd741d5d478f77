"""What is kept of a path at its next draw: live values, places for the drawn sample, facts.

A point is a stack of places in blocks; the loop begins again after the last statement of a round.
Live is what the rest of the program may still read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial

from dipapprox.data_classes import Record, field
from dipapprox.language import core
from dipapprox.language.cells import assigned
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.rounds.paths import DRAWN, RoundPath
from dipapprox.rounds.steps import Atom, Facts, Noise, Step, samples_in
from dipapprox.semantics.courses import Frame
from dipapprox.semantics.liveness import Liveness

Names = frozenset[str]


class RoundLiveness:
    """Live cells at the places of a program with rounds."""

    def __init__(self, rounds: core.Rounds) -> None:
        self._flow = Liveness(at_exit=(*rounds.each, *rounds.before))
        self._known: dict[tuple[int, int, int], int] = {}
        self._assigned: dict[tuple[int, int], Names] = {}
        self._at_round, published = 0, self._flow.mask(rounds.each)
        while True:
            after, _ = self._flow.through(rounds.body, self._at_round | published)
            if not after & ~self._at_round:
                break
            self._at_round |= after

    def at(self, here: Frame | None, awaited: Iterable[str], names: Iterable[str]) -> list[str]:
        """Return those of some cells that are live at a place, None for the end of a round."""
        live = self._at_round | self._flow.mask(awaited)
        for block, place, _ in () if here is None else reversed([*here.frames()]):
            key = id(block), place, live
            if key not in self._known:
                self._known[key] = self._flow.through(block[place:], live)[0]
            live = self._known[key]
        return self._flow.among(live, names)

    def assigned(self, here: Frame) -> Names:
        """Return the cells that may be assigned before the round, or what precedes it, ends."""
        found = Names()
        for block, place, _ in here.frames():
            key = id(block), place
            if key not in self._assigned:
                self._assigned[key] = Names(assigned(block[place:]))
            found |= self._assigned[key]
        return found


class Point(Record, eq=False):
    """A program just before it draws, with live values and what is known of them.

    `here` is the place of the draw, or where a step that draws nothing begins; None at the end.
    """

    here: Frame | None
    draws: bool
    path: RoundPath

    def key(self) -> Hashable:
        """What tells points apart."""
        path, place = self.path, () if self.here is None else self.here.key()
        values = tuple(sorted(path.values.items(), key=lambda item: item[0]))
        facts = frozenset(path.facts.items())
        return place, path.in_rounds, self.draws, values, path.used, path.cells, facts


class Steps(Record, frozen=False):
    """A program with rounds as a graph, in the order in which it is reached.

    Places for stored values have names; a draw shares if it reads an input a second time.
    """

    points: list[Point] = field(default_factory=list)
    noises: list[Noise] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    shares: core.Draw | None = None


class PointMaker(Record):
    """Makes points of paths, with what is live, and wanted comparisons of stored values."""

    rounds: core.Rounds
    live: RoundLiveness
    places: list[str]
    wanted: Iterable[tuple[int, Atom]]

    def awaited(self, path: RoundPath) -> tuple[str, ...]:
        """Return the output cells of the round that are not published yet."""
        cells = self.rounds.each if path.in_rounds else self.rounds.before
        return cells[path.cells :]

    def point(self, here: Frame | None, path: RoundPath, draws: bool) -> Point:
        """Forget what is not read any more, and place the drawn sample; or Parted."""
        live = self.live.at(here, self.awaited(path), path.values)
        values = {name: path.values[name] for name in sorted(live)}
        taken = {s for v in values.values() for s in samples_in(v) if s != DRAWN}
        new = set[int]()
        inputs: dict[Symbol, Symbol] = {}
        for name, value in values.items():
            if not isinstance(value, LinearForm):
                continue
            renamed: dict[Symbol, Symbol] = {}
            for symbol in value.inputs():
                stream = symbol.rpartition(" ")[0]
                renamed[symbol] = inputs.setdefault(symbol, f"{stream} {len(inputs) + 1}")
            if DRAWN in value.samples():
                place = self._free_place(name, taken)
                renamed[DRAWN] = place
                taken.add(place)
                new.add(place)
            if renamed:
                values[name] = value.renamed(partial(_renamed, renamed))
        used = frozenset(str(inputs[s]) for s in path.used if s in inputs)
        facts = self._facts(path, taken - new, new)
        kept = RoundPath(
            path.integers, path.in_rounds, values, used, facts=facts, cells=path.cells,
            serial=1 + len(inputs),
        )  # fmt: skip
        return Point(here, draws, kept)

    def _facts(self, path: RoundPath, old: set[int], new: set[int]) -> Facts:
        """Return what is known of old stored values, and what is asked of new ones; or Parted."""
        facts = {
            (place, atom): outcome
            for (place, atom), outcome in path.facts.items()
            if place in old and (atom.stored is None or atom.stored in old)
        }
        for place, atom in self.wanted:
            if place in new and (atom.stored is None or atom.stored in old):
                if atom not in path.guard:
                    raise path.undecided(atom)
                facts[place, atom] = path.guard[atom]
        return facts

    def _free_place(self, name: str, taken: set[int]) -> int:
        """Return the symbol of a place for a stored value, named after a variable."""
        while True:
            if name not in self.places:
                self.places.append(name)
            symbol = self.places.index(name) + 1
            if symbol not in taken:
                return symbol
            name += "'"

    def stored(self, path: RoundPath, after: Point) -> frozenset[int]:
        return frozenset(
            symbol
            for name, value in after.path.values.items()
            if DRAWN in samples_in(path.values[name])
            for symbol in samples_in(value)
            if symbol not in samples_in(path.values[name])
        )


def _renamed(names: dict[Symbol, Symbol], symbol: Symbol) -> Symbol:
    return names.get(symbol, symbol)
