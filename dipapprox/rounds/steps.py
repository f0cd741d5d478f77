"""Steps of a program with rounds: from one draw to the next, as data."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.automata.model import LaplaceNoise
from dipapprox.data_classes import dataclass
from dipapprox.language import core
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import StoredValue


@dataclass(frozen=True, slots=True)
class Atom:
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


Facts = dict[tuple[int, Atom], bool]
"""Whether the value in a place is >= another one, or a number."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one step publishes.

    Attributes:
        symbols: In their order.
        sample: Whether the drawn sample is among it.
        fresh: Noise that is added to the same input, and published.
    """

    symbols: tuple[str, ...] = ()
    sample: bool = False
    fresh: LaplaceNoise | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One way on from a point.

    Attributes:
        source: Number of the point.
        guard: Which comparisons came out how.
        target: Number of the point after; None if the program ends.
        stored: Places where the sample is kept.
    """

    source: int
    guard: dict[Atom, bool]
    target: int | None
    shown: Shown
    stored: frozenset[int]


@dataclass(frozen=True, slots=True)
class Noise:
    """What is drawn at a point.

    Attributes:
        statement: None if nothing is.
        rate: Of the noise, in multiples of eps.
        mean: Without the input.
        reads: The factor of the input in the mean; 0 if it has none.
        input: Its symbol at the point.
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
