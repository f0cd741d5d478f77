"""Hockey-stick divergences of measures on the line: sup over sets S of first(S) - growth second(S).

In: two sums of parts, each with one published number, and a factor. Out: an enclosure of the
supremum, a union S of intervals with rational ends that comes close to it, and its two masses.

    densities on a grid -> signs of h = f - growth g -> S = {h > 0} -> masses of S, as of any events

From below. first(S) - growth second(S) is at most the supremum whatever S is: only the masses need
be proved, and those are probabilities of events.

From above. Let f' <= f and g' <= g be what the grid has of the densities, lacking masses λ and μ,
and h' = f' - growth g'. Signs of h' are proved but on a set U with ∫_U |h'| <= excess; outside U,
S is {h' > 0}. So ∫ max(h', 0) <= ∫_S h' + excess; and as f - f' and g - g' are >= 0,

    sup = ∫ max(h, 0)  <=  ∫ max(h', 0) + λ  <=  ∫_S h' + excess + λ
                       <=  first(S) - growth second(S) + growth μ + excess + λ.

Where a plan's density is only near the true one (a Gaussian sum's deviation is rounded), and masses
of sets are within ε and ε', the first inequality and the last lose ε + growth ε' more. Nothing here
depends on where the roots of h are: an end inside U may be any number of it.

Masses of intervals are probabilities of events: that a published number lies in an interval is two
more guards, so every method that encloses events encloses masses, to any width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product
from math import prod
from types import MappingProxyType

import numpy as np

from dipapprox.arithmetic.enclosure import (
    Enclosure,
    NotEnclosed,
    better,
    enclosing,
    if_enclosed,
    shortest,
    sure,
)
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, replace
from dipapprox.events.canonical import canonical, within
from dipapprox.events.event import Connected, Interval, Marginal, Part
from dipapprox.limits import check_limits
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.refinement import RefinementLevel, ball_levels, double_levels
from dipapprox.numerics.methods import Method, Tier
from dipapprox.numerics.real_outputs.coordinates import DensityPlan, Line, density_plans, simplified
from dipapprox.numerics.real_outputs.densities import (
    Densities,
    LineSigns,
    open_densities,
    positive_part,
)
from dipapprox.numerics.real_outputs.panel_polynomials import Cells, one_cell

_REMEMBERED = 200  # pairs of measures whose densities are kept
_DENSITIES = 6  # of a pair that are kept, on several grids: factors take turns with precisions
_GUARD_BITS = 12
"""What the grid may lack: samples times the factor times 2**-12 of the wanted width."""

_GAIN = 8  # by what finer panels divide what is undecided, if they are of any use
_FAR = Fraction(2) ** 512  # grids that keep all that counts with larger factors are long
_NONE = Fraction(0)
_FINENESS = 3  # of the panels that are cut into cells


class Discretised(Record, eq=False):
    """Cells of two measures on the line."""

    cells: Cells  # their masses and ratios under two measures
    # by how much these are less than two others, each at most, wherever
    lost: tuple[Fraction, Fraction]
    # no set's mass under these differs by more from that under the measures asked about
    errors: tuple[Fraction, Fraction]

    @classmethod
    def joined(cls, found: Sequence[Discretised]) -> Discretised:
        """Those of the sums of measures of disjoint outcomes."""
        if len(found) == 1:
            return found[0]
        cells = [each.cells for each in found]
        columns = ((*c.first, *c.second, c.least, c.most) for c in cells)
        p, p_most, q, q_most, least, most = map(np.concatenate, zip(*columns, strict=True))
        lost, errors = (
            [sum(many, Fraction(0)) for many in zip(*each, strict=True)]
            for each in ([each.lost for each in found], [each.errors for each in found])
        )
        whole = Cells((p, p_most), (q, q_most), least, most)
        return cls(whole, (lost[0], lost[1]), (errors[0], errors[1]))


class Split(Record):
    """A hockey-stick divergence and a set that attains it, nearly."""

    value: Enclosure  # Encloses sup over sets S of first(S) - growth · second(S), >= 0
    # a set S, disjoint intervals from left to right; None: infinite. Empty: S = ∅. Of several
    # published numbers, one lies in S and the others anywhere; None: the set is of another shape
    intervals: tuple[Interval, ...] | None
    first: Enclosure  # encloses first(S); [0, 1] if the set is not described
    second: Enclosure  # encloses second(S) likewise
    coordinate: int = 0  # which of the published numbers is to lie in S, from 0


class HockeyStick:
    """Divergences of measures on the line, several factors for one pair of measures.

    For any number of published numbers see `composition.product_measures`.
    """

    def __init__(self, method: Method, tier: Tier = Tier.AUTO) -> None:
        self._tier = tier
        self.masses = IntervalMasses(method)
        self._measures: Cache[tuple[Line, ...], _Measures] = Cache(_REMEMBERED)

    @enclosing
    def divergence(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Split:
        """Enclose sup over sets S of first(S) - growth · second(S), to 2**-bits if possible.

        Args:
            first: Parts of one outcome at one input, with one marginal each; their measures add
                up. Empty: the measure 0.
            second: The same at another input.

        Returns:
            The value and a set; or the reason why there is none, which names the published number.
        """
        if not first or not second:
            everything = EVERYWHERE if first else ()
            return sure(self.at(everything, first, second, growth, bits, Fraction(0)))
        first, second = tuple(first), tuple(second)
        if growth.lower > _FAR and (found := self._far(first, second, growth, bits)) is not None:
            return found
        pair = self._opened((first, second))
        signs = sure(pair.signs(growth, bits, self._tier))
        intervals = positive_part(signs.first, [shortest(*gap) for gap in signs.gaps])
        if any(_takes_long(part.marginals[0]) for part in (*first, *second)):
            # The densities are there already.
            masses = pair.masses(intervals, growth, bits, self._tier)
            if masses is not None:
                found = _split(intervals, *masses, growth, signs.excess)
                if found.value.width <= Fraction(1, 2 ** (bits + 1)):
                    return found
        return sure(self.at(intervals, first, second, growth, bits, signs.excess))

    @enclosing
    def discretised(
        self,
        first: Sequence[Part],
        second: Sequence[Part],
        bits: int,
        spread: float,
        negligible: float,
    ) -> Discretised:
        """Cut the line into cells of about one ratio of the densities each.

        What only one of the measures has, or is no number, is one cell.

        Args:
            bits: The cells may lack masses of about 2**-bits.
            spread: By how much ratios of one cell may differ, relatively (best effort).
            negligible: A first measure of a cell that does not matter.
        """
        if first and second and first[0].marginals:
            pair = self._opened((tuple(first), tuple(second)))
            return sure(pair.discretised(bits, spread, negligible))[0]
        own, other = (sure(self.masses.of(side, bits)) for side in (first, second))
        return Discretised(one_cell(own, other), (_NONE, _NONE), (_NONE, _NONE))

    def shares(
        self, lines: Sequence[Line], bits: int, spread: float, negligible: float
    ) -> list[Discretised] | NotEnclosed:
        """Cut the line into cells, the same for some measures, of about one ratio of each to their
        sum: the second measure of all that is returned. See `discretised`."""
        total = tuple(chain.from_iterable(lines))
        return self._opened((*lines, total)).discretised(bits, spread, negligible)

    def _opened(self, lines: tuple[Line, ...]) -> _Measures:
        return self._measures.find(lines, lambda: _Measures(lines, self.masses))

    def _far(
        self, first: tuple[Part, ...], second: tuple[Part, ...], growth: Enclosure, bits: int
    ) -> Split | None:
        """Look at a smaller factor: its divergence is no smaller, and its set is one of all sets.

        None unless that is accurate enough: as a rule, what the second measure never is in is left.
        """
        near = self.divergence(first, second, Enclosure.exact(_FAR), bits)
        if isinstance(near, NotEnclosed):
            return None
        lower = max(near.first.lower - growth.upper * near.second.upper, Fraction(0))
        if near.value.upper - lower > Fraction(1, 2**bits):
            return None
        return replace(near, value=Enclosure(min(lower, near.value.upper), near.value.upper))

    @enclosing
    def at(
        self,
        intervals: tuple[Interval, ...],
        first: Sequence[Part],
        second: Sequence[Part],
        growth: Enclosure,
        bits: int,
        excess: Fraction,
    ) -> Split:
        """Enclose the divergence, of which a set is known to lack at most `excess`."""
        where = {0: intervals}
        above = sure(self.masses.of(first, bits + 3, where))
        below = sure(self.masses.of(second, bits + 3 + _bits_of(growth), where))
        return _split(intervals, above, below, growth, excess)


def _takes_long(marginal: Marginal) -> bool:
    """Whether events about a number do: sums of three samples, or of noise without closed forms."""
    laws = [marginal.event.samples[sample] for sample in marginal.form.samples()]
    closed = all(law.family.is_exponential or law.family.is_normal for law in laws)
    return len(laws) > (2 if closed else 1)


def _split(
    intervals: tuple[Interval, ...],
    above: Enclosure,
    below: Enclosure,
    growth: Enclosure,
    excess: Fraction,
) -> Split:
    lower = above.lower - growth.upper * below.upper
    upper = above.upper - growth.lower * below.lower + excess
    return Split(Enclosure(lower, upper).positive(), intervals, above, below)


class _Measures:
    """Some measures, mostly two, and what was computed of them."""

    def __init__(self, lines: tuple[Line, ...], masses: IntervalMasses) -> None:
        self._lines, self._masses = lines, masses
        self._table = FunctionTable()
        self._plans: Cache[int, list[_Planned] | NotEnclosed] = Cache(_REMEMBERED)
        self._densities: Cache[tuple[RefinementLevel, int], Densities | NotEnclosed] = Cache(
            _DENSITIES, lambda found: int(isinstance(found, Densities))
        )

    @enclosing
    def signs(self, growth: Enclosure, bits: int, tier: Tier) -> LineSigns:
        """Prove signs; `LineSigns.excess` is all that the set may lack."""
        kept = _kept(bits + _bits_of(growth))
        plans = sure(self._plans.find(kept, lambda: self._planned(kept)))
        if not any(plans):
            return LineSigns((), 0, Fraction(0))
        wanted = Fraction(1, 2 ** (bits + 2))
        own, other = map(_error, plans)
        missing = 2 * (own + growth.upper * other)
        best: LineSigns | NotEnclosed = NotEnclosed("no signs were looked for")
        stuck = False  # finer panels do not help doubles where rounding is all that is left
        for level in (*double_levels(tier), *ball_levels(bits, tier)):
            check_limits()
            if stuck and not level.bits:
                continue
            found: Densities | LineSigns | NotEnclosed = self._opened(plans, kept, level)
            if isinstance(found, Densities):
                found = found.signs(growth, wanted / 2)
            if isinstance(found, LineSigns):
                found = replace(found, excess=found.excess + missing)
            if isinstance(best, NotEnclosed):
                best = found
            elif isinstance(found, LineSigns):
                stuck = found.excess > best.excess / _GAIN
                best = min(best, found, key=lambda each: each.excess)
            if isinstance(best, LineSigns) and best.excess <= wanted:
                break
        return sure(best)

    @if_enclosed
    def masses(
        self, intervals: Sequence[Interval], growth: Enclosure, bits: int, tier: Tier
    ) -> tuple[Enclosure, Enclosure] | None:
        """Enclose both measures of disjoint intervals by the finest densities in doubles that signs
        were proved of."""
        kept = _kept(bits + _bits_of(growth))
        levels = [each for each in double_levels(tier) if self._densities.get((each, kept))]
        if not levels:
            return None
        plans = sure(self._plans.find(kept, lambda: self._planned(kept)))
        masses = sure(sure(self._opened(plans, kept, levels[-1])).masses(intervals))
        own, other = (
            Enclosure(max(each.lower - error, _NONE), each.upper + error)
            for each, error in zip(masses, map(_error, plans), strict=True)
        )
        return own, other

    @enclosing
    def discretised(self, bits: int, spread: float, negligible: float) -> list[Discretised]:
        """Cut cells of all measures but the last, and that; see `HockeyStick.discretised`."""
        kept = _kept(bits)
        plans = sure(self._plans.find(kept, lambda: self._planned(kept)))
        if not any(plans):
            return sure(NotEnclosed("what is published has no density"))
        densities = sure(self._opened(plans, kept, RefinementLevel(_FINENESS)))
        cells = sure(densities.cells(spread, negligible))
        errors = [_error(side) + more for side, more in zip(plans, densities.gained, strict=True)]
        return [
            Discretised(each, (lost, densities.lost[-1]), (error, errors[-1]))
            for each, lost, error in zip(cells, densities.lost, errors, strict=False)
        ]

    def _opened(
        self, plans: Sequence[_Planned], kept: int, level: RefinementLevel
    ) -> Densities | NotEnclosed:
        return self._densities.find(
            (level, kept), lambda: open_densities(plans, kept, level, self._table)
        )

    @enclosing
    def _planned(self, kept: int) -> list[_Planned]:
        sides: list[_Planned] = [[] for _ in self._lines]
        for side, line in zip(sides, self._lines, strict=True):
            for part in line:
                found = simplified(part.marginals[0])
                if found is None:
                    continue
                others, own = found
                weight = sure(self._masses.product((*part.events, *map(canonical, others)), kept))
                plans = sure(density_plans(own, kept, self._table))
                side += [(weight * Enclosure.exact(c), plan) for c, plan in plans]
        return sides


def _error(side: _Planned) -> Fraction:
    """How far a set's mass under the plans' densities may be from the true one."""
    return sum((max(-w.lower, w.upper) * plan.error for w, plan in side), Fraction(0))


_Planned = list[tuple[Enclosure, DensityPlan]]


def _kept(bits: int) -> int:
    """How much of every law is kept: in steps, so that bits that differ little find the same."""
    return -(-(bits + _GUARD_BITS) // 16) * 16


def _bits_of(growth: Enclosure) -> int:
    """About log2 of a factor, at least 0."""
    return max(int(growth.upper), 1).bit_length()


_EVENTS = 20_000  # whose enclosures are kept

EVERYWHERE: tuple[Interval, ...] = ((None, None),)
"""The whole line."""

_ANYWHERE: Mapping[int, Sequence[Interval]] = MappingProxyType({})


class IntervalMasses:
    """Probabilities of events and masses of intervals; what was computed is remembered."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._known: Cache[Connected, tuple[int, Enclosure | NotEnclosed]] = Cache(_EVENTS)

    def of(
        self, parts: Sequence[Part], bits: int, where: Mapping[int, Sequence[Interval]] = _ANYWHERE
    ) -> Enclosure | NotEnclosed:
        """Enclose the mass of parts, which add up, to about 2**-bits.

        Args:
            where: For some of the published numbers, from 0, disjoint intervals that they lie in.
        """
        products = []
        for part in parts:
            places = (where.get(k, EVERYWHERE) for k in range(len(part.marginals)))
            for intervals in product(*places):
                events = [*map(within, part.marginals, intervals)]
                if None not in events:
                    products.append([*part.events, *chain.from_iterable(filter(None, events))])
        return self._sum(products, bits)

    def product(self, events: Iterable[Connected], bits: int) -> Enclosure | NotEnclosed:
        """Enclose the probability of independent events together."""
        return self._sum([list(events)], bits)

    @enclosing
    def _sum(self, products: list[list[Connected]], bits: int) -> Enclosure:
        """Enclose Σ Π Pr[event]."""
        most = max(map(len, products), default=1)
        own = bits + (len(products) * most).bit_length()
        answers = self._enclosed(dict.fromkeys(chain.from_iterable(products)), own)
        found = {event: sure(answer) for event, answer in answers}
        lower = upper = Fraction(0)
        for each in products:
            lower += prod((found[event].lower for event in each), start=Fraction(1))
            upper += prod((found[event].upper for event in each), start=Fraction(1))
        return Enclosure(lower, upper)

    def _enclosed(
        self, events: Iterable[Connected], bits: int
    ) -> Iterator[tuple[Connected, Enclosure | NotEnclosed]]:
        """Enclose different events, those not known well enough in one batch."""
        known = {event: self._known.get(event) for event in events}
        missing = [event for event, each in known.items() if each is None or each[0] < bits]
        found = self._method.enclose(missing, bits) if missing else ()
        for event, answer in zip(missing, found, strict=True):
            before = known[event]
            own = better(None if before is None else before[1], answer)
            known[event] = self._known.put(event, (bits, own))
        return ((event, each[1]) for event, each in known.items() if each is not None)
