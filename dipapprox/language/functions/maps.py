"""Functions of one number that mechanisms may use without a path for each piece.

Each is a statement of the program that the function becomes: clamp(x, low, high), and
clamp(round(x, step), low, high). `abs`, `min` and `max` need nothing here: they compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor

from dipapprox.language import ast
from dipapprox.language.core import Value
from dipapprox.language.functions.noise import Mean, assigned, number
from dipapprox.language.functions.quantities import Quantity
from dipapprox.language.functions.run import PathRun, running
from dipapprox.language.functions.symbols import Exact, exact, number_node
from dipapprox.language.piecewise import rounded as rounded_number
from dipapprox.language.piecewise import step_numbers


def clamp(value: Mean, low: Exact, high: Exact) -> Quantity:
    """Return the number from `low` to `high` that is nearest to a number.

    Integer noise becomes one of finitely many numbers; real noise stays what it is in between.
    """
    run = running()
    held, ends = number(run, value, "the value"), _ends(run, low, high)
    values = run.knowledge.possible(held)
    if values is None and run.is_integer(held):
        between = range(floor(ends[0]), ceil(ends[1]) + 1)
        return _finite(run, held.node, ends, map(Fraction, between))
    if values is None:
        return run.random(assigned(run, _clamped(run, held.node, ends), "c", "real"))
    return _finite(run, held.node, ends, _numbers(values))


def rounded(value: Mean, low: Exact, high: Exact, step: Exact = 1) -> Quantity:
    """Return the nearest multiple of `step`, between `low` and `high`; halves are rounded up."""
    run = running()
    held, ends = number(run, value, "the value"), _ends(run, low, high)
    unit = exact(run, step, "a step")
    if unit <= 0:
        raise run.refusal("value error", f"a step must be > 0, got {unit}")
    values = run.knowledge.possible(held)
    if values is None:
        multiples = (k * unit for k in step_numbers("round", unit, ends, True))
    else:
        multiples = (rounded_number("round", each, unit) for each in _numbers(values))
    call = ast.Call("round", (held.node, number_node(unit)), span=run.here)
    return _finite(run, call, ends, multiples)


def _ends(run: PathRun, low: Exact, high: Exact) -> tuple[Fraction, Fraction]:
    ends = exact(run, low, "an end"), exact(run, high, "an end")
    if ends[1] < ends[0]:
        raise run.refusal("value error", f"nothing is between {ends[0]} and {ends[1]}")
    return ends


def _numbers(values: Iterable[Value]) -> Iterable[Fraction]:
    return (value for value in values if isinstance(value, Fraction))


def _finite(
    run: PathRun, node: ast.Expression, ends: tuple[Fraction, Fraction], values: Iterable[Fraction]
) -> Quantity:
    """Clamp what has finitely many values then."""
    place = assigned(run, _clamped(run, node, ends), "c", "number")
    clamped = (min(max(value, ends[0]), ends[1]) for value in values)
    return run.variable(place, tuple(dict.fromkeys(clamped)))


def _clamped(run: PathRun, node: ast.Expression, ends: tuple[Fraction, Fraction]) -> ast.Expression:
    return ast.Call("clamp", (node, *map(number_node, ends)), span=run.here)
