"""Two measures of a published number in, how often one density is the other at most: enclosed.

For what has no closed forms. The number is one sample of noise on each part, on an interval of its
own: clamped noise, mixtures, absolute values. So f = Σ v_i f_i and g = Σ w_j g_j, with densities
f_i and g_j of one law, moved, between marks, and enclosed probabilities v and w. Outcomes without a
number are the case of constants.

**Pieces.** Let no mark lie inside of [s, t], and let r be the density of some g_j. Laws are
log-concave (`kernel.laws`), so a density divided by itself, moved, rises all the way or falls:
f_i / r and g_j / r lie between their values at s and t (of Laplace noise of several scales, too, if
the means are marks: they are exponentials), and

    f / g  <=  Σ v_i max(f_i / r)  /  Σ w_j min(g_j / r)    on [s, t].

At an infinite end a quotient is at most e^|d|, d the move in scales, where noise allows that
(`Family.shifts`), and its inverse is; where noise does not, it tends to infinity, as it does for
Laplace noise of a larger scale. If that holds of one f_i and all g_j, f / g has no bound. From
below the supremum is at least every value at an end: f and g are continuous between marks. Pieces
that bound it worst are halved.

**Far out.** Let y be a sample on each part, with guards about others: its density is that of the
law times a probability of the guards. That is at most 1; where all guards hold the sooner, the
further out y is, it does not fall, and if the part has a positive mass it is not 0 all the way. So
if the law of one such part of f is, far out, more than any multiple of those of all parts of g,
f / g has no bound.

**Sums, moved.** Let y be the sum of independent samples, of the same law at u and u' but for a move
d > 0, upwards at u. Theorem: densities of samples are log-concave, so the density f of y at u' is
(Prékopa); so f(y - d) / f(y) never falls as y grows, nor does -(ln f)', which tends to some r <= ∞.
E e^(ty) is finite for t < r, for f falls faster than e^(-sy) for an s > t; and infinite for t = r <
∞, for f falls nowhere faster than e^(-ry). It is the product of those of the samples: r is the
least of theirs (`RealFamily.moments_below`, in scales). So where an interval has no upper end the
supremum of f(y - d) / f(y) is its limit e^(rd). Where it ends at t it is the value there: at most
the quotient of the masses of any interval above t, at least that of any below t.

Downwards all is mirrored.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import count, pairwise
from math import inf

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.data_classes import Record, replace
from dipapprox.events.canonical import canonical, within
from dipapprox.events.event import (
    EVERYWHERE,
    Connected,
    Event,
    Interval,
    Marginal,
    Part,
    common,
    mapped,
)
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.limits import check_limits
from dipapprox.numerics.real_outputs.coordinates import Line, simplified

Masses = Callable[[Sequence[Part], int], Enclosure | NotEnclosed]
"""Encloses the mass of parts, to so many bits."""

_FEW_BITS = 64
_MOST_BITS = 256
_MOST_PIECES = 4_000
_ROUNDING = 16  # bits of a quotient that rounding may take
_BEYOND = Fraction(2) ** 2**16  # less than what is infinite
_INFINITE = arb("inf")


class _Term(Record):
    """A density on an interval, or 1 everywhere without a law, times the probability of events."""

    events: tuple[Connected, ...]
    law: Distribution | None
    interval: Interval


_Present = Sequence[tuple[Distribution | None, Enclosure]]
"""The terms that are there on a piece: densities, 1 for None, and their weights."""

_Piece = tuple[Fraction | float, int, Fraction | float, Interval]
"""The negative of an upper bound, a number of its own, a lower bound, and where."""


class EnclosedQuotient:
    """The supremum of f / g, each Σ of parts with one marginal or none: at least `low` > 0.

    Raises Missing where no rule encloses it.
    """

    def __init__(self, first: Sequence[Part], second: Sequence[Part], masses: Masses) -> None:
        self._terms = [[term for part in side for term in _terms(part)] for side in (first, second)]
        laws = [term.law for side in self._terms for term in side if term.law is not None]
        kinds = {(law.family, law.scale) for law in laws}
        self._kinks = sorted({law.mean for law in laws} if len(kinds) > 1 else ())
        if len(kinds) > 1 and not all(family.is_exponential for family, _ in kinds):
            raise Missing(NotEnclosed("outside-fragment: noise of several kinds in one number"))
        if any(law.family.is_discrete or law.family.sides != BOTH_SIDES for law in laws):
            raise Missing(
                NotEnclosed("outside-fragment: noise without a density on the whole line")
            )
        self._masses = masses
        self._numbers = count()
        self._bits = _FEW_BITS
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
        self._weights = [[self._weight(term) for term in side] for side in self._terms]
        ends = {end for side in self._terms for term in side for end in term.interval}
        ends.update(self._kinks)
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
        law = next((t.law for side in self._terms for t in side if t.law is not None), None)
        if law is None or -upper <= lower * (1 + Fraction(2**_ROUNDING, 2**self._bits)):
            if self._bits >= _MOST_BITS:
                raise Missing(NotEnclosed("a quotient of two densities is next to e^ε_prv"))
            self._bits *= 2
            self._open()
            return
        if len(self._pieces) > _MOST_PIECES:
            heapq.heappush(self._pieces, (upper, next(self._numbers), lower, (start, end)))
            raise Missing(NotEnclosed("a quotient of two densities takes too many pieces"))
        middle = law.mean
        if start is not None and end is not None:
            middle = (start + end) / 2
        elif start is not None:
            middle = max(start, law.mean) + max(start - law.mean, law.scale)
        elif end is not None:
            middle = min(end, law.mean) - max(law.mean - end, law.scale)
        self._add((start, middle))
        self._add((middle, end))

    def _add(self, piece: Interval) -> None:
        lower, upper = self._bounds(piece)
        if upper:
            self.low = max(self.low, _BEYOND if lower == inf else Fraction(lower))
            heapq.heappush(self._pieces, (-upper, next(self._numbers), lower, piece))

    def _bounds(self, piece: Interval) -> tuple[Fraction | float, Fraction | float]:
        """Bound the supremum on a piece without marks."""
        present = [
            [
                (term.law, weight)
                for term, weight in zip(side, weights, strict=True)
                if weight.upper and common(term.interval, piece) == piece
            ]
            for side, weights in zip(self._terms, self._weights, strict=True)
        ]
        if not present[0]:
            return Fraction(0), Fraction(0)
        if not present[1]:
            return (inf if any(weight.lower for _, weight in present[0]) else Fraction(0)), inf
        if any(
            end is None and _has_no_bound(present[0], present[1], k) for k, end in enumerate(piece)
        ):
            return inf, inf
        bases = [law for law, _ in present[1] if law is not None]
        base = max(bases, key=lambda law: law.scale, default=None)
        with precision(self._bits + 2 * _ROUNDING):
            first, second = (
                [(weight, [_moved(law, base, piece, k) for k in (0, 1)]) for law, weight in side]
                for side in present
            )
            most = _sum((weight.upper, _most(values)) for weight, values in first)
            least = _sum((weight.lower, _least(values)) for weight, values in second)
            upper = _above(most / least) if least > 0 else inf
            lower: Fraction | float = Fraction(0)
            for k in (0, 1):
                if base is None or piece[k] is not None:
                    own = _sum((weight.lower, values[k].lower()) for weight, values in first)
                    other = _sum((weight.upper, values[k].upper()) for weight, values in second)
                    lower = max(lower, -_above(-own / other))
        return lower, upper


def _terms(part: Part) -> list[_Term]:
    """Write a part as a term, none if its probability is 0; Missing for more than one sample."""
    if not part.marginals:
        return [_Term(tuple(part.events), None, EVERYWHERE)]
    (marginal,) = part.marginals
    separate = simplified(marginal)
    if separate is None:
        return []
    others, own = separate
    interval = interval_of(own)
    if len(own.event.samples) > 1 or interval is None:
        raise Missing(
            NotEnclosed("outside-fragment: a number that is more than one sample on an interval")
        )
    (sample,) = own.event.samples
    events = (*part.events, *map(canonical, others))
    return [_Term(events, sample.affine(own.form.coefficient(0), own.form.constant), interval)]


def interval_of(number: Marginal) -> Interval | None:
    """Return the interval that guards keep a number on; None if they are about more than it."""
    form, interval = number.form, EVERYWHERE
    leading, c = form.terms[0]
    for guard in number.event.guards:
        factor = guard.coefficient(leading) / c
        rest = guard - form.scaled(factor) if factor else guard
        if not rest.is_constant:
            return None
        end = -rest.constant / factor  # factor · number + rest <= 0
        interval = common(interval, (None, end) if factor > 0 else (end, None))
    return interval


def _moved(law: Distribution | None, base: Distribution | None, piece: Interval, end: int) -> arb:
    """Enclose the quotient of two densities at an end of a piece; at infinity a bound."""
    if law is None or base is None or law == base:
        return arb(1)
    place, side = piece[end], (-1, 1)[end]
    if place is not None:
        family = law.real
        near, far = ((place - each.mean) / each.scale for each in (law, base))
        own, other = (family.pdf(to_ball(z), _branch(law, z)) for z in (near, far))
        return own / other * to_ball(base.scale / law.scale)
    if law.scale != base.scale:
        return arb(0) if law.scale < base.scale else _INFINITE
    scales = (law.mean - base.mean) / law.scale
    bounded = side in law.family.shifts
    if side * scales > 0:
        return to_ball(abs(scales)).exp() if bounded else _INFINITE
    return to_ball(-abs(scales)).exp() if bounded else arb(0)


def _has_no_bound(first: _Present, second: _Present, end: int) -> bool:
    """Whether some term of f is more than any multiple of all terms of g at an infinite end."""
    return any(
        weight.lower
        and law is not None
        and all(_moved(law, other, EVERYWHERE, end) == _INFINITE for other, _ in second)
        for law, weight in first
    )


def _most(values: Sequence[arb]) -> arb:
    """The largest upper bound; infinite if one is not known: comparisons would leave it out."""
    return max(v.upper() for v in values) if all(v.is_finite() for v in values) else _INFINITE


def _least(values: Sequence[arb]) -> arb:
    """The least lower bound of numbers >= 0; 0 if one is not known."""
    known = [v for v in values if v.is_finite() or v == _INFINITE]
    return min(v.lower() for v in known) if len(known) == len(values) else arb(0)


def _branch(law: Distribution, z: Fraction) -> int:
    return (1 if z >= 0 else -1) if law.real.has_kink else 0


def _sum(terms: Iterable[tuple[Fraction, arb]]) -> arb:
    return sum((to_ball(weight) * value for weight, value in terms if weight), arb(0))


def _above(ball: arb) -> Fraction | float:
    found = to_enclosure(ball)
    return inf if isinstance(found, NotEnclosed) else found.upper


def outgrows(first: Line, second: Line, masses: Masses) -> bool:
    """Whether f / g is seen to have no bound far out, as the module says."""
    for end, side in enumerate((-1, 1)):
        others = [law for part in second for law in _laws_of(part)]
        for part in first:
            for law in filter(None, _laws_of(part, side)):
                alike = all(own is not None and own.family is law.family for own in others)
                if alike and all(_moved(law, b, EVERYWHERE, end) == _INFINITE for b in others):
                    mass = masses((part,), _FEW_BITS)
                    if isinstance(mass, Enclosure) and mass.lower:
                        return True
    return False


def _laws_of(part: Part, side: int = 0) -> list[Distribution | None]:
    """Return the law of a part's number, none if its mass is 0; None for what is no one sample, or,
    with a side, if not all guards hold the sooner the further out it is there."""
    if not part.marginals:
        return [None]
    separate = simplified(part.marginals[0])
    if separate is None:
        return []
    form, event = separate[1].form, separate[1].event
    (leading, c), *more = form.terms
    law = event.samples[int(leading)].affine(c, form.constant)
    rises = (side * guard.coefficient(leading) / c > 0 for guard in event.guards)
    if more or law.family.is_discrete or law.family.sides != BOTH_SIDES or any(rises):
        return [None]
    return [law]


_BITS = 40  # at first: doubles tell so many
_MOST_HALVINGS = 30


class MovedSum(Record):
    """The number at u and at u' without guards, the mean at u larger by `move`, which is not 0."""

    first: Marginal
    second: Marginal
    laws: tuple[Distribution, ...]  # of the samples as they are added, of mean 0
    move: Fraction
    interval: Interval

    @property
    def end(self) -> Fraction | None:
        """Of the interval, where the quotient is largest; None if it has none there."""
        return self.interval[self.move > 0]

    @property
    def supremum(self) -> ExponentialRatio | None:
        """That of the quotient if there is no end; None if it is infinite."""
        turned = [law.affine(Fraction(self.move > 0 or -1), Fraction(0)) for law in self.laws]
        falls = [(law.real.moments_below, law.scale) for law in turned]
        rates = [below / scale for below, scale in falls if below is not None]
        if not rates:
            return None
        return ExponentialRatio(ExponentialPolynomial.monomial(1, 0, min(rates) * abs(self.move)))


