"""The details of pairs of a product for questions about its privacy profile."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.products.losses import Losses
from dipapprox.pairs.products.measures import ProductAtoms
from dipapprox.privacy.products.witness import exceeding, product_witness
from dipapprox.privacy.profiles.details import ExcessSet
from dipapprox.privacy.profiles.least_factor import LeastFactor
from dipapprox.privacy.verdict import Witness


class ProductDetails:
    """The details of pairs by their losses; see `PairDetails`."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """See `PairDetails`."""
        loss = self._losses.of(pair, bits)
        if isinstance(loss, NotEnclosed):
            return loss
        lower = _solved(loss.below, delta)
        return LeastFactor(lower, _solved(loss.above, delta), None if lower != 1 else ())

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """See `PairDetails`."""
        loss = self._losses.of(pair, bits)
        if isinstance(loss, NotEnclosed):
            return None
        found = loss.certain(factor)
        examples = islice(exceeding(self._losses, pair, factor, bits), 1)
        outputs = tuple(row.output for row in examples)
        return ExcessSet(found.first, found.second, outputs, found.outputs, found.outputs > 0)

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`. The outputs are always all that exceed."""
        loss = self._losses.of(pair, bits)
        if isinstance(loss, NotEnclosed):
            return None
        attempt = Attempt(pair, bits, loss.delta(factor), factor)
        return product_witness(self._losses, attempt)


def _solved(atoms: ProductAtoms, delta: Fraction) -> Fraction | None:
    """Return the least x >= 1 with sum max(P - x Q, 0) <= delta; None if there is none.

    Newton's method from below on a convex function of finitely many pieces: every step but the
    last enters another piece, so it ends, with the exact solution.
    """
    if atoms.excess(None).first > delta:
        return None
    x = Fraction(1)
    while True:
        excess = atoms.excess(x)
        if excess.at(x) <= delta or not excess.second:
            return x
        x = (excess.first - delta) / excess.second
