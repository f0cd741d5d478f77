"""The surface syntax tree: what the parser builds.

Nodes compare structurally; spans do not take part. The depth of a tree is bounded by the nesting
of brackets, prefix operators and blocks, which the lexer limits.
"""

from __future__ import annotations

from dipapprox.data_classes import dataclass, field
from dipapprox.language.ast_expressions import (
    And,
    Call,
    Choose,
    Comparison,
    Computed,
    Disc,
    Expression,
    Index,
    Name,
    Negative,
    Not,
    Number,
    Option,
    Or,
    Power,
    Product,
    Sum,
    Target,
    Truth,
)
from dipapprox.source import Span

__all__ = [
    "AdjacentPairs",
    "AdjacentRule",
    "And",
    "Assign",
    "Block",
    "Branch",
    "Call",
    "Choose",
    "Comparison",
    "Computed",
    "Declaration",
    "Declared",
    "Disc",
    "Exit",
    "Expression",
    "For",
    "If",
    "Index",
    "Input",
    "Name",
    "Negative",
    "Not",
    "Number",
    "Option",
    "Or",
    "Output",
    "Pair",
    "Parameter",
    "Power",
    "Product",
    "Program",
    "Range",
    "Skip",
    "Statement",
    "Sum",
    "Target",
    "Truth",
    "While",
]

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
class While:
    """while condition do body end."""

    condition: Expression
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


Statement = Assign | If | For | While | Skip | Exit
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
