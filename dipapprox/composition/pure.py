"""Compositions that have exact answers: δ = 0, geometric noise.

δ = 0. The greatest loss of a product is the sum of the greatest losses. Of a Poisson sample of rate
r, with greatest losses a of (P, Q) and b of (Q, P): P' / Q = 1 - r + r P/Q is at most
1 + r (e^a - 1), and Q / P' at most 1 / (1 - r + r e^-b).

Geometric noise. With a = e^-eps, the T-fold composition of discrete Laplace noise of scale 1/eps on
a number of sensitivity Δ has losses k eps, and P masses that are polynomials in a over (1 + a)^T;

    H(e^(m eps)) = Σ_(k > m) p_k (1 - a^(k - m))

is one formula for all eps > 0. With Δ = 1 it is randomised response, true with e^eps/(1 + e^eps).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpz_poly

from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import is_symmetric
from dipapprox.composition.exact_profiles import rational_pairs
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    Subsampled,
)
from dipapprox.errors import UserError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ZERO = Fraction(0)


def pure_epsilon(composition: Composition, bits: int) -> Enclosure | None:
    """Enclose the least ε for which a composition is (ε, 0)-private; None if there is none known.

    Args:
        composition: Of mechanisms.
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


def geometric_delta(sensitivity: int, times: int, steps: int, limits: Limits) -> ExponentialRatio:
    """Return the least δ for ε = steps * eps, of geometric noise of scale 1/eps, for all eps > 0.

    Args:
        sensitivity: Of each number that gets noise, >= 1.
        times: How many numbers, >= 1.
        steps: ε in units of eps, >= 0.
        limits: The time, and how many coefficients.

    Raises:
        UserError: If a number is out of range.
        LimitReached: If the limits are.
    """
    if min(sensitivity, times) < 1 or steps < 0:
        raise UserError(
            "sensitivity and times must be >= 1, steps >= 0, "
            f"got {sensitivity}, {times} and {steps}"
        )
    # Masses of one run over (1 + a): z^x for loss (Δ - 2x) eps.
    one = [fmpz_poly([0] * x + [1, -1]) for x in range(sensitivity + 1)]
    one[0], one[-1] = fmpz_poly([1]), fmpz_poly([0] * sensitivity + [1])
    # z is a power of a that no coefficient reaches: T-fold products have degree <= T Δ in a.
    size = times * sensitivity + 1
    limits.check_atoms(size * size)
    limits.check()
    packed = [0] * (size * (sensitivity + 1))
    for x, part in enumerate(one):
        for k, value in enumerate(part.coeffs()):
            packed[size * x + k] += int(value)
    product = [int(value) for value in (fmpz_poly(packed) ** times).coeffs()]
    total = [0] * (2 * size)
    for x in range(size):
        excess = times * sensitivity - 2 * x - steps
        if excess <= 0:
            break
        for k, mass in enumerate(product[size * x : size * (x + 1)]):
            if mass:
                total[k] += mass
                total[k + excess] -= mass
    numerator = ExponentialPolynomial.of(
        {(0, Fraction(-k)): Fraction(value) for k, value in enumerate(total) if value}
    )
    base = ExponentialPolynomial.of({(0, _ZERO): Fraction(1), (0, Fraction(-1)): Fraction(1)})
    return ExponentialRatio.of(numerator, {base: times})
