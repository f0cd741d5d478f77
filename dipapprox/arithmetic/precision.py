"""Exact numbers to balls and back; the only place that sets flint's precision.

In: `int` and `Fraction`. Out: `arb` balls, and on the way back `Enclosure`s with dyadic ends.
Every conversion to a ball rounds at the precision of the enclosing `precision` block; every
conversion back is exact, or outward where the exact number would not fit into memory.

The precision is the process's. Threads take turns: a block begins when no other thread is at work
in one, so that each computes with its bits; long blocks give way now and then. Blocks nest,
callbacks of flint's functions may open more, and nothing in a block waits for another thread: no
deadlock. What a ball encloses is true at any precision; where more is read off a ball than that,
its middle say, the ball itself is asked whether it may (`legendre`, `double_functions`).

Out of an exact x, too: e^x, the factor of a privacy budget.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import Condition, active_count, local
from time import monotonic

from flint import arb, arb_series, ctx, fmpq

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.kernel.balls import turns

_GRID = 2**16
"""Balls keep exponents of any size. Ends are moved outward to multiples of 2^-65536, so that a
number such as exp(-10^12) does not become a fraction with a trillion digits."""

_LONG = 0.05  # seconds of a turn after which others may have one
_PAUSE = 0.001  # seconds for another thread to notice that it may


class _Turns:
    """Whose holder's precision is flint's.

    Attributes:
        held: The kernel's lock. A condition, so that whoever has it may let it go for a while,
            however often it was taken.
        inside: How many threads have begun a block and not ended it.
        outside: The precision where there is none.
        since: When the latest turn began.
    """

    __slots__ = ("held", "inside", "outside", "since")

    def __init__(self) -> None:
        self.held = Condition(turns.lock)
        self.inside = 0
        self.outside = ctx.prec
        self.since = monotonic()

    def after_fork(self) -> None:
        """Forget the threads that a child process has not got, and let somebody have the lock.

        What the thread that forked holds it goes on holding; what others held is theirs for ever.
        """
        self.held = Condition(turns.lock)  # which the kernel has seen to before
        if self.inside and not _own.blocks:
            ctx.prec = self.outside
        self.inside = int(_own.blocks > 0)


class _Own(local):
    """How many blocks the thread is in."""

    blocks = 0


_turns = _Turns()
_own = _Own()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turns.after_fork)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run the block at `bits` >= 2 bits, then restore the previous precision.

    No generator may yield inside such a block, and nothing in it may wait for another thread.
    """
    with _turns.held:
        outermost = not _own.blocks
        if outermost and not _turns.inside:
            _turns.outside = ctx.prec
        # A thread that gave way may have left its own precision.
        before = _turns.outside if outermost else ctx.prec
        if outermost:
            _turns.inside, _turns.since = _turns.inside + 1, monotonic()
        _own.blocks += 1
        try:
            ctx.prec = bits
            yield
        finally:
            ctx.prec = before
            _own.blocks -= 1
            _turns.inside -= outermost


def give_way() -> None:
    """Let other threads have their turn, if this one's was long; the precision stays.

    For the middle of long blocks, wherever what is at work there will not mind others at work.
    """
    if _own.blocks and active_count() > 1 and monotonic() - _turns.since > _LONG:
        bits = ctx.prec
        _turns.held.wait(_PAUSE)
        ctx.prec, _turns.since = bits, monotonic()


def to_ball(value: int | Fraction | Enclosure) -> arb:
    """Return a ball around an exact number, or all of an enclosure, a few ulps wider at most.

    Floats are not exact descriptions of anything here: a TypeError.
    """
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, int):
        return +arb(value)
    if isinstance(value, Enclosure):
        lower = to_ball(value.lower)
        return lower.union(to_ball(value.upper)) if value.width else lower
    raise TypeError(f"a ball is made from int or Fraction, got {type(value).__name__}")


def exact_fraction(point: arb) -> Fraction:
    """Return an exact, finite ball (`x.mid()`, `x.rad()`) as the fraction that it is.

    Raises:
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


def enclosure_of(ball: arb) -> Enclosure:
    """Return the same of a number that is known to be finite, and not too large.

    Raises:
        BrokenInvariant: If it is not.
    """
    found = to_enclosure(ball)
    if isinstance(found, NotEnclosed):
        raise BrokenInvariant(found.reason)
    return found


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


_LARGEST = 40_000  # e^x has about 1.44 x bits before the point; more would only fill memory
_GUARD_BITS = 8


def exponential(x: Fraction, bits: int) -> Enclosure:
    """Enclose e^x, |x| <= 40000, to a relative width of at most 2**-bits; exact for x = 0."""
    if abs(x) > _LARGEST:
        raise ValueError(f"exponent must be in [-{_LARGEST}, {_LARGEST}], got {x}")
    if x == 0:
        return Enclosure.exact(1)
    # An absolute error of x is a relative error of e^x: the digits before the point are lost.
    whole_bits = (abs(x.numerator) // x.denominator).bit_length()
    with precision(bits + whole_bits + _GUARD_BITS):
        return enclosure_of(to_ball(x).exp()).positive()


def sign_beside_exponential(constant: Fraction, factor: Fraction, exponent: Fraction) -> int:
    """Return the sign of constant - factor e^exponent."""
    if not exponent or not factor:
        value = constant - factor
        return (value > 0) - (value < 0)
    bits = 64
    while True:  # ends: e to a rational number that is not 0 is irrational
        with precision(bits):
            difference = to_ball(constant) - to_ball(factor) * to_ball(exponent).exp()
        if difference != 0:
            return 1 if difference > 0 else -1
        bits *= 2


def taylor(
    function: Callable[[arb_series], arb_series], center: arb, half: arb, terms: int
) -> list[arb]:
    """Return the first coefficients of t -> f(center + half t), f made of power series.

    To be called inside a `precision` block only: flint's longest series is the process's, too.
    """
    before, ctx.cap = ctx.cap, max(ctx.cap, terms)  # no series is longer than that
    try:
        found = function(arb_series([center, half], terms))
    finally:
        ctx.cap = before
    if found.prec < terms:
        raise BrokenInvariant("a power series that is too short")
    return [found[k] for k in range(terms)]
