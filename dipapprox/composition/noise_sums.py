"""Noise of Laplace and Gauss that is moved, in closed form: sums of it, and several numbers.

One number. Let X be the sum of independent Laplace samples of scales b, m_b of each scale, and at
most one Gaussian sample of deviation σ, all centred; P its law, and Q that of X + t, t > 0.

Density. E e^(sX) is a product of (1 - b² s²)^-m_b, and e^(σ²s²/2). Without Gaussian noise let
Σ_j c_b,j (1/b - s)^-j be the principal part at 1/b: then the density at x > 0 is Σ c_b,j x^(j-1) /
(j-1)! e^(-x/b), for each of these terms has the transform c_b,j (1/b - s)^-j, poles at -1/b belong
to x < 0, and a proper fraction is the sum of its principal parts. The density is even. With
Gaussian noise and all m_b = 1, the law is Σ A_b (Laplace of scale b) * N(0, σ²), A_b = 2 b c_b,1,
where each law has, with z = x/σ, k = σ/b

    density      e^(k²/2) / 4b  (e^(-x/b) erfc((k - z)/√2) + e^(x/b) erfc((k + z)/√2))
    mass below   Φ(z) + e^(k²/2) / 4  (e^(x/b) erfc((k + z)/√2) - e^(-x/b) erfc((k - z)/√2)).

Divergence. Laplace and Gaussian densities are log-concave, and so is their convolution f
(Prékopa). So f(x) / f(x - t) never rises with x, and h(x) = F(x) - α F(x - t) rises up to some
place and falls from there on: its largest value is sup over S of P(S) - α Q(S), S being the half-
line up to there. Where h' >= 0 at a and h' <= 0 at a + w, the largest value is at most h(a) + w
(h'(a) + w (1 + α) / (2 b²)) for every scale b: |f'| <= f/b <= 1/(2 b²), as for Laplace noise.

Several numbers, each with one sample. Let P and Q be Laplace laws of scale 1 whose means are t > 0
apart. Under P the loss ln P/Q is t with probability 1/2, -t with e^-t / 2, and has the density
e^((l - t) / 2) / 4 between. Tilted by e^(-l/2) that is, with S_a for the shift by a, and J for what
a measure has to the right,

    ρ_t = e^(-t/2) (S_t (1/2 + J/4) + S_-t (1/2 - J/4)),

as the density between is the constant e^(-t/2) / 4. Losses of independent numbers add up, and so do
exponents: the tilted law of the sum is the product of the ρ_t, a sum of terms c S_a J^m times
e^(-T/2), T = Σ t, with rational c and a. J^m at 0 is an atom for m = 0, and else the density
(-l)^(m-1) / (m-1)! to the left of 0. So for any α = e^b > 0

    sup over S of P(S) - α Q(S) = ∫ over l > b of (e^(l/2) - α e^(-l/2)) ρ(dl)
                                = e^(-T/2) Σ c (e^(a/2) A_m(a - b) - α e^(-a/2) B_m(a - b)),

over the terms with a > b, where A_0 = B_0 = 1 and A_m(s), B_m(s) are the integrals of e^(-y/2)
y^(m-1)/(m-1)! and of e^(y/2) y^(m-1)/(m-1)! from 0 to s. Every term is 0 at s = 0 but atoms, whose
own is e^(a/2) - α e^(-a/2) = 0 there: where balls do not tell the sign of s, a term lies between 0
and its formula.

Gaussian noise. A shift of it by μ deviations, μ² = v, has a loss of N(v/2, v). Tilted that is
e^(-v/8) N(0, v), the product ρ with it e^(-v/8) Σ c S_a J^m N, and for all terms, whatever a is,

    A_m(s) = ∫ over x > -s of e^(x/2) (J^m N)(x) dx,    A_0 = e^(v/8) Φ((s + v/2) / μ),
    B_m(s) = ∫ over x > -s of e^(-x/2) (J^m N)(x) dx,   B_0 = e^(v/8) Φ((s - v/2) / μ).

By parts, as J^m N falls at the rate J^(m-1) N, and with h_m = (J^m N)(-s), both ways

    A_m = 2 (A_(m-1) - e^(-s/2) h_m),    B_m = 2 (e^(s/2) h_m - B_(m-1)),
    m h_(m+1) = s h_m + v h_(m-1),       h_0 = φ(s / μ) / μ,  h_1 = Φ(s / μ);

without Gaussian noise v = 0 and h_1 = 1. For the last line, h_(m+1) is the integral over z > 0 of
N(z - s) z^m / m!, and N'(x) = -x N(x) / v.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import comb, factorial

from flint import arb, fmpq, fmpq_poly

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.data_classes import Record
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import check_limits
from dipapprox.numerics.real_outputs.coordinates import Line
from dipapprox.numerics.real_outputs.hockey_stick import Split
from dipapprox.numerics.simplest import shortest

_MOST_TERMS = 12  # laplace samples in a sum
_SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4))
"""Of a bracket: where it is cut, the first place where that is told."""

_MOST_STEPS = 400  # of looking for where h is largest
_ATTEMPTS = 3  # each with twice the bits


class NoiseSum(Record):
    """The law of a number."""

    mean: Fraction
    # Of Laplace samples, ascending, each with their number.
    scales: tuple[tuple[Fraction, int], ...]
    square: Fraction  # the variance of the Gaussian noise; 0 for none


def noise_sum(line: Line) -> NoiseSum | None:
    """The law of a number that is such a sum, on no condition; None if it is none."""
    if len(line) != 1 or line[0].events or line[0].marginals[0].event.guards:
        return None
    (marginal,) = line[0].marginals
    form, laws = marginal.form, marginal.event.samples
    mean, square = form.constant, Fraction(0)
    scales: Counter[Fraction] = Counter()
    for sample in form.samples():
        law, c = laws[sample], form.coefficient(sample)
        mean += c * law.mean
        if law.family.is_normal:
            square += (c * law.scale) ** 2
        elif law.family is LAPLACE:
            scales[abs(c) * law.scale] += 1
        else:
            return None
    terms = sum(scales.values())
    if not 0 < terms <= _MOST_TERMS or (square and max(scales.values()) > 1):
        return None
    return NoiseSum(mean, tuple(sorted(scales.items())), square)


def summed_divergence(first: Line, second: Line, growth: Enclosure, bits: int) -> Split | None:
    """Enclose sup over S of first(S) - growth · second(S), if one sum of noise is moved.

    Args:
        growth: The factor, > 0.
        bits: Wanted width: 2**-bits.

    Returns:
        None if they are something else, or no half-line is found that is likely enough.
    """
    one, two = noise_sum(first), noise_sum(second)
    if one is None or two is None or one.mean == two.mean or growth.lower <= 0:
        return None
    if (one.scales, one.square) != (two.scales, two.square):
        return None
    own = 2 * bits + 160
    for _ in range(_ATTEMPTS):
        with precision(own):
            found = _Moved(one, abs(two.mean - one.mean), growth, bits).split()
        if found is None:
            return None
        place, value, above, below = found
        if value.width <= Fraction(1, 2**bits):
            end = one.mean + place if two.mean > one.mean else one.mean - place
            interval = (None, end) if two.mean > one.mean else (end, None)
            return Split(value, (interval,), above, below)
        own *= 2
    return None


class _Moved:
    """h, with the precision that is set."""

    def __init__(self, law: NoiseSum, shift: Fraction, growth: Enclosure, bits: int) -> None:
        self._shift, self._bits, self._growth = shift, bits, growth
        self._largest = law.scales[-1][0]
        self._step = max(self._largest, shift)
        self._deviation = to_ball(law.square).sqrt() if law.square else None
        self._terms = [(scale, _principal(law.scales, scale, times)) for scale, times in law.scales]

    @if_enclosed
    def split(self) -> tuple[Fraction, Enclosure, Enclosure, Enclosure] | None:
        """Return where h is largest, about, its largest value, and both masses below there."""
        low, high = self._far(-1), self._far(1)
        if low is None or high is None:
            return None
        for _ in range(_MOST_STEPS):
            if self._excess(low, high) < arb(2) ** (-self._bits - 3):
                break
            # Where h is largest, its slope is no number that is told from 0: then look beside it.
            for share in _SHARES:
                place = low + (high - low) * share
                slope = self._slope(place)
                if slope > 0 or slope < 0:
                    break
            if slope > 0:
                low = place
            elif slope < 0:
                high = place
            else:
                break
        factor = to_ball(self._growth.lower)
        most = self._below(low) - factor * self._below(low - self._shift) + self._excess(low, high)
        place = shortest(low, high)
        above, below = self._below(place), self._below(place - self._shift)
        least = above - to_ball(self._growth.upper) * below
        first, last, *masses = (sure(to_enclosure(each)) for each in (least, most, above, below))
        return place, Enclosure(first.lower, last.upper).positive(), masses[0], masses[1]

    def _far(self, sign: int) -> Fraction | None:
        """Return a place on one side up to which h rises or falls; None if nothing is beyond."""
        place = sign * self._step
        for _ in range(_MOST_STEPS):
            if sign * self._slope(place) < 0:
                return place
            below = self._below(place)
            if (below if sign < 0 else 1 - below) < arb(2) ** (-self._bits - 4):
                break
            place *= 2
        return None

    def _excess(self, low: Fraction, high: Fraction) -> arb:
        """At most how much more the largest value is than that at `low`."""
        factor, width = to_ball(self._growth.lower), to_ball(high - low)
        bent = width * (1 + factor) / (2 * to_ball(self._largest) ** 2)
        return (width * (self._slope(low) + bent)).upper()

    def _slope(self, x: Fraction) -> arb:
        factor = to_ball(self._growth.lower)
        return self._density(x) - factor * self._density(x - self._shift)

    def _density(self, x: Fraction) -> arb:
        if self._deviation is None:
            return self._laplace(abs(x), 0)
        found = arb(0)
        for scale, coefficients in self._terms:
            right, left = self._sides(x, scale)
            found += to_ball(coefficients[0]) * (right + left)
        return found / 2

    def _below(self, x: Fraction) -> arb:
        if self._deviation is None:
            tail = self._laplace(abs(x), 1)
            return tail if x <= 0 else 1 - tail
        found = arb(0)
        for scale, coefficients in self._terms:
            right, left = self._sides(x, scale)
            found += to_ball(coefficients[0] * scale) * (left - right)
        z = to_ball(x) / self._deviation
        return (-z / arb(2).sqrt()).erfc() / 2 + found / 2

    def _sides(self, x: Fraction, scale: Fraction) -> tuple[arb, arb]:
        """e^(k²/2 ∓ x/b) erfc((k ∓ z)/√2)."""
        assert self._deviation is not None
        k, z, root = self._deviation / to_ball(scale), to_ball(x) / self._deviation, arb(2).sqrt()
        rise = to_ball(x / scale)
        right = (k * k / 2 - rise).exp() * ((k - z) / root).erfc()
        return right, (k * k / 2 + rise).exp() * ((k + z) / root).erfc()

    def _laplace(self, x: Fraction, integrated: int) -> arb:
        """The density at x >= 0, or its integral from there on."""
        found = arb(0)
        for scale, coefficients in self._terms:
            own = Fraction(0)
            for j, c in enumerate(coefficients, 1):
                if integrated:
                    own += c * sum(x**i / factorial(i) * scale ** (j - i) for i in range(j))
                else:
                    own += c * x ** (j - 1) / factorial(j - 1)
            found += to_ball(own) * to_ball(-x / scale).exp()
        return found


def _principal(
    scales: Iterable[tuple[Fraction, int]], scale: Fraction, times: int
) -> list[Fraction]:
    """Return c_b,1, c_b,2, …: with u = 1/b - s, 1 - b² s² = b u (2 - b u)."""
    series = [Fraction(1)] + [Fraction(0)] * (times - 1)
    for other, count in scales:
        if other == scale:
            polynomial = [2 * scale, -(scale**2)]
        else:
            ratio = other / scale
            polynomial = [1 - ratio**2, 2 * other * ratio, -(other**2)]
        for _ in range(count):
            found: list[Fraction] = []
            for value in series:
                terms = zip(polynomial[1:], reversed(found), strict=False)
                rest = sum((c * known for c, known in terms), Fraction(0))
                found.append((value - rest) / polynomial[0])
            series = found
    # G(u) = Σ g_i u^i over u^m: the coefficient of u^-j is g_(m - j).
    return [series[times - j] for j in range(1, times + 1)]


_MOST_PRODUCTS = 2**14
_MOST_BITS = 4_096
_Terms = dict[Fraction, fmpq_poly]  # by a the polynomial Σ c J^m


def laplace_product(
    shifts: Mapping[Fraction, int], growth: Enclosure, bits: int, square: Fraction = Fraction(0)
) -> Enclosure | None:
    """Enclose sup over S of (⊗ P)(S) - α (⊗ Q)(S).

    Args:
        shifts: The t > 0, in scales, each with the number of pairs that have it.
        growth: α > 0.
        bits: Wanted width: 2**-bits, up to that of α.
        square: v, of all Gaussian noise together; 0 if there is none.

    Returns:
        None if that takes too many terms, or too many bits.
    """
    terms: _Terms = {Fraction(0): fmpq_poly([1])}
    for shift, times in shifts.items():
        check_limits()
        own = _power(shift, times)
        if sum(map(len, terms.values())) * len(own) + len(terms) * times > _MOST_PRODUCTS:
            return None
        terms = _products(terms, own)
    total = sum((shift * times for shift, times in shifts.items()), square / 4)

    def at(factor: Fraction) -> Enclosure | None:
        return _value(terms, total, square, factor, bits)

    least = at(growth.upper)  # the divergence falls with the factor
    most = least if growth.lower == growth.upper else at(growth.lower)
    if least is None or most is None:
        return None
    return Enclosure(least.lower, most.upper).intersect(UNIT)


def _power(shift: Fraction, times: int) -> _Terms:
    """Return a power of ρ for a shift, but for its e^(-t/2)."""
    ahead, back = fmpq_poly([1, fmpq(1, 2)]), fmpq_poly([1, fmpq(-1, 2)])
    return {
        shift * (2 * k - times): fmpq(comb(times, k), 2**times) * ahead**k * back ** (times - k)
        for k in range(times + 1)
    }


def _products(first: _Terms, second: _Terms) -> _Terms:
    found: _Terms = {}
    for a, own in first.items():
        for b, other in second.items():
            found[a + b] = found.get(a + b, fmpq_poly()) + own * other
    return found


def _value(
    terms: _Terms, total: Fraction, square: Fraction, growth: Fraction, bits: int
) -> Enclosure | None:
    """Enclose the sum at a factor, with as many bits as that takes."""
    own = 2 * bits + 64
    while own <= _MOST_BITS:
        check_limits()
        with precision(own):
            found = to_enclosure(_sum(terms, total, square, to_ball(growth)))
        if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
            return found
        own *= 2
    return None


def _sum(terms: _Terms, total: Fraction, square: Fraction, growth: arb) -> arb:
    budget = growth.log()
    found = arb(0)
    for place, factors in terms.items():
        a = to_ball(place)
        s = a - budget
        if not square and s < 0:  # certainly
            continue
        own = _at(a, s, growth, factors, to_ball(square))
        found += own if square or s > 0 else own.union(arb(0))
    return found * (-to_ball(total) / 2).exp()


def _at(a: arb, s: arb, growth: arb, factors: fmpq_poly, square: arb) -> arb:
    """Add up the terms of one a."""
    left, right = (a / 2).exp(), growth * (-a / 2).exp()
    falling, rising = (-s / 2).exp(), (s / 2).exp()
    before, tail = arb(0), arb(1)
    first, second = arb(1), arb(1)
    if square > 0:
        deviation, size = square.sqrt(), (square / 8).exp()
        before = (-s * s / (2 * square)).exp() / (deviation * (2 * arb.pi()).sqrt())
        tail = _below_normal(s / deviation)
        first = size * _below_normal((s + square / 2) / deviation)
        second = size * _below_normal((s - square / 2) / deviation)
    found = arb(0)
    for m, factor in enumerate(factors):
        if m > 1:
            before, tail = tail, (s * tail + square * before) / (m - 1)
        if m:
            first, second = 2 * (first - falling * tail), 2 * (rising * tail - second)
        if factor:
            found += arb(factor) * (left * first - right * second)
    return found


def _below_normal(place: arb) -> arb:
    return (-place / arb(2).sqrt()).erfc() / 2
