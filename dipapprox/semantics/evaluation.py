"""Expressions to linear forms.

Evaluation is pure. Where it needs the value of an input that a path does not know yet it raises
`NeedsValue`; the caller splits the state on that input and tries again on every part.
"""

from __future__ import annotations

from typing import assert_never

from dipapprox.language import core
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.configuration import State, StoredValue
from dipapprox.semantics.inputs import NeedsValue
from dipapprox.semantics.run import Run
from dipapprox.source import Span


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


def evaluate(run: Run, expression: core.Expression, state: State) -> StoredValue:
    """Return the value of an expression; equal values are the same object.

    Raises:
        NeedsValue: If an input has to be known first.
        PathFault: If the expression has no value on this path.
    """
    match expression:
        case core.Constant():
            known = run.literals.get(id(expression))
            if known is None:
                known = expression, constant_value(run, expression.value)
                run.literals[id(expression)] = known
            return known[1]
        case core.Variable():
            return read(run, expression.name, state, expression.span)
        case core.Element():
            return read(run, element_name(run, expression, state), state, expression.span)
        case core.Sum():
            left = evaluate(run, expression.left, state)
            right = evaluate(run, expression.right, state)
            # By identity: forms hash slowly.
            total = run.sums.get((id(left), id(right)))
            if total is None:
                first = _number(run, expression.left, state)
                second = _number(run, expression.right, state)
                total = first, second, shared_form(run, first + second)
                run.sums[id(first), id(second)] = total
            return total[2]
        case core.Product():
            return shared_form(run, _product(run, expression, state))
    assert_never(expression)


def read(run: Run, name: str, state: State, span: Span | None) -> StoredValue:
    """Return the value of a cell, which the first turn of a loop may call by another name."""
    name = run.cells.get(name, name)
    stored = state.store.get(name)
    if stored is not None:
        return stored
    output = state.outputs.get(name)
    if output is not None:
        return constant_value(run, output)
    if name not in run.inputs:
        raise PathFault(
            "value error",
            f"'{name}' is read before it is assigned",
            span,
            f"assign '{name}' on every path that leads here",
            name,
        )
    form = run.inputs[name]
    if form is not None:
        return form
    value = state.knowledge.sole(name)
    if value is None:
        raise NeedsValue(name)
    return constant_value(run, value)


def element_name(run: Run, element: core.Element, state: State) -> str:
    """Return the name of the cell that an element with a computed index is."""
    index = concrete(run, element.index, state)
    if isinstance(index, str) or index.denominator != 1 or not 1 <= index <= element.size:
        raise PathFault(
            "value error",
            f"index of '{element.array}' is {index}",
            element.index.span or element.span,
            f"'{element.array}' has the indices 1 to {element.size}",
        )
    return f"{element.array}[{index}]"


def concrete(run: Run, expression: core.Expression, state: State) -> core.Value:
    """Return the value of a finite-domain expression, inputs replaced by their values."""
    value = evaluate(run, expression, state)
    if isinstance(value, str):
        return value
    if not value.terms:
        return value.constant
    form = _over_inputs(value, expression.span)
    _know(form, state)
    return state.knowledge.instantiate(form).constant


def mean_of(run: Run, expression: core.Expression, state: State) -> LinearForm:
    """Return the mean of a draw: a form over inputs only."""
    return _over_inputs(_number(run, expression, state), expression.span)


def _over_inputs(form: LinearForm, span: Span | None) -> LinearForm:
    if form.samples():
        raise PathFault("type error", "a real is used where a finite value is needed", span)
    return form


def _know(form: LinearForm, state: State) -> None:
    for cell in form.inputs():
        if state.knowledge.sole(cell) is None:
            raise NeedsValue(cell)


def _number(run: Run, expression: core.Expression, state: State) -> LinearForm:
    value = evaluate(run, expression, state)
    if isinstance(value, str):
        raise PathFault("type error", f"named value '{value}' is used as a number", expression.span)
    return value


def _product(run: Run, product: core.Product, state: State) -> LinearForm:
    left = _number(run, product.left, state)
    right = _number(run, product.right, state)
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


def constant_value(run: Run, value: core.Value) -> StoredValue:
    """Return the one object that stands for a value."""
    known = run.seen.get(id(value))
    if known is not None:
        return known[1]
    stored = run.constants.get(value)
    if stored is None:
        stored = value if isinstance(value, str) else LinearForm.constant_form(value)
        if isinstance(stored, LinearForm):
            stored = shared_form(run, stored)
        run.constants[value] = stored
    run.seen[id(value)] = value, stored
    return stored


def shared_form(run: Run, form: LinearForm) -> LinearForm:
    """Return the one object that stands for equal forms."""
    return run.forms.setdefault(form, form)
