"""Rows of whole numbers >= 0, kept as one large number: products of rows are products of numbers.

A row v_0, v_1, …, v_(n-1) is Σ v_k 2^(w k): each value has a slot of w bits (Kronecker's
substitution). As long as no value reaches 2^w, nothing carries from one slot into the next, so

    the product of two rows as polynomials      is the product of their numbers,
    an addition to every value                  is one addition,
    a division of every value by 2^b            is one shift, and a mask,
    a sum of values, if it is below 2^w - 1     is the number modulo 2^w - 1.

All but the product take a few passes over memory. Everything is exact.

Source: Harvey, Faster polynomial multiplication via multipoint Kronecker substitution, 2009.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import log

from flint import fmpz

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant

_BLOCK = 64
"""Values that are first looked at together, at the end of a row."""

_PRECISELY = 8
"""How many values these are is told up to a share of 2^-8 of the row."""


@dataclass(frozen=True, slots=True)
class Falling:
    """A bound of sums that falls with the number of values, about.

    Attributes:
        most: Its logarithm for none.
        rate: By how much that falls with every value, >= 0.
    """

    most: float
    rate: float

    def allows(self, total: int, count: int) -> bool:
        """Whether so many values may have this sum > 0."""
        return log(total) <= self.most - self.rate * count


@dataclass(frozen=True, slots=True)
class PackedRow:
    """Whole numbers, all in all below 2^slot - 1.

    Attributes:
        number: Which keeps them.
        length: How many.
        slot: Bits for each, a multiple of 8.
    """

    number: fmpz
    length: int
    slot: int

    @property
    def total(self) -> int:
        """Their sum."""
        return int(self.number % _ones(self.slot))

    def values(self) -> list[int]:
        """All of them."""
        size = self.slot // 8
        kept = int(self.number).to_bytes(size * self.length, "little")
        return [int.from_bytes(kept[k : k + size], "little") for k in range(0, len(kept), size)]

    def part(self, start: int, end: int) -> PackedRow:
        """The values from one place up to another one."""
        number = (self.number >> (self.slot * start)) & _ones(self.slot * (end - start))
        return PackedRow(number, end - start, self.slot)

    def wider(self, slot: int) -> PackedRow:
        """The same values in slots of at least so many bits."""
        return self if slot <= self.slot else row_of(self.values(), slot)

    def first_below(self, most: int, falling: Falling | None = None) -> tuple[int, int]:
        """How many of the first values, nearly, add up to at most so much, and to what.

        Args:
            most: Is enough.
            falling: So is what this allows for so many values.
        """
        return self._below(most, falling, last=False)

    def last_below(self, most: int) -> tuple[int, int]:
        """How many of the last values, nearly, add up to at most so much, and to what."""
        return self._below(most, None, last=True)

    def _below(self, most: int, falling: Falling | None, *, last: bool) -> tuple[int, int]:
        count = total = 0
        spare = self.length >> _PRECISELY
        block = max(_BLOCK, 2 * spare)
        too_many = None
        while count + spare < (self.length if too_many is None else too_many - 1):
            end = count + block if too_many is None else (count + too_many) // 2
            end = min(end, self.length)
            part = self._last(count, end) if last else self.part(count, end)
            more = total + part.total
            if more <= most or (falling and falling.allows(more, end)):
                count, total, block = end, more, 2 * block
            else:
                too_many = end
        return count, total

    def _last(self, start: int, end: int) -> PackedRow:
        """The values from one place to another one, counted from the end."""
        return self.part(self.length - end, self.length - start)


def row_of(values: Iterable[int], slot: int) -> PackedRow:
    """Keep whole numbers >= 0.

    Args:
        values: All in all below 2^slot - 1.
        slot: Least number of bits for each.
    """
    slot = -(-slot // 8) * 8
    kept = [value.to_bytes(slot // 8, "little") for value in values]
    return PackedRow(fmpz(int.from_bytes(b"".join(kept), "little")), len(kept), slot)


def product(first: PackedRow, second: PackedRow) -> PackedRow:
    """The product of two rows as polynomials.

    Args:
        first: With slots for all values of the product together.
        second: With slots of the same size.
    """
    if first.slot != second.slot:
        raise BrokenInvariant("rows of different slots are multiplied")
    length = first.length + second.length - 1 if first.length and second.length else 0
    return PackedRow(first.number * second.number, length, first.slot)


def divided(row: PackedRow, bits: int, *, up: bool) -> PackedRow:
    """Divide every value by 2^bits, rounding up or down.

    Args:
        row: With slots for every value plus 2^bits.
        bits: >= 0, less than those of a slot.
        up: Whether to round up.
    """
    count = 1 << row.length.bit_length()
    number = row.number
    if up:
        number += _repeated((1 << bits) - 1, row.slot, count) & _ones(row.slot * row.length)
    number = (number >> bits) & _repeated((1 << (row.slot - bits)) - 1, row.slot, count)
    return PackedRow(number, row.length, row.slot)


def _ones(bits: int) -> fmpz:
    """2^bits - 1."""
    return (fmpz(1) << bits) - 1


@lru_cache(maxsize=8)
def _repeated(value: int, slot: int, count: int) -> fmpz:
    """One value in so many slots."""
    return fmpz(int.from_bytes(value.to_bytes(slot // 8, "little") * count, "little"))
