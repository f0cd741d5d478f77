"""What a Python function computes with while it is executed symbolically.

    Quantity    a number or named value that is not known: inputs, samples, what follows from them
    Condition   a comparison of such; its truth value is asked of the run, which follows both

Python's operators build larger ones; what the language has no words for is refused where it is
written.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import isinf
from typing import Any, Never

from dipapprox.language import ast
from dipapprox.language.core import Relation
from dipapprox.language.functions.places import here
from dipapprox.language.functions.symbolic import (
    Compute,
    Run,
    Symbolic,
    Valuation,
    chained,
    exact,
    is_number,
    number_node,
)


class Quantity(Symbolic):
    """A number or named value that is not known while the function is executed."""

    __slots__ = ()

    @property
    def is_finite(self) -> bool:
        """Whether it has finitely many values, which are not random."""
        return self.compute is not None

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
        value = self.compute
        compute = None if value is None else lambda given: -value(given)
        return Quantity(self.run, ast.Negative(self.node, span=here()), self.cells, compute)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return self if self >= 0 else -self

    # --- what needs the value itself

    def __index__(self) -> int:
        value = self.run.value_of(self)
        if isinstance(value, str) or value.denominator != 1:
            raise self.run.refusal("type error", f"{value} is no whole number")
        return int(value)

    __int__ = __index__

    def __floordiv__(self, other: Any) -> Any:
        return self._known() // other

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self._known()

    def __mod__(self, other: Any) -> Any:
        return self._known() % other

    def __rmod__(self, other: Any) -> Any:
        return other % self._known()

    def __divmod__(self, other: Any) -> Any:
        return divmod(self._known(), other)

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(other, self._known())

    def __pow__(self, other: Any) -> Any:
        power = Fraction(self._known()) ** other
        is_whole = isinstance(power, Fraction) and power.denominator == 1
        return int(power) if is_whole else power

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._known(), digits)

    def __floor__(self) -> int:
        return self._known().__floor__()

    def __ceil__(self) -> int:
        return self._known().__ceil__()

    def __trunc__(self) -> int:
        return self._known().__trunc__()

    def _known(self) -> int | Fraction:
        value = self.run.value_of(self)
        if isinstance(value, str):
            raise self.run.refusal("type error", f"'{value}' is no number")
        return int(value) if value.denominator == 1 else value

    # --- comparisons

    def __lt__(self, other: Any) -> Condition:
        return _compared(self, Relation.LESS, other)

    def __le__(self, other: Any) -> Condition:
        return _compared(self, Relation.LESS_EQUAL, other)

    def __gt__(self, other: Any) -> Condition:
        return _compared(self, Relation.GREATER, other)

    def __ge__(self, other: Any) -> Condition:
        return _compared(self, Relation.GREATER_EQUAL, other)

    __hash__ = Symbolic.__hash__

    def __eq__(self, other: object) -> Any:
        return _compared(self, Relation.EQUAL, other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, Relation.NOT_EQUAL, other)

    def __bool__(self) -> bool:
        return bool(self != 0)


class Condition(Symbolic):
    """A comparison, or several; `if` follows both ways, `&`, `|` and `~` make larger ones."""

    __slots__ = ()

    WHAT = "a condition"

    def __bool__(self) -> bool:
        return self.run.decide(self)

    def __and__(self, other: Any) -> Any:
        return _joined(self, ast.And, other)

    def __or__(self, other: Any) -> Any:
        return _joined(self, ast.Or, other)

    __rand__ = __and__
    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        if isinstance(other, bool):
            return ~self if other else self
        if not isinstance(other, Condition):
            return NotImplemented
        return (self & ~other) | (~self & other)

    __rxor__ = __xor__

    def __invert__(self) -> Condition:
        value = self.compute
        compute = None if value is None else lambda given: not value(given)
        return Condition(self.run, negated(self.node), self.cells, compute)

    __hash__ = Symbolic.__hash__

    def __lt__(self, other: Any) -> Any:
        return self.number() < other

    def __le__(self, other: Any) -> Any:
        return self.number() <= other

    def __gt__(self, other: Any) -> Any:
        return self.number() > other

    def __ge__(self, other: Any) -> Any:
        return self.number() >= other

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Condition):
            return bool(self) == bool(other)
        return bool(self) == other

    def __ne__(self, other: object) -> Any:
        return not self == other

    def __index__(self) -> int:
        return int(bool(self))

    __int__ = __index__

    # --- as the number 1 or 0, as Python's truth values are

    def number(self) -> Quantity:
        """Return 1 if it holds, else 0, without following both ways."""
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
    return Quantity(run, number_node(value, here()), frozenset(), lambda _: value)


def named(run: Run, value: str) -> Quantity:
    """Return a named value as a quantity."""
    return Quantity(run, ast.Name(value, span=here()), frozenset(), lambda _: value)


# --- operators ------------------------------------------------------------------------------------

_NOT_IMPLEMENTED: Never = NotImplemented

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}


def _arithmetic(left: Any, operator: str, right: Any) -> Quantity:
    run = left.run if isinstance(left, Quantity) else right.run
    run.check()
    first, second = _operand(run, left), _operand(run, right)
    if first is None or second is None:
        _leave_to(run, left if first is None else right, operator)
        return _NOT_IMPLEMENTED
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
    node = chained(first.node, operator, second.node)
    return Quantity(run, node, first.cells | second.cells, _operation(operator, first, second))


def _leave_to(run: Run, other: Any, operator: str) -> None:
    """Leave an operator to what is no number, if that may know it; else refuse.

    Python's own error would not do: the function could catch it.
    """
    kind = type(other)
    repeated = operator == "*" and issubclass(kind, list | tuple | str | bytes | bytearray)
    if not repeated and kind.__module__.partition(".")[0] in ("builtins", "numpy"):
        raise run.refusal("type error", f"'{operator}' with what is no number: {kind.__name__}")


def _operand(run: Run, value: Any) -> Quantity | None:
    match value:
        case Quantity() | Condition():
            if value.run is not run:
                value.run.check()
            return value if isinstance(value, Quantity) else value.number()
        case _ if is_number(value):
            return constant(run, exact(run, value, "an operand"))
        case _:
            return None  # expressions in eps among others: they have operators of their own


def _shortened(first: Quantity, operator: str, second: Quantity) -> Quantity | None:
    """Leave out 0 in sums and 1 in products, and compute with constants."""
    known = [None if q.compute is None or q.cells else q.compute({}) for q in (first, second)]
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
    run.check()
    if isinstance(right, float) and isinf(right):
        if left.is_finite and relation not in _EQUALITIES:
            left._known()  # a text has no order
        beyond: Never = relation.holds(Fraction(0), Fraction(1 if right > 0 else -1))  # type: ignore[assignment]  # no condition, likewise
        return beyond
    if isinstance(right, str) and run.declares(right):
        second: Quantity | None = named(run, right)
    else:
        second = _operand(run, right)
    if second is None:
        if right is None or isinstance(right, str | tuple | list | dict):  # never equal
            known: Never = relation is Relation.NOT_EQUAL  # type: ignore[assignment]  # likewise
            return known if relation in _EQUALITIES else _NOT_IMPLEMENTED
        raise run.refusal(
            "type error", f"'{relation.value}' with what is no number: {type(right).__name__}"
        )
    node = ast.Comparison((left.node, second.node), (relation.value,), span=here())
    one, other = left.compute, second.compute
    if one is None or other is None:
        return Condition(run, node, left.cells | second.cells, None)

    def compute(given: Valuation) -> bool:
        values = one(given), other(given)
        if any(isinstance(value, str) for value in values) and relation not in _EQUALITIES:
            raise run.refusal("type error", f"'{relation.value}' compares named values")
        return relation.holds(*values)

    if not left.cells and not second.cells:
        truth: Never = compute({})  # type: ignore[assignment]  # no condition: it is known
        return truth
    return Condition(run, node, left.cells | second.cells, compute)


_EQUALITIES = (Relation.EQUAL, Relation.NOT_EQUAL)


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


def _both(one: Compute, other: Compute, given: Valuation) -> Any:
    return one(given) and other(given)


def _either(one: Compute, other: Compute, given: Valuation) -> Any:
    return one(given) or other(given)


def _joined(left: Condition, kind: type[ast.And | ast.Or], right: Any) -> Any:
    left.run.check()
    if isinstance(right, bool):
        return left if right == (kind is ast.And) else right
    if not isinstance(right, Condition):
        return NotImplemented
    one, other = left.compute, right.compute
    compute: Compute | None = None
    if one is not None and other is not None:
        compute = partial(_both if kind is ast.And else _either, one, other)
    node = kind((left.node, right.node), span=here())
    return Condition(left.run, node, left.cells | right.cells, compute)
