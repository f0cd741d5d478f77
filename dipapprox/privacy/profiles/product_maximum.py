"""The largest delta over all pairs of independent parts: the profile's oracle for products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice

from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.search import Progress, silent
from dipapprox.privacy.products.losses import Losses
from dipapprox.privacy.products.measures import ProductAtoms
from dipapprox.privacy.products.witness import exceeding, product_witness
from dipapprox.privacy.profiles.least_factor import LeastFactor
from dipapprox.privacy.profiles.pair_maxima import Budget, ExcessSet, Maximum, improved
from dipapprox.privacy.verdict import Witness

_FACTOR_BITS = 64


class ProductMaxima:
    """A `PairMaxima` of a product.

    Args:
        losses: Of the selected pairs.
        pairs: Their number, None if unknown.
        ladder: Bits, ascending.
        progress: Told about budgets done.
    """

    def __init__(
        self,
        losses: Losses,
        pairs: int | None,
        ladder: tuple[int, ...],
        progress: Progress = silent,
    ) -> None:
        self.ladder = ladder
        self.pairs = pairs
        self.obstacle: str | None = None
        self._losses = losses
        self._progress = progress

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        """See `PairMaxima`."""
        found = []
        for done, factor in enumerate(factors):
            found.append(self._at(factor, self.ladder[0]))
            self._progress(done + 1, len(factors))
        return found

    def sharpened(self, budget: Budget, enough: Callable[[Enclosure], bool]) -> Maximum:
        """See `PairMaxima`."""
        found = Maximum(UNIT, None, self.ladder[0])
        for bits in self.ladder:
            found = improved(found, self._at(budget(max(bits, _FACTOR_BITS)), bits))
            if enough(found.delta):
                break
        return found

    def _at(self, factor: Factor, bits: int) -> Maximum:
        losses = self._losses.at(bits)
        if isinstance(losses, NotEnclosed):
            self.obstacle = self.obstacle or losses.reason
            return Maximum(UNIT, None, bits)
        if not losses:
            return Maximum(Enclosure.exact(0), None, bits)  # no pairs: nothing to tell apart
        lower = upper = Fraction(0)
        pair = losses[0].candidate.pair
        self.obstacle = self.obstacle or self._losses.loose
        for each in losses:
            delta = each.delta(factor)
            upper = max(upper, delta.upper)
            if delta.lower > lower:
                lower, pair = delta.lower, each.candidate.pair
        return Maximum(Enclosure(lower, upper), pair, bits)

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """See `PairMaxima`."""
        loss = self._losses.of(pair, bits)
        if isinstance(loss, NotEnclosed):
            return loss
        lower = _solved(loss.below, delta)
        return LeastFactor(lower, _solved(loss.above, delta), None if lower != 1 else ())

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """See `PairMaxima`."""
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
        """See `PairMaxima`. The outputs are always all that exceed."""
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
