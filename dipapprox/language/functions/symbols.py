"""What a Python function computes with whose inputs are not known.

    Quantity    a number or named value: inputs, samples, what follows from them
    Condition   a comparison of such; its truth value is asked of the run, which follows both ways
    Weight      an expression in eps: scales of noise and probabilities of choices

A symbol holds the expression of the language (`ast`) that says what it is. Nothing computes with
one but the functions of this module; what the language has no words for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import isinf
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.core import Relation, Value
from dipapprox.language.traversal import operands_of
from dipapprox.source import Diagnostic, Span

Compute = Callable[[Mapping[str, Value]], Any]
"""A value, given those of variables with finitely many of them, by name."""

Exact = int | Fraction

Result = TypeVar("Result")
"""What operators make of a symbol."""

OFFERED = "only + - * / with numbers, comparisons, and what dipapprox offers"


class SymbolRun(Protocol):
    """The path that symbols belong to."""

    @property
    def here(self) -> Span | None: ...
    def decide(self, condition: Any) -> bool: ...
    def value_of(self, quantity: Any) -> Value: ...
    def where(self, condition: Any, yes: Any, no: Any) -> Any: ...
    def declares(self, text: str) -> bool: ...
    def is_text(self, quantity: Any) -> bool: ...
    def refusal(self, message: str, hint: str = "", kind: str = "type error") -> SourceError: ...


class Symbolic(Generic[Result]):
    """What all of them have: an expression, and no value of their own."""

    __slots__ = ("cells", "compute", "node", "run")
    __hash__ = None  # type: ignore[assignment]  # no key of dictionaries

    WHAT = "a quantity"

    def __init__(
        self,
        run: SymbolRun,
        node: ast.Expression,
        cells: frozenset[str] = frozenset(),
        compute: Compute | None = None,
    ) -> None:
        """Hold an expression.

        Args:
            run: The path that it belongs to.
            node: The expression.
            cells: The variables with finitely many values in it.
            compute: Its value, given theirs; None if it is random, any real number, or of eps.
        """
        self.run, self.node, self.cells, self.compute = run, node, cells, compute

    @property
    def known(self) -> Any:
        """Its value, if it depends on nothing."""
        return None if self.compute is None or self.cells else self.compute({})

    def refusal(self, message: str, hint: str = OFFERED) -> SourceError:
        """Return the error for an operation of which nothing is known."""
        return self.run.refusal(f"{self.WHAT} {message}", hint)

    if TYPE_CHECKING:  # what readers may write, and nobody runs

        def __add__(self, other: Any) -> Result: ...
        def __sub__(self, other: Any) -> Result: ...
        def __mul__(self, other: Any) -> Result: ...
        def __truediv__(self, other: Any) -> Result: ...
        def __floordiv__(self, other: Any) -> Result: ...
        def __mod__(self, other: Any) -> Result: ...
        def __pow__(self, other: Any) -> Result: ...
        def __radd__(self, other: Any) -> Result: ...
        def __rsub__(self, other: Any) -> Result: ...
        def __rmul__(self, other: Any) -> Result: ...
        def __rtruediv__(self, other: Any) -> Result: ...
        def __and__(self, other: Any) -> Condition: ...
        def __or__(self, other: Any) -> Condition: ...
        def __xor__(self, other: Any) -> Condition: ...
        def __neg__(self) -> Result: ...
        def __abs__(self) -> Result: ...
        def __invert__(self) -> Condition: ...
        def __lt__(self, other: Any) -> Condition: ...
        def __le__(self, other: Any) -> Condition: ...
        def __gt__(self, other: Any) -> Condition: ...
        def __ge__(self, other: Any) -> Condition: ...
        def __index__(self) -> int: ...


class Quantity(Symbolic["Quantity"]):
    """A number or named value that is not known while the function is followed."""

    __slots__ = ()


class Condition(Symbolic["Quantity"]):
    """A comparison, or several; `if` follows both ways, `&`, `|` and `~` make larger ones."""

    __slots__ = ()
    WHAT = "a condition"


class Weight(Symbolic["Weight"]):
    """An expression in eps, the privacy parameter: the function is one for all its values."""

    __slots__ = ()
    WHAT = "eps"

    def unknown(self) -> SourceError:
        """Return the error for a question about its size, which is not known here."""
        what, hint = "eps", "it stands in scales and probabilities: gauss(q, 2 / eps)"
        if not _has_names(self.node):
            what = "a root, a logarithm or a power of e"
            hint = "it stands in scales and probabilities; ceil(log2(n)) is (n - 1).bit_length()"
        message = "is not known while the function runs, so nothing can depend on its size"
        return self.run.refusal(f"{what} {message}", hint)


def _has_names(node: ast.Expression) -> bool:
    return isinstance(node, ast.Name) or any(map(_has_names, operands_of(node)))


# --- exact numbers and expressions ----------------------------------------------------------------


def is_number(value: object) -> bool:
    """Whether a known value is an exact number, by its very class."""
    return type(value) in (int, bool, Fraction)


def exact(run: SymbolRun, value: object, what: str) -> Fraction:
    """Take an exact number."""
    if is_number(value):
        return Fraction(value)  # type: ignore[call-overload, no-any-return]  # a number
    if isinstance(value, Symbolic):
        raise run.refusal(f"{what} must be known, but this depends on inputs or samples")
    shown = repr(value) if isinstance(value, float) else type(value).__name__
    raise run.refusal(f"{what} must be a number, got {shown}")


def refusal(kind: str, message: str, hint: str = "", span: Span | None = None) -> SourceError:
    """Return the error for what is written at a place."""
    return SourceError([Diagnostic(kind, message, span, hint)])


def number_node(value: Fraction, span: Span | None = None) -> ast.Expression:
    """Return an exact number as an expression: a decimal, or else a quotient."""
    if value < 0:
        return ast.Negative(number_node(-value, span), span=span)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return ast.Number(value, span=span)
    parts = (ast.Number(Fraction(value.numerator)), ast.Number(Fraction(value.denominator)))
    return ast.Product(parts, ("/",), span=span)


def constant(run: SymbolRun, value: Fraction | str | bool, kind: type[Any] = Quantity) -> Any:
    """Return a number, a named value or a truth value as a symbol."""
    if type(value) is bool:
        node: ast.Expression = ast.Truth(value, span=run.here)
        return Condition(run, node, compute=lambda _: value)
    node = ast.Name(value, span=run.here) if type(value) is str else number_node(value, run.here)  # type: ignore[arg-type]  # a number
    return kind(run, node, compute=lambda _: value)


def negated(node: ast.Expression) -> ast.Expression:
    """Return the opposite of a condition."""
    match node:
        case ast.Comparison(operands, (one,)):
            opposite = Relation(one).negated().value
            return ast.Comparison(operands, (opposite,), span=node.span)
        case ast.Not(operand):
            return operand
        case _:
            return ast.Not(node, span=node.span)


# --- values on the path ---------------------------------------------------------------------------


def truth(symbol: Symbolic[Any]) -> bool:
    """Say whether a symbol is true on the path: each way is one."""
    if isinstance(symbol, Weight):
        raise symbol.unknown()
    if isinstance(symbol, Condition):
        return symbol.run.decide(symbol)
    is_text = symbol.run.is_text(symbol)  # no name is empty
    return is_text or truth(compared(symbol.run, Relation.NOT_EQUAL, symbol, 0))


def value(symbol: Symbolic[Any]) -> Any:
    """Return the number or named value that a symbol is on the path: each is one."""
    if isinstance(symbol, Weight):
        raise symbol.unknown()
    if isinstance(symbol, Condition):
        return int(truth(symbol))
    found = symbol.run.value_of(symbol)
    return found if isinstance(found, str) or found.denominator != 1 else int(found)


def as_number(symbol: Symbolic[Any]) -> Quantity:
    """Return a condition as 1 or 0, without following both ways; others as they are."""
    if not isinstance(symbol, Condition):
        return symbol  # type: ignore[return-value]  # a quantity
    if symbol.known is not None:
        return constant(symbol.run, Fraction(symbol.known))  # type: ignore[no-any-return]
    return symbol.run.where(symbol, 1, 0)  # type: ignore[no-any-return]


# --- operators ------------------------------------------------------------------------------------

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}


def arithmetic(run: SymbolRun, operator: str, left: Any, right: Any) -> Any:
    """Return left operator right, one of which is a symbol; the operator is one of + - * /."""
    kind = Weight if Weight in (type(left), type(right)) else Quantity
    take = weight if kind is Weight else _operand
    taken = [take(run, each) for each in (left, right)]
    for side, given in zip(taken, (left, right), strict=True):
        if side is None:
            raise _unlike(run, operator, given)
        _refuse_text(side, operator)
    first, second = taken[0], taken[1]
    assert first is not None and second is not None
    if kind is Quantity:
        if operator in "*/" and first.compute is None and second.compute is None:
            what = "product" if operator == "*" else "quotient"
            hint = "a sample may be multiplied by what is not random: 2 * r, r / 3"
            raise run.refusal(f"the {what} of two samples", hint)
        if operator == "/" and second.known is None:
            raise run.refusal("a number is divided by what is not known")
    if operator == "/" and second.known == 0:
        raise run.refusal("division by zero", kind="value error")
    known = [first.known, second.known]
    if None not in known:
        return constant(run, _OPERATIONS[operator](*known), kind)
    if (operator == "*" and 0 in known) or (operator == "-" and first.node == second.node):
        return constant(run, Fraction(0), kind)
    neutral = 0 if operator in "+-" else 1
    if kind is Quantity and known[1] == neutral:
        return first
    if kind is Quantity and known[0] == neutral and operator in "+*":
        return second
    node = _chained(first.node, operator, second.node, run.here)
    compute = None if kind is Weight else _operation(_OPERATIONS[operator], first, second)
    return kind(run, node, first.cells | second.cells, compute)


def negative(symbol: Symbolic[Any]) -> Symbolic[Any]:
    """Return - symbol."""
    of = as_number(symbol)
    _refuse_text(of, "-")
    inner = of.compute
    compute = None if inner is None or isinstance(of, Weight) else lambda given: -inner(given)
    return type(of)(of.run, ast.Negative(of.node, span=of.run.here), of.cells, compute)


def power(base: Weight, exponent: Any) -> Weight:
    """Return an expression in eps to a known power."""
    number = exact(base.run, exponent, "an exponent")
    node = ast.Power(base.node, number_node(number), span=base.run.here)
    return Weight(base.run, node, base.cells)


def _chained(
    left: ast.Expression, operator: str, right: ast.Expression, span: Span | None
) -> ast.Expression:
    """Return a sum or product; one that goes on to the right stays flat, as programs write it."""
    kind: type[ast.Sum | ast.Product] = ast.Sum if operator in "+-" else ast.Product
    if isinstance(left, kind):
        operands, operators = (*left.operands, right), (*left.operators, operator)
        return kind(operands, operators, span=span)
    return kind((left, right), (operator,), span=span)


def _unlike(run: SymbolRun, operator: str, other: object) -> SourceError:
    """Return the error for an operation with what is no number."""
    return run.refusal(f"'{operator}' with what is no number: {type(other).__name__}", OFFERED)


def _operand(run: SymbolRun, value: Any) -> Quantity | None:
    if type(value) in (Quantity, Condition):
        return as_number(value)
    return constant(run, exact(run, value, "an operand")) if is_number(value) else None


def weight(run: SymbolRun, value: Any) -> Weight | None:
    """Return an expression in eps; None if it can be none."""
    if type(value) is Weight:
        return value
    if type(value) in (Quantity, Condition):
        of = as_number(value)
        if run.is_text(of):
            raise run.refusal("a scale or a probability is a named value")
        if of.compute is None:
            raise run.refusal("a scale or a probability depends on a sample")
        return Weight(run, of.node, of.cells, None if of.cells else of.compute)
    return constant(run, exact(run, value, "a scale"), Weight) if is_number(value) else None


def _refuse_text(symbol: Symbolic[Any], operator: str) -> None:
    """Refuse named values as operands."""
    if isinstance(symbol, Quantity) and symbol.run.is_text(symbol):
        message = f"'{operator}' with a named value: it can only be compared with == and !="
        raise symbol.run.refusal(message)


def _operation(
    operate: Callable[[Any, Any], Any], first: Symbolic[Any], second: Symbolic[Any]
) -> Compute | None:
    left, right = first.compute, second.compute
    if left is None or right is None:
        return None
    return lambda given: operate(left(given), right(given))


# --- comparisons ----------------------------------------------------------------------------------

_EQUALITIES = (Relation.EQUAL, Relation.NOT_EQUAL)
_MIRRORED = {
    Relation.LESS: Relation.GREATER,
    Relation.LESS_EQUAL: Relation.GREATER_EQUAL,
    Relation.GREATER: Relation.LESS,
    Relation.GREATER_EQUAL: Relation.LESS_EQUAL,
}


def compared(run: SymbolRun, relation: Relation, left: Any, right: Any) -> Any:
    """Return a comparison, one side of which is a symbol: a condition, or what is known of it.

    A condition that is compared is a number: with ==, that of the path.
    """
    for side in (left, right):
        if isinstance(side, Weight):
            raise side.unknown()
    if not isinstance(left, Symbolic):
        return compared(run, _MIRRORED.get(relation, relation), right, left)
    if isinstance(left, Condition):
        if relation in _EQUALITIES and isinstance(right, Condition):
            return (truth(left) == truth(right)) == (relation is Relation.EQUAL)
        if relation in _EQUALITIES:
            left = constant(run, Fraction(truth(left)))
        left = as_number(left)
    if type(right) is float and isinf(right):
        if relation not in _EQUALITIES:
            _refuse_text(left, relation.value)
        return constant(run, relation.holds(Fraction(0), Fraction(1 if right > 0 else -1)))
    named = type(right) is str and run.declares(right)
    second = constant(run, right) if named else _operand(run, right)
    never = constant(run, relation is Relation.NOT_EQUAL)
    if second is None:
        if relation in _EQUALITIES and type(right) in (str, NoneType, tuple, list, dict):
            return never  # of what Python compares: none of these is a number, or a text declared
        raise _unlike(run, relation.value, right)
    if relation not in _EQUALITIES:
        _refuse_text(left, relation.value)
        _refuse_text(second, relation.value)
    elif run.is_text(left) != run.is_text(second):
        return never
    node = ast.Comparison((left.node, second.node), (relation.value,), span=run.here)
    found = Condition(
        run, node, left.cells | second.cells, _operation(relation.holds, left, second)
    )
    return found if found.known is None else constant(run, bool(found.known))


def inverted(condition: Condition) -> Condition:
    """Return the opposite condition."""
    if condition.known is not None:
        return constant(condition.run, not condition.known)  # type: ignore[no-any-return]
    inner = condition.compute
    compute = None if inner is None else lambda given: not inner(given)
    return Condition(condition.run, negated(condition.node), condition.cells, compute)


def joined(run: SymbolRun, operator: str, left: Any, right: Any) -> Any:
    """Return left operator right, which are conditions or truth values: one of & | ^."""
    first, second = (constant(run, s) if type(s) is bool else s for s in (left, right))
    if operator == "^":
        if second.known is not None or first.known is not None:
            known, other = (second, first) if second.known is not None else (first, second)
            return inverted(other) if known.known else other
        one = joined(run, "&", first, inverted(second))
        return joined(run, "|", one, joined(run, "&", inverted(first), second))
    for side, rest in ((first, second), (second, first)):
        if side.known is not None:
            return rest if side.known == (operator == "&") else side
    compute = None
    if first.compute is not None and second.compute is not None:
        compute = partial(_BOTH[operator], first.compute, second.compute)
    kind: type[ast.And | ast.Or] = ast.And if operator == "&" else ast.Or
    node = kind((first.node, second.node), span=run.here)
    return Condition(run, node, first.cells | second.cells, compute)


_BOTH: dict[str, Callable[..., Any]] = {
    "&": lambda one, other, given: one(given) and other(given),
    "|": lambda one, other, given: one(given) or other(given),
}
