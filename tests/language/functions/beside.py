"""A Python function as CPython runs it, beside the program that it becomes, with given samples.

    inputs, samples  ->  the function, run by CPython with stubs  ->  draws, outputs
                     ->  the program                              ->  the same draws, outputs

exp, log and sqrt stand for themselves: any function that tells its arguments apart will do, as both
sides have the same.
"""

import builtins
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from dipapprox.language import ast
from dipapprox.language.core import Relation, Value
from dipapprox.language.declarations import cells_of, elaborate_declarations
from dipapprox.language.domains import AS_DECLARED, AllReals
from dipapprox.language.functions.run import cell_name
from dipapprox.language.mechanism import read_mechanism
from dipapprox.language.piecewise import rounded
from dipapprox.language.symbols import (
    CLAMP,
    DELTA,
    EPSILON,
    EXPONENTIAL,
    LOGARITHM,
    MECHANISM,
    ROOT,
    SELECTIONS,
)
from dipapprox.laws import families
from dipapprox.laws.families import FAMILIES

Held = Value | bool

_EPSILON, _DELTA = Fraction(3, 7), Fraction(1, 13)
_NOISE = [Fraction(*p) for p in ((0, 1), (1, 3), (1, 1), (1, 2), (3, 2), (2, 1), (5, 1), (40, 1))]
_MOST_BITS = 1_000
"""Of a power that is multiplied out; others only have to be told apart."""

_AT_ONE = {EXPONENTIAL: (0, 1), LOGARITHM: (1, 0), ROOT: (1, 1)}


