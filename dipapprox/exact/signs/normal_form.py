"""Exponential polynomials as integer polynomials in ε and y = e^(-ρε), prepared for sign questions.

In: an `ExponentialPolynomial` that is not the zero function. Out: its exact rational zeros, split
off, those below 0 too (what divides a function belongs to the proof of its sign), and a
`NormalForm`: the same function up to positive factors, with the largest rate 0.

The mathematics that makes signs decidable (DiPC, decision of Theorem 12; Lindemann). Write
G(ε) = F(ε, e^(-ρε)) with F in Z[x, y] and ρ > 0 rational, and D = ∂_x - ρ y ∂_y, so that
G'(ε) = (DF)(ε, e^(-ρε)).

* *Zeros at rational points.* If G(a) = 0 for an algebraic a != 0, then e^(-ρa) is transcendental,
  hence F(a, y) is the zero polynomial in y: a is a common zero of all coefficients P_j. For
  rational a this means that x - a divides F.
* *Common zeros.* Coprime F, H in Q[x, y] have no common zero (a, e^(-ρa)) with a > 0: there are
  A F + B H = R(x) != 0, so R(a) = 0 and a is algebraic; e^(-ρa) is transcendental, so all
  y-coefficients of F and of H vanish at a, and the minimal polynomial of a divides both.
* *Simple zeros.* If F is irreducible and not y up to a constant, its zeros a > 0 are simple: else
  F and DF vanish there, so F divides DF. Comparing degrees DF = κF with a constant κ, that is
  P_j' = (κ + ρj) P_j for every j. A polynomial with P' = λP is 0, or a constant and λ = 0: F is a
  constant times one power of y.
* Hence the squarefree part of F has simple zeros only, and two of its parts of different
  multiplicity have no zero in common: squarefree decomposition (`zeros`) is as good as
  factorisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_poly

from dipapprox.data_classes import Record
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.linear.form import content

_CONTEXT = fmpz_mpoly_ctx.get(("x", "y"), Ordering.lex)


class NormalForm(Record):
    """G(ε) = F(ε, e^(-ρε)) = Σ_j P_j(ε) e^(-jρε); equal forms have equal hashes."""

    rate: Fraction  # ρ > 0; 1 if there is no exponential
    polynomial: fmpz_mpoly  # F, which neither x nor y divides

    def __hash__(self) -> int:
        return hash((self.rate, *self.polynomial.coeffs()))

    @property
    def degree(self) -> int:
        """The largest j."""
        return int(self.polynomial.degrees()[1])

    def rows(self) -> dict[int, fmpz_poly]:
        """Return P_j by j."""
        found: dict[int, fmpz_poly] = {}
        for (n, j), c in self.polynomial.terms():
            found.setdefault(int(j), fmpz_poly())[int(n)] = c
        return found

    def far(self) -> tuple[int, int]:
        """Return (n, c), c ε^n being the last term of P_0: G is like it far away."""
        return max((int(n), int(c)) for (n, j), c in self.polynomial.terms() if not j)

    def derivative(self) -> NormalForm:
        """Return G' times the denominator of ρ, which x and y may divide."""
        return NormalForm(self.rate, derived(self.polynomial, -self.rate))

    def function(self) -> ExponentialPolynomial:
        return exponential_polynomial(self.polynomial, -self.rate)


def derived(polynomial: fmpz_mpoly, step: Fraction) -> fmpz_mpoly:
    """Return the derivative of F(ε, e^{step ε}), times the denominator of the step."""
    _, y = _CONTEXT.gens()
    by_x, by_y = polynomial.derivative(0), polynomial.derivative(1)
    return by_x * step.denominator + y * by_y * step.numerator


def normal_form(function: ExponentialPolynomial) -> NormalForm:
    """Return f up to a positive factor c ε^n e^(qε); f is not the zero function."""
    rates = {q for (_, q), _ in function.terms}
    top = max(rates)
    unit = content(top - q for q in rates) or Fraction(1)
    (polynomial,) = polynomials((function,), -unit)
    return NormalForm(unit, polynomial)


