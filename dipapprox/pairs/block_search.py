"""Pairs in blocks: decided in doubles where those do, each alone on the ladder where not."""

from __future__ import annotations

import numpy as np

from dipapprox.numerics import rounding
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.arrays import PairArrays
from dipapprox.pairs.hockey_stick import bounds_in_doubles, enclosure, rounding_factor
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.search import Progress, Search

_NOTHING = Enclosure.exact(0)
"""What is known of the largest delta before any pair is looked at: it is >= 0."""


def search_blocks(
    search: Search, arrays: PairArrays, total: int | None, progress: Progress
) -> None:
    """Decide blocks of pairs in doubles; hand single pairs to the ladder where they do not do."""
    search.bits = max(search.bits, arrays.bits)
    factor = search.factor(FACTOR_BITS)
    # Sums up to this are certainly at most delta, whatever was rounded.
    harmless = rounding.below(search.delta / rounding_factor(arrays.outputs))
    largest = least = -1.0  # of the pairs decided here: the largest upper bound, its lower bound
    for tabled in arrays:
        bounds = bounds_in_doubles(tabled.lower, tabled.upper, factor)
        for block in tabled.blocks():
            search.limits.check()
            upper = bounds.above(block)
            doubtful = np.flatnonzero(upper > harmless)
            if len(doubtful):
                lower = bounds.below(block.take(doubtful))
                # A certain violation first: it ends the search.
                for place in doubtful[np.argsort(-lower, kind="stable")].tolist():
                    search.limits.check()
                    search.check(tabled.pair(block, place))
                    if search.violation is not None:
                        search.cover(len(block), _NOTHING)
                        return
                upper[doubtful] = -1.0  # the ladder has recorded them
            place = int(np.argmax(upper))
            if upper[place] > largest:
                largest = float(upper[place])
                (least,) = bounds.below(block.take(np.array([place])))
            search.cover(len(block), _NOTHING)
            progress(search.checked, total)
    if largest >= 0:
        search.cover(0, enclosure(least, largest, arrays.outputs, None))
