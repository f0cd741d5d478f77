"""Models of outputs on a box from their probabilities at a few of its points: see `smooth`.

Let m be the centre of a box with half-widths h, v_0 = P(m), v_i± = P(m ± h_i e_i). Where
derivatives move by at most K, P is within Σ K_ij h_i h_j / 2 of

    v_0 + Σ_i ((v_i+ + v_i-) / 2 - v_0) + Σ_i (v_i+ - v_i-) / (2 h_i) (u_i - m_i):

a chord is within K_ii h_i² / 2 of P along an axis, and if coordinates change one after the other,
what the i-th one changes differs from that at m by at most Σ_{j < i} K_ij h_i h_j. A chord's slope
is a mean of derivatives, so ∂_i P is within Σ_j K_ij h_j of it. If |∂_i P| <= r_i P, then P is
within v_0 (e^(r · h) - 1) of v_0. Otherwise P lies between its values where the coordinates along
which it rises or falls are at their ends, up to Σ L_i h_i over the other ones.

**Rounding.** Values are enclosed, and rounded once, to 2^-53 of 1; sums of 2 m + 2 such numbers are
off by at most (2 m + 2)² 2^-52 as they stay below 2 m + 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf

import numpy as np

from dipapprox.checking.boxes.models import Array, Box, Models, Row
from dipapprox.checking.boxes.smooth import Changes, changes
from dipapprox.checking.distributions import Distributions, NoBounds
from dipapprox.language.core import Input, Value
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_UP = 1 + 2.0**-40
"""More than all roundings of the bounds below, which are sums of positive numbers."""

_BITS = 64
_NARROWEST = Fraction(1, 2**200)

Point = tuple[Fraction, ...]


class ChordModels:
    """Models of a program's outputs, of any noise with a density around real inputs.

    Args:
        derived: Follows the program, and encloses probabilities.
        axes: How many real inputs there are.
        bits: For the latter.
        limits: Asked throughout.

    Attributes:
        order: The places of outputs in models.
    """

    def __init__(self, derived: Distributions, axes: int, bits: int, limits: Limits) -> None:
        self._derived, self._axes, self._limits = derived, axes, limits
        self._bounds = derived.at(bits)
        self._changes: dict[Row, dict[tuple[Value, ...], Changes]] = {}
        self.order: dict[tuple[Value, ...], int] = {}
        self._values: dict[Input, tuple[Array, Array]] = {}

    def require(self, rows: Sequence[Row]) -> None:
        """Follow the program for these finite values; all rows must be named before boxes are.

        Raises:
            Stuck: If the check cannot follow something.
            LimitReached: If limits run out.
        """
        for row in rows:
            if row not in self._changes:
                found = self._changes[row] = changes(self._derived, row, self._limits)
                for output in found:
                    self.order.setdefault(output, len(self.order))

    def on(self, row: Row, box: Box) -> Models:
        """Return models on a box.

        Raises:
            Stuck, NoBounds: If the check cannot follow or enclose something.
            LimitReached: If limits run out.
        """
        self._limits.check()
        n, m = len(self.order), self._axes
        centre = tuple((low + high) / 2 for low, high in box)
        halves = [(high - low) / 2 for low, high in box]
        if any(half and not _NARROWEST < half < 1 / _NARROWEST for half in halves):
            raise NoBounds("real inputs in ranges too narrow or too wide for doubles")
        found = Models(
            np.zeros(n),
            np.zeros((n, m)),
            np.zeros((n, m, m)),
            np.zeros(n),
            np.zeros((n, m)),
            np.zeros((n, m), dtype=np.int64),
            np.array([_above(half) for half in halves]),
            centre,
        )
        for output, own in self._changes[row].items():
            k = self.order[output]
            found.growth[k] = own.growth
            if own.curved is None:
                self._between(k, own, row, box, found)
            else:
                self._chords(k, own, row, box, found)
        return found

    def _chords(self, k: int, own: Changes, row: Row, box: Box, found: Models) -> None:
        assert own.curved is not None
        centre, halves = found.centre, [(high - low) / 2 for low, high in box]
        value, error = self._at(row, centre, k)
        middle = value
        for axis in self._turning(own, halves):
            ends = [
                self._at(row, (*centre[:axis], end, *centre[axis + 1 :]), k) for end in box[axis]
            ]
            (low, off), (high, other) = ends
            error = max(error, off, other)
            value += (low + high) / 2 - middle
            width = float(2 * halves[axis])
            found.gradients[k, axis] = (high - low) / width
            found.slope_rests[k, axis] = 2 * (off + other + 2.0**-50) / width
        curves = [_dot(line, halves) for line in own.curved]
        found.slope_rests[k] += [_above(each) for each in curves]
        for axis, half in enumerate(halves):
            if not half:  # no chord: nothing is known but that
                found.slope_rests[k, axis] = _above(own.steep[axis])
        size = 2 * self._axes + 2
        error = (size * error + size**2 * 2.0**-52) * _UP
        found.values[k], found.rests[k] = value, _above(_dot(curves, halves) / 2) + error
        if own.rates is not None:
            more = _grown(_dot(own.rates, halves))
            most = (middle + error) * _UP
            if most * more < found.rests[k]:
                moved = (most * (1 + more) + error) * _UP
                found.values[k], found.rests[k] = middle, most * more * _UP + error
                steep = np.array([moved * _above(each) for each in own.rates])
                told = np.abs(found.gradients[k]) * _UP + found.slope_rests[k]
                found.slope_rests[k], found.gradients[k] = np.minimum(steep, told) * _UP, 0.0

    def _between(self, k: int, own: Changes, row: Row, box: Box, found: Models) -> None:
        """Bound an output of which only L is known, and what rises or falls."""
        ends = zip(own.growth, found.centre, box, strict=True)
        sides = [(c, c) if not g else (low, high)[::g] for g, c, (low, high) in ends]
        (bottom, off), (top, other) = (
            self._at(row, tuple(side[place] for side in sides), k) for place in (0, 1)
        )
        free = [
            _above(steep * (high - low) / 2)
            for steep, grows, (low, high) in zip(own.steep, own.growth, box, strict=True)
            if not grows
        ]
        error = (off + other + sum(free) + 2.0**-50) * _UP
        found.values[k] = (bottom + top) / 2
        found.rests[k] = abs(top - bottom) / 2 + error
        found.slope_rests[k] = [_above(each) for each in own.steep]

    def _turning(self, own: Changes, halves: Sequence[Fraction]) -> Iterator[int]:
        """Yield the inputs that move an output on a box."""
        for axis, (half, moves) in enumerate(zip(halves, own.moves, strict=True)):
            if half and moves:
                yield axis

    def _at(self, row: Row, point: Point, k: int) -> tuple[float, float]:
        """Return about the probability of an output, and how far that is off."""
        own = iter(point)
        input = tuple(next(own) if value is None else value for value in row)
        if input not in self._values:
            self._limits.check()
            bounds = self._bounds
            values, errors = np.zeros(len(self.order)), np.zeros(len(self.order))
            for output, (low, high) in bounds.for_input(input).items():
                place = self.order.get(output)  # None: it is impossible
                if place is not None:
                    values[place] = float(Fraction(low + high, 2 << bounds.unit))
                    width = float(Fraction(high - low, 1 << bounds.unit))
                    errors[place] = (width + 2.0**-53) * _UP
            self._values[input] = values, errors
        values, errors = self._values[input]
        return float(values[k]), float(errors[k])


def _above(number: Fraction) -> float:
    return float(number) * _UP


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def _grown(exponent: Fraction) -> float:
    """Bound e^x - 1 from above, x >= 0; infinite where that is of no use."""
    if exponent > 1:
        return inf
    with precision(_BITS):
        found = to_enclosure(to_ball(exponent).exp() - 1)
    return inf if isinstance(found, NotEnclosed) else _above(found.upper)
