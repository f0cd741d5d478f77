"""What every certificate states: a program, its parameters and domains, and pairs of its inputs.

The fields of these types are the fields of the file. Reading one checks all that needs no
computation; whether what is well-formed is true is for `checking` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated

from msgspec import Meta, Struct, field

from dipapprox.certificates.numbers import END, Decimal
from dipapprox.certificates.widened import check_widened, widening_of
from dipapprox.language.domains import Widening
from dipapprox.numerics.decimals import outward
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.source import BEYOND_ASCII

Count = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Line = Annotated[
    str,
    Meta(
        pattern=rf"^[^\x00-\x1f{BEYOND_ASCII}]+{END}",
        description="one line, without what steers terminals or turns writing around",
    ),
]
"""What answers show: it must not look like another of their lines."""
Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
Digest = Annotated[str, Meta(pattern=f"^sha256:[0-9a-f]{{64}}{END}")]

_NAME_OR_RATIONAL = rf"^([A-Za-z_][A-Za-z_0-9]*|-?[0-9]+/[0-9]+){END}"

PlainValue = (
    int
    | Annotated[
        str,
        Meta(
            pattern=_NAME_OR_RATIONAL,
            description='a whole number, a rational "p/q", or a named value',
        ),
    ]
)

PlainValues = Annotated[
    tuple[PlainValue, ...], Meta(description="one value per cell, in order of declaration")
]
"""An input as the file has it; names and numbers are told apart by the cells' domains later."""


class Statement(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON object with exactly these fields."""


class Ends(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[lower, upper] of an enclosure, decimals rounded outward."""

    lower: Decimal
    upper: Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise ValueError("expected two numbers in [0, 1], the smaller one first")

    @classmethod
    def of(cls, enclosure: Enclosure | None) -> Ends:
        """Round what is known of a number in [0, 1] outward; None: nothing is known of it."""
        lower, upper = outward(UNIT if enclosure is None else UNIT.intersect(enclosure))
        return cls(Decimal(lower), Decimal(upper))

    @property
    def enclosure(self) -> Enclosure:
        """The same as an enclosure."""
        return Enclosure(self.lower, self.upper)


class RecordedProgram(Statement, frozen=True):
    """A program's text and its hash."""

    name: Line
    language: Annotated[str, Meta(pattern=f"^(dpg|dip){END}")]
    text: str
    sha256: Hash


_MOST_BITS = 13_000
"""Of a parameter's value: whoever gives one to a program cannot give a longer one."""


def check_params(params: Mapping[str, Fraction]) -> None:
    """Check that values of parameters are such as may be given to a program.

    Raises:
        ValueError: If one is too long.
    """
    for name, value in params.items():
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
            raise ValueError(f".params.{name:.40}: expected a number of reasonable length")


class AdjacentPairs(Statement, frozen=True, tag_field="selection", tag="adjacent"):
    """Every adjacent pair, and their number if all were checked."""

    count: Count | None
    list: None


class ListedPairs(Statement, frozen=True, tag_field="selection", tag="listed"):
    """The pairs that are listed, and their number if all were checked."""

    count: Count | None
    list: Annotated[tuple[tuple[PlainValues, PlainValues], ...], Meta(min_length=1)]


Pairs = AdjacentPairs | ListedPairs


def check_uncounted(pairs: Pairs) -> None:
    """Check that no number of pairs is stated with a violation, where the search for one ends.

    Raises:
        ValueError: If one is.
    """
    if pairs.count is not None:
        raise ValueError(".pairs.count: expected null, as the search ended with a violation")


class Computed(Statement, frozen=True):
    """What computed a certificate; nothing is made of it."""

    engine: str
    python: str
    dipapprox: str
    python_flint: str = field(name="python-flint")
    numpy: str


class CertificateFields(Statement, frozen=True):
    """What all kinds of certificates have.

    Attributes:
        widened: Wider domains than the program declares, by the names of inputs.
        scope: What the verdict is about, in words.
        caveat: What the verdict does not say, in words.
    """

    format: str
    version: int
    program: RecordedProgram
    params: dict[str, Fraction]
    widened: dict[str, Text]
    scope: Line
    caveat: Line | None
    pairs: Pairs
    digest: Digest

    def __post_init__(self) -> None:
        check_widened(self.widened)
        check_params(self.params)

    @property
    def widening(self) -> Widening:
        """The wider domains."""
        return widening_of(self.widened)
