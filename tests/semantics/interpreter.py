"""A direct interpreter of core programs on concrete inputs and samples, the oracle.

Random choices are enumerated: for given inputs and samples the outputs have a distribution.
"""

import random
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import prod
from typing import Protocol

from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.cells import written_out
from dipapprox.language.core import Relation, Value
from dipapprox.laws.distribution import ChoiceLaw, FiniteLaw, Scale
from dipapprox.laws.families import FAMILIES
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.outcomes import ALWAYS, NEVER, UNION, reachable
from dipapprox.semantics.state import (
    FinalState,
    FinalStates,
    Guard,
    InputCondition,
    Reading,
    guards_of,
)


class Unassigned(Exception):
    """The program reads or ends with an unassigned cell."""


class _Ended(Exception):
    pass


@dataclass
class Noise:
    """Random sample values, one for each draw that differs in site, family, mean or scale.

    Reals are exact dyadic numbers with 40 random bits: ties have negligible probability. Integers
    lie close together: ties are frequent.
    """

    generator: random.Random

    def __post_init__(self) -> None:
        self._values: dict[tuple[int, str, Fraction, Scale], Fraction] = {}

    def value(self, site: int, family: str, mean: Fraction, scale: Scale) -> Fraction:
        key = (site, family, mean, scale)
        if key not in self._values and FAMILIES[family].is_discrete:
            self._values[key] = mean + self.generator.randint(-2, 2)
        elif key not in self._values:
            self._values[key] = mean + Fraction(self.generator.getrandbits(42) - 2**41, 2**40)
        return self._values[key]


@dataclass
class _Script:
    """The outcomes of the first choices of a run; the others are the first possible ones.

    Attributes:
        weights: What the outcomes of each choice of the run weighed.
    """

    outcomes: tuple[int, ...]
    weights: list[list[Fraction]] = field(default_factory=list)

    def choose(self, values: list[Value], weights: list[Fraction]) -> int:
        place = len(self.weights)
        self.weights.append(weights)
        return self.outcomes[place] if place < len(self.outcomes) else 0


class Drawing(Protocol):
    """Says what is drawn."""

    def value(self, site: int, family: str, mean: Fraction, scale: Scale) -> Fraction: ...


class Choosing(Protocol):
    """Says which of some values is chosen, by its position."""

    def choose(self, values: list[Value], weights: list[Fraction]) -> int: ...


Distribution = dict[tuple[Value, ...], Fraction]


def distribution(program: core.Program, input: core.Input, noise: Noise) -> Distribution:
    """Return the outputs with their probabilities, for given inputs and samples."""
    found: Distribution = {}
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = _Script(scripts.pop())
        outputs = run(program, input, noise, script)
        taken = [*script.outcomes, *([0] * (len(script.weights) - len(script.outcomes)))]
        probability = prod(
            (each[k] for each, k in zip(script.weights, taken, strict=True)), start=Fraction(1)
        )
        found[outputs] = found.get(outputs, Fraction(0)) + probability
        for place in range(len(script.outcomes), len(taken)):
            count = len(script.weights[place])
            scripts += [(*taken[:place], other) for other in range(1, count)]
    return {outputs: p for outputs, p in found.items() if p}


def run(
    program: core.Program, input: core.Input, noise: Noise, script: _Script | None = None
) -> tuple[Value, ...]:
    """Return the outputs of one run, in the order of the output cells."""
    store = values_after(program, input, noise, script or _Script(()))
    try:
        return tuple(store[cell.name] for cell in program.outputs)
    except KeyError as missing:
        raise Unassigned from missing


def values_after(
    program: core.Program, input: core.Input, noise: Drawing, script: Choosing
) -> dict[str, Value]:
    """Return what all cells hold after one run."""
    store: dict[str, Value] = {c.name: v for c, v in zip(program.inputs, input, strict=True)}
    with suppress(_Ended):
        _block(written_out(program.body), store, noise, script)
    return store


def _block(block: core.Block, store: dict[str, Value], noise: Drawing, script: Choosing) -> None:
    for statement in block:
        match statement:
            case core.Assign(target=target, value=value):
                store[_cell(target, store)] = _value(value, store)
            case core.Draw(target=target, family=family, mean=mean, scale=scale, site=site):
                centre = _value(mean, store)
                assert isinstance(centre, Fraction)
                store[_cell(target, store)] = noise.value(site, family.name, centre, scale)
            case core.If(condition=condition, then=then, otherwise=otherwise):
                _block(then if _holds(condition, store) else otherwise, store, noise, script)
            case core.While(condition=condition, body=body):
                while _holds(condition, store):
                    _block(body, store, noise, script)
            case core.Choose(target=target, options=options, proportional=proportional):
                cell = _cell(target, store)
                weights = [_number(weight, store) for _, weight in options]
                if proportional:
                    weights = [weight / sum(weights) for weight in weights]
                values = [_value(value, store) for value, _ in options]
                store[cell] = values[script.choose(values, weights)]
            case core.Exit():
                raise _Ended


EPSILON = Fraction(3, 7)


def told_apart(word: str, *given: Fraction) -> Fraction:
    """Return a number > 0 that is another one for other arguments."""
    digest = sha256(f"{word} {given}".encode()).digest()
    return Fraction(int.from_bytes(digest[:8], "big") + 1, 2**62)


def exponential(exponent: Fraction) -> Fraction:
    """Stand for e ^ exponent: any function that tells its arguments apart will do."""
    return told_apart("exp", exponent) if exponent else Fraction(1)


