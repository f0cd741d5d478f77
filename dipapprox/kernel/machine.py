"""Machines: what claims are about, read from JSON and written back in one canonical form.

    machine      {"inputs": [cell, …], "outputs": [cell, …], "reals": [name, …],
                  "adjacency": adjacency, "body": [statement, …]}
    cell         [name, domain]
    domain       [value, …] | {"from": integer, "to": integer}
    value        integer | "p/q" | {"name": word}
    adjacency    {"norm": norm, "radius": number} | {"norm": "all"}
                 | {"pairs": [[input, input], …], "one way": boolean}
    norm         "linf" | "l1" | "l0" | "increasing" | "decreasing"
    expression   value | ["cell", name] | ["element", array, size, expression]
                 | ["+", e, e] | ["*", e, e]
    weight       expression | ["eps"] | ["+", w, w] | ["*", w, w] | ["inverse", w] | ["exp", w]
    condition    ["<", e, e] (and <=, >, >=, =, !=) | ["and", c, …] | ["or", c, …]
    statement    ["set", target, e] | ["draw", target, family, e, [coefficient, power]]
                 | ["if", c, [statement, …], [statement, …]] | ["exit"]
                 | ["choose", target, [[e, w], …], proportional] | ["while", c, [statement, …]]
                 | ["repeat", turns, first, [array, …], [statement, …]] | ["forget", [name, …]]
    target       ["cell", name] | ["element", array, size, expression]

A program starts with its inputs assigned, runs the body, and ends there or at an `exit`; then
every output is assigned. Numbers are exact. `draw` is a fresh sample of the family with this mean
and the scale coefficient * eps ** power. `choose` takes a value with the probability of its weight;
if proportional, weights are divided by their sum first. Turn k of a `repeat`, k = 0, 1, …, is its
body with the element `first` + k of its arrays in place of the element `first`. `reals` are
outputs that hold any real number. `forget` lets cells hold nothing, which changes no run that does
not read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dipapprox.kernel.adjacency import NORMS, Adjacency, Input, Number, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.reading import (
    as_integer,
    as_list,
    as_name,
    as_number,
    as_record,
    as_word,
    word_of,
)

RELATIONS = ("<", "<=", ">", ">=", "=", "!=")

DEEPEST = 400
"""How deep expressions, conditions and statements may stand in each other."""

LARGEST_DOMAIN = 20_000
MOST_VALUES = 1_000_000
"""Of all cells of a machine."""

LONGEST_ARRAY = 100_000
MOST_TURNS = 1_000_000


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or a named value."""

    value: Value


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell holds. `array` and `index` are set for elements that move with a `repeat`."""

    name: str
    array: str | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class Element:
    """The element of an array whose index, 1 to size, is computed."""

    array: str
    size: int
    index: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """left + right, or left * right; of weights too."""

    word: str
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Epsilon:
    """The machine's eps."""


@dataclass(frozen=True, slots=True)
class Function:
    """1 / operand ("inverse") or e ** operand ("exp")."""

    word: str
    operand: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """left relation right."""

    relation: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Connective:
    """All parts hold ("and"), or some part does ("or")."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """target <- value."""

    target: Cell | Element
    value: Expression


@dataclass(frozen=True, slots=True)
class Draw:
    """target <- a fresh sample."""

    target: Cell | Element
    family: str
    mean: Expression
    coefficient: Fraction
    power: int


@dataclass(frozen=True, slots=True)
class If:
    """One of two blocks."""

    condition: Condition
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of the run."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Cells hold nothing from here on."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """target <- one of some values, at random."""

    target: Cell | Element
    options: tuple[tuple[Expression, Any], ...]
    proportional: bool


@dataclass(frozen=True, slots=True)
class While:
    """A loop."""

    condition: Condition
    body: Block


@dataclass(frozen=True, slots=True)
class Repeat:
    """Turns of a loop that are alike but for the elements of some arrays."""

    turns: int
    body: Block


Expression = Constant | Cell | Element | Operation
Condition = Comparison | Connective
Statement = Set | Draw | If | Exit | Choose | While | Repeat | Forget
Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A program, as far as its claims are concerned.

    Attributes:
        inputs: (name, values) of the input cells; their order is that of inputs.
        outputs: (name, values) of the output cells with finitely many values.
        reals: The output cells that hold any real number.
    """

    inputs: tuple[tuple[str, tuple[Value, ...]], ...]
    outputs: tuple[tuple[str, tuple[Value, ...]], ...]
    reals: tuple[str, ...]
    adjacency: Adjacency
    body: Block


