"""Many inputs at once: columns of small numbers, and numbers for pairs and multisets of them.

A column holds one number per input. Equal things have equal numbers, so that what happens in
thousands of inputs is worked out once for each distinct combination: numpy finds the combinations,
Python looks them up. Everything is exact; nothing is hashed without being compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

FEW = 24
"""Up to so many inputs, a loop in Python is faster than numpy's set-up."""

_DENSE = 2**16
"""Numbers below this are tallied rather than sorted, if there are not much fewer of them."""

_SPARSE = 16
"""How many times as large as their count numbers may be for that."""

Bag = tuple[tuple[int, int], ...]
"""A multiset of numbers: (number, how often), ascending."""


def mapped(column: Column, image: Callable[[int], int]) -> Column:
    """Apply a function to every number >= 0; it is asked once for each distinct number."""
    if len(column) <= FEW:
        return np.array([image(number) for number in column.tolist()], np.int64)
    if int(column.max()) < min(_DENSE, _SPARSE * len(column)):
        present = np.flatnonzero(np.bincount(column))
        table = np.zeros(int(present[-1]) + 1, np.int64)
        table[present] = [image(number) for number in present.tolist()]
        dense: Column = table[column]
        return dense
    distinct, place = np.unique(column, return_inverse=True)
    sparse: Column = np.array([image(number) for number in distinct.tolist()], np.int64)[place]
    return sparse


def combined(left: Column, right: Column, image: Callable[[int, int], int]) -> Column:
    """Apply a function to every pair of numbers in [0, 2^31); once for each distinct pair.

    Numbers count objects that are in memory, so they are far below 2^31: products fit 64 bits.
    """
    if len(left) <= FEW:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([image(a, b) for a, b in pairs], np.int64)
    width = int(right.max()) + 1
    return mapped(left * width + right, lambda number: image(*divmod(number, width)))


class Pairs:
    """Numbers for pairs: sequences are pairs of a sequence and its last entry."""

    def __init__(self) -> None:
        self.contents: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.contents)

    def columns(self, left: Column, right: Column) -> Column:
        """Return the number of every pair."""
        return combined(left, right, self.number)

    def number(self, left: int, right: int) -> int:
        """Return the pair's number, the next free one for a new pair."""
        found = self._numbers.setdefault((left, right), len(self.contents))
        if found == len(self.contents):
            self.contents.append((left, right))
        return found


class Bags:
    """Numbers for multisets; 0 is the empty one. Entries may be added in any order.

    Attributes:
        contents: By number.
    """

    def __init__(self) -> None:
        self.contents: list[Bag] = [()]
        self._numbers: dict[Bag, int] = {(): 0}
        self._sums: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, bags: Column, entries: Column) -> Column:
        """Put one more entry into every bag."""
        return combined(bags, entries, self._sum)

    def _sum(self, bag: int, entry: int) -> int:
        found = self._sums.get((bag, entry))
        if found is None:
            content = _with(self.contents[bag], entry)
            found = self._numbers.setdefault(content, len(self.contents))
            if found == len(self.contents):
                self.contents.append(content)
            self._sums[bag, entry] = found
        return found


def _with(bag: Bag, entry: int) -> Bag:
    place = bisect_left(bag, (entry,))
    if place < len(bag) and bag[place][0] == entry:
        return (*bag[:place], (entry, bag[place][1] + 1), *bag[place + 1 :])
    return (*bag[:place], (entry, 1), *bag[place:])


class Tallies:
    """Multisets of numbers, each as one integer: entry k has a *unit*, a power of two, and is in
    the multiset as often as the digit there says. So they are added up by adding integers.

    Args:
        most: A multiset has at most so many entries.
    """

    def __init__(self, most: int) -> None:
        self._width = most.bit_length()
        self._entries: list[int] = []
        self._units: dict[int, int] = {}
        self._table = np.zeros(64, np.int64)

    def unit(self, entry: int) -> int:
        """Return the multiset of one entry."""
        found = self._units.get(entry)
        if found is None:
            found = self._units[entry] = 1 << self._width * len(self._entries)
            self._entries.append(entry)
        return found

    def units(self, entries: Column) -> Column:
        """Return the multisets of one entry each; of Python's integers if 64 bits are too few."""
        if (size := int(entries.max()) + 1) > len(self._table):
            spare = np.zeros(max(size, 2 * len(self._table)) - len(self._table), self._table.dtype)
            self._table = np.concatenate([self._table, spare])
        found: Column = self._table[entries]
        if not found.all():
            for entry in np.unique(entries[found == 0]).tolist():
                unit = self.unit(entry)
                if unit << self._width >= 2**63:
                    self._table = self._table.astype(object)
                self._table[entry] = unit
            found = self._table[entries]
        return found

    def content(self, tally: int) -> Bag:
        """Return the entries of a multiset, and how often it has them."""
        width, found = self._width, []
        digit = (1 << width) - 1
        for entry in self._entries:
            if count := tally & digit:
                found.append((entry, count))
            tally >>= width
            if not tally:
                break
        found.sort()
        return tuple(found)
