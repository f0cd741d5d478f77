"""Expressions of the surface syntax tree; `ast` hands all of it on, `formula` shares the leaves.

Numbers, finite values, random variables, conditions and weights share one grammar. Sums,
products, comparisons, `and` and `or` are flat (as many operands as were written side by side).
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.source import Span


@dataclass(frozen=True, slots=True)
class Number:
    """An unsigned decimal, exact; its denominator has no prime factors but 2 and 5."""

    value: Fraction
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, loop variable, variable, named value, or `eps`."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Index:
    """name[index], 1-based."""

    name: str
    index: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Call:
    """name(arguments): a distribution, argmax, argmin, max, min, Exp, or exp in weights."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Range:
    """The integers first..last."""

    first: Expression
    last: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Turns:
    """for variable in first..last, after an option: one for each number."""

    variable: str
    first: Expression
    last: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Option:
    """value : weight for variable in first..last.

    Attributes:
        value: A range stands for its numbers, and has neither weight nor turns.
        weight: None in all options of a choice or in none; then all values are equally likely.
        turns: For several options that differ in one number.
    """

    value: Expression | Range
    weight: Expression | None
    turns: Turns | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Choose:
    """choose { options }: one of the values, each with the probability `weight`, or all alike."""

    options: tuple[Option, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Disc:
    """disc(value; points): the first point that is at least `value`, else the last one.

    At least two points, ascending: DiPC's finite discretisation (DiPC paper, section 7.1).
    """

    value: Expression
    points: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Negative:
    """-operand."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Sum:
    """operands[0] op[0] operands[1] op[1] …; the operators are "+" or "-"."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Product:
    """operands[0] op[0] operands[1] op[1] …; the operators are "*" or "/"."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Power:
    """base ^ exponent; powers of powers need brackets."""

    base: Expression
    exponent: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain such as low <= r < high; the operators are spelled as in `core.Relation`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Not:
    """not operand."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class And:
    """At least two operands."""

    operands: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Or:
    """At least two operands."""

    operands: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Computed = Call | Choose | Disc
"""What is computed by statements before the statement that it stands in."""

Expression = (
    Number
    | Truth
    | Name
    | Index
    | Computed
    | Negative
    | Sum
    | Product
    | Power
    | Comparison
    | Not
    | And
    | Or
)
Target = Name | Index