def moved_sum(first: Line, second: Line) -> MovedSum | None:
    """Read two measures, of one number each, as a sum that is moved; None if they are none."""
    one, two = _read_sum(first), _read_sum(second)
    if one is None or two is None or one[1:3] != two[1:3] or one[3] == two[3]:
        return None
    return MovedSum(one[0], two[0], one[1], one[3] - two[3], one[2])


def _read_sum(line: Line) -> tuple[Marginal, tuple[Distribution, ...], Interval, Fraction] | None:
    """Read a measure: the number, the laws that are added, where it lies, and its mean."""
    if len(line) != 1 or line[0].events or not line[0].marginals:
        return None
    separate = simplified(line[0].marginals[0])
    if separate is None or separate[0]:
        return None
    event, form = separate[1].event, separate[1].form
    if any(law.family.is_discrete or law.family.sides != BOTH_SIDES for law in event.samples):
        return None
    interval = interval_of(separate[1])
    if interval is None:
        return None
    added = [event.samples[int(sample)].affine(c, Fraction(0)) for sample, c in form.terms]
    mean = form.constant + sum((law.mean for law in added), Fraction(0))
    laws = sorted((replace(law, mean=Fraction(0)) for law in added), key=law_order)
    return Marginal(Event(event.samples, ()), form), tuple(laws), interval, mean


