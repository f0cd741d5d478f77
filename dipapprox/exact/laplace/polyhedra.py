"""Probabilities of any linear guards over Laplace-type samples: integration over polyhedra.

In: an `Event`, every scale s meaning s / ε. Out: its probability as an exponential polynomial.

In the coordinates u = ε x a sample of rate a = 1 / s and mean μ has the density
a e^{-a|u - με|} / 2, and guards are Σ a_i u_i <= c ε. Samples are integrated out one by one, as
`variables` says; what has no interior is dropped (exact linear programs). Both the pieces and the
terms of their polynomials may grow exponentially, and both are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import add

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.exact.variables import (
    AffineEnd,
    Bounds,
    Piece,
    Row,
    TooMuch,
    VariableElimination,
    rows_of,
)
from dipapprox.exponentials import Exponent, ExponentialPolynomial
from dipapprox.laws.distribution import Distribution, exponential_sides
from dipapprox.limits import current
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import irredundant

Rates = tuple[Fraction, ...]  # (b_1, …, b_n, q) of e^{Σ b_i u_i + q ε}
Integrand = Mapping[Rates, fmpq_mpoly]  # Σ polynomial in (u_1, …, u_n, ε) * exponential
_TERMS_A_PIECE = 50
_STEPS_A_PIECE = 1000
"""What a piece may take on average: terms of polynomials; guards³ · samples, to which the work of
one linear program for every guard is about proportional."""


def integrate(event: Event) -> ExponentialPolynomial | NotEnclosed:
    """Return Pr[event] as a function of ε, of samples of Laplace type, at least one a guard.

    Or why there is none: more than `limits.pieces` parts, or far more terms. BrokenInvariant: an
    integral that must be at most 1 does not converge.
    """
    work = _Reals(event.samples)
    try:
        return _as_function(work.total(rows_of(event), work.one()))
    except TooMuch as much:
        return NotEnclosed(
            f"integration-budget: {len(event.samples)} samples and {len(event.guards)} guards "
            f"split into more than {much}"
        )


class _Reals(VariableElimination[Rates, fmpq_mpoly]):
    are_integers = False

    def __init__(self, laws: Sequence[Distribution]) -> None:
        super().__init__(len(laws))
        self._laws = laws
        self._pieces = self._terms = self._steps = 0
        names = [f"u{k}" for k in range(len(laws))]
        self._context = fmpq_mpoly_ctx.get((*names, "eps"), "lex")
        self._generators = self._context.gens()

    def one(self) -> Integrand:
        return {(_ZERO,) * (self.size + 1): self._context.constant(1)}

    def irredundant(self, tightest: Mapping[Row, Fraction | int]) -> Bounds | None:
        """Drop what the others imply, up to null sets."""
        forms = {
            LinearForm.of(
                {k: Fraction(a) for k, a in enumerate(row) if a}, -Fraction(bound)
            ).normalised(): (row, bound)
            for row, bound in tightest.items()
        }
        found = irredundant(forms)
        return None if found is None else tuple(sorted([forms[form] for form in found]))

    def difficulty(self, variable: int, systems: Iterable[Bounds]) -> tuple[int, int]:
        """How many pairs of ends there are, about."""
        pairs = 0
        for bounds in systems:
            signs = [row[variable] > 0 for row, _ in bounds if row[variable]]
            pairs += max(sum(signs), 1) * max(len(signs) - sum(signs), 1)
        return pairs, 0

    def spend(self, weight: Integrand, inequalities: int) -> None:
        """Count all of them together, and terms, too, and what linear programs take."""
        super().spend(weight, inequalities)
        most = current().pieces
        self._pieces += 1
        self._terms += sum(map(len, weight.values()))
        self._steps += inequalities**3 * self.size
        if self._pieces > most or self._steps > _STEPS_A_PIECE * most:
            raise TooMuch(f"{most} pieces")
        if self._terms > _TERMS_A_PIECE * most:
            raise TooMuch(f"{_TERMS_A_PIECE * most} terms")

    def sides(
        self, variable: int, piece: Piece, weight: Integrand
    ) -> Iterator[tuple[Piece, Integrand]]:
        """Where sign * (u - mean ε) >= 0 the density is a / sides * e^{rate u - rate mean ε}."""
        law = self._laws[variable]
        signs = exponential_sides(law)
        for sign in signs:
            row = tuple([-sign * (k == variable) for k in range(self.size)])
            kept = self.tightened((*piece[0], (row, -sign * law.mean)))
            if kept is None:
                continue
            own = {variable: -sign / law.scale, -1: sign * law.mean / law.scale}
            factor, weighted = _rational(1 / law.scale / len(signs)), {}
            for rates, polynomial in weight.items():
                moved = list(rates)
                for k, by in own.items():
                    moved[k] += by
                weighted[tuple(moved)] = polynomial * factor
            yield (kept, piece[1]), weighted

    def primitive(self, weight: Integrand, variable: int) -> Integrand:
        """∫ p e^{bu} du = e^{bu} Σ_k (-1)^k p^(k) / b^{k+1}, and ∫ p du for b = 0."""
        found = {}
        for rates, polynomial in weight.items():
            if not rates[variable]:
                found[rates] = polynomial.integral(variable)
                continue
            inverse = _rational(1 / rates[variable])
            term = total = polynomial * inverse
            while term := term.derivative(variable) * -inverse:
                total = total + term
            found[rates] = total
        return found

    def at(
        self, primitive: Integrand, variable: int, end: AffineEnd, sign: int
    ) -> Iterator[tuple[Rates, fmpq_mpoly]]:
        numbers = enumerate((*end.coefficients, end.constant))
        slopes = {k: Fraction(a, end.divisor) for k, a in numbers if a}
        place = self._context.constant(0)
        for k, a in slopes.items():
            place += self._generators[k] * _rational(a)
        images = list(self._generators)
        images[variable] = place
        for rates, polynomial in primitive.items():
            b = rates[variable]
            if polynomial.degrees()[variable]:
                polynomial = polynomial.compose(*images)
            moved = list(rates)
            moved[variable] = _ZERO
            for k, a in slopes.items() if b else ():
                moved[k] += b * a
            yield tuple(moved), polynomial * sign

    def growth(self, monomial: Rates, variable: int) -> Fraction:
        return monomial[variable]

    def summed(self, coefficients: Sequence[fmpq_mpoly]) -> fmpq_mpoly:
        return reduce(add, coefficients)


_ZERO = Fraction(0)


def _as_function(value: Integrand) -> ExponentialPolynomial:
    terms: dict[Exponent, Fraction] = {}
    for (*rates, q), polynomial in value.items():
        if any(rates):
            raise BrokenInvariant("a sample is left in a rate")
        for (*powers, n), c in polynomial.terms():
            if any(powers):
                raise BrokenInvariant("a sample is left in a power")
            if q > 0 or (n and not q):
                raise BrokenInvariant("a probability is not a bounded function of eps")
            terms[int(n), q] = Fraction(int(c.p), int(c.q))
    return ExponentialPolynomial.of(terms)


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)
