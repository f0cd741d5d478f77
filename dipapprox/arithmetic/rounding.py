"""Outward rounding: probabilities as pairs of arrays of doubles, lower <= value <= upper.

Every bound is 0, exactly, or at least `FLOOR` = 2^-900: what would be smaller is moved outward,
lower bounds to 0, upper bounds to the floor. So subnormal numbers never matter, kept or flushed to
0: sums and differences of such numbers are 0 or at least 2^-952, and nothing but a product can
underflow. Whatever becomes of a product below 2^-900, it is below 2^-900.

IEEE 754 doubles, round to nearest (`require_sound_arithmetic` makes sure of it). The result of one
addition or multiplication is then the double nearest to the exact result, or one of the two
nearest; the next double above (below) it is an upper (a lower) bound. All numbers here lie in [0,
1] up to rounding, but for factors: what overflows is infinite, an upper bound, and no NaN arises.
Where an operand makes the operation exact (adding 0, multiplying by 0 or 1) nothing is widened, so
that exact zeros and ones stay exact.

Sums of n nonnegative doubles in any order have a relative error of at most n u / (1 - n u), u =
2^-53, and no underflow error at all (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., sections 2.1 and 4.2); the factors 1 ± (n + 4) 2^-52 used here include their own rounding.

Whether the thread that computes obeys IEEE 754 is asked where runs begin and where they end: proofs
about doubles assume that operations round to nearest and keep subnormal numbers. Both are modes of
a thread (MXCSR on x86, FPCR on ARM) that any library can change: what was linked with `-ffast-math`
flushes subnormals to 0 from the moment it is loaded, others offer it as an option.

    rounding to nearest     no bound in doubles holds without it, nor does all of flint's arithmetic
    subnormals kept         the bounds of this package hold without it, too (here and in `sampled`);
                            it is asked for all the same: one proof may be wrong
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import inf
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dipapprox.errors import UnsoundArithmetic

Array = NDArray[np.float64]
FLOOR = 2.0**-900
"""The smallest positive number that is used: far above 2^-1022, where doubles lose precision."""

UNIT_ROUNDOFF = 2.0**-53  # u
UP = 1 + 2.0**-40  # more than a few roundings of positive numbers lose
SAFE = 1 + 2.0**-30  # more than 2^20 of them lose

_FLOOR, _LARGEST = Fraction(FLOOR), Fraction(float_info.max)


def below(value: Fraction) -> float:
    """Return a double <= value, for value >= 0; the nearest one or its neighbour, but for tiny."""
    if value < _FLOOR:
        return 0.0
    if value > _LARGEST:
        return float(_LARGEST)
    found = float(value)
    return found if Fraction(found) <= value else float(np.nextafter(found, 0.0))


def above(value: Fraction) -> float:
    """Return a double >= value, for value >= 0, as near as `below`, or infinity."""
    if value < _FLOOR:
        return FLOOR if value else 0.0
    if value > _LARGEST:
        return inf
    found = float(value)
    return found if Fraction(found) >= value else float(np.nextafter(found, np.inf))


def floored(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Move bounds of numbers >= 0, which may be closer to 0, to where this module wants them.

    An upper bound of 0 becomes the floor, too: a flushed one cannot be told from it.
    """
    return np.where(lower < FLOOR, 0.0, lower), np.maximum(upper, FLOOR)


def product_below(left: Array, right: Array | float) -> Array:
    """A lower bound of left * right, entries >= 0."""
    product, exact = _product(left, right)
    below = np.where(product > FLOOR, np.nextafter(product, -np.inf), 0.0)
    return np.where(exact, product, below)


def product_above(left: Array, right: Array | float) -> Array:
    """An upper bound of left * right, entries >= 0; 0 times infinity is 0."""
    product, exact = _product(left, right)
    return np.where(exact, product, np.maximum(np.nextafter(product, np.inf), FLOOR))


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def _product(left: Array, right: Array | float) -> tuple[Array, NDArray[np.bool_]]:
    """Return the rounded product, and where it is exact."""
    zero = (left == 0) | (right == 0)
    exact: NDArray[np.bool_] = zero | (left == 1) | (right == 1)
    return np.where(zero, 0.0, left * right), exact


def sum_below(left: Array, right: Array) -> Array:
    """A lower bound of left + right, entries >= 0."""
    total = left + right
    return np.where((left == 0) | (right == 0), total, np.nextafter(total, -np.inf))


def sum_above(left: Array, right: Array) -> Array:
    """An upper bound of left + right, entries >= 0."""
    total = left + right
    return np.where((left == 0) | (right == 0), total, np.nextafter(total, np.inf))


def total_below(terms: Array) -> Array:
    """Lower bounds of the sums along the last axis, entries >= 0."""
    total: Array = terms.sum(axis=-1) * (1 - (terms.shape[-1] + 4) * 2.0**-52)
    return total


