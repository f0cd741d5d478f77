"""Several independent numbers with Laplace or Gaussian noise: the divergence in closed form.

Let P and Q be Laplace laws of scale 1 whose means are t > 0 apart. Under P the loss ln P/Q is t
with probability 1/2, -t with e^-t / 2, and has the density e^((l - t) / 2) / 4 between. Tilted by
e^(-l/2) that is, with S_a for the shift by a, and J for what a measure has to the right,

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

from collections.abc import Mapping
from fractions import Fraction
from math import comb

from flint import arb, fmpq, fmpq_poly

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.limits import check_limits

_MOST_TERMS = 2**14
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
        if sum(map(len, terms.values())) * len(own) + len(terms) * times > _MOST_TERMS:
            return None
        terms = _product(terms, own)
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


def _product(first: _Terms, second: _Terms) -> _Terms:
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
        tail = _below(s / deviation)
        first = size * _below((s + square / 2) / deviation)
        second = size * _below((s - square / 2) / deviation)
    found = arb(0)
    for m, factor in enumerate(factors):
        if m > 1:
            before, tail = tail, (s * tail + square * before) / (m - 1)
        if m:
            first, second = 2 * (first - falling * tail), 2 * (rising * tail - second)
        if factor:
            found += arb(factor) * (left * first - right * second)
    return found


def _below(place: arb) -> arb:
    return (-place / arb(2).sqrt()).erfc() / 2
