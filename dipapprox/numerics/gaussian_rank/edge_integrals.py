"""Integrals along the edges of a polyhedron, in balls, by Gauss-Legendre rules with proved errors.

    ∫ Σ_i w_i / (e_i² + s²) g(q + s²) ds    over start <= s <= stop, which may be infinite,

q >= e_i² > 0, with g one of two radial functions of R = √(q + s²):

    planar     g = e^(-R²/2),          |w_i| <= e_i
    spatial    g = erfc(R/√2) / R,     |w_i| <= e_i d_i,  d_i² = q - e_i²

What is cut off. On the real line |w_i / e_i g| <= e^(-R²/2): erfc x <= e^(-x²) and d_i <= R. So

    |Σ_i ∫ … over R² >= 7p/5|  <=  Σ_i ∫ e_i / (e_i² + s²) ds  2^-p  <=  π 2^-p  each,
    |Σ_i ∫ … over |s| >= 2^p max e|  <=  2 · 2^-p  each,

since e^(-7p/10) < 2^-p and ∫_x^∞ e / (e² + s²) ds <= e / x.

Substitution. With m = min e_i and s = m sinh v the integrand is, on |Im v| <= π/4, analytic and

    |Σ_i …|  <=  2 n e^(-(q - m²/2) / 2)    for n summands.                                    (*)

Proof. Let v = x + iy, w = m cosh v: Re w² = m² (1 + cosh 2x cos 2y) / 2 >= m²/2. So Re(e_i² + s²)
= e_i² - m² + Re w² > 0 and Re R² >= q - m²/2 >= q - e_i²/2 > 0: no pole, and R is taken with
|arg R| <= π/4. Then |erfc(R/√2)| <= e^(-Re R²/2), since erfc z = 2/√π e^(-z²) ∫_0^∞ e^(-u² - 2uz)
du and Re z >= 0; and |R|² >= Re R² >= d_i². Hence |w_i / e_i g| <= e^(-(q - m²/2)/2). The rest of a
summand is e_i w / (c + w²) with c = e_i² - m² >= 0 and |c + w²|² >= c² + |w|⁴, as Re w² > 0. If c
<= m², then e_i <= √2 m and it is at most e_i / |w| <= √2 e_i / m <= 2; otherwise e_i² < 2c and it
is at most e_i |w| / √(c² + |w|⁴) <= e_i / √(2c) < 1, c² + |w|⁴ being at least 2c |w|².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb, fmpq

from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.gaussian_rank.polyhedron import ZERO, sign
from dipapprox.numerics.gaussian_rank.quadrature import quadrature

Radial = Callable[[arb], arb]
"""g as a function of R²."""

_COMPARABLE = 2**40
"""Summands whose e_i² differ by more are integrated one by one: their scales are too far apart."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Where to integrate and what.

    Attributes:
        square: q.
        start: Signed square of the first end; None: -∞.
        stop: Signed square of the last end; None: ∞.
        terms: Signed squares of w_i, and e_i²; none of them 0.
    """

    square: fmpq
    start: fmpq | None
    stop: fmpq | None
    terms: tuple[tuple[fmpq, fmpq], ...]


def planar(square: arb) -> arb:
    """e^(-R²/2)."""
    return (-square / 2).exp()


def spatial(square: arb) -> arb:
    """erfc(R/√2) / R, R > 0."""
    return (square / 2).sqrt().erfc() / square.sqrt()


def integral(segment: Segment, radial: Radial, bits: int, limits: Limits) -> arb:
    """Enclose the integral to about 2**-bits, at a working precision that allows it.

    Args:
        segment: What and where.
        radial: `planar` or `spatial`.
        bits: Where to cut off and to stop refining; > 0.
        limits: Asked at every node.

    Raises:
        LimitReached: If `limits` run out.
    """
    terms = sorted(segment.terms, key=lambda term: term[1])
    total = arb(0)
    while terms:
        least = terms[0][1]
        count = sum(square <= _COMPARABLE * least for _, square in terms)
        group, terms = terms[:count], terms[count:]
        total += _together(segment, group, radial, bits, limits)
    return total


def _together(
    segment: Segment,
    terms: Sequence[tuple[fmpq, fmpq]],
    radial: Radial,
    bits: int,
    limits: Limits,
) -> arb:
    least = terms[0][1]
    far = min(fmpq(7 * bits, 5) - segment.square, terms[-1][1] * 4**bits)
    start, stop = segment.start, segment.stop
    rest = arb(0)
    if start is None or start < -far or stop is None or stop > far:
        rest = arb(0, (arb.pi() + 2) * len(terms) * arb(2) ** -bits)
        if far <= ZERO:
            return rest
        start = -far if start is None or start < -far else start
        stop = far if stop is None or stop > far else stop
        if start >= stop:
            return rest
    unit = arb(least).sqrt()
    weights = [(_root(square), arb(inset)) for square, inset in terms]
    first, last = (_root(end / least).asinh() for end in (start, stop))
    square, least_ball = arb(segment.square), arb(least)

    def value(place: arb) -> arb:
        limits.check()
        sinh, cosh = place.sinh_cosh()
        along = least_ball * sinh * sinh
        total = arb(0)
        for weight, inset in weights:
            total += weight / (inset + along)
        return total * radial(square + along) * unit * cosh

    bound = 2 * len(terms) * (-arb(segment.square - least / 2) / 2).exp()
    return rest + quadrature(value, bound, arb.pi() / 4, first, last, bits)


def _root(square: fmpq) -> arb:
    """Return the number of a signed square."""
    return sign(square) * arb(abs(square)).sqrt()
