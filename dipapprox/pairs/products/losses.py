"""The largest delta of a product at one eps of the program: candidates and their atoms.

    parts -> distributions of their inputs, enclosed -> kinds of pairs -> candidates (`layout`)
          -> atoms above and below every candidate (`measures`) -> delta at any e^eps_prv

Two pairs are of one kind if their atoms are the same numbers. What is computed from the atoms alone
holds for both, whether or not their true distributions are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Protocol

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side, compare
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.divergence import Attempt, Factor, Probabilities
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, Together
from dipapprox.pairs.products.layout import (
    Kind,
    KindOf,
    Layout,
    Multiset,
    ProductCandidate,
    TooManyMultisets,
)
from dipapprox.pairs.products.measures import (
    Excess,
    PairAtoms,
    ProductAtoms,
    atoms_of,
    envelope,
    one,
)
from dipapprox.pairs.products.source import ProductSource
from dipapprox.pairs.search import Search
from dipapprox.pairs.selections import Pair, PairSelection

_GUARD_BITS = 32
_CHECKED = 64  # candidates between two looks at the limits
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class CandidateLoss:
    """The loss of a candidate, from above and from below."""

    candidate: ProductCandidate
    above: ProductAtoms
    below: ProductAtoms

    def delta(self, factor: Factor) -> Enclosure:
        """Enclose delta_{u,u'} of the candidate's pairs."""
        upper = min(self.above.excess(factor.lower).at(factor.lower), _ONE)
        lower = self.certain(factor).at(_ONE if factor.upper is None else factor.upper)
        if lower > upper:
            raise BrokenInvariant("a certain difference of probabilities is above a possible one")
        return Enclosure(lower, upper)

    def certain(self, factor: Factor) -> Excess:
        """Return what certainly exceeds: the line through it lies below delta_{u,u'}."""
        return self.below.excess(factor.upper)


class Losses:
    """The losses of all candidates among the selected pairs, bits by bits.

    Raises:
        LimitReached: If the adjacency allows too many steps of one cell.
    """

    def __init__(self, source: ProductSource, selection: PairSelection, limits: Limits) -> None:
        self.source = source
        self._limits = limits
        self._program = source.program.program
        self._layout = Layout(source.program, selection, limits)
        self._selection = selection
        self._kinds: dict[int, _Kinds] = {}
        self._known: dict[int, list[CandidateLoss]] = {}
        self.loose: str | None = None

    def candidates(self, kind_of: KindOf) -> list[ProductCandidate]:
        """See `Layout.candidates`."""
        return self._layout.candidates(kind_of)

    def at(self, bits: int) -> list[CandidateLoss] | NotEnclosed:
        """Return the losses of all candidates; or why some distribution could not be enclosed.

        Where the pairs are too many to be combined, `loose` says so: the candidates are examples
        then, each bounded from above by what all parts can do at once, whatever that costs.

        Raises:
            LimitReached: If there are too many candidates or losses, or a limit is reached.
            BrokenInvariant: If enclosures contradict each other.
        """
        if bits not in self._known:
            kinds = self._kinds_at(bits)
            above: ProductAtoms | None = None
            try:
                candidates = self.candidates(kinds.kind_of)
            except TooManyMultisets as many:
                self.loose = many.reason
                candidates = self._layout.examples(kinds.kind_of)
                above = kinds.any_of(self._layout.choices(kinds.kind_of))
            if kinds.obstacle is not None:
                return NotEnclosed(kinds.obstacle)
            found = []
            for number, each in enumerate(candidates):
                if number % _CHECKED == 0:
                    self._limits.check()
                found.append(self._loss(each, kinds, above))
            self._known[bits] = found
        return self._known[bits]

    def above(self, candidate: ProductCandidate, bits: int) -> list[PairAtoms]:
        """Return atoms of parts whose product is above all pairs of a candidate of these bits."""
        return self._kinds_at(bits).factors(candidate.kinds, 0)

    def of(self, pair: Pair, bits: int) -> CandidateLoss | NotEnclosed:
        """Return the loss of one pair; else as `at`."""
        kinds = self._kinds_at(bits)
        (found,) = self._layout.among((pair,), kinds.kind_of)
        if kinds.obstacle is not None:
            return NotEnclosed(kinds.obstacle)
        return self._loss(found, kinds)

    def _kinds_at(self, bits: int) -> _Kinds:
        return self._kinds.setdefault(bits, _Kinds(self.source, bits))

    def _loss(
        self, candidate: ProductCandidate, kinds: _Kinds, above: ProductAtoms | None = None
    ) -> CandidateLoss:
        below = kinds.product(candidate, 1)
        return CandidateLoss(candidate, above or kinds.product(candidate, 0), below)

    def alone(self, attempt: Attempt) -> Attempt:
        """Return an attempt with what is known of its own pair, not of all that look alike."""
        loss = self.of(attempt.pair, attempt.bits)
        if isinstance(loss, NotEnclosed):
            return attempt
        return replace(attempt, delta=loss.delta(attempt.factor), obstacle=None)

    def blocked(self, bits: int, obstacle: NotEnclosed, factor: Factor) -> Attempt:
        """Return an attempt at the first selected pair that was prevented by an obstacle."""
        pair = next(select_pairs(self._program, self._selection))
        return Attempt(pair, bits, UNIT, factor, obstacle=obstacle.reason)


class _Kinds:
    """Kinds of pairs of parts, by their atoms at some bits."""

    def __init__(self, source: ProductSource, bits: int) -> None:
        self._source, self._bits = source, bits
        self._scale = bits + _GUARD_BITS
        self._numbers: dict[tuple[PairAtoms, PairAtoms], Kind] = {}
        self._atoms: list[tuple[PairAtoms, PairAtoms]] = []
        self._of: dict[tuple[int, Input, Input], Kind | None] = {}
        self._powers: dict[tuple[Kind, int, int], PairAtoms] = {}
        self.obstacle: str | None = None

    def kind_of(self, part: int, first: Input, second: Input) -> Kind | None:
        """See `KindOf`. What cannot be enclosed is the `obstacle`."""
        if first == second:
            return None
        key = part, first, second
        if key not in self._of:
            self._of[key] = self._find(*self._source.of_part(part, (first, second), self._bits))
        return self._of[key]

    def _find(self, p: Probabilities | NotEnclosed, q: Probabilities | NotEnclosed) -> Kind | None:
        if isinstance(p, NotEnclosed) or isinstance(q, NotEnclosed):
            reasons = (each.reason for each in (p, q) if isinstance(each, NotEnclosed))
            self.obstacle = self.obstacle or next(reasons)
            return None
        if p is q:
            return None  # one object stands for one distribution
        atoms = atoms_of(p, q, True, self._scale), atoms_of(p, q, False, self._scale)
        number = self._numbers.setdefault(atoms, len(self._atoms))
        if number == len(self._atoms):
            self._atoms.append(atoms)
        return number

    def any_of(self, choices: Sequence[Sequence[Multiset]]) -> ProductAtoms:
        """Return atoms above all pairs in which each cluster makes one of its choices."""
        nothing = one(True, self._scale)
        counted = Counter(
            envelope(reduce(mul, self.factors(kinds, 0), nothing) for kinds in own)
            for own in choices
        )
        return ProductAtoms([nothing, *(atoms.power(n) for atoms, n in counted.items())])

    def product(self, candidate: ProductCandidate, side: int) -> ProductAtoms:
        """Multiply the atoms of a candidate, above (side 0) or below (1)."""
        return ProductAtoms([one(side == 0, self._scale), *self.factors(candidate.kinds, side)])

    def factors(self, kinds: Multiset, side: int) -> list[PairAtoms]:
        """Return the powers of kinds that are multiplied for that."""
        return [self._power(kind, number, side) for kind, number in kinds]

    def _power(self, kind: Kind, number: int, side: int) -> PairAtoms:
        key = kind, number, side
        if key not in self._powers:
            self._powers[key] = self._atoms[kind][side].power(number)
        return self._powers[key]


class ExactKinds(Protocol):
    """Kinds of pairs of parts by their closed forms."""

    @property
    def obstacle(self) -> NotEnclosed | None:
        """Why some probability has no closed form; None if none was missed so far."""

    def kind_of(self, part: int, first: Input, second: Input) -> Kind | None:
        """See `layout.KindOf`."""


class ProductPairs(Together):
    """The selected pairs of a product: the largest delta among candidates, at any precision.

    Candidates by enclosures stand for pairs that look alike at some bits; what is true of one
    exactly need not be true of the others. So closed forms have candidates of their own.

    Args:
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
        attempt = found.of_pair(search, found.pair, found.delta, self._losses.loose)
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
                pair, loose = loss.candidate.pair, self._losses.loose
                search.give_up(found.of_pair(search, pair, delta, loose))
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
