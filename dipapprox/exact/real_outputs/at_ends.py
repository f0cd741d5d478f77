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

**Sums, moved.** Let y be the sum of independent samples, of the same law at u and u' but for a move
d > 0, upwards at u. Theorem: densities of samples are log-concave, so the density f of y at u' is
(Prékopa); so f(y - d) / f(y) never falls as y grows, nor does -(ln f)', which tends to some r <= ∞.
E e^(ty) is finite for t < r, for f falls faster than e^(-sy) for an s > t; and infinite for t = r <
∞, for f falls nowhere faster than e^(-ry). It is the product of those of the samples: r is the
least of theirs (`RealFamily.tail`). So where an interval has no upper end the
supremum of f(y - d) / f(y) is its limit e^(rd). Where it ends at t it is the value there: at most
the quotient of the masses of any interval above t, at least that of any below t.

**Sums, one sample cut.** Let y = t + x, t a sum of samples, x one on an interval I that u and u'
have in common, its density p at u' moved up by d > 0 at u: ρ(x) = p(x - d) / p(x) never falls. As t
is log-concave, f / g never falls either (Karlin, Total positivity, 1968: the basic composition
formula), so its supremum is the limit as y grows. Let r be the rate at which t falls, as above. If
r = ∞, or E e^(rx) on I is not finite, which needs a slower fall of p and no upper end of I, what is
given of x moves to the upper end: the limit is that of ρ. Else it is that of ∫ e^(rx) over I, by
dominated convergence: e^(rd) Pr[x + r σ² + d in I] / Pr[x + r σ² in I] for Gaussian noise.

Downwards all is mirrored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import inf

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
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
MOST_BITS = 256
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


_BITS = 42  # at first: doubles tell so many
_MOST_HALVINGS = 30


class Bracket:
    """A quotient of which each step tells two bounds: at least `low` > 0, at most `high`.

    Raises Missing where a step has none, and after the last one.
    """

    def __init__(self, bounds: Callable[[int], tuple[Fraction, Fraction]], most: int) -> None:
        self._bounds, self._steps, self._most = bounds, 0, most
        self.low: Fraction = Fraction(0)
        self.high: Fraction | float = inf
        self.halve()

    def halve(self) -> None:
        """Take one more step."""
        if self._steps == self._most:
            raise Missing(NotEnclosed("a quotient of two densities is next to e^ε_prv"))
        low, high = self._bounds(self._steps)
        self._steps += 1
        self.low, self.high = max(self.low, low), min(self.high, high)


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
        rate = _rate(self.laws, _sign(self.move))
        return None if rate is None else _exponential(rate * abs(self.move))

    def at_end(self, masses: Masses) -> Bracket:
        """Bracket the supremum at the end by masses of ever shorter intervals on both sides."""
        ends = [end for end in self.interval if end is not None]
        longest = (max(ends) - min(ends)) or max(law.scale for law in self.laws)

        def between(low: Fraction, high: Fraction | None, bits: int) -> list[Enclosure]:
            """The masses, at u and at u', at places so far beyond the end."""
            assert self.end is not None
            where, found = mapped((low, high), Fraction(self.move > 0 or -1), self.end), []
            for number in (self.first, self.second):
                events = within(number, where)
                mass = None if events is None else sure(masses((Part(tuple(events), ()),), bits))
                if mass is None or not mass.lower:
                    raise Missing(NotEnclosed("a mass beyond an end is next to 0"))
                found.append(mass)
            return found

        def bounds(step: int) -> tuple[Fraction, Fraction]:
            reach, bits = longest / 2**step, _BITS + 2 * step
            own, other = between(-reach, _NONE, bits)
            more, less = between(_NONE, reach if step else None, bits)
            return own.lower / other.upper, more.upper / less.lower

        return Bracket(bounds, _MOST_HALVINGS)


def _rate(laws: Iterable[Distribution], side: int) -> Fraction | None:
    """How fast a sum falls far out on a side; None if it is steep."""
    tails = [LogConcave(law, 0).tail(side) for law in laws]
    return min((tail[2] for tail in tails if tail is not None), default=None)


def _exponential(rate: Fraction) -> ExponentialRatio:
    return ExponentialRatio(ExponentialPolynomial.monomial(1, 0, rate))


