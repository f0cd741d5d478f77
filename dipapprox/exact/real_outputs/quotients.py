"""Two measures of a published number in, how often one density is the other at most: enclosed.

For what has no closed forms. The number y is one sample of noise on each part, on an interval of
its own, and may be compared there with other samples: clamped noise, mixtures, absolute values,
maxima. So f = Σ v_i f_i and g = Σ w_j g_j, v and w enclosed probabilities, and each f_i and g_j a
product of densities at y and of probabilities that samples are above y, or below. All of these
factors are log-concave (`kernel.laws`; Prékopa), so the derivative of the logarithm of each never
rises, and lies on [s, t] between its values at t and at s. Outcomes without a number are the case
of constants.

**Pieces.** Let no mark lie inside of [s, t], m its middle, and let r be some g_j. With D_i for (ln
f_i / r)', f_i / r lies on [s, t] between multiples e^(± D_i (t - s) / 2) of its value at m, and

    (ln f/g)'  =  mean of D_i, weights v_i f_i / r  -  mean of D_j, weights w_j g_j / r.

Where that has one sign, f / g is largest at an end. Elsewhere it is at most its value at m times
e^|(ln f/g)' (t - s) / 2|: an error of second order where it has a maximum. From below the supremum
is at least every value, as f and g are continuous between marks. Pieces that bound it worst are
halved.

**Far out.** By what is known of quotients at infinite ends (`at_ends`),

    f / g  <=  Σ v_i sup (f_i / r)  /  Σ w_j inf (g_j / r),    f / g  <=  max v_i f_i / (w_i g_i)

if there are equally many of both. If some f_i / g_j have no bound for one i and all j, f / g has
none.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count, pairwise
from math import inf
from operator import mul

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.data_classes import Record
from dipapprox.events.canonical import canonical
from dipapprox.events.event import EVERYWHERE, Connected, Interval, Part, common
from dipapprox.exact.real_outputs.at_ends import (
    FEW_BITS,
    INFINITE,
    MOST_BITS,
    Far,
    LogConcave,
    Masses,
    Product,
    guarded,
)
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.limits import check_limits
from dipapprox.numerics.real_outputs.coordinates import simplified

_NONE = Fraction(0)
_MOST_PIECES = 4_000
_FARTHEST = 2**40  # of pieces at infinite ends, in scales
_ROUNDING = 16  # bits of a quotient that rounding may take
_BEYOND = Fraction(2) ** 2**16  # less than what is infinite


class _Term(Record):
    """A product on an interval, 1 without factors, times the probability of events."""

    events: tuple[Connected, ...]
    factors: Product
    interval: Interval


_Sides = Sequence[Sequence[tuple[Product, Enclosure]]]
"""Of f and of g the terms that are there on a piece, with their weights."""

_Piece = tuple[Fraction | float, int, Fraction | float, Interval]
"""The negative of an upper bound, a number of its own, a lower bound, and where."""


class EnclosedQuotient:
    """The supremum of f / g, each Σ of parts with one marginal or none: at least `low` > 0.

    Raises Missing where no rule encloses it.
    """

    def __init__(self, first: Sequence[Part], second: Sequence[Part], masses: Masses) -> None:
        self._terms = [[term for part in side for term in _terms(part)] for side in (first, second)]
        self._laws = {f.law for side in self._terms for term in side for f in term.factors}
        if any(law.family.is_discrete or law.family.sides != BOTH_SIDES for law in self._laws):
            raise Missing(
                NotEnclosed("outside-fragment: noise without a density on the whole line")
            )
        self._masses = masses
        self._numbers = count()
        self._bits = FEW_BITS
        self.low = Fraction(0)
        self._open()
        while not self.low:
            self._cut()

    @property
    def is_infinite(self) -> bool:
        return self.low == _BEYOND

    @property
    def high(self) -> Fraction | float:
        """At least the supremum; maybe infinite."""
        return -self._pieces[0][0] if self._pieces else self.low

    def halve(self) -> None:
        """Bring the bounds half as near to each other; if there is only a lower one, double it."""
        low, high = self.low, self.high
        wanted = inf if high == inf else (high - low) / 2
        while self.low <= 2 * low if self.high == inf else self.high - self.low > wanted:
            self._cut()

    def _open(self) -> None:
        """Begin with the pieces between marks, at the present bits."""
        self._known: dict[tuple[LogConcave, Fraction, bool], tuple[arb, arb]] = {}
        self._weights = [[self._weight(term) for term in side] for side in self._terms]
        ends = {end for side in self._terms for term in side for end in term.interval}
        ends.update(law.mean for law in self._laws)
        marks = [None, *sorted(end for end in ends if end is not None), None]
        self._pieces: list[_Piece] = []
        for piece in pairwise(marks):
            self._add(piece)

    def _weight(self, term: _Term) -> Enclosure:
        if not term.events:
            return Enclosure.exact(1)
        return sure(self._masses((Part(term.events, ()),), self._bits))

    def _cut(self) -> None:
        """Halve the piece with the largest upper bound; begin again where bits are too few."""
        check_limits()
        if not self._pieces:
            raise Missing(NotEnclosed("a measure that exceeds another is not known to be positive"))
        upper, _, lower, (start, end) = heapq.heappop(self._pieces)
        if not self._laws or -upper <= lower * (1 + Fraction(2**_ROUNDING, 2**self._bits)):
            if self._bits >= MOST_BITS:
                raise Missing(NotEnclosed("a quotient of two densities is next to e^ε_prv"))
            self._bits *= 2
            self._open()
            return
        scale = max(law.scale for law in self._laws)
        reach = max(abs((start or _NONE) - (end or _NONE)), scale)
        if len(self._pieces) > _MOST_PIECES or (None in (start, end) and reach > _FARTHEST * scale):
            heapq.heappush(self._pieces, (upper, next(self._numbers), lower, (start, end)))
            raise Missing(NotEnclosed("a quotient of two densities takes too many pieces"))
        if start is not None and end is not None:
            middle = (start + end) / 2
        elif start is not None:
            middle = start + reach
        else:
            assert end is not None  # laws have means, which are marks
            middle = end - reach
        self._add((start, middle))
        self._add((middle, end))

    def _add(self, piece: Interval) -> None:
        present = [
            [
                (term.factors, weight)
                for term, weight in zip(side, weights, strict=True)
                if weight.upper and common(term.interval, piece) == piece
            ]
            for side, weights in zip(self._terms, self._weights, strict=True)
        ]
        if not present[0]:
            return
        lower: Fraction | float = inf
        upper: Fraction | float = inf
        if present[1]:
            with precision(self._bits + 2 * _ROUNDING):
                low, high = self._bounds(present, piece)
                if low != INFINITE:
                    lower, upper = max(_NONE, -_above(-low)), _above(high)
        elif not any(weight.lower for _, weight in present[0]):
            lower = _NONE
        self.low = max(self.low, _BEYOND if lower == inf else Fraction(lower))
        heapq.heappush(self._pieces, (-upper, next(self._numbers), lower, piece))

    def _at(self, factor: LogConcave, y: Fraction, inside: Fraction) -> tuple[arb, arb]:
        key = factor, y, inside >= factor.law.mean
        if key not in self._known:
            self._known[key] = factor.at(y, inside)
        return self._known[key]

    def _value(self, factors: Product, y: Fraction, inside: Fraction) -> arb:
        found = arb(1)
        for each in factors:
            found *= self._at(each, y, inside)[0]
        return found

    def _quotient(self, sides: _Sides, y: Fraction, inside: Fraction) -> arb:
        own, other = (_sum((w, self._value(f, y, inside)) for f, w in side) for side in sides)
        return own / other

    def _bounds(self, sides: _Sides, piece: Interval) -> tuple[arb, arb]:
        """Bound the supremum on a piece without marks."""
        start, end = piece
        if start is None and end is None:
            found = self._quotient(sides, _NONE, _NONE)  # of constants
            return found, found
        if start is None:
            assert end is not None
            return self._far(sides, end, -1)
        return self._far(sides, start, 1) if end is None else self._between(sides, start, end)

    def _between(self, sides: _Sides, start: Fraction, end: Fraction) -> tuple[arb, arb]:
        middle, reach = (start + end) / 2, to_ball((end - start) / 2)
        heights = [[self._value(factors, middle, middle) for factors, _ in side] for side in sides]
        base = sides[1][_highest(heights[1])][0]
        slope = arb(0)
        for sign, side, own in zip((1, -1), sides, heights, strict=True):
            rates = [self._slope(factors, base, start, end, middle) for factors, _ in side]
            slope += sign * rates[_highest(own)]
            if len(side) > 1:  # a mean is its first, but for what others differ from it
                near = [
                    to_ball(weight) * v * (reach * rate * arb(0, 1)).exp()
                    for (_, weight), v, rate in zip(side, own, rates, strict=True)
                ]
                rises = [rate - rates[_highest(own)] for rate in rates]
                rises[_highest(own)] = arb(0)
                slope += sign * sum(map(mul, near, rises), arb(0)) / sum(near, arb(0))
        places = [self._quotient(sides, y, middle) for y in (start, middle, end)]
        if slope > 0 or slope < 0:
            return _greatest(places), places[2 if slope > 0 else 0]
        return _greatest(places), places[1] * (abs(slope) * reach).exp()

    def _slope(
        self, factors: Product, base: Product, start: Fraction, end: Fraction, inside: Fraction
    ) -> arb:
        """Enclose (ln of a product by another)' between two places."""
        own, other, found = Counter(factors), Counter(base), arb(0)
        for sign, left in ((1, own - other), (-1, other - own)):
            for each in left.elements():
                rates = [self._at(each, y, inside)[1] for y in (start, end)]
                found += sign * rates[0].union(rates[1])
        return found

    def _far(self, sides: _Sides, start: Fraction, end: int) -> tuple[arb, arb]:
        first, second = sides
        tails = [[Far(f, g, end) for g, _ in second] for f, _ in first]
        if any(
            w.lower and all(tail.limit == INFINITE for tail in own)
            for own, (_, w) in zip(tails, first, strict=True)
        ):
            return INFINITE, INFINITE
        lows, highs = [self._quotient(sides, start, start + end)], [INFINITE]
        if len(first) == len(second):
            pairs = zip(first, second, strict=True)
            bounds = [own[k].bounds(start, self._at)[1] for k, own in enumerate(tails)]
            highs.append(
                _most(
                    [
                        to_ball(v.upper) * most / to_ball(w.lower)
                        for ((_, v), (_, w)), most in zip(pairs, bounds, strict=True)
                    ]
                )
            )
        for k, (base, _) in enumerate(second):
            others = [Far(g, base, end) for g, _ in second]
            quotients = [[own[k] for own in tails], others]
            first_bounds, second_bounds = (
                [(w, *tail.bounds(start, self._at)) for (_, w), tail in zip(side, own, strict=True)]
                for side, own in zip(sides, quotients, strict=True)
            )
            most = _sum((w.upper, high) for w, _, high in first_bounds)
            highs.append(most / _sum((w.lower, low) for w, low, _ in second_bounds))
            limits = [[tail.limit for tail in own] for own in quotients]
            if all(each is not None and each.is_finite() for own in limits for each in own):
                above, below = (
                    _sum((w, each or arb(0)) for (_, w), each in zip(side, own, strict=True))
                    for side, own in zip(sides, limits, strict=True)
                )
                lows.append(above / below)
        return _greatest(lows), _smallest(highs)


