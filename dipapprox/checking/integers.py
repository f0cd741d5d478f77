"""Functions on a range of integers for the checker: sums where `panels` has integrals.

A discrete law is restricted to the integers within its `reach`; a function is its values there, as
balls, so that sums and products need no proof of their own. With q = e^(-1/b), discrete Laplace:

    Pr[x] = (1 - q) / (1 + q) q^|x - mean|,      Pr[|x - mean| > r] = 2 q^(r + 1) / (1 + q).

Discrete Gaussian, with nome q = e^(-1/2s²) and Jacobi's theta function:

    Pr[x] = q^((x - mean)²) / θ₃(0, q),
    Pr[|x - mean| > r] <= 2 q^((r + 1)²) / (1 - q^(2 r + 3)),

as the terms from r + 1 on fall at least as fast as a geometric series, and θ₃ > 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate, repeat
from math import ceil, isqrt

from flint import acb, arb

from dipapprox.distributions import Distribution, Family
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import asking
from dipapprox.numerics.precision import to_ball

_ZERO = arb(0)

Values = tuple[arb, ...]
"""One value for each integer of a range."""


def radius(law: Distribution, bits: int) -> int:
    """Return how far from its mean a law must be kept to lose at most 2**-bits of its mass.

    For discrete Gaussians about that much: what is lost, `lost` says.
    """
    if _is_square(law):
        # r² / 2s² >= ln 2 (bits + 2)
        return isqrt(ceil(law.scale**2 * Fraction(14, 10) * (bits + 2))) + 1
    # 2 q^(r + 1) <= 2^-bits, as ln 2 < 0.7
    return ceil(law.scale * Fraction(7, 10) * (bits + 1))


def lost(law: Distribution, bits: int) -> arb:
    """Bound the mass beyond `radius`."""
    first = radius(law, bits) + 1
    if _is_square(law):
        return (2 * _power(law, first**2) / (1 - _power(law, 2 * first + 1))).upper()
    return (2 * _power(law, first) / (1 + _power(law, 1))).upper()


def _power(law: Distribution, exponent: int) -> arb:
    """q^exponent; balls next to 0 have no powers in flint, but exponentials."""
    return (-exponent / to_ball(2 * law.scale**2 if _is_square(law) else law.scale)).exp()


def _is_square(law: Distribution) -> bool:
    """Whether a law's exponents are squares, or linear.

    Raises:
        ValueError: If it is no law of integers.
    """
    match law.family:
        case Family.DISCRETE_GAUSSIAN:
            return True
        case Family.DISCRETE_LAPLACE:
            return False
        case _:
            raise ValueError(f"{law.family.value} is no noise of integers that is known here")


def _probabilities(law: Distribution, reach: int) -> list[arb]:
    """Enclose Pr[mean + d] for d = 0, …, reach."""
    if _is_square(law):
        norm = _theta(law)
        return [_power(law, d * d) / norm for d in asking(range(reach + 1))]
    q = _power(law, 1)
    peak = (1 - q) / (1 + q)
    powers = accumulate(repeat(q, reach), lambda power, each: power * each, initial=peak)
    return list(asking(powers))


def _theta(law: Distribution) -> arb:
    """θ₃(0, q), q = e^(-1/2s²)."""
    # θ₃(z, τ) with nome q = e^(πiτ), that is τ = i / (2π s²)
    tau = acb(0, 1 / (2 * arb.pi() * to_ball(law.scale**2)))
    found = acb.modular_theta(acb(0), tau)[2].real
    if found.is_finite():
        return found
    # τ is too large for flint: 1 + 2 Σ q^(n²) <= 1 + 2 Σ q^(1 + 3 (n - 1)) is next to 1.
    return arb(1).union(1 + 2 * _power(law, 1) / (1 - _power(law, 3)))


class IntegerRange:
    """The integers within reach of some laws, all of them discrete.

    To be used at one working precision only.

    Args:
        laws: At least one; means are integers.
        bits: Wanted accuracy.
    """

    def __init__(self, laws: Iterable[Distribution], bits: int) -> None:
        self.laws = frozenset(laws)
        self.bits = bits
        if any(law.mean.denominator != 1 for law in self.laws):
            raise BrokenInvariant("the mean of integer noise is no integer")
        self._first = min(int(law.mean) - radius(law, bits) for law in self.laws)
        self._last = max(int(law.mean) + radius(law, bits) for law in self.laws)

    @property
    def size(self) -> int:
        """How many integers there are: more than some are not to be asked about."""
        return self._last - self._first + 1

    @property
    def points(self) -> list[Fraction]:
        """The ends."""
        return [Fraction(self._first), Fraction(self._last)]

    def lost(self, law: Distribution) -> arb:
        """Bound the mass of a law that is left out."""
        return lost(law, self.bits)

    def density(self, law: Distribution, lower: Fraction | None, upper: Fraction | None) -> Values:
        """Return the probabilities of the law's values between the bounds."""
        reach = radius(law, self.bits)
        powers = _probabilities(law, reach)
        values = []
        mean = int(law.mean)
        for x in asking(range(self._first, self._last + 1)):
            distance = abs(x - mean)
            outside = (lower is not None and x < lower) or (upper is not None and x > upper)
            values.append(_ZERO if outside or distance > reach else powers[distance])
        return tuple(values)

    def product(self, left: Values, right: Values) -> Values:
        """Return left * right."""
        return tuple([f * g for f, g in asking(zip(left, right, strict=True))])

    def difference(self, left: Values, right: Values) -> Values:
        """Return left - right."""
        return tuple([f - g for f, g in asking(zip(left, right, strict=True))])

    def running(self, density: Values, *, from_left: bool) -> Values:
        """Return t -> the sum over x <= t, or over x >= t."""
        ordered = asking(density if from_left else density[::-1])
        sums = tuple(accumulate(ordered))
        return sums if from_left else sums[::-1]

    def total(self, density: Values) -> arb:
        """Enclose the sum."""
        return sum(asking(density), _ZERO)
