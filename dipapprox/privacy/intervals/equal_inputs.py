"""Pairs of inputs whose distributions are equal for every eps: nothing tells them apart.

Two inputs with the same canonical events at one eps have equal distributions there. What makes
events canonical (`events`) are permutations of samples, affine changes and sums of Gaussians, and
all of these go along when all scales are multiplied by one number. So if the scales of all samples
that are compared are multiples of one power of eps, and no weight of a choice depends on eps (what
does has no derivative bounds and ends before), the distributions are equal everywhere.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dipapprox.events.catalogue import Catalogue
from dipapprox.exact.distributions import compared_samples
from dipapprox.limits import Limits
from dipapprox.pairs.pair_list import PairList
from dipapprox.semantics.state import FinalStates

_BLOCK = 4096
"""Inputs at a time."""


def different_pairs(states: FinalStates, pairs: PairList, limits: Limits) -> PairList:
    """Leave out pairs with equal distributions at every eps, as far as that is seen.

    Raises:
        LimitReached: If the limits run out.
    """
    if len({sample.scale.power for sample in compared_samples(states)}) > 1:
        return pairs
    catalogue = Catalogue(states, Fraction(1))
    kinds: dict[object, int] = {}
    numbers: list[int] = []
    for start in range(0, len(pairs.inputs), _BLOCK):
        limits.check()
        for found in catalogue.states(pairs.inputs[start : start + _BLOCK]):
            numbers.append(kinds.setdefault(tuple(sorted(found)), len(kinds)))
    kind = np.array(numbers, np.int64)
    kept = kind[pairs.first] != kind[pairs.second]
    return pairs if kept.all() else PairList(pairs.inputs, pairs.first[kept], pairs.second[kept])
