"""Adaptive subdivision of an interval of epsilons.

    points at both ends; the whole interval as one cell
    while a cell is left:
        take the one with the greatest excess
        split it at a simple rational p near its middle (`between`)
        point p:  claim violated?  -- yes -->  stop: Not_DP at p
        both halves:  proved?      -- yes -->  done with it
                      hopeless?    -- yes -->  given up: at best Unknown
                                   -- no --->  left

A cell is hopeless when a probability at one of its ends has no enclosure, when it has become
tiny, or when the claim is critical at both ends of it after some subdivision.

A point holds what is known at one eps, and what that says about the claim there. A cell lies
between two points; it is proved, or tells how much is missing.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from dipapprox.arithmetic.enclosure import Enclosure, outward, simplest
from dipapprox.data_classes import Record, field
from dipapprox.limits import Progress, check_limits
from dipapprox.numerics.powers import root_below
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.selections import Pair

K = TypeVar("K")


class EpsilonPoint(Record, Generic[K], eq=False):
    eps: Fraction
    known: K
    factor: Factor
    delta: Enclosure
    largest: Enclosure
    # The pair with the greatest certified delta_{u,u'}; None if there are no pairs.
    pair: Pair | None
    resolved: bool  # whether more bits would not help
    obstacle: str | None

    @property
    def violated(self) -> bool:
        return self.largest.lower > self.delta.upper

    @property
    def holds(self) -> bool:
        return self.largest.upper <= self.delta.lower


class EpsilonCell(Record, Generic[K], eq=False):
    lower: EpsilonPoint[K]
    upper: EpsilonPoint[K]
    # Upper bound of delta_{u,u'} less the claim, over all pairs and the cell; the claim holds on
    # the cell if it is <= 0.
    excess: Fraction
    # Upper bound of delta_{u,u'} at the claimed budgets, over all pairs and the cell.
    largest: Fraction

    @property
    def width(self) -> Fraction:
        return self.upper.eps - self.lower.eps


class Subdivided(Protocol[K]):
    """A claim about some pairs over an interval: what a search asks."""

    @property
    def name(self) -> str:
        """The words in reports: what has proved something."""

    def __len__(self) -> int:
        """How many pairs may have different distributions."""

    def point(self, eps: Fraction, bits: int) -> EpsilonPoint[K]:
        """Compare the claim with what is true at one eps, by probabilities that are enclosed to a
        width of 2**-bits, if possible."""

    def cell(self, lower: EpsilonPoint[K], upper: EpsilonPoint[K]) -> EpsilonCell[K]:
        """Bound how far the claim fails between two points."""


MOST_POINTS = 4_000
_SMALLEST = Fraction(1, 2**24)
"""Cells of a smaller share are given up; what a share is, `_share` says."""

_PATIENT = Fraction(1, 64)
"""Cells of a larger share are subdivided even if the claim is critical at both ends."""

_WIDE = 4  # cells whose ends have a larger ratio are split at about their geometric mean
_THOUSAND = 1_000


class IntervalSearch(Record, Generic[K], frozen=False):
    """One run; the fields after `ladder` are valid whenever it ends."""

    lower: Fraction
    upper: Fraction
    claimed: Subdivided[K]
    ladder: tuple[int, ...]  # bits to ask for, ascending; at least one
    # Cells neither proved nor given up, a heap: (-excess, number, cell).
    left: list[tuple[Fraction, int, EpsilonCell[K]]] = field(default_factory=list)
    given_up: list[EpsilonCell[K]] = field(default_factory=list)  # cells that will not be proved
    proved: Fraction = Fraction(0)  # upper bound of the largest delta_{u,u'} on the proved cells
    seen: Fraction = Fraction(0)  # certified lower bound of the largest delta_{u,u'} anywhere
    decided: Fraction = Fraction(0)  # length of the proved cells
    points: int = 0
    sorted: int = 0
    obstacle: str | None = None
    # The point at which the claim is certainly wrong; the run stops there.
    violation: EpsilonPoint[K] | None = None
    bits: int = 0
    exhausted: bool = False

    def run(self, progress: Progress, most: int = MOST_POINTS) -> None:
        """Decide the interval as far as possible, or go on with what is left of it, by so many
        epsilons at most, of this run and those before it."""
        self.exhausted = False
        if not self.sorted:
            ends = []
            for eps in (self.lower, self.upper):
                ends.append(self._point(eps))
                if self.violation is not None:
                    return
            self._sort([self.claimed.cell(*ends)])
        while self.left:
            progress(int(self.decided / (self.upper - self.lower) * _THOUSAND), _THOUSAND)
            if self.points >= most:
                self.exhausted = True
                return
            check_limits()
            cell = self.left[0][2]
            low, high = cell.lower, cell.upper
            middle = self._point(between(low.eps, high.eps))
            if self.violation is not None:
                return
            halves = [self.claimed.cell(low, middle), self.claimed.cell(middle, high)]
            # Only now: wherever a limit strikes, every cell is in exactly one place.
            heapq.heappop(self.left)
            self._sort(halves)
        progress(_THOUSAND, _THOUSAND)

    def remaining(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the undecided parts of the interval, merged, ascending."""
        if not self.sorted:
            return ((self.lower, self.upper),)
        cells = [cell for _, _, cell in self.left] + self.given_up
        merged: list[tuple[Fraction, Fraction]] = []
        for low, high in sorted((c.lower.eps, c.upper.eps) for c in cells):
            if merged and merged[-1][1] == low:
                merged[-1] = merged[-1][0], high
            else:
                merged.append((low, high))
        return tuple(merged)

    def why(self) -> str:
        """Say why cells are left when nothing stopped the run."""
        if self.obstacle is not None:
            return f"no enclosure: {self.obstacle}"
        if self.exhausted:
            return f"subdivision limit: undecided after {self.points} values of eps"
        point = self.critical()
        if point is not None:
            low, high = outward(point.largest)
            return (
                f"critical: at eps = {point.eps} the largest delta_(u,u') lies in "
                f"[{low}, {high}], and so does the claimed delta"
            )
        return "subdivision limit: parts of 2**-24 of their eps are still undecided"

    def critical(self) -> EpsilonPoint[K] | None:
        """Return a point where doubles do not tell whether the claim holds."""
        for cell in self.given_up:
            for point in (cell.lower, cell.upper):
                if not point.holds and not point.violated:
                    return point
        return None

    def _share(self, cell: EpsilonCell[K]) -> Fraction:
        """Return the length of a cell relative to its eps, by that of the whole interval.

        Relative, as what an eps does to a program scales with it: in [1e-6, 50] a cell at the
        lower end is as wide as one at the upper end if the ratios of their ends are the same.
        """
        whole = (self.upper - self.lower) / self.upper
        return cell.width / cell.upper.eps / whole

    def _sort(self, cells: Sequence[EpsilonCell[K]]) -> None:
        for cell in cells:
            self.sorted += 1
            if cell.excess <= 0:
                self.decided += cell.width
                self.proved = max(self.proved, cell.largest)
                continue
            ends = cell.lower, cell.upper
            share = self._share(cell)
            critical = share < _PATIENT and not any(end.holds for end in ends)
            if critical or share < _SMALLEST or any(end.obstacle for end in ends):
                self.given_up.append(cell)
            else:
                heapq.heappush(self.left, (-cell.excess, self.sorted, cell))

    def _point(self, eps: Fraction) -> EpsilonPoint[K]:
        """Compare the claim with probabilities; tiny ones may need more bits than the first."""
        for bits in self.ladder:
            self.bits = max(self.bits, bits)
            point = self.claimed.point(eps, bits)
            if point.violated or point.holds or point.resolved or point.obstacle is not None:
                break
        self.points += 1
        self.obstacle = self.obstacle or point.obstacle
        self.seen = max(self.seen, point.largest.lower)
        if point.violated:
            self.violation = point
        return point


def between(lower: Fraction, upper: Fraction) -> Fraction:
    """Return a simple rational well inside [lower, upper], 0 < lower < upper."""
    if upper <= _WIDE * lower:
        quarter = (upper - lower) / 4
        return simplest(lower + quarter, upper - quarter)
    # The geometric mean, to 32 bits. The ends are a factor > 2 away.
    mean = root_below(lower * upper, 32)
    return simplest(mean * 3 / 4, mean * 4 / 3)
