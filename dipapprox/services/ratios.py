"""How much a probability may exceed another: the least c with p <= e^(c eps) q for every eps.

p and q are closed forms in eps. Where p = e^(c eps) q exactly, c is all there is to say. Else
ln(p / q) / eps has limits as eps grows and as eps vanishes: both are lower bounds of c, and the
larger one is taken as a candidate, which the sign procedure of `decide` confirms for every eps. At
one eps it is a number, which is enclosed.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exact.signs.supremum import near_zero, without_common
from dipapprox.exact.signs.values import enclose_at, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import check_limits
from dipapprox.numerics.intervals import logarithm
from dipapprox.services.model import Inexpressible

_STEPS = (Fraction(0), Fraction(1, 64), Fraction(1, 16), Fraction(1, 4), Fraction(1), Fraction(4))
"""What is added to a candidate that does not hold for every eps."""


class Gain(Record):
    """What is known of ln(p / q) / eps.

    At one eps, `upper` and `lower` are bounds of the number, and `jump` is 1.
    """

    exact: Fraction | None  # the number c if p = e^(c eps) q for every eps
    # A number c with p <= e^(c eps) q for every eps > 0; None if none was proved.
    upper: Fraction | None
    # No smaller c serves every eps: the limit as eps grows, or the one as eps vanishes, if p / q ->
    # 1 there.
    lower: Fraction
    jump: Fraction | None  # the limit of p / q as eps vanishes; None if it is infinite

    @property
    def is_unbounded(self) -> bool:
        """Whether no c serves every eps, however small."""
        return self.jump is None or self.jump > 1


NO_GAIN = Gain(Fraction(0), Fraction(0), Fraction(0), Fraction(1))

_known: Cache[tuple[ExponentialRatio, ExponentialRatio], Gain] = Cache(20_000)

_known_at: Cache[tuple[ExponentialRatio, ExponentialRatio, Fraction], Gain] = Cache(20_000)


def gain_of(p: ExponentialRatio, q: ExponentialRatio) -> Gain:
    """Return what is known of ln(p / q) / eps for two probabilities that are not 0."""
    if p is q or p == q:
        return NO_GAIN
    return _known.find((p, q), lambda: _gain(p, q))


def gain_at(p: ExponentialRatio, q: ExponentialRatio, eps: Fraction) -> Gain:
    """Return what ln(p / q) / eps is at one eps > 0.

    Returns:
        Bounds at most 10^-11 apart, where the number is below 10^12.

    Raises:
        Inexpressible: If one of the probabilities is 0 there.
    """
    if p is q or p == q:
        return NO_GAIN
    return _known_at.find((p, q, eps), lambda: _gain_at(p, q, eps))


def _gain_at(p: ExponentialRatio, q: ExponentialRatio, eps: Fraction) -> Gain:
    above, below = without_common(p, q)
    exact = _exponent(above, below)
    if exact is not None:
        return Gain(exact, exact, exact, Fraction(1))
    if not sign_at(above, eps) or not sign_at(below, eps):
        raise Inexpressible(f"a probability that is 0 at ε = {eps}, and not elsewhere")
    found = enclose_at(ExponentialRatio(above, ((below, 1),)), eps, _BITS)
    if isinstance(found, NotEnclosed) or found.lower <= 0:
        raise Inexpressible(f"a quotient of probabilities that is out of range at ε = {eps}")
    logarithms = logarithm(found, _BITS)
    upper = Fraction(ceil(logarithms.upper / eps * _GRID), _GRID)
    return Gain(None, upper, Fraction(floor(logarithms.lower / eps * _GRID), _GRID), Fraction(1))


_BITS = 80
_GRID = 10**12


def _gain(p: ExponentialRatio, q: ExponentialRatio) -> Gain:
    # Common factors of the denominators cancel. What is left of q has one sign, as q >= 0 and no
    # denominator vanishes; it is made > 0, off the isolated eps where q may be 0.
    above, below = without_common(p, q)
    if _sign(below) < 0:
        above, below = -above, -below
    exact = _exponent(above, below)
    if exact is not None:
        return Gain(exact, exact, exact, Fraction(1))
    small = near_zero(above, below)
    far = _rate(above) - _rate(below)
    # A quotient of powers of eps only moves the logarithm by less than any multiple of eps.
    candidate = far if small.slope is None else max(far, small.slope)
    upper = None
    if small.jump is not None and small.jump <= 1:
        upper = _least_proved(above, below, candidate)
    return Gain(None, upper, candidate, small.jump)


def _least_proved(
    above: ExponentialPolynomial, below: ExponentialPolynomial, candidate: Fraction
) -> Fraction | None:
    for step in _STEPS:
        check_limits()
        factor = ExponentialPolynomial.monomial(1, 0, candidate + step)
        found = is_nonnegative(factor * below - above, ALL_EPSILONS)
        if isinstance(found, Nonnegative):
            return candidate + step
        if not isinstance(found, Negative):
            return None
    return None


def _sign(function: ExponentialPolynomial) -> int:
    """Return the sign of a function that has one sign, and vanishes at isolated eps only."""
    eps = Fraction(1)
    while not (sign := sign_at(function, eps)):
        eps = eps / 2
    return sign


def _exponent(above: ExponentialPolynomial, below: ExponentialPolynomial) -> Fraction | None:
    """Return c with above = e^(c eps) below; None if there is none."""
    if len(above.terms) != len(below.terms):
        return None
    c = _rate(above) - _rate(below)
    moved = {(n, rate + c): value for (n, rate), value in below.terms}
    return c if moved == dict(above.terms) else None


def _rate(function: ExponentialPolynomial) -> Fraction:
    return max(rate for (_, rate), _ in function.terms)
