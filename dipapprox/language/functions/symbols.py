"""What a Python function computes with whose inputs are not known.

    Quantity    a number or named value: inputs, samples, what follows from them
    Condition   a comparison of such; its truth value is asked of the run, which follows both ways
    Weight      an expression in eps: scales of noise and probabilities of choices

A symbol holds the expression of the language (`ast`) that says what it is. Nothing computes with
one but the functions of this module; what the language has no words for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import partial
from math import isinf
from operator import add, and_, mul, or_, sub, truediv
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dipapprox.errors import SourceError, UserError
from dipapprox.language import ast
from dipapprox.language.constants import literal
from dipapprox.language.core import Relation, Value
from dipapprox.language.symbols import EPSILON
from dipapprox.language.traversal import nodes_in
from dipapprox.source import Diagnostic, Span

Compute = Callable[[Mapping[str, Value]], Any]
"""A value, given those of variables with finitely many of them, by name."""

Exact = int | Fraction
_KINDS: list[type] = [int, Fraction, float]  # each takes those before it in
Result = TypeVar("Result")  # what operators make of a symbol
OFFERED = "only + - * / with numbers, comparisons, and what dipapprox offers"
NAMED = 'it is compared with ==, and is a key: {"low": 1, "high": 2}[x]'


_RUNNING: ContextVar[Any] = ContextVar("running", default=None)


def running() -> Any:
    """Return the `Machine`: on the paths of a mechanism the path, which all symbols are of;
    `UserError` if nothing evaluates."""
    found = _RUNNING.get()
    if found is None:
        message = "noise is drawn in a mechanism that dipapprox executes, not by calling it"
        hint = "@dipapprox.mechanism makes a function one; dipapprox.verify(function, …) asks"
        raise UserError(message, hint)
    return found


@contextmanager
def running_as(machine: Any) -> Iterator[None]:
    """Make a machine the one that evaluates."""
    before = _RUNNING.set(machine)
    try:
        yield
    finally:
        _RUNNING.reset(before)


class Uncopied:
    """What is itself, and no other, when it is copied."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class Symbolic(Uncopied, Generic[Result]):
    """What all of them have: an expression, and no value of their own."""

    __slots__ = ("cells", "compute", "kind", "node", "numpy")
    __hash__ = None  # type: ignore[assignment]  # no key of dictionaries

    what = "a quantity"

    def __init__(
        self,
        node: ast.Expression,
        cells: frozenset[str] = frozenset(),
        compute: Compute | None = None,
        numpy: bool = False,
        kind: type = int,
    ) -> None:
        """Hold an expression.

        Args:
            cells: The variables with finitely many values in it.
            compute: Its value, given theirs; None if it is random, any real number, or of eps.
            numpy: Whether it is a number or a truth value of numpy's, which has other operators.
            kind: What Python has where it is a whole number: `int`; `Fraction`; `float`, which here
                stays a symbol, as its type and text are not those of the exact number.
        """
        self.node, self.cells, self.compute = node, cells, compute
        self.numpy, self.kind = numpy, kind

    @property
    def known(self) -> Any:
        """Its value, if it depends on nothing."""
        return None if self.compute is None or self.cells else self.compute({})

    def refusal(self, message: str, hint: str = OFFERED) -> SourceError:
        hint = NAMED if is_text(self) else hint
        return running().refusal(f"{self.what} {message}", hint)  # type: ignore[no-any-return]  # an error

    if TYPE_CHECKING:  # what readers may write, and nobody runs

        def __add__(self, other: Any) -> Result: ...
        def __lt__(self, other: Any) -> Condition: ...
        def __neg__(self) -> Result: ...
        def __invert__(self) -> Condition: ...
        def __index__(self) -> int: ...

        __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __add__
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __add__
        __le__ = __gt__ = __ge__ = __and__ = __or__ = __xor__ = __lt__
        __abs__ = __neg__


class Quantity(Symbolic["Quantity"]):
    """A number or named value that is not known while the function is followed."""

    __slots__ = ()

    @property
    def what(self) -> str:  # type: ignore[override]  # a class has one for all
        return "a named value" if is_text(self) else "a quantity"


class FloatKey(Fraction):
    """A number that is a float in Python, in a dictionary or set: nothing computes with it."""

    __slots__ = ()


