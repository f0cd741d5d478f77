"""Compositions with δ = 0: the least ε.

The greatest loss of a product is the sum of the greatest losses. Of a Poisson sample of rate
r, with greatest losses a of (P, Q) and b of (Q, P): P' / Q = 1 - r + r P/Q is at most
1 + r (e^a - 1), and Q / P' at most 1 / (1 - r + r e^-b).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import is_symmetric, rational_pairs
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    Subsampled,
)

_ZERO = Fraction(0)


def pure_epsilon(composition: Composition, bits: int) -> Enclosure | None:
    """Enclose the least ε for which a composition is (ε, 0)-private; None if there is none known.

    Args:
        bits: Working precision; the enclosure is one rational number where all losses are rational.
    """
    runs = composition.runs
    whole = [_rational_loss(run.mechanism) for run in runs]
    known = [loss for loss in whole if loss is not None]
    if len(known) == len(runs):
        total = sum((loss * run.times for loss, run in zip(known, runs, strict=True)), _ZERO)
        return Enclosure.exact(total)
    with precision(bits):
        removed = added = arb(0)
        for run in runs:
            factors = _largest_factors(run.mechanism)
            if factors is None:
                return None
            removed += factors[0].log() * run.times
            added += factors[1].log() * run.times
        found = to_enclosure(removed.max(added))
    return None if isinstance(found, NotEnclosed) else found


def _rational_loss(mechanism: Mechanism) -> Fraction | None:
    match mechanism:
        case Laplace(sensitivity, scale) | DiscreteLaplace(sensitivity, scale):
            return sensitivity / scale
        case ExponentialMechanism(eps) | ApproximateStatement(eps, Fraction(numerator=0)):
            return eps
        case _:
            return None


def _largest_factors(mechanism: Mechanism) -> tuple[arb, arb] | None:
    """The suprema of P / Q and Q / P; None if one is infinite or unknown."""
    loss = _rational_loss(mechanism)
    if loss is not None:
        return (factor := to_ball(loss).exp()), factor
    if isinstance(mechanism, Subsampled):
        inner = _largest_factors(mechanism.mechanism)
        if inner is None:
            return None
        rate = to_ball(mechanism.rate)
        return 1 + rate * (inner[0] - 1), 1 / (1 - rate + rate / inner[1])
    pairs = rational_pairs(mechanism)
    if pairs is None or not all(p and q for p, q in pairs):
        return None
    largest = to_ball(max(p / q for p, q in pairs)), to_ball(max(q / p for p, q in pairs))
    return (largest[0], largest[0]) if is_symmetric(mechanism) else largest
