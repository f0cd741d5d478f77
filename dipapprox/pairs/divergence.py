"""The hockey-stick divergence of two output distributions, from enclosures, exactly.

For one ordered pair (u, u') and E = e^eps_prv, Lemma 2 of the DiPApprox paper (section 5) asks for

    delta_{u,u'} = sum over outputs o of max(p_u(o) - E * p_u'(o), 0),

which is monotone in every p_u(o), p_u'(o) and E; so the ends of their enclosures give its ends
(the paper's VerifyPair). All arithmetic here is on exact rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, Side
from dipapprox.arithmetic.extended import BY_ENCLOSURES, EXACTLY, Extended
from dipapprox.data_classes import dataclass
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.selections import Pair

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


@dataclass(frozen=True, slots=True)
class ExactSide:
    """On which side of the claimed delta delta_{u,u'} lies, proved without enclosures.

    Attributes:
        side: BELOW or ABOVE.
        outputs: If ABOVE: outputs over which the difference exceeds the claimed delta.
        argument: Why, for people.
    """

    side: Side
    outputs: tuple[int, ...]
    argument: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is known of one pair after an attempt at `bits` bits.

    Attributes:
        delta: Encloses delta_{u,u'}.
        factor: Bounds of e^eps_prv.
        first: The distribution of u as last enclosed; empty if it never was.
        second: The distribution of u', likewise.
        obstacle: Why a distribution could not be enclosed; None if it could.
        proof: What is proved of `delta` by more than enclosures; None if nothing is.
    """

    pair: Pair
    bits: int
    delta: Enclosure
    factor: Factor
    first: Probabilities = ()
    second: Probabilities = ()
    obstacle: str | None = None
    proof: ExactSide | None = None

    @property
    def told(self) -> Extended:
        """What is known of `delta`, and who says so."""
        ends = self.delta.lower, self.delta.upper
        by = BY_ENCLOSURES if self.proof is None else (EXACTLY, EXACTLY)
        return Extended(*ends, *by)
