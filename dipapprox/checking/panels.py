"""Functions on panels for the checker: polynomials in balls with a separate error bound.

A `Grid` cuts the line at rational points. On the panel with midpoint m and half-width h a function
is f(m + h s) = p(s) + e(s), -1 <= s <= 1: p has ball coefficients (some numbers in them are
right), |e| <= error. None is the function 0. Rules, |f_i| <= M_i being known:

    product   f1 f2 = p1 p2 + f1 e2 + f2 e1 - e1 e2           error  M1 E2 + M2 E1 + E1 E2
    cutting   Σ_{k > n} |c_k| goes into the error             as |s| <= 1
    running   ∫_{-1}^s f = q(s) - q(-1) + …, q' = p           error  2 E, and that of earlier panels

A law is restricted to the panels within its `reach`; densities are p = Taylor polynomial, with the
remainder bounded by the next coefficient over the whole panel (Lagrange). One-sided laws begin at
their mean, which is an end of panels: there panels shrink towards it, as the least of many such
samples lies next to it. The coefficients of exp(a s + b s²) obey k c_k = a c_{k-1} + 2 b c_{k-2};
those of exp(|a| s + |b| s²) bound them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, sqrt
from typing import assert_never

from flint import arb, arb_poly

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Decay, Distribution, Family
from dipapprox.limits import asking
from dipapprox.numerics.precision import to_ball

_ZERO = arb(0)
_ONE = arb(1)


_WIDTHS = {Decay.SQUARED: 1, Decay.LINEAR: 2}
"""Of the widest panels, in scales."""

_TOWARDS_THE_EDGE = [Fraction(part, 2**k) for k in range(2, 12) for part in (2, 3)]


@dataclass(frozen=True, slots=True)
class Piece:
    """p(s) + e(s) on one panel; `size` bounds the function itself."""

    polynomial: arb_poly
    error: arb
    size: arb


Function = tuple[Piece | None, ...]
"""One piece for each panel of a grid."""


def reach(law: Distribution, bits: int) -> Fraction:
    """Return how far from its mean a law must be kept to lose at most 2**-bits of its mass.

    exp(-z²/2) bounds both Gaussian tails together, exp(-z) those of Laplace and one-sided laws.
    """
    decay = law.family.decay
    match decay:
        case Decay.SQUARED:
            return law.scale * ceil(sqrt(1.4 * bits) + 1)
        case Decay.LINEAR:
            return law.scale * 2 * ceil(0.35 * bits + 1)
        case _:
            assert_never(decay)


def lost(law: Distribution, bits: int) -> arb:
    """Bound the mass beyond `reach`."""
    z = to_ball(reach(law, bits) / law.scale)
    decay = law.family.decay
    match decay:
        case Decay.SQUARED:
            exponent = z * z / 2
        case Decay.LINEAR:
            exponent = z
        case _:
            assert_never(decay)
    return (-exponent).exp().upper()


class Grid:
    """Panels for some laws, all within their reach, fine enough for short polynomials.

    To be used at one working precision only.

    Args:
        laws: At least one.
        cuts: Points that must be ends of panels.
        bits: Wanted accuracy.
        fineness: 0, 1, …: panels are 2**-fineness times as wide.
    """

    def __init__(
        self, laws: Iterable[Distribution], cuts: Iterable[Fraction], bits: int, fineness: int
    ) -> None:
        self.laws = frozenset(laws)
        self.bits = bits
        self.degree = 14 + 2 * bits // 5
        points = set(cuts)
        self._spans: dict[Distribution, tuple[Fraction, Fraction]] = {}
        for law in self.laws:
            extent = reach(law, bits)
            width = law.scale * _WIDTHS[law.family.decay] / 2**fineness
            sides = [side for side in (-1, 1) if _mass(law.family, side)]
            start, stop = law.mean + min(0, *sides) * extent, law.mean + max(0, *sides) * extent
            self._spans[law] = start, stop
            points |= {start + k * width for k in range(ceil((stop - start) / width))}
            points |= {law.mean, stop}  # the kink of Laplace densities
            if len(sides) == 1:
                points |= {law.mean + sides[0] * width * part for part in _TOWARDS_THE_EDGE}
        self.points = sorted(points)

    def lost(self, law: Distribution) -> arb:
        """Bound the mass of a law beyond its reach."""
        return lost(law, self.bits)

    def density(
        self, law: Distribution, lower: Fraction | None, upper: Fraction | None
    ) -> Function:
        """Return density * h on [lower, upper] and within reach, so that ds-integrals are masses.

        Args:
            law: One of the grid's.
            lower: A cut, or None.
            upper: A cut, or None.
        """
        start, stop = self._spans[law]
        start = start if lower is None else max(start, lower)
        stop = stop if upper is None else min(stop, upper)
        return tuple(
            self._piece(law, a, b) if start <= a and b <= stop else None
            for a, b in asking(zip(self.points, self.points[1:], strict=False), 1)
        )

    def _piece(self, law: Distribution, left: Fraction, right: Fraction) -> Piece:
        middle, half = (left + right) / 2, (right - left) / 2
        z, k = (middle - law.mean) / law.scale, half / law.scale
        u, step = to_ball(z), to_ball(k)
        nearest = to_ball(max(Fraction(0), abs(z) - k))
        decay = law.family.decay
        match decay:
            case Decay.SQUARED:
                linear, square = -u * step, -step * step / 2
                steepest = (abs(u) + step) * step
                value, peak = (-u * u / 2).exp(), (-nearest * nearest / 2).exp()
                height = step / (2 * arb.pi()).sqrt()
            case Decay.LINEAR:
                linear, square = (-step if z > 0 else step), _ZERO
                steepest = step
                value, peak = (-abs(u)).exp(), (-nearest).exp()
                height = step * to_ball(_mass(law.family, 1 if z > 0 else -1))
            case _:
                assert_never(decay)
        coefficients = exponential_coefficients(linear, square, self.degree + 1)
        majorant = exponential_coefficients(steepest, abs(square), self.degree + 2)
        remainder = (height * peak * majorant[-1]).upper()
        factor = height * value
        polynomial = arb_poly([c * factor for c in coefficients])
        return Piece(polynomial, remainder, (height * peak).upper())

    def product(self, left: Function, right: Function) -> Function:
        """Return left * right."""
        return tuple(
            None if f is None or g is None else self._times(f, g)
            for f, g in asking(zip(left, right, strict=True), 1)
        )

    def _times(self, f: Piece, g: Piece) -> Piece:
        error = f.size * g.error + g.size * f.error + f.error * g.error
        return self._cut(f.polynomial * g.polynomial, error, f.size * g.size)

    def _cut(self, polynomial: arb_poly, error: arb, size: arb) -> Piece:
        if polynomial.length() > self.degree + 1:
            coefficients = polynomial.coeffs()
            for c in coefficients[self.degree + 1 :]:
                error = error + abs(c)
            polynomial = arb_poly(coefficients[: self.degree + 1])
        return Piece(polynomial, error.upper(), size.upper())

    def difference(self, left: Function, right: Function) -> Function:
        """Return left - right, two masses of which the first is the larger one."""
        return tuple(f if g is None else _minus(f, g) for f, g in zip(left, right, strict=True))

    def running(self, density: Function, *, from_left: bool) -> Function:
        """Return t -> ∫ below t, or above t, of a function that is a density times masses."""
        panels = density if from_left else density[::-1]
        total, error = _ZERO, _ZERO
        found: list[Piece | None] = []
        started = False
        for piece in asking(panels, 1):
            if piece is None:
                # A mass is at most 1.
                found.append(Piece(arb_poly([total]), error, _ONE) if started else None)
                continue
            started = True
            integral = piece.polynomial.integral()
            low, high = integral(-_ONE), integral(_ONE)
            running = integral + (total - low) if from_left else (total + high) - integral
            error = (error + 2 * piece.error).upper()
            found.append(self._cut(running, error, _ONE))
            total = total + (high - low)
        return tuple(found if from_left else found[::-1])

    def total(self, density: Function) -> arb:
        """Enclose the integral over the line."""
        total, error = _ZERO, _ZERO
        for piece in density:
            if piece is not None:
                integral = piece.polynomial.integral()
                total = total + (integral(_ONE) - integral(-_ONE))
                error = error + 2 * piece.error
        return total + arb(0, error.upper())


def _minus(f: Piece | None, g: Piece) -> Piece:
    if f is None:
        return Piece(-g.polynomial, g.error, _ONE)
    return Piece(f.polynomial - g.polynomial, (f.error + g.error).upper(), _ONE)


def _mass(family: Family, side: int) -> Fraction:
    """Return the mass that a family of laws has on a side of the mean."""
    match family:
        case Family.GAUSSIAN | Family.LAPLACE:
            return Fraction(1, 2)
        case Family.EXPONENTIAL:
            return Fraction(side > 0)
        case Family.REFLECTED_EXPONENTIAL:
            return Fraction(side < 0)
        case Family.DISCRETE_LAPLACE | Family.DISCRETE_GAUSSIAN:
            raise ValueError("discrete laws have no density")
        case _:
            assert_never(family)


def exponential_coefficients(linear: arb, square: arb, length: int) -> Sequence[arb]:
    """Return the first coefficients of exp(linear s + square s²)."""
    coefficients = [_ONE]
    for k in range(1, length):
        next_one = linear * coefficients[k - 1]
        if k > 1:
            next_one = next_one + 2 * square * coefficients[k - 2]
        coefficients.append(next_one / k)
    return coefficients