def moved_sum(first: Line, second: Line) -> MovedSum | CutSum | None:
    """Read two measures, of one number each, as a sum that is moved; None if they are none."""
    one, two = _read_sum(first), _read_sum(second)
    if one is None or two is None or (one.laws, one.interval) != (two.laws, two.interval):
        return None
    if not one.cut and not two.cut and one.mean != two.mean:
        return MovedSum(one.number, two.number, one.laws, one.mean - two.mean, one.interval)
    if len(one.cut) != 1 or len(two.cut) != 1:
        return None
    (law, own), (other, interval) = (
        (law.affine(_ONE, each.mean), mapped(where, _ONE, each.mean))
        for each in (one, two)
        for law, where in each.cut
    )
    move = law.mean - other.mean
    alike = own == interval and other.affine(_ONE, move) == law and one.interval == EVERYWHERE
    return CutSum(other, interval, one.laws, move) if alike and move else None


class _Sum(Record):
    number: Marginal  # without guards
    laws: tuple[Distribution, ...]  # of samples that are added, but for the next, of mean 0
    cut: tuple[tuple[Distribution, Interval], ...]  # those that guards keep on intervals
    interval: Interval  # where the number lies
    mean: Fraction  # of the number, but for what is cut


def _read_sum(line: Line) -> _Sum | None:
    if len(line) != 1 or line[0].events or not line[0].marginals:
        return None
    separate = simplified(line[0].marginals[0])
    if separate is None or separate[0]:
        return None
    event, form = separate[1].event, separate[1].form
    if any(law.family.is_discrete or law.family.sides != BOTH_SIDES for law in event.samples):
        return None
    where, others = dict.fromkeys(form.samples(), EVERYWHERE), []
    for guard in event.guards:
        sample, *more = guard.samples()
        if more or sample not in where or len(where) == 1:
            others.append(guard)
            continue
        c = guard.coefficient(sample) / form.coefficient(sample)
        end = -guard.constant / c
        where[sample] = common(where[sample], (None, end) if c > 0 else (end, None))
    interval, compared = guarded(Marginal(Event(event.samples, tuple(others)), form))
    if compared:
        return None
    added = {k: event.samples[k].affine(form.coefficient(k), _NONE) for k in where}
    free = [added[k] for k, own in where.items() if own == EVERYWHERE]
    laws = sorted((replace(law, mean=_NONE) for law in free), key=law_order)
    return _Sum(
        Marginal(Event(event.samples, ()), form),
        tuple(laws),
        tuple([(added[k], own) for k, own in where.items() if own != EVERYWHERE]),
        interval,
        form.constant + sum((law.mean for law in free), _NONE),
    )


class CutSum(Record):
    """t + x at u and at u', x on an interval, its mean larger by `move` at u, which is not 0."""

    law: Distribution  # of x at u'
    interval: Interval
    others: tuple[Distribution, ...]  # that t adds, of mean 0
    move: Fraction

    def quotient(
        self, first: Line, second: Line, masses: Masses
    ) -> ExponentialRatio | Bracket | None:
        """The supremum of the quotient; None if it is infinite."""
        side = _sign(self.move)
        rate, own = _rate(self.others, side), _rate([self.law], side)
        if self.interval[side > 0] is None and (rate is None or (own and own <= rate)):
            return None if own is None else _exponential(own * abs(self.move))
        one, two = (sure(masses(line, FEW_BITS)) for line in (first, second))
        if not one.lower:
            raise Missing(NotEnclosed("a measure that exceeds another is not known to be positive"))

        def bounds(step: int) -> tuple[Fraction, Fraction]:
            """Take twice as many bits."""
            with precision(FEW_BITS << step):
                found = self._bounds()
                if found is None:
                    raise Missing(NotEnclosed("outside-fragment: a sum with a sample that is cut"))
                low, high = (sure(to_enclosure(each)) for each in found)
            return max(low.lower, one.lower / two.upper), high.upper

        return Bracket(bounds, (MOST_BITS // FEW_BITS).bit_length())

    def _bounds(self) -> tuple[arb, arb] | None:
        """Bound the supremum at the present precision, from below if that is known."""
        side, end = _sign(self.move), self.interval[self.move > 0]
        rate = _rate(self.others, side)
        laws = [self.law.affine(_ONE, by) for by in (self.move, _NONE)]
        if rate is not None and self.law.family.is_normal and None in self.interval:
            by = side * rate * self.law.scale**2
            (place,) = (each for each in self.interval if each is not None)
            above = 1 if self.interval[1] is None else -1
            tilted = [LogConcave(law.affine(_ONE, by), above) for law in laws]
            own, other = (each.at(place, place)[0] for each in tilted)
            found = own / other * to_ball(rate * abs(self.move)).exp()
            return found, found
        if end is None:
            return None
        own, other = (LogConcave(law, 0).at(end, end - side)[0] for law in laws)
        return (own / other if rate is None else arb(0)), own / other
