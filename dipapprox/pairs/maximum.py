"""The largest delta_{u,u'} at one eps_prv, and all pairs together against a claim on it.

bits := the first precision
bound the largest delta  --- <= claimed ----> DP
^      |      |
|  undecided  +--- > claimed -----------> the pair that attains the lower bound, checked alone
|      |
|      +--- the first time: exact forms, as far as they are for all pairs together
|      |
|      +--- exact forms for single pairs, and `elsewhere` ------> another way
|      |
+- bits left? -- no --------------------> the pairs that may attain the upper bound: Unknown

No `refined`: between two precisions other methods are asked, and what is found ends in a `Search`.

Which pair is named. Sums of doubles differ in their last bits from machine to machine: a library
adds in the order that suits the processor. Where several pairs attain a maximum, as the mirror
images of a symmetric program do, the greatest of the computed numbers would name now this one, now
that. So numbers that are alike up to a relative 2^-40 count as equal, and the first of these pairs
is named, or the simplest. Its own bound is what is stated of it; what is lost is next to nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, Side, compare
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended, GivenBy
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import Progress, check_limits, silent
from dipapprox.pairs.divergence import Attempt, Factor, Growth, Search, refined
from dipapprox.pairs.hockey_stick import Numbers
from dipapprox.pairs.products import measures
from dipapprox.pairs.selections import Pair

FactorAt = Callable[[int], Factor]  # bounds of e^eps_prv at a number of bits
Enough = Callable[[Enclosure], bool]
FACTOR_BITS = 64
"""At least asked of e^eps_prv: more than doubles have, so that it is not what makes bounds wide."""


class Maximum(Record):
    delta: Enclosure  # encloses it
    pair: Pair | None  # a pair whose delta is at least `delta.lower`; None if there are no pairs
    bits: int  # asked for to get here
    likely: Pair | None = None  # a pair whose upper bound is `delta.upper`, where one is known
    by: GivenBy = BY_ENCLOSURES  # the methods that gave the ends of `delta`

    @property
    def told(self) -> Extended:
        return Extended(self.delta.lower, self.delta.upper, *self.by)

    def of_pair(
        self, search: Search, pair: Pair, delta: Enclosure, obstacle: str | None = None
    ) -> Attempt:
        factor = search.factor(max(self.bits, FACTOR_BITS))
        return Attempt(pair, self.bits, delta, factor, obstacle=obstacle)


OpenPair = tuple[Pair, Enclosure, str | None]
"""A pair, what encloses its delta, and why that is wide; None if only for want of bits."""


class Together(ABC):
    """All selected pairs at once, at any precision; named where one of them is what matters.

    Args:
        pairs: Their number; None if they are infinitely many, or too many to count.

    Attributes:
        obstacle: Why bounds are wide; None if only for want of bits.
        ended: Which limit ended the last `at` after some pairs, or a climb to higher precisions;
            None if none did.
        ladder: Bits to ask for, ascending; at least one. Whoever opens pairs sets it.
        progress: Told about budgets done.
    """

    at_once = True  # whether pairs are not counted as they are looked at
    is_coarse = False
    """Whether more bits would not help: polynomials bound sets of pairs of real inputs, and parts
    of the plane what several numbers tell."""

    ladder: tuple[int, ...] = ()
    ended: str | None = None

    def __init__(self, pairs: int | None) -> None:
        self.pairs = pairs
        self._delta_asked: Fraction | None = None
        self._claimed: Growth | None = None
        self.obstacle: str | None = None
        self.progress: Progress = silent

    @contextmanager
    def asking(self, delta: Fraction | None = None, growth: Growth | None = None) -> Iterator[None]:
        """Ask within the block only whether the largest delta is at most this one, or about factors
        that are bounds of one growth."""
        before = self._delta_asked, self._claimed
        self._delta_asked = self._delta_asked if delta is None else delta
        self._claimed = growth or self._claimed
        try:
            yield
        finally:
            self._delta_asked, self._claimed = before

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        """Bound the largest delta at every eps_prv, at the first precision."""
        found: list[Maximum] = []
        for factor in factors:
            each = self.at(factor, self.ladder[0])
            assert each is not None, "only counters turn out to take too much"
            found.append(each)
            self.progress(len(found), len(factors))
        return found

    def sharpened(self, factor_at: FactorAt, enough: Enough) -> Maximum:
        """Bound the largest delta at one eps_prv until the enclosure is good enough.

        Returns:
            The best that the ladder of bits gives; its enclosure may be wider than wanted. Where a
            limit ends the climb, what the precision before gave.

        Raises:
            LimitReached: If a limit is reached before anything is known.
        """
        return self.climb(self.largest([factor_at(FACTOR_BITS)])[0], factor_at, enough)

    def climb(self, found: Maximum, factor_at: FactorAt, enough: Enough) -> Maximum:
        """Do the same from what is known."""

        def again(bits: int, before: Maximum) -> Maximum | None:
            try:
                better = self.at(factor_at(max(bits, FACTOR_BITS)), bits)
            except LimitReached as reached:
                self.ended = reached.reason
                return None
            return None if better is None else improved(before, better)

        if enough(found.delta):
            return found
        finer = (bits for bits in self.ladder if bits > found.bits)
        return refined(finer, again, lambda each: enough(each.delta), found)

    def decide(self, search: Search) -> None:
        """Compare the largest delta with a claim, in a fresh search."""
        search_together(search, self)

    @property
    def out_of_time(self) -> bool:
        try:
            check_limits()
        except LimitReached:
            return True
        return False

    def undecided(self) -> str | None:
        """Say what is left open; None where single pairs tell."""
        return None

    def standing(self, bits: int) -> list[tuple[Pair, list[measures.PairAtoms]]] | None:
        """Return pairs, with atoms of independent parts; of all pairs each is below some of these.

        None if none are known.
        """
        return None

    @property
    def blocked(self) -> bool:
        """Whether more bits are of no use."""
        return self.obstacle is not None

    @abstractmethod
    def at(self, factor: Factor, bits: int) -> Maximum | None:
        """Bound the largest delta at one eps_prv, by probabilities that are wanted to 2**-bits;
        None if that turns out to take too much."""

    def exactly(self, search: Search, found: Maximum) -> Maximum:
        """Decide by exact forms what enclosures do not; a violation ends in the search."""
        return found

    def confirm(self, search: Search, found: Maximum) -> None:
        """Record a violation, of the pair that attains the lower bound: here checked alone.

        Raises:
            BrokenInvariant: If it violates together with others only.
        """
        assert found.pair is not None
        search.cover(self.pairs or 0, found.delta, found.by)
        search.check(found.pair)
        if search.violation is None and not search.undecided:
            raise BrokenInvariant("a pair violates together with others, but not alone")

    def open_pairs(self, found: Maximum, factor: Factor) -> Iterable[OpenPair]:
        """Return pairs of which one has the largest delta, where no enclosure decides."""
        if found.pair is None:
            raise BrokenInvariant("no pair was looked at")
        return [(found.pair, found.delta, None)]

    def give_up(self, search: Search, found: Maximum) -> None:
        """Record the pairs that the last enclosure does not decide."""
        factor = search.factor(max(found.bits, FACTOR_BITS))
        for pair, delta, obstacle in self.open_pairs(found, factor):
            if compare(delta, search.delta) is Side.UNDECIDED:
                search.give_up(found.of_pair(search, pair, delta, obstacle))
            else:
                search.cover(0, delta)
        search.checked = self.pairs or 0


def improved(before: Maximum, after: Maximum) -> Maximum:
    """Combine two bounds of one maximum; the pair is the one with the greater lower bound."""
    pair = after.pair if after.delta.lower >= before.delta.lower else before.pair
    told = before.told.meet(after.told, "the largest δ")
    return Maximum(told.enclosure(), pair, after.bits, after.likely, told.by)


def search_together(search: Search, pairs: Together, *, elsewhere: bool = False) -> bool:
    """Climb the ladder with all pairs together.

    Args:
        search: Fresh; afterwards it holds what was found.
        elsewhere: Whether pairs can be gone through one by one instead, where that may decide.

    Returns:
        False if another way is better: if it takes too much after all, or if the claimed delta
        may be attained, which exact forms decide pair by pair.

    Raises:
        BrokenInvariant: If enclosures contradict each other.
    """
    exact = search.exact
    found: Maximum | None = None
    for bits in search.ladder:
        check_limits()
        search.bits = max(search.bits, bits)
        try:
            better = pairs.at(search.factor(max(bits, FACTOR_BITS)), bits)
        except LimitReached:
            _interrupted(search, found)
            raise
        found = better
        if found is None:
            return False
        undecided = compare(found.delta, search.delta) is Side.UNDECIDED
        if undecided and bits == search.ladder[0]:
            found = pairs.exactly(search, found)
            if search.violation is not None:
                return True
        match compare(found.delta, search.delta):
            case Side.BELOW:
                search.cover(pairs.pairs or 0, found.delta, found.by)
                return True
            case Side.ABOVE:
                pairs.confirm(search, found)
                return True
            case Side.UNDECIDED:
                if pairs.ended is not None:
                    _interrupted(search, found)
                    raise LimitReached(pairs.ended)
                if elsewhere and exact is not None and exact.has_forms:
                    return False
        if pairs.blocked:
            break
    assert found is not None, "the ladder is empty"
    pairs.give_up(search, found)
    return True


def _interrupted(search: Search, found: Maximum | None) -> None:
    """Record what the precision before a limit told of all pairs: it did not decide."""
    if found is not None and found.likely is not None:
        search.cover(0, found.delta, found.by)
        # Of the pair alone only the upper bound is known.
        own = Enclosure(Fraction(0), found.delta.upper)
        search.current = found.of_pair(search, found.likely, own)


_ALIKE_BITS = 40


def all_about(largest: Numbers) -> Numbers:
    """Return what numbers >= 0 must reach to count as equal to the largest ones.

    Python integers are exact, and none is alike another.
    """
    return largest if largest.dtype == object else largest * (1 - 2.0**-_ALIKE_BITS)


def first_largest(values: Numbers) -> int:
    """Return the first place of the largest number, or of one like it."""
    largest = values.max()
    if values.dtype == object or not largest > 0:
        return int(np.argmax(values))
    return int(np.argmax(values >= all_about(largest)))


def largest_first(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places of all numbers, the largest first, those that are alike in their order."""
    mantissas, exponents = np.frexp(values)
    rounded = np.ldexp(np.round(np.ldexp(mantissas, _ALIKE_BITS)), exponents - _ALIKE_BITS)
    return np.argsort(-rounded, kind="stable")


def simplest_pair(known: Mapping[Pair, Enclosure]) -> tuple[Pair, Enclosure] | None:
    """Return the pair of the largest lower bound; None if there is none.

    Of several that are alike, and that their enclosures do not tell apart: the simplest.
    """
    if not known:
        return None
    best = max(each.lower for each in known.values())
    least = best * (1 - Fraction(1, 2**_ALIKE_BITS))
    alike = [(u, own) for u, own in known.items() if own.lower >= least and own.upper >= best]
    return min(alike, key=lambda each: _simplicity(each[0]))


def _simplicity(pair: Pair) -> tuple[int, list[tuple[bool, Fraction | str]]]:
    """Small denominators first, then small values."""
    values = [value for side in pair for value in side]
    longest = max((each.denominator for each in values if not isinstance(each, str)), default=1)
    return longest, [(isinstance(value, str), value) for value in values]
