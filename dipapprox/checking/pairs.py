"""The checker's pairs: which inputs are adjacent, and the largest delta of all of them.

Everything is integer arithmetic. Distances are exact: numbers of a common unit are kept in 64 bits
where no sum of their differences can overflow, and as Python's integers elsewhere. Bounds of
probabilities p, and of e^eps_prv times them, are rounded outward to multiples of 2^-56 and kept in
64-bit integers, so that

    Σ_o max(0, upper(p_o) - lower(e^eps_prv q_o))      and      Σ_o max(0, lower - upper)

are exact sums of integers, for all pairs with one first input at once. The pairs that could be the
largest are then summed again with the unrounded bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from dipapprox.checking.distributions import Bounds, NoBounds
from dipapprox.checking.factor import Factor
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.language.core import (
    Everyone,
    Input,
    Listed,
    Norm,
    Program,
    Value,
    Within,
)
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure

Pair = tuple[Input, Input]
Distribution = Mapping[tuple[Value, ...], Bounds]
Neighbours = Iterator[tuple[int, NDArray[np.bool_]]]
"""Places of first inputs, each with a mask of the second inputs that it is paired with."""

Integers = NDArray[np.int64]

_GRID = 56
_MOST_CANDIDATES = 500
_LARGEST = 2**62
_NOTHING = (0, 0)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest delta over some ordered pairs.

    Attributes:
        pairs: How many pairs there were.
        delta: Encloses it.
        pair: Attains the lower end; None without pairs.
    """

    pairs: int
    delta: Enclosure
    pair: Pair | None


def all_inputs(program: Program) -> list[Input]:
    """Return every input."""
    return list(product(*(cell.domain for cell in program.inputs)))


def are_adjacent(program: Program, first: Input, second: Input) -> bool:
    """Whether two inputs are different and adjacent in this order, by the definition."""
    if first == second:
        return False
    masks = adjacent_indices(program, [first, second])
    return any(bool(others[1]) for number, others in masks if number == 0)


def adjacent_indices(program: Program, inputs: Sequence[Input]) -> Neighbours:
    """Yield for every input which of the inputs, all of them different, follow it as adjacent."""
    match program.adjacency:
        case Listed(pairs, one_way):
            among = set(inputs)
            kept = [(u, v) for u, v in pairs if u in among and v in among]
            back = [] if one_way else [(v, u) for u, v in kept]
            yield from listed_indices([*kept, *back], inputs)
        case Everyone():
            for number in range(len(inputs)):
                yield number, np.arange(len(inputs)) != number
        case Within(Norm.L0, radius):
            codes: dict[Value, int] = {}
            coded = [[codes.setdefault(value, len(codes)) for value in input] for input in inputs]
            yield from _near(_table(coded), Norm.L0, int(radius))
        case Within(norm, radius):
            numbers = [[_number(value) for value in input] for input in inputs]
            scale = lcm(*(number.denominator for input in numbers for number in input))
            table = _table([[int(number * scale) for number in input] for input in numbers])
            yield from _near(table, norm, int(radius * scale))
        case _:
            assert_never(program.adjacency)


def _table(numbers: list[list[int]]) -> NDArray[Any]:
    """Lists of numbers as an array in which differences of rows, and their sums, are exact."""
    size = max((abs(number) for row in numbers for number in row), default=0)
    width = max((len(row) for row in numbers), default=0)
    # |Σ_cells |v - v'|| <= 2 size width: below 2^62 nothing overflows 64 bits.
    fits = 2 * size * width < _LARGEST
    return np.array(numbers, dtype=np.int64 if fits else object)


def _near(table: NDArray[Any], norm: Norm, most: int) -> Neighbours:
    """Yield for every input of integers which others are at most so far away."""
    if table.dtype == np.int64:
        most = min(most, _LARGEST)  # above every distance
    for number in range(len(table)):
        change = abs(table - table[number])
        match norm:
            case Norm.LINF:
                distance = change.max(axis=1)
            case Norm.L1:
                distance = change.sum(axis=1)
            case Norm.L0:
                distance = (change != 0).sum(axis=1)
            case Norm.INCREASING | Norm.DECREASING:
                rises = (table >= table[number]).all(axis=1)
                falls = (table <= table[number]).all(axis=1)
                one_way = rises if norm is Norm.INCREASING else falls
                distance = np.where(one_way, change.max(axis=1), most + 1)
            case _:
                assert_never(norm)
        mask: NDArray[np.bool_] = (distance <= most).astype(np.bool_)
        mask[number] = False
        yield number, mask


