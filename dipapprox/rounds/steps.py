"""Steps of a program with rounds: from one draw to the next, as data.

Draws are noise that an automaton has; what has no finite budget is refused with its place.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.automata.model import LaplaceNoise
from dipapprox.data_classes import Record
from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import StoredValue
from dipapprox.source import Diagnostic, Span


class Atom(Record):
    """Is a sample, mostly the one that is drawn, >= a stored value plus a number?

    The stored value is told by the number of its place; None for the number alone.
    """

    stored: int | None
    number: Fraction = Fraction(0)


def samples_in(value: StoredValue) -> tuple[int, ...]:
    """Return the samples of a form; none for a named value."""
    return value.samples() if isinstance(value, LinearForm) else ()


def inputs_in(value: StoredValue) -> tuple[str, ...]:
    """Return the inputs of a form; none for a named value."""
    return value.inputs() if isinstance(value, LinearForm) else ()


Facts = dict[tuple[int, Atom], bool]  # whether the value in a place is >= another one, or a number


class Shown(Record):
    """What one step publishes: symbols, the drawn sample, or fresh noise on the same input."""

    symbols: tuple[str, ...] = ()
    sample: bool = False
    fresh: LaplaceNoise | None = None


class Step(Record):
    """One way on from a point to the next, None for the end; some places store the sample."""

    source: int
    guard: dict[Atom, bool]
    target: int | None
    shown: Shown
    stored: frozenset[int]


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


def refusal(
    message: str, span: Span | None, hint: str = "", kind: str = "type error"
) -> SourceError:
    """Return the error that a program is none of which the theorems speak, and where."""
    return SourceError([Diagnostic(kind, message, span, hint)])


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
