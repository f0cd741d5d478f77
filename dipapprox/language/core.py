"""The core: what every surface program elaborates into, and all that later stages see.

It is the DiPGauss grammar (DiPApprox paper, Figure 1) with parameters bound, loops unrolled and
argmax/max expanded, plus `exit` and compound conditions, which would otherwise have to be copied
into nested branches. Cells of arrays are named "q[1]", scalars "q". Input and output cells, local
variables: one name space. Nothing here depends on epsilon or on input values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from dipapprox.distributions import Family, Scale
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


_NEGATED = {
    Relation.LESS: Relation.GREATER_EQUAL,
    Relation.LESS_EQUAL: Relation.GREATER,
    Relation.GREATER: Relation.LESS_EQUAL,
    Relation.GREATER_EQUAL: Relation.LESS,
    Relation.EQUAL: Relation.NOT_EQUAL,
    Relation.NOT_EQUAL: Relation.EQUAL,
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

# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """x <- e: a finite or real expression; copies the symbolic value.

    Finite and real variables need no distinction here: execution stores a linear form.
    """

    target: Variable | Element
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Draw:
    """r <- Gauss(mean, scale), Lap(mean, scale), …: a fresh independent sample.

    `site` numbers the draws of the unrolled program: each is executed at most once on a path.
    """

    target: Variable | Element
    family: Family
    mean: Expression
    scale: Scale
    site: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class If:
    """if condition then … else … end."""

    condition: Condition
    then: Block
    otherwise: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Exit:
    """End the program."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


# Weights: expressions in eps. `Ratio`, `Power`, … occur nowhere else.


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


@dataclass(frozen=True, slots=True)
class Choose:
    """x <- one of finitely many values, at random.

    Attributes:
        options: (value, weight): the value is taken with the probability `weight`.
        proportional: Whether the weights are first divided by their sum (exponential mechanism).
        site: Numbers draws and choices of the unrolled program.
    """

    target: Variable | Element
    options: tuple[tuple[Expression, Weight], ...]
    proportional: bool
    site: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class While:
    """while condition do … end."""

    condition: Condition
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Statement = Assign | Draw | Choose | If | While | Exit
Block = tuple[Statement, ...]

# --- adjacency ----------------------------------------------------------------------------------

InputRow = tuple[Value, ...]
"""One valuation of the input cells, in the order of `Program.inputs`."""


class Norm(Enum):
    """How far two adjacent inputs may be apart; the value is the spelling in programs."""

    LINF = "linf"
    L1 = "l1"
    L0 = "l0"


@dataclass(frozen=True, slots=True)
class Within:
    """Adjacent when the norm of the difference is at most `radius` (>= 0)."""

    norm: Norm
    radius: Fraction


@dataclass(frozen=True, slots=True)
class Everyone:
    """Any two different inputs are adjacent."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Explicit pairs; symmetric: each is meant in both orders."""

    pairs: tuple[tuple[InputRow, InputRow], ...]


Adjacency = Within | Everyone | Listed

# --- programs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """One input or output cell. `domain` has no duplicates and keeps the order of the program.

    Attributes:
        name: "q[1]" or "q".
        variable: The declared name, "q".
        index: 1-based index in the array; None for a scalar.
        span: The declaration.
    """

    name: str
    variable: str
    index: int | None
    domain: tuple[Value, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Program:
    """A closed core program: `parameters` are the exact values it was elaborated with."""

    name: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    inputs: tuple[Cell, ...]
    outputs: tuple[Cell, ...]
    body: Block
    adjacency: Adjacency
