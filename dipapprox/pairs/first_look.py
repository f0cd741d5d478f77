"""A look at the likely pairs in doubles, before anything is summed for all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from dipapprox.language.core import Everyone, Program, Within
from dipapprox.numerics.enclosure import Side, compare
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.arrays import numbered
from dipapprox.pairs.hockey_stick import enclosure
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.search import Search
from dipapprox.pairs.tables import Tables

_BATCH = 28
"""Pairs of a batch: about those of one input."""

_TERMS = 2**18
"""Most probabilities of a batch, if two pairs do not take more."""


def look_first(
    search: Search, program: Program, adjacency: Within | Everyone, tables: Tables
) -> None:
    """Look for a certain violation among the likely pairs; nothing else is recorded of them.

    Args:
        search: Fresh; its first precision is within the reach of doubles. Afterwards it has a
            violation, and the number of pairs looked at, or is as it was.
        program: The program.
        adjacency: Its adjacency.
        tables: Bounds of probabilities.
    """
    bits = search.ladder[0]
    pairs = likely_pairs(program.inputs, adjacency)
    size = max(min(_BATCH, _TERMS // (2 * tables.outputs)), 2)
    looked = 0
    while batch := list(islice(pairs, size)):
        search.limits.check()
        for pair in _violating(search, batch, tables, bits):
            # The ladder's first step, which must agree, gives the witness.
            if compare(search.attempt(pair, bits).delta, search.delta) is Side.ABOVE:
                search.check(pair)
                search.checked = looked + batch.index(pair) + 1
                return
        looked += len(batch)


def _violating(search: Search, pairs: Sequence[Pair], tables: Tables, bits: int) -> Iterator[Pair]:
    """Yield the pairs whose sums of certain differences exceed delta."""
    block, rows = numbered(pairs)
    bounds = tables.table(rows, bits, search.factor(FACTOR_BITS))
    for pair, low, high in zip(pairs, bounds.below(block), bounds.above(block), strict=True):
        if enclosure(low, high, bounds.lower.shape[1], None).lower > search.delta:
            yield pair
