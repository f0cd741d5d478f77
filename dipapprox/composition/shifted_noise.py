"""One published law that is moved, all its divergences in closed form: Gauss and Laplace noise.

In: two measures. Out: by how much noise is shifted between them, if that is all that differs; and
for N(m, 1) against N(0, 1), or Laplace laws of scale 1 about t and 0, with budgets L = ln E,

    divergence     Φ(m/2 - L/m) - e^L Φ(-m/2 - L/m);    1 - e^((L - t) / 2) for 0 <= L <= t, else 0
    least budget   where the divergence, which falls, is δ: bisected;       max(0, t + 2 ln(1 - δ))
    Rényi, order a    a m² / 2;    ln((a e^((a-1) t) + (a-1) e^(-a t)) / (2a-1)) / (a-1),
                                   for a = 1:  t + e^-t - 1

Budgets are logarithms here, and balls have exponents of any size: shifts by a million deviations
cost what others cost.

Sources: Balle, Wang, Improving the Gaussian mechanism for differential privacy, 2018; Mironov,
Rényi differential privacy, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, Side, compare
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Interval, Part
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.numerics.powers import logarithm
from dipapprox.numerics.real_outputs.coordinates import Line, Mixed, factored
from dipapprox.numerics.simplest import shortest


class PublishedNoise(Record):
    """The law of a number that is published on no condition."""

    family: Family  # of one sample, or Gaussian
    mean: Fraction
    square: Fraction
    scale: Fraction  # of one sample; 0 for several, where it need not be rational


def published_noise(line: Line) -> PublishedNoise | None:
    """The law of a number that is one sample, or a sum of Gaussian ones, on no condition."""
    if len(line) > 1 or line[0].events or line[0].marginals[0].event.guards:
        return None
    (marginal,) = line[0].marginals
    form, laws = marginal.form, marginal.event.samples
    terms = [(laws[sample], form.coefficient(sample)) for sample in form.samples()]
    mean = form.constant + sum((c * law.mean for law, c in terms), Fraction(0))
    square = sum(((c * law.scale) ** 2 for law, c in terms), Fraction(0))
    if terms and all(law.family.is_normal for law, _ in terms):
        return PublishedNoise(terms[0][0].family, mean, square, Fraction(0))
    if len(terms) == 1:
        ((law, c),) = terms
        return PublishedNoise(law.affine(c, Fraction(0)).family, mean, square, abs(c) * law.scale)
    return None


_GUARD_BITS = 32
_NEAR = 64
_ATTEMPTS = 6  # each with twice the bits: differences of tails cancel
_MOST_STEPS = 2_000  # of a bisection: more than a budget has bits that anybody asks for


class ShiftedNoise(Record):
    """A law against itself moved."""

    family: Family
    square: Fraction  # of the shift in scales, m² or t²; for Laplace the square of a rational
    shift: Fraction  # t; 0 for Gauss, where m need not be rational

    def __post_init__(self) -> None:
        if self.family not in (GAUSSIAN, LAPLACE):
            raise ValueError(f"no closed form of shifted {self.family.name} noise")

    def divergence(self, budget: Fraction, bits: int) -> Enclosure:
        """Enclose sup over S of P(S) - e^L Q(S) for a budget L >= 0, to about 2**-bits."""
        if self.family is LAPLACE and budget >= self.shift:
            return Enclosure.exact(0)
        with precision(bits + _GUARD_BITS + 2 * _size(budget) + _size(self.square)):
            if self.family is LAPLACE:
                value = -(to_ball((budget - self.shift) / 2).expm1())
            else:
                # Both arguments in units of m √2; x² = y² + L, so that no power is large.
                wide = (to_ball(self.square) * 2).sqrt()
                y = to_ball(budget) / wide - wide / 4
                x = to_ball(budget) / wide + wide / 4
                value = (y.erfc() - (-y * y).exp() * _scaled_tail(x)) / 2
            found = to_enclosure(value)
        return found.intersect(UNIT) if isinstance(found, Enclosure) else UNIT

    def least_budget(self, delta: Fraction, bits: int) -> Enclosure | None:
        """Enclose the least L >= 0 with a divergence of at most δ, to about 2**-bits.

        None: it is infinite, as for shifted Gaussian noise and δ = 0.
        """
        if delta >= 1:
            return Enclosure.exact(0)
        if self.family is LAPLACE:
            if not delta:
                return Enclosure.exact(self.shift)
            spent = logarithm(1 - delta, bits + 2)
            return Enclosure(self.shift + 2 * spent.lower, self.shift + 2 * spent.upper).positive()
        return self._bisected(delta, bits) if delta else None

    def _bisected(self, delta: Fraction, bits: int) -> Enclosure:
        low, high = Fraction(0), None
        step = self.square / 2 + 1
        for _ in range(_MOST_STEPS):
            place = low + step if high is None else (low + high) / 2
            if high is not None and high - low <= Fraction(1, 2**bits):
                break
            match self._side(place, delta, bits):
                case Side.ABOVE:
                    low, step = place, 2 * step
                case Side.BELOW:
                    high = place
                case Side.UNDECIDED:
                    if high is not None:
                        break
                    step *= 2
        if high is None:
            raise BrokenInvariant("tails of Gaussian noise do not vanish")
        if not low and self._side(low, delta, bits) is Side.BELOW:
            return Enclosure.exact(0)
        return Enclosure(low, high)

    def _side(self, budget: Fraction, delta: Fraction, bits: int) -> Side:
        own = bits + _size(1 / delta)
        for attempt in range(_ATTEMPTS):
            side = compare(self.divergence(budget, own << attempt), delta)
            if side is not Side.UNDECIDED:
                return side
        return Side.UNDECIDED

    def renyi(self, order: Fraction, bits: int) -> Enclosure:
        """Enclose the Rényi divergence of a finite order >= 1, to about 2**-bits, relatively."""
        if self.family is GAUSSIAN:
            return Enclosure.exact(order * self.square / 2)
        with precision(bits + _GUARD_BITS + 2 * _size(1 / self.shift) + _size(order)):
            t, a = to_ball(self.shift), to_ball(order)
            value = t + (-t).expm1()
            if order > 1:
                # The larger power is taken out: a e^((a-1) t) (1 + …) / (2a-1).
                rest = (a - 1) / a * ((1 - 2 * a) * t).exp()
                value = t + ((1 + rest) * a / (2 * a - 1)).log() / (a - 1)
            return enclosure_of(value).positive()


def shifted_noise(first: Sequence[Part], second: Sequence[Part]) -> ShiftedNoise | None:
    """Return what two measures differ by, if that is one shift of noise; None if it is not.

    Gaussian numbers are one along the line of all shifts: m² = Σ m_k² (see `product_measures`).

    Args:
        first: Parts of one outcome at one input; their measures add up.
        second: The same at another input.
    """
    if not first or not second or not first[0].marginals:
        return None
    factors = factored(first, second)
    if isinstance(factors, Mixed) or not factors.pairs:
        return None
    if any(published_noise(line) is None for line in factors.common):
        return None  # what is the same on both sides may have any mass
    found: list[ShiftedNoise] = []
    for _, one, two in factors.pairs:
        shift = shift_between(published_noise(one), published_noise(two))
        if shift is None or not shift.square:
            return None
        found.append(shift)
    if len(found) == 1:
        return found[0]
    if any(each.family is not GAUSSIAN for each in found):
        return None
    return gaussian_shift(sum((each.square for each in found), Fraction(0)))


def gaussian_shift(square: Fraction) -> ShiftedNoise:
    """Return Gaussian noise that is shifted; `square` is that of the shift in deviations."""
    return ShiftedNoise(GAUSSIAN, square, Fraction(0))


def shift_between(one: PublishedNoise | None, two: PublishedNoise | None) -> ShiftedNoise | None:
    """Return how far noise of one law is moved, 0 if not at all; None if it is something else."""
    if one is None or two is None or (one.family, one.square) != (two.family, two.square):
        return None
    square = (one.mean - two.mean) ** 2 / one.square
    if one.family is GAUSSIAN:
        return gaussian_shift(square)
    if one.family is LAPLACE:
        return ShiftedNoise(LAPLACE, square, abs(one.mean - two.mean) / one.scale)
    return None


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
    if shift is None or not shift.square:
        raise ValueError("a half-line is the best set of shifted noise, and of no other")
    middle, apart = (one.mean + two.mean) / 2, one.mean - two.mean
    if shift.family is GAUSSIAN:
        scale = one.square / abs(apart)
        place = middle + one.square * budget / apart
    else:
        if budget >= shift.shift:
            return ()
        scale = one.scale
        place = middle + (scale if apart > 0 else -scale) * budget / 2
    # The divergence is flat there: what is lost is of the order of the square.
    spare = min(scale, abs(apart)) / 2 ** (bits // 2 + 4)
    end = shortest(place - spare, place + spare)
    return ((end, None),) if apart > 0 else ((None, end),)


def _scaled_tail(x: arb) -> arb:
    """e^(x²) erfc(x) = U(1/2, 1/2, x²) / √π, for x > 0 (DLMF 7.11.4, 13.6.8)."""
    square = x * x
    if square < _NEAR:  # either formula is true anywhere, and precise on its side
        return square.exp() * x.erfc()
    half = arb(1) / 2
    return square.hypgeom_u(half, half) / arb.pi().sqrt()


def _size(value: Fraction) -> int:
    """About log2 of a number > 0, at least 0."""
    return max(int(value), 1).bit_length()
