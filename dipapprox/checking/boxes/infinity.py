"""Real inputs without bounds, between ends: by how little outputs change beyond these.

Let c move an input to the nearest of two ends, and let the same noise be drawn at u and at c(u).
Outputs differ only if some inequality holds at one of them and not at the other. If its form grows
with the input, that needs that at the upper end it is <= 0, or at the lower one > 0, and all beyond
is more so; let m be how far its mean is from that, at least, for all values of other inputs. Then
some of its samples is farther from its mean than t_k, on one side, where Σ |a_k| σ_k t_k <= m. For
Laplace and one-sided noise that has at most the probability e^-t, for Gaussian noise e^(-t²/2): all
t_k are chosen such that it is at most e^-x, x a multiple of 1/16.

Let τ be the sum over the inequalities, so that no probability of a set of outputs changes by more.
Then δ of u and u' is at most τ + e^eps_prv τ more than that of c(u) and c(u'), and that is a pair
of adjacent inputs: c keeps order and what is equal, and brings numbers no farther apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import assert_never

from dipapprox.checking.boxes.sets import Range
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.facts import Line
from dipapprox.checking.paths import symbolic_paths
from dipapprox.checking.values import Stuck
from dipapprox.distributions import Decay, Distribution, Family
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ZERO, _ONE = Fraction(0), Fraction(1)
_PARTS = 16
_LARGEST = 1_000
_BITS = 64

Row = tuple[Value | None, ...]


def moved(
    derived: Distributions,
    rows: Sequence[Row],
    ranges: Sequence[Range],
    free: Sequence[int],
    limits: Limits,
) -> Fraction:
    """Return τ, at least, for all values of finite inputs; see the module.

    Args:
        derived: Follows the program.
        rows: Values of finite inputs; None for real ones.
        ranges: Of the real inputs, between ends if they have no bounds.
        free: The places of those without bounds, among the real ones.
        limits: Asked throughout.

    Raises:
        Stuck: If the program cannot be followed, or an inequality has two inputs without bounds.
        LimitReached: If `limits` run out.
    """
    if not free:
        return _ZERO
    found = _ZERO
    for row in dict.fromkeys(rows):
        compared: dict[tuple[Line, tuple[Distribution, ...]], None] = {}
        for path in symbolic_paths(derived.program, derived.eps, row, limits):
            limits.check()
            for line in path.lines:
                # The opposite inequality holds where this one does not.
                key = line if line.terms[0][1] > 0 else line.times(-_ONE)
                compared[key, tuple(path.laws[symbol] for symbol, _ in line.terms)] = None
        own = (_changes(line, laws, ranges, free) for line, laws in compared)
        found = max(found, sum(own, _ZERO))
    return found


def _changes(
    line: Line, laws: Sequence[Distribution], ranges: Sequence[Range], free: Sequence[int]
) -> Fraction:
    """Bound the probability that an inequality changes its truth beyond an end."""
    names = [symbol for symbol, _ in line.terms if symbol in free]
    if not names:
        return _ZERO
    if len(names) > 1:
        raise Stuck("inputs without bounds that are compared with each other")
    slope, low, high = _ZERO, line.constant, line.constant
    noise: list[tuple[Family, Fraction]] = []
    for (symbol, c), law in zip(line.terms, laws, strict=True):
        if symbol == names[0]:
            slope = c
        elif symbol < len(ranges):
            ends = sorted(c * end for end in ranges[symbol])
            low, high = low + ends[0], high + ends[1]
        else:
            low, high = low + c * law.mean, high + c * law.mean
            noise.append((law.family, abs(c) * law.scale))
    start, stop = sorted(slope * end for end in ranges[names[0]])
    return _far(noise, min(stop + low, -(start + high)))


def _far(noise: Sequence[tuple[Family, Fraction]], room: Fraction) -> Fraction:
    """Bound the probability that a sum of noise is at least so far out on one side."""
    if any(family.is_discrete for family, _ in noise):
        raise Stuck("integer noise around inputs without bounds")
    least, most = 0, _LARGEST * _PARTS
    while least < most:
        x = (least + most + 1) // 2
        needed = sum((size * _reach(family, x) for family, size in noise), _ZERO)
        least, most = (x, most) if needed <= room else (least, x - 1)
    with precision(_BITS):
        found = to_enclosure((-to_ball(Fraction(least, _PARTS))).exp())
    if isinstance(found, NotEnclosed):
        return _ONE
    return min(found.upper * len(noise), _ONE)


def _reach(family: Family, x: int) -> Fraction:
    """Return t, at least, such that e^-x, x in parts, bounds what is beyond."""
    decay = family.decay
    match decay:
        case Decay.SQUARED:
            return Fraction(isqrt(2 * x * _PARTS) + 1, _PARTS)
        case Decay.LINEAR:
            return Fraction(x, _PARTS)
        case _:
            assert_never(decay)
