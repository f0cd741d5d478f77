"""One path of a program from a draw to the next: values, guards, what is published.

Everything but samples and inputs is a known number or name. A comparison of the drawn sample with a
stored value, or with a number, is an atom; where it is not decided on the path, the path forks.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from dipapprox.automata.model import LaplaceNoise
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.language.core import Relation
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.courses import Parted
from dipapprox.semantics.evaluation import Forms, StoredValue
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
    fresh: LaplaceNoise | None = None


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


class WantsMean(Exception):
    """An input, times a factor, is added to the drawn sample: it should be in the mean."""

    def __init__(self, input: str, factor: Fraction, refused: SourceError) -> None:
        super().__init__()
        self.input, self.factor, self.refused = input, factor, refused


class Foreseen(Exception):
    """Two stored values are compared, or one with a number: one of some facts should be known."""

    def __init__(self, facts: tuple[tuple[int, Atom], ...], refused: SourceError) -> None:
        super().__init__()
        self.facts, self.refused = facts, refused


class RoundPath(Record, eq=False):
    """A path so far."""

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
        """Return that the path has to fork at a comparison."""
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
        """Refuse."""
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
        raise Foreseen(wanted, refused)


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
    return WantsMean(inputs[0], form.coefficient(inputs[0]) / drawn, refused)


_AS_MEAN = "write the input as the mean: 'Lap(q, 1 / eps)'"
