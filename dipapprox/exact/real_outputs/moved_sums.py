"""A sum of noise on an interval, moved: how often one density is the other at most.

**Theorem.** Let y be the sum of independent samples, of the same law at u and u' but for a move
d > 0, upwards at u. Densities of samples are log-concave, so the density f of y at u' is (Prékopa);
so f(y - d) / f(y) never falls as y grows, nor does -(ln f)', which tends to some r <= ∞. E e^(ty)
is finite for t < r, for f falls faster than e^(-sy) for an s > t; and infinite for t = r < ∞, for f
falls nowhere faster than e^(-ry). It is the product of those of the samples: r is the least of
theirs (`RealFamily.moments_below`, in scales). So where an interval has no upper end the supremum
of f(y - d) / f(y) is its limit e^(rd). Where it ends at t it is the value there: at most the
quotient of the masses of any interval above t, at least that of any below t.

Downwards all is mirrored.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, sure
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.events.intervals import Interval, mapped, within
from dipapprox.exact.real_outputs.quotients import Masses, interval_of
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.numerics.real_outputs.coordinates import simplified
from dipapprox.numerics.real_outputs.factors import Line

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
    one, two = _sum(first), _sum(second)
    if one is None or two is None or one[1:3] != two[1:3] or one[3] == two[3]:
        return None
    return MovedSum(one[0], two[0], one[1], one[3] - two[3], one[2])


def _sum(line: Line) -> tuple[Marginal, tuple[Distribution, ...], Interval, Fraction] | None:
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
