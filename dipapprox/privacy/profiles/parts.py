"""The pairs to look at, as arrays: tables of probabilities, and blocks of pairs of their rows.

All rows are tabulated once if the table fits; else pairs come in portions, each with a table of its
own rows. So a function of pairs is bounded for very many of them by a few array operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from dipapprox.language.core import InputRow, Listed, Program
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Array, BulkSource
from dipapprox.pairs.adjacency import AllPairs, Pair, PairSelection, select_pairs
from dipapprox.pairs.blocks import Block, RowNumbers, pair_blocks
from dipapprox.pairs.bounds import DOUBLE_BITS
from dipapprox.pairs.walk import Walk

_LARGEST_TABLE = 2_000_000
"""Most probabilities in a table of all rows."""

_BLOCK = 2**17
"""Most terms (pairs x outputs) of a block: a few arrays of this size stay in the cache."""

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some pairs, and certified probabilities (rows x outputs) of the rows they are made of."""

    lower: Array
    upper: Array
    blocks: Callable[[], Iterator[Block]]
    row: Callable[[int], InputRow]

    def pair(self, block: Block, place: int) -> Pair:
        """Name a pair of a block."""
        return self.row(int(block.first[place])), self.row(int(block.second[place]))


class PairParts:
    """All selected pairs in parts.

    Args:
        program: Its inputs and adjacency are used.
        selection: Which pairs.
        walk: The steps of the cells; None to take pairs one by one.
        source: Gives the probabilities.
        outputs: How many there are.
        limits: Asked for every block.

    Attributes:
        obstacle: Why some probability could not be enclosed, the first reason met; else None.
    """

    def __init__(
        self,
        program: Program,
        selection: PairSelection,
        walk: Walk | None,
        source: BulkSource,
        outputs: int,
        limits: Limits,
    ) -> None:
        self._program = program
        self._selection = selection
        self._walk = walk
        self._source = source
        self._size = max(_BLOCK // max(outputs, 1), 1)
        self._limits = limits
        self._whole: Part | None = None
        self._numbers = RowNumbers(program.inputs)
        self.in_one_table = (
            walk is not None
            and isinstance(selection, AllPairs)
            and not isinstance(program.adjacency, Listed)
            and self._numbers.count * outputs <= _LARGEST_TABLE
        )
        self.obstacle: str | None = None

    def __iter__(self) -> Iterator[Part]:
        """Yield the parts; the pairs of all their blocks are the selected ones, each once."""
        if self._whole is not None:
            yield self._whole
        elif self.in_one_table:
            yield self._one_table()
        else:
            pairs = select_pairs(self._program, self._selection)
            portion, alone = tuple(islice(pairs, self._size)), True
            while portion:
                part = self._portion(portion)
                portion = tuple(islice(pairs, self._size))
                if alone and not portion:
                    self._whole = part
                alone = False
                yield part

    def _one_table(self) -> Part:
        numbers, walk = self._numbers, self._walk
        assert walk is not None
        lower, upper = self._table([numbers.row(k) for k in range(numbers.count)])
        blocks = partial(pair_blocks, self._program.inputs, walk, self._size)
        self._whole = Part(lower, upper, blocks, numbers.row)
        return self._whole

    def _portion(self, pairs: Sequence[Pair]) -> Part:
        numbers = {row: k for k, row in enumerate(dict.fromkeys(r for pair in pairs for r in pair))}
        rows = list(numbers)
        lower, upper = self._table(rows)
        block = Block(
            np.array([numbers[u] for u, _ in pairs], np.int64),
            np.array([numbers[v] for _, v in pairs], np.int64),
        )
        return Part(lower, upper, lambda: iter((block,)), rows.__getitem__)

    def _table(self, rows: Sequence[InputRow]) -> tuple[Array, Array]:
        lower, upper = [], []
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            self._limits.check()
            found = self._source.table(rows[start : start + _ROWS_AT_A_TIME], DOUBLE_BITS)
            self.obstacle = self.obstacle or found.obstacle
            lower.append(found.lower)
            upper.append(found.upper)
        return np.concatenate(lower), np.concatenate(upper)
