"""Gaussian noise: f(z) = exp(-z²/2) / sqrt(2 pi), entire; the scale is the standard deviation.

Numbers. f has the largest value φ(0) and f'' = (z² - 1) φ changes sign at ±1: half the variation of
f' is 2 φ(1). The rate of ln f with the logarithm of the scale is s = z² - 1, with derivative -2 z²:
E s² = 2, E|-2 z²| = 2. With Mills' ratio, 1 - Φ(a) >= a φ(a) / (1 + a²),
E[max(z² - 1 - (a² - 1), 0)] = 2 (a φ(a) + (1 - a²) (1 - Φ(a))) <= 4 a φ(a) / (1 + a²) for a >= 1,
and E|s| / 2 = 2 φ(1). Pr[Z > t] <= exp(-t²/2) / 2 for t >= 0 (Chernoff). E e^(tZ) = e^(t²/2).

Boxes. |f(x + iy)| = exp((y² - x²)/2) / sqrt(2 pi), largest at the x nearest 0.

Ellipses. Integrating the density from x to x + iy,

    Φ(x + iy) = Φ(x) + φ(x) ∫_0^y e^(s²/2) (sin(xs) + i cos(xs)) ds,

and with q = exp(y²/2), D = y (1 + (q - 1) / 3) >= ∫_0^y e^(s²/2) ds (compare power series),

    |Φ(x + iy)|² <= (Φ(x) + φ(x) min(|x| (q - 1), D))² + (φ(x) D)²,   as |sin xs| <= |x| s,

likewise for 1 - Φ, and |φ(x + iy)| = φ(x) q. Here Φ(x) is bounded by elementary bounds of Mills'
ratio (Birnbaum; Sampford), for t >= 0

    2 / (t + sqrt(t² + 4))  <=  M(t) = (1 - Φ(t)) / φ(t)  <=  4 / (3 t + sqrt(t² + 8)),

the latter at most 6 / (5 t + 4), as 9 (t² + 8) >= (t + 8)².

References:
    Abramowitz and Stegun 7.1 (error function);
    Z. Birnbaum, An inequality for Mill's ratio, Ann. Math. Statist. 13 (1942);
    M. Sampford, Some inequalities on Mill's ratio and related functions, ibid. 24 (1953).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, precision, rounding
from dipapprox.laws.family import BOTH_SIDES, RealFamily, Speeds, flint, np

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.arithmetic.rounding import Array

_ROOT = 0.3989422804014327  # 1 / sqrt(2 pi), within 2^-53
_ROOT_ABOVE = _ROOT * (1 + 2.0**-50)
_BITS = 32
_ZERO = Fraction(0)


class GaussianNoise(RealFamily):
    name, constant, title = "Gauss", "GAUSSIAN", "Gaussian"
    sides = BOTH_SIDES
    shifts = ()
    is_exponential = False
    steepness = 1
    is_normal = True
    has_kink = False
    steep = Fraction(39895, 100_000)  # 0.398942…
    curved = Fraction(48395, 100_000)  # 0.483941…
    bend = Fraction(2)
    strip = None
    tail = None
    panel = 0.9, 0.18
    even_panel = Fraction(4, 5)
    # With 2^4 for an exponential: the argument is within 8 T and counts T + 1 times; its square is
    # rounded once, T² / 2; then come the exponential, Mills' ratio, and constants with their
    # products.
    roundings = (16 + 4, 2 * 16 + 14), (8, 16), (9, 9)

    @property
    def mirror(self) -> RealFamily:
        return self

    @property
    def drift(self) -> Fraction:
        """2 φ(1)."""
        return 2 * self._density(Fraction(1))

    def excess(self, cut: Fraction) -> Fraction:
        """4 a φ(a) / (1 + a²)."""
        return 4 * cut * self._density(cut) / (1 + cut**2)

    def speeds(self, speed: Fraction) -> Speeds:
        """Several move as one Gaussian does, at the root of the sum of the squares."""
        return Speeds(normal=speed**2)

    def _density(self, cut: Fraction) -> Fraction:
        """At least φ(cut)."""
        return self.steep * precision.exponential(-(cut**2) / 2, _BITS).upper

    def modulus(self, height: Fraction) -> Fraction:
        """e^(y²/2), or 2^(3/2 y²/2)."""
        exponent = height**2 / 2
        if exponent > 600:
            return Fraction(2) ** (3 * ceil(exponent) // 2 + 2)
        return precision.exponential(exponent, 24).upper

    # --- balls -------------------------------------------------------------------------------

    def pdf(self, z: arb, side: int) -> arb:
        return (-(z * z) / 2).exp() / (2 * flint.arb.pi()).sqrt()

    def score(self, z: arb, side: int) -> arb:
        return -z

    def survival(self, z: arb, side: int) -> arb:
        return (z / flint.arb(2).sqrt()).erfc() / 2

    def pdf_bound(self, box: Box, side: int) -> arb:
        """See the module; 1 / sqrt(2 pi) < 2/5."""
        nearest = box.nearest_to_zero
        return (boxes.growth((box.height * box.height - nearest * nearest) / 2) * 2 / 5).upper()

    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """g(u) = f(c + h u) has g' = -h (c + h u) g, so (k + 1) g_{k+1} = -h c g_k - h² g_{k-1}. By
        Cauchy |g_k| <= m ρ^-k, m the greatest |g| where |u| = ρ: all beyond n is m ρ^-n / (ρ - 1).
        """
        c, h = precision.to_ball(center), precision.to_ball(half)
        previous, current = flint.arb(0), self.pdf(c, 0)
        coefficients = [current]
        for k in range(degree):
            previous, current = current, -h * (c * current + h * previous) / (k + 1)
            coefficients.append(current)
        # |g_k| is about h^k / sqrt(k!): the circle of radius sqrt(degree) / h is near the best one.
        best = max(1.25, sqrt(degree) / max(float(half), 1e-6))
        rho = precision.to_ball(Fraction(best).limit_denominator(64))
        reach = abs(c), h * rho
        # Re (c + h ρ e^(iθ))² = c² + 2 c h ρ x + h² ρ² (2 x² - 1), x = cos θ. Over all real x it is
        # least at x = -c / (2 h ρ), with value c² / 2 - h² ρ²; if that is outside [-1, 1], at the
        # end.
        least = reach[0] ** 2 / 2 - reach[1] ** 2
        if reach[0] > 2 * reach[1]:
            least = (reach[0] - reach[1]) ** 2
        largest = (-least / 2).exp() / (2 * flint.arb.pi()).sqrt()
        return coefficients, largest / (rho**degree * (rho - 1))

    def cutoff_guess(self, bits: int, side: int) -> arb:
        """Chernoff's bound."""
        return (2 * flint.arb.const_log2() * max(bits - 1, 0)).sqrt()

    def log_moment(self, t: arb) -> arb:
        return t * t / 2

    # --- doubles -----------------------------------------------------------------------------

    def at(self, t: Array) -> tuple[Array, Array]:
        """Beyond t = 40 Mills' ratio is taken at 40: the density is then below 2^-990, and so is
        whatever the value misses."""
        density = self.at_differences(t, t)
        return density, density * double_functions.mills_ratio(np.abs(t))

    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        t, right, square = np.abs(edges), edges > 0, edges * edges
        with np.errstate(over="ignore", invalid="ignore"):
            bell = double_functions.growth(-0.5 * square) * _ROOT_ABOVE
            tail = bell / (5 / 6 * t + 2 / 3)
            least = 2 * (1 - double_functions.EXCESS)
            body = 1 - bell * least / (t + np.sqrt(square + 4))
            density = np.maximum(bell[:, :-1], bell[:, 1:])
            density[right[:, 1:] > right[:, :-1]] = _ROOT_ABOVE
            q = double_functions.growth(0.5 * heights * heights)
            vertical = double_functions.on_all(heights * (1 + (q - 1) / 3), edges)
            q = double_functions.on_all(q, edges)
            horizontal = np.minimum(np.maximum(t[:, :-1], t[:, 1:]) * (q - 1), vertical) * density
            squares = (vertical * density) ** 2 + 2.0**-1000  # for what underflowed

            def modulus(real: Array) -> Array:
                real = real + horizontal
                bound: Array = np.sqrt(real * real + squares) * rounding.UP
                return bound

            return (
                density * q * rounding.UP,
                modulus(np.where(right, body, tail)[:, 1:]),
                modulus(np.where(right, tail, body)[:, :-1]),
            )

    def swing(self, near: Array, far: Array) -> tuple[Array, Array]:
        """|f'| = |z| f <= φ(1)."""
        bell = double_functions.growth(-0.5 * near * near) * _ROOT_ABOVE
        return bell, np.minimum(far * bell, float(self.curved) / 2 * (1 + 2.0**-50))

    def at_differences(self, z: Array, differences: Array) -> Array:
        return double_functions.exponential(-0.5 * z * z) * _ROOT

    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        """f(z + d) / f(z) = exp(-z d - d²/2), and z² is rounded once."""
        far = np.abs(middle) + reach
        return far * by + 2.0**-52 * far * far


GAUSSIAN = GaussianNoise()
