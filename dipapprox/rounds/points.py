"""Points of a program with rounds, and steps between them: from one draw to the next.

A point is what is kept of a path at a draw: live values, places for the drawn sample, facts. Draws
are noise that an automaton has; what has no finite budget is refused with its place.

Its place is a stack of places in blocks; the loop begins again after the last statement of a round.
Live is what the rest of the program may still read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.language import core
from dipapprox.language.cells import assigned
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.rounds.paths import DRAWN, Atom, Facts, RoundPath, Shown, refusal, samples_in
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


class Noise(Record):
    """What is drawn at a point, if anything: its rate, in multiples of eps, and its mean.

    The mean is a number, plus an input, told by its symbol there, times a factor.
    """

    statement: core.Draw | None
    rate: Fraction
    mean: Fraction
    reads: Fraction
    input: str | None

    @property
    def is_integer(self) -> bool:
        """Whether the sample is an integer."""
        return self.statement is not None and self.statement.family.is_discrete


def read_noise(draw: core.Draw, mean: LinearForm) -> Noise:
    """Read the noise of a draw; SourceError if it has no finite budget, or the mean is random."""
    _check_family(draw)
    inputs = mean.inputs()
    if mean.samples():
        raise refusal("the mean is a random number", draw.mean.span or draw.span)
    if len(inputs) > 1:
        message = "a mean with several inputs: with any number of rounds a sample has one"
        raise refusal(message, draw.mean.span or draw.span)
    reads = mean.coefficient(inputs[0]) if inputs else Fraction(0)
    only = inputs[0] if inputs else None
    return Noise(draw, 1 / draw.scale.coefficient, mean.constant, reads, only)


def _check_family(draw: core.Draw) -> None:
    if not draw.family.shifts:
        hint = "'profile' gives the least delta for some rounds and finitely many values"
        raise refusal(f"{draw.family.title} noise has no finite pure budget", draw.span, hint)
    if draw.family.shifts != BOTH_SIDES or not draw.family.is_exponential:
        message = f"{draw.family.title} noise: with any number of rounds all noise is Laplace"
        raise refusal(message, draw.span, "'prove --reals' answers for a fixed number of inputs")
    if draw.scale.power != -1:
        raise refusal("the scale is no multiple of 1/eps: no budget serves every eps", draw.span)


class Step(Record):
    """One way on from a point to the next, None for the end; some places store the sample."""

    source: int
    guard: dict[Atom, bool]
    target: int | None
    shown: Shown
    stored: frozenset[int]


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
            renamed: dict[Symbol, Symbol] = {symbol: symbol for symbol, _ in value.terms}
            for symbol in value.inputs():
                stream = symbol.rpartition(" ")[0]
                renamed[symbol] = inputs.setdefault(symbol, f"{stream} {len(inputs) + 1}")
            if DRAWN in renamed:
                place = self._free_place(name, taken)
                renamed[DRAWN] = place
                taken.add(place)
                new.add(place)
            values[name] = value.renamed(renamed.__getitem__)
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
