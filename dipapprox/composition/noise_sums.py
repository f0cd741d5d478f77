"""Sums of Laplace and Gaussian noise that are moved, in closed form.

Let X be the sum of independent Laplace samples of scales b, m_b of each scale, and at
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
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import factorial

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, if_enclosed, shortest, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.shifted_noise import PublishedNoise, published_noise
from dipapprox.numerics.real_outputs.coordinates import Line
from dipapprox.numerics.real_outputs.hockey_stick import Split

_MOST_TERMS = 12  # laplace samples in a sum
_SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4))
"""Of a bracket: where it is cut, the first place where that is told."""

_MOST_STEPS = 400  # of looking for where h is largest
_ATTEMPTS = 3  # each with twice the bits


def summed_divergence(first: Line, second: Line, growth: Enclosure, bits: int) -> Split | None:
    """Enclose sup over S of first(S) - growth · second(S), if one sum of noise is moved.

    Args:
        growth: The factor, > 0.
        bits: Wanted width: 2**-bits.

    Returns:
        None if they are something else, or no half-line is found that is likely enough.
    """
    one, two = published_noise(first), published_noise(second)
    if one is None or two is None or one.mean == two.mean or growth.lower <= 0:
        return None
    if (one.scales, one.square) != (two.scales, two.square):
        return None
    terms = [times for _, times in one.scales]
    if not 0 < sum(terms) <= _MOST_TERMS or (one.square and max(terms) > 1):
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

    def __init__(self, law: PublishedNoise, shift: Fraction, growth: Enclosure, bits: int) -> None:
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