@dataclass(frozen=True, slots=True)
class Draw:
    """What is drawn: a word of the language, and its arguments.

    Attributes:
        word: Of a family of noise, "Exp" or "choose".
        arguments: Their values.
    """

    word: str
    arguments: tuple[Held, ...]

    def sample(self, seed: int) -> Value:
        """Return one of the values that may be drawn."""
        family = FAMILIES.get(self.word)
        if family is None:
            values = self.arguments[::2] if self.word == "choose" else range(1, len(self.arguments))
            value = list(values)[seed % len(values)]
            return value if isinstance(value, str) else Fraction(value)
        noise = _NOISE[seed % len(_NOISE)] * (1 if seed // len(_NOISE) % 2 else -1)
        noise = family.possible(noise)
        mean = self.arguments[0]
        value = noise + (Fraction(mean) if not isinstance(mean, str) else 0)
        return Fraction(round(value)) if family.is_discrete else value


class Exited(Exception):
    """The program has ended."""


class Replay:
    """The variables of a program that is executed."""

    def __init__(self, given: Mapping[str, Held], drawn: Callable[[Draw], Value]) -> None:
        """Begin.

        Args:
            given: The inputs.
            drawn: Says what is drawn.
        """
        self.given = tuple(given)
        self.values: dict[str, Held] = dict(given)
        self._drawn = drawn

    def output(self, name: str) -> Held | None:
        """Return the value of an output, as it is compared."""
        return _compared(self.values.get(name, "nothing"))

    def compared(self, node: ast.Expression) -> Held:
        """Return the value of an expression, as it is compared."""
        return _compared(self.value(node))

    def execute(self, body: ast.Block) -> None:
        try:
            self._execute(body)
        except Exited:
            return

    def _execute(self, body: ast.Block) -> None:
        for statement in body:
            match statement:
                case ast.Assign((target,), value):
                    self.values[cell_name(target)] = self.value(value)
                case ast.If((branch,), otherwise):
                    self._execute(branch.body if self.value(branch.condition) else otherwise)
                case ast.Exit():
                    raise Exited
                case _:
                    raise AssertionError(f"a program of a function has {statement}")

    def value(self, node: ast.Expression) -> Held:
        match node:
            case ast.Number(value) | ast.Truth(value):
                return value
            case ast.Name() | ast.Index():
                return self._variable(node)
            case ast.Negative(operand):
                return -self.number(operand)
            case ast.Sum(operands, operators) | ast.Product(operands, operators):
                return self._chain(operands, operators)
            case ast.Power(base, exponent):
                return self._power(self.number(base), self.number(exponent))
            case ast.Comparison((left, right), (relation,)):
                return Relation(relation).holds(self._side(left), self._side(right))
            case ast.Not(operand):
                return not self.value(operand)
            case ast.And(operands):
                return all(bool(self.value(each)) for each in operands)
            case ast.Or(operands):
                return any(bool(self.value(each)) for each in operands)
            case ast.Choose(options):
                return self._chosen(options)
            case ast.Call(word, arguments):
                return self._called(word, [self.number(each) for each in arguments])
            case _:
                raise AssertionError(f"a program of a function has {node}")

    def number(self, node: ast.Expression) -> Fraction:
        """Return the number that an expression is."""
        value = _compared(self.value(node))
        assert isinstance(value, Fraction)
        return value

    def _side(self, node: ast.Expression) -> Value:
        value = self.value(node)
        return Fraction(value) if isinstance(value, bool) else value

    def _variable(self, node: ast.Target) -> Held:
        name = cell_name(node)
        if name in self.values:
            value = self.values[name]
            return value == "true" if value in ("true", "false") else value
        return {EPSILON: _EPSILON, DELTA: _DELTA}.get(name, name)

    def _chain(self, operands: tuple[ast.Expression, ...], operators: tuple[str, ...]) -> Fraction:
        found = self.number(operands[0])
        for operator, operand in zip(operators, operands[1:], strict=True):
            value = self.number(operand)
            match operator:
                case "+":
                    found += value
                case "-":
                    found -= value
                case "*":
                    found *= value
                case _:
                    found /= value
        return found

    def _power(self, base: Fraction, exponent: Fraction) -> Fraction:
        size = max(abs(base.numerator), base.denominator).bit_length()
        if exponent.denominator == 1 and abs(exponent) * size <= _MOST_BITS:
            return Fraction(base**exponent.numerator)
        return _told_apart("^", base, exponent)

    def _chosen(self, options: tuple[ast.Option, ...]) -> Held:
        arguments: list[Held] = []
        for option in options:
            weight = self.number(option.weight) if option.weight is not None else Fraction(1)
            if weight != 0:
                assert not isinstance(option.value, ast.Range)
                arguments += [_compared(self.value(option.value)), weight]
        if len(arguments) == 2:
            return arguments[0]
        return self._drawn(Draw("choose", tuple(arguments)))

    def _called(self, word: str, given: list[Fraction]) -> Held:
        if word in FAMILIES or word == MECHANISM:
            return self._drawn(Draw(word, tuple(given)))
        if word in SELECTIONS:
            best = (max if word.endswith("max") else min)(given)
            return Fraction(given.index(best) + 1) if word.startswith("arg") else best
        if word == CLAMP:
            return min(max(given[0], given[1]), given[2])
        if word == "round":
            return rounded("round", *given)
        at, value = _AT_ONE[word]
        return Fraction(value) if given == [at] else _told_apart(word, *given)


def _compared(value: Held) -> Held:
    """Return a value as it is compared: truth values are 1 and 0."""
    if value in ("true", "false"):
        return Fraction(value == "true")
    return Fraction(value) if isinstance(value, bool) else value


def _told_apart(word: str, *given: Fraction) -> Fraction:
    """Return a number > 0 that is another one for other arguments."""
    digest = sha256(f"{word} {given}".encode()).digest()
    return Fraction(int.from_bytes(digest[:8], "big") + 1, 2**62)


# --- CPython with stubs ---------------------------------------------------------------------------

_REALS = [Fraction(*pair) for pair in ((0, 1), (1, 3), (-1, 2), (1, 1), (-2, 1), (7, 2), (-40, 1))]
"""Values of real inputs."""


class Samples:
    """What is drawn, one after the other."""

    def __init__(self) -> None:
        self.start(0)

    def start(self, seed: int) -> None:
        self.drawn: list[tuple[Draw, Value]] = []
        self._state = seed

    def draw(self, word: str, *arguments: Any) -> Any:
        held = tuple(a if isinstance(a, str) else Fraction(a) for a in arguments)
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        value = Draw(word, held).sample(self._state >> 33)
        self.drawn.append((Draw(word, held), value))
        return python_value(value)


def python_value(value: Value) -> Any:
    """Return a value as CPython has it: a whole number is an int."""
    if isinstance(value, str):
        return value == "true" if value in ("true", "false") else value
    return int(value) if value.denominator == 1 else value


def stubs(samples: Samples) -> ModuleType:
    """Return `dipapprox` with functions of numbers."""
    module = ModuleType("dipapprox")
    words = {
        "gauss": families.GAUSSIAN,
        "laplace": families.LAPLACE,
        "laplace_plus": families.EXPONENTIAL,
        "gumbel": families.GUMBEL,
        "discrete_laplace": families.DISCRETE_LAPLACE,
    }

    def noise(name: str) -> Any:
        return lambda mean, scale: samples.draw(name, mean, scale)

    def choose(options: Any, probabilities: Any = None) -> Any:
        if isinstance(options, dict):
            pairs = list(options.items())
        elif probabilities is not None:
            pairs = list(zip(list(options), list(probabilities), strict=True))
        else:
            values = list(options)
            pairs = [(v, Fraction(1, len(values))) for v in values]
            if all(isinstance(each, tuple) for each in values):
                pairs = values
        pairs = [(value, weight) for value, weight in pairs if weight != 0]
        if len(pairs) == 1:
            return pairs[0][0]
        found = samples.draw("choose", *(part for pair in pairs for part in pair))
        truths = all(isinstance(value, bool) for value, _ in pairs)
        return bool(found) if truths else found

    def apart(word: str) -> Any:
        def function(value: Any) -> Any:
            at, known = _AT_ONE[word]
            return Fraction(known) if value == at else _told_apart(word, Fraction(value))

        return function

    def clamp(value: Any, low: Any, high: Any) -> Any:
        return min(max(value, low), high)

    def nearest(value: Any, low: Any, high: Any, step: Any = 1) -> Any:
        return python_value(clamp(rounded("round", Fraction(value), Fraction(step)), low, high))

    module.__dict__.update({name: noise(family.name) for name, family in words.items()})
    module.__dict__.update(
        choose=choose,
        where=lambda holds, yes, no: yes if holds else no,
        argmax=lambda values: (v := list(values)).index(max(v)),
        argmin=lambda values: (v := list(values)).index(min(v)),
        maximum=max,
        minimum=min,
        clamp=clamp,
        rounded=nearest,
        exponential_mechanism=lambda rate, scores: samples.draw(MECHANISM, rate, *scores) - 1,
        exp=apart(EXPONENTIAL),
        log=apart(LOGARITHM),
        sqrt=apart(ROOT),
        mechanism=lambda adjacent: lambda function: function,
        **dict.fromkeys(("Quantity", "Condition", "Weight"), object),
    )
    module.__dict__["__all__"] = [name for name in vars(module) if not name.startswith("_")]
    return module


def differences(text: str, points: int = 24) -> Iterator[str]:
    """Compare the mechanism `f` of a file with its program; say where they differ.

    Raises:
        SourceError: If the file is refused.
    """
    program = read_mechanism(Path("f.py"), text, "f").execute({}).program
    declared = elaborate_declarations(program, {}, AS_DECLARED)
    cells = cells_of(declared.inputs)
    domains = [tuple(_REALS) if isinstance(c.domain, AllReals) else c.domain for c in cells]
    every = list(product(*domains)) if prod(map(len, domains)) <= 4096 else []
    samples = Samples()
    function = executed(text, samples)
    for seed in range(points):
        samples.start(seed)
        row = every[seed * 7919 % len(every)] if every else [d[seed % len(d)] for d in domains]
        point = {cell.name: value for cell, value in zip(cells, row, strict=True)}
        said = _difference(function, samples, point, declared, program.body)
        if said:
            yield f"at {point}, seed {seed}: {said}"


def executed(text: str, samples: Samples) -> Callable[..., Any]:
    """Return the function `f` of a file, run by CPython with stubs."""
    module = stubs(samples)

    def imported(name: str, *rest: Any) -> Any:
        return module if name == "dipapprox" else __import__(name, *rest)

    space: dict[str, Any] = {
        "__name__": "f",
        "__builtins__": {**vars(builtins), "__import__": imported},
    }
    exec(compile(text, "f.py", "exec", dont_inherit=True), space)
    return space["f"]


def _difference(
    function: Callable[..., Any], samples: Samples, point: Any, declared: Any, body: ast.Block
) -> str:
    given: dict[str, Any] = {"eps": _EPSILON}
    for variable in declared.inputs:
        held = [python_value(point[cell.name]) for cell in cells_of((variable,))]
        given[variable.name] = held[0] if variable.size is None else held
    returned = function(**given)
    drawn = iter(samples.drawn)

    def again(draw: Draw) -> Value:
        known, value = next(drawn, (None, None))
        if known != draw or value is None:
            raise _OtherDraw(draw, known)
        return value

    replay = Replay(point, again)
    try:
        replay.execute(body)
    except _OtherDraw as other:
        return f"the program draws {other}"
    if next(drawn, None) is not None:
        return "the function draws once more"
    parts = returned if len(declared.outputs) > 1 else (returned,)
    for variable, part in zip(declared.outputs, parts, strict=True):
        values = [part] if variable.size is None else part
        for cell, value in zip(cells_of((variable,)), values, strict=True):
            if replay.output(cell.name) != _compared(
                value if isinstance(value, str) else Fraction(value)
            ):
                return f"{cell.name} is {value}, and {replay.output(cell.name)} in the program"
    return ""


class _OtherDraw(Exception):
    """The program draws something else."""
