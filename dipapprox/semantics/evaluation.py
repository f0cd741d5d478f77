"""Values of core expressions: forms over samples and inputs, or names.

Whoever executes statements evaluates here, and says how cells are read and what is known of
symbols: symbolic execution (`run`), and single courses (`courses`). Evaluation is pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, TypeVar, assert_never

from dipapprox.data_classes import dataclass, field
from dipapprox.language import core
from dipapprox.linear.form import LinearForm
from dipapprox.source import Diagnostic, Span

StoredValue = LinearForm | str
"""A form over samples and input cells, or a named value."""

S = TypeVar("S")


class PathFault(Exception):
    """A path does something that has no meaning; `cell` is the variable at fault, if one is."""

    def __init__(
        self, kind: str, message: str, span: Span | None, hint: str = "", cell: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.span = span
        self.hint = hint
        self.cell = cell

    def diagnostic(self, where: str = "") -> Diagnostic:
        """Return the fault for people, with words about the path that leads there."""
        return Diagnostic(self.kind, self.message + where, self.span, self.hint)


@dataclass(slots=True, eq=False)
class Forms(ABC, Generic[S]):
    """Evaluates expressions in states of one kind; equal values are one object.

    Attributes:
        forms: The one object that stands for equal forms.
        constants: The one object that stands for a value.
        seen: The same by the identity of a value, which is kept alive so: fractions hash slowly.
        sums: Two forms, which are kept alive so, and their sum, by the identities of the two.
        literals: The value of a constant by its identity; it is kept alive so.
    """

    forms: dict[LinearForm, LinearForm] = field(default_factory=dict, kw_only=True)
    constants: dict[core.Value, StoredValue] = field(default_factory=dict, kw_only=True)
    seen: dict[int, tuple[core.Value, StoredValue]] = field(default_factory=dict, kw_only=True)
    sums: dict[tuple[int, int], tuple[LinearForm, LinearForm, LinearForm]] = field(
        default_factory=dict, kw_only=True
    )
    literals: dict[int, tuple[core.Constant, StoredValue]] = field(
        default_factory=dict, kw_only=True
    )

    @abstractmethod
    def read(self, name: str, state: S, span: Span | None) -> StoredValue:
        """Return the value of a cell.

        Raises:
            PathFault: If it has none; or whatever says that it is not known.
        """

    @abstractmethod
    def known(self, form: LinearForm, state: S, span: Span | None) -> Fraction:
        """Return the number that a form with symbols is, or raise what says that it is unknown."""

    @abstractmethod
    def product(
        self, left: LinearForm, right: LinearForm, state: S, span: Span | None
    ) -> LinearForm:
        """Return the product of two forms with symbols, or raise what says that it is no form."""

    def evaluate(self, expression: core.Expression, state: S) -> StoredValue:
        """Return the value of an expression.

        Raises:
            PathFault: If it has none; or what `read`, `known` and `product` raise.
        """
        match expression:
            case core.Constant():
                known = self.literals.get(id(expression))
                if known is None:
                    known = expression, self.constant(expression.value)
                    self.literals[id(expression)] = known
                return known[1]
            case core.Variable():
                return self.read(expression.name, state, expression.span)
            case core.Element():
                return self.read(self.cell(expression, state), state, expression.span)
            case core.Sum():
                left = self.evaluate(expression.left, state)
                right = self.evaluate(expression.right, state)
                # By identity: forms hash slowly.
                total = self.sums.get((id(left), id(right)))
                if total is None:
                    first = _number(left, expression.left)
                    second = _number(right, expression.right)
                    total = first, second, self.shared(first + second)
                    self.sums[id(first), id(second)] = total
                return total[2]
            case core.Product():
                first = self.form(expression.left, state)
                second = self.form(expression.right, state)
                if not first.terms:
                    product = second.scaled(first.constant)
                elif not second.terms:
                    product = first.scaled(second.constant)
                else:
                    product = self.product(first, second, state, expression.span)
                return self.shared(product)
        assert_never(expression)

    def form(self, expression: core.Expression, state: S) -> LinearForm:
        """Return the value of an expression that is a number."""
        return _number(self.evaluate(expression, state), expression)

    def finite(self, expression: core.Expression, state: S) -> core.Value:
        """Return the value of an expression, which has to be known."""
        value = self.evaluate(expression, state)
        if isinstance(value, str):
            return value
        return self.known(value, state, expression.span) if value.terms else value.constant

    def number(self, expression: core.Expression, state: S) -> Fraction:
        """Return the value of an expression, which has to be known and a number."""
        value = self.finite(expression, state)
        if isinstance(value, str):
            raise _is_name(value, expression)
        return value

    def cell(self, place: core.Variable | core.Element, state: S) -> str:
        """Return the name of the cell that a place is."""
        if isinstance(place, core.Variable):
            return place.name
        index = self.finite(place.index, state)
        if isinstance(index, str) or index.denominator != 1 or not 1 <= index <= place.size:
            raise PathFault(
                "value error",
                f"index of '{place.array}' is {index}",
                place.index.span or place.span,
                f"'{place.array}' has "
                + (f"the indices 1 to {place.size}" if place.size else "no elements"),
            )
        return f"{place.array}[{index}]"

    def constant(self, value: core.Value) -> StoredValue:
        """Return the one object that stands for a value."""
        known = self.seen.get(id(value))
        if known is not None:
            return known[1]
        stored = self.constants.get(value)
        if stored is None:
            stored = value if isinstance(value, str) else LinearForm.constant_form(value)
            if isinstance(stored, LinearForm):
                stored = self.shared(stored)
            self.constants[value] = stored
        self.seen[id(value)] = value, stored
        return stored

    def shared(self, form: LinearForm) -> LinearForm:
        """Return the one object that stands for equal forms."""
        return self.forms.setdefault(form, form)


def names_compare(comparison: core.Comparison, left: StoredValue, right: StoredValue) -> bool:
    """Whether a comparison of values holds, of which at least one is a name.

    Raises:
        PathFault: If it asks for an order.
    """
    if comparison.relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
        raise PathFault(
            "type error",
            f"'{comparison.relation.value}' compares named values",
            comparison.span,
            "named values can only be compared by = and !=",
        )
    equal = left == right  # a number, symbolic or not, never equals a name
    return equal is (comparison.relation is core.Relation.EQUAL)


def _number(value: StoredValue, expression: core.Expression) -> LinearForm:
    if isinstance(value, str):
        raise _is_name(value, expression)
    return value


def _is_name(value: str, expression: core.Expression) -> PathFault:
    return PathFault("type error", f"named value '{value}' is used as a number", expression.span)