def _terms(part: Part) -> list[_Term]:
    """Write a part as a term, none if its probability is 0; Missing for more than one sample."""
    if not part.marginals:
        return [_Term(tuple(part.events), (), EVERYWHERE)]
    (marginal,) = part.marginals
    separate = simplified(marginal)
    if separate is None:
        return []
    others, own = separate
    interval, compared = guarded(own)
    factors, used = [], set[int]()
    for form, side in ((own.form, 0), *compared):
        sample, *more = form.samples()
        if more or sample in used or (side == 0) != (form is own.form):
            raise Missing(NotEnclosed("outside-fragment: a number that depends on several samples"))
        used.add(sample)
        law = own.event.samples[sample].affine(form.coefficient(sample), form.constant)
        factors.append(LogConcave(law, side))
    events = (*part.events, *map(canonical, others))
    return [_Term(events, tuple(factors), interval)]


def _most(values: Sequence[arb]) -> arb:
    """The largest upper bound; infinite if one is not known: comparisons would leave it out."""
    return max(v.upper() for v in values) if all(v.is_finite() for v in values) else INFINITE


def _greatest(values: Iterable[arb]) -> arb:
    """The largest lower bound that is known of numbers >= 0."""
    return max([arb(0), *(value.lower() for value in values if value.is_finite())])


def _smallest(values: Iterable[arb]) -> arb:
    """The least upper bound that is known."""
    return min([INFINITE, *(value.upper() for value in values if value.is_finite())])


def _highest(values: Sequence[arb]) -> int:
    """The place of the largest, as far as middles tell."""
    return max(range(len(values)), key=lambda k: values[k].mid())


def _sum(terms: Iterable[tuple[Fraction | Enclosure, arb]]) -> arb:
    return sum((to_ball(weight) * value for weight, value in terms), arb(0))


def _above(ball: arb) -> Fraction | float:
    found = to_enclosure(ball)
    return inf if isinstance(found, NotEnclosed) else found.upper
