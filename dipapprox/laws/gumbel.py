"""Gumbel noise: f(z) = v e^-v with v = e^-z; Pr[Z <= z] = e^-v. Its mirror image is that of -Z.

v has the standard exponential law, and dv/dz = -v. So f' = (v - 1) f, and f rises up to z = 0 and
falls from there on: f <= 1/e. The difference of two independent samples is logistic: given v', the
event Z - Z' <= x is v >= v' e^-x, of the mass E e^(-v' e^-x) = 1 / (1 + e^-x).

Shifts. f(z - d) / f(z) = e^d e^(-v (e^d - 1)). For d > 0 that is at most e^d, which it nears as z
grows. For d < 0 the exponent -v (e^d - 1) has no bound as z falls: no factor serves.

Numbers. f'' = v (v² - 3 v + 1) e^-v changes sign at v = (3 ± √5) / 2, where f' = (v² - v) e^-v is
0.309004… and -0.161120…: half its variation is 0.470125…. The rate of ln f with the logarithm of
the scale is s = z (1 - v) - 1 >= -1, as z and 1 - v have the same sign, and s f = -(z f)': so
E|s| / 2, half the variation of z f, which is 0 at -∞, 0 and ∞, is its greatest value less its
least, where z (1 - v) = 1: 0.270053… and -0.192317…. As E s = 0, E z (1 - v) = 1; the derivative
of s with that logarithm is -z s' = -(z (1 - v) + z² v), of one sign, so that E|ds| = 1 + E z² v =
1 + Γ''(2) = π²/6 + (1 - γ)²; and E s² is the same number, Fisher's information, as E[s² + ds] is
the second derivative of ∫ f = 1. It is 1.823680…

Excess. As |s| > 1 only where s > 0, E[max(|s| - max(c² - 1, 1), 0)] <= E[max(z (1 - v) - c², 0)].
For z > 0 the term is at most z - c², and f <= e^-z: e^-(c²) in all. For z < 0 it is g(v) - c², g =
(v - 1) ln v, with 0 <= g' <= ln v + 1 for v >= 1: the mean is ∫ g' e^-v over v >= v0, g(v0) = c²,
and at most ∫ (ln v + 1) e^-v over v >= v1 for any v1 in [1, v0], at most e^-v1 (ln v1 + 2). With L
>= 1, L >= ln(1 + c²) there are two such v1, 1 + c and 1 + c²/L: ln v1 is at most c, or L.

Tails: Pr[Z > t] = 1 - e^-v <= v = e^-t, and Pr[Z < -t] = e^(-e^t) <= e^-(1 + t). E e^(tZ) =
E v^-t = Γ(1 - t) for t < 1.

Off the line. Let z = x + iy, |y| <= h, C <= cos y, and now v = |e^-z| = e^-x. The real part of e^-z
is v cos y, so that with [a, b] for the range of v

    |f| <= v e^(-v C),    |Pr[Z <= z]| <= e^(-v C),    |1 - Pr| <= v max(1, e^(-v C)),

the last as 1 - e^-w = w ∫_0^1 e^(-sw) ds. With w = p + iq, |q| <= v h, also

    |1 - e^-w|² = (1 - e^-p)² + 2 e^-p (1 - cos q) <= (1 - e^-b)² + e^(-a C) (b h)²    for C >= 0.

v e^(-v C) rises up to v = 1/C, where it is 1/(e C), and falls from there on; if C <= 0 it rises.
As |f| = v e^(-v cos y), its integral over x is 1 / cos y for |y| < π/2; cos y is at least its
Taylor polynomial of degree 10.

Doubles. In units of 2^-53, with T for the largest |t|: the argument is within 8 T
(`double_functions`), the exponential within 16, so v within 8 T + 16; e^-v then within v (8 T + 16)
+ 16, and 1 - e^-v, less sensitive than v, within 8 T + 16 + 17. f is e^(-t - v), where v counts v
times and t 1 + v times, and the sum is rounded: 9 T + 16 + v (8 T + 17). All that is at most (9 T +
33) (1 + v), to first order, which is below 2^-18 for v <= 2^11; where v is greater, and where
exponents are below -690, all is below 2^-990, as it is computed and in truth.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, precision, rounding
from dipapprox.laws.family import BOTH_SIDES, RealFamily, Speeds, flint, np
from dipapprox.laws.logistic import LOGISTIC

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.arithmetic.rounding import Array

_BITS = 32
_GREATEST = 2.0**11  # beyond this e^-v is nothing to doubles
_RADII = tuple([Fraction(k, 4) for k in (1, 2, 4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128)])
"""Of circles that are tried round panels."""


class Gumbel(RealFamily):
    """The family of Z, or (turn = -1) of -Z: whatever is asked at z is said of Z at turn * z."""

    sides = BOTH_SIDES
    is_exponential = False
    steepness = 2
    is_normal = False
    has_kink = False
    steep = Fraction(36788, 100_000)  # 1/e = 0.367879…
    curved = Fraction(47013, 100_000)
    bend = Fraction(18237, 10_000)
    strip = Fraction(3, 2)
    panel = 0.7, 0.12
    even_panel = Fraction(3, 10)

    def __init__(self, name: str, constant: str, title: str, turn: int) -> None:
        self.name, self.constant, self.title, self._turn = name, constant, title, turn
        self.shifts = (turn,)
        self.tail = Fraction(1) if turn > 0 else None

    @property
    def mirror(self) -> RealFamily:
        return REFLECTED_GUMBEL if self._turn > 0 else GUMBEL

    @property
    def difference(self) -> RealFamily:
        return LOGISTIC

    @property
    def drift(self) -> Fraction:
        return Fraction(4624, 10_000)

    def excess(self, cut: Fraction) -> Fraction:
        """See the module; 2^k >= 1 + c² has k 7/10 >= ln(1 + c²)."""
        square = cut**2
        logarithm = Fraction(7, 10) * max((1 + square).__ceil__().bit_length(), 2)
        nearer, further = 1 + cut, 1 + square / logarithm
        left = min(
            precision.exponential(-nearer, _BITS).upper * (cut + 2),
            precision.exponential(-further, _BITS).upper * (logarithm + 2),
        )
        return precision.exponential(-square, _BITS).upper + left

    def speeds(self, speed: Fraction) -> Speeds:
        """|f'| / f has no bound, but half the variation of f has one."""
        return Speeds(jumps=abs(speed) * self.steep)

    def modulus(self, height: Fraction) -> Fraction:
        """1 / cos y."""
        terms = ((-(height**2)) ** k / factorial(2 * k) for k in range(6))
        return 1 / sum(terms, Fraction(0))

    # --- balls -------------------------------------------------------------------------------

    def pdf(self, z: arb, side: int) -> arb:
        z = self._turn * z
        return (-z - (-z).exp()).exp()

    def score(self, z: arb, side: int) -> arb:
        """v - 1; of the mirror image its negative."""
        return (-self._turn * z).expm1() * self._turn

    def survival(self, z: arb, side: int) -> arb:
        v = (-self._turn * z).exp()
        return -(-v).expm1() if self._turn > 0 else (-v).exp()

    def pdf_bound(self, box: Box, side: int) -> arb:
        """Where v e^(-v C) is greatest."""
        least, most, cosine = self._ranges(box)
        if not cosine > 0:
            return (most * boxes.growth(-most * cosine)).upper()
        at = most if most * cosine < 1 else least if least * cosine > 1 else 1 / cosine
        return (at * boxes.growth(-at * cosine)).upper()

    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """Of a power series; Cauchy's estimate the rest."""
        c, h = (precision.to_ball(self._turn * each) for each in (center, half))
        found = precision.taylor(lambda z: (-z - (-z).exp()).exp(), c, h, degree + 1)
        rests = []
        for radius in (half * Fraction(5, 4), *_RADII):
            if radius >= half * Fraction(5, 4):
                wide, rho = precision.to_ball(radius), precision.to_ball(radius / half)
                disc = boxes.Box((c - wide).lower(), (c + wide).upper(), wide.upper())
                rests.append(GUMBEL.pdf_bound(disc, 0) / (rho**degree * (rho - 1)))
        return found, boxes.smallest(*rests)

    def cutoff_guess(self, bits: int, side: int) -> arb:
        """e^-t, and e^(-e^t)."""
        right = flint.arb.const_log2() * bits
        return right if side == self._turn else (right + 1).log()

    def log_moment(self, t: arb) -> arb:
        """ln Γ(1 - t) for Z; not finite unless t < 1 is certain."""
        t = self._turn * t
        return (1 - t).lgamma() if t < 1 else flint.arb("nan")

    # --- doubles -----------------------------------------------------------------------------

    def at(self, t: Array) -> tuple[Array, Array]:
        """Negation is exact. The mass beyond 0 is that below."""
        z = self._turn * t
        v = double_functions.exponential(-z)
        rising = double_functions.complement(np.minimum(v, 1.0))
        tail = np.where((t > 0) == (self._turn > 0), rising, double_functions.exponential(-v))
        return double_functions.exponential(-z - v), tail

    def errors(self, t: Array, found: tuple[Array, Array], reach: Array) -> Array:
        v = np.minimum(double_functions.exponential(-self._turn * t), _GREATEST)
        relative = 1.01 * rounding.UNIT_ROUNDOFF * (9 * reach + 33) * (1 + v)
        return np.stack([(relative * each).max(axis=0) for each in found])

    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        """All grow as C falls: it is kept away from 0. What `growth` adds covers all other
        roundings."""
        heights = double_functions.on_all(heights, edges)
        if self._turn < 0:
            density, below, above = GUMBEL.on_boxes(-edges[:, ::-1], heights[:, ::-1])
            return density[:, ::-1], above[:, ::-1], below[:, ::-1]
        left, right = edges[:, :-1], edges[:, 1:]
        cosine = double_functions.least_cosine(heights)
        cosine = np.where(cosine > 2.0**-20, cosine, np.minimum(cosine, -(2.0**-20)))
        positive = cosine > 0
        with np.errstate(over="ignore"):
            most = double_functions.growth(-left)
            least = double_functions.growth(-right) * (1 - double_functions.EXCESS) - 2.0**-987
            least = np.minimum(np.maximum(least, 0.0), _GREATEST)
            at = np.where(positive, np.clip(1 / cosine, least, most), most)
            density = at * double_functions.growth(-cosine * at)
            below = double_functions.growth(-cosine * np.where(positive, least, most))
            above = np.minimum(1 + below, most * np.maximum(1.0, below))
            body = 1 - double_functions.growth(-most) * (1 - 2 * double_functions.EXCESS)
            real = np.sqrt(body * body + below * (most * heights) ** 2)
            above = np.where(positive, np.minimum(above, real), above)
            return density * rounding.SAFE, below * rounding.SAFE, above * rounding.SAFE

    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        """|f'| <= (1 + v) f, v and z + v are rounded; nothing is known where exponents end."""
        middle = self._turn * middle
        with np.errstate(over="ignore"):
            most = double_functions.growth(reach - middle)
            far = np.abs(middle) + reach
            found: Array = by * (1 + most) + 2.0**-48 * most + 2.0**-52 * far
        return np.where((most < 512) & (far < 128), found, np.inf)

    def _ranges(self, box: Box) -> tuple[arb, arb, arb]:
        """a, b and C."""
        box = box if self._turn > 0 else box.mirrored
        if box.is_real:
            cosine = flint.arb(1)
        else:
            cosine = box.height.cos().lower() if box.height < flint.arb.pi() else flint.arb(-1)
        return (-box.high).exp().lower(), (-box.low).exp().upper(), cosine


GUMBEL = Gumbel("Gumbel", "GUMBEL", "Gumbel", 1)
REFLECTED_GUMBEL = Gumbel("GumbelMinus", "REFLECTED_GUMBEL", "reflected Gumbel", -1)
