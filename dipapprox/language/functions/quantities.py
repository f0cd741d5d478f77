"""What a Python function computes with whose inputs are not known.

    Quantity    a number or named value that is not known: inputs, samples, what follows from them
    Condition   a comparison of such; its truth value is asked of the run, which follows both

Python's operators build larger ones; what the language has no words for is refused where it is
written.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import isinf
from types import NoneType
from typing import Any

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.core import Relation
from dipapprox.language.functions.symbols import (
    OFFERED,
    Compute,
    Run,
    Symbolic,
    Valuation,
    Valued,
    chained,
    exact,
    is_number,
    negated,
    number_node,
)


class Quantity(Valued):
    """A number or named value that is not known while the function is followed."""

    __slots__ = ()

    @property
    def is_finite(self) -> bool:
        """Whether it has finitely many values, which are not random."""
        return self.compute is not None

    @property
    def known(self) -> Any:
        """Its value, if it depends on nothing."""
        return None if self.compute is None or self.cells else self.compute({})

    # --- arithmetic

    def __add__(self, other: Any) -> Quantity:
        return _arithmetic(self, "+", other)

    def __radd__(self, other: Any) -> Quantity:
        return _arithmetic(other, "+", self)

    def __sub__(self, other: Any) -> Quantity:
        return _arithmetic(self, "-", other)

    def __rsub__(self, other: Any) -> Quantity:
        return _arithmetic(other, "-", self)

    def __mul__(self, other: Any) -> Quantity:
        return _arithmetic(self, "*", other)

    def __rmul__(self, other: Any) -> Quantity:
        return _arithmetic(other, "*", self)

    def __truediv__(self, other: Any) -> Quantity:
        return _arithmetic(self, "/", other)

    def __rtruediv__(self, other: Any) -> Quantity:
        return _arithmetic(other, "/", self)

    def __neg__(self) -> Quantity:
        _refuse_text(self, "-")
        value = self.compute
        compute = None if value is None else lambda given: -value(given)
        return Quantity(self.run, ast.Negative(self.node, span=self.run.here), self.cells, compute)

    def __pos__(self) -> Quantity:
        _refuse_text(self, "+")
        return self

    def __abs__(self) -> Quantity:
        return self if self >= 0 else -self

    # --- comparisons

    def __lt__(self, other: Any) -> Condition:
        return _compared(self, Relation.LESS, other)

    def __le__(self, other: Any) -> Condition:
        return _compared(self, Relation.LESS_EQUAL, other)

    def __gt__(self, other: Any) -> Condition:
        return _compared(self, Relation.GREATER, other)

    def __ge__(self, other: Any) -> Condition:
        return _compared(self, Relation.GREATER_EQUAL, other)

    __hash__ = None  # type: ignore[assignment]  # no key of dictionaries

    def __eq__(self, other: object) -> Any:
        return _compared(self, Relation.EQUAL, other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, Relation.NOT_EQUAL, other)

    def __bool__(self) -> bool:
        return True if self.run.is_text(self) else bool(self != 0)  # no name is empty


class Condition(Symbolic):
    """A comparison, or several; `if` follows both ways, `&`, `|` and `~` make larger ones."""

    __slots__ = ()

    WHAT = "a condition"

    @property
    def known(self) -> bool | None:
        """Its truth value, if it depends on nothing."""
        return None if self.compute is None or self.cells else bool(self.compute({}))

    def __bool__(self) -> bool:
        return self.run.decide(self)

    def __and__(self, other: Any) -> Any:
        return _joined(self, ast.And, other)

    def __or__(self, other: Any) -> Any:
        return _joined(self, ast.Or, other)

    __rand__ = __and__
    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        if type(other) is bool:
            return ~self if other else self
        if type(other) is not Condition:
            raise self.refusal("has no such operation")
        return (self & ~other) | (~self & other)

    __rxor__ = __xor__

    def __invert__(self) -> Condition:
        if self.known is not None:
            return truth(self.run, not self.known)
        value = self.compute
        compute = None if value is None else lambda given: not value(given)
        return Condition(self.run, negated(self.node), self.cells, compute)

    __hash__ = None  # type: ignore[assignment]  # no key of dictionaries

    def __lt__(self, other: Any) -> Any:
        return self.number() < other

    def __le__(self, other: Any) -> Any:
        return self.number() <= other

    def __gt__(self, other: Any) -> Any:
        return self.number() > other

    def __ge__(self, other: Any) -> Any:
        return self.number() >= other

    def __eq__(self, other: object) -> Any:
        if type(other) is Condition:
            return bool(self) == bool(other)
        return constant(self.run, Fraction(bool(self))) == other

    def __ne__(self, other: object) -> Any:
        if type(other) is Condition:
            return bool(self) != bool(other)
        return constant(self.run, Fraction(bool(self))) != other

    def __index__(self) -> int:
        return int(bool(self))

    __int__ = __index__

    def value(self) -> int:
        """Return 1 if it holds on the path, else 0."""
        return int(bool(self))

    # --- as the number 1 or 0, as Python's truth values are

    def number(self) -> Quantity:
        """Return 1 if it holds, else 0, without following both ways."""
        if self.known is not None:
            return constant(self.run, Fraction(self.known))
        found = self.run.where(self, 1, 0)
        assert isinstance(found, Quantity)
        return found

    def __add__(self, other: Any) -> Quantity:
        return _arithmetic(self.number(), "+", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Quantity:
        return _arithmetic(self.number(), "-", other)

    def __rsub__(self, other: Any) -> Quantity:
        return _arithmetic(other, "-", self.number())

    def __mul__(self, other: Any) -> Quantity:
        return _arithmetic(self.number(), "*", other)

    __rmul__ = __mul__


def constant(run: Run, value: Fraction) -> Quantity:
    """Return a number as a quantity."""
    return Quantity(run, number_node(value, run.here), frozenset(), lambda _: value)


def named(run: Run, value: str) -> Quantity:
    """Return a named value as a quantity."""
    return Quantity(run, ast.Name(value, span=run.here), frozenset(), lambda _: value)


def truth(run: Run, value: bool) -> Condition:
    """Return a truth value as a condition."""
    return Condition(run, ast.Truth(value, span=run.here), frozenset(), lambda _: value)


# --- operators ------------------------------------------------------------------------------------

_SYMBOLS = (Quantity, Condition)

OPERATIONS: dict[str, Any] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}


def _arithmetic(left: Any, operator: str, right: Any) -> Quantity:
    run = left.run if isinstance(left, Quantity) else right.run
    first, second = _operand(run, left), _operand(run, right)
    if first is None or second is None:
        raise _unlike(run, operator, left if first is None else right)
    _refuse_text(first, operator)
    _refuse_text(second, operator)
    if operator in "*/" and not first.is_finite and not second.is_finite:
        what = "product" if operator == "*" else "quotient"
        raise run.refusal(
            "type error",
            f"the {what} of two samples",
            "a sample may be multiplied by what is not random: 2 * r, r / 3",
        )
    if operator == "/":
        if second.cells or not second.is_finite:
            raise run.refusal("type error", "a number is divided by what is not known")
        if second.compute is not None and second.compute({}) == 0:
            raise run.refusal("value error", "division by zero")
    if (shorter := _shortened(first, operator, second)) is not None:
        return shorter
    node = chained(first.node, operator, second.node, run.here)
    return Quantity(run, node, first.cells | second.cells, _operation(operator, first, second))


def _unlike(run: Run, operator: str, other: object) -> SourceError:
    """Return the error for an operation with what is no number."""
    kind = type(other).__name__
    return run.refusal("type error", f"'{operator}' with what is no number: {kind}", OFFERED)


def _operand(run: Run, value: Any) -> Quantity | None:
    if type(value) in _SYMBOLS:
        return value if type(value) is Quantity else value.number()
    if is_number(value):
        return constant(run, exact(run, value, "an operand"))
    return None  # expressions in eps among others: they have operators of their own


def _refuse_text(quantity: Quantity, operator: str) -> None:
    """Refuse named values as operands.

    Raises:
        SourceError: If the quantity is one.
    """
    if quantity.run.is_text(quantity):
        message = f"'{operator}' with a named value: it can only be compared with == and !="
        raise quantity.run.refusal("type error", message)


def _shortened(first: Quantity, operator: str, second: Quantity) -> Quantity | None:
    """Leave out 0 in sums and 1 in products, and compute with constants."""
    known = [first.known, second.known]
    if None not in known:
        return constant(first.run, OPERATIONS[operator](*known))
    if operator == "*" and 0 in known:
        return constant(first.run, Fraction(0))
    if operator == "-" and first.node == second.node:
        return constant(first.run, Fraction(0))
    neutral = 0 if operator in "+-" else 1
    if known[1] == neutral:
        return first
    if known[0] == neutral and operator in "+*":
        return second
    return None


def _operation(operator: str, first: Quantity, second: Quantity) -> Compute | None:
    left, right, operate = first.compute, second.compute, OPERATIONS[operator]
    if left is None or right is None:
        return None
    return lambda given: operate(left(given), right(given))


def _compared(left: Quantity, relation: Relation, right: Any) -> Condition:
    """Compare; what is known already gives a truth value of Python."""
    run = left.run
    if type(right) is float and isinf(right):
        if relation not in _EQUALITIES:
            _refuse_text(left, relation.value)
        return truth(run, relation.holds(Fraction(0), Fraction(1 if right > 0 else -1)))
    if type(right) is str and run.declares(right):
        second: Quantity | None = named(run, right)
    else:
        second = _operand(run, right)
    never = truth(run, relation is Relation.NOT_EQUAL)
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
    one, other = left.compute, second.compute
    if one is None or other is None:
        return Condition(run, node, left.cells | second.cells, None)

    def compute(given: Valuation) -> bool:
        values = one(given), other(given)
        if any(isinstance(value, str) for value in values) and relation not in _EQUALITIES:
            raise run.refusal("type error", f"'{relation.value}' compares named values")
        return relation.holds(*values)

    if not left.cells and not second.cells:
        return truth(run, bool(compute({})))
    return Condition(run, node, left.cells | second.cells, compute)


_EQUALITIES = (Relation.EQUAL, Relation.NOT_EQUAL)


def _both(one: Compute, other: Compute, given: Valuation) -> Any:
    return one(given) and other(given)


def _either(one: Compute, other: Compute, given: Valuation) -> Any:
    return one(given) or other(given)


def _joined(left: Condition, kind: type[ast.And | ast.Or], right: Any) -> Any:
    if type(right) is bool:
        right = truth(left.run, right)
    if type(right) is not Condition:
        raise _unlike(left.run, "&" if kind is ast.And else "|", right)
    for side, rest in ((left, right), (right, left)):
        if side.known is not None:
            return rest if side.known == (kind is ast.And) else side
    one, other = left.compute, right.compute
    compute: Compute | None = None
    if one is not None and other is not None:
        compute = partial(_both if kind is ast.And else _either, one, other)
    node = kind((left.node, right.node), span=left.run.here)
    return Condition(left.run, node, left.cells | right.cells, compute)
