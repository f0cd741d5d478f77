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

from dipapprox.kernel.errors import NotProved, Refused

MOST_BITS = 4096
"""Of any precision."""

_SMALLEST = 2**16
"""Ends of balls are given as multiples of 2^-65536: exponents of balls have any size."""

_MOST_SHIFT = 2**22
"""Bits that an end may have before its point."""


class _Turns:
    """Whose precision it is.

    Attributes:
        lock: Whoever has it computes; whoever else sets flint's precision takes it as well.
    """

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = RLock()

    def after_fork(self) -> None:
        """Let somebody have the lock in a child process, where other threads are gone."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self.lock = RLock()


turns = _Turns()
os.register_at_fork(after_in_child=turns.after_fork)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute at `bits` bits in the block, then at what was before.

    Raises:
        Refused: If there are too many bits.
    """
    if not 2 <= bits <= MOST_BITS:
        raise Refused(f"a precision of {bits} bits is not in [2, {MOST_BITS}]")
    with turns.lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


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


def lower(ball: arb) -> Fraction:
    """Return a rational number that no member of a ball is below.

    Raises:
        NotProved: If the ball is not bounded.
    """
    return Fraction(lower_at(ball, _SMALLEST), 2**_SMALLEST)


def upper(ball: arb) -> Fraction:
    """Return a rational number that no member of a ball is above.

    Raises:
        NotProved: If the ball is not bounded.
    """
    return Fraction(upper_at(ball, _SMALLEST), 2**_SMALLEST)


def lower_at(ball: arb, places: int) -> int:
    """Return an integer k with k / 2^places <= every member of a ball, the largest but rounding.

    Raises:
        NotProved: If the ball is not bounded, or k would have more than a few million bits.
    """
    return _floor(*_parts(ball, ball.lower()), places)


def upper_at(ball: arb, places: int) -> int:
    """Return an integer k with k / 2^places >= every member of a ball, the smallest but rounding.

    Raises:
        NotProved: If the ball is not bounded, or k would have more than a few million bits.
    """
    mantissa, exponent = _parts(ball, ball.upper())
    return -_floor(-mantissa, exponent, places)


def _parts(ball: arb, end: arb) -> tuple[int, int]:
    """Return an exact end of a ball as mantissa and exponent of 2."""
    if not ball.is_finite():
        raise NotProved("an enclosure has no finite ends")
    mantissa, exponent = end.man_exp()
    return int(mantissa), int(exponent)


def _floor(mantissa: int, exponent: int, places: int) -> int:
    """Return floor(mantissa * 2^(exponent + places))."""
    shift = exponent + places
    if shift >= 0:
        if mantissa and shift > _MOST_SHIFT:
            raise NotProved("an enclosure has ends beyond any use")
        return mantissa << shift
    # A shift to the right rounds down, for negative numbers too.
    return mantissa >> min(-shift, abs(mantissa).bit_length() + 1)