class EndQuotient:
    """The supremum of a quotient of densities at an end: at least `low` > 0, at most `high`.

    Raises Missing where masses are not enclosed.
    """

    def __init__(self, moved: MovedSum, masses: Masses) -> None:
        self._moved, self._masses = moved, masses
        ends = [end for end in moved.interval if end is not None]
        self._reach = (max(ends) - min(ends)) or max(law.scale for law in moved.laws)
        self._halvings = 0
        self.low: Fraction = Fraction(0)
        self.high: Fraction | float = inf
        self.halve()

    def halve(self) -> None:
        """Look at intervals on both sides of the end that are half as long."""
        if self._halvings == _MOST_HALVINGS:
            raise Missing(NotEnclosed("a quotient of two densities is next to e^ε_prv"))
        self._halvings += 1
        own, other = self._masses_between(-self._reach, Fraction(0))
        self.low = max(self.low, own.lower / other.upper)
        own, other = self._masses_between(Fraction(0), self._reach if self._halvings > 1 else None)
        self.high = min(self.high, own.upper / other.lower)
        self._reach /= 2

    def _masses_between(self, low: Fraction, high: Fraction | None) -> list[Enclosure]:
        """The masses, at u and at u', at places so far beyond the end."""
        moved, found, bits = self._moved, [], _BITS + 2 * self._halvings
        assert moved.end is not None
        where = mapped((low, high), Fraction(moved.move > 0 or -1), moved.end)
        for number in (moved.first, moved.second):
            events = within(number, where)
            mass = None if events is None else sure(self._masses((Part(tuple(events), ()),), bits))
            if mass is None or not mass.lower:
                raise Missing(NotEnclosed("a mass beyond an end is next to 0"))
            found.append(mass)
        return found
