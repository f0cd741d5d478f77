"""Every path of a core program for one concrete input: the checker's own executor.

In: a core program and an input row. Out: for every path its outputs, the laws of the samples it
drew and the linear inequalities under which it is taken. Inputs are numbers here, never symbols,
and paths are never merged: nothing of `semantics` or `events` is used.

Samples are continuous, so `<` and `<=` need no distinction, and an equation between different
samples has probability 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dipapprox.checking.facts import Facts, Line
from dipapprox.distributions import Distribution
from dipapprox.language import core
from dipapprox.limits import Limits

Datum = Line | str
"""A number or linear form over samples, or a named value."""


class Stuck(Exception):
    """The program cannot be followed; the message says why."""


@dataclass(frozen=True, slots=True)
class Path:
    """One way through the program.

    Attributes:
        outputs: Values of the output cells, in order.
        laws: The laws of the samples drawn.
        lines: The path is taken where every line is <= 0.
    """

    outputs: tuple[core.Value, ...]
    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is still to be executed: a block from a position on, then what follows it."""

    block: core.Block
    position: int
    after: _Rest | None


@dataclass(frozen=True, slots=True)
class _State:
    rest: _Rest | None
    store: Mapping[str, Datum]
    laws: tuple[Distribution, ...]
    facts: Facts


def paths(
    program: core.Program, epsilon: Fraction, row: core.InputRow, limits: Limits
) -> Iterator[Path]:
    """Yield every path that the facts seen do not exclude.

    Raises:
        Stuck: If a cell is read before it is assigned, an index is out of range, or the like.
        LimitReached: If `limits` run out.
    """
    store = {cell.name: _datum(value) for cell, value in zip(program.inputs, row, strict=True)}
    states = [_State(_Rest(program.body, 0, None), store, (), Facts())]
    count = 0
    while states:
        state = states.pop()
        while state.rest is not None:
            forked = _step(state, state.rest, epsilon)
            state = forked[0]
            states += forked[1:]
            limits.check_states(len(states))
        count += 1
        if count % 16 == 1:
            limits.check()
        limits.check_states(count)
        yield Path(_outputs(program, state.store), state.laws, state.facts.lines)


def _step(state: _State, rest: _Rest, epsilon: Fraction) -> list[_State]:
    """Execute one statement; an `if` on samples gives one state for each branch."""
    if rest.position == len(rest.block):
        return [_State(rest.after, state.store, state.laws, state.facts)]
    statement = rest.block[rest.position]
    after = _Rest(rest.block, rest.position + 1, rest.after)
    store = state.store
    match statement:
        case core.Assign(target, value):
            changed = {**store, _place(target, store): _value(value, store)}
            return [_State(after, changed, state.laws, state.facts)]
        case core.Draw(target, family, mean, scale):
            centre = _value(mean, store)
            if not isinstance(centre, Line) or centre.terms:
                raise Stuck("the mean of a draw is not a number")
            law = Distribution(family, centre.constant, scale.at(epsilon))
            sample = Line(Fraction(0), ((len(state.laws), Fraction(1)),))
            changed = {**store, _place(target, store): sample}
            return [_State(after, changed, (*state.laws, law), state.facts)]
        case core.If(condition, then, otherwise):
            return [
                _State(_Rest(then if truth else otherwise, 0, after), store, state.laws, facts)
                for truth, facts in _outcomes(condition, store, state.facts)
            ]
        case core.Exit():
            return [_State(None, store, state.laws, state.facts)]
        case _:
            assert_never(statement)


Outcome = tuple[bool, Facts]


def _outcomes(condition: core.Condition, store: Mapping[str, Datum], facts: Facts) -> list[Outcome]:
    """Split the facts into disjoint cases in each of which the condition is true or false."""
    match condition:
        case core.Comparison():
            return _compared(condition, store, facts)
        case core.All(parts) | core.Any(parts):
            # `and` goes on while everything was true, `or` while everything was false.
            going = isinstance(condition, core.All)
            open_cases, decided = [facts], list[Outcome]()
            for part in parts:
                cases = [o for each in open_cases for o in _outcomes(part, store, each)]
                open_cases = [case for truth, case in cases if truth == going]
                decided += [(truth, case) for truth, case in cases if truth != going]
            return decided + [(going, case) for case in open_cases]
        case _:
            assert_never(condition)