# --- reading -------------------------------------------------------------------------------------


def read_machine(json: object) -> Machine:
    """Read a machine.

    Raises:
        BadProof: If it is none, or too large.
    """
    record = as_record(json, "machine", ("inputs", "outputs", "reals", "adjacency", "body"))
    inputs = tuple(_cell(each) for each in as_list(record["inputs"], "inputs"))
    outputs = tuple(_cell(each) for each in as_list(record["outputs"], "outputs"))
    reals = tuple(as_name(each, "a real output") for each in as_list(record["reals"], "reals"))
    if sum(len(domain) for _, domain in (*inputs, *outputs)) > MOST_VALUES:
        raise BadProof("domains are too large")
    names = [name for name, _ in (*inputs, *outputs)] + list(reals)
    if len(set(names)) < len(names):
        raise BadProof("two cells of one name")
    body = _Reader({}).block(record["body"], 0)
    domains = tuple(domain for _, domain in inputs)
    return Machine(inputs, outputs, reals, _adjacency(record["adjacency"], domains), body)


def read_input(json: object, domains: tuple[tuple[Value, ...], ...]) -> Input:
    """Read one value for each input cell.

    Raises:
        BadProof: If there are more or fewer, or one is not in its domain.
    """
    found = tuple(read_value(each) for each in as_list(json, "an input"))
    if len(found) != len(domains):
        raise BadProof("an input of another length")
    for value, domain in zip(found, domains, strict=True):
        spend(1 + len(domain) // 64)
        if value not in domain:
            raise BadProof(f"{value} is not in the domain of its cell")
    return found


def read_value(json: object) -> Value:
    """Read a number or a named value."""
    if isinstance(json, dict):
        return as_name(as_record(json, "a value", ("name",))["name"], "a value")
    return _plain(as_number(json, "a value"))


def _plain(number: Fraction) -> Number:
    return number.numerator if number.denominator == 1 else number


def _cell(json: object) -> tuple[str, tuple[Value, ...]]:
    name, domain = as_list(json, "a cell", 2)
    if isinstance(domain, dict):
        record = as_record(domain, "a domain", ("from", "to"))
        low, high = (as_integer(record[end], "a domain") for end in ("from", "to"))
        values: tuple[Value, ...] = tuple(range(low, min(high, low + LARGEST_DOMAIN) + 1))
    else:
        values = tuple(read_value(each) for each in as_list(domain, "a domain"))
    if not values or len(set(values)) < len(values) or len(values) > LARGEST_DOMAIN:
        raise BadProof("a domain is empty, too large, or has a value twice")
    return as_name(name, "a cell"), values


def _adjacency(json: object, domains: tuple[tuple[Value, ...], ...]) -> Adjacency:
    if isinstance(json, dict) and "pairs" in json:
        record = as_record(json, "adjacency", ("pairs", "one way"))
        pairs = set()
        for each in as_list(record["pairs"], "pairs"):
            first, second = (read_input(one, domains) for one in as_list(each, "a pair", 2))
            pairs.add((first, second))
            if record["one way"] is False:
                pairs.add((second, first))
            elif record["one way"] is not True:
                raise BadProof("'one way' is true or false")
        return Adjacency("pairs", pairs=frozenset(pairs))
    if json == {"norm": "all"}:
        return Adjacency("all")
    record = as_record(json, "adjacency", ("norm", "radius"))
    norm = as_word(record["norm"], "a norm", NORMS)
    radius = as_number(record["radius"], "a radius")
    if radius < 0:
        raise BadProof("a radius below 0")
    return Adjacency(norm, _plain(radius))


class _Reader:
    """Reads statements; `moving` are the arrays that move with a `repeat`, by their first index."""

    def __init__(self, moving: dict[str, int]) -> None:
        self._moving = moving

    def block(self, json: object, depth: int) -> Block:
        if depth > DEEPEST:
            raise BadProof("statements too deep in each other")
        return tuple(self._statement(each, depth + 1) for each in as_list(json, "a block"))

    def _statement(self, json: object, depth: int) -> Statement:
        word, *parts = as_list(json, "a statement") or [None]
        match word, len(parts):
            case "set", 2:
                return Set(self._target(parts[0]), self._expression(parts[1], 0))
            case "draw", 4:
                coefficient, power = as_list(parts[3], "a scale", 2)
                scale = as_number(coefficient, "a scale"), as_integer(power, "a power")
                if scale[0] <= 0 or abs(scale[1]) > 8:
                    raise BadProof("a scale is not > 0, or its power is too large")
                family = as_word(parts[1], "a family", tuple(FAMILIES))
                mean = self._expression(parts[2], 0)
                return Draw(self._target(parts[0]), family, mean, *scale)
            case "if", 3:
                then, otherwise = self.block(parts[1], depth), self.block(parts[2], depth)
                return If(self._condition(parts[0], 0), then, otherwise)
            case "exit", 0:
                return Exit()
            case "forget", 1:
                return Forget(tuple(as_name(e, "a cell") for e in as_list(parts[0], "cells")))
            case "choose", 3:
                options = []
                for each in as_list(parts[1], "options"):
                    value, weight = as_list(each, "an option", 2)
                    options.append((self._expression(value, 0), self._tree(weight, 0, True)))
                if not options or not isinstance(parts[2], bool):
                    raise BadProof("a choice without options, or neither proportional nor not")
                return Choose(self._target(parts[0]), tuple(options), parts[2])
            case "while", 2:
                return While(self._condition(parts[0], 0), self.block(parts[1], depth))
            case "repeat", 4 if depth == 1:
                turns, first = as_integer(parts[0], "turns"), as_integer(parts[1], "an index")
                if not 0 <= turns <= MOST_TURNS:
                    raise BadProof("too many turns")
                arrays = [as_name(each, "an array") for each in as_list(parts[2], "arrays")]
                inner = _Reader(dict.fromkeys(arrays, first))
                return Repeat(turns, inner.block(parts[3], depth))
            case _:
                raise BadProof(f"not a statement: {word_of(json)}")

    def _target(self, json: object) -> Cell | Element:
        found = self._expression(json, 0)
        if not isinstance(found, Cell | Element):
            raise BadProof("not a cell")
        return found

    def _expression(self, json: object, depth: int) -> Any:
        return self._tree(json, depth, weights=False)

    def _tree(self, json: object, depth: int, weights: bool) -> Any:
        if depth > DEEPEST:
            raise BadProof("an expression is too deep")
        if not isinstance(json, list):
            return Constant(read_value(json))
        word, *parts = json or [None]
        match word, len(parts):
            case "cell", 1:
                return self._cell(as_name(parts[0], "a cell"))
            case "element", 3:
                array, size = as_name(parts[0], "an array"), as_integer(parts[1], "a size")
                if not 0 < size <= LONGEST_ARRAY or array in self._moving:
                    raise BadProof("an array is too long, or moves and has computed indices")
                return Element(array, size, self._tree(parts[2], depth + 1, False))
            case (("+" | "*"), 2):
                left, right = (self._tree(each, depth + 1, weights) for each in parts)
                return Operation(word, left, right)
            case "eps", 0 if weights:
                return Epsilon()
            case (("inverse" | "exp"), 1) if weights:
                return Function(word, self._tree(parts[0], depth + 1, weights))
            case _:
                raise BadProof(f"not an expression: {word_of(json)}")

    def _cell(self, name: str) -> Cell:
        array, bracket, rest = name.partition("[")
        if bracket and array in self._moving:
            if rest != f"{self._moving[array]}]":
                raise BadProof(f"'{name}' does not move with its loop")
            return Cell(name, array, self._moving[array])
        return Cell(name)

    def _condition(self, json: object, depth: int) -> Condition:
        if depth > DEEPEST:
            raise BadProof("a condition is too deep")
        word, *parts = as_list(json, "a condition") or [None]
        if word in ("and", "or"):
            return Connective(word, tuple(self._condition(each, depth + 1) for each in parts))
        if word not in RELATIONS or len(parts) != 2:
            raise BadProof(f"not a condition: {word_of(json)}")
        left, right = (self._expression(each, 0) for each in parts)
        return Comparison(word, left, right)
