"""The surface syntax tree: what the parser builds.

Nodes compare structurally; spans do not take part. The depth of a tree is bounded by the nesting
of brackets, prefix operators and blocks, which the lexer limits.

Numbers, finite values, random variables, conditions and weights share one kind of expressions.
Sums, products, comparisons, `and` and `or` are flat (as many operands as were written side by
side).
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.source import Located


class Node(Located):
    """Anything in a program."""


# --- expressions ---------------------------------------------------------------------------------


class Number(Node):
    """An unsigned decimal, exact; its denominator has no prime factors but 2 and 5."""

    value: Fraction


class Truth(Node):
    """`true` or `false`."""

    value: bool


class Name(Node):
    """A parameter, loop variable, variable, named value, or `eps`."""

    name: str


class Index(Node):
    """name[index], 1-based."""

    name: str
    index: Expression


class Call(Node):
    """name(arguments): a distribution, argmax, argmin, max, min, Exp, or exp in weights."""

    name: str
    arguments: tuple[Expression, ...]


class Range(Node):
    """The integers first..last."""

    first: Expression
    last: Expression


class Turns(Node):
    """for variable in first..last, after an option: one for each number."""

    variable: str
    first: Expression
    last: Expression


class Option(Node):
    """value : weight for variable in first..last."""

    value: Expression | Range  # a range stands for its numbers, and has neither weight nor turns
    # None in all options of a choice or in none; then all values are equally likely.
    weight: Expression | None
    turns: Turns | None = None  # for several options that differ in one number


class Choose(Node):
    """choose { options }: one of the values, each with the probability `weight`, or all alike."""

    options: tuple[Option, ...]


class Disc(Node):
    """disc(value; points): the first point that is at least `value`, else the last one.

    At least two points, ascending: DiPC's finite discretisation (DiPC paper, section 7.1).
    """

    value: Expression
    points: tuple[Expression, ...]


class Negative(Node):
    """-operand."""

    operand: Expression


class Chain(Node):
    """operands[0] op[0] operands[1] op[1] …; the operators of one level as they are spelled."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


class Sum(Chain):
    """Of "+" and "-"."""


class Product(Chain):
    """Of "*" and "/"."""


class Power(Node):
    """base ^ exponent; powers of powers need brackets."""

    base: Expression
    exponent: Expression


class Comparison(Chain):
    """Such as low <= r < high; the operators are spelled as in `core.Relation`."""


class Not(Node):
    """not operand."""

    operand: Expression


class And(Chain):
    """Of "and"."""


class Or(Chain):
    """Of "or"."""


Computed = Call | Choose | Disc
"""What is computed by statements before the statement that it stands in."""

Expression = Number | Truth | Name | Index | Computed | Negative | Power | Not | Chain
Target = Name | Index

# --- statements ---------------------------------------------------------------------------------


class Assign(Node):
    """targets <- value: one value, given to every target."""

    targets: tuple[Target, ...]
    value: Expression


class Branch(Node):
    """The condition and block of one `if` or `elif`."""

    condition: Expression
    body: Block


class If(Node):
    """if … then … elif … else … end; at least one branch."""

    branches: tuple[Branch, ...]
    otherwise: Block


class For(Node):
    """for variable in first..last do body end; no turn when last < first."""

    variable: str
    first: Expression
    last: Expression
    body: Block


class While(Node):
    """while condition do body end."""

    condition: Expression
    body: Block


class Skip(Node):
    """Do nothing."""


class Exit(Node):
    """End the program."""


class Read(Node):
    """read name: the variable becomes the next value of the stream of that name."""

    name: str


class Publish(Node):
    """publish value: one more thing that everybody sees."""

    value: Expression


class Forever(Node):
    """forever do body end: round after round, until the program exits."""

    body: Block


Statement = Assign | If | For | While | Skip | Exit | Read | Publish | Forever
Block = tuple[Statement, ...]

# --- declarations -------------------------------------------------------------------------------


class Parameter(Node):
    """param name = default; without a default the value must come from outside."""

    name: str
    default: Expression | None


class Declared(Node):
    """A declared variable; `size` is None for a scalar."""

    name: str
    size: Expression | None


class Reals(Node):
    """real, or real first..last: all real numbers, or those between two bounds."""

    bounds: Range | None


class Integers(Node):
    """int: all integers."""


Element = Expression | Range | Reals | Integers
"""An element of a domain; `Reals` and `Integers` are the only ones of their domains."""

Domain = tuple[Element, ...]


class Variables(Node):
    """What has a domain, and declares variables of it."""

    variables: tuple[Declared, ...]
    domain: Domain


class Input(Variables):
    """input names in { domain }; the elements of the domain are values and ranges."""


class Output(Variables):
    """output names in { domain }."""


class Stream(Variables):
    """stream name in { domain }: inputs without end, read one after the other."""


class Publishes(Variables):
    """publishes { domain }: what a program with a stream may publish besides real numbers; no
    variables."""


class State(Variables):
    """state names in domain <- initial: cells that last from call to call, all begin alike."""

    initial: Expression


class AdjacentRule(Node):
    """adjacent all, or adjacent linf/l1/l0 radius."""

    rule: str
    radius: Expression | None


class AdjacentWhere(Node):
    """adjacent rule where condition for variable in first..last."""

    rule: AdjacentRule  # `adjacent all` if none is written
    condition: Expression  # in the inputs of a pair: q of the first, q' of the second
    turns: Turns | None  # it holds for each of these numbers; None for no variable


class Pair(Node):
    """left ~ right, two input rows."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]


class AdjacentPairs(Node):
    """adjacent { row ~ row; … }, at least one pair."""

    pairs: tuple[Pair, ...]


Declaration = Parameter | Variables | AdjacentRule | AdjacentWhere | AdjacentPairs


# --- services ------------------------------------------------------------------------------------


class Handler(Node):
    """on data argument do …: a data point arrives; on query name(arguments) do …: somebody asks."""

    name: str | None  # of the query; None for data
    arguments: tuple[Input, ...]  # what a call carries: declarations of one variable each
    users: tuple[str, ...]  # who sees the query and its reply; empty: everybody. Nobody sees data
    body: Block


# --- programs ------------------------------------------------------------------------------------


class Program(Node):
    """Declarations, then statements; of a service handlers instead."""

    declarations: tuple[Declaration, ...]
    body: Block
    handlers: tuple[Handler, ...] = ()
