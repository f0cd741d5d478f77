"""Functions of one number as nested ifs.

    abs(x)                           -x below 0, else x
    clamp(x, low, high)              the number in low..high that is nearest to x; max(low, x)
                                     and min(high, x) have one end; clamps of clamps are one
    round, floor, ceil (x, step)     the nearest multiple of `step`, of two the larger one; the
                                     largest that is not above x; the smallest that is not below x

The first two are linear on each piece, so that samples stay what they are. A step function takes
finitely many values if x is clamped or has a known range: it becomes a bisection of x. Of another
x that is finite, loops count to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, inf, lcm

from dipapprox.data_classes import Record
from dipapprox.language import ast, core, symbols
from dipapprox.language.constants import Wrong, evaluate
from dipapprox.language.expressions import Place, terms_of
from dipapprox.language.traversal import nodes_in
from dipapprox.source import Span

MOST_STEPS = 10_000
CLAMPED = "clamped"  # begins the names of fresh variables that are clamped, each once
Range = tuple[Fraction, Fraction]  # the least and the greatest value something may have
_HALF = Fraction(1, 2)
_NAMED = (ast.Name, ast.Index)
_ABOVE = {"round": _HALF, "floor": Fraction(1), "ceil": Fraction(0)}
"""By how many steps what a function makes k steps of ends above them: inclusive for `ceil`."""


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
    place: Place,
    value: core.Variable,
    low: Fraction | None,
    high: Fraction | None,
    span: Span | None,
) -> core.Statement:
    """Return place <- clamp(value, low, high), linear in between; None is no end."""
    inside: core.Statement = core.Assign(place, value, span=span)
    for end, relation in ((high, core.Relation.GREATER), (low, core.Relation.LESS)):
        if end is None:
            continue
        constant = core.Constant(end, span=span)
        beyond = core.Comparison(value, relation, constant, span=span)
        inside = core.If(beyond, (core.Assign(place, constant, span=span),), (inside,), span=span)
    return inside


def between(
    node: ast.Expression, known: Mapping[str, Fraction]
) -> tuple[ast.Expression, Fraction | float, Fraction | float]:
    """Return x and two ends, which may be infinite, such that a node is clamp(x, low, high).

    A maximum or minimum with numbers, which is monotone, moves the ends of what it is of. `Wrong`
    if nothing is between ends.
    """
    match node:
        case ast.Call(symbols.CLAMP, (inner, least, most)):
            bounds = [("max", evaluate(least, known)), ("min", evaluate(most, known))]
            if bounds[1][1] < bounds[0][1]:
                raise Wrong("value error", "nothing is between the ends", node.span)
        case ast.Call("max" | "min", (_, _, *_) as given):
            names = [{n.name for n in nodes_in(each) if isinstance(n, _NAMED)} for each in given]
            varying = [e for e, own in zip(given, names, strict=True) if not own <= known.keys()]
            if len(varying) != 1:
                return node, -inf, inf
            (inner,) = varying
            bounds = [(node.name, evaluate(each, known)) for each in given if each is not inner]
        case _:
            return node, -inf, inf
    inner, low, high = between(inner, known)
    for word, bound in bounds:
        low, high = (symbols.EXTREMES[word](each, bound) for each in (low, high))
    return inner, low, high


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


def rounding_steps(
    word: str, step: Fraction, between: Range, is_clamped: bool, factor: int
) -> Iterator[ValueStep]:
    """Yield the steps of a function of x, in terms of factor · x.

    Args:
        between: The ends that the value is clamped to, or what the argument is between.
        factor: > 0.
    """
    low, high = (end / step for end in between)
    first, last = _multiple(word, low), _multiple(word, high)
    if is_clamped:
        first, last = floor(low), ceil(high)
    for number in range(first, last + 1):
        value = number * step
        if is_clamped:
            value = min(max(value, between[0]), between[1])
        yield ValueStep(value, (number + _ABOVE[word]) * step * factor, word == "ceil")


def counted(
    word: str, step: Fraction, found: core.Variable, value: core.Variable, span: Span | None
) -> Iterator[core.Statement]:
    """Yield what counts up, then down, until found is the function of a finite value."""
    above = _ABOVE[word] * step
    up, down = core.Relation.GREATER_EQUAL, core.Relation.LESS
    if word == "ceil":
        up, down = core.Relation.GREATER, core.Relation.LESS_EQUAL
    yield core.Assign(found, core.Constant(Fraction(0), span=span), span=span)
    for by, end, relation in ((step, above, up), (-step, above - step, down)):
        moved, beyond = (
            core.Sum(found, core.Constant(number, span=span), span=span) for number in (by, end)
        )
        condition = core.Comparison(value, relation, beyond, span=span)
        yield core.While(condition, (core.Assign(found, moved, span=span),), span=span)


def _multiple(word: str, quotient: Fraction) -> int:
    match word:
        case "round":
            return floor(quotient + _HALF)
        case "floor":
            return floor(quotient)
        case _:
            return ceil(quotient)


class Clamp(Record):
    """place <- the number in low..high that is nearest to something: if `is_finite` to a finite
    number, else to a whole one."""

    place: Place
    low: int
    high: int
    is_finite: bool

    @property
    def width(self) -> int:
        return 2 if self.is_finite else self.high - self.low


def clamped(clamp: Clamp, value: core.Variable, span: Span | None) -> core.Statement:
    """Return place <- clamp(value, low, high) as nested ifs."""
    if clamp.is_finite:
        low, high = Fraction(clamp.low), Fraction(clamp.high)
        return held_between(clamp.place, value, low, high, span)
    if clamp.width >= MOST_STEPS:
        message = f"'clamp' to more than {MOST_STEPS} values"
        raise Wrong("limit", message, span, "only replies of services may have more")
    steps = steps_to(map(Fraction, range(clamp.low, clamp.high + 1)))
    return bisected(clamp.place, value, steps, span)


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
