"""Probabilities of any linear guards over Laplace-type samples: integration over polyhedra.

In: an `Event`, every scale s meaning s / ε. Out: its probability as an exponential polynomial.

In the coordinates u = ε x a sample of rate a = 1 / s and mean μ has the density
a e^{-a|u - με|} / 2, and guards are Σ a_i u_i + c ε <= 0. Samples are integrated out one by one:

    (guards, integrand) -- which side of its mean, which bounds are active --> (guards, integrand)

    ∫ from l to h = A(h) - A(l),  for every greatest lower bound l and least upper bound h,
    with l >= the other lower bounds, h <= the other upper bounds, l <= h as further guards.

The parts overlap in null sets only; those without interior are dropped (exact linear programs),
those with equal guards are added up. Both the parts and the terms of their polynomials may grow
exponentially; how many there may be is counted, so the work is bounded on every machine alike.

References:
    DiPC, Lemma 18 (Appendix E), sections 3.5 and 7.3 (c) of its specification.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.exponentials import Exponent, ExponentialPolynomial
from dipapprox.laws.distribution import Distribution, exponential_sides
from dipapprox.limits import Limits
from dipapprox.linear.active_bounds import Bound, active, solved_for
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import irredundant

Rates = tuple[Fraction, ...]
"""(b_1, …, b_n, q) of e^{Σ b_i u_i + q ε}."""

Integrand = dict[Rates, fmpq_mpoly]
"""Σ polynomial in (u_1, …, u_n, ε) * exponential."""

_TERMS_A_PIECE = 50
_STEPS_A_PIECE = 1000
"""What a piece may take on average: terms of polynomials; guards³ · samples, to which the work of
one linear program for every guard is about proportional."""


@dataclass(frozen=True, slots=True)
class _Region:
    """What is left to integrate over.

    Attributes:
        samples: Ascending.
        guards: Irredundant, over these samples.
    """

    samples: tuple[int, ...]
    guards: frozenset[LinearForm]


def integrate(event: Event, limits: Limits) -> ExponentialPolynomial | NotEnclosed:
    """Return Pr[event] as a function of ε; every law is of Laplace type.

    Args:
        event: At least one sample; each guard mentions some.
        limits: The time is asked at every part, and how many pieces there may be.

    Returns:
        The function; or why there is none: more than `limits.pieces` parts, or far more terms.

    Raises:
        LimitReached: If the time runs out.
        BrokenInvariant: If an integral that must be at most 1 does not converge: a bug.
    """
    try:
        return _integral(event, limits)
    except _TooMuch as much:
        return NotEnclosed(
            f"integration-budget: {len(event.samples)} samples and {len(event.guards)} guards "
            f"split into more than {much}"
        )


def _integral(event: Event, limits: Limits) -> ExponentialPolynomial:
    guards = _simplified(event.guards)
    if guards is None:
        return ExponentialPolynomial(())
    work = _Work(event.samples, limits)
    size = len(event.samples)
    pending: list[dict[_Region, Integrand]] = [defaultdict(dict) for _ in range(size + 1)]
    pending[size][_Region(tuple(range(size)), guards)] = work.one()
    for count in range(size, 0, -1):
        for region, integrand in pending[count].items():
            for after, part in work.without_one(region, integrand):
                _add(pending[count - 1][after], part)
        pending[count].clear()
    (value,) = pending[0].values() or ({},)
    return _as_function(value)


class _TooMuch(Exception):
    """There are too many parts, or too many terms; it says how many."""


class _Work:
    """The samples' laws, and polynomials in their coordinates and ε."""

    def __init__(self, laws: Sequence[Distribution], limits: Limits) -> None:
        self._laws = laws
        self._limits = limits
        self._parts = self._terms = self._steps = 0
        names = [f"u{k}" for k in range(len(laws))]
        self._context = fmpq_mpoly_ctx.get((*names, "eps"), "lex")
        self._generators = self._context.gens()

    def one(self) -> Integrand:
        """The constant 1."""
        return {(_ZERO,) * (len(self._laws) + 1): self._context.constant(1)}

    def _simplified(
        self, integrand: Integrand, forms: Sequence[LinearForm]
    ) -> frozenset[LinearForm] | None:
        """See `_simplified`; count a part that is tried, empty or not, and what it takes."""
        self._limits.check()
        most = self._limits.pieces
        self._parts += 1
        self._terms += sum(map(len, integrand.values()))
        self._steps += len(forms) ** 3 * len(self._laws)
        if self._parts > most or self._steps > _STEPS_A_PIECE * most:
            raise _TooMuch(f"{most} pieces")
        if self._terms > _TERMS_A_PIECE * most:
            raise _TooMuch(f"{_TERMS_A_PIECE * most} terms")
        return _simplified(forms)

    def without_one(
        self, region: _Region, integrand: Integrand
    ) -> Iterator[tuple[_Region, Integrand]]:
        """Integrate out the sample that makes the fewest parts."""
        sample = min(region.samples, key=lambda each: (_parts(region.guards, each), each))
        others = tuple(each for each in region.samples if each != sample)
        for side in _sides(self._laws[sample]):
            kept = self._simplified(integrand, (*region.guards, side.guard(sample)))
            if kept is None:
                continue
            primitive = self._antiderivative(self._times_density(integrand, sample, side), sample)
            rest = [form for form in kept if not form.coefficient(sample)]
            for low, high, innermost in active(*solved_for(sample, kept)):
                guards = self._simplified(primitive, [*rest, *innermost])
                if guards is not None:
                    part = self._value(primitive, sample, high, 1)
                    _add(part, self._value(primitive, sample, low, -1))
                    yield _Region(others, guards), part

    def _times_density(self, integrand: Integrand, sample: int, side: _Side) -> Integrand:
        found = {}
        for rates, polynomial in integrand.items():
            moved = list(rates)
            moved[sample] += side.rate
            moved[-1] += side.exponent
            found[tuple(moved)] = polynomial * _rational(side.factor)
        return found

    def _antiderivative(self, integrand: Integrand, sample: int) -> Integrand:
        """∫ p e^{bu} du = e^{bu} Σ_k (-1)^k p^(k) / b^{k+1}, and ∫ p du for b = 0."""
        found = {}
        for rates, polynomial in integrand.items():
            if not rates[sample]:
                found[rates] = polynomial.integral(sample)
                continue
            inverse = _rational(1 / rates[sample])
            term = total = polynomial * inverse
            while term := term.derivative(sample) * -inverse:
                total = total + term
            found[rates] = total
        return found

    def _value(self, primitive: Integrand, sample: int, bound: Bound, sign: int) -> Integrand:
        """± the primitive at a bound; None: at ± infinity, where it must vanish."""
        if bound is None:
            if not all(sign * rates[sample] < 0 for rates in primitive):
                raise BrokenInvariant("an integral that must be at most 1 does not converge")
            return {}
        place: fmpq_mpoly = self._generators[-1] * _rational(bound.constant)
        for other, coefficient in bound.terms:
            assert isinstance(other, int)
            place = place + self._generators[other] * _rational(coefficient)
        images = list(self._generators)
        images[sample] = place
        found: Integrand = {}
        for rates, polynomial in primitive.items():
            b = rates[sample]
            if polynomial.degrees()[sample]:
                polynomial = polynomial.compose(*images)
            moved = list(rates)
            moved[sample] = _ZERO
            if b:
                moved[-1] += b * bound.constant
                for other, coefficient in bound.terms:
                    assert isinstance(other, int)
                    moved[other] += b * coefficient
            _add(found, {tuple(moved): polynomial * sign})
        return found


