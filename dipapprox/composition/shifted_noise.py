"""Published laws that are moved, all their divergences in closed form: Gauss and Laplace noise.

In: two measures. Out: by how much noise is shifted between them, if that is all that differs; and
for independent numbers together, of which v = Σ m_k² is the square of the shift of Gaussian ones
in deviations, and t > 0 are those of Laplace ones in scales, their profile, the least budget L with
a divergence of δ, and

    δ = 0           L = Σ t; infinite for v > 0
    Rényi, order a  a v / 2 + Σ ln((a e^((a-1) t) + (a-1) e^(-a t)) / (2a-1)) / (a-1),
                    for a = 1:  v / 2 + Σ (t + e^-t - 1)

Gaussian noise. What lies across the line of all shifts is the same on both sides. A shift of it by
μ deviations, μ² = v, has a loss of N(v/2, v).

Laplace noise. Let P and Q be Laplace laws of scale 1 whose means are t > 0 apart. Under P the loss
ln P/Q is t with probability 1/2, -t with e^-t / 2, and has the density e^((l - t) / 2) / 4 between.
Tilted by e^(-l/2) that is, with S_a for the shift by a, and J for what a measure has to the right,

    ρ_t = e^(-t/2) (S_t (1/2 + J/4) + S_-t (1/2 - J/4)),

as the density between is the constant e^(-t/2) / 4. Losses of independent numbers add up, and so do
exponents: the tilted law of the sum is the product of the ρ_t, a sum of terms c S_a J^m times
e^(-T/2), T = Σ t, with rational c and a. J^m at 0 is an atom for m = 0, and else the density
(-l)^(m-1) / (m-1)! to the left of 0. So for the losses > b

    P(l > b) = ∫ e^(l/2) ρ(dl)  = e^(-T/2) Σ c e^(a/2) A_m(a - b),
    Q(l > b) = ∫ e^(-l/2) ρ(dl) = e^(-T/2) Σ c e^(-a/2) B_m(a - b),

over the terms with a > b, where A_0 = B_0 = 1 and A_m(s), B_m(s) are the integrals of e^(-y/2)
y^(m-1)/(m-1)! and of e^(y/2) y^(m-1)/(m-1)! from 0 to s.

Both. Tilted Gaussian losses are e^(-v/8) N(0, v), the product ρ with it e^(-v/8) Σ c S_a J^m N, and
for all terms, whatever a is,

    A_m(s) = ∫ over x > -s of e^(x/2) (J^m N)(x) dx,    A_0 = e^(v/8) Φ((s + v/2) / μ),
    B_m(s) = ∫ over x > -s of e^(-x/2) (J^m N)(x) dx,   B_0 = e^(v/8) Φ((s - v/2) / μ).

By parts, as J^m N falls at the rate J^(m-1) N, and with h_m = (J^m N)(-s), both ways

    A_m = 2 (A_(m-1) - e^(-s/2) h_m),    B_m = 2 (e^(s/2) h_m - B_(m-1)),
    m h_(m+1) = s h_m + v h_(m-1),       h_0 = φ(s / μ) / μ,  h_1 = Φ(s / μ);

without Gaussian noise v = 0 and h_1 = 1. For the last line, h_(m+1) is the integral over z > 0 of
N(z - s) z^m / m!, and N'(x) = -x N(x) / v.

A set S of all losses > b is best at e^b. At any α >= e^b

    P(S) - α Q(S) <= H(α) <= P(S) - α Q(S) + (α - e^b) Q(S),

as the best set is part of S then, and what is left out has a loss > b: what it loses at α is at
most α - e^b for each mass of Q. So b need not be ln α, and is a number that is told from every a.

Sources: Balle, Wang, Improving the Gaussian mechanism for differential privacy, 2018; Mironov,
Rényi differential privacy, 2017.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import comb, prod, sqrt
from typing import ClassVar

from flint import arb, fmpq, fmpq_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, shortest
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.composition.profile import NO_ENDS, Ends, ProfilePoint, bounds_at, epsilon_of, up_to
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Interval, Marginal, Part
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import ask, check_limits
from dipapprox.numerics.real_outputs.coordinates import Line, Mixed, factored


class PublishedNoise(Record):
    """The law of a number that is published on no condition: a sum of independent samples."""

    mean: Fraction
    square: Fraction  # the variance of the Gaussian ones together; 0 for none
    # Of the Laplace ones, ascending, each with their number.
    scales: tuple[tuple[Fraction, int], ...] = ()

    @property
    def scale(self) -> Fraction | None:
        """That of the only sample, if it is a Laplace one."""
        return self.scales[0][0] if not self.square and self._terms == 1 else None

    @property
    def _terms(self) -> int:
        return sum(times for _, times in self.scales)


def _unconditional(line: Line) -> Marginal | None:
    """What is published on no condition."""
    if len(line) != 1 or line[0].events or line[0].marginals[0].event.guards:
        return None
    return line[0].marginals[0]


def published_noise(line: Line) -> PublishedNoise | None:
    """The law of a number that is such a sum, of one sample at least; None if it is none."""
    marginal = _unconditional(line)
    if marginal is None:
        return None
    form, laws = marginal.form, marginal.event.samples
    mean, square, scales = form.constant, Fraction(0), Counter[Fraction]()
    for sample in form.samples():
        law, c = laws[sample], form.coefficient(sample)
        mean += c * law.mean
        if law.family.is_normal:
            square += (c * law.scale) ** 2
        elif law.family is LAPLACE:
            scales[abs(c) * law.scale] += 1
        else:
            return None
    return PublishedNoise(mean, square, tuple(sorted(scales.items()))) if square or scales else None


_GUARD_BITS = 32
_FEW_COEFFICIENTS, _MOST_COEFFICIENTS = 2**11, 2**14
_SPARE_BITS = 16
_MOST_BITS = 4_096
_FAR = 8
_ATTEMPTS = 3  # each with twice the bits: sums cancel
_Terms = Mapping[Fraction, fmpq_poly]  # by a the polynomial Σ c J^m


class ShiftedNoise(Record):
    """Independent numbers against themselves moved."""

    square: Fraction = Fraction(0)  # v
    shifts: tuple[tuple[Fraction, int], ...] = ()  # the t, ascending, each with their number

    def __len__(self) -> int:
        """How many numbers these are, Gaussian ones being one."""
        return bool(self.square) + sum(n for _, n in self.shifts)

    def __float__(self) -> float:
        """About how far that is, in deviations and scales."""
        return sqrt(self.square) + sum(float(t) * n for t, n in self.shifts)

    def beside(self, other: ShiftedNoise, times: int = 1) -> ShiftedNoise:
        """Return these numbers and so many times others."""
        shifts = Counter(dict(self.shifts))
        shifts.update({t: n * times for t, n in other.shifts})
        return ShiftedNoise(self.square + times * other.square, tuple(sorted(shifts.items())))

    def covers(self, other: ShiftedNoise) -> bool:
        """Whether noise is moved as far at least, number by number: then its profile is above.

        N(m', 1) against N(0, 1) is what N(m, 1) against N(0, 1) becomes if it is scaled and more
        noise is added, m' < m; for Laplace noise H(α) = 1 - sqrt(α) e^(-t/2) where e^-t <= α <=
        e^t grows with t. So the lesser pair is the greater one after some post-processing
        (Blackwell), also beside other numbers, and in compositions.
        """
        own, its = (
            [t for t, n in reversed(each.shifts) for _ in range(n)] for each in (self, other)
        )
        alone = len(own) >= len(its) and all(t >= u for t, u in zip(own, its, strict=False))
        return alone and self.square >= other.square

    @property
    def has_few_terms(self) -> bool:
        """Whether its profile is soon told: with more terms losses on grids are."""
        return prod((n + 1) ** 2 for _, n in self.shifts) <= _FEW_COEFFICIENTS

    def profile(self, bits: int) -> NoiseProfile:
        """Return its profile, for that precision.

        Raises:
            LimitReached: If the limits are.
            BrokenInvariant: If that has too many terms.
        """
        terms = _terms(self.shifts)
        if terms is None:
            raise BrokenInvariant("a product of Laplace laws has too many terms")
        return NoiseProfile(terms, self._total, self.square, bits)

    @property
    def _total(self) -> Fraction:
        return sum((t * n for t, n in self.shifts), self.square / 4)

    def divergence(self, budget: Fraction, bits: int) -> Enclosure:
        """Enclose sup over S of P(S) - e^L Q(S) for a budget L >= 0, to about 2**-bits."""
        if not self.square and budget >= self._total:
            return Enclosure.exact(0)
        return self._between(lambda: to_ball(budget).exp(), bits, 2 * _size(budget))

    def at(self, growth: Enclosure, bits: int) -> Enclosure | None:
        """Enclose sup over S of P(S) - α Q(S) for an α > 0 to 2**-bits, up to the width of α.

        None if that takes too many terms, or too many bits.
        """
        check_limits()
        if _terms(self.shifts) is None:
            return None
        # The divergence falls with the factor.
        ends = growth.upper, growth.lower
        low, high = (self._between(partial(to_ball, end), bits) for end in ends)
        if max(low.width, high.width) > Fraction(1, 2**bits):
            return None
        return Enclosure(low.lower, high.upper)

    def _between(self, factor: Callable[[], arb], bits: int, more: int = 0) -> Enclosure:
        own = 2 * (bits + _GUARD_BITS) + more + _size(self._total)
        while True:
            check_limits()
            with precision(own):
                found = Enclosure(*bounds_at(self.profile(own), factor()))
            if found.width <= Fraction(1, 2**bits) or own > max(_MOST_BITS, 4 * bits):
                return found
            own *= 2

    def least_budget(self, delta: Fraction, bits: int) -> Enclosure | None:
        """Enclose the least L >= 0 with a divergence of at most δ, to about 2**-bits.

        None: it is infinite, as for shifted Gaussian noise and δ = 0.
        """
        if delta >= 1:
            return Enclosure.exact(0)
        if not delta:
            return None if self.square else Enclosure.exact(self._total)
        own = 2 * bits + 4 * _GUARD_BITS + 2 * _size(1 / delta) + 4 * _size(self._total)
        if len(self) == 1 and not self.square:  # 1 - e^((L - t) / 2) is δ, for 0 <= L <= t
            with precision(own):
                return enclosure_of(to_ball(self._total) + 2 * to_ball(1 - delta).log()).positive()
        # Gaussian losses are larger than v/2 + μ x with probability e^(-x²/2) at most.
        far = 4 * self._total + _size(1 / delta)
        with precision(own):
            ((low, high),) = epsilon_of(self.profile(own), delta, Fraction(1, 2**bits), far)
        if low is None or high is None:
            raise BrokenInvariant("tails of noise do not vanish")
        return Enclosure(low, high)

    def renyi(self, order: Fraction, bits: int) -> Enclosure:
        """Enclose the Rényi divergence of a finite order >= 1, to about 2**-bits, relatively."""
        found = Enclosure.exact(order * self.square / 2)
        for shift, times in self.shifts:
            with precision(bits + _GUARD_BITS + 2 * _size(1 / shift) + _size(order)):
                t, a = to_ball(shift), to_ball(order)
                value = t + (-t).expm1()
                if order > 1:
                    # The larger power is taken out: a e^((a-1) t) (1 + …) / (2a-1).
                    rest = (a - 1) / a * ((1 - 2 * a) * t).exp()
                    value = t + ((1 + rest) * a / (2 * a - 1)).log() / (a - 1)
                found += enclosure_of(times * value).positive()
        return found


@lru_cache(maxsize=64)
def _terms(shifts: Iterable[tuple[Fraction, int]]) -> _Terms | None:
    """The product of the ρ_t, but for its e^(-T/2); None if it has too many terms."""
    terms = {Fraction(0): fmpq_poly([1])}
    ahead, back = fmpq_poly([1, fmpq(1, 2)]), fmpq_poly([1, fmpq(-1, 2)])
    for shift, times in shifts:
        check_limits()
        if sum(map(len, terms.values())) * (times + 1) + len(terms) * times > _MOST_COEFFICIENTS:
            return None
        found: dict[Fraction, fmpq_poly] = {}
        for k in range(times + 1):
            own = fmpq(comb(times, k), 2**times) * ahead**k * back ** (times - k)
            for a, other in terms.items():
                place = a + shift * (2 * k - times)
                found[place] = found.get(place, fmpq_poly()) + own * other
        terms = found
    return terms


class NoiseProfile(Record, eq=False):
    """The profile of shifted noise."""

    terms: _Terms
    total: Fraction  # T + v / 4
    square: Fraction  # v
    bits: int

    ends: ClassVar[Ends] = NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        once = self._of_one(alpha)
        if once is not None:
            first, second = once
            if first.rad() + alpha.upper() * second.rad() < arb(2) ** (_SPARE_BITS - self.bits):
                return ProfilePoint(first - alpha * second, first, second)
        budget = to_enclosure(alpha.lower().log())
        if isinstance(budget, NotEnclosed):
            return ProfilePoint(arb(1), arb(1), arb(1))
        for attempt in range(_ATTEMPTS):
            with precision((self.bits + _GUARD_BITS) << attempt):
                first, second = self._beyond(budget.lower)
                known = first.rad() + alpha.upper() * second.rad()
                start = to_ball(budget.lower).exp()
            if known < arb(2) ** -self.bits:
                break
        excess = (alpha - start).upper() * second.upper()
        return ProfilePoint(first - alpha * second + up_to(excess), first, second)

    def _of_one(self, alpha: arb) -> tuple[arb, arb] | None:
        """P and Q of the losses > ln α, of Gaussian noise alone or of one Laplace number.

        None: of other noise, or where α may not lie strictly between e^-t and e^t. There

            P = 1 - √α e^(-t/2) / 2,    Q = e^(-t/2) / (2 √α).
        """
        if self.square and len(self.terms) == 1:
            wide = to_ball(2 * self.square).sqrt()
            place, half = alpha.log() / wide, wide / 4
            return (place - half).erfc() / 2, (place + half).erfc() / 2
        if self.square or len(self.terms) != 2:  # those of one number are at t and -t
            return None
        most = to_ball(self.total).exp()
        if not (alpha < most and alpha * most > 1):
            return None
        share, root = 1 / (2 * most.sqrt()), alpha.sqrt()
        return 1 - share * root, share / root

    def _beyond(self, budget: Fraction) -> tuple[arb, arb]:
        """P and Q of all losses > b."""
        first = second = arb(0)
        for place, factors in self.terms.items():
            ask()
            if self.square or place > budget:
                own, other = self._term(to_ball(place - budget), factors)
                half = to_ball(place / 2).exp()
                first, second = first + half * own, second + other / half
        scale = to_ball(-self.total / 2).exp()
        return first * scale, second * scale

    def _term(self, s: arb, factors: fmpq_poly) -> tuple[arb, arb]:
        """Σ c A_m and Σ c B_m."""
        falling, rising = (-s / 2).exp(), (s / 2).exp()
        before, tail, first, second = arb(0), arb(1), arb(1), arb(1)
        square = to_ball(self.square)
        if self.square:
            deviation, size = square.sqrt(), (square / 8).exp()
            first = size * _below((s + square / 2) / deviation)
            second = size * _below((s - square / 2) / deviation)
            if len(factors) > 1:
                before = (-s * s / (2 * square)).exp() / (deviation * (2 * arb.pi()).sqrt())
                tail = _below(s / deviation)
        own = other = arb(0)
        for m, factor in enumerate(factors):
            if m > 1:
                before, tail = tail, (s * tail + square * before) / (m - 1)
            if m:
                first, second = 2 * (first - falling * tail), 2 * (rising * tail - second)
            own, other = own + arb(factor) * first, other + arb(factor) * second
        return own, other


def _below(place: arb) -> arb:
    """Φ; far below by erfc(x) = e^(-x²) U(1/2, 1/2, x²) / √π, x > 0 (DLMF 7.11.4, 13.6.8)."""
    x, half = -place / arb(2).sqrt(), arb(1) / 2
    if not x > _FAR:  # either formula is true there, and precise on its side
        return x.erfc() / 2
    square = x * x
    return (-square).exp() * square.hypgeom_u(half, half) / arb.pi().sqrt() / 2


def shifted_noise(first: Sequence[Part], second: Sequence[Part]) -> ShiftedNoise | None:
    """Return what two measures differ by, if that is noise that is moved; None if it is not, or
    has many terms.

    Args:
        first: Parts of one outcome at one input; their measures add up.
        second: The same at another input.
    """
    if not first or not second or not first[0].marginals:
        return None
    factors = factored(first, second)
    if isinstance(factors, Mixed) or not factors.pairs:
        return None
    if any(_unconditional(line) is None for line in factors.common):
        return None  # what is the same on both sides may have any mass
    whole = ShiftedNoise()
    for _, one, two in factors.pairs:
        shift = shift_between(published_noise(one), published_noise(two))
        if not shift:
            return None
        whole = whole.beside(shift)
    return whole if whole.has_few_terms else None


def shift_between(one: PublishedNoise | None, two: PublishedNoise | None) -> ShiftedNoise | None:
    """Return how far noise of one law is moved, 0 if not at all; None if it is something else."""
    if one is None or two is None or (one.square, one.scales) != (two.square, two.scales):
        return None
    apart = abs(one.mean - two.mean)
    if not one.scales:
        return ShiftedNoise(apart**2 / one.square)
    if one.scale is None:
        return None
    return ShiftedNoise(shifts=((apart / one.scale, 1),)) if apart else ShiftedNoise()


def half_line(
    one: PublishedNoise, two: PublishedNoise, budget: Fraction, bits: int
) -> tuple[Interval, ...]:
    """Choose the numbers that are more than e^budget times as likely under the first of two laws.

    Args:
        one: Gaussian or Laplace noise; `two` is the same moved.
        budget: Of Laplace noise none below what no number is less likely by.
        bits: The set attains the divergence to about 2**-bits.

    Returns:
        A half-line with a rational end; nothing where there are no such numbers.

    Raises:
        ValueError: If it is not noise that is shifted.
    """
    shift = shift_between(one, two)
    if not shift:
        raise ValueError("a half-line is the best set of shifted noise, and of no other")
    middle, apart = (one.mean + two.mean) / 2, one.mean - two.mean
    if one.scale is None:
        scale = one.square / abs(apart)
        place = middle + one.square * budget / apart
    else:
        scale = one.scale
        if budget * scale >= abs(apart):
            return ()
        place = middle + (scale if apart > 0 else -scale) * budget / 2
    # The divergence is flat there: what is lost is of the order of the square.
    spare = min(scale, abs(apart)) / 2 ** (bits // 2 + 4)
    end = shortest(place - spare, place + spare)
    return ((end, None),) if apart > 0 else ((None, end),)


def _size(value: Fraction) -> int:
    """About log2 of a number > 0, at least 0."""
    return max(int(value), 1).bit_length()