def _number(value: Value) -> Fraction:
    if isinstance(value, str):
        raise Stuck(f"a distance from the named value '{value}'")
    return value


def listed_indices(pairs: Sequence[Pair], inputs: Sequence[Input]) -> Neighbours:
    """Yield for every input which of the inputs follow it in `pairs`; repetitions count once."""
    place = {input: k for k, input in enumerate(inputs)}
    followers: dict[int, set[int]] = {}
    for first, second in pairs:
        followers.setdefault(place[first], set()).add(place[second])
    for first_place, others in followers.items():
        mask = np.zeros(len(inputs), dtype=np.bool_)
        mask[list(others)] = True
        yield first_place, mask


def delta_of(first: Distribution, second: Distribution, unit: int, factor: Factor) -> Enclosure:
    """Enclose delta of an ordered pair; bounds are in units of 2^-unit."""
    low = high = Fraction(0)
    for output, (p_low, p_high) in first.items():
        q_low, q_high = second.get(output, _NOTHING)
        high += max(Fraction(0), p_high - factor.lower * q_low)
        if factor.upper is not None:
            low += max(Fraction(0), p_low - factor.upper * q_high)
        elif q_high == 0:
            low += p_low
    scale = 1 << unit
    return Enclosure(low / scale, min(high / scale, Fraction(1)))


def difference_of(
    first: Distribution,
    outputs: Sequence[tuple[Value, ...]],
    second: Distribution,
    unit: int,
    factor: Factor,
) -> Enclosure:
    """Enclose Pr[first in S] - e^eps_prv Pr[second in S] for a set S of outputs."""
    p = [first.get(output, _NOTHING) for output in outputs]
    q = [second.get(output, _NOTHING) for output in outputs]
    scale = 1 << unit
    high = sum(b for _, b in p) - factor.lower * sum(a for a, _ in q)
    most = sum(b for _, b in q)
    if most and factor.upper is None:
        # Without an upper bound of e^eps_prv nothing is known from below.
        return Enclosure(min(Fraction(-2), high / scale), high / scale)
    low = sum(a for a, _ in p) - (factor.upper or 0) * most
    return Enclosure(Fraction(low) / scale, Fraction(high) / scale)


def largest(
    inputs: Sequence[Input],
    distributions: Sequence[Distribution],
    unit: int,
    factor: Factor,
    neighbours: Neighbours,
    limits: Limits,
) -> Largest:
    """Enclose the largest delta of the pairs that `neighbours` names.

    Args:
        inputs: Distinct inputs.
        distributions: Bounds of their outputs, in the same order, in units of 2^-unit.
        unit: See there.
        factor: e^eps_prv.
        neighbours: Places of first inputs, with a mask of the second inputs.
        limits: Asked for every first input.

    Raises:
        NoBounds: If the bounds are too wide to be summed.
        LimitReached: If the limits run out.
    """
    grid = _Grid(distributions, unit, factor)
    count, lower, upper = 0, 0, 0
    pair: Pair | None = None
    candidates: list[tuple[int, int, int]] = []  # (upper, first, second)
    complete = True
    for first, mask in neighbours:
        limits.check()
        seconds = np.flatnonzero(mask)
        count += len(seconds)
        if not len(seconds):
            continue
        lows, highs = grid.sums(first, seconds)
        highs[seconds == first] = 0  # e^eps_prv >= 1: an input and itself have delta 0
        at = int(lows.argmax())
        if pair is None or lows[at] > lower:
            lower, pair = int(lows[at]), (inputs[first], inputs[int(seconds[at])])
        upper = max(upper, int(highs.max()))
        chosen = np.flatnonzero(highs > lower)
        candidates = [c for c in candidates if c[0] > lower]
        if len(candidates) + len(chosen) <= _MOST_CANDIDATES:
            candidates += [(int(highs[k]), first, int(seconds[k])) for k in chosen]
        else:
            complete = False
    low, high = Fraction(lower, 2**_GRID), min(Fraction(upper, 2**_GRID), Fraction(1))
    if complete:
        high = low
        for _, u, v in candidates:
            exact = delta_of(distributions[u], distributions[v], unit, factor)
            high = max(high, exact.upper)
            if exact.lower > low:
                low, pair = exact.lower, (inputs[u], inputs[v])
    return Largest(count, Enclosure(low, max(low, high)), pair)


