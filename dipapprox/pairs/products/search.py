"""All pairs of a product at once: the largest delta among candidates, at any precision.

Candidates by enclosures stand for pairs that look alike at some bits; what is true of one exactly
need not be true of the others. So closed forms have candidates of their own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side, compare
from dipapprox.errors import LimitReached
from dipapprox.language.core import Input
from dipapprox.pairs.divergence import Attempt, Factor
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, Together
from dipapprox.pairs.products.layout import Kind
from dipapprox.pairs.products.losses import CandidateLoss, Losses
from dipapprox.pairs.products.measures import PairAtoms
from dipapprox.pairs.search import Search
from dipapprox.pairs.selections import Pair

_ONE = Fraction(1)


class ExactKinds(Protocol):
    """Kinds of pairs of parts by their closed forms."""

    @property
    def obstacle(self) -> NotEnclosed | None:
        """Why some probability has no closed form; None if none was missed so far."""

    def kind_of(self, part: int, first: Input, second: Input) -> Kind | None:
        """See `layout.KindOf`."""


class ProductPairs(Together):
    """The selected pairs of a product.

    Args:
        losses: Of these pairs.
        exact: The closed forms that the search's exact decisions use, if they may be used.
        total: The number of the pairs, if known.
        harmless: A delta above it is enough to know.
    """

    def __init__(
        self, losses: Losses, exact: ExactKinds | None, total: int | None, harmless: Fraction = _ONE
    ) -> None:
        super().__init__(total)
        self._losses = losses
        self._harmless = harmless
        self._exact = exact
        self._known: list[CandidateLoss] | None = None
        self._missing: NotEnclosed | None = None

    def standing(self, bits: int) -> list[tuple[Pair, list[PairAtoms]]] | None:
        """See `Together`: for each candidate the atoms that are above all its pairs."""
        found = self._losses.at(bits)
        if isinstance(found, NotEnclosed) or self._losses.loose is not None:
            return None
        above = self._losses.above
        return [(each.candidate.pair, above(each.candidate, bits)) for each in found]

    @property
    def blocked(self) -> bool:
        """See `Together`: what makes bounds loose does not prevent others."""
        return self._missing is not None

    def at(self, factor: Factor, bits: int) -> Maximum:
        """See `Together`."""
        found = self._losses.at(bits)
        if isinstance(found, NotEnclosed):
            self._missing, self.obstacle = found, found.reason
            return Maximum(UNIT, None, bits)
        self._known, self.obstacle = found, self._losses.loose
        if not found:
            return Maximum(Enclosure.exact(0), None, bits)  # no pairs: nothing to tell apart
        lower = upper = Fraction(0)
        certain = likely = found[0].candidate.pair
        for each in found:
            delta = each.delta(factor)
            if delta.upper > upper:
                upper, likely = delta.upper, each.candidate.pair
            if delta.lower > lower:
                lower, certain = delta.lower, each.candidate.pair
            if lower > self._harmless:
                return Maximum(Enclosure(lower, _ONE), certain, bits)
        return Maximum(Enclosure(lower, upper), certain, bits, likely)

    def exactly(self, search: Search, found: Maximum) -> Maximum:
        """Compare all candidates of the closed forms exactly, up to a violation."""
        if self._exact is None or not self._all_exactly(search, self._exact, found.bits):
            search.checked = 0 if search.violation is None else 1
            return found
        # They stand for all pairs.
        return Maximum(search.known.enclosure(), None, found.bits, by=search.known.by)

    def confirm(self, search: Search, found: Maximum) -> None:
        """Record the pair, with what is known of it and not of all that look alike."""
        assert found.pair is not None
        factor = search.factor(max(found.bits, FACTOR_BITS))
        attempt = Attempt(found.pair, found.bits, found.delta, factor, obstacle=self._losses.loose)
        search.violation = self._losses.alone(attempt)
        search.checked = 1

    def give_up(self, search: Search, found: Maximum) -> bool:
        """Leave all candidates undecided that are."""
        factor = search.factor(max(found.bits, FACTOR_BITS))
        if self._known is None:
            assert self._missing is not None
            search.give_up(self._losses.blocked(found.bits, self._missing, factor))
        for loss in self._known or ():
            delta = loss.delta(factor)
            if compare(delta, search.delta) is Side.UNDECIDED:
                pair = loss.candidate.pair
                search.give_up(
                    Attempt(pair, found.bits, delta, factor, obstacle=self._losses.loose)
                )
        search.checked = self._total or 0
        return True

    def _all_exactly(self, search: Search, exact: ExactKinds, bits: int) -> bool:
        """Compare the candidates; whether all of them are decided, none as a violation."""
        try:
            candidates = self._losses.candidates(exact.kind_of)
        except LimitReached:
            search.limits.check()
            return False  # too many: enclosures may still decide
        if exact.obstacle is not None:
            return False
        factor = search.factor(bits)
        for each in candidates:
            search.limits.check()
            if not search.check_exactly(each.pair, Attempt(each.pair, bits, UNIT, factor)):
                return False
            if search.violation is not None:
                return False
        return True