class Condition(Symbolic["Quantity"]):
    """A comparison, or several; `if` follows both ways, `&`, `|` and `~` make larger ones."""

    __slots__ = ()
    what = "a condition"


class Weight(Symbolic["Weight"]):
    """An expression in eps, the privacy parameter: the function is one for all its values."""

    __slots__ = ()
    what = "eps"

    def unknown(self) -> SourceError:
        """Return the error for a question about its size, which is not known here."""
        what, places = "eps", "it stands in scales and probabilities"
        hint = f"{places}: gauss(q, 2 / eps); a threshold is a parameter, T: int = 5 and -p T=4.6"
        if not any(isinstance(each, ast.Name) for each in nodes_in(self.node)):
            what = "a root, a logarithm or a power of e"
            hint = f"{places}; ceil(log2(n)) is (n - 1).bit_length()"
        message = "is not known while the function runs, so nothing can depend on its size"
        return running().refusal(f"{what} {message}", hint)  # type: ignore[no-any-return]  # an error


# --- exact numbers and expressions ----------------------------------------------------------------


_END = 10**1000  # of the numbers that programs have


def is_number(value: object) -> bool:
    """Whether a known value is an exact number, by its very class."""
    return type(value) in (int, bool, Fraction)


def exact(value: object, what: str) -> Fraction:
    if is_number(value):
        number: Fraction = Fraction(value)  # type: ignore[call-overload]  # a number
        if max(abs(number.numerator), number.denominator) >= _END:
            raise running().refusal("a number of more than 1000 digits", kind="limit")
        return number
    if type(value) is Quantity and is_number(value.known):
        return exact(value.known, what)
    if isinstance(value, Symbolic):
        raise running().refusal(f"{what} must be known, but this depends on inputs or samples")
    shown = repr(value) if isinstance(value, float) else type(value).__name__
    raise running().refusal(f"{what} must be a number, got {shown}")


def refusal(kind: str, message: str, hint: str = "", span: Span | None = None) -> SourceError:
    return SourceError([Diagnostic(kind, message, span, hint)])


def constant(value: Fraction | str | bool, kind: type[Any] = Quantity) -> Any:
    """Return a number, a named value or a truth value as a symbol."""
    span = running().here
    if type(value) is bool:
        return Condition(ast.Truth(value, span=span), compute=lambda _: value)
    value = exact(value, "a number") if is_number(value) else value
    return kind(literal(value, span), compute=lambda _: value)


def negated(node: ast.Expression) -> ast.Expression:
    match node:
        case ast.Comparison(operands, (one,)):
            opposite = Relation(one).negated().value
            return ast.Comparison(operands, (opposite,), span=node.span)
        case ast.Not(operand):
            return operand
        case _:
            return ast.Not(node, span=node.span)


def of_numpy(value: Any, numpy: bool = True, kind: type = int) -> Any:
    """Return a number or a truth value as a symbol: numpy's, or Python's, of a kind at least."""
    known = value if type(value) is bool or isinstance(value, Symbolic) else Fraction(value)
    symbol = known if isinstance(known, Symbolic) else constant(known)
    size = running().largest(symbol.node) if numpy else None
    if size is not None and size >= 2**63:
        raise running().refusal("numpy's whole numbers end at 2 ** 63", "int(…)", "limit")
    kind = max(kind, symbol.kind, key=_KINDS.index)
    return type(symbol)(symbol.node, symbol.cells, symbol.compute, numpy, kind)


def kind_of_all(*values: Any) -> type:
    """Return the kind of what is computed from numbers without a quotient."""
    kinds = [each.kind if isinstance(each, Symbolic) else type(each) for each in values]
    return max((kind for kind in kinds if kind in _KINDS), key=_KINDS.index, default=int)


def from_key(value: Any) -> Any:
    """Return what a dictionary or set holds as what it was."""
    if type(value) is tuple and FloatKey in map(type, value):
        return tuple(map(from_key, value))
    return of_numpy(value, False, float) if type(value) is FloatKey else value


# --- values on the path ---------------------------------------------------------------------------


def truth(symbol: Symbolic[Any]) -> bool:
    """Say whether a symbol is true on the path: each way is one."""
    if isinstance(symbol, Weight):
        raise symbol.unknown()
    if isinstance(symbol, Condition):
        return running().decide(symbol)  # type: ignore[no-any-return]  # a truth value
    # No name is empty.
    return is_text(symbol) or truth(compared(Relation.NOT_EQUAL, symbol, 0))


