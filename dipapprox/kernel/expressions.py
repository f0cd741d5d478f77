"""Expressions over a store whose cells hold values, or linear forms of random numbers."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.kernel.adjacency import Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.machine import Tree
from dipapprox.kernel.measures import Form
from dipapprox.kernel.states import Store, Stored, size_of


def name_of(cell: Tree, store: Store, turn: int) -> str:
    """Return the name of a cell, in this turn of a `repeat`."""
    match cell:
        case "cell", name:
            return str(name)
        case "moving", array, first:
            return f"{array}[{first + turn}]"
        case "element", array, size, tree:
            index = number_of(tree, store, turn)
            if index.denominator != 1 or not 1 <= index <= size:
                raise NotProved(f"index of '{array}' is {index}")
            return f"{array}[{index}]"
    raise NotProved("not an expression")


def value_of(tree: Tree, store: Store, turn: int) -> Stored:
    """Evaluate an expression."""
    if not isinstance(tree, tuple):
        value: Value = tree
        return value
    word = tree[0]
    if word not in ("+", "*"):
        name = name_of(tree, store, turn)
        if name not in store:
            raise NotProved(f"'{name}' is read, but holds nothing")
        return store[name]
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
