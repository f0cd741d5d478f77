"""A Python function as CPython runs it, beside the program that it becomes, with given samples.

    inputs, samples  ->  the function, run by CPython with stubs  ->  draws, outputs
                     ->  the program                              ->  the same draws, outputs

exp stands for itself: any function that tells its arguments apart will do, as both sides have the
same.
"""

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import AllReals
from dipapprox.language.mechanism import read_mechanism
from dipapprox.language.piecewise import rounded
from dipapprox.laws import families
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import FAMILIES
from tests.semantics.interpreter import EPSILON, exponential, values_after

_NOISE = [Fraction(*p) for p in ((0, 1), (1, 3), (1, 1), (1, 2), (3, 2), (2, 1), (5, 1), (40, 1))]


@dataclass(frozen=True, slots=True)
class Draw:
    """What is drawn.

    Attributes:
        word: Of a family of noise, with a mean and a scale; or "choose", with values and weights.
    """

    word: str
    arguments: tuple[Value, ...]

    def sample(self, seed: int) -> Value:
        """Return one of the values that may be drawn."""
        family = FAMILIES.get(self.word)
        if family is None:
            values = self.arguments[::2]
            return _compared(values[seed % len(values)])
        noise = _NOISE[seed % len(_NOISE)] * (1 if seed // len(_NOISE) % 2 else -1)
        noise = family.possible(noise)
        value = noise + Fraction(self.arguments[0])
        return Fraction(round(value)) if family.is_discrete else value


Drawn = list[tuple[Draw, Value]]


class Again:
    """What was drawn, one after the other, once more."""

    def __init__(self, drawn: Drawn) -> None:
        self.left = drawn[::-1]

    def value(self, site: int, family: str, mean: Fraction, scale: Scale) -> Fraction:
        found = self._next(Draw(family, (mean, scale.at(EPSILON))))
        assert isinstance(found, Fraction)
        return found

    def choose(self, values: list[Value], weights: list[Fraction]) -> int:
        """Return the position of what was chosen; of one value that is possible nothing was."""
        possible = [k for k, weight in enumerate(weights) if weight]
        if len(possible) == 1:
            return possible[0]
        compared = [_compared(value) for value in values]
        drawn = (part for k in possible for part in (compared[k], weights[k]))
        found = self._next(Draw("choose", tuple(drawn)))
        return compared.index(_compared(found))

    def _next(self, draw: Draw) -> Value:
        known, value = self.left.pop() if self.left else (None, Fraction())
        if known != draw:
            raise OtherDraw(f"the program draws {draw}, the function {known}")
        return value


class OtherDraw(Exception):
    """The program draws something else."""


def _compared(value: Value | bool) -> Value:
    """Return a value as it is compared: truth values are 1 and 0."""
    if value in ("true", "false"):
        return Fraction(value == "true")
    return value if isinstance(value, str) else Fraction(value)


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

    def selected(rate: Any, scores: Any) -> Any:
        weights = [exponential(Fraction(rate) * score) for score in scores]
        shares = [weight / sum(weights) for weight in weights]
        return choose(dict(enumerate(shares, 1))) - 1

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
        exponential_mechanism=selected,
        exp=exponential,
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
    program = read_mechanism(Path("f.py"), text, "f").program()
    cells = program.inputs
    domains = [tuple(_REALS) if isinstance(c.domain, AllReals) else c.domain for c in cells]
    every = list(product(*domains)) if prod(map(len, domains)) <= 4096 else []
    samples = Samples()
    function = executed(text, samples)
    for seed in range(points):
        samples.start(seed)
        row = every[seed * 7919 % len(every)] if every else [d[seed % len(d)] for d in domains]
        said = _difference(function, samples, program, tuple(row))
        if said:
            point = {cell.name: value for cell, value in zip(cells, row, strict=True)}
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
    function: Callable[..., Any], samples: Samples, program: Program, input: Input
) -> str:
    given: dict[str, Any] = {"eps": EPSILON}
    for cell, value in zip(program.inputs, input, strict=True):
        held = python_value(value)
        if cell.index is None:
            given[cell.variable] = held
        else:
            given.setdefault(cell.variable, []).append(held)
    returned = function(**given)
    again = Again(samples.drawn)
    try:
        values = values_after(program, input, again, again)
    except OtherDraw as other:
        return str(other)
    if again.left:
        return "the function draws once more"
    cells = sorted(program.published, key=lambda cell: cell.span.start if cell.span else 0)
    names = dict.fromkeys(cell.variable for cell in cells)
    for name, part in zip(names, returned if len(names) > 1 else (returned,), strict=True):
        of = [cell for cell in cells if cell.variable == name]
        for cell, value in zip(of, [part] if of[0].index is None else part, strict=True):
            found = values.get(cell.name, "nothing")
            if _compared(found) != _compared(value):
                return f"{cell.name} is {value}, and {found} in the program"
    return ""
