"""Quotients of exponential polynomials in lowest terms, and functions up to positive factors.

Sums, products and comparisons of exponential polynomials are those of `exponentials`, a module of
plain arithmetic that the check shares with the run. Common factors are found by flint, in integer
polynomials in ε and e^(ε/N).
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text
from dipapprox.exponentials import ONE, ZERO, ExponentialPolynomial

Canonical = tuple[tuple[int, Fraction, int], ...]
"""(n, q, c): Σ c ε^n e^(qε) with least n = 0, largest q = 0, whole c without common divisor."""

_RING = fmpz_mpoly_ctx.get(("x", "y"), Ordering.lex)
_HIGHEST = 4000


@dataclass(frozen=True, slots=True)
class Quotient:
    """top / bottom, in lowest terms: equal functions are equal quotients.

    Attributes:
        bottom: Smallest rate 0, no common divisor; of its terms with the largest n, that with the
            largest rate is positive.
    """

    top: ExponentialPolynomial
    bottom: ExponentialPolynomial = ONE

    def plus(self, other: Quotient) -> Quotient:
        """self + other."""
        if self.bottom == other.bottom:
            return lowest_terms(self.top + other.top, self.bottom)
        top = self.top * other.bottom + other.top * self.bottom
        return lowest_terms(top, self.bottom * other.bottom)

    def times(self, other: Quotient) -> Quotient:
        """self * other."""
        return lowest_terms(self.top * other.top, self.bottom * other.bottom)

    def minus(self, other: Quotient) -> Quotient:
        """self - other."""
        return self.plus(Quotient(-other.top, other.bottom))

    def equals(self, top: ExponentialPolynomial, bottom: ExponentialPolynomial) -> bool:
        """Whether this is top / bottom."""
        return self.top * bottom == top * self.bottom


def constant(value: Fraction | int) -> Quotient:
    """Return the constant function."""
    return Quotient(ExponentialPolynomial.constant(value))


def lowest_terms(top: ExponentialPolynomial, bottom: ExponentialPolynomial) -> Quotient:
    """Cancel common factors.

    Raises:
        ZeroDivisionError: If `bottom` is the zero function.
        Stuck: If the degrees are too high for that.
    """
    if not bottom:
        raise ZeroDivisionError("a denominator is 0")
    if not top:
        return Quotient(ZERO)
    if bottom == ONE:
        return Quotient(top)
    least = {f: min(q for (_, q), _ in f.terms) for f in (top, bottom)}
    rates = (q - least[f] for f in (top, bottom) for (_, q), _ in f.terms)
    steps = 1 / (reduce(_common_unit, rates, Fraction(0)) or _ONE)
    (above, up, rise), (below, down, fall) = _polynomial(top, steps), _polynomial(bottom, steps)
    common = above.gcd(below)
    above, below = above // common, below // common
    unit = gcd(*map(int, below.coeffs()))
    if below.leading_coefficient() < 0:
        unit = -unit
    # top / bottom = (above * up * e^(rise ε)) / (below * down * e^(fall ε))
    return Quotient(
        _function(above, steps, up / (down * unit), rise - fall),
        _function(below, steps, Fraction(1, unit), Fraction(0)),
    )


def _common_unit(left: Fraction, right: Fraction) -> Fraction:
    """The largest number of which both are integer multiples; 0 for two zeros."""
    scale = lcm(left.denominator, right.denominator)
    return Fraction(gcd(int(left * scale), int(right * scale)), scale)


_ONE = Fraction(1)


def canonical(function: ExponentialPolynomial) -> Canonical:
    """Divide by a positive c ε^n e^(qε): what is left has the same signs."""
    if not function:
        return ()
    least = min(n for (n, _), _ in function.terms)
    top = max(q for (_, q), _ in function.terms)
    scale = lcm(*(c.denominator for _, c in function.terms))
    whole = [int(c * scale) for _, c in function.terms]
    divisor = gcd(*whole)
    found = [
        (n - least, q - top, c // divisor)
        for ((n, q), _), c in zip(function.terms, whole, strict=True)
    ]
    return tuple(sorted(found))


def as_function(canonical_form: Canonical) -> ExponentialPolynomial:
    """Return the function that is meant."""
    return ExponentialPolynomial.of({(n, q): Fraction(c) for n, q, c in canonical_form})


def _polynomial(
    function: ExponentialPolynomial, steps: Fraction | int
) -> tuple[fmpz_mpoly, Fraction, Fraction]:
    """function = polynomial(ε, e^(ε/steps)) * factor * e^(rate ε)."""
    least = min(q for (_, q), _ in function.terms)
    scale = lcm(*(c.denominator for _, c in function.terms))
    terms: dict[tuple[int, ...], int | fmpz] = {
        (n, int((q - least) * steps)): int(c * scale) for (n, q), c in function.terms
    }
    if max(degree for _, degree in terms) > _HIGHEST:
        raise Stuck(f"a quotient of degree beyond {_HIGHEST} in e^(ε/{brief_text(steps)})")
    return _RING.from_dict(terms), Fraction(1, scale), least


def _function(
    polynomial: fmpz_mpoly, steps: Fraction | int, factor: Fraction, rate: Fraction
) -> ExponentialPolynomial:
    return ExponentialPolynomial.of(
        {
            (int(n), Fraction(int(k)) / steps + rate): int(c) * factor
            for (n, k), c in polynomial.to_dict().items()
        }
    )
