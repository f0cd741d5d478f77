"""Ordered pairs as arrays of row numbers, and Lemma 2's sum over all of them in doubles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dipapprox.errors import LimitReached
from dipapprox.language.core import InputRow
from dipapprox.limits import Limits
from dipapprox.privacy.pairs.adjacency import Pair

Array = NDArray[np.float64]

MOST_PAIRS = 2**24
"""Pairs are kept as two numbers each."""

_BLOCK = 2**20
"""Most terms formed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PairList:
    """Distinct rows, and pairs of their numbers.

    Attributes:
        rows: Every row that occurs in a pair.
        first: Number of u, for every pair.
        second: Number of u'.
    """

    rows: tuple[InputRow, ...]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)

    def pair(self, index: int) -> Pair:
        """Return one pair."""
        return self.rows[self.first[index]], self.rows[self.second[index]]

    def sums(self, raised: Array, discount: Array, limits: Limits) -> Array:
        """Return Σ_o max(raised[u, o] - discount[u', o], 0) for every pair, rounded.

        Args:
            raised: Per row and output, >= 0.
            discount: The same.
            limits: Asked between blocks.
        """
        sums = np.empty(len(self.first))
        step = max(_BLOCK // max(raised.shape[1], 1), 1)
        for start in range(0, len(sums), step):
            limits.check()
            part = slice(start, start + step)
            terms = raised[self.first[part]] - discount[self.second[part]]
            sums[part] = np.maximum(terms, 0.0).sum(axis=1)
        return sums


def list_pairs(pairs: Iterable[Pair], limits: Limits) -> PairList:
    """Number the rows of pairs.

    Raises:
        LimitReached: If there are too many, or the limits run out.
    """
    numbers: dict[InputRow, int] = {}
    first: list[int] = []
    second: list[int] = []
    for u, v in pairs:
        if len(first) % 1024 == 0:
            limits.check()
        if len(first) >= MOST_PAIRS:
            raise LimitReached(f"pair limit: an interval of eps needs at most {MOST_PAIRS} pairs")
        first.append(numbers.setdefault(u, len(numbers)))
        second.append(numbers.setdefault(v, len(numbers)))
    return PairList(
        tuple(numbers), np.array(first, dtype=np.int32), np.array(second, dtype=np.int32)
    )