def value(symbol: Symbolic[Any]) -> Any:
    """Return the number or named value that a symbol is on the path: each is one."""
    if isinstance(symbol, Weight):
        raise symbol.unknown()
    if isinstance(symbol, Condition):
        return int(truth(symbol))
    found = running().value_of(symbol)
    as_it_is = isinstance(found, str) or found.denominator != 1 or symbol.kind is not int
    return found if as_it_is else int(found)


def as_number(symbol: Symbolic[Any]) -> Quantity:
    """Return a condition as 1 or 0, without following both ways; others as they are."""
    if not isinstance(symbol, Condition):
        return symbol  # type: ignore[return-value]  # a quantity
    if symbol.known is not None:
        return constant(Fraction(symbol.known))  # type: ignore[no-any-return]  # a quantity
    return running().where(symbol, 1, 0)  # type: ignore[no-any-return]  # of numbers


# --- operators ------------------------------------------------------------------------------------

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """Return left operator right, one of which is a symbol; the operator is one of + - * /."""
    found, sides = _computed(operator, left, right), (left, right)
    kind = kind_of_all(*sides)
    samples = any(type(side) is Quantity and side.compute is None for side in sides)
    if (operator == "/" and kind is int) or (samples and found.compute is not None):
        kind = float
    return found if found.kind is kind else of_numpy(found, False, kind)


def _computed(operator: str, left: Any, right: Any) -> Any:
    kind = Weight if Weight in (type(left), type(right)) else Quantity
    take = partial(weight, what="an operand") if kind is Weight else _operand
    first, second = (take(each) for each in (left, right))
    for side in (first, second):
        _refuse_text(side, operator)
    if kind is Quantity:
        if operator in "*/" and first.compute is None and second.compute is None:
            what = "product" if operator == "*" else "quotient"
            hint = "a sample may be multiplied by what is not random: 2 * r, r / 3"
            raise running().refusal(f"the {what} of two samples or real inputs", hint)
        if operator == "/" and second.known is None:
            raise running().refusal("a number is divided by what is not known")
    if operator == "/" and second.known == 0:
        raise running().refusal("division by zero", kind="value error")
    known = [first.known, second.known]
    if None not in known:
        return constant(_OPERATIONS[operator](*known), kind)
    if (operator == "*" and 0 in known) or (operator == "-" and first.node == second.node):
        return constant(Fraction(0), kind)
    neutral = 0 if operator in "+-" else 1
    if kind is Quantity and known[1] == neutral:
        return first
    if kind is Quantity and known[0] == neutral and operator in "+*":
        return second
    flat: type[ast.Sum | ast.Product] = ast.Sum if operator in "+-" else ast.Product
    # What goes on to the right stays flat, as programs write it.
    chain = first.node if isinstance(first.node, flat) else flat((first.node,), ())
    node = flat((*chain.operands, second.node), (*chain.operators, operator), span=running().here)
    compute = None if kind is Weight else _operation(_OPERATIONS[operator], first, second)
    return kind(node, first.cells | second.cells, compute)


def signed(sign: str, symbol: Symbolic[Any]) -> Symbolic[Any]:
    of = as_number(symbol)
    _refuse_text(of, sign)
    if sign == "+":
        return of
    inner = of.compute
    compute = None if inner is None or isinstance(of, Weight) else lambda given: -inner(given)
    node = ast.Negative(of.node, span=running().here)
    return type(of)(node, of.cells, compute, kind=of.kind)


def power(base: Weight, exponent: Any) -> Weight:
    span = running().here
    known = value(exponent) if isinstance(exponent, Symbolic) else exponent
    number = literal(exact(known, "an exponent"), span)
    return Weight(ast.Power(base.node, number, span=span), base.cells)


def _operand(value: Any) -> Quantity:
    known = type(value) in (Quantity, Condition)
    return as_number(value) if known else constant(exact(value, "an operand"))


