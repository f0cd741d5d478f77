"""Expressions over a store whose cells hold values, or linear forms of random numbers; and weights.

Weights, and formulas of claims, are trees that mention eps: functions of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.kernel.adjacency import Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forms import UNTOLD, Form, Store, Stored, size_of
from dipapprox.kernel.machine import Tree
from dipapprox.kernel.signs import Signs


def name_of(cell: Tree, store: Store, turn: int) -> str:
    """Return the name of a cell, in this turn of a `repeat`."""
    match cell:
        case "cell", name:
            return str(name)
        case "moving", array, first:
            return f"{array}[{first + turn}]"
        case "element", array, size, tree:
            spend(3)
            index = number_of(tree, store, turn)
            if index.denominator != 1 or not 1 <= index <= size:
                raise NotProved(f"index of '{array}' is {index}")
            return f"{array}[{index}]"
    raise NotProved("not an expression")


def cells_of(tree: Tree) -> list[Tree]:
    """Return the cells that something mentions, those of an index before its element."""
    if not isinstance(tree, tuple):
        return []
    found = [cell for part in tree for cell in cells_of(part)]
    return [*found, tree] if tree and tree[0] in ("cell", "moving", "element") else found


def value_of(tree: Tree, store: Store, turn: int) -> Stored:
    """Evaluate an expression."""
    if not isinstance(tree, tuple):
        value: Value = tree
        return value
    word = tree[0]
    if word not in ("+", "*"):
        name = name_of(tree, store, turn)
        if (found := store.get(name, UNTOLD)) is UNTOLD:
            raise NotProved(f"'{name}' is read, but holds nothing")
        return found
    one, other = value_of(tree[1], store, turn), value_of(tree[2], store, turn)
    spend(3 * (size_of(one) + size_of(other)))
    if isinstance(one, str) or isinstance(other, str):
        raise NotProved("named values are no numbers")
    if isinstance(one, Form):
        if word == "+":
            return _plain(one.plus(form_of(other)))
        if isinstance(other, Form):
            raise NotProved("a product of two random numbers")
        return _plain(one.scaled(Fraction(other)))
    if isinstance(other, Form):
        return _plain(other.plus(form_of(one)) if word == "+" else other.scaled(Fraction(one)))
    return one + other if word == "+" else one * other


def number_of(tree: Tree, store: Store, turn: int) -> Number:
    """Evaluate an expression that is a number."""
    value = value_of(tree, store, turn)
    if isinstance(value, Form | str):
        raise NotProved("a value that is no number")
    return value


def form_of(value: Number | Form) -> Form:
    """Return a number as a form."""
    return value if isinstance(value, Form) else Form(Fraction(value))


def _plain(form: Form) -> Stored:
    return form if form.terms else form.constant


# --- weights --------------------------------------------------------------------------------------


def filled(tree: Tree, store: Store, turn: int) -> Tree:
    """Return a weight with numbers in the place of cells."""
    spend(1)
    if isinstance(tree, tuple) and tree[0] in ("eps", "inverse", "exp", "+", "*"):
        return (tree[0], *[filled(each, store, turn) for each in tree[1:]])
    return number_of(tree, store, turn)


def formula_of(tree: Tree, signs: Signs) -> Ratio:
    """Return a weight without cells as a function of eps."""
    match tree:
        case ("eps",):
            return Ratio(Sum.of([((0, 1), 1)]))
        case "inverse", operand:
            return signs.inverse(formula_of(operand, signs))
        case "exp", operand:
            return formula_of(operand, signs).exponential()
        case ("+" | "*") as word, left, right:
            one, other = formula_of(left, signs), formula_of(right, signs)
            return one + other if word == "+" else one * other
    return Ratio.constant(number_of(tree, {}, 0))


def probabilities(formulas: Sequence[Tree], proportional: bool, signs: Signs) -> list[Ratio]:
    """Return with which probabilities a choice takes its options, from weights without cells."""
    weights = [formula_of(each, signs) for each in formulas]
    total = Ratio.constant(0)
    for weight in weights:
        if not signs.tell(weight.numerator, positive=False):
            raise NotProved("weights that are not known to be >= 0")
        total = total + weight
    if proportional:
        inverse = signs.inverse(total)
        return [weight * inverse for weight in weights]
    if not signs.is_zero((total + Ratio.constant(-1)).numerator):
        raise NotProved("probabilities that do not add up to 1")
    return weights
