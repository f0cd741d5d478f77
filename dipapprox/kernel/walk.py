"""Expressions and statements: what each of them does to states, whatever states are.

There are three kinds: runs with measures (`forward`), ways through a block with real numbers
unknown (`paths`), and runs side by side with the same noise (`motion`). Cells of a store hold
values, or linear forms of random numbers. Weights, and formulas of claims, are trees that mention
eps: functions of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

from dipapprox.kernel.errors import NotProved, Refused, spend
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forms import HOLDS, UNTOLD, Form, Store, Stored, size_of
from dipapprox.kernel.machine import Block, Number, Tree, Value
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
    first, second = form_of(one), form_of(other)
    if word == "+":
        found = first.plus(second)
    elif first.terms and second.terms:
        raise NotProved("a product of two random numbers")
    else:
        found = second.scaled(first.constant) if second.terms else first.scaled(second.constant)
    return found if found.terms else found.constant


def number_of(tree: Tree, store: Store, turn: int) -> Number:
    """Evaluate an expression that is a number."""
    value = value_of(tree, store, turn)
    if isinstance(value, Form | str):
        raise NotProved("a value that is no number")
    return value


def form_of(value: Number | Form) -> Form:
    """Return a number as a form."""
    return value if isinstance(value, Form) else Form(value)


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
        case (("sqrt" | "log"), _):
            raise Refused("roots and logarithms of functions of eps")
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


MOST_STATES = 50_000  # most states at a time
MOST_CELLS = 5_000_000  # most cells of all states at a time
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
Where = tuple[int, ...]  # a statement, by its places in blocks; turns of a `repeat` are told apart
Noise = tuple[str, Fraction, int]  # the family, and coefficient and power of the scale
Guard = tuple[Form, bool]  # a form that is > 0 (True), or >= 0


S = TypeVar("S", bound=Any)
"""A state: it has a `store`, a dict of what cells hold."""


class Walk(ABC, Generic[S]):
    """Goes through blocks with states, which are changed in place.

    Others say what states are: what a sample is; what becomes of a state where a form is compared
    with 0, or, if that is all, of a copy where guards hold (None where they never do); what is kept
    of a state at an `exit`; and perhaps what choices and loops do, and which states are the same.
    Choices are made where signs of weights are known.
    """

    _signs: Signs | None = None

    def __init__(self) -> None:
        self._turn = 0
        self._chances: dict[tuple[tuple[Tree, ...], bool], list[Ratio]] = {}

    @abstractmethod
    def _sample(self, state: S, noise: Noise, mean: Number | Form, where: Where) -> Form: ...

    @abstractmethod
    def _end(self, state: S) -> None: ...

    def _guarded(self, state: S, guards: Sequence[Guard]) -> S | None:
        raise NotImplementedError  # only `_split` asks: who replaces that has no need of it

    def _split(self, state: S, form: Form, relation: str) -> tuple[list[S], list[S]]:
        both = [
            [self._guarded(state, guards) for guards in guards_of(each, form)]
            for each in (relation, NEGATED[relation])
        ]
        holds, fails = ([after for after in found if after is not None] for found in both)
        return holds, fails

    def _choose(
        self, state: S, target: Tree, options: Sequence[Tree], proportional: bool, where: Where
    ) -> list[S]:
        if self._signs is None:
            raise Refused("choices beside inputs that are read")
        found = []
        formulas = tuple([filled(each, state.store, self._turn) for _, _, each in options])
        key = formulas, proportional
        if key not in self._chances:
            self._chances[key] = probabilities(*key, self._signs)
        for (_, tree, _), weight in zip(options, self._chances[key], strict=True):
            if not self._signs.is_zero(weight.numerator):
                after = self._weighted(state, weight)
                self._assign(after, self._name(target, state), self._value(tree, state))
                found.append(after)
        return found

    def _told(self, tree: Tree, states: list[S]) -> list[S]:
        return states  # whatever cells `tree` reads

    def _weighted(self, state: S, weight: Ratio) -> S:
        raise NotImplementedError  # only `_choose` asks, of copies

    def _loop(self, condition: Tree, body: Block, states: list[S]) -> list[S]:
        raise Refused("loops that end by chance, beside real inputs")

    def _assign(self, state: S, name: str, value: Stored) -> None:
        state.store[name] = value

    def _forget(self, state: S, names: Sequence[str]) -> None:
        for name in names:
            state.store.pop(name, None)

    def _joined(self, states: list[S]) -> list[S]:
        return states

    def _block(self, block: Block, states: list[S], where: Where = ()) -> list[S]:
        spend(4)
        for number, statement in enumerate(block):
            if not states:
                break
            states = self._statement(statement, states, (*where, number))
            if statement[0] in ("if", "while", "forget"):
                states = self._joined(states)
        return states

    def _statement(self, statement: Tree, states: list[S], where: Where) -> list[S]:
        cells = sum([len(state.store) for state in states])
        spend(4 * len(states) + cells // 8)
        if cells > MOST_CELLS:
            raise Refused(f"more than {MOST_CELLS} cells of all states")
        if len(states) > MOST_STATES:
            raise Refused("more states than the kernel follows")
        if statement[0] in ("set", "draw", "choose"):
            states = self._told(statement, states)
        match statement:
            case "set", target, tree:
                for state in states:
                    self._assign(state, self._name(target, state), self._value(tree, state))
            case "draw", target, family, tree, scale:
                for state in states:
                    mean = self._mean(tree, state)
                    if isinstance(mean, str):
                        raise NotProved("a mean that is no number")
                    sample = self._sample(state, (family, *scale), mean, where)
                    self._assign(state, self._name(target, state), sample)
            case "if", condition, then, otherwise:
                yes, no = self._divided(condition, states)
                states = self._block(then, yes, (*where, 1))
                states += self._block(otherwise, no, (*where, 0))
            case ("exit",):
                for state in states:
                    self._end(state)
                return []
            case "choose", target, options, flag:
                chosen = [self._choose(each, target, options, flag, where) for each in states]
                return [state for found in chosen for state in found]
            case "repeat", turns, body:
                for turn in range(turns):
                    self._turn = turn
                    states = self._block(body, states, (*where, turn))
                self._turn = 0
            case "while", condition, body:
                return self._loop(condition, body, states)
            case "forget", names:
                spend(len(states) * len(names) // 8)
                for state in states:
                    self._forget(state, names)
            case _:
                raise NotProved("not a statement")
        return states

    def _name(self, cell: Tree, state: S) -> str:
        return name_of(cell, state.store, self._turn)

    def _value(self, tree: Tree, state: S) -> Stored:
        return value_of(tree, state.store, self._turn)

    def _mean(self, tree: Tree, state: S) -> Stored:
        return self._value(tree, state)

    def _divided(self, condition: Tree, states: list[S]) -> tuple[list[S], list[S]]:
        """Divide states: those where a condition holds, and those where it does not."""
        if condition[0] not in ("and", "or"):
            relation, left, right = condition
            yes, no = list[S](), list[S]()
            for state in self._told(condition, states):
                holds, fails = self._compared(relation, left, right, state)
                yes += holds
                no += fails
            return yes, no
        (word, parts), settled = condition, list[S]()
        for part in parts:
            spend(2)
            holds, fails = self._divided(part, states)
            states, other = (holds, fails) if word == "and" else (fails, holds)
            settled += other
            if len(states) + len(settled) > MOST_STATES:
                raise Refused("a condition divides states into more than the kernel follows")
        return (states, settled) if word == "and" else (settled, states)

    def _compared(
        self, relation: str, left: Tree, right: Tree, state: S
    ) -> tuple[list[S], list[S]]:
        one, other = self._value(left, state), self._value(right, state)
        if isinstance(one, str) or isinstance(other, str):
            if relation not in ("=", "!=") or isinstance(one, Form) or isinstance(other, Form):
                raise NotProved("named values are only equal or not")
            holds = (one == other) == (relation == "=")
        else:
            spend(3 * (size_of(one) + size_of(other)))
            form = form_of(one).plus(form_of(other).scaled(-1))
            if form.terms:
                return self._split(state, form, relation)
            holds = bool(HOLDS[relation](form.constant, 0))
        return ([state], []) if holds else ([], [state])


def guards_of(relation: str, form: Form) -> list[tuple[Guard, ...]]:
    """Return the ways in which form relation 0 may hold; they are disjoint."""
    back = form.scaled(-1)
    match relation:
        case "=":
            return [((form, False), (back, False))]
        case "!=":
            return [((form, True),), ((back, True),)]
    return [((form if ">" in relation else back, "=" not in relation),)]
