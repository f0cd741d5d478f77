"""What core programs compute with: finite values, expressions, conditions, weights.

`core` hands all of it on; this is the part that knows nothing of statements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.source import Span

Value = Fraction | str
"""A finite-domain value: a rational, or a named value such as `bot`."""


class Relation(Enum):
    """A comparison; the value is its spelling in programs."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "="
    NOT_EQUAL = "!="

    def negated(self) -> Relation:
        """Return the complement: `<` becomes `>=`."""
        return _NEGATED[self]

    def holds(self, left: Value, right: Value) -> bool:
        """Whether it holds between two values: both numbers, unless it asks for equality only."""
        return _HOLDS[self](left, right)


_NEGATED = {
    Relation.LESS: Relation.GREATER_EQUAL,
    Relation.LESS_EQUAL: Relation.GREATER,
    Relation.GREATER: Relation.LESS_EQUAL,
    Relation.GREATER_EQUAL: Relation.LESS,
    Relation.EQUAL: Relation.NOT_EQUAL,
    Relation.NOT_EQUAL: Relation.EQUAL,
}

_HOLDS: dict[Relation, Callable[..., bool]] = {
    Relation.LESS: operator.lt,
    Relation.LESS_EQUAL: operator.le,
    Relation.GREATER: operator.gt,
    Relation.GREATER_EQUAL: operator.ge,
    Relation.EQUAL: operator.eq,
    Relation.NOT_EQUAL: operator.ne,
}

# --- expressions: one tree for finite and real values; at most one real factor per product ------


@dataclass(frozen=True, slots=True)
class Constant:
    """A rational or a named value."""

    value: Value
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Variable:
    """The current value of a cell: input, output, finite or real variable."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Element:
    """An array element whose index is only known during execution, e.g. `q[best]`."""

    array: str
    size: int
    index: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Sum:
    """left + right."""

    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Product:
    """left * right; the checker guarantees that at most one side is real."""

    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Expression = Constant | Variable | Element | Sum | Product

# --- conditions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """left ~ right, over finite or real expressions."""

    left: Expression
    relation: Relation
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class All:
    """Conjunction; the empty one is true."""

    parts: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Any:
    """Disjunction; the empty one is false."""

    parts: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Condition = Comparison | All | Any
"""Negations are pushed into the comparisons by the elaborator."""

# --- weights: expressions in eps, which occur in choices only ------------------------------------


@dataclass(frozen=True, slots=True)
class Epsilon:
    """The program's eps."""


@dataclass(frozen=True, slots=True)
class WeightSum:
    """left + right."""

    left: Weight
    right: Weight


@dataclass(frozen=True, slots=True)
class WeightProduct:
    """left * right."""

    left: Weight
    right: Weight


@dataclass(frozen=True, slots=True)
class Inverse:
    """1 / operand."""

    operand: Weight
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Exponential:
    """e ^ exponent; the exponent must come down to a rational multiple of eps."""

    exponent: Weight
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Weight = Expression | Epsilon | WeightSum | WeightProduct | Inverse | Exponential
"""An expression in eps and finite-domain values: an exponential ratio once the values are known."""
