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

Group = tuple[int, tuple[int, ...]]  # (j, coefficients of P_j from the power 0 up)


class NormalForm(Record):
    """G(ε) = Σ_j P_j(ε) e^(-jρε), P_j with integer coefficients."""

    rate: Fraction  # ρ > 0; 1 if there is no exponential
    groups: tuple[Group, ...]  # (j, coefficients of P_j), j >= 0 ascending, no P_j = 0

    @property
    def size(self) -> int:
        return sum(1 for _, coefficients in self.groups for c in coefficients if c)

    def derivative(self) -> NormalForm:
        """Return G' times the denominator of ρ."""
        numerator, denominator = self.rate.numerator, self.rate.denominator
        derived: list[Group] = []
        for j, coefficients in self.groups:
            shift = j * numerator
            row = [-shift * c for c in coefficients]
            for n in range(1, len(coefficients)):
                row[n - 1] += denominator * n * coefficients[n]
            while row and not row[-1]:
                row.pop()
            if row:
                derived.append((j, tuple(row)))
        return NormalForm(self.rate, tuple(derived))

    def at_zero(self) -> int:
        return sum(coefficients[0] for _, coefficients in self.groups)

    def function(self) -> ExponentialPolynomial:
        return ExponentialPolynomial.of(
            {
                (n, -j * self.rate): Fraction(c)
                for j, coefficients in self.groups
                for n, c in enumerate(coefficients)
            }
        )


def normal_form(function: ExponentialPolynomial) -> NormalForm:
    """Return f up to a positive factor c ε^n e^(qε); f is not the zero function."""
    rows: dict[Fraction, dict[int, Fraction]] = {}
    for (n, q), c in function.terms:
        rows.setdefault(q, {})[n] = c
    top = max(rows)
    least = min(n for row in rows.values() for n in row)
    unit = content(top - q for q in rows) or Fraction(1)
    scale = lcm(*(c.denominator for _, c in function.terms))
    divisor = gcd(*(c.numerator * (scale // c.denominator) for _, c in function.terms))
    groups: list[Group] = []
    for q in sorted(rows, reverse=True):
        row = rows[q]
        dense = [0] * (max(row) - least + 1)
        for n, c in row.items():
            dense[n - least] = c.numerator * (scale // c.denominator) // divisor
        groups.append((int((top - q) / unit), tuple(dense)))
    return NormalForm(unit, tuple(groups))


def reduce_function(
    function: ExponentialPolynomial,
) -> tuple[tuple[tuple[Fraction, int], ...], NormalForm]:
    """Write f(ε), not the zero function, as c ε^n e^(qε) · Π (ε - a)^m · G(ε) with c > 0.

    Returns:
        (a, m), a != 0 ascending, m >= 1, and G without rational zeros but 0: its smallest j is 0
        and its coefficients have no common divisor.
    """
    form = normal_form(function)
    if any(sum(1 for c in row if c) == 1 for _, row in form.groups):
        # A monomial P_j: the P_j share no zero but 0.
        return (), form
    common = reduce(lambda g, row: g.gcd(fmpz_poly(list(row[1]))), form.groups, fmpz_poly())
    found: list[tuple[Fraction, int]] = []
    divisor = fmpz_poly([1])
    for factor, multiplicity in common.factor()[1] if common.degree() > 0 else ():
        if factor.degree() != 1:
            continue
        zero = Fraction(-int(factor[0]), int(factor[1]))
        divisor *= (factor if factor[1] > 0 else -factor) ** multiplicity
        found.append((zero, multiplicity))
    rows = ((j, (fmpz_poly(list(row)) // divisor).coeffs()) for j, row in form.groups)
    return tuple(sorted(found)), NormalForm(
        form.rate, tuple((j, tuple(map(int, row))) for j, row in rows)
    )


_CONTEXT = fmpz_mpoly_ctx.get(("x", "y"), Ordering.lex)


def common_steps(functions: Iterable[ExponentialPolynomial]) -> int:
    """The least N for which all functions are polynomials in ε and e^{±ε/N}."""
    return lcm(*{rate.denominator for function in functions for (_, rate), _ in function.terms})


def polynomials(functions: Sequence[ExponentialPolynomial], steps: int) -> list[fmpz_mpoly]:
    """Multiply functions, not all 0, by one c ε^n e^{qε}, c > 0, so that they are polynomials."""
    terms = [term for function in functions for term in function.terms]
    lowest = min(rate for (_, rate), _ in terms)
    power = min(n for (n, _), _ in terms)
    scale = lcm(*(c.denominator for _, c in terms))
    divisor = gcd(*(int(c * scale) for _, c in terms))
    return [
        _CONTEXT.from_dict(
            {
                (n - power, int((rate - lowest) * steps)): int(c * scale) // divisor
                for (n, rate), c in function.terms
            }
        )
        for function in functions
    ]


def exponential_polynomial(polynomial: fmpz_mpoly, steps: int) -> ExponentialPolynomial:
    """Substitute x = ε and y = e^{ε/steps}."""
    return ExponentialPolynomial.of(
        {
            (int(n), Fraction(int(k), steps)): Fraction(int(c))
            for (n, k), c in polynomial.to_dict().items()
        }
    )


def over_power(function: ExponentialPolynomial, steps: int) -> tuple[fmpz_mpoly, int, int]:
    """Return p, d > 0 and s >= 0 with function = p / (d y^s), where y = e^{ε/steps}."""
    divisor = lcm(*(c.denominator for _, c in function.terms))
    shift = max([int(-rate * steps) for (_, rate), _ in function.terms], default=0)
    shift = max(shift, 0)
    terms: dict[tuple[int, ...], int | fmpz] = {
        (n, int(q * steps) + shift): int(c * divisor) for (n, q), c in function.terms
    }
    return _CONTEXT.from_dict(terms), divisor, shift
