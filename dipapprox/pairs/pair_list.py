"""Ordered pairs as arrays of input numbers, and Lemma 2's sum over all of them in doubles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.pairs.hockey_stick import positive_part
from dipapprox.pairs.selections import Pair

Array = NDArray[np.float64]

MOST_PAIRS = 2**21
"""Pairs are kept as two numbers each, and sums over all of them are formed in doubles: with this
many a run stays far below 500 MB."""

_BLOCK = 2**20
"""Most terms formed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PairList:
    """Distinct inputs, and pairs of their numbers.

    Attributes:
        inputs: Every input that occurs in a pair.
        first: Number of u, for every pair.
        second: Number of u'.
    """

    inputs: tuple[Input, ...]
    first: NDArray[np.int32]
    second: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)

    def pair(self, index: int) -> Pair:
        """Return one pair."""
        return self.inputs[self.first[index]], self.inputs[self.second[index]]

    def sums(self, raised: Array, scaled: Array, limits: Limits) -> Array:
        """Return Σ_o max(raised[u, o] - scaled[u', o], 0) for every pair, rounded.

        Args:
            raised: Per input and output, >= 0.
            scaled: The same.
            limits: Asked between blocks.
        """
        sums = np.empty(len(self.first))
        step = max(_BLOCK // max(raised.shape[1], 1), 1)
        for start in range(0, len(sums), step):
            limits.check()
            part = slice(start, start + step)
            terms = positive_part(raised[self.first[part]] - scaled[self.second[part]])
            sums[part] = terms.sum(axis=1)
        return sums


def pair_limit(count: str) -> str:
    """Say that there are too many pairs for a list of them."""
    return f"pair limit: {count} pairs; an interval needs at most {MOST_PAIRS}; use --pairs"


def list_pairs(pairs: Iterable[Pair], limits: Limits) -> PairList:
    """Number the inputs of pairs.

    Raises:
        LimitReached: If there are too many, or the limits run out.
    """
    numbers: dict[Input, int] = {}
    first: list[int] = []
    second: list[int] = []
    for u, v in pairs:
        if len(first) % 1024 == 0:
            limits.check()
        if len(first) >= MOST_PAIRS:
            raise LimitReached(pair_limit(f"more than {MOST_PAIRS}"))
        first.append(numbers.setdefault(u, len(numbers)))
        second.append(numbers.setdefault(v, len(numbers)))
    return PairList(
        tuple(numbers), np.array(first, dtype=np.int32), np.array(second, dtype=np.int32)
    )
