"""The core: what every surface program elaborates into, and all that later stages see.

It is the DiPGauss grammar (DiPApprox paper, Figure 1) with parameters bound, loops unrolled and
argmax/max expanded, plus `exit` and compound conditions, which would otherwise have to be copied
into nested branches. Equal turns of a loop are there once (`Repeat`); `written_out` writes them
all. Cells of arrays are named "q[1]", scalars "q". Input and output cells, local
variables: one name space. Nothing here depends on eps or on input values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import SourceError
from dipapprox.laws.distribution import Scale
from dipapprox.laws.family import Family
from dipapprox.source import Diagnostic, Located

Value = Fraction | str  # a finite-domain value: a rational, or a named value such as `bot`


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

    def mirrored(self) -> Relation:
        """Return what it is when its sides change places: `<` becomes `>`."""
        return Relation(self.value.translate(_MIRRORED))

    def holds(self, left: Value, right: Value) -> bool:
        """Whether it holds between two values: both numbers, unless it asks for equality only."""
        return _HOLDS[self](left, right)


_NEGATED = dict(zip(Relation, map(Relation, (">=", ">", "<=", "<", "!=", "=")), strict=True))
_MIRRORED = str.maketrans("<>", "><")
_OPERATORS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_HOLDS: dict[Relation, Callable[..., bool]] = dict(zip(Relation, _OPERATORS, strict=True))

# --- expressions: one tree for finite and real values; at most one real factor per product ------


class Constant(Located):
    """A rational or a named value."""

    value: Value


class Variable(Located):
    """The current value of a cell: input, output, finite or real variable."""

    name: str


class Element(Located):
    """An array element whose index is only known during execution, e.g. `q[best]`."""

    array: str
    size: int
    index: Expression


class Sum(Located):
    """left + right."""

    left: Expression
    right: Expression


class Product(Located):
    """left * right; the checker guarantees that at most one side is real."""

    left: Expression
    right: Expression


Expression = Constant | Variable | Element | Sum | Product

# --- conditions ---------------------------------------------------------------------------------


class Comparison(Located):
    """left ~ right, over finite or real expressions."""

    left: Expression
    relation: Relation
    right: Expression


class All(Located):
    """Conjunction; the empty one is true."""

    parts: tuple[Condition, ...]


class Any(Located):
    """Disjunction; the empty one is false."""

    parts: tuple[Condition, ...]


Condition = Comparison | All | Any  # negations are pushed into the comparisons by the elaborator

# --- weights: expressions in eps, which occur in choices only ------------------------------------


class Epsilon(Located):
    """The program's eps."""


class Inverse(Located):
    """1 / operand."""

    operand: Weight


class Exponential(Located):
    """e ^ exponent; the exponent must come down to a rational multiple of eps."""

    exponent: Weight


Weight = Expression | Epsilon | Inverse | Exponential
"""An expression in eps and finite-domain values: an exponential ratio once the values are known.
Sums and products in it are of weights."""

# --- statements ---------------------------------------------------------------------------------


class Assign(Located):
    """x <- e: a finite or real expression; copies the symbolic value.

    Finite and real variables need no distinction here: execution stores a linear form.
    """

    target: Variable | Element
    value: Expression


class Draw(Located):
    """r <- Gauss(mean, scale), Lap(mean, scale), …: a fresh independent sample.

    `site` numbers the draws of the unrolled program: each is executed at most once on a path.
    """

    target: Variable | Element
    family: Family
    mean: Expression
    scale: Scale
    site: int


class If(Located):
    """if condition then … else … end."""

    condition: Condition
    then: Block
    otherwise: Block


class Exit(Located):
    """End the program."""


class Choose(Located):
    """x <- one of finitely many values, at random."""

    target: Variable | Element
    # (value, weight): the value is taken with the probability `weight`.
    options: tuple[tuple[Expression, Weight], ...]
    proportional: bool  # whether the weights are first divided by their sum (exponential mechanism)
    site: int  # numbers draws and choices of the unrolled program


class While(Located):
    """while condition do … end."""

    condition: Condition
    body: Block


Statement = Assign | Draw | Choose | If | While | Exit
Block = tuple[Statement, ...]


class Repeat(Located):
    """Turns of a loop that are equal but for indices; in the body of a program only.

    Turn k = 0, 1, … is `body` with the elements `first` + k of some arrays, which it has no others
    of, in place of those numbered `first`, and the sites of draws larger by k * sites. The arrays
    are inputs, or outputs with finitely many values. Turns assign, draw, branch and exit only.
    """

    body: Block
    turns: int
    first: int  # the index in turn 0
    arrays: tuple[str, ...]
    sites: int  # draws of a turn


Body = tuple[Statement | Repeat, ...]  # of a program


