"""A direct interpreter of core programs on concrete inputs and samples, the oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.language import core
from dipapprox.language.core import Relation, Value
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.state import FinalState, FinalStates, Guard, InputCondition, guards_of

DrawKey = tuple[int, str, Fraction, str]


class Unassigned(Exception):
    """The program reads or ends with an unassigned cell."""


class _Ended(Exception):
    pass


@dataclass
class Noise:
    """Random sample values, one for each draw that differs in site, family, mean or scale.

    Exact dyadic numbers with 40 random bits: ties have negligible probability.
    """

    generator: random.Random

    def __post_init__(self) -> None:
        self._values: dict[DrawKey, Fraction] = {}

    def value(self, site: int, family: str, mean: Fraction, scale: str) -> Fraction:
        key = (site, family, mean, scale)
        if key not in self._values:
            self._values[key] = mean + Fraction(self.generator.getrandbits(42) - 2**41, 2**40)
        return self._values[key]


def run(program: core.Program, row: core.InputRow, noise: Noise) -> tuple[Value, ...]:
    """Return the outputs of one run, in the order of the output cells."""
    store: dict[str, Value] = {c.name: v for c, v in zip(program.inputs, row, strict=True)}
    with suppress(_Ended):
        _block(program.body, store, noise)
    try:
        return tuple(store[cell.name] for cell in program.outputs)
    except KeyError as missing:
        raise Unassigned from missing


def _block(block: core.Block, store: dict[str, Value], noise: Noise) -> None:
    for statement in block:
        match statement:
            case core.Assign(target=target, value=value):
                store[_cell(target, store)] = _value(value, store)
            case core.Draw(target=target, family=family, mean=mean, scale=scale, site=site):
                centre = _value(mean, store)
                assert isinstance(centre, Fraction)
                store[_cell(target, store)] = noise.value(site, family.value, centre, str(scale))
            case core.If(condition=condition, then=then, otherwise=otherwise):
                _block(then if _holds(condition, store) else otherwise, store, noise)
            case core.Exit():
                raise _Ended


def _cell(target: core.Variable | core.Element, store: Mapping[str, Value]) -> str:
    if isinstance(target, core.Variable):
        return target.name
    return f"{target.array}[{_value(target.index, store)}]"


def _value(expression: core.Expression, store: Mapping[str, Value]) -> Value:
    match expression:
        case core.Constant(value=value):
            return value
        case core.Variable() | core.Element():
            try:
                return store[_cell(expression, store)]
            except KeyError as missing:
                raise Unassigned from missing
        case core.Sum(left=left, right=right):
            return _value(left, store) + _value(right, store)  # type: ignore[operator]
        case core.Product(left=left, right=right):
            return _value(left, store) * _value(right, store)  # type: ignore[operator]


def _holds(condition: core.Condition, store: Mapping[str, Value]) -> bool:
    match condition:
        case core.All(parts=parts):
            return all(_holds(part, store) for part in parts)
        case core.Any(parts=parts):
            return any(_holds(part, store) for part in parts)
        case core.Comparison(left=left, relation=relation, right=right):
            a, b = _value(left, store), _value(right, store)
            match relation:
                case Relation.EQUAL:
                    return a == b
                case Relation.NOT_EQUAL:
                    return a != b
                case Relation.LESS:
                    return a < b  # type: ignore[operator]
                case Relation.LESS_EQUAL:
                    return a <= b  # type: ignore[operator]
                case Relation.GREATER:
                    return a > b  # type: ignore[operator]
                case Relation.GREATER_EQUAL:
                    return a >= b  # type: ignore[operator]


# --- final states on concrete values ------------------------------------------------------------


def states_that_hold(states: FinalStates, row: core.InputRow, noise: Noise) -> list[FinalState]:
    """Return the final states whose conditions and guards hold."""
    inputs = {c.name: v for c, v in zip(states.program.inputs, row, strict=True)}
    numbers = {name: v for name, v in inputs.items() if isinstance(v, Fraction)}
    values: dict[int | str, Fraction] = {**numbers}
    for place, sample in enumerate(states.samples):
        mean = sample.mean.at(numbers)  # type: ignore[arg-type]
        if mean.is_constant:
            values[place] = noise.value(
                sample.site, sample.family.value, mean.constant, str(sample.scale)
            )
    return [
        state
        for state in states.states
        if all(_condition_holds(c, inputs, values) for c in state.conditions)
        and all(_guard_holds(g, values) for g in guards_of(state.path))
    ]


def _condition_holds(
    condition: InputCondition,
    inputs: Mapping[str, Value],
    values: Mapping[int | str, Fraction],
) -> bool:
    if condition.values is not None:
        assert condition.cell is not None
        return inputs[condition.cell] in condition.values
    assert condition.form is not None
    return _guard_holds(Guard(condition.form, condition.strict), values)


def _guard_holds(guard: Guard, values: Mapping[int | str, Fraction]) -> bool:
    form: LinearForm = guard.form.at(values)
    assert form.is_constant, form
    return form.constant < 0 if guard.strict else form.constant <= 0
