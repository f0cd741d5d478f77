"""The one door between exact numbers and balls, and the only place that sets flint's precision.

In: `int` and `Fraction`. Out: `arb` balls, and on the way back `Enclosure`s with dyadic ends.
Every conversion to a ball rounds at the precision of the enclosing `precision` block; every
conversion back is exact, or outward where the exact number would not fit into memory.

The precision is the process's. Threads take turns: a block begins when no other thread is inside
one, so that each computes with its bits, and leaves the precision as it was. Blocks nest, callbacks
of flint's functions may open more, and nothing in a block waits for another thread: no deadlock.
What a ball encloses is true at any precision; where more is read off a ball than that, its middle
say, the ball itself is asked whether it may (`legendre`, `elementary`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from dipapprox.locks import ProcessLock
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed

_GRID = 2**16
"""Balls keep exponents of any size. Ends are moved outward to multiples of 2^-65536, so that a
number such as exp(-10^12) does not become a fraction with a trillion digits."""

_turn = ProcessLock()
"""Whose holder's precision is flint's."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run the block at `bits` >= 2 bits, alone in the process, then restore the precision.

    No generator may yield inside such a block, and nothing in it may wait for another thread.
    """
    # A fresh manager every time: a stored one is not re-entrant.
    with _turn.held, ctx.workprec(bits):
        yield


def to_ball(value: int | Fraction) -> arb:
    """Return a ball around an exact number, a few ulps wide at the current precision.

    Raises:
        TypeError: If `value` is a float: floats are not exact descriptions of anything here.
    """
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, int):
        return +arb(value)
    raise TypeError(f"a ball is made from int or Fraction, got {type(value).__name__}")


def exact_fraction(point: arb) -> Fraction:
    """Return an exact, finite ball (`x.mid()`, `x.rad()`) as the fraction that it is.

    Raises:
        ValueError: If the ball is not exact or not finite.
        OverflowError: If its exponent is beyond +-65536.
    """
    mantissa, exponent = (int(part) for part in point.man_exp())
    if abs(exponent) > _GRID:
        raise OverflowError(f"binary exponent {exponent} is out of range")
    return _dyadic(mantissa, exponent)


def to_enclosure(ball: arb) -> Enclosure | NotEnclosed:
    """Return [mid - rad, mid + rad] with exact ends, or why there is none."""
    if not ball.is_finite():
        return NotEnclosed("the numerical value is not finite")
    middle = _bounded(ball.mid())
    radius = _bounded(ball.rad())
    if middle is None or radius is None:
        return NotEnclosed("the numerical value is too large")
    # Whatever was rounded to the grid in either number is covered by one grid step each.
    (low, high), (_, spread) = middle, radius
    return Enclosure(low - spread, high + spread)


def _bounded(point: arb) -> tuple[Fraction, Fraction] | None:
    """Enclose an exact point by two fractions of bounded size; None if it is too large."""
    mantissa, exponent = (int(part) for part in point.man_exp())
    if mantissa == 0:
        return Fraction(0), Fraction(0)
    if exponent >= -_GRID:
        if exponent + mantissa.bit_length() > _GRID:
            return None
        value = _dyadic(mantissa, exponent)
        return value, value
    shift = -_GRID - exponent
    # A shift beyond the mantissa's length leaves 0 or -1, which floor division gives as well.
    low = mantissa >> min(shift, mantissa.bit_length() + 1)
    return _dyadic(low, -_GRID), _dyadic(low + 1, -_GRID)


def _dyadic(mantissa: int, exponent: int) -> Fraction:
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
