"""At which losses of a grid a pair is looked at: all about 0, or those next to where H bends.

H of finitely many outcomes is straight, as a function of e^loss, between the losses of outcomes;
so are chords between bounds. Knots in between would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, expm1, floor, log
from typing import cast

import numpy as np

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision
from dipapprox.composition.catalogue import outcomes_of
from dipapprox.composition.divergences import Divergences, Statement, WorstOutcomes
from dipapprox.composition.mechanisms import Mechanism
from dipapprox.composition.statements import allowed, worst_of_all
from dipapprox.proof_steps.machines import Json

_DENSE = 1 << 13
"""Knots on either side of 0 that are neighbours; others lie farther and farther apart."""

_NEAR = (-1, 0, 1, 2)  # where knots are wanted about a bend, which is between 0 and 1
_LOOKED_AT = 2_000  # losses at which it is asked which pair is the worst
_MOST_REACH = 1 << 20
_SURELY = 256


def bends_of(outcomes: Iterable[tuple[float, float]]) -> list[float]:
    """Return the losses of outcomes with masses (p, q), as far as they are finite."""
    return [log(p / q) for p, q in outcomes if p > 0 and q > 0]


def bends_of_worst(rows: Sequence[Sequence[tuple[Enclosure, Enclosure]]]) -> list[float]:
    """Return where pairs bend, and where another one of them is the worst."""
    width = max(len(row) for row in rows)
    masses = np.zeros((2, len(rows), width))
    for k, row in enumerate(rows):
        masses[:, k, : len(row)] = [
            [float(p.upper) for p, _ in row],
            [float(q.lower) for _, q in row],
        ]
    found = bends_of(zip(*masses.reshape(2, -1), strict=True))
    if not found:
        return found
    losses = np.linspace(min(found), max(found), _LOOKED_AT)
    excesses = (np.maximum(masses[0] - exp(t) * masses[1], 0).sum(axis=1) for t in losses)
    worst = [int(each.argmax()) for each in excesses]
    return found + [
        float(t) for t, (k, m) in zip(losses[1:], pairwise(worst), strict=True) if k != m
    ]


def bends_of_mechanism(mechanism: Mechanism) -> list[float] | None:
    """Return where its pair bends; None if that is straight nowhere."""
    outcomes = outcomes_of(mechanism, 64)
    if outcomes is None:
        return None
    return bends_of((float(p), float(q)) for p, q in outcomes.masses)


def sampled_bends(bends: Iterable[float], rate: Fraction, added: bool) -> list[float]:
    """Return where a pair bends on Poisson samples (`kernel.mechanisms`)."""
    factors = [1 + float(rate) * expm1(each) for each in bends] + [1 - float(rate)]
    return [-log(each) if added else log(each) for each in factors if each > 0]


def reach(counts: Callable[[int], bool]) -> int:
    """Return the first number, about, from which on nothing counts."""
    high = 2
    while high < _MOST_REACH and counts(high):
        high *= 2
    low = high // 2
    while high - low > max(high // 32, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if counts(middle) else (low, middle)
    return high + 1


def knots(low: int, high: int, bends: Iterable[float] | None) -> list[Json]:
    """Return ranges of knots from -low to high.

    Args:
        low, high: At least 1.
        bends: Where the pair bends, in steps of the grid; None if it is straight nowhere.
    """
    everywhere: list[Json] = [*reversed(_side(low, -1)), *_side(high, 1)]
    if bends is None:
        return everywhere
    near = {floor(each) + more for each in bends for more in _NEAR if -low < each < high}
    few = sorted(k for k in {-low, *near, high} if -low <= k <= high)
    return _ranges(few) if len(few) <= min(low + high, 2 * _DENSE) else everywhere


def losses_of(grid: dict[str, Json]) -> list[Fraction]:
    """The losses of knots."""
    knots, step = cast("list[list[int]]", grid["knots"]), Fraction(str(grid["step"]))
    offset = Fraction(str(grid["offset"]))
    return [k * step + offset for a, b, stride in knots for k in range(a, b + 1, stride)]


def told_above(
    statements: Sequence[tuple[Statement, int]], places: Iterable[Fraction]
) -> list[Fraction]:
    """Return what the kernel is told to bound statements at losses (`kernel.mechanisms`)."""
    known = Divergences.of(statements)
    worst = WorstOutcomes(known)
    told: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for place in sorted({abs(each) for each in places}):
        found = worst.at(float(place))
        for each in found:
            own = place if len(found) == 1 else Fraction(each.place)
            told[own] = known.order(each.less), Fraction(f"{each.gap:.12g}")
    return [number for place, own in told.items() for number in (place, *own)]


def told_below(
    statements: Sequence[tuple[Statement, int]], place: Fraction | None, delta: Fraction
) -> list[Fraction]:
    """Return two outcomes of every statement: of one best at a loss, of many for δ; none: noise."""
    with precision(_SURELY):
        if place is not None and sum(times for _, times in statements) == 1:
            worst, ((single, _),) = WorstOutcomes(Divergences.of(statements)), statements
            found = [allowed(worst.at(abs(float(place)))[0], single)]
        else:
            asked, nothing = (None, float(delta)), Fraction(0)
            found = worst_of_all(statements, nothing, asked)
            if None in found and any(found):
                found = worst_of_all(statements, nothing, asked, always=True)
    known = [each for each in found if each is not None]
    ones = Fraction(1), Fraction(1)
    return [n for own in known for n in (*own, *ones)[:4]] if len(known) == len(found) else []


def _side(far: int, sign: int) -> list[Json]:
    """Knots from 0 on, or below 0, in ranges that ascend when they are reversed below 0."""
    found: list[Json] = []
    start, stride = int(sign < 0), 1
    while start <= far:
        last = start + stride * (min(_DENSE, (far - start) // stride + 1) - 1)
        found.append([start, last, stride] if sign > 0 else [-last, -start, stride])
        start, stride = last + stride, 2 * stride
    return found


def _ranges(places: Sequence[int]) -> list[Json]:
    """Ascending numbers, as ranges of neighbours."""
    found: list[Json] = []
    first = places[0]
    for place, after in pairwise([*places, places[-1] + 2]):
        if after > place + 1:
            found.append([first, place, 1])
            first = after
    return found


def short(size: float) -> Fraction:
    """A number with few digits, about one and not above it."""
    return Fraction(int(size)) if size >= 1 else Fraction(1, ceil(1 / size))
