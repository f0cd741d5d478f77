"""Logistic noise: f(z) = e^-z / (1 + e^-z)² = 1 / (4 cosh² (z/2)); Pr[Z <= z] = 1 / (1 + e^-z).

With s = 1 / (1 + e^-z), s' = s (1 - s) = f and f' = f (1 - 2 s): |f'| <= f, so a shift costs at
most what it measures in scales; and f'' = f (1 - 6 f), so |f''| <= f.

Numbers. f <= 1/4; f' = s (1 - s) (1 - 2 s) is at most √3/18 and at least -√3/18: half its variation
is √3/9. The rate of ln f with the logarithm of the scale is r(z) = z tanh(z/2) - 1, and r f =
-(z f)': so E|r| / 2, the mass where r > 0, is 2 max z f(z), at z tanh(z/2) = 1, below 0.4478. As
E r = 0, E r² = E z² tanh² (z/2) - 1 <= π²/3 - 1; z r' = z tanh(z/2) + 2 z² f, so E|z r'| <= 1 +
E z² / 2 = 1 + π²/6; half of both is below 5/2. As |r| > 1 only where r > 0, and r + 1 <= |z|, with
f <= e^-|z|: E[max(|r| - max(c² - 1, 1), 0)] <= 2 ∫ max(z - c², 0) e^-z dz = 2 e^-(c²). Tails:
Pr[Z > t] = 1 / (1 + e^t) <= e^-t. E e^(tZ) = πt / sin(πt) for 0 < t < 1.

Off the line. Let z = x + iy and u = e^-|x|. As |1 + e^(-z)|² = 1 + 2 e^-x cos y + e^-2x, with

    q = 1 + 2 u cos y + u²,    |f| = u / q,    |s| = 1 / √q for x >= 0, and u / √q for x <= 0,

and 1 - s likewise at -z. Poles are where q = 0: on x = 0, at odd multiples of π. Always
q >= (1 - u)²; as a function of u, q is least at -cos y. As |f| = 1 / 2 (cosh x + cos y), its
integral over x is y / sin y for |y| < π; sin y is at least its Taylor polynomials of degree 11.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, precision, rounding
from dipapprox.laws.family import BOTH_SIDES, RealFamily, Speeds, flint, np

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.arithmetic.rounding import Array

_BITS = 32

_SLACK = 2.0**-30  # more than the roundings of q, whose terms are at most 4, come to


class Logistic(RealFamily):
    name, constant, title = "Logistic", "LOGISTIC", "logistic"
    sides = shifts = BOTH_SIDES
    is_exponential = False
    steepness = None
    is_normal = False
    has_kink = False
    steep = Fraction(1, 4)
    curved = Fraction(19246, 100_000)  # 0.192450…
    bend = Fraction(5, 2)
    strip = Fraction(3)
    tail = Fraction(1)
    panel = 0.7, 0.12
    even_panel = Fraction(2, 5)
    # The argument is within 8 T, and counts once; the exponential is within 16, and counts at most
    # once; then come two sums, and two quotients.
    roundings = (24, 24), (8, 8), (0, 0)

    @property
    def mirror(self) -> RealFamily:
        return self

    @property
    def drift(self) -> Fraction:
        """2 max z f(z) is 0.447743…"""
        return Fraction(4478, 10_000)

    def excess(self, cut: Fraction) -> Fraction:
        """2 e^-(c²)."""
        return 2 * precision.exponential(-(cut**2), _BITS).upper

    def speeds(self, speed: Fraction) -> Speeds:
        """|f'| <= f and |f''| <= f."""
        return Speeds(score=abs(speed))

    def modulus(self, height: Fraction) -> Fraction:
        """y / sin y."""
        terms = ((-(height**2)) ** k / factorial(2 * k + 1) for k in range(6))
        return 1 / sum(terms, Fraction(0))

    # --- balls -------------------------------------------------------------------------------

    def pdf(self, z: arb, side: int) -> arb:
        """1 / (4 cosh² (z/2))."""
        root = 2 * (z / 2).cosh()
        return 1 / (root * root)

    def score(self, z: arb, side: int) -> arb:
        """1 - 2 s."""
        return -(z / 2).tanh()

    def survival(self, z: arb, side: int) -> arb:
        return 1 / (1 + z.exp())

    def pdf_bound(self, box: Box, side: int) -> arb:
        """u / q, both bounds of q tried; |f| = 1 / (2 (cosh x + cos y))."""
        nearest = box.nearest_to_zero
        bounds = []
        u = (-abs(nearest)).exp()
        if u < 1:
            bounds.append(u / ((1 - u) * (1 - u)))
        if box.height < flint.arb.pi():
            below = 2 * (nearest.cosh() + box.height.cos())
            if below > 0:
                bounds.append(1 / below)
        return boxes.smallest(*bounds)

    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """Of a power series, left of 0 where e^z is small; f is even."""
        c, h = precision.to_ball(-abs(center)), precision.to_ball(half)

        def density(z: flint.arb_series) -> flint.arb_series:
            root = (z / 2).exp()
            root = root / (1 + root * root)
            return root * root

        found = precision.taylor(density, c, -h if center > 0 else h, degree + 1)
        # Cauchy on a circle that keeps away from the poles; e^-z alone wants one of radius degree.
        reach = min(Fraction(degree), max(Fraction(3), abs(center) - 1))
        rho = precision.to_ball(max(reach / half, Fraction(5, 4)))
        wide = h * rho
        disc = boxes.Box((c - wide).lower(), (c + wide).upper(), wide.upper())
        return found, self.pdf_bound(disc, 0) / (rho**degree * (rho - 1))

    def cutoff_guess(self, bits: int, side: int) -> arb:
        """As if the tail were e^-t."""
        return flint.arb.const_log2() * bits

    def log_moment(self, t: arb) -> arb:
        return -(flint.arb.pi() * t).sinc().log()

    # --- doubles -----------------------------------------------------------------------------

    def at(self, t: Array) -> tuple[Array, Array]:
        """With e = e^-|t|: e / (1 + e) lies beyond, and f is that divided by 1 + e."""
        e = double_functions.exponential(-np.abs(t))
        tail = e / (1 + e)
        return tail / (1 + e), tail

    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        left, right = edges[:, :-1], edges[:, 1:]
        nearest = np.where((left < 0) & (right > 0), 0.0, np.minimum(np.abs(left), np.abs(right)))
        furthest = np.maximum(np.abs(left), np.abs(right))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            most = double_functions.growth(-nearest)
            least = double_functions.growth(-furthest) * (1 - 2 * double_functions.EXCESS)
            cosine = double_functions.on_all(double_functions.least_cosine(heights), edges)
            u = np.clip(-cosine, least, most)
            q = np.maximum(1 + u * (2 * cosine + u) - _SLACK, 0.0)
            root = rounding.SAFE / np.sqrt(q)
            return (
                most / q * rounding.SAFE,
                np.where(right > 0, 1.0, most) * root,
                np.where(left < 0, 1.0, most) * root,
            )

    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        """f(z + d) / f(z) is within e^|d|."""
        return by


LOGISTIC = Logistic()
