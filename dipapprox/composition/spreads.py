"""Loss distributions in doubles, rounded to the side from which they bound, and wider grids.

A mass is moved to a grid that is c times as wide

- from above, at ℓ = a + r h of a < ℓ < b = a + c h, to both ends: m >= p (1 - e^(-r h)) / (1 -
  e^(-c h)) to b, and the rest of p to a. As a function of α, p (1 - α e^-ℓ)₊ is convex, p at 0,
  p (1 - e^(-r h)) at e^a and 0 from e^b on: there the two are at least that, and linear between;
- from below to the nearest place ℓ', with its Q mass: q e^(ℓ' - ℓ), rounded up.
"""

from __future__ import annotations

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import FLOOR, UNIT_ROUNDOFF, UP, Array, total_above
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import BoundSide, Losses
from dipapprox.data_classes import Record

MOST_BITS = 900  # of units of masses that are doubles
LARGEST = 2.0**900


class NoDoubles(Exception):
    """Doubles do not do."""


class Spread(Record):
    """Losses in doubles, in units of 1, from a side: see `losses`."""

    step: GridStep  # of their grid
    side: BoundSide  # from where they bound
    places: NDArray[np.int64]  # in steps, each once
    masses: Array  # p
    others: Array  # q; from above the same
    infinite: float  # the mass at infinity

    @classmethod
    def of(cls, one: Losses, share: float) -> Spread:
        """Round a run, but for its greatest losses, that have about such a share of its mass."""
        above = one.side is BoundSide.ABOVE
        if one.bits > MOST_BITS or not one.masses:
            raise NoDoubles
        places = np.array(one.places, np.int64)
        p, q = (np.ldexp(np.array(m, float), -one.bits) for m in (one.masses, one.others))
        infinite = float(one.infinite) * 2.0**-one.bits
        infinite = infinite * UP if above else infinite / UP
        down, up = 1 - 2.0**-51, 1 + 2.0**-51
        whole = cls(one.step, one.side, places, p * (up if above else down), q * up, infinite)
        return whole.without_end(share)

    def without_end(self, share: float) -> Spread:
        """Cut off the greatest losses, of about so much mass."""
        above = self.side is BoundSide.ABOVE
        kept = len(self.masses) - int(
            np.searchsorted(np.cumsum(self.masses[::-1]), share, side="right")
        )
        kept = max(kept, 1)
        infinite = self.infinite
        if above:
            infinite = (infinite + float(total_above(self.masses[kept:]))) * UP
        own = self.places[:kept], self.masses[:kept], self.others[:kept]
        return Spread(self.step, self.side, *own, infinite)

    def centred(self, weights: Array) -> Spread:
        """From below, move all to where losses are, in the mean: any place is right."""
        known = self.masses > 0
        if not known.any():
            return self
        off = np.average(np.log(self.masses[known] / self.others[known]), weights=weights[known])
        move = round(float(off) / float(self.step.loss(1)))
        with precision(96):
            factor = as_double(self.step.factor(move)) * UP
        if not factor < LARGEST:
            return self
        own = self.places + move, self.masses, np.maximum(self.others * factor, FLOOR)
        return Spread(self.step, self.side, *own, self.infinite)

    def wider(self, parts: int) -> Spread:
        """Move all to steps so many times as wide."""
        above, step = self.side is BoundSide.ABOVE, self.step
        near = self.places if above else self.places + parts // 2
        low, rest = np.divmod(near, parts)
        with precision(96):
            if above:
                whole = 1 - step.factor(-parts)
                moved = [(1 - step.factor(-k)) / whole for k in range(parts)]
                less = [1 - each for each in moved]
            else:
                moved = [step.factor(parts // 2 - k) for k in range(parts)]
                less = [arb(1)] * parts
            more, less_ = (np.array([as_double(x) for x in each]) for each in (moved, less))
        start, count = int(low[0]), int(low[-1] - low[0]) + 2
        joined = int(np.bincount(low - start).max())
        up = UP + 2 * joined * UNIT_ROUNDOFF

        def put(values: Array, to: NDArray[np.int64]) -> Array:
            return np.asarray(np.bincount(to - start, values, count), float)

        places = np.arange(start, start + count)
        if above:
            p = put(self.masses * less_[rest], low) + put(self.masses * more[rest], low + 1)
            p = p * up
            return Spread(step.wider(parts), self.side, places, p, p, self.infinite)
        p, q = put(self.masses, low) / up, put(self.others * more[rest], low) * up
        return Spread(step.wider(parts), self.side, places, p, q, self.infinite)


def as_double(ball: arb, *, up: bool = True) -> float:
    """A double above what is enclosed, if it is > 0; or not above it, if it is."""
    return float(ball.upper()) * UP if up else float(ball.lower()) / UP
