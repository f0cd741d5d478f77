"""Hockey-stick divergences of programs that publish several independent numbers.

In: two sums of parts, each with the same number of published numbers, and a factor. Out: a
`Split`, as for one number. By what the measures are:

    one number differs              its divergence, times the mass of all others (`coordinates`)
    one number, noise is shifted    the closed form (`shifted_noise`)
    Gaussian noise only             N(m, 1) against N(0, 1), m the norm of the shifts in deviations
    no products, but sums of them   cells of the plane (`plane`) for two numbers; else bounds
    anything else                   losses add up (`pair_products`)

Gaussian factors. A Gaussian pair with shift m_k, in deviations, has on k coordinates the ratio of
one along the line of all shifts, so they are together one Gaussian pair with m² = Σ m_k².

Sums of products. Paths that publish the same finite values add up to measures f = Σ f_i and g = Σ
g_j, each term a product. Where more than one number tells the terms apart, f and g are no products.

From above. Whatever terms are matched with each other, one to one, and others with 0,

    sup over S of f(S) - α g(S)  <=  Σ over matches of sup over S of f_i(S) - α g_j(S),

as f - α g is the sum of its terms, and a supremum of a sum is at most the sum of suprema (joint
convexity). The bound is exact where all terms have the same best set.

From below. Publishing one of the numbers only is post-processing: what one number alone tells, the
others anywhere, is a lower bound, and comes with a set of numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import chain, permutations
from math import inf
from operator import mul

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, Missing, NotEnclosed, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.composition.mechanisms import Gaussian, Laplace, Mechanism
from dipapprox.composition.noise_sums import summed_divergence
from dipapprox.composition.pair_products import LineLosses, LinePair, Outcomes, PairProducts
from dipapprox.composition.plane import PlaneCells
from dipapprox.composition.products import RepeatedRun
from dipapprox.composition.shifted_noise import (
    PublishedNoise,
    ShiftedNoise,
    half_line,
    published_noise,
    shift_between,
)
from dipapprox.data_classes import replace
from dipapprox.events.canonical import within
from dipapprox.events.event import EVERYWHERE, Connected, Marginal, Part
from dipapprox.laws.families import LAPLACE
from dipapprox.numerics.methods import Method, Tier
from dipapprox.numerics.powers import logarithm
from dipapprox.numerics.real_outputs.coordinates import Factored, Line, Mixed, factored
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split

_ACCURATE = 60  # bits of accuracy beyond which no composition goes
_ACCURATE_CELLS = 54  # the same where lines are cut into cells
_ACCURATE_TERMS = 20  # the same for sums of products
_GUARD_BITS = 8
_FAR = 2**64  # panels reach so far; larger factors are left to closed forms alone
_BUDGET_BITS = 32  # more of a budget than of its divergence, whose slope is at most 1
_REMEMBERED = 2_000
_CERTAIN = Enclosure.exact(1)
TOO_SMALL = NotEnclosed("a probability of what is published is too small to be told from 0")
_Product = tuple[tuple[Outcomes, ...], ShiftedNoise]
_Sum = tuple[tuple[Part, ...], tuple[Part, ...], Enclosure, int]


class ProductMeasures:
    """Divergences of measures in space; see `HockeyStick` for the arguments.

    Attributes:
        line: The divergences of measures on the line.
    """

    def __init__(self, method: Method, tier: Tier = Tier.AUTO) -> None:
        self.line = HockeyStick(method, tier)
        self.masses = self.line.masses
        self._losses, self._plane = LineLosses(self.line), PlaneCells(self.line)
        self._sums: Cache[_Sum, Split | NotEnclosed] = Cache(_REMEMBERED)
        self._products: Cache[_Product, PairProducts] = Cache(_REMEMBERED)

    @enclosing
    def divergence(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Split:
        """Enclose sup over sets S of first(S) - growth · second(S).

        Args:
            first: Parts of one outcome at one input, with one marginal for each published number;
                their measures add up. Empty: the measure 0.
            second: The same at another input.
            growth: The factor, >= 0.
            bits: Wanted width of the value: 2**-bits (best effort: compositions rarely get below
                2**-30).
        """
        numbers = {len(part.marginals) for part in (*first, *second)}
        if numbers <= {1}:
            return self._on_line(first, second, growth, bits)
        if not first:
            nothing = Enclosure.exact(0)
            return Split(nothing, (), nothing, nothing)
        if not second:
            total = sure(self.masses.of(first, bits))
            return Split(total, ((None, None),), total, Enclosure.exact(0))
        factors = factored(first, second)
        if isinstance(factors, Mixed):
            # Bounds of sums do not get narrower with more bits than these.
            own = min(bits // 2, _ACCURATE_TERMS)
            mixed, near = factors, _rounded(growth, own + _GUARD_BITS)
            key = tuple(first), tuple(second), near, own
            return sure(self._sums.find(key, lambda: self._mixed(first, second, mixed, near, own)))
        shared = sure(self.mass(factors.common, bits + 2))
        if not factors.pairs:
            # The same measure twice: everything, or nothing.
            gain = Enclosure(1 - growth.upper, 1 - growth.lower)
            value = (shared * gain).positive()
            return Split(value, ((None, None),) if gain.lower > 0 else (), UNIT, UNIT)
        if len(factors.pairs) == 1:
            ((coordinate, one, two),) = factors.pairs
            alone = self._on_line(one, two, growth, bits + 1)
            return replace(_beside(alone, shared), coordinate=coordinate)
        composed = self._composed(factors, growth, bits + 1)
        return Split((composed * shared).positive(), None, UNIT, UNIT)

    def _on_line(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Split:
        """Enclose the divergence of measures of one number: in closed form, if noise is shifted."""
        found = self._shifted(first, second, growth, bits)
        found = found or summed_divergence(tuple(first), tuple(second), growth, bits)
        return found or sure(self.line.divergence(first, second, growth, bits))

    def _shifted(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Split | None:
        """The divergence of shifted noise, or None; events are factors, as in `_composed`."""
        if len(first) != 1 or len(second) != 1:
            return None
        one, two = (published_noise((replace(side[0], events=()),)) for side in (first, second))
        shift = shift_between(one, two)
        if one is None or two is None or not shift:
            return None
        own, other = (self.masses.product(side[0].events, bits + 24) for side in (first, second))
        if isinstance(own, NotEnclosed) or isinstance(other, NotEnclosed):
            return None
        if growth.lower * other.lower < own.upper or not own.upper:
            return None
        least = logarithm(growth.lower * other.lower / own.upper, bits + _BUDGET_BITS).lower
        budget = max(least, Fraction(0))
        intervals = half_line(one, two, budget, bits)
        if not intervals and growth.upper < _FAR:
            return None  # a certificate must not say 0 where its check finds next to 0
        found = sure(self.line.at(intervals, first, second, growth, bits, Fraction(0)))
        # The divergence falls with the budget.
        most = own.upper * shift.divergence(budget, bits + _BUDGET_BITS).upper
        return replace(found, value=Enclosure(found.value.lower, most))

    @enclosing
    def _mixed(
        self,
        first: Sequence[Part],
        second: Sequence[Part],
        mixed: Mixed,
        growth: Enclosure,
        bits: int,
    ) -> Split:
        """Bound the divergence of sums of products; a set attains the lower end if there is one."""
        shared = sure(self.mass(mixed.common, bits + 2))
        own, other = (
            [replace(p, marginals=tuple(p.marginals[k] for k in mixed.coordinates)) for p in side]
            for side in (first, second)
        )
        found: Enclosure | NotEnclosed = NotEnclosed("more than two numbers")
        if len(mixed.coordinates) == 2:
            found = self._plane.divergence(own, other, growth, bits)
        if isinstance(found, NotEnclosed) or found.width > Fraction(1, 1 << bits):
            told = _matched(own, other, partial(self.divergence, growth=growth, bits=bits))
            if isinstance(found, NotEnclosed):
                found = sure(told)
            elif isinstance(told, Enclosure):
                found = found.intersect(told, "matches", "cells", "the δ of sums of products")
        if found.lower:
            return replace(_UNTOLD, value=found * shared)
        best = self.alone(first, second, mixed, growth, bits)
        least, most = best.value.lower, (found * shared).upper
        return replace(best, value=Enclosure(least, max(most, least)))

    def alone(
        self,
        first: Sequence[Part],
        second: Sequence[Part],
        mixed: Mixed,
        growth: Enclosure,
        bits: int,
    ) -> Split:
        """Return the set of one number, the others anywhere, that tells most."""
        told = []
        for coordinate in mixed.coordinates:
            one, two = (_alone(side, coordinate) for side in (first, second))
            found = self.line.divergence(one, two, growth, bits)
            if isinstance(found, Split):
                told.append(replace(found, coordinate=coordinate))
        return max(told, key=lambda each: each.value.lower, default=_UNTOLD)

    @enclosing
    def mass(self, lines: Sequence[Line], bits: int) -> Enclosure:
        """Enclose the product of the masses of measures on the line."""
        finer = bits + len(lines).bit_length()
        return reduce(mul, (sure(self.masses.of(line, finer)) for line in lines), _CERTAIN)

    def _composed(self, factors: Factored, growth: Enclosure, bits: int) -> Enclosure:
        """Enclose the divergence of a product of at least two pairs.

        Probabilities of events that all parts of a side have are a factor: with w and v,

            sup w f(S) - growth v g(S)  =  w sup f(S) - (growth v / w) g(S).
        """
        stripped, weights = without_events(factors)
        accuracy = min(bits, _ACCURATE) + 24
        own, other = (sure(self.masses.product(events, accuracy)) for events in weights)
        if not own.lower or not (growth.lower and other.lower):
            raise Missing(TOO_SMALL)
        factor = relative(growth, own, other)
        noise = _noise(stripped)
        if noise is None:
            lines: list[Outcomes] = [((one, two, 1),) for _, one, two in stripped.pairs]
            return own * sure(self.of_parts(lines, factor, bits))
        closed = noise.at(factor, bits)
        if closed is not None:
            return own * closed
        return own * sure(self._on_grids((), noise, factor, min(bits, _ACCURATE)))

    def of_parts(
        self, parts: Sequence[Outcomes], growth: Enclosure, bits: int
    ) -> Enclosure | NotEnclosed:
        """Enclose the divergence of products of measures, by losses on grids; a factor > 0."""
        own = min(bits, _ACCURATE_CELLS)
        return self._on_grids(tuple(parts), ShiftedNoise(), growth, own)

    def _on_grids(
        self, parts: tuple[Outcomes, ...], noise: ShiftedNoise, factor: Enclosure, bits: int
    ) -> Enclosure | NotEnclosed:
        def products() -> PairProducts:
            runs = [RepeatedRun(Laplace(shift, Fraction(1)), n) for shift, n in noise.shifts]
            if noise.square:
                runs.append(RepeatedRun(Gaussian(Fraction(1), variance=1 / noise.square)))
            lines = [LinePair(*each) for each in Counter(parts).items()]
            hints = _hints(parts, (shift for shift, _ in noise.shifts))
            accurate = _ACCURATE_CELLS if lines else _ACCURATE
            return PairProducts(self._losses, runs, lines, hints, accurate)

        found = self._products.find((parts, noise), products)
        # No grid tells more of a factor that is known better.
        return found.enclosure(_rounded(factor, bits + _GUARD_BITS), bits)

    def grids(self, first: Sequence[Part], second: Sequence[Part]) -> float:
        """On how many grids the divergence of two measures is enclosed, 0 in closed form; infinity
        where terms only bound it."""
        if not first or not second or len(first[0].marginals) < 2:
            return 0
        factors = factored(first, second)
        if isinstance(factors, Mixed):
            return inf
        return len(factors.pairs) > 1 and _noise(without_events(factors)[0]) is None


def relative(growth: Enclosure, own: Enclosure, other: Enclosure) -> Enclosure:
    """Return the factor growth v / w of two sides that have probabilities w > 0 and v as well."""
    return Enclosure(growth.lower * other.lower / own.upper, growth.upper * other.upper / own.lower)


def _noise(factors: Factored) -> ShiftedNoise | None:
    """Add up shifts of noise; None if a pair is something else."""
    whole = ShiftedNoise()
    for _, first, second in factors.pairs:
        noise = shift_between(published_noise(first), published_noise(second))
        if noise is None:
            return None
        whole = whole.beside(noise)
    return whole


_Events = tuple[Connected, ...]


def without_events(factors: Factored) -> tuple[Factored, tuple[_Events, _Events]]:
    """Take the events out of sides of one part, of which each pair has no others."""
    pairs: list[tuple[int, Line, Line]] = []
    taken: tuple[list[Connected], list[Connected]] = ([], [])
    for coordinate, *lines in factors.pairs:
        sides: list[Line] = []
        for line, events in zip(lines, taken, strict=True):
            if len(line) == 1:
                events += line[0].events
                line = (replace(line[0], events=()),)
            sides.append(line)
        pairs.append((coordinate, sides[0], sides[1]))
    return Factored(tuple(pairs), factors.common), (tuple(taken[0]), tuple(taken[1]))


def _hints(parts: Iterable[Outcomes], known: Iterable[Fraction]) -> list[Mechanism]:
    """Noise of Laplace has half of its mass at the loss that its shift costs."""
    shifts = set(known)
    for own, other, _ in chain.from_iterable(parts):
        for part, its in zip(own, other, strict=False):
            if not part.marginals or not its.marginals:
                continue
            laws = part.marginals[0].event.samples, its.marginals[0].event.samples
            for one, two in zip(*laws, strict=False):
                if one.family is LAPLACE is two.family and one.mean != two.mean:
                    shifts.add(abs(one.mean - two.mean) / one.scale)
            # Samples may have one mean on both sides, and the forms of what is published differ.
            first, second = _unguarded(part), _unguarded(its)
            if first and second and first.scale and second.scale and first.mean != second.mean:
                shifts.add(abs(first.mean - second.mean) / first.scale)
    exact: list[Mechanism] = [Laplace(shift, Fraction(1)) for shift in sorted(shifts)]
    return exact or [Gaussian(Fraction(1), Fraction(1))]


def _unguarded(part: Part) -> PublishedNoise | None:
    (marginal,) = part.marginals
    plain = Marginal(replace(marginal.event, guards=()), marginal.form)
    return published_noise((Part((), (plain,)),))


def _rounded(value: Enclosure, bits: int) -> Enclosure:
    """Return ends of so many bits after the point around an enclosure."""
    unit = 1 << bits
    low, high = (value.lower * unit).__floor__(), (value.upper * unit).__ceil__()
    return Enclosure(Fraction(low, unit), Fraction(high, unit)) if low else value


def _beside(found: Split, mass: Enclosure) -> Split:
    """Return what is told by some numbers beside others, of so much mass."""
    value = (found.value * mass).positive()
    return replace(found, value=value, first=found.first * mass, second=found.second * mass)


_MOST_TERMS = 5  # terms are matched with each other in all ways; with more, only in their order
_NOTHING = Enclosure.exact(0)
_UNTOLD = Split(_NOTHING, None, UNIT, UNIT)


@enclosing
def _matched(
    first: Sequence[Part],
    second: Sequence[Part],
    divergence: Callable[[Sequence[Part], Sequence[Part]], Split | NotEnclosed],
) -> Enclosure:
    """Bound the divergence from above by the best of the matches, or by the terms in order."""

    @cache
    def of(k: int, match: int | None) -> Enclosure:
        return sure(divergence([first[k]], [] if match is None else [second[match]])).value

    own, other = (len(side) for side in (first, second))
    places: list[int | None] = [*range(other), *([None] * max(own - other, 0))]
    everything = max(own, other) <= _MOST_TERMS
    orders = permutations(places, own) if everything else [tuple(places[:own])]
    totals = (sum((of(*each) for each in enumerate(order)), _NOTHING) for order in orders)
    return Enclosure(Fraction(0), min(total.upper for total in totals))


def _alone(side: Sequence[Part], coordinate: int) -> list[Part]:
    """The law of one number: of the others only that their events happen counts."""
    parts = []
    for part in side:
        events = list(part.events)
        possible = True
        for k, marginal in enumerate(part.marginals):
            found = [] if k == coordinate else within(marginal, EVERYWHERE)
            possible = possible and found is not None
            events += found or []
        if possible:
            parts.append(Part(tuple(events), (part.marginals[coordinate],)))
    return parts