def reduce_function(
    function: ExponentialPolynomial,
) -> tuple[tuple[tuple[Fraction, int], ...], NormalForm]:
    """Write f(ε), not the zero function, as c ε^n e^(qε) · Π (ε - a)^m · G(ε) with c > 0.

    Returns:
        (a, m), a != 0 ascending, m >= 1, and G without rational zeros but 0: its smallest j is 0
        and its coefficients have no common divisor.
    """
    form = normal_form(function)
    rows = form.rows().values()
    if any(sum(map(bool, row.coeffs())) == 1 for row in rows):
        # A monomial P_j: the P_j share no zero but 0.
        return (), form
    common = reduce(fmpz_poly.gcd, rows)
    found: list[tuple[Fraction, int]] = []
    left = form.polynomial
    for factor, multiplicity in common.factor()[1] if common.degree() > 0 else ():
        if factor.degree() != 1:
            continue
        a, b = (c if factor[1] > 0 else -c for c in factor.coeffs())
        left = left // _CONTEXT.from_dict({(0, 0): a, (1, 0): b}) ** multiplicity
        found.append((Fraction(-int(a), int(b)), multiplicity))
    return tuple(sorted(found)), NormalForm(form.rate, left)


def common_step(functions: Iterable[ExponentialPolynomial]) -> Fraction:
    """The greatest 1/N for which all functions are polynomials in ε and e^{±ε/N}."""
    rates = {rate.denominator for function in functions for (_, rate), _ in function.terms}
    return Fraction(1, lcm(*rates))


def polynomials(functions: Sequence[ExponentialPolynomial], step: Fraction) -> list[fmpz_mpoly]:
    """Multiply functions, not all 0, by one c ε^n e^{qε}, c > 0: polynomials in ε and e^{step ε}.

    All rates differ by multiples of the step, which may be negative; no more is multiplied than
    that takes.
    """
    terms = [term for function in functions for term in function.terms]
    power = min(n for (n, _), _ in terms)
    scale = lcm(*(c.denominator for _, c in terms))
    unit = lcm(step.denominator, *(q.denominator for (_, q), _ in terms))
    # In integers: fractions take much longer to divide.
    rows = [
        [(n - power, _times(q, unit), _times(c, scale)) for (n, q), c in function.terms]
        for function in functions
    ]
    own, divisor = _times(step, unit), gcd(*(c for row in rows for _, _, c in row))
    lowest = (min if own > 0 else max)(q for row in rows for _, q, _ in row)
    return [
        _CONTEXT.from_dict({(n, (q - lowest) // own): c // divisor for n, q, c in row})
        for row in rows
    ]


def _times(number: Fraction, unit: int) -> int:
    """A number as a multiple of 1 / unit."""
    return number.numerator * (unit // number.denominator)


def exponential_polynomial(polynomial: fmpz_mpoly, step: Fraction) -> ExponentialPolynomial:
    """Substitute x = ε and y = e^{step ε}."""
    return ExponentialPolynomial.of(
        {(int(n), int(k) * step): Fraction(int(c)) for (n, k), c in polynomial.to_dict().items()}
    )


def over_power(function: ExponentialPolynomial, step: Fraction) -> tuple[fmpz_mpoly, int, int]:
    """Return p, d > 0 and s >= 0 with function = p / (d y^s), where y = e^{step ε}, step > 0."""
    divisor = lcm(*(c.denominator for _, c in function.terms))
    shift = max([0, *(int(-rate / step) for (_, rate), _ in function.terms)])
    terms: dict[tuple[int, ...], int | fmpz] = {
        (n, int(q / step) + shift): int(c * divisor) for (n, q), c in function.terms
    }
    return _CONTEXT.from_dict(terms), divisor, shift
