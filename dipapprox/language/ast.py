"""The surface syntax tree: what the parser builds and the printer prints.

Nodes compare structurally; spans do not take part. Sums, products, comparisons, `and` and `or`
are flat (as many operands as were written side by side), so the depth of a tree is bounded by
the nesting of brackets, prefix operators and blocks, which the lexer limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dipapprox.source import Span

# --- expressions: numbers, finite values, reals and conditions share one grammar ----------------


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
    """name(arguments): a distribution, or argmax, argmin, max, min."""

    name: str
    arguments: tuple[Expression, ...]
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


Expression = (
    Number | Truth | Name | Index | Call | Negative | Sum | Product | Comparison | Not | And | Or
)
Target = Name | Index

# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """targets <- value: one value, given to every target."""

    targets: tuple[Target, ...]
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Branch:
    """The condition and block of one `if` or `elif`."""

    condition: Expression
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class If:
    """if … then … elif … else … end; at least one branch."""

    branches: tuple[Branch, ...]
    otherwise: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class For:
    """for variable in first..last do body end; no turn when last < first."""

    variable: str
    first: Expression
    last: Expression
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Skip:
    """Do nothing."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Exit:
    """End the program."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Statement = Assign | If | For | Skip | Exit
Block = tuple[Statement, ...]

# --- declarations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """param name = default; without a default the value must come from outside."""

    name: str
    default: Expression | None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared variable; `size` is None for a scalar."""

    name: str
    size: Expression | None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Range:
    """The integers first..last."""

    first: Expression
    last: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Input:
    """input names in { domain }; the elements of the domain are values and ranges."""

    variables: tuple[Declared, ...]
    domain: tuple[Expression | Range, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Output:
    """output names in { domain }."""

    variables: tuple[Declared, ...]
    domain: tuple[Expression | Range, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class AdjacentRule:
    """adjacent all, or adjacent linf/l1/l0 radius."""

    rule: str
    radius: Expression | None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Pair:
    """left ~ right, two input rows."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class AdjacentPairs:
    """adjacent { row ~ row; … }, at least one pair."""

    pairs: tuple[Pair, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Declaration = Parameter | Input | Output | AdjacentRule | AdjacentPairs


@dataclass(frozen=True, slots=True)
class Program:
    """Declarations, then statements."""

    declarations: tuple[Declaration, ...]
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
