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

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.pairs.divergence import Attempt, Factor, Probabilities, Search
from dipapprox.pairs.maximum import Maximum, OpenPair, Together
from dipapprox.pairs.products.layout import (
    Kind,
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
from dipapprox.pairs.selections import Pair, PairSelection

_GUARD_BITS = 32
_CHECKED = 64  # candidates between two looks at the limits
_ONE = Fraction(1)


class CandidateLoss(Record):
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

    Attributes:
        loose: Why candidates are examples only; None if they stand for all pairs.

    Raises:
        LimitReached: If the adjacency allows too many steps of one cell.
    """

    def __init__(self, source: ProductSource, selection: PairSelection) -> None:
        self.source = source
        self.layout = Layout(source.program, selection)
        self._kinds: dict[int, _Kinds] = {}
        self._known: dict[int, list[CandidateLoss]] = {}
        self.loose: str | None = None

    def at(self, bits: int) -> list[CandidateLoss] | NotEnclosed:
        """Return the losses of all candidates; or why some distribution could not be enclosed.

        Where the pairs are too many to be combined, candidates are examples, each bounded from
        above by what all parts can do at once, whatever that costs.

        Raises:
            LimitReached: If there are too many candidates or losses, or a limit is reached.
            BrokenInvariant: If enclosures contradict each other.
        """
        if bits not in self._known:
            kinds = self.kinds(bits)
            above: ProductAtoms | None = None
            try:
                candidates = self.layout.candidates(kinds.kind_of)
            except TooManyMultisets as many:
                self.loose = many.reason
                candidates = self.layout.examples(kinds.kind_of)
                above = kinds.any_of(self.layout.choices(kinds.kind_of))
            if kinds.obstacle is not None:
                return NotEnclosed(kinds.obstacle)
            found = []
            for number, each in enumerate(candidates):
                if number % _CHECKED == 0:
                    check_limits()
                found.append(kinds.loss(each, above))
            self._known[bits] = found
        return self._known[bits]

    def of(self, pair: Pair, bits: int) -> CandidateLoss | NotEnclosed:
        """Return the loss of one pair; else as `at`."""
        kinds = self.kinds(bits)
        (found,) = self.layout.among((pair,), kinds.kind_of)
        return kinds.loss(found) if kinds.obstacle is None else NotEnclosed(kinds.obstacle)

    def kinds(self, bits: int) -> _Kinds:
        return self._kinds.setdefault(bits, _Kinds(self.source, bits))


class _Kinds:
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

    def loss(self, candidate: ProductCandidate, above: ProductAtoms | None = None) -> CandidateLoss:
        """Multiply the atoms of a candidate; those above may be known."""
        sides = (
            [one(side == 0, self._scale), *self.factors(candidate.kinds, side)] for side in (0, 1)
        )
        factors, below = sides
        return CandidateLoss(candidate, above or ProductAtoms(factors), ProductAtoms(below))

    def factors(self, kinds: Multiset, side: int) -> list[PairAtoms]:
        return [self._power(kind, number, side) for kind, number in kinds]

    def _power(self, kind: Kind, number: int, side: int) -> PairAtoms:
        key = kind, number, side
        if key not in self._powers:
            self._powers[key] = self._atoms[kind][side].power(number)
        return self._powers[key]


class ExactKinds(Protocol):
    """Kinds of pairs of parts by closed forms; `obstacle` is why some have none, if one had."""

    @property
    def obstacle(self) -> NotEnclosed | None: ...

    def kind_of(self, part: int, first: Input, second: Input) -> Kind | None: ...


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
        self._losses, self._exact, self._harmless = losses, exact, harmless
        self._known: list[CandidateLoss] | NotEnclosed = []

    def standing(self, bits: int) -> list[tuple[Pair, list[PairAtoms]]] | None:
        """See `Together`: for each candidate the atoms that are above all its pairs."""
        found = self._losses.at(bits)
        if isinstance(found, NotEnclosed) or self._losses.loose is not None:
            return None
        factors = self._losses.kinds(bits).factors
        return [(each.candidate.pair, factors(each.candidate.kinds, 0)) for each in found]

    @property
    def blocked(self) -> bool:
        """See `Together`: what makes bounds loose does not prevent others."""
        return isinstance(self._known, NotEnclosed)

    def at(self, factor: Factor, bits: int) -> Maximum:
        found = self._known = self._losses.at(bits)
        if isinstance(found, NotEnclosed):
            self.obstacle = found.reason
            return Maximum(UNIT, None, bits)
        self.obstacle = self._losses.loose
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
        own = found.of_pair(search, found.pair, found.delta, self._losses.loose)
        loss = self._losses.of(found.pair, found.bits)
        if not isinstance(loss, NotEnclosed):
            own = replace(own, delta=loss.delta(own.factor), obstacle=None)
        search.violation, search.checked = own, 1

    def open_pairs(self, found: Maximum, factor: Factor) -> list[OpenPair]:
        """See `Together`: all candidates."""
        if isinstance(self._known, NotEnclosed):
            return [(self._losses.layout.first_pair(), UNIT, self._known.reason)]
        loose = self._losses.loose
        return [(loss.candidate.pair, loss.delta(factor), loose) for loss in self._known]

    def _all_exactly(self, search: Search, exact: ExactKinds, bits: int) -> bool:
        """Compare the candidates; whether all of them are decided, none as a violation."""
        try:
            candidates = self._losses.layout.candidates(exact.kind_of)
        except LimitReached:
            check_limits()
            return False  # too many: enclosures may still decide
        if exact.obstacle is not None:
            return False
        factor = search.factor(bits)
        for each in candidates:
            check_limits()
            if not search.check_exactly(each.pair, Attempt(each.pair, bits, UNIT, factor)):
                return False
            if search.violation is not None:
                return False
        return True