@dataclass(frozen=True, slots=True)
class _Side:
    """Where sign * (u - mean ε) >= 0, the density is factor * e^{rate u + exponent ε}."""

    sign: int
    mean: Fraction
    rate: Fraction
    factor: Fraction

    @property
    def exponent(self) -> Fraction:
        return -self.rate * self.mean

    def guard(self, sample: int) -> LinearForm:
        """The half-line as a guard."""
        return LinearForm.of({sample: Fraction(-self.sign)}, self.sign * self.mean)


def _sides(law: Distribution) -> list[_Side]:
    rate, mean = 1 / law.scale, law.mean
    signs = exponential_sides(law)
    return [_Side(sign, mean, -sign * rate, rate / len(signs)) for sign in signs]


_ZERO = Fraction(0)


def _simplified(forms: Sequence[LinearForm]) -> frozenset[LinearForm] | None:
    """The irredundant guards; None if they hold with probability 0."""
    if any(form.is_constant and form.constant >= 0 for form in forms):
        return None
    found = irredundant(form for form in forms if not form.is_constant)
    return None if found is None else frozenset(found)


def _parts(guards: frozenset[LinearForm], sample: int) -> int:
    """About how many parts integrating a sample out makes."""
    signs = [form.coefficient(sample) > 0 for form in guards if form.coefficient(sample)]
    return max(sum(signs), 1) * max(len(signs) - sum(signs), 1)


def _add(total: Integrand, part: Integrand) -> None:
    for rates, polynomial in part.items():
        known = total.get(rates)
        both = polynomial if known is None else known + polynomial
        if both:
            total[rates] = both
        elif known is not None:
            del total[rates]


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
