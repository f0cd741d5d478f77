"""The hockey-stick divergence over arrays: Lemma 2's sum for many pairs, all roundings counted.

A term max(p_u(o) - e^eps_prv p_u'(o), 0) needs p_u(o) from u and the *scaled* e^eps_prv p_u'(o)
from u'. Scaled probabilities are formed once for each row, rounded outward; a pair then costs
subtractions, maxima and sums only. There are two arithmetics with the same operations:

Doubles. Let u = 2^-53. The inputs are certified: L <= p <= U, and so are the scaled ones, products
rounded outward; all are 0 or at least 2^-900 (`rounding`), or infinite. Addition and subtraction
have a relative error of at most u, results are 0 or at least 2^-952, whether or not subnormal
numbers are flushed, and a difference is <= 0 after rounding only if it was before. So every
positive computed term t' obeys t (1 - u) <= t' <= t (1 + u), the others are exactly 0, and a sum
of k terms, in any order and any grouping, has a relative error of at most k u / (1 - k u) on top
(Higham, *Accuracy and Stability of Numerical Algorithms*, section 4.2). With at most 2^20
additions the true value is within a factor 1 +- (additions + 2) 2^-52 of the computed one, and
that factor is applied exactly, on rationals, in `enclosure`.

Integers. Probabilities, scaled or not, are rounded outward to multiples of 2^-scale; differences,
maxima and sums are exact. For precisions beyond doubles; arrays of Python integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.walk import Block

Numbers = NDArray[Any]  # doubles or Python integers
Places = NDArray[np.integer[Any]]
MOST_ADDITIONS = 2**20
DOUBLE_BITS = 45
"""Widths above 2**-45 are within the reach of doubles: their sums lose a few units of 2**-53."""

_ONE = Fraction(1)
_GUARD_BITS = 16


class HockeyStickBounds(Record):
    """Probabilities, as they enter terms from the side of u and from the side of u'.

    Arrays of one shape (rows x outputs, or a list of cells).
    """

    lower: Numbers
    upper: Numbers
    low_scaled: Numbers  # at most e^eps_prv p
    high_scaled: Numbers  # at least e^eps_prv p; doubles may be infinite
    scale: int | None  # numbers are integers in units of 2**-scale; None for doubles

    def take(self, places: NDArray[np.intp]) -> HockeyStickBounds:
        lower, upper = self.lower[places], self.upper[places]
        low, high = self.low_scaled[places], self.high_scaled[places]
        return HockeyStickBounds(lower, upper, low, high, self.scale)

    def least(self, first: Places, second: Places) -> Numbers:
        """Return lower bounds of the terms of pairs, to be added up and handed to `enclosure`:
        by places of u, and of u', on the first axis."""
        return positive_differences(self.lower, first, self.high_scaled, second)

    def most(self, first: Places, second: Places) -> Numbers:
        return positive_differences(self.upper, first, self.low_scaled, second)

    def below(self, block: Block) -> Numbers:
        """Return lower bounds of the sums of the pairs of a block, for a table of rows."""
        sums: Numbers = self.least(block.first, block.second).sum(axis=1)
        return sums

    def above(self, block: Block) -> Numbers:
        sums: Numbers = self.most(block.first, block.second).sum(axis=1)
        return sums


def rounding_factor(additions: int) -> Fraction:
    """Return a factor that takes every sum of so many terms, in doubles, above the true one."""
    return 1 + Fraction(additions + 2, 2**52)


def enclosure(
    lower: int | float, upper: int | float, additions: int, scale: int | None
) -> Enclosure:
    """Turn two sums of terms into an enclosure inside [0, 1].

    Args:
        lower: A sum of positive parts of `lower` - `high_scaled`.
        upper: A sum of positive parts of `upper` - `low_scaled`.
        additions: At least the number of terms in the sums, at most `MOST_ADDITIONS`.
        scale: As in `HockeyStickBounds`.

    Raises:
        BrokenInvariant: If the probabilities were not those of distributions: a bug.
    """
    if additions > MOST_ADDITIONS:
        raise BrokenInvariant("more additions than the rounding of sums is proved for")
    if scale is not None:
        assert isinstance(lower, int) and isinstance(upper, int)
        low, high = Fraction(lower, 2**scale), Fraction(upper, 2**scale)
    else:
        # float() turns numpy's doubles into Python's: exact, and Fraction takes only those.
        low = Fraction(float(lower)) * (2 - rounding_factor(additions))
        high = Fraction(float(upper)) * rounding_factor(additions)
    if low > min(high, _ONE):
        raise BrokenInvariant("a certain difference of probabilities is above 1")
    return Enclosure(low, min(high, _ONE))


def bounds_in_doubles(
    lower: NDArray[np.float64], upper: NDArray[np.float64], factor: Factor
) -> HockeyStickBounds:
    """Scale certified doubles 0 <= lower <= p <= upper."""
    least = rounding.below(factor.lower)
    most = inf if factor.upper is None else rounding.above(factor.upper)
    # An output that cannot occur under u' stays so, however large the factor.
    low = rounding.product_below(lower, least)
    high = rounding.product_above(upper, most)
    return HockeyStickBounds(lower, upper, low, high, None)


def bounds_in_integers(
    enclosures: Sequence[Enclosure], factor: Factor, bits: int
) -> HockeyStickBounds:
    """Round enclosures, scaled or not, outward to integers in units of 2**-(bits + 16)."""
    scale = bits + _GUARD_BITS
    unit = 2**scale
    never = 2 * unit  # above every probability: what an infinite factor amounts to
    size = len(enclosures)
    columns = np.zeros((4, size), dtype=object)
    for k, p in enumerate(enclosures):
        columns[0, k] = (p.lower * unit).__floor__()
        columns[1, k] = (p.upper * unit).__ceil__()
        columns[2, k] = (factor.lower * p.lower * unit).__floor__()
        if p.upper:
            top = None if factor.upper is None else factor.upper * p.upper * unit
            columns[3, k] = never if top is None else top.__ceil__()
    lower, upper, low, high = columns
    return HockeyStickBounds(lower, upper, low, high, scale)


def positive_differences(own: Numbers, first: Places, scaled: Numbers, second: Places) -> Numbers:
    """Return max(own[u] - scaled[u'], 0) for places of u, and of u', on the first axis."""
    # `take` gathers short rows several times as fast as an index does.
    terms: Numbers = own.take(first, axis=0)
    terms -= scaled.take(second, axis=0)
    return positive_part(terms)


def positive_part(numbers: Numbers) -> Numbers:
    """Return max(·, 0) in place."""
    positive: Numbers = np.maximum(numbers, 0, out=numbers)
    return positive
