"""Paths of a program with rounds from a draw to the next; the points where they begin and end.

On a path everything but samples and inputs is a known number or name. A comparison of the drawn
sample with a stored value, or with a number, is an atom; where it is not decided on the path, the
path forks.

A point is what is kept of a path at a draw: live values, places for the drawn sample, facts. Draws
are noise that an automaton has; what has no finite budget is refused with its place. The place of a
point is a stack of places in blocks; the loop begins again after the last statement of a round.
Live is what the rest of the program may still read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from typing import assert_never

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.language.cells import Liveness, assigned
from dipapprox.language.core import Relation
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import Forms, Frame, StoredValue, evaluate, names_compare
from dipapprox.source import Diagnostic, Span

DRAWN = 0  # the symbol of the sample that the path began with; stored values have higher numbers


class Atom(Record):
    """Is a sample, mostly the one that is drawn, >= a stored value plus a number?

    The stored value is told by the number of its place; None for the number alone.
    """

    stored: int | None
    number: Fraction = Fraction(0)


Facts = dict[tuple[int, Atom], bool]  # whether the value in a place is >= another one, or a number


class Shown(Record):
    """What one step publishes: symbols, the drawn sample, or fresh noise on the same input."""

    symbols: tuple[str, ...] = ()
    sample: bool = False
    fresh: AutomatonNoise | None = None


def samples_in(value: StoredValue) -> tuple[int, ...]:
    """Return the samples of a form; none for a named value."""
    return value.samples() if isinstance(value, LinearForm) else ()


def known_in(value: StoredValue) -> core.Value | None:
    """Return the number or name that a value is; None if it has samples or inputs."""
    if isinstance(value, LinearForm):
        return None if value.terms else value.constant
    return value


def refusal(
    message: str, span: Span | None, hint: str = "", kind: str = "type error"
) -> SourceError:
    """Return the error that a program is none of which the theorems speak, and where."""
    return SourceError([Diagnostic(kind, message, span, hint)])


class Wanted(Exception):
    """What should be known or done to go on: one of some comparisons of stored values, or an input,
    times a factor, that is in the mean of the drawn sample."""

    def __init__(
        self,
        refused: SourceError,
        *,
        facts: tuple[tuple[int, Atom], ...] = (),
        mean: tuple[str, Fraction] | None = None,
    ) -> None:
        super().__init__()
        self.refused, self.facts, self.mean = refused, facts, mean


class Parted(Exception):
    """A condition has no single answer on a path, but on each of its parts."""

    def __init__(self, parts: Sequence[RoundPath]) -> None:
        super().__init__()
        self.parts = parts


class RoundPath(Record, eq=False):
    integers: bool  # whether samples are integers
    in_rounds: bool  # whether the rounds have begun
    values: dict[str, StoredValue]  # of cells that have one
    used: frozenset[str] = frozenset()  # inputs that some sample has read
    guard: dict[Atom, bool] = field(default_factory=dict)  # how comparisons came out
    facts: Facts = field(default_factory=dict)  # how stored values compare, as far as that is known
    shown: Shown = Shown()
    cells: int = 0  # how many output cells of the round are published
    serial: int = 1  # numbers inputs that are read
    drawn_input: str | None = None  # the input in the mean of its draw
    turns: int = 0  # of inner loops that it has taken

    def undecided(self, atom: Atom) -> Parted:
        outcomes = (True, False)
        return Parted([replace(self, guard={**self.guard, atom: holds}) for holds in outcomes])

    def put(self, name: str, value: StoredValue, span: Span | None) -> RoundPath:
        """Return the path with another value of a cell, or with something more published."""
        if name == core.PUBLISHED:
            return self.publish(value, span)
        return replace(self, values={**self.values, name: value}, serial=self.serial + 1)

    def publish(self, value: StoredValue, span: Span | None) -> RoundPath:
        """Publish more; SourceError for a random number other than the one drawn last."""
        if isinstance(value, LinearForm) and value.terms:
            if value.inputs():
                refused = refusal("an input is added to what is published", span, _AS_MEAN)
                raise _wanting(value, refused)
            if value.samples() != (DRAWN,):
                hint = "publish it at once, before the next draw"
                raise refusal("a sample is published after another one is drawn", span, hint)
            if self.shown.fresh is not None:
                message = "a sample is published after noise that is drawn for what is published"
                raise refusal(message, span, "publish the sample first, or in a round of its own")
            return replace(self, shown=replace(self.shown, sample=True))
        symbols = (*self.shown.symbols, str(known_in(value)))
        return replace(self, shown=replace(self.shown, symbols=symbols))

    def read(self, forms: Forms, name: str, span: Span | None) -> StoredValue:
        """Return the value of a cell, or the next input of a stream."""
        if name.startswith(core.NEXT):
            return LinearForm.symbol(f"{name.removeprefix(core.NEXT)} {self.serial}")
        if name not in self.values:
            raise refusal(f"'{name}' may be used before it has a value", span, "", "value error")
        return self.values[name]

    def known(self, form: LinearForm, span: Span | None) -> Fraction:
        """Refuse an index that is not known."""
        raise refusal("an index is random, or depends on an input", span)

    def product(self, left: LinearForm, right: LinearForm, span: Span | None) -> LinearForm:
        raise refusal("a product of two numbers that are not known", span)

    def compare(self, difference: LinearForm, node: core.Comparison) -> bool:
        """Whether a comparison holds; Parted if the path forks, or SourceError."""
        sample, atom, offset, relation = _atom(difference, node)
        if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
            if self.integers:
                raise refusal(
                    "integer samples are compared by '=': with any number of rounds they are "
                    "compared by '<', '<=', '>' and '>='",
                    node.span,
                )
            return relation is Relation.NOT_EQUAL  # ties have probability 0
        # sample R stored + offset as an answer to: sample >= stored + c?
        above = relation in (Relation.GREATER, Relation.GREATER_EQUAL)
        if self.integers:
            strict = relation in (Relation.GREATER, Relation.LESS_EQUAL)
            offset = Fraction(floor(offset) + 1 if strict else ceil(offset))
        atom = replace(atom, number=offset)
        if sample != DRAWN:
            return self._foreseen(sample, atom, node) == above
        if atom not in self.guard:
            raise self.undecided(atom)
        return self.guard[atom] == above

    def _foreseen(self, place: int, atom: Atom, node: core.Comparison) -> bool:
        if (place, atom) in self.facts:
            return self.facts[place, atom]
        wanted: tuple[tuple[int, Atom], ...] = ((place, atom),)
        if atom.stored is not None:
            # x >= y + c says that y > x - c does not hold.
            turned = Atom(place, -atom.number + int(self.integers))
            if (atom.stored, turned) in self.facts:
                return not self.facts[atom.stored, turned]
            wanted = (*wanted, (atom.stored, turned))
        refused = refusal(
            "samples are compared that were stored before it could be foreseen", node.span,
            "with any number of rounds: compare a sample before the next draw",
        )  # fmt: skip
        raise Wanted(refused, facts=wanted)


def holds(forms: Forms, condition: core.Condition, path: RoundPath) -> bool:
    """Whether a condition holds; what is not needed for that is not evaluated."""
    match condition:
        case core.Comparison(left, relation, right):
            first, second = (evaluate(forms, side, path) for side in (left, right))
            if isinstance(first, str) or isinstance(second, str):
                return names_compare(condition, first, second)
            difference = first - second
            if not difference.terms:
                return relation.holds(difference.constant, _ZERO)
            return path.compare(difference, condition)
        case core.All(parts):
            return all(holds(forms, part, path) for part in parts)
        case core.Any(parts):
            return any(holds(forms, part, path) for part in parts)
        case _:
            assert_never(condition)


_ZERO = Fraction(0)


def _atom(form: LinearForm, node: core.Comparison) -> tuple[int, Atom, Fraction, Relation]:
    """Read `form R 0` as `sample R stored + offset`."""
    if not form.samples():
        hint = "compare a sample around the input"
        raise refusal("inputs are compared without noise", node.span, hint)
    if form.inputs() and DRAWN not in form.samples():
        hint = "compare a sample around the input: 'Lap(q, 1 / eps)'"
        raise refusal("an input is compared without noise of its own", node.span, hint)
    if form.inputs():
        message = "an input is added to a sample in a comparison"
        raise _wanting(form, refusal(message, node.span, _AS_MEAN))
    sample = DRAWN if DRAWN in form.samples() else form.samples()[0]
    drawn = form.coefficient(sample)
    relation = node.relation if drawn > 0 else node.relation.mirrored()
    rest = form.scaled(1 / drawn)
    others = [(s, c) for s, c in rest.terms if s != sample]
    if not others:
        return sample, Atom(None), -rest.constant, relation
    (other, coefficient), *more = others
    if more or coefficient != -1 or not isinstance(other, int):
        raise refusal(
            "a sum of samples is compared: with any number of rounds a comparison is one of "
            "two samples, or of a sample and a number",
            node.span,
        )
    return sample, Atom(other), -rest.constant, relation


def _wanting(form: LinearForm, refused: SourceError) -> Exception:
    """Return the wish that a form with one input leaves, or the refusal of another form."""
    inputs, drawn = form.inputs(), form.coefficient(DRAWN)
    if len(inputs) > 1 or not drawn:
        return refused
    return Wanted(refused, mean=(inputs[0], form.coefficient(inputs[0]) / drawn))


_AS_MEAN = "write the input as the mean: 'Lap(q, 1 / eps)'"


# --- points --------------------------------------------------------------------------------------

Names = frozenset[str]


class RoundLiveness:
    """Live cells at the places of a program with rounds."""

    def __init__(self, rounds: core.Rounds) -> None:
        self._flow = Liveness(at_exit=(*rounds.each, *rounds.before))
        self._known: dict[tuple[int, int, int], int] = {}
        self._assigned: dict[Hashable, Names] = {}
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
        key = here.key()
        if key not in self._assigned:
            rest = (assigned(block[place:]) for block, place, _ in here.frames())
            self._assigned[key] = Names(chain.from_iterable(rest))
        return self._assigned[key]


class Point(Record, eq=False):
    """A program just before it draws, with live values and what is known of them.

    `here` is the place of the draw, or where a step that draws nothing begins; None at the end.
    """

    here: Frame | None
    draws: bool
    path: RoundPath

    def key(self) -> Hashable:
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
        return self.statement is not None and self.statement.family.is_discrete


def read_noise(draw: core.Draw, mean: LinearForm) -> Noise:
    """Read the noise of a draw; SourceError if it has no finite budget, or the mean is random."""
    if not draw.family.shifts:
        hint = "'profile' gives the least delta for some rounds and finitely many values"
        raise refusal(f"{draw.family.title} noise has no finite pure budget", draw.span, hint)
    if draw.family.shifts != BOTH_SIDES or not draw.family.is_exponential:
        message = f"{draw.family.title} noise: with any number of rounds all noise is Laplace"
        raise refusal(message, draw.span, "'prove --reals' answers for a fixed number of inputs")
    if draw.scale.power != -1:
        raise refusal("the scale is no multiple of 1/eps: no budget serves every eps", draw.span)
    inputs = mean.inputs()
    if mean.samples():
        raise refusal("the mean is a random number", draw.mean.span or draw.span)
    if len(inputs) > 1:
        message = "a mean with several inputs: with any number of rounds a sample has one"
        raise refusal(message, draw.mean.span or draw.span)
    reads = mean.coefficient(inputs[0]) if inputs else Fraction(0)
    only = inputs[0] if inputs else None
    return Noise(draw, 1 / draw.scale.coefficient, mean.constant, reads, only)


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