def _cell(target: core.Variable | core.Element, store: Mapping[str, Value]) -> str:
    if isinstance(target, core.Variable):
        return target.name
    return f"{target.array}[{_value(target.index, store)}]"


def _value(expression: core.Expression | core.Weight, store: Mapping[str, Value]) -> Value:
    match expression:
        case core.Constant(value=value):
            return value
        case core.Variable() | core.Element():
            try:
                return store[_cell(expression, store)]
            except KeyError as missing:
                raise Unassigned from missing
        case core.Sum(left=left, right=right):
            return _number(left, store) + _number(right, store)
        case core.Product(left=left, right=right):
            return _number(left, store) * _number(right, store)
        case core.Inverse(operand):
            return 1 / _number(operand, store)
        case core.Epsilon():
            return EPSILON
        case core.Exponential(exponent):
            return exponential(_number(exponent, store))


def _number(expression: core.Expression | core.Weight, store: Mapping[str, Value]) -> Fraction:
    value = _value(expression, store)
    assert isinstance(value, Fraction), "named values are only compared for equality"
    return value


def _holds(condition: core.Condition, store: Mapping[str, Value]) -> bool:
    match condition:
        case core.All(parts=parts):
            return all(_holds(part, store) for part in parts)
        case core.Any(parts=parts):
            return any(_holds(part, store) for part in parts)
        case core.Comparison(left=left, relation=relation, right=right):
            match relation:
                case Relation.EQUAL:
                    return _value(left, store) == _value(right, store)
                case Relation.NOT_EQUAL:
                    return _value(left, store) != _value(right, store)
                case Relation.LESS:
                    return _number(left, store) < _number(right, store)
                case Relation.LESS_EQUAL:
                    return _number(left, store) <= _number(right, store)
                case Relation.GREATER:
                    return _number(left, store) > _number(right, store)
                case Relation.GREATER_EQUAL:
                    return _number(left, store) >= _number(right, store)


# --- laws of choices ----------------------------------------------------------------------------


def law_probability(law: ChoiceLaw, outcomes: Iterable[int]) -> Fraction:
    """Return the probability of some outcomes of a law whose weights are constants."""
    if isinstance(law, FiniteLaw):
        return sum((_constant(law.weights[k]) for k in outcomes), Fraction(0))
    # Solve x = A x + b for the probability to end in one of the outcomes, by elimination.
    wanted = {law.outcomes[k] for k in outcomes}
    size = len(law.transitions)
    inputs = []
    for node, following in enumerate(law.transitions):
        input = [Fraction(node == k) for k in range(size)] + [Fraction(node in wanted)]
        for other, weight in following:
            input[other] -= _constant(weight)
        inputs.append(input)
    for column in range(size):
        pivot = next(k for k in range(column, size) if inputs[k][column])
        inputs[column], inputs[pivot] = inputs[pivot], inputs[column]
        inputs[column] = [value / inputs[column][column] for value in inputs[column]]
        for k in range(size):
            factor = inputs[k][column]
            if k != column and factor:
                pairs = zip(inputs[k], inputs[column], strict=True)
                inputs[k] = [a - factor * b for a, b in pairs]
    return inputs[0][-1]


def _constant(weight: ExponentialRatio) -> Fraction:
    value = weight.numerator.as_constant()
    assert value is not None
    assert not weight.denominator
    return value


def set_probability(states: FinalStates, wanted: int, input: core.Input = ()) -> Fraction:
    """Return the probability of a set of outcomes at an input: all weights are constants."""
    known = {NEVER: Fraction(0), ALWAYS: Fraction(1)}
    for number in reachable(states.sets, (wanted,)):
        choice, outcomes, children = states.sets[number]
        if number in known:
            continue
        below = [known[child] for child in children]
        if choice != UNION:
            made = states.choices[choice]
            if isinstance(made, Reading):
                value = states.program.inputs[made.place].domain.index(input[made.place])
                weights = [Fraction(k == value) for k in outcomes]
            else:
                weights = [law_probability(made.law, (k,)) for k in outcomes]
            below = [p * weight for weight, p in zip(weights, below, strict=True)]
        known[number] = sum(below, Fraction(0))
    return known[wanted]


# --- final states on concrete values ------------------------------------------------------------


def distribution_of_states(
    states: FinalStates, input: core.Input, noise: Noise
) -> tuple[Distribution, list[FinalState]]:
    """Return what the final states say about the outputs, and the states that are possible."""
    found: Distribution = {}
    held = states_that_hold(states, input, noise)
    for state in held:
        probability = set_probability(states, state.chosen, input)
        found[state.outputs] = found.get(state.outputs, Fraction(0)) + probability
    return {outputs: p for outputs, p in found.items() if p}, held


def states_that_hold(states: FinalStates, input: core.Input, noise: Noise) -> list[FinalState]:
    """Return the final states whose conditions and guards hold."""
    inputs = {c.name: v for c, v in zip(states.program.inputs, input, strict=True)}
    numbers: dict[Symbol, Fraction] = {
        name: v for name, v in inputs.items() if isinstance(v, Fraction)
    }
    values = dict(numbers)
    for place, sample in enumerate(states.samples):
        mean = sample.mean.at(numbers)
        if mean.is_constant:
            values[place] = noise.value(
                sample.site, sample.family.name, mean.constant, sample.scale
            )
    return [
        state
        for state in states.states
        if all(_condition_holds(c, inputs, values) for c in state.conditions)
        and all(_guard_holds(g, values) for g in guards_of(state.path))
    ]


def _condition_holds(
    condition: InputCondition, inputs: Mapping[str, Value], values: Mapping[int | str, Fraction]
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
