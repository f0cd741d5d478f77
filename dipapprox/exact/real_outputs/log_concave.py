"""Log-concave functions of a published number: what quotients of them are, far out and at ends.

All densities of samples are log-concave (`kernel.laws`), and so are the probabilities that a sample
is above y, or below; products of such functions; and marginals of these, densities of sums of
samples among them (Prékopa).

**Far out.** As y tends to an infinite end a factor h tends to a constant, or so does h / e, where e
is an exponential (`RealFamily.tail`), or h falls faster than all of them: it is steep. As ln h is
concave, h / e rises, to 1 if e is chosen so. Let q be a quotient of products of factors, whose
exponentials make c e^(ρ y). If no steep factors are left, it is known thereby. If there are some
above only, (ln q)' but for the light factors falls: if it is <= 0 at s, q falls from there, and to
0. If there is a steeper density above (`RealFamily.steepness`) and one below, it does from where it
fell once. Steep factors above and below that are of one law but for a move change one way: h(y - d)
/ h(y) rises for d > 0, and Pr[X >= y] / f(y) falls, as does what is compared with y on the other
side at the other end. And so inversely.

So f / g has no bound if f is at least a density that all guards of a part keep, the further out y
is, the sooner, where that part has a positive mass; and g a sum of what is at most a density, with
no bound of the quotient with any.

**Sums, moved.** Let y be the sum of independent samples, of the same law at u and u' but for a move
d > 0, upwards at u. Theorem: densities of samples are log-concave, so the density f of y at u' is
(Prékopa); so f(y - d) / f(y) never falls as y grows, nor does -(ln f)', which tends to some r <= ∞.
E e^(ty) is finite for t < r, for f falls faster than e^(-sy) for an s > t; and infinite for t = r <
∞, for f falls nowhere faster than e^(-ry). It is the product of those of the samples: r is the
least of theirs (`RealFamily.tail`). So where an interval has no upper end the
supremum of f(y - d) / f(y) is its limit e^(rd). Where it ends at t it is the value there: at most
the quotient of the masses of any interval above t, at least that of any below t.

Downwards all is mirrored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, sure
from dipapprox.arithmetic.precision import to_ball
from dipapprox.data_classes import Record, replace
from dipapprox.events.canonical import within
from dipapprox.events.event import EVERYWHERE, Event, Interval, Marginal, Part, common, mapped
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.coordinates import Line, simplified

Masses = Callable[[Sequence[Part], int], Enclosure | NotEnclosed]
"""Encloses the mass of parts, to so many bits."""

FEW_BITS = 64
INFINITE = arb("inf")
_ONE, _NONE = Fraction(1), Fraction(0)


class LogConcave(Record):
    """The density of a law at y; or, with a side, the mass it has on that side of y."""

    law: Distribution
    side: int

    def at(self, y: Fraction, inside: Fraction) -> tuple[arb, arb]:
        """Enclose its value and the derivative of its logarithm, both of the branch at `inside`."""
        law, family, branch = self.law, self.law.real, 0
        if family.has_kink:
            branch = 1 if inside >= law.mean else -1
        z, scale = to_ball((y - law.mean) / law.scale), to_ball(law.scale)
        density = family.pdf(z, branch) / scale
        if not self.side:
            return density, family.score(z, branch) / scale
        mass = (family.survival if self.side > 0 else family.cdf)(z, branch)
        return mass, -self.side * density / mass

    def tail(self, end: int) -> tuple[Fraction, Fraction, Fraction] | None:
        """c, a, b for which it is like c e^(a - b |y|) at an infinite end; None if it is steep."""
        if self.side == -end:
            return _ONE, _NONE, _NONE
        c = (self.law.real if end > 0 else self.law.real.mirror).tail
        if c is None:
            return None
        scale = self.law.scale
        return c if self.side else c / scale, end * self.law.mean / scale, 1 / scale


Product = tuple[LogConcave, ...]
At = Callable[[LogConcave, Fraction, Fraction], tuple[arb, arb]]


class Far:
    """A quotient of products at an infinite end."""

    def __init__(self, above: Product, below: Product, end: int) -> None:
        self._end = end
        own, other = Counter(above), Counter(below)
        self._light: list[tuple[LogConcave, int]] = []
        self._steep: tuple[list[LogConcave], list[LogConcave]] = ([], [])
        self._constant, self._shift, self._rate = _ONE, _NONE, _NONE
        for power, factors in ((1, own - other), (-1, other - own)):
            for factor in factors.elements():
                tail = factor.tail(end)
                if tail is None:
                    self._steep[power < 0].append(factor)
                    continue
                self._light.append((factor, power))
                self._constant *= tail[0] ** power
                self._shift += power * tail[1]
                self._rate -= power * tail[2]
        # Steep factors without a moved one to go with, and the sign of (ln q)' far out, but for the
        # light factors: None if it is not known.
        self._alone, signs = self._paired()
        signs = {*signs, self._trend()} - {0}
        self._sign = None if len(signs) > 1 else next(iter(signs), 0)

    def _paired(self) -> tuple[tuple[list[LogConcave], list[LogConcave]], set[int | None]]:
        """Pair steep factors that are moved; return those that are left, and how pairs change."""
        above, below, signs = list[LogConcave](), list(self._steep[1]), set[int | None]()
        for own in self._steep[0]:
            alike = [b for b in below if own.law.affine(_ONE, b.law.mean - own.law.mean) == b.law]
            if not alike:
                above.append(own)
                continue
            below.remove(other := alike[0])
            signs.add(_sign(self._end * (own.law.mean - other.law.mean)))
            signs.add(bool(other.side) - bool(own.side))
        return (above, below), signs

    def _trend(self) -> int | None:
        """How what is not paired changes."""
        above, below = self._alone
        if not above or not below:
            return _sign(len(below) - len(above) or self._rate)
        (own, *more), (other, *others) = above, below
        if more or others or own.side or other.side:
            return None
        rises = [(f.law.real.steepness or 0, 1 / f.law.scale) for f in (other, own)]
        return 1 if rises[0] > rises[1] else -1

    @property
    def limit(self) -> arb | None:
        """What it tends to; None if that is not known."""
        if self._sign:
            return INFINITE if self._sign > 0 else arb(0)
        return None if self._sign is None else self._exponential(_NONE)

    def _exponential(self, place: Fraction) -> arb:
        return to_ball(self._constant) * to_ball(self._shift + self._rate * self._end * place).exp()

    def bounds(self, start: Fraction, at: At) -> tuple[arb, arb]:
        """Bound it from `start` on, beyond which there is no mark."""
        inside, least, most = start + self._end, arb(1), arb(1)
        for factor, power in self._light:
            c, a, b = factor.tail(self._end) or (_ONE, _NONE, _NONE)
            exponential = to_ball(c) * to_ball(a - b * self._end * start).exp()
            risen = at(factor, start, inside)[0] / exponential
            if power > 0:
                least *= risen
            else:
                most /= risen
        value = self._exponential(start)
        for power, factors in zip((1, -1), self._steep, strict=True):
            for factor in factors:
                value *= at(factor, start, inside)[0] ** power
        if self._sign == 0:
            return value * least, value * most
        known = self._sign is not None and self._changes_on(self._sign, start, at)
        if self._sign == 1:
            return (value * least if known else arb(0)), INFINITE
        return arb(0), value * most if known else INFINITE

    def _changes_on(self, sign: int, start: Fraction, at: At) -> bool:
        """Whether (ln q)' has its sign from `start` on, without light factors."""
        above, below = self._alone
        slopes = []
        for place in (start, start - self._end * sum(factor.law.scale for factor in above)):
            slope = to_ball(self._rate)
            for power, factors in ((self._end, above), (-self._end, below)):
                for each in factors:
                    slope += power * at(each, place, start + self._end)[1]
            slopes.append(sign * slope)
        one_sided = not above or not below
        return bool(slopes[0] >= 0 and (one_sided or slopes[0] >= slopes[1]))