def total_above(terms: Array) -> Array:
    """Upper bounds of the sums along the last axis, entries >= 0."""
    total: Array = terms.sum(axis=-1) * (1 + (terms.shape[-1] + 4) * 2.0**-52)
    return total


def tightened(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Use that the numbers bounded along the last axis sum to 1: each is 1 minus the others.

    In: bounds in [0, 1], not contradicted (`contradicts_one`). Out: bounds at least as tight.
    """
    # Σ_j≠i u_j <= up(U - u_i), and p_i = 1 - Σ_j≠i p_j >= down(1 - that). Doubles next to 0 do
    # not matter: only equal numbers have the difference 0, and then it is exact.
    others_above = np.nextafter(total_above(upper)[..., None] - upper, np.inf)
    others_below = np.nextafter(total_below(lower)[..., None] - lower, -np.inf)
    least = np.nextafter(1 - others_above, -np.inf)
    most = np.maximum(np.nextafter(1 - others_below, np.inf), FLOOR)
    return np.maximum(lower, least), np.minimum(upper, most)


def contradicts_one(lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Whether no numbers within the bounds along the last axis sum to 1, for certain."""
    found: NDArray[np.bool_] = (total_below(lower) > 1) | (total_above(upper) < 1)
    return found


# In bits: a thread that flushes subnormals might read them as 0 in any other notation.
_SIGN = 1 << 63
_NORMAL, _SUBNORMAL = 1 << 52, 1 << 51  # 2^-1022, 2^-1023
_ONE, _HALF, _TWO = 0x3FF << 52, 0x3FE << 52, 0x400 << 52
_HALF_ULP = (0x3FF - 53) << 52  # half of the distance from 1 to the next double
_SEVEN_QUARTERS = _ONE | 3 << 50
_Cases = Mapping[Callable[[Any, Any], Any], tuple[tuple[int, int, int], ...]]
"""Operations with operands, and what becomes of these."""

_SUBNORMALS: _Cases = {  # where subnormal numbers are kept
    operator.add: ((_SUBNORMAL, _SUBNORMAL, _NORMAL),),
    operator.sub: ((_NORMAL | _SUBNORMAL, _NORMAL, _SUBNORMAL),),
    operator.mul: ((_NORMAL, _HALF, _SUBNORMAL), (_SUBNORMAL, _TWO, _NORMAL)),
}
_NEAREST: _Cases = {  # where results are rounded to nearest, ties to even
    operator.add: (
        (_ONE, _HALF_ULP, _ONE),  # upward: one more
        (_SIGN | _ONE, _SIGN | _HALF_ULP, _SIGN | _ONE),  # downward: one more
        (_ONE + 1, _HALF_ULP, _ONE + 2),  # downward, towards 0: one less
        (_SIGN | _ONE + 1, _SIGN | _HALF_ULP, _SIGN | _ONE + 2),  # upward, towards 0
    ),
    operator.mul: (
        (_ONE + 1, _ONE + 1, _ONE + 2),
        (_ONE + 1, _SIGN | _ONE + 1, _SIGN | _ONE + 2),
        (_ONE + 1, _SEVEN_QUARTERS, _SEVEN_QUARTERS + 2),
        (_ONE + 1, _SIGN | _SEVEN_QUARTERS, _SIGN | _SEVEN_QUARTERS + 2),
    ),
}

_REPEATED = 9
"""How often a case occurs in an array: vector instructions and what is left over both get some."""

_HINT = (
    "a library in this process has changed how the processor computes (-ffast-math, "
    "flush_denormal, fesetround); run this in a process, or a thread, of its own"
)


def require_sound_arithmetic() -> None:
    """Test additions, subtractions and products of this thread, Python's and numpy's (20 µs).

    Raises:
        UnsoundArithmetic: If they do not round to nearest, or flush subnormal numbers to 0.
    """
    if not all(_is_right(*each) for each in _NEAREST.items()):
        raise UnsoundArithmetic("this thread does not round to the nearest double", _HINT)
    if not all(_is_right(*each) for each in _SUBNORMALS.items()):
        raise UnsoundArithmetic("this thread takes subnormal doubles for 0", _HINT)


@contextmanager
def sound_arithmetic() -> Iterator[None]:
    """Require sound arithmetic before a block, or function, and after it, if that ends well."""
    require_sound_arithmetic()
    yield
    require_sound_arithmetic()


def _is_right(
    operation: Callable[[Any, Any], Any], cases: tuple[tuple[int, int, int], ...]
) -> bool:
    """Whether every case gives its result, bit by bit: comparisons may be flushed as well."""
    left, right, wanted = np.array(cases * _REPEATED, np.uint64).T.copy()
    left, right = left.view(np.float64), right.view(np.float64)
    alone = np.array(list(map(operation, left.tolist(), right.tolist())))
    found: bytes = operation(left, right).tobytes()
    return found == wanted.tobytes() and alone.tobytes() == found
