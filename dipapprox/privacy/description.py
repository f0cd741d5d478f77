"""How people see answers: one description, from which everything is drawn.

answer.describe()  →  Description  →  a panel and tables (`cli.report`), HTML and text (`layouts`)

And how parameters of programs and values of cells are written in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text, exact_text
from dipapprox.errors import NoTruth
from dipapprox.language.core import Value

if TYPE_CHECKING:
    from dipapprox.arithmetic.enclosure import Enclosure


Fact = tuple[str, str]  # A name and a value


class Tone(Enum):
    """What kind of answer it is, for colours."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """A table beneath a panel."""

    title: str  # above it; "" for none
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()  # places of the columns that are set flush right


@dataclass(frozen=True, slots=True)
class Description:
    """What people see of an answer."""

    headline: str  # the answer in a sentence; "" for none: then only what is below is shown
    label: str  # the answer in a word, or the command that gave it
    tone: Tone
    facts: tuple[Fact, ...]
    # Tables, lines of text and other descriptions that explain it.
    below: tuple[Table | str | Description, ...] = ()


def known_to_be(enclosure: Enclosure) -> str:
    """Write what is known of a number: "in [lower, upper]", or "= number" if decimals tell it."""
    written = str(enclosure)
    return f"in {written}" if written.startswith("[") else f"= {written}"


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seconds_text(spent: float) -> str:
    """Write a run time."""
    return f"{spent:.3g} s" if spent >= 0.001 else "< 1 ms"


def known(*facts: tuple[str, str | None]) -> tuple[Fact, ...]:
    """Return the facts that have a value."""
    return tuple((name, value) for name, value in facts if value)


class Word(Enum):
    """The words that an answer is one of; no truth value either."""

    def __bool__(self) -> NoReturn:
        """Refuse: `if answer:` would hold for every answer."""
        first = next(iter(type(self)))
        raise NoTruth(str(self), f"compare it: … is {first}")


def parameter_fields(parameters: Mapping[str, Fraction]) -> dict[str, str]:
    """Return a program's parameters as the field "params"."""
    return {name: exact_text(value) for name, value in parameters.items()}


def parameters_text(parameters: Mapping[str, Fraction]) -> str:
    """Write a program's parameters for people: "N = 2, s = 4/3"."""
    return ", ".join(f"{name} = {brief_text(value)}" for name, value in parameters.items())


def values_text(values: Sequence[Value]) -> str:
    """Write values for people: "(0, 1)"."""
    return f"({', '.join(map(brief_text, values))})"
