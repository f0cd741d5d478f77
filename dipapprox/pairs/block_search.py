"""Pairs in blocks: decided in doubles where those do, each alone on the ladder where not."""

from __future__ import annotations

import numpy as np

from dipapprox.language.core import Program
from dipapprox.numerics import rounding
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.blocks import Block, RowNumbers, pair_blocks
from dipapprox.pairs.bounds import (
    Discounted,
    Numbers,
    enclosure,
    positive_part,
    stretch,
)
from dipapprox.pairs.search import Progress, Search
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import Walk

_BLOCK = 2**17
"""Most terms (pairs x outputs) of a block: a few arrays of this size stay in the cache."""

_ROWS_AT_A_TIME = 4096

NOTHING = Enclosure.exact(0)
"""What is known of the largest delta before any pair is looked at: it is >= 0."""


def search_blocks(
    search: Search,
    program: Program,
    walk: Walk,
    tables: Tables,
    total: int | None,
    progress: Progress,
) -> None:
    """Decide blocks of pairs in doubles; hand single pairs to the ladder where they do not do."""
    numbers = RowNumbers(program.inputs)
    bits = search.ladder[0]
    search.bits = max(search.bits, bits)
    bounds = _table(search, numbers, tables, bits)
    outputs = bounds.lower.shape[1]
    # Sums up to this are certainly at most delta, whatever was rounded.
    harmless = rounding.below(search.delta / stretch(outputs))
    largest, best = -1.0, None  # of the pairs decided here
    for block in pair_blocks(program.inputs, walk, max(_BLOCK // outputs, 1)):
        search.limits.check()
        upper = _sums(bounds.upper, bounds.low_discount, block)
        doubtful = np.flatnonzero(upper > harmless)
        if len(doubtful):
            lower = _sums(bounds.lower, bounds.high_discount, block)
            # A certain violation first: it ends the search.
            for place in doubtful[np.argsort(-lower[doubtful], kind="stable")].tolist():
                search.limits.check()
                search.check(_pair(numbers, block, place))
                if search.violation is not None:
                    search.cover(len(block), NOTHING)
                    return
            upper[doubtful] = -1.0  # the ladder has recorded them
        place = int(np.argmax(upper))
        if upper[place] > largest:
            largest, best = float(upper[place]), block.pair(place)
        search.cover(len(block), NOTHING)
        progress(search.checked, total)
    if best is not None:
        (least,) = _sums(bounds.lower, bounds.high_discount, best)
        search.cover(0, enclosure(least, largest, outputs, None))


def _pair(numbers: RowNumbers, block: Block, place: int) -> Pair:
    return numbers.row(int(block.first[place])), numbers.row(int(block.second[place]))


def _table(search: Search, numbers: RowNumbers, tables: Tables, bits: int) -> Discounted:
    """Bound all probabilities of all rows, some rows at a time."""
    parts: list[Discounted] = []
    for start in range(0, numbers.count, _ROWS_AT_A_TIME):
        search.limits.check()
        stop = min(start + _ROWS_AT_A_TIME, numbers.count)
        parts.append(tables.table([numbers.row(k) for k in range(start, stop)], bits))
    return Discounted(
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        np.concatenate([part.low_discount for part in parts]),
        np.concatenate([part.high_discount for part in parts]),
        None,
    )


def _sums(own: Numbers, discount: Numbers, block: Block) -> Numbers:
    sums: Numbers = positive_part(own[block.first] - discount[block.second]).sum(axis=1)
    return sums