def weight(value: Any, what: str) -> Weight:
    """Return an expression in eps; `what` it is begins the message of others."""
    if type(value) is Weight:
        return value
    if is_number(value):
        return constant(exact(value, what), Weight)  # type: ignore[no-any-return]  # of that kind
    if type(value) not in (Quantity, Condition):
        raise running().refusal(f"{what} must be a number or depend on eps")
    of = as_number(value)
    if is_text(of):
        raise running().refusal("a scale or a probability is a named value")
    if of.compute is None:
        raise running().refusal("a scale or a probability depends on a sample")
    return Weight(of.node, of.cells, None if of.cells else of.compute)


def is_text(value: Any) -> bool:
    """Whether a value is a symbol for a named one."""
    return isinstance(value, Quantity) and running().is_text(value)


def _refuse_text(symbol: Symbolic[Any], operator: str) -> None:
    if is_text(symbol):
        message = f"'{operator}' with a named value: it can only be compared with == and !="
        raise running().refusal(message)


def _operation(
    operate: Callable[[Any, Any], Any], first: Symbolic[Any], second: Symbolic[Any]
) -> Compute | None:
    left, right = first.compute, second.compute
    if left is None or right is None:
        return None
    return lambda given: operate(left(given), right(given))


# --- comparisons ----------------------------------------------------------------------------------

_EQUALITIES = (Relation.EQUAL, Relation.NOT_EQUAL)


def compared(relation: Relation, left: Any, right: Any) -> Any:
    """Return a comparison, one side of which is a symbol: a condition, or what is known of it. A
    condition that is compared is a number: with ==, that of the path."""
    if not isinstance(left, Symbolic) or isinstance(left, Weight) < isinstance(right, Weight):
        return compared(relation.mirrored(), right, left)
    if isinstance(left, Weight):
        if left.node != ast.Name(EPSILON) or not is_number(right) or right > 0:
            raise left.unknown()
        return constant(relation.holds(Fraction(1), Fraction(0)))  # eps > 0 >= right
    if isinstance(left, Condition):
        if relation in _EQUALITIES and isinstance(right, Condition):
            return (truth(left) == truth(right)) == (relation is Relation.EQUAL)
        known = relation in _EQUALITIES
        left = constant(Fraction(truth(left))) if known else as_number(left)
    if type(right) is float and isinf(right):
        if relation not in _EQUALITIES:
            _refuse_text(left, relation.value)
        return constant(relation.holds(Fraction(0), Fraction(1 if right > 0 else -1)))
    named = type(right) is str and running().declares(right)
    never = constant(relation is Relation.NOT_EQUAL)
    if not (named or is_number(right) or isinstance(right, Symbolic)):
        if relation in _EQUALITIES and type(right) in (str, NoneType, tuple, list, dict):
            return never  # of what Python compares: none of these is a number, or a text declared
        message = f"'{relation.value}' with what is no number: {type(right).__name__}"
        raise running().refusal(message, OFFERED)
    second = constant(right) if named else _operand(right)
    if relation not in _EQUALITIES:
        _refuse_text(left, relation.value)
        _refuse_text(second, relation.value)
    elif running().is_text(left) != running().is_text(second):
        return never
    if left.node == second.node:
        return constant(relation.holds(Fraction(0), Fraction(0)))
    node = ast.Comparison((left.node, second.node), (relation.value,), span=running().here)
    found = Condition(node, left.cells | second.cells, _operation(relation.holds, left, second))
    return found if found.known is None else constant(bool(found.known))


def inverted(condition: Condition) -> Condition:
    if condition.known is not None:
        return of_numpy(not condition.known, condition.numpy)  # type: ignore[no-any-return]  # of a truth
    inner = condition.compute
    compute = None if inner is None else lambda given: not inner(given)
    return Condition(negated(condition.node), condition.cells, compute, condition.numpy)


def joined(operator: str, left: Any, right: Any) -> Any:
    """Return left operator right, which are conditions or truth values: one of & | ^."""
    first, second = (constant(s) if type(s) is bool else s for s in (left, right))
    if operator == "^":
        one = joined("&", first, inverted(second))
        return joined("|", one, joined("&", inverted(first), second))
    for side, rest in ((first, second), (second, first)):
        if side.known is not None:
            return rest if side.known == (operator == "&") else side
    compute = _operation(and_ if operator == "&" else or_, first, second)
    kind, sign = (ast.And, "and") if operator == "&" else (ast.Or, "or")
    node = kind((first.node, second.node), (sign,), span=running().here)
    return Condition(node, first.cells | second.cells, compute)