def _sign(number: Fraction | int) -> int:
    return (number > 0) - (number < 0)


def guarded(number: Marginal) -> tuple[Interval, list[tuple[LinearForm, int]]]:
    """Read guards: where they keep a number y, and forms that are on a side of y, 1 if above.

    A form without y counts as one that is compared: with side 0.
    """
    form, interval = number.form, EVERYWHERE
    compared: list[tuple[LinearForm, int]] = []
    leading, c = form.terms[0]
    for guard in number.event.guards:
        factor = guard.coefficient(leading) / c
        rest = guard - form.scaled(factor) if factor else guard
        if not factor:
            compared.append((rest, 0))
        elif rest.is_constant:
            end = -rest.constant / factor  # factor · number + rest <= 0
            interval = common(interval, (None, end) if factor > 0 else (end, None))
        else:
            compared.append((rest.scaled(-1 / factor), _sign(factor)))
    return interval, compared


def outgrows(first: Line, second: Line, masses: Masses) -> bool:
    """Whether f / g is seen to have no bound far out, as the module says."""
    for side in (-1, 1):
        others = [law for part in second for law in _laws_of(part)]
        for part in first:
            for law in filter(None, _laws_of(part, side)):
                above = (LogConcave(law, 0),)
                if all(
                    b and Far(above, (LogConcave(b, 0),), side).limit == INFINITE for b in others
                ):
                    mass = masses((part,), FEW_BITS)
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
        rates = [1 / law.scale for law in turned if law.real.tail is not None]
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
    interval, compared = guarded(separate[1])
    if compared:
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
