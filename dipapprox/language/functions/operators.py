"""What the operators of Python do with values that are known: by exact types, in one table.

A combination of types that does not stand here is refused where it is written, before anything is
computed; of floats there are infinities alone, and they are compared.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

WHOLE = frozenset((int, bool))
NUMBERS = WHOLE | {Fraction}
MOST_BITS = 100_000
"""Of a number, and of the length of a text or list that an operator makes."""

_ALL_NUMBERS = frozenset((a, b) for a in NUMBERS for b in NUMBERS)
_WHOLE = frozenset((a, b) for a in WHOLE for b in WHOLE)
_JOINED = frozenset(((list, list), (tuple, tuple), (str, str)))
_SETS = frozenset(((set, set),))
_REPEATED = frozenset(pair for t in (list, tuple, str) for n in WHOLE for pair in ((t, n), (n, t)))

Table = dict[type[ast.operator], tuple[Callable[[Any, Any], Any], frozenset[tuple[type, type]]]]

BINARY: Table = {
    ast.Add: (operator.add, _ALL_NUMBERS | _JOINED),
    ast.Sub: (operator.sub, _ALL_NUMBERS | _SETS),
    ast.Mult: (operator.mul, _ALL_NUMBERS | _REPEATED),
    ast.Div: (operator.truediv, _ALL_NUMBERS - _WHOLE),  # of whole numbers: a float
    ast.FloorDiv: (operator.floordiv, _ALL_NUMBERS),
    ast.Mod: (operator.mod, _ALL_NUMBERS),
    ast.Pow: (operator.pow, frozenset((a, b) for a in NUMBERS for b in WHOLE)),
    ast.BitAnd: (operator.and_, _WHOLE | _SETS),
    ast.BitOr: (operator.or_, _WHOLE | _SETS | {(dict, dict)}),
    ast.BitXor: (operator.xor, _WHOLE | _SETS),
    ast.LShift: (operator.lshift, _WHOLE),
    ast.RShift: (operator.rshift, _WHOLE),
}

UNARY: dict[type[ast.unaryop], tuple[Callable[[Any], Any], frozenset[type]]] = {
    ast.USub: (operator.neg, NUMBERS | {float}),
    ast.UAdd: (operator.pos, NUMBERS),
    ast.Invert: (operator.invert, frozenset((int,))),
}

ORDERINGS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_INFINITE = frozenset(pair for n in {*NUMBERS, float} for pair in ((n, float), (float, n)))
ORDERED = _ALL_NUMBERS | {(str, str)} | _SETS | _INFINITE


class TooLarge(Exception):
    """A result would be larger than `MOST_BITS`."""


def binary(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """Apply an operator to two known values of exact types.

    Raises:
        KeyError: If the table has no such combination.
        TooLarge: If the result would be.
        ArithmeticError: As Python raises it.
        ValueError: As Python raises it.
    """
    operate, allowed = BINARY[kind]
    if (type(left), type(right)) not in allowed:
        raise KeyError(kind)
    if kind is ast.Pow and type(left) in WHOLE and right < 0:
        raise KeyError(kind)  # a float
    if _size(kind, left, right) > MOST_BITS:
        raise TooLarge
    return operate(left, right)


def _size(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """Return a bound on the size of the result, or 0 where it cannot grow by much."""
    if kind is ast.Pow:
        return _bits(left) * abs(right)
    if kind is ast.LShift:
        return _bits(left) + max(right, 0)
    if kind is ast.Add and type(left) not in NUMBERS:
        return len(left) + len(right)
    if kind is ast.Mult:
        if type(left) in NUMBERS and type(right) in NUMBERS:
            return _bits(left) + _bits(right)
        parts, times = (right, left) if type(left) in NUMBERS else (left, right)
        return len(parts) * max(times, 0)
    return 0


def power(base: int | Fraction, exponent: int | Fraction) -> int | Fraction:
    """Return a power of exact numbers, where one was a symbol: a whole one is an int.

    Raises:
        KeyError: If it is no exact number.
        TooLarge: If it would be.
        ArithmeticError: As Python raises it.
    """
    if exponent.denominator != 1:
        raise KeyError(ast.Pow)
    if _bits(base) * abs(exponent.numerator) > MOST_BITS:
        raise TooLarge
    found = Fraction(base) ** exponent.numerator
    return int(found) if found.denominator == 1 else found


def _bits(value: int | Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
