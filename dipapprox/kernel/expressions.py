"""Expressions over a store whose cells hold values, or linear forms of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import TypeVar

from dipapprox.kernel.adjacency import Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.machine import Tree
from dipapprox.kernel.measures import Form
from dipapprox.kernel.states import Store, Stored, size_of

S = TypeVar("S")

HOLDS = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "!=": ne}

MOST_PARTS = 100_000

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


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


def compared(relation: str, one: Stored, other: Stored) -> bool | Form:
    """Whether one relation other holds; where samples decide it, the form one - other."""
    if isinstance(one, str) or isinstance(other, str):
        if relation not in ("=", "!=") or isinstance(one, Form) or isinstance(other, Form):
            raise NotProved("named values are only equal or not")
        return (one == other) == (relation == "=")
    spend(3 * (size_of(one) + size_of(other)))
    form = form_of(one).plus(form_of(other).scaled(Fraction(-1)))
    return form if form.terms else bool(HOLDS[relation](form.constant, 0))


def divided(
    condition: Tree,
    states: list[S],
    compare: Callable[[str, Tree, Tree, S], tuple[list[S], list[S]]],
) -> tuple[list[S], list[S]]:
    """Divide states: those where a condition holds, and those where it does not.

    `compare` divides one where a relation of two expressions decides.
    """
    word, *parts = condition
    if word in ("and", "or"):
        settled: list[S] = []
        for part in parts[0]:
            holds, fails = divided(part, states, compare)
            states, other = (holds, fails) if word == "and" else (fails, holds)
            settled += other
            if len(states) + len(settled) > MOST_PARTS:
                raise Refused(f"a condition divides states into more than {MOST_PARTS}")
        return (states, settled) if word == "and" else (settled, states)
    left, right = parts
    found = [compare(word, left, right, state) for state in states]
    return [s for holds, _ in found for s in holds], [s for _, fails in found for s in fails]


def form_of(value: Number | Form) -> Form:
    """Return a number as a form."""
    return value if isinstance(value, Form) else Form(Fraction(value))


def _plain(form: Form) -> Stored:
    return form if form.terms else form.constant
