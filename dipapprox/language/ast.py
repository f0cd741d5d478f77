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
    Range,
    Sum,
    Target,
    Truth,
    Turns,
)
from dipapprox.source import Span

__all__ = [
    "AdjacentPairs",
    "AdjacentRule",
    "AdjacentWhere",
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
    "Domain",
    "Element",
    "Exit",
    "Expression",
    "For",
    "Forever",
    "Handler",
    "HandlerArgument",
    "If",
    "Index",
    "Input",
    "Integers",
    "Name",
    "Negative",
    "Not",
    "Number",
    "OnData",
    "OnQuery",
    "Option",
    "Or",
    "Output",
    "Pair",
    "Parameter",
    "Power",
    "Product",
    "Program",
    "Publish",
    "Publishes",
    "Range",
    "Read",
    "Reals",
    "Skip",
    "State",
    "Statement",
    "Stream",
    "Sum",
    "Target",
    "Truth",
    "Turns",
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


@dataclass(frozen=True, slots=True)
class Read:
    """read name: the variable becomes the next value of the stream of that name."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Publish:
    """publish value: one more thing that everybody sees."""

    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Forever:
    """forever do body end: round after round, until the program exits."""

    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Statement = Assign | If | For | While | Skip | Exit | Read | Publish | Forever
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
class Reals:
    """real, or real first..last: all real numbers, or those between two bounds."""

    bounds: Range | None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Integers:
    """int: all integers."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Element = Expression | Range | Reals | Integers
"""An element of a domain; `Reals` and `Integers` are the only ones of their domains."""

Domain = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """input names in { domain }; the elements of the domain are values and ranges."""

    variables: tuple[Declared, ...]
    domain: Domain
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Output:
    """output names in { domain }."""

    variables: tuple[Declared, ...]
    domain: Domain
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Stream:
    """stream name in { domain }: inputs without end, read one after the other."""

    name: str
    domain: Domain
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Publishes:
    """publishes { domain }: what a program with a stream may publish besides real numbers."""

    domain: Domain
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class AdjacentRule:
    """adjacent all, or adjacent linf/l1/l0 radius."""

    rule: str
    radius: Expression | None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class AdjacentWhere:
    """adjacent rule where condition for variable in first..last.

    Attributes:
        rule: `adjacent all` if none is written.
        condition: In the inputs of a pair: q of the first, q' of the second.
        turns: It holds for each of these numbers; None for no variable.
    """

    rule: AdjacentRule
    condition: Expression
    turns: Turns | None
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


@dataclass(frozen=True, slots=True)
class State:
    """state names in domain <- initial: cells that last from call to call, all begin alike."""

    variables: tuple[Declared, ...]
    domain: Domain
    initial: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Declaration = (
    Parameter
    | Input
    | Output
    | State
    | Stream
    | Publishes
    | AdjacentRule
    | AdjacentWhere
    | AdjacentPairs
)


# --- services ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HandlerArgument:
    """name in domain: what a call carries."""

    name: str
    domain: Domain
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class OnData:
    """on data name in domain do body end: a data point arrives."""

    argument: HandlerArgument
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class OnQuery:
    """on query name(arguments) seen by users do body end: somebody asks, and gets a reply.

    Attributes:
        users: Who sees the query and its reply; empty: everybody.
    """

    name: str
    arguments: tuple[HandlerArgument, ...]
    users: tuple[str, ...]
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Handler = OnData | OnQuery

# --- programs ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Program:
    """Declarations, then statements; of a service handlers instead."""

    declarations: tuple[Declaration, ...]
    body: Block
    handlers: tuple[Handler, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