# --- adjacency ----------------------------------------------------------------------------------

Input = tuple[Value, ...]  # one valuation of the input cells, in the order of `Program.inputs`


class Norm(Enum):
    """How far two adjacent inputs may be apart; the value is the spelling in programs.

    INCREASING: the largest change from the first input to the second if no entry falls, else
        infinite. Not symmetric: (u, u') is adjacent, (u', u) is not.
    DECREASING: the same if no entry rises.
    """

    LINF = "linf"
    L1 = "l1"
    L0 = "l0"
    INCREASING = "increasing"
    DECREASING = "decreasing"


EUCLIDEAN = "l2"  # the rule `Euclidean`

ONE_WAY = (Norm.INCREASING, Norm.DECREASING)
"""The norms in which the distance there is not the distance back."""


class Within(Record):
    """Adjacent when the norm of the difference is at most `radius` (>= 0)."""

    norm: Norm
    radius: Fraction


class Everyone(Record):
    """Any two different inputs are adjacent."""


class Euclidean(Record):
    """Adjacent when the squares of the differences add up to at most radius², radius >= 0: a rule
    whose pairs are listed."""

    radius: Fraction


Rule = Within | Everyone | Euclidean


class Listed(Record):
    """Explicit pairs."""

    pairs: tuple[tuple[Input, Input], ...]  # all different
    one_way: bool = False  # whether they are meant in this order only; else each is, in both orders
    # The rule that they are all pairs of, as written; None if they are listed.
    text: str | None = None


Adjacency = Within | Everyone | Listed

# --- programs -----------------------------------------------------------------------------------


class Cell(Located):
    """One input or output cell, at its declaration. `domain` has no duplicates and keeps the order
    of the program."""

    name: str  # "q[1]" or "q"
    variable: str  # the declared name, "q"
    index: int | None  # 1-based index in the array; None for a scalar
    domain: tuple[Value, ...]


NEXT = "next "
"""Before the name of a stream: the cell that holds its next value whenever it is read."""

PUBLISHED = "published "
"""The cell whose values are published, whenever one is assigned. No name has a blank."""


class Rounds(Record):
    """What a program does after its body, for ever or any number of times.

    `read q` is the assignment q <- next q, `publish x` assigns x to PUBLISHED, or is a draw of it.
    """

    body: Block  # of one round
    symbols: tuple[Value, ...]  # what may be published besides numbers of noise
    # Output cells that are published before the first round, in this order.
    before: tuple[str, ...] = ()
    each: tuple[str, ...] = ()  # output cells that are published in every round, in this order
    # What the cells of a round are after the program has ended; None if it is seen when the program
    # ends.
    padding: tuple[Value, ...] | None = None
    # The parameter that says how many rounds there are; None for streams.
    parameter: str | None = None


class Rounding(Located):
    """How far a program is from what is written: irrational scales were made rational.

    Attributes:
        error: At most the total variation distance of the laws of two runs, and the sum of the
            |log(s / r)| of the samples of a run (`constants`).
        span: The first such scale.
    """

    error: Fraction
    samples: int  # at most so many samples of a run have such a scale


class Program(Record):
    """A closed core program.

    Attributes:
        parameters: The exact values it was elaborated with.
        declared: The domains that the text declares of inputs that were given wider ones.
        outputs: The output cells with finitely many values.
        real_outputs: The output cells that hold any real number: a form over samples and inputs.
        discretises: Whether it uses `disc`, which in the core is like any other branch.
        rounds: What follows the body, round after round; None for an ordinary program.
        rounding: Of its scales; None if all are as written. What is executed has none: who takes
            one out (`with_rational_scales`) widens all that is found by it.
    """

    name: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    inputs: tuple[Cell, ...]
    outputs: tuple[Cell, ...]
    body: Body
    adjacency: Adjacency
    declared: Mapping[str, tuple[Value, ...]] = field(default_factory=dict, hash=False)
    discretises: bool = False
    rounds: Rounds | None = None
    real_outputs: tuple[Cell, ...] = ()
    rounding: Rounding | None = None

    @property
    def published(self) -> tuple[Cell, ...]:
        """All output cells, the finite ones first."""
        return (*self.outputs, *self.real_outputs)

    def with_rational_scales(self) -> Program:
        """Return the program whose scales are the rational ones."""
        return replace(self, rounding=None)

    def check_rational_scales(self) -> None:
        """Raise `SourceError` if scales are irrational, with the place of the first."""
        if self.rounding is not None:
            raise irrational(self.rounding)


def irrational(rounding: Rounding) -> SourceError:
    message = "an irrational scale, where only rational ones will do"
    hint = "'verify', 'probability' and 'profile' at one eps take it; else write a rational number"
    return SourceError([Diagnostic("type error", message, rounding.span, hint)])
