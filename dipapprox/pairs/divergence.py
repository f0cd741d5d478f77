"""The hockey-stick divergence of two output distributions, from enclosures, exactly.

For one ordered pair (u, u') and E = e^eps_prv, Lemma 2 of the DiPApprox paper (section 5) asks for

    delta_{u,u'} = sum over outputs o of max(p_u(o) - E * p_u'(o), 0),

which is monotone in every p_u(o), p_u'(o) and E; so the ends of their enclosures give its ends
(the paper's VerifyPair). All arithmetic here is on exact rationals.

Growth. What an eps_prv multiplies probabilities with: e^eps_prv, exactly known.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, Side
from dipapprox.arithmetic.extended import BY_ENCLOSURES, EXACTLY, Extended
from dipapprox.arithmetic.precision import exponential
from dipapprox.data_classes import Record
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.pairs.selections import Pair

_LARGEST_EPS_PRV = Fraction(10_000)
"""e^eps_prv is a number of about 1.44 * eps_prv bits; beyond this it is only bounded from below."""


class Factor(Record):
    """Bounds lower <= e^eps_prv <= upper; `upper` None stands for infinity."""

    lower: Fraction
    upper: Fraction | None

    def covers(self, other: Factor) -> bool:
        """Whether all that the other one allows lies within: what holds for this, holds there."""
        above = self.upper is None or (other.upper is not None and other.upper <= self.upper)
        return above and self.lower <= other.lower


def eps_prv_factor(eps_prv: Fraction, bits: int) -> Factor:
    """Enclose e^eps_prv, eps_prv >= 0, to a relative width of about 2**-bits."""
    if eps_prv > _LARGEST_EPS_PRV:
        return Factor(exponential(_LARGEST_EPS_PRV, bits).lower, None)
    enclosure = exponential(eps_prv, bits)
    return Factor(enclosure.lower, enclosure.upper)


class Growth(Record):
    """multiple * e^rate, at least 1, for a multiple > 0: what an eps_prv multiplies with."""

    rate: Fraction
    multiple: Fraction = Fraction(1)

    def is_below_one(self) -> bool:
        if self.multiple == 1 or not self.rate:
            return self.rate < 0 or self.multiple < 1
        bits = 64
        while True:
            # Never 1: e^rate is irrational.
            size = exponential(self.rate, bits)
            if size.lower * self.multiple > 1:
                return False
            if size.upper * self.multiple < 1:
                return True
            bits *= 2

    def bounds(self, bits: int) -> Factor:
        """Enclose it to a relative width of about 2**-bits."""
        if self.rate < 0:
            factor = eps_prv_factor(-self.rate, bits)
            lower = 0 if factor.upper is None else self.multiple / factor.upper
            # It is at least 1, whatever rounding says.
            return Factor(max(Fraction(lower), Fraction(1)), self.multiple / factor.lower)
        factor = eps_prv_factor(self.rate, bits)
        upper = None if factor.upper is None else factor.upper * self.multiple
        return Factor(factor.lower * self.multiple, upper)

    def at_one(self) -> ExponentialPolynomial:
        """Return a function of ε whose value at ε = 1 it is."""
        return ExponentialPolynomial.monomial(self.multiple, rate=self.rate)


Probabilities = Sequence[Enclosure]
"""Enclosures of the probabilities of all outputs, in one fixed order."""

_ZERO = Fraction(0)
_ONE = Fraction(1)


def divergence(first: Probabilities, second: Probabilities, factor: Factor) -> Enclosure:
    """Enclose delta_{u,u'}; `first` belongs to u, `second` to u'. Inside [0, 1]."""
    lower = upper = _ZERO
    for p, q in zip(first, second, strict=True):
        most = p.upper - factor.lower * q.lower
        if most <= 0:
            continue
        upper += most
        least = _least(p, q, factor)
        if least is not None and least > 0:
            lower += least
    return Enclosure(lower, min(upper, _ONE))


def certain_outputs(first: Probabilities, second: Probabilities, factor: Factor) -> tuple[int, ...]:
    """Return the indices of the outputs whose difference is certainly positive.

    Over this set the certified lower bound of the difference is the lower end of `divergence`.
    """
    bounds = (_least(p, q, factor) for p, q in zip(first, second, strict=True))
    return tuple(i for i, least in enumerate(bounds) if least is not None and least > 0)


def likely_outputs(first: Probabilities, second: Probabilities, factor: Factor) -> tuple[int, ...]:
    """Return the indices of the outputs whose difference is positive at the midpoints."""
    if factor.upper is None:
        return certain_outputs(first, second, factor)
    middle = factor.lower + factor.upper
    pairs = enumerate(zip(first, second, strict=True))
    return tuple(i for i, (p, q) in pairs if 2 * (p.lower + p.upper) > middle * (q.lower + q.upper))


def difference_over(
    outputs: Sequence[int], first: Probabilities, second: Probabilities, factor: Factor
) -> Enclosure:
    """Enclose Pr[P(u) in S] - e^eps_prv * Pr[P(u') in S] for a set S of output indices.

    Raises:
        ValueError: If no lower bound exists: `factor` has no upper end and S has an output that
            may occur under u'.
    """
    lower = upper = _ZERO
    for i in outputs:
        least = _least(first[i], second[i], factor)
        if least is None:
            raise ValueError("no lower bound without an upper end of e^eps_prv")
        lower += least
        upper += first[i].upper - factor.lower * second[i].lower
    return Enclosure(lower, min(upper, _ONE))


def _least(p: Enclosure, q: Enclosure, factor: Factor) -> Fraction | None:
    """Return the least possible p - e^eps_prv * q; None for -infinity."""
    if not q.upper:
        return p.lower
    return None if factor.upper is None else p.lower - factor.upper * q.upper


class ExactSide(Record):
    """On which side of the claimed delta delta_{u,u'} lies, proved without enclosures."""

    side: Side
    # If ABOVE: outputs over which the difference exceeds the claimed delta.
    outputs: tuple[int, ...]
    argument: str  # why, for people


class Attempt(Record):
    """What is known of one pair after an attempt at `bits` bits."""

    pair: Pair
    bits: int
    delta: Enclosure  # encloses delta_{u,u'}
    factor: Factor  # bounds of e^eps_prv
    # The distribution of u as last enclosed, empty if it never was; `second` of u'.
    first: Probabilities = ()
    second: Probabilities = ()
    obstacle: str | None = None  # why a distribution could not be enclosed; None if it could
    # What is proved of `delta` by more than enclosures; None if nothing is.
    proof: ExactSide | None = None

    @property
    def told(self) -> Extended:
        ends = self.delta.lower, self.delta.upper
        by = BY_ENCLOSURES if self.proof is None else (EXACTLY, EXACTLY)
        return Extended(*ends, *by)
