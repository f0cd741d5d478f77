"""Expressions to linear forms.

Evaluation is pure. Where it needs the value of an input that a path does not know yet it raises
`NeedsValue`; the caller splits the state on that input and tries again on every part.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.semantics.configuration import State, StoredValue
from dipapprox.semantics.linear import LinearForm
from dipapprox.source import Span


class NeedsValue(Exception):
    """The value of the input `cell` is needed to go on."""

    def __init__(self, cell: str) -> None:
        super().__init__(cell)
        self.cell = cell


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


class Evaluator:
    """Evaluates the expressions of one program.

    Input cells with numeric domains are symbols, or constants if the domain has one value; the
    others stand for their value, which the path has to know.
    """

    def __init__(self, inputs: Iterable[core.Cell]) -> None:
        self._constants: dict[core.Value, StoredValue] = {}
        # By identity, with the node that is kept alive so.
        self._of_node: dict[int, tuple[core.Constant, StoredValue]] = {}
        self._forms: dict[LinearForm, LinearForm] = {}
        self._inputs: dict[str, LinearForm | None] = {}
        for cell in inputs:
            form = _symbolic(cell)
            self._inputs[cell.name] = None if form is None else self.shared(form)

    def input(self, name: str) -> LinearForm | None:
        """Return the form that an input cell is; None if it is none, or no input."""
        return self._inputs.get(name)

    def evaluate(self, expression: core.Expression, state: State) -> StoredValue:
        """Return the value of an expression; equal values are the same object.

        Raises:
            NeedsValue: If an input has to be known first.
            PathFault: If the expression has no value on this path.
        """
        match expression:
            case core.Constant():
                known = self._of_node.get(id(expression))
                if known is None:
                    known = expression, self.constant(expression.value)
                    self._of_node[id(expression)] = known
                return known[1]
            case core.Variable():
                return self.read(expression.name, state, expression.span)
            case core.Element():
                return self.read(self.element(expression, state), state, expression.span)
            case core.Sum():
                left = self._number(expression.left, state)
                right = self._number(expression.right, state)
                return self.shared(left + right)
            case core.Product():
                return self.shared(self._product(expression, state))
        assert_never(expression)

    def read(self, name: str, state: State, span: Span | None) -> StoredValue:
        """Return the value of a cell."""
        stored = state.store.get(name)
        if stored is not None:
            return stored
        output = state.outputs.get(name)
        if output is not None:
            return self.constant(output)
        if name not in self._inputs:
            raise PathFault(
                "value error",
                f"'{name}' is read before it is assigned",
                span,
                f"assign '{name}' on every path that leads here",
                name,
            )
        form = self._inputs[name]
        if form is not None:
            return form
        value = state.knowledge.sole(name)
        if value is None:
            raise NeedsValue(name)
        return self.constant(value)

    def element(self, element: core.Element, state: State) -> str:
        """Return the name of the cell that an element with a computed index is."""
        index = self.concrete(element.index, state)
        if isinstance(index, str) or index.denominator != 1 or not 1 <= index <= element.size:
            raise PathFault(
                "value error",
                f"index of '{element.array}' is {index}",
                element.index.span or element.span,
                f"'{element.array}' has the indices 1 to {element.size}",
            )
        return f"{element.array}[{index}]"

    def concrete(self, expression: core.Expression, state: State) -> core.Value:
        """Return the value of a finite-domain expression, inputs replaced by their values."""
        value = self.evaluate(expression, state)
        if isinstance(value, str):
            return value
        if not value.terms:
            return value.constant
        form = self._over_inputs(value, expression.span)
        self._know(form, state)
        return state.knowledge.instantiate(form).constant

    def mean(self, expression: core.Expression, state: State) -> LinearForm:
        """Return the mean of a draw: a form over inputs only."""
        return self._over_inputs(self._number(expression, state), expression.span)

    def _over_inputs(self, form: LinearForm, span: Span | None) -> LinearForm:
        if form.samples():
            raise PathFault("type error", "a real is used where a finite value is needed", span)
        return form

    def _know(self, form: LinearForm, state: State) -> None:
        for cell in form.inputs():
            if state.knowledge.sole(cell) is None:
                raise NeedsValue(cell)

    def _number(self, expression: core.Expression, state: State) -> LinearForm:
        value = self.evaluate(expression, state)
        if isinstance(value, str):
            raise PathFault(
                "type error", f"named value '{value}' is used as a number", expression.span
            )
        return value

    def _product(self, product: core.Product, state: State) -> LinearForm:
        left = self._number(product.left, state)
        right = self._number(product.right, state)
        if left.terms and right.terms:
            left, right = (state.knowledge.instantiate(form) for form in (left, right))
        if left.is_constant:
            return right.scaled(left.constant)
        if right.is_constant:
            return left.scaled(right.constant)
        if left.samples() and right.samples():
            raise PathFault("type error", "product of two reals", product.span)
        # Not affine: one factor has to be a number, the one with fewer inputs if both may be.
        factors = [form for form in (left, right) if not form.samples()]
        raise NeedsValue(min(factors, key=lambda form: len(form.terms)).inputs()[0])

    def constant(self, value: core.Value) -> StoredValue:
        """Return the one object that stands for a value."""
        stored = self._constants.get(value)
        if stored is None:
            stored = value if isinstance(value, str) else LinearForm.constant_form(value)
            if isinstance(stored, LinearForm):
                stored = self.shared(stored)
            self._constants[value] = stored
        return stored

    def shared(self, form: LinearForm) -> LinearForm:
        """Return the one object that stands for equal forms."""
        return self._forms.setdefault(form, form)


def _symbolic(cell: core.Cell) -> LinearForm | None:
    """The form that an input is, or None if some of its values have names."""
    if isinstance(cell.domain, AllReals):
        return LinearForm.symbol(cell.name)
    if not all(isinstance(value, Fraction) for value in cell.domain):
        return None
    if len(cell.domain) == 1 and isinstance(cell.domain[0], Fraction):
        return LinearForm.constant_form(cell.domain[0])
    return LinearForm.symbol(cell.name)
