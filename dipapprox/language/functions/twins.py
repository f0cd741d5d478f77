"""The function run with numbers, beside its program: what is followed wrongly shows there.

    inputs, samples  ->  the function, as Python runs it  ->  draws, outputs
                     ->  the program                      ->  the same draws, outputs

Points are chosen by a fixed rule: so this finds mistakes, and proves nothing. A symbol is the
number that it stands for in everything that the other modules let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.core import Cell, Value
from dipapprox.language.domains import AllReals
from dipapprox.language.functions.replay import Draw, NotExecuted, Replay
from dipapprox.language.functions.run import PathRun, cell_name
from dipapprox.language.functions.symbolic import refusal
from dipapprox.language.functions.trees import End
from dipapprox.source import Span

POINTS = 48
"""At which a function is run."""

_REALS = [Fraction(*pair) for pair in ((0, 1), (1, 3), (-1, 2), (1, 1), (-2, 1), (7, 2), (-40, 1))]
"""Values of real inputs."""

Point = Mapping[str, Value]
Number = bool | int | Fraction | str


class NumberRun(PathRun):
    """A run in which inputs and samples are numbers of Python."""

    def __init__(
        self, point: Point, seed: int, names: frozenset[str], texts: frozenset[str], whole: bool
    ) -> None:
        """Make a run.

        Args:
            point: The values of the input cells.
            seed: Of the samples.
            names: Taken by declarations.
            texts: The named values among them.
            whole: Whether whole numbers are `int`, or `Fraction` as all others.
        """
        super().__init__([], [], {}, names, texts, {}, True)
        self._whole = whole
        self.drawn: list[tuple[Draw, Value]] = []
        self._state = seed
        self.machine = Replay(point, self._sample)
        self.unknown: NotExecuted | None = None

    def _sample(self, draw: Draw) -> Value:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        value = draw.sample(self._state >> 33)
        self.drawn.append((draw, value))
        return value

    def emit(self, statement: ast.Statement) -> None:
        """Execute a statement at once."""
        try:
            self.machine.execute((statement,))
        except NotExecuted as unknown:
            self.unknown = unknown  # the function may catch it
            raise

    def variable(self, place: ast.Target, domain: tuple[Value, ...]) -> Number:  # type: ignore[override]  # numbers in the place of symbols
        """Return the value of a variable."""
        value = self.machine.values[cell_name(place)]
        if isinstance(value, Fraction) and value.denominator == 1 and self._whole:
            return int(value)
        return value

    def random(self, place: ast.Target) -> Number:  # type: ignore[override]  # likewise
        """Return a sample, or an input that may be any number; integer noise is whole."""
        if self._kinds.get(place.name) == "integer":
            return self.variable(place, ())
        return self.machine.values[cell_name(place)]

    def truth(self, place: ast.Target) -> bool:  # type: ignore[override]  # likewise
        """Return a truth value."""
        return self.machine.values[cell_name(place)] in (True, "true")


Execute = Callable[[PathRun], End]


def check(
    execute: Execute,
    body: ast.Block,
    inputs: tuple[Cell, ...],
    names: frozenset[str],
    texts: frozenset[str],
    span: Span | None,
) -> None:
    """Compare a function with its program where inputs and samples are numbers.

    Args:
        execute: Runs the function.
        body: Of the program.
        inputs: The input cells.
        names: Taken by declarations.
        texts: The named values among them.
        span: Of the function's definition.

    Raises:
        SourceError: If they differ, or nothing compares them.
    """
    for seed, point in enumerate(_points(inputs)):
        differences = []
        for whole in (True, False):
            run = NumberRun(point, seed, names, texts, whole)
            found = _difference(run, execute, body)
            if found == "":
                break
            differences.append(found)
        else:
            said = next((each for each in differences if each is not None), None)
            if said is not None:
                where = ", ".join(f"{name} = {value}" for name, value in point.items())
                message = "the function does something else with numbers than with symbols"
                raise refusal("error", message, f"where {where}: {said}", span)


def _points(inputs: tuple[Cell, ...]) -> Iterator[Point]:
    """Yield values of all input cells: all of them in turn, where they are few."""
    domains = [tuple(_REALS) if isinstance(c.domain, AllReals) else c.domain for c in inputs]
    count = prod(map(len, domains))
    every = list(product(*domains)) if count <= POINTS else None
    state = 1
    for k in range(POINTS):
        if every is not None:
            values = every[k % len(every)]
        else:
            picked = []
            for domain in domains:
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                picked.append(domain[(state >> 33) % len(domain)])
            values = tuple(picked)
        yield {cell.name: value for cell, value in zip(inputs, values, strict=True)}


def _difference(run: NumberRun, execute: Execute, body: ast.Block) -> str | None:
    """Say how function and program differ at a point; empty if not, None if nobody knows.

    Raises:
        NotExecuted: If the program has what is not executed with numbers.
    """
    try:
        end = execute(run)
    except SourceError:
        if run.unknown is not None:
            raise run.unknown from None
        return None  # numbers are refused where symbols are not: floats, most of all
    if end is None:
        return None
    machine = run.machine
    ours = {cell_name(place): machine.compared(node) for place, node in end.items()}
    drawn = iter(run.drawn)

    def again(draw: Draw) -> Value:
        known, value = next(drawn, (None, None))
        if known != draw or value is None:
            raise _OtherDraw(draw)
        return value

    program = Replay({name: machine.values[name] for name in machine.given}, again)
    try:
        program.execute(body)
    except _OtherDraw as other:
        return f"the program draws {other.draw}"
    except ZeroDivisionError:
        return None  # at this eps it has no meaning, whatever the function caught
    if next(drawn, None) is not None:
        return "the function draws once more"
    for name, value in ours.items():
        if program.output(name) != value:
            return f"{name} is {value}, and {program.output(name)} in the program"
    return ""


class _OtherDraw(Exception):
    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw
