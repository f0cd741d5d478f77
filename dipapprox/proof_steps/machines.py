"""Core programs as the machines that proofs are about: the JSON that the kernel reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar, assert_never

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.forms import Form, Stored
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.domains import AllIntegers, AllReals

Json = int | str | bool | None | list["Json"] | dict[str, "Json"]
Row = Sequence[core.Value | int]  # values of some cells


def program_json(program: core.Program) -> dict[str, Json]:
    """Return a program as a machine that forgets nothing."""
    if program.rounding is not None:
        raise NoCertificate("the program has irrational scales")
    if program.rounds is not None:
        raise NoCertificate("the program has rounds without end")
    return {
        "inputs": [cell_json(cell) for cell in program.inputs],
        "outputs": [cell_json(cell) for cell in program.outputs],
        "reals": [cell.name for cell in program.real_outputs],
        "adjacency": adjacency_json(program.adjacency),
        "body": block_json(program.body),
    }


def rounds_json(program: core.Program) -> dict[str, Json]:
    """Return a program whose inputs are any numbers, once or round after round."""
    if program.rounding is not None:
        raise NoCertificate("the program has irrational scales")
    rounds = program.rounds
    statements = (*program.body, *(() if rounds is None else rounds.body))
    draws = [each for each in statements_in(statements) if isinstance(each, core.Draw)]
    prefix = "" if rounds is None else core.NEXT
    inputs: list[Json] = []
    for cell in program.inputs:
        bounds = None
        if isinstance(cell.domain, AllReals):
            bounds = cell.domain.bounds
        elif any(isinstance(value, str) for value in cell.domain):
            raise NoCertificate(f"the input '{cell.name}' has named values")
        low, high = (None, None) if bounds is None else map(number_json, bounds)
        inputs.append([prefix + cell.name, {"low": low, "high": high}])
    padding: Json = None
    first: list[Json] = [cell.name for cell in program.published]
    shown: dict[str, Json] = {"whenever": [], "first": first, "each": []}
    if rounds is not None:
        each: list[Json] = list(rounds.each)
        shown = {"whenever": [core.PUBLISHED], "first": list(rounds.before), "each": each}
        if rounds.padding is not None and len(rounds.padding) == len(each):
            # Otherwise no round ends the program.
            padding = [value_json(value) for value in rounds.padding]
    return {
        "inputs": inputs,
        "whole": any(draw.family.is_discrete for draw in draws),
        "adjacency": adjacency_json(program.adjacency),
        "body": block_json(program.body),
        "round": None if rounds is None else block_json(rounds.body),
        "published": {**shown, "ends": True, "padding": padding},
    }


Read = TypeVar("Read")


def read_by(read: Callable[[Json], Read], machine: Json, what: str = "program") -> Read:
    """Return what the kernel reads."""
    try:
        return read(machine)
    except NotProved as obstacle:
        raise NoCertificate(f"the kernel does not read the {what}: {obstacle}") from None


def value_json(value: core.Value | int) -> Json:
    """Return a number or a named value."""
    return {"name": value} if isinstance(value, str) else number_json(value)


def stored_json(value: Stored) -> Json:
    """Return what a cell holds that holds nothing random."""
    if isinstance(value, Form):
        raise ValueError("a value is wanted")
    return value_json(value)


def number_json(value: Fraction | int) -> Json:
    """Return a number: an integer, or "p/q"."""
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def numbers_json(**numbers: Fraction | int | None) -> dict[str, Json]:
    """Return numbers by name; None is none."""
    return {n: None if value is None else number_json(value) for n, value in numbers.items()}


def form_json(form: Form) -> Json:
    """Return a linear form."""
    terms: list[Json] = [[atom, number_json(c)] for atom, c in form.terms]
    return [number_json(form.constant), terms]


def cell_json(cell: core.Cell) -> Json:
    """Return an input or an output."""
    domain = cell.domain
    if isinstance(domain, AllIntegers):
        raise NoCertificate(f"the input '{cell.name}' is any integer")
    if isinstance(domain, AllReals):
        ends = [None, None] if domain.bounds is None else [number_json(e) for e in domain.bounds]
        return [cell.name, dict(zip(("low", "high"), ends, strict=True))]
    low, high = domain[0], domain[-1]
    if isinstance(low, Fraction) and isinstance(high, Fraction) and len(domain) > 2:
        whole = low.denominator == 1 and high - low == len(domain) - 1
        if whole and all(value == low + k for k, value in enumerate(domain)):
            return [cell.name, {"from": int(low), "to": int(high)}]
    return [cell.name, [value_json(value) for value in domain]]


def adjacency_json(adjacency: core.Adjacency) -> Json:
    """Return which inputs are adjacent."""
    match adjacency:
        case core.Within(norm, radius):
            return {"norm": norm.value, "radius": number_json(radius)}
        case core.Everyone():
            return {"norm": "all"}
        case core.Listed(pairs, one_way):
            listed: list[Json] = [[input_json(u), input_json(v)] for u, v in pairs]
            return {"pairs": listed, "one way": one_way}
        case _:
            assert_never(adjacency)


def input_json(values: Row) -> Json:
    """Return the values of some cells."""
    return [value_json(value) for value in values]


def pair_json(pair: tuple[Row, Row]) -> dict[str, Json]:
    """Return a pair of inputs as steps name it."""
    return {"input": input_json(pair[0]), "adjacent": input_json(pair[1])}


def block_json(block: core.Body) -> list[Json]:
    """Return statements."""
    return [_statement(statement) for statement in block]


def _statement(statement: core.Statement | core.Repeat) -> Json:
    match statement:
        case core.Assign(target, value):
            return ["set", _expression(target), _expression(value)]
        case core.Draw(target, family, mean, scale):
            size: Json = [number_json(scale.coefficient), scale.power]
            return ["draw", _expression(target), family.name, _expression(mean), size]
        case core.If(condition, then, otherwise):
            return ["if", _condition(condition), block_json(then), block_json(otherwise)]
        case core.Exit():
            return ["exit"]
        case core.Choose(target, options, proportional):
            listed: list[Json] = [[_expression(v), _expression(w)] for v, w in options]
            return ["choose", _expression(target), listed, proportional]
        case core.While(condition, body):
            return ["while", _condition(condition), block_json(body)]
        case core.Repeat(body, turns, first, arrays):
            places = {f"{array}[{first}]": array for array in arrays}
            return ["repeat", turns, _moving(block_json(body), places, first)]
        case _:
            assert_never(statement)


def _moving(json: Any, places: Mapping[str, str], first: int) -> Any:
    """Let elements of arrays move with a loop."""
    match json:
        case ["cell", name] if name in places:
            return ["moving", places[name], first]
        case list():
            return [_moving(each, places, first) for each in json]
    return json


def _condition(condition: core.Condition) -> Json:
    match condition:
        case core.Comparison(left, relation, right):
            return [relation.value, _expression(left), _expression(right)]
        case core.All(parts):
            return ["and", *(_condition(part) for part in parts)]
        case core.Any(parts):
            return ["or", *(_condition(part) for part in parts)]
        case _:
            assert_never(condition)


def _expression(expression: core.Weight) -> Json:
    match expression:
        case core.Constant(value):
            return value_json(value)
        case core.Variable(name):
            return ["cell", name]
        case core.Element(array, size, index):
            return ["element", array, size, _expression(index)]
        case core.Sum(left, right):
            return ["+", _expression(left), _expression(right)]
        case core.Product(left, right):
            return ["*", _expression(left), _expression(right)]
        case core.Epsilon():
            return ["eps"]
        case core.Inverse(operand):
            return ["inverse", _expression(operand)]
        case core.Exponential(exponent):
            return ["exp", _expression(exponent)]
        case _:
            assert_never(expression)