def _compared(
    comparison: core.Comparison, store: Mapping[str, Datum], facts: Facts
) -> list[Outcome]:
    left, right = _value(comparison.left, store), _value(comparison.right, store)
    relation = comparison.relation
    if isinstance(left, str) or isinstance(right, str):
        return [(_related(left == right, relation), facts)]
    line = left.minus(right)
    if not line.terms:
        return [(_ordered(line.constant, relation), facts)]
    match relation:
        case core.Relation.EQUAL | core.Relation.NOT_EQUAL:
            return [(relation is core.Relation.NOT_EQUAL, facts)]
        case core.Relation.GREATER | core.Relation.GREATER_EQUAL:
            line = line.times(Fraction(-1))
        case core.Relation.LESS | core.Relation.LESS_EQUAL:
            pass
        case _:
            assert_never(relation)
    opposite = line.times(Fraction(-1))
    if facts.implies(line):
        return [(True, facts)]
    if facts.implies(opposite):
        return [(False, facts)]
    return [(True, facts.plus(line)), (False, facts.plus(opposite))]


def _related(equal: bool, relation: core.Relation) -> bool:
    if relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
        raise Stuck("named values are compared by size")
    return equal == (relation is core.Relation.EQUAL)


def _ordered(difference: Fraction, relation: core.Relation) -> bool:
    match relation:
        case core.Relation.LESS:
            return difference < 0
        case core.Relation.LESS_EQUAL:
            return difference <= 0
        case core.Relation.GREATER:
            return difference > 0
        case core.Relation.GREATER_EQUAL:
            return difference >= 0
        case core.Relation.EQUAL:
            return difference == 0
        case core.Relation.NOT_EQUAL:
            return difference != 0
        case _:
            assert_never(relation)


def _value(expression: core.Expression, store: Mapping[str, Datum]) -> Datum:
    match expression:
        case core.Constant(value):
            return _datum(value)
        case core.Variable() | core.Element():
            name = _place(expression, store)
            if name not in store:
                raise Stuck(f"'{name}' is read before it is assigned")
            return store[name]
        case core.Sum(left, right):
            return _number(left, store) + _number(right, store)
        case core.Product(left, right):
            first, second = _number(left, store), _number(right, store)
            if first.terms and second.terms:
                raise Stuck("a product of samples")
            constant, line = (second, first) if first.terms else (first, second)
            return line.times(constant.constant)
        case _:
            assert_never(expression)


def _number(expression: core.Expression, store: Mapping[str, Datum]) -> Line:
    value = _value(expression, store)
    if isinstance(value, str):
        raise Stuck(f"arithmetic on the named value '{value}'")
    return value


def _place(target: core.Variable | core.Element, store: Mapping[str, Datum]) -> str:
    if isinstance(target, core.Variable):
        return target.name
    index = _number(target.index, store)
    if index.terms or index.constant.denominator != 1 or not 1 <= index.constant <= target.size:
        raise Stuck(f"an index of '{target.array}' is out of range")
    return f"{target.array}[{index.constant}]"


def _datum(value: core.Value) -> Datum:
    return value if isinstance(value, str) else Line(value)


def _outputs(program: core.Program, store: Mapping[str, Datum]) -> tuple[core.Value, ...]:
    values: list[core.Value] = []
    for cell in program.outputs:
        value = store.get(cell.name)
        if value is None:
            raise Stuck(f"the output '{cell.name}' is never assigned")
        if isinstance(value, Line):
            if value.terms:
                raise Stuck(f"the output '{cell.name}' is a sample")
            values.append(value.constant)
        else:
            values.append(value)
    return tuple(values)
