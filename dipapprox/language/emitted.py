"""What elaboration makes: core expressions and conditions, and core statements.

Constant parts of expressions are computed. Statements go to the current block, with a bound on
their number. Functions of one number become nested ifs.

    abs(x)                           -x below 0, else x
    clamp(x, low, high)              the number in low..high that is nearest to x
    round, floor, ceil (x, step)     the nearest multiple of `step`, of two the larger one; the
                                     largest that is not above x; the smallest that is not below x

The first two are linear on each piece, so that samples stay what they are. A step function takes
finitely many values if x is clamped or has a known range: it becomes a bisection of x.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import Diagnosis
from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, check_size
from dipapprox.language.domains import AllReals, Domain, admits, describe_domain
from dipapprox.source import Span

# --- expressions, their constant parts computed ---------------------------------------------------

TRUE = core.All(())
FALSE = core.Any(())
_LARGEST_POWER = 1000


def compare(
    left: core.Expression,
    operator: str,
    right: core.Expression,
    positive: bool,
    node: ast.Expression,
) -> core.Condition:
    relation = core.Relation(operator)
    if not positive:
        relation = relation.negated()
    if isinstance(left, core.Constant) and isinstance(right, core.Constant):
        return TRUE if relation.holds(left.value, right.value) else FALSE
    return core.Comparison(left, relation, right, span=node.span)


def combine(parts: list[core.Condition], conjunction: bool, node: ast.Expression) -> core.Condition:
    """Build a flat conjunction or disjunction; constant parts and single parts vanish."""
    neutral, absorbing = (TRUE, FALSE) if conjunction else (FALSE, TRUE)
    shape = core.All if conjunction else core.Any
    kept: list[core.Condition] = []
    for part in parts:
        if part == absorbing:
            return absorbing
        if isinstance(part, shape):
            kept.extend(part.parts)
        else:
            kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else shape(tuple(kept), span=node.span)


def scaled(factor: Fraction, expression: core.Expression, node: ast.Expression) -> core.Expression:
    """Return factor * expression, folded."""
    if factor == 1:
        return expression
    if isinstance(expression, core.Constant):
        return core.Constant(factor * as_number(expression), span=node.span)
    if isinstance(expression, core.Product) and isinstance(expression.left, core.Constant):
        return scaled(factor * as_number(expression.left), expression.right, node)
    return core.Product(core.Constant(factor, span=node.span), expression, span=node.span)


def as_number(constant: core.Constant) -> Fraction:
    """Return the value of a constant that is a number."""
    assert isinstance(constant.value, Fraction)  # the checker keeps named values out
    return constant.value


def terms_of(
    node: core.Expression, factor: Fraction = Fraction(1)
) -> Iterator[tuple[Fraction, core.Expression | None]]:
    """Yield the terms of factor · node as (coefficient, what it multiplies; None for 1)."""
    match node:
        case core.Constant(Fraction() as value):
            yield factor * value, None
        case core.Sum(left, right):
            yield from terms_of(left, factor)
            yield from terms_of(right, factor)
        case core.Product(core.Constant(Fraction() as value), other):
            yield from terms_of(other, factor * value)
        case _:
            yield factor, node


def folded_sum(terms: Iterable[Any], span: Span | None) -> Any:
    """Add up expressions, or weights; the constants among them are one."""
    constant = Fraction(0)
    others: list[Any] = []
    for term in terms:
        if isinstance(term, core.Constant):
            constant += as_number(term)
            check_size(constant, span)
        else:
            others.append(term)
    if constant or not others:
        others.append(core.Constant(constant, span=span))
    return balanced(others, core.Sum, span)


def balanced(terms: list[Any], shape: type[Any], span: Span | None) -> Any:
    """Combine expressions, or weights, at least one, to a tree of logarithmic depth."""
    while len(terms) > 1:
        terms = [
            shape(terms[i], terms[i + 1], span=span) if i + 1 < len(terms) else terms[i]
            for i in range(0, len(terms), 2)
        ]
    return terms[0]


def check_tree(root: core.Weight, span: Span | None) -> None:
    """Refuse a product of shared factors, a power of powers, that is too large when walked."""
    sizes: dict[int, int] = {}

    def size(node: core.Weight) -> int:
        known = sizes.get(id(node))
        if known is None:
            match node:
                case core.Sum(left, right) | core.Product(left, right):
                    known = size(left) + size(right)
                case core.Inverse(inner) | core.Exponential(inner):
                    known = 1 + size(inner)
                case _:
                    known = 1
            sizes[id(node)] = known
        return known

    if size(root) > _LARGEST_POWER:
        message = f"a power with more than {_LARGEST_POWER} factors and terms"
        raise Wrong("limit", message, span)


_ELSEWHERE = frozenset([-1])  # stands for everything that is not a polynomial in eps


def degrees_of(weight: core.Weight) -> frozenset[int]:
    """Return the powers of eps in a polynomial weight; others give one that is none."""
    match weight:
        case core.Epsilon():
            return frozenset([1])
        case core.Constant(value):
            return frozenset([0] if value else [])
        case core.Sum(left, right):
            return degrees_of(left) | degrees_of(right)
        case core.Product(left, right):
            pairs = [(i, j) for i in degrees_of(left) for j in degrees_of(right)]
            if any(i < 0 or j < 0 for i, j in pairs):
                return _ELSEWHERE
            return frozenset(i + j for i, j in pairs)
        case core.Inverse(operand):
            return frozenset([0]) if degrees_of(operand) == {0} else _ELSEWHERE
        case core.Exponential():
            return _ELSEWHERE
        case _:
            return frozenset([0])


# --- statements -----------------------------------------------------------------------------------

MOST_STATEMENTS = 500_000
Place = core.Variable | core.Element


class Emitter:
    """Collects core statements into `block`; counts them, and turns of loops.

    Args:
        domains: Of what is declared, with what messages call it.
    """

    def __init__(self, domains: Mapping[str, tuple[str, Domain]], diagnosis: Diagnosis) -> None:
        self.block: list[core.Statement] = []
        self._domains = {
            name: (word, domain if isinstance(domain, AllReals) else dict.fromkeys(domain))
            for name, (word, domain) in domains.items()
        }
        self._diagnosis = diagnosis
        self.counted = 0

    @contextmanager
    def inner(self, block: list[core.Statement] | None = None) -> Iterator[list[core.Statement]]:
        """Collect into `block`, by default a new one, then go back to the current one."""
        outer, self.block = self.block, [] if block is None else block
        try:
            yield self.block
        finally:
            self.block = outer

    def emit(self, statement: core.Statement) -> None:
        """Add a statement."""
        self.count(1, statement.span)
        self.block.append(statement)

    def count(self, steps: int, span: Span | None) -> None:
        """Count statements or turns of loops.

        Raises:
            SourceError: If there are too many of them.
        """
        self.counted += steps
        if self.counted > MOST_STATEMENTS:
            message = f"the program unrolls to more than {MOST_STATEMENTS} statements"
            raise self._diagnosis.abort("limit", message, span, "use smaller parameters")

    def store(
        self, place: Place, value: core.Expression, target: ast.Target | None, span: Span | None
    ) -> None:
        """Add place <- value; a constant must be in the domain of `target`, if that is declared."""
        self.admit(value, target, span)
        self.emit(core.Assign(place, value, span=span))

    def admit(self, value: core.Expression, target: ast.Target | None, span: Span | None) -> None:
        """Check that a constant is in the domain of `target`, if that is declared."""
        declared = None if target is None else self._domains.get(target.name)
        if target is None or declared is None or not isinstance(value, core.Constant):
            return
        word, domain = declared
        if not admits(domain, value.value):
            message = f"{value.value} is not in the domain of {word} '{target.name}'"
            raise Wrong("value error", message, span, f"allowed are {describe_domain(domain)}")


# --- functions of one number ---------------------------------------------------------------------

Range = tuple[Fraction, Fraction]  # the least and the greatest value something may have
_HALF = Fraction(1, 2)


class ValueStep(Record):
    """A value of a step function, and where the next one begins."""

    value: Fraction
    cut: Fraction  # its upper end, for all but the last step
    closed: bool  # whether it is taken at its upper end


def absolute(place: Place, value: core.Variable, span: Span | None) -> core.Statement:
    """Return place <- abs(value)."""
    zero = core.Constant(Fraction(0), span=span)
    minus = core.Product(core.Constant(Fraction(-1), span=span), value, span=span)
    condition = core.Comparison(value, core.Relation.LESS, zero, span=span)
    then = core.Assign(place, minus, span=span)
    return core.If(condition, (then,), (core.Assign(place, value, span=span),), span=span)


def held_between(
    place: Place, value: core.Variable, low: Fraction, high: Fraction, span: Span | None
) -> core.Statement:
    """Return place <- clamp(value, low, high), linear in between."""
    inside: core.Statement = core.Assign(place, value, span=span)
    for end, relation in ((high, core.Relation.GREATER), (low, core.Relation.LESS)):
        constant = core.Constant(end, span=span)
        beyond = core.Comparison(value, relation, constant, span=span)
        inside = core.If(beyond, (core.Assign(place, constant, span=span),), (inside,), span=span)
    return inside


def bisected(
    place: Place, value: core.Expression, steps: Sequence[ValueStep], span: Span | None
) -> core.Statement:
    """Return place <- the value of the step, of at least one, that `value` is in."""
    if len(steps) == 1:
        return core.Assign(place, core.Constant(steps[0].value, span=span), span=span)
    middle = len(steps) // 2
    last = steps[middle - 1]
    relation = core.Relation.LESS_EQUAL if last.closed else core.Relation.LESS
    condition = core.Comparison(value, relation, core.Constant(last.cut, span=span), span=span)
    below = bisected(place, value, steps[:middle], span)
    above = bisected(place, value, steps[middle:], span)
    return core.If(condition, (below,), (above,), span=span)


def steps_to(labels: Iterable[Fraction]) -> tuple[ValueStep, ...]:
    """Return the steps to the first label that is not below x, else to the last one."""
    return tuple(ValueStep(label, label, True) for label in labels)


def rounded(word: str, value: Fraction, step: Fraction) -> Fraction:
    """Return round, floor or ceil of a number, to a multiple of `step` > 0."""
    return _multiple(word, value / step) * step


def step_numbers(word: str, step: Fraction, between: Range, is_clamped: bool) -> range:
    """Return the k for which k · step is a value of the function.

    Args:
        between: The ends that the value is clamped to, or what the argument is between.
        is_clamped: Which of them.
    """
    first, last = (end / step for end in between)
    if is_clamped:
        return range(floor(first), ceil(last) + 1)
    return range(_multiple(word, first), _multiple(word, last) + 1)


def rounding_steps(
    word: str, step: Fraction, numbers: range, ends: Range | None, factor: int
) -> Iterator[ValueStep]:
    """Yield the steps of a function of x, in terms of factor · x.

    Args:
        ends: What the value is clamped to; None for no clamp.
        factor: > 0.
    """
    above = {"round": _HALF, "floor": Fraction(1), "ceil": Fraction(0)}[word]
    for number in numbers:
        value = number * step
        if ends is not None:
            value = min(max(value, ends[0]), ends[1])
        yield ValueStep(value, (number + above) * step * factor, word == "ceil")


def _multiple(word: str, quotient: Fraction) -> int:
    match word:
        case "round":
            return floor(quotient + _HALF)
        case "floor":
            return floor(quotient)
        case _:
            return ceil(quotient)


# --- what is known of an argument -----------------------------------------------------------------


def range_of(node: core.Expression, ranges: Mapping[str, Range]) -> Range | None:
    """Bound an expression, by interval arithmetic.

    Args:
        ranges: Of variables, by their names or those of their arrays.

    Returns:
        Two ends; None if nothing is known.
    """
    match node:
        case core.Constant(Fraction() as value):
            return value, value
        case core.Variable(name):
            return ranges.get(name) or ranges.get(name.partition("[")[0])
        case core.Element(array):
            return ranges.get(array)
        case core.Sum(left, right) | core.Product(left, right):
            first, second = range_of(left, ranges), range_of(right, ranges)
            if first is None or second is None:
                return None
            if isinstance(node, core.Sum):
                return first[0] + second[0], first[1] + second[1]
            products = [a * b for a in first for b in second]
            return min(products), max(products)
        case _:
            return None


def with_whole_factors(node: core.Expression) -> tuple[int, core.Expression]:
    """Return a number d > 0 and d · node, where no constant factor is a fraction."""
    terms = list(terms_of(node))
    common = lcm(*(factor.denominator for factor, _ in terms))
    total: core.Expression | None = None
    for factor, rest in terms:
        number = core.Constant(factor * common, span=node.span)
        term = number if rest is None else core.Product(number, rest, span=node.span)
        total = term if total is None else core.Sum(total, term, span=node.span)
    assert total is not None
    return common, total
