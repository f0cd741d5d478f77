"""Exact numbers to balls and back: the one place that sets flint's precision.

A ball (`arb`) is a real interval; every operation on balls encloses all results for members of
its operands, at any precision. So nothing here is wrong when the precision changes in between:
balls only get wider. The precision is the process's, so that threads take turns in `precision`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import arb, ctx, fmpq

from dipapprox.kernel.errors import NotProved, Refused, spend

MOST_BITS = 4096  # of any precision
_MOST_SHIFT = 2**22  # bits that an end may have before its point


class _Turns:
    """Whose precision it is: whoever has the lock computes, or sets flint's precision."""

    def __init__(self) -> None:
        self.lock = RLock()

    def after_fork(self) -> None:
        """Let somebody have the lock in a child process, where other threads are gone."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self.lock = RLock()


turns = _Turns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=turns.after_fork)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute at `bits` bits in the block, then at what was before."""
    if not 2 <= bits <= MOST_BITS:
        raise Refused(f"a precision of {bits} bits is not in [2, {MOST_BITS}]")
    with turns.lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def spend_balls(count: int) -> None:
    """Spend what so many exponentials of balls cost, at the current precision."""
    spend(count * (1 + ctx.prec // 64))


def to_ball(value: Fraction | int) -> arb:
    """Return a ball around an exact number, at the current precision."""
    if isinstance(value, int):
        return arb(fmpq(value))
    return arb(fmpq(value.numerator, value.denominator))


def between(lower: arb, upper: arb) -> arb:
    """Return a ball that contains both balls and everything between."""
    return lower.union(upper)


def error(bound: arb) -> arb:
    """Return a ball that contains every x with |x| <= the upper end of `bound`."""
    return arb(0, bound)


def lower_at(ball: arb, places: int) -> int:
    """Return an integer k with k / 2^places <= every member of a ball, the largest but rounding.

    It is not proved that there is one if the ball is not bounded, or k would be too long.
    """
    return _rounded(ball, ball.lower(), places, 1)


def upper_at(ball: arb, places: int) -> int:
    """Return an integer k with k / 2^places >= every member of a ball, the smallest likewise."""
    return _rounded(ball, ball.upper(), places, -1)


def _rounded(ball: arb, end: arb, places: int, sign: int) -> int:
    """Return an exact end of a ball times 2^places, rounded down if `sign` is 1, up if it is -1."""
    if not ball.is_finite():
        raise NotProved("an enclosure has no finite ends")
    mantissa, exponent = map(int, end.man_exp())
    shift = exponent + places
    if shift >= 0:
        if mantissa and shift > _MOST_SHIFT:
            raise NotProved("an enclosure has ends beyond any use")
        return mantissa << shift
    # A shift to the right rounds down, for negative numbers too.
    return sign * (sign * mantissa >> min(-shift, abs(mantissa).bit_length() + 1))
