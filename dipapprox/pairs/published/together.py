"""All pairs of a program with real outputs at once: pairs that look alike are one class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import islice

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side, compare
from dipapprox.arithmetic.extended import BY_ENCLOSURES, EXACTLY
from dipapprox.arithmetic.precision import exponential
from dipapprox.composition.shifted_noise import ShiftedNoise, shifted_noise
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.events.event import Part, PublishedOutcome
from dipapprox.exact.real_outputs.comparison import ExactComparison
from dipapprox.limits import check_limits
from dipapprox.pairs.divergence import ExactSide, Factor, Growth, Search
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, OpenPair, Together
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.normal_form import MeasureSides, NormalMeasures
from dipapprox.pairs.published.processed import COARSE_BITS, Processed
from dipapprox.pairs.selections import Pair

MOST_PAIRS = 200_000  # more pairs than this are not gone through, one after the other
MANY_PAIRS = f"pair limit: more than {MOST_PAIRS} pairs with real outputs"
PROCESSING = "processing"  # the word for what programs prove that publish less, or more
COUPLING = "coupling"  # the word for what couplings prove, in reports
EXACT = "exact"  # the word for what comparisons of densities in closed form prove
_ARGUMENT = "densities in closed form exceed e^ε_prv times the other on a set of positive mass"
"""Why, for people, a delta that no enclosure separates from 0 is positive."""

_FEW_BITS = 64  # enough to see that something is possible
_LARGEST = Fraction(1_000)  # larger budgets are not compared
_FAR, _NEAR = Fraction(2**64), Fraction(2**20)
"""Factors at which what is left is hardly ever told from 0, and where it is told soon."""

_SOME = Fraction(65, 64)  # A factor that no quotient is likely to be


def shift_of(terms: Terms) -> ShiftedNoise | None:
    """Return what pairs with these outcomes differ by, if it is shifted noise and no more."""
    if len(terms) != 1:
        return None
    ((sides, times),) = terms
    return shifted_noise(sides.first, sides.second) if times == 1 else None


_About = tuple[Factor, Growth | None, bool]
"""Bounds of e^ε_prv, the growth that is claimed, and whether δ = 0 is."""


class _Told(Record):
    about: _About  # what was asked
    delta: Enclosure  # encloses its delta, for all factors within the bounds
    by: str  # the method
    obstacle: str | None  # why it is wide; None if only for want of bits
    bits: int  # asked for
    final: bool  # whether more bits are hardly of use


def _has_products(terms: Terms | NotEnclosed) -> bool:
    """Whether several numbers are told together, which takes long."""
    return not isinstance(terms, NotEnclosed) and any(sides.coordinates > 1 for sides, _ in terms)


class PublishedPairs(Together):
    """The selected pairs of a program.

    Args:
        divergences: Of the program at one eps.
        pairs: Yields them, every time anew: a limit may end that.
        total: The number of pairs; None if they are too many to count.
        couplings: Of the same program, which prove that nothing is left at a pure budget; None if
            only enclosures are wanted.
        claimed: The growth that all factors asked about are bounds of, if that is known.
        comparison: Of densities, where it matters whether anything is left at that growth; None if
            only enclosures are wanted.
    """

    def __init__(
        self,
        divergences: PublishedDivergences,
        pairs: Callable[[], Iterable[Pair]],
        total: int | None,
        couplings: Couplings | None = None,
        claimed: Growth | None = None,
        comparison: ExactComparison | None = None,
    ) -> None:
        super().__init__(total)
        self.divergences = divergences
        self._pairs = pairs
        self._couplings, self._claimed, self._comparison = couplings, claimed, comparison
        # What has no bound is told without closed forms as well, whatever else is asked.
        self._quotients = comparison or ExactComparison(divergences.masses.of)
        self.processed = Processed(divergences)
        self._compared: dict[tuple[MeasureSides, Growth], bool | NotEnclosed] = {}
        self._budgets: dict[Pair, Fraction | None] = {}
        self._classes: list[tuple[Terms | NotEnclosed, Pair]] | None = None
        self._open: list[OpenPair] = []
        self._before: dict[Pair, _Told] = {}

    @property
    def _pure(self) -> bool:
        return self._delta_asked is not None and not self._delta_asked

    def _growth(self, factor: Factor) -> Growth | None:
        """The growth that a factor bounds, where it matters whether anything is left there."""
        if self._claimed is None and self._pure and factor.lower == factor.upper:
            return Growth(Fraction(0), factor.lower)
        return self._claimed

    @property
    def deltas(self) -> list[tuple[Pair, Enclosure]]:
        """What is known since `at` of one pair for each class of pairs that look alike."""
        return [(pair, delta) for pair, delta, _ in self._open]

    @property
    def blocked(self) -> bool:
        return any(isinstance(terms, NotEnclosed) for terms, _ in self._classes or ())

    def at(self, factor: Factor, bits: int) -> Maximum:
        """See `Together`; a limit leaves what was told before it."""
        self.obstacle = self.ended = None
        about = factor, self._claimed, self._pure
        classes = self.classes()
        told = [self._known_of(pair, about) for _, pair in classes]
        least = max((each.delta.lower for each in told if each), default=UNIT.lower)
        try:
            for own in dict.fromkeys((min(bits, COARSE_BITS), bits)):
                for place, (terms, pair) in enumerate(classes):
                    if own < bits and (told[place] or not _has_products(terms)):
                        continue
                    check_limits()
                    found = self._asked(terms, pair, about, own, least, told[place])
                    told[place] = self._before[pair] = found
                    least = max(least, found.delta.lower)
        except LimitReached as reached:
            if not least:
                raise
            self.ended = reached.reason
        nothing = _Told(about, UNIT, "", None, bits, False)
        every = [(pair, each or nothing) for (_, pair), each in zip(classes, told, strict=True)]
        self._open = [(pair, each.delta, each.obstacle) for pair, each in every]
        if not every:
            return Maximum(Enclosure.exact(0), None, bits)
        self.obstacle = next((each.obstacle for _, each in reversed(every) if each.obstacle), None)
        certain, lower = max(every, key=lambda each: each[1].delta.lower)
        likely, upper = max(every, key=lambda each: each[1].delta.upper)
        delta = Enclosure(lower.delta.lower, upper.delta.upper)
        return Maximum(delta, certain, bits, likely, (lower.by, upper.by))

    def _known_of(self, pair: Pair, about: _About) -> _Told | None:
        """Return what was told of a pair before, if it holds for a factor that is known better."""
        before = self._before.get(pair)
        if before is None or before.about[1:] != about[1:]:
            return None
        return before if before.about[0].covers(about[0]) else None

    def _asked(
        self,
        terms: Terms | NotEnclosed,
        pair: Pair,
        about: _About,
        bits: int,
        least: Fraction,
        before: _Told | None,
    ) -> _Told:
        """Enclose the delta of a pair: by fewer bits, or by other programs, where it has to be.

        What is known before stays where some pair has more, or where it got no narrower.
        """
        if before is not None and (before.final or before.delta.upper <= least):
            return before
        obstacle, factor = None, about[0]
        delta, by = self._told(terms, pair, factor, bits)
        if not isinstance(delta, Enclosure):
            obstacle = delta.reason
            if before is not None:
                return replace(before, final=True)
            delta = self.divergences.divergence(terms, factor, min(bits, COARSE_BITS))
        if not isinstance(delta, Enclosure):
            delta, by = self._around(pair, factor, least), PROCESSING
        final = obstacle is not None
        if before is not None:
            delta = before.delta.intersect(delta, by, before.by, "δ of a pair")
            was_fine = before.bits > COARSE_BITS
            final = final or (was_fine and 2 * delta.width > before.delta.width)
        return _Told(about, delta, by, obstacle, bits, final)

    def _around(self, pair: Pair, factor: Factor, least: Fraction) -> Enclosure:
        found = self.processed.bounds(pair, factor, least)
        if found != UNIT:
            self.divergences.note(PROCESSING)
        return found

    def budget(self, pair: Pair) -> Fraction | None:
        """Return a budget at which the delta of a pair is 0, if a coupling proves one."""
        if self._couplings is not None and pair not in self._budgets:
            self._budgets[pair] = self._couplings.budget(pair)
        return self._budgets.get(pair)

    def shifts(self) -> list[tuple[ShiftedNoise, Pair]] | None:
        """Return what pairs differ by, one of each class that differs, if it is shifted noise and
        no more; None if some pair differs by something else."""
        found: list[tuple[ShiftedNoise, Pair]] = []
        for terms, pair in self.classes():
            if isinstance(terms, NotEnclosed):
                return None
            if all(sides.first == sides.second for sides, _ in terms):
                continue
            shift = shift_of(terms)
            if shift is None:
                return None
            found.append((shift, pair))
        return found

    def _is_pure(self, pair: Pair, factor: Factor) -> bool:
        """Whether e^K is at most the factor, for the budget K of a coupling."""
        budget, claimed = self.budget(pair), self._claimed
        if budget is None:
            return False
        if claimed is not None and claimed.multiple == 1:
            return budget <= claimed.rate  # both are rational: this is exact
        return budget < _LARGEST and exponential(budget, FACTOR_BITS).upper <= factor.lower

    def _told(
        self, terms: Terms | NotEnclosed, pair: Pair, factor: Factor, bits: int
    ) -> tuple[Enclosure | NotEnclosed, str]:
        """Enclose the divergence of a pair: 0 where it is proved that nothing is left; and by what.

        Densities are compared where that matters: at once at a claimed growth.
        """
        growth, nothing = self._growth(factor), Enclosure.exact(0)
        if self._is_pure(pair, factor):
            self.divergences.note(COUPLING)  # far cheaper than densities
            return nothing, COUPLING
        if self._claimed is not None and self._is_nothing(terms, growth):
            return nothing, EXACTLY
        if factor.lower > _FAR and self._pure and self._is_more(terms, growth):
            # No enclosure is narrow enough to tell; what is left at less is a bound.
            near = self.divergences.divergence(terms, Factor(_NEAR, _NEAR), COARSE_BITS)
            most = near.upper if isinstance(near, Enclosure) else UNIT.upper
            return Enclosure(nothing.lower, most), BY_ENCLOSURES[0]
        found = self.divergences.divergence(terms, factor, bits)
        certain = isinstance(found, Enclosure) and found.lower > 0
        if self._claimed is None and not certain and self._is_nothing(terms, growth):
            return nothing, EXACTLY
        return found, BY_ENCLOSURES[0]

    def _is_nothing(self, terms: Terms | NotEnclosed, growth: Growth | None) -> bool:
        """Whether densities in closed form show that nothing is left at a growth."""
        if growth is None or isinstance(terms, NotEnclosed):
            return False
        found = all(self._exceeds(sides, growth) is False for sides, _ in terms)
        if found:
            self.divergences.note(EXACT)
        return found

    def _is_more(self, terms: Terms | NotEnclosed, growth: Growth | None) -> bool:
        """Whether densities exceed a growth, of a pair whose noise is not just shifted."""
        if growth is None or isinstance(terms, NotEnclosed) or shift_of(terms) is not None:
            return False
        return any(self._exceeds(sides, growth) is True for sides, _ in terms)

    def _exceeds(self, sides: MeasureSides, growth: Growth) -> bool | NotEnclosed:
        """Whether an outcome's measure exceeds the growth times the other, exactly."""
        if self._comparison is None:
            return NotEnclosed("densities are not compared")
        key = sides, growth
        if key not in self._compared:
            self._compared[key] = self._comparison.exceeds(
                sides.first, sides.second, growth.at_one()
            )
        return self._compared[key]

    def are_compared(self, pair: Pair) -> bool:
        """Whether closed forms tell at what growth nothing is left of a pair."""
        # At 1 it is not told whether likelihoods that are equal by symmetry are.
        terms, some = self.divergences.terms(pair), Growth(Fraction(0), _SOME)
        return not isinstance(terms, NotEnclosed) and not any(
            isinstance(self._exceeds(sides, some), NotEnclosed) for sides, _ in terms
        )

    def _exceeding(self, pair: Pair, growth: Growth, bits: int) -> tuple[int, ...]:
        """Which outcomes have a set that exceeds the growth times the other, exactly.

        Any of them proves that delta is positive: it adds a positive supremum, and no outcome adds
        a negative one. The comparison relies on parts of positive mass, so their enclosures have to
        say so, too.
        """
        return self._where(pair, lambda sides: self._exceeds(sides, growth) is True, bits)

    def is_unbounded(self, pair: Pair) -> bool:
        """Whether some outcome is shown to be more likely by any factor, on some set."""
        told = self._quotients.is_unbounded
        return bool(self._where(pair, lambda own: told(own.first, own.second), _FEW_BITS))

    def _where(
        self, pair: Pair, holds: Callable[[MeasureSides], bool], bits: int
    ) -> tuple[int, ...]:
        """Which outcomes something holds of, if all their parts are known to be possible; just one
        of programs that tell less."""

        def is_possible(part: Part) -> bool:
            mass = self.divergences.masses.of((part,), bits)
            return isinstance(mass, Enclosure) and mass.lower > 0

        found = (
            number
            for number, (_, form) in enumerate(self.compared(pair))
            if holds(form.sides) and all(map(is_possible, form.sides.first))
        )
        if not isinstance(self.divergences.sides(pair), NotEnclosed):
            return tuple(found)
        one = tuple(islice(found, 1))
        if one:
            self.divergences.note(PROCESSING)
        return one

    def compared(self, pair: Pair) -> Iterable[tuple[PublishedOutcome, NormalMeasures]]:
        """Return the outcomes of a pair; where they are out of reach, of programs that tell less
        (`Processed`)."""
        sides = self.divergences.sides(pair)
        return self.processed.sides(pair) if isinstance(sides, NotEnclosed) else sides

    def side(self, pair: Pair, place: Fraction, delta: Fraction, bits: int) -> Side | NotEnclosed:
        """Compare the divergence of a pair, at a factor >= 1, with a delta; 0 exactly, too."""
        terms, factor = self.divergences.terms(pair), Factor(place, place)
        if not delta:
            growth = Growth(Fraction(0), place)
            if self._is_pure(pair, factor) or self._is_nothing(terms, growth):
                return Side.BELOW
            if self._exceeding(pair, growth, bits):
                return Side.ABOVE
        found = self.divergences.divergence(terms, factor, bits)
        if isinstance(found, Enclosure):
            return compare(found, delta)
        side = compare(self._around(pair, factor, UNIT.lower), delta)
        return found if side is Side.UNDECIDED else side

    def classes(self) -> Sequence[tuple[Terms | NotEnclosed, Pair]]:
        """Return one pair for each class of pairs that look alike.

        Pairs without densities are bounded each for itself: by what some of the numbers tell.
        """
        if self._classes is not None:
            return self._classes
        found: dict[object, tuple[Terms | NotEnclosed, Pair]] = {}
        seen: dict[int, Terms] = {}  # by identity: terms hash slowly, and mostly are known ones
        for pair in self._pairs():
            check_limits()
            terms = self.divergences.terms(pair)
            if isinstance(terms, NotEnclosed):
                found[pair] = terms, pair
            elif id(terms) not in seen:
                seen[id(terms)] = terms
                found.setdefault(terms, (terms, pair))
        self._classes = list(found.values())
        self.is_coarse = any(_has_products(terms) for terms, _ in self._classes)
        return self._classes

    def exactly(self, search: Search, found: Maximum) -> Maximum:
        """Show that delta is positive, if 0 is claimed; that it is 0 was asked already."""
        claimed = self._claimed
        if search.delta or claimed is None:
            return found
        for pair, delta, obstacle in self._open:
            check_limits()
            outcomes = self._exceeding(pair, claimed, found.bits) if delta.upper else ()
            if outcomes:
                self.divergences.note(EXACT)
                proof = ExactSide(Side.ABOVE, outcomes, _ARGUMENT)
                own = found.of_pair(search, pair, delta, obstacle)
                search.violation = replace(own, proof=proof)
                search.checked = self.pairs or 0
                break
        return found

    def confirm(self, search: Search, found: Maximum) -> None:
        assert found.pair is not None
        delta = next(delta for pair, delta, _ in self._open if pair == found.pair)
        search.violation = found.of_pair(search, found.pair, delta)
        search.checked = self.pairs or 0

    def open_pairs(self, found: Maximum, factor: Factor) -> list[OpenPair]:
        """See `Together`: all classes."""
        return self._open
