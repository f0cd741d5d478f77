"""Does the thread that computes obey IEEE 754? Asked where runs begin and where they end.

Proofs about doubles assume that operations round to nearest and keep subnormal numbers. Both are
modes of a thread (MXCSR on x86, FPCR on ARM) that any library can change: what was linked with
`-ffast-math` flushes subnormals to 0 from the moment it is loaded, others offer it as an option.

    rounding to nearest     no bound in doubles holds without it, nor does all of flint's arithmetic
    subnormals kept         the bounds of this package hold without it, too (`rounding`, `sampled`);
                            it is asked for all the same: one proof may be wrong
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dipapprox.errors import UnsoundArithmetic

# In bits: a thread that flushes subnormals might read them as 0 in any other notation.
_SIGN = 1 << 63
_NORMAL, _SUBNORMAL = 1 << 52, 1 << 51  # 2^-1022, 2^-1023
_ONE, _HALF, _TWO = 0x3FF << 52, 0x3FE << 52, 0x400 << 52
_HALF_ULP = (0x3FF - 53) << 52  # half of the distance from 1 to the next double
_SEVEN_QUARTERS = _ONE | 3 << 50

_Case = tuple[int, int, int]

_SUBNORMALS: tuple[tuple[Callable[[Any, Any], Any], tuple[_Case, ...]], ...] = (
    (operator.add, ((_SUBNORMAL, _SUBNORMAL, _NORMAL),)),
    (operator.sub, ((_NORMAL | _SUBNORMAL, _NORMAL, _SUBNORMAL),)),
    (operator.mul, ((_NORMAL, _HALF, _SUBNORMAL), (_SUBNORMAL, _TWO, _NORMAL))),
)
"""Operations with operands, and what becomes of these where subnormal numbers are kept."""

_NEAREST: tuple[tuple[Callable[[Any, Any], Any], tuple[_Case, ...]], ...] = (
    (
        operator.add,
        (
            (_ONE, _HALF_ULP, _ONE),  # upward: one more
            (_SIGN | _ONE, _SIGN | _HALF_ULP, _SIGN | _ONE),  # downward: one more
            (_ONE + 1, _HALF_ULP, _ONE + 2),  # downward, towards 0: one less
            (_SIGN | _ONE + 1, _SIGN | _HALF_ULP, _SIGN | _ONE + 2),  # upward, towards 0
        ),
    ),
    (
        operator.mul,
        (
            (_ONE + 1, _ONE + 1, _ONE + 2),
            (_ONE + 1, _SIGN | _ONE + 1, _SIGN | _ONE + 2),
            (_ONE + 1, _SEVEN_QUARTERS, _SEVEN_QUARTERS + 2),
            (_ONE + 1, _SIGN | _SEVEN_QUARTERS, _SIGN | _SEVEN_QUARTERS + 2),
        ),
    ),
)
"""The same for rounding to nearest, ties to even."""

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
    if not all(_is_right(*each) for each in _NEAREST):
        raise UnsoundArithmetic("this thread does not round to the nearest double", _HINT)
    if not all(_is_right(*each) for each in _SUBNORMALS):
        raise UnsoundArithmetic("this thread takes subnormal doubles for 0", _HINT)


@contextmanager
def sound_arithmetic() -> Iterator[None]:
    """Require sound arithmetic before and after a block or, as a decorator, a function.

    Raises:
        UnsoundArithmetic: See `require_sound_arithmetic`; of what ends by an exception only the
            beginning is tested.
    """
    require_sound_arithmetic()
    yield
    require_sound_arithmetic()


def _is_right(operation: Callable[[Any, Any], Any], cases: tuple[_Case, ...]) -> bool:
    """Whether every case gives its result, bit by bit: comparisons may be flushed as well."""
    left, right, wanted = np.array(cases * _REPEATED, np.uint64).T
    found = operation(left.copy().view(np.float64), right.copy().view(np.float64))
    if found.tobytes() != wanted.tobytes():
        return False
    return all(_bits(operation(_double(a), _double(b))) == c for a, b, c in cases)


def _double(bits: int) -> float:
    (found,) = struct.unpack("=d", struct.pack("=Q", bits))
    return float(found)


def _bits(number: float) -> int:
    (found,) = struct.unpack("=Q", struct.pack("=d", number))
    return int(found)
