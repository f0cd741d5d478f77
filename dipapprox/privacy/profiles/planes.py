"""Where the worst pair of real inputs lies: δ over planes through it, two numbers at a time.

A plane has one real input: its value in u and its value in u', all else as in the pair. What is
drawn is δ at points of a grid, to drawing accuracy; the certified numbers stand in the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import (
    Adjacency,
    Everyone,
    Input,
    Listed,
    Norm,
    Program,
)
from dipapprox.language.domains import AllReals
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.divergence import Probabilities, divergence
from dipapprox.pairs.growth import Factor, Growth
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.real_inputs import execute_for_declared

_STEPS = 24
"""Of a side of a plane."""

_BITS = 40
_MOST_PLANES = 4


@dataclass(frozen=True, slots=True)
class Plane:
    """δ over the values of one real input in both inputs of a pair.

    Attributes:
        name: Of the input.
        values: Ascending, along both sides; those of the pair are among them.
        worst: The values in the pair.
        deltas: [value in u][value in u'], about; None where the pair is not adjacent, or unknown.
    """

    name: str
    values: tuple[Fraction, ...]
    worst: tuple[Fraction, Fraction]
    deltas: tuple[tuple[float | None, ...], ...]

    def text(self) -> str:
        """Say in words where δ is largest in the plane."""
        x, y = (short_number(value) for value in self.worst)
        lowest, highest = (short_number(value) for value in (self.values[0], self.values[-1]))
        largest = max((d for row in self.deltas for d in row if d is not None), default=0.0)
        return (
            f"{self.name} in [{lowest}, {highest}] against its value in the adjacent input: "
            f"δ up to {largest:.3g}, worst at {x} ~ {y}"
        )


def short_number(value: Fraction) -> str:
    """Write a number to drawing accuracy."""
    return f"{float(value):.6g}"


def planes(
    program: Program, eps: Fraction, growth: Growth, pair: Pair, options: Options
) -> tuple[Plane, ...]:
    """Compute δ over planes through a pair, for the first real inputs that are no single numbers.

    Args:
        program: With real inputs between bounds, and finite outputs.
        eps: Where it runs.
        growth: e^eps_prv.
        pair: The worst one.
        options: How to compute.

    Raises:
        UserError: If the program publishes numbers.
        LimitReached: If a limit is reached.
    """
    if program.real_outputs:
        raise UserError("no picture over pairs of inputs: the program publishes numbers")
    states = execute_for_declared(program, options.merge, options.limits)
    source = open_probabilities(states, eps, options)
    factor = growth.bounds(FACTOR_BITS)
    found: list[Plane] = []
    for place, cell in enumerate(program.inputs):
        bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
        if bounds is None or bounds[0] == bounds[1] or len(found) == _MOST_PLANES:
            continue
        low, high = bounds
        own = tuple(Fraction(input[place]) for input in pair)
        grid = {low + (high - low) * k / _STEPS for k in range(_STEPS + 1)}
        values = sorted(grid.union(own))
        sides = [[_moved(input, place, value) for value in values] for input in pair]
        tables = [source.distributions(side, _BITS) for side in sides]
        rows: list[tuple[float | None, ...]] = []
        for u, first in zip(sides[0], tables[0], strict=True):
            row: list[float | None] = []
            for v, second in zip(sides[1], tables[1], strict=True):
                drawn = are_adjacent(program.adjacency, u, v)
                row.append(_height(first, second, factor) if drawn else None)
            rows.append(tuple(row))
        found.append(Plane(cell.name, tuple(values), (own[0], own[1]), tuple(rows)))
    return tuple(found)


def _height(
    first: Probabilities | NotEnclosed, second: Probabilities | NotEnclosed, factor: Factor
) -> float | None:
    """Return about δ, None if it is not known."""
    if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
        return None
    return float(divergence(first, second, factor).upper)


def _moved(input: Input, place: int, value: Fraction) -> Input:
    return (*input[:place], value, *input[place + 1 :])


def are_adjacent(adjacency: Adjacency, u: Sequence[object], v: Sequence[object]) -> bool:
    """Whether two inputs are adjacent in this order, or equal."""
    changes = [
        y - x if isinstance(x, Fraction) and isinstance(y, Fraction) else Fraction(x != y)
        for x, y in zip(u, v, strict=True)
    ]
    if isinstance(adjacency, Everyone):
        return True
    if isinstance(adjacency, Listed):
        return (tuple(u), tuple(v)) in adjacency.pairs or (tuple(v), tuple(u)) in adjacency.pairs
    sizes = [abs(change) for change in changes]
    match adjacency.norm:
        case Norm.LINF:
            size = max(sizes, default=Fraction(0))
        case Norm.L1:
            size = sum(sizes, Fraction(0))
        case Norm.L0:
            size = Fraction(sum(map(bool, sizes)))
        case Norm.INCREASING | Norm.DECREASING:
            sign = 1 if adjacency.norm is Norm.INCREASING else -1
            if any(sign * change < 0 for change in changes):
                return False
            size = max(sizes, default=Fraction(0))
        case _:
            assert_never(adjacency.norm)
    return size <= adjacency.radius
