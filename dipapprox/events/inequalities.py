"""Guards about integer samples as inequalities with integer coefficients and bounds.

A guard with rational coefficients is multiplied up and its constant rounded down, which no integer
point notices; so it does not matter where between two values of its form a guard was cut.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, gcd, lcm

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.linear.form import LinearForm


@dataclass(frozen=True, slots=True)
class Inequality:
    """Σ a_i z_i <= bound.

    Attributes:
        terms: (i, a_i), ascending, every a_i != 0, without common divisor.
    """

    terms: tuple[tuple[int, int], ...]
    bound: int


def integer_inequality(guard: LinearForm) -> Inequality:
    """form <= 0, in integers."""
    if not guard.terms:
        raise BrokenInvariant("a guard mentions no sample")
    scale = lcm(*(a.denominator for _, a in guard.terms))
    divisor = gcd(*(int(a * scale) for _, a in guard.terms))
    factor = Fraction(scale, divisor)
    terms = []
    for sample, a in guard.terms:
        if not isinstance(sample, int):
            raise BrokenInvariant("a guard of an event mentions an input")
        terms.append((sample, int(a * factor)))
    return Inequality(tuple(terms), floor(-guard.constant * factor))