def touching(
    inputs: Sequence[Input],
    distributions: Sequence[Distribution],
    unit: int,
    factor: Factor,
    neighbours: Neighbours,
    limits: Limits,
) -> Iterator[tuple[Input, Input, tuple[Value, ...]]]:
    """Yield (input, adjacent one, output) where bounds allow p > e^eps_prv p'; as for `largest`."""
    grid = _Grid(distributions, unit, factor)
    known: dict[tuple[Bounds, Bounds], bool] = {}
    for first, mask in neighbours:
        limits.check()
        seconds = np.flatnonzero(mask)
        for place, column in np.argwhere(grid.may_exceed(first, seconds)).tolist():
            second, output = int(seconds[place]), grid.outputs[column]
            p = distributions[first].get(output, _NOTHING)
            q = distributions[second].get(output, _NOTHING)
            if (p, q) not in known:
                known[p, q] = p[1] > factor.lower * q[0]
            if known[p, q] and first != second:
                yield inputs[first], inputs[second], output


class _Grid:
    """Bounds of all inputs on the grid, one column for each output."""

    def __init__(self, distributions: Sequence[Distribution], unit: int, factor: Factor) -> None:
        self.outputs = list(dict.fromkeys(o for each in distributions for o in each))
        outputs = {output: k for k, output in enumerate(self.outputs)}
        shape = len(distributions), max(1, len(outputs))
        self._p_low: Integers = np.zeros(shape, dtype=np.int64)
        self._p_high: Integers = np.zeros(shape, dtype=np.int64)
        self._q_low: Integers = np.zeros(shape, dtype=np.int64)
        self._q_high: Integers = np.zeros(shape, dtype=np.int64)
        known: dict[Bounds, tuple[int, int, int, int]] = {}
        for place, distribution in enumerate(distributions):
            total = 0
            for output, bounds in distribution.items():
                if bounds not in known:
                    known[bounds] = _on_grid(bounds, unit, factor)
                column = outputs[output]
                total += known[bounds][1]
                (
                    self._p_low[place, column],
                    self._p_high[place, column],
                    self._q_low[place, column],
                    self._q_high[place, column],
                ) = known[bounds]
            if total >= _LARGEST:  # no sum of differences exceeds this one
                raise NoBounds("the bounds of the probabilities are too wide to be summed")

    def may_exceed(self, first: int, seconds: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Where p > e^eps_prv p' is not excluded: second inputs × outputs."""
        found: NDArray[np.bool_] = self._p_high[first] > self._q_low[seconds]
        return found

    def sums(self, first: int, seconds: NDArray[np.intp]) -> tuple[Integers, Integers]:
        """Return lower and upper bounds of delta for one first input, on the grid."""
        low = np.maximum(self._p_low[first] - self._q_high[seconds], 0).sum(axis=1)
        high = np.maximum(self._p_high[first] - self._q_low[seconds], 0).sum(axis=1)
        return low, high


def _on_grid(bounds: Bounds, unit: int, factor: Factor) -> tuple[int, int, int, int]:
    """Round p outward, and e^eps_prv p outward; beyond 2^57 the latter exceeds every p anyway."""
    low, high = bounds
    scale = Fraction(2**_GRID, 2**unit)
    most = 2 ** (_GRID + 1)
    # Infinity times 0 is 0 here, times anything else more than every p.
    growth = factor.upper if factor.upper is not None else Fraction(most, high * scale or 1)
    product = high * scale * growth
    return (
        _floor(low * scale),
        -_floor(-high * scale),
        min(_floor(low * scale * factor.lower), most),
        min(-_floor(-product), most),
    )


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
