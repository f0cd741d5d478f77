"""The dominating pairs of mechanisms: of what is known of one run, its profile.

Noise of a log-concave law, added to numbers at distance at most Δ: the pair at distance Δ dominates
all others, since the best sets are half-lines and P(S) for the best S of given Q(S) grows with the
distance. The pairs are symmetric: x ↦ Δ - x exchanges them.

    (ε, δ)-DP          P: δ at infinity, (1 - δ) e^ε/(1 + e^ε) at ε, the rest at -ε; Q the reverse
    exponential        losses in an interval of length ε about 0 (bounded range)
    discrete Laplace   Δ + 1 losses (Δ - 2x)/b, 0 <= x <= Δ, the ends with all that lies beyond
    discrete Gaussian  losses (Δ² - 2 Δ x) / (2 σ²), tabulated as far as the precision goes
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.discrete_profiles import Outcomes
from dipapprox.composition.divergences import Divergences
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    Between,
    ConcentratedStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    RenyiStatement,
    Subsampled,
    unsampled,
)
from dipapprox.composition.profile import (
    BallProfile,
    BoundedRangeProfile,
    Equal,
    GaussianProfile,
    LaplaceProfile,
    SubsampledProfile,
    up_to,
)
from dipapprox.composition.statements import StatementProfile
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import asking

MOST_ATOMS = 2**20


def profile_of(mechanism: Mechanism, bits: int, *, chosen: bool = False) -> BallProfile:
    """Return the profile of a mechanism (of the removal of a record, if that is not symmetric).

    Args:
        bits: The precision of the block in which this is called and the profile is used.
        chosen: Whether that of many pairs which is shown to be had may be chosen by α: the worst.

    Raises:
        LimitReached: If there are too many atoms.
    """
    outcomes = outcomes_of(mechanism, bits)
    if outcomes is not None:
        return outcomes.profile()
    match mechanism:
        case Gaussian():
            return noise_of(mechanism.shift)
        case Laplace(sensitivity, scale):
            return LaplaceProfile(to_ball(sensitivity / scale))
        case ExponentialMechanism(eps):
            return BoundedRangeProfile(to_ball(eps), chosen)
        case RenyiStatement() | ConcentratedStatement():
            sums = Divergences.of([(mechanism, 1)])
            below = noise_of(shift_of(mechanism))
            return StatementProfile(sums, below, mechanism if chosen else None)
        case Between(above):
            return profile_of(replace(above, attained=False), bits)
        case Subsampled(inner, rate):
            return SubsampledProfile(profile_of(inner, bits, chosen=chosen), to_ball(rate))
        case _:
            raise BrokenInvariant("what has few outcomes is known by them")


def shift_of(statement: RenyiStatement | ConcentratedStatement) -> Fraction:
    """Return the square of a shift of Gaussian noise for which the statement is true.

    Its divergence of every order λ is λ m² / 2.
    """
    match statement:
        case ConcentratedStatement(rho):
            return 2 * rho
        case RenyiStatement(orders):
            return min(2 * divergence / order for order, divergence in orders)


def outcomes_of(mechanism: Mechanism, bits: int) -> Outcomes | None:
    """Return the outcomes of a pair with few of them; None for others."""
    match mechanism:
        case RandomisedResponse():
            return Outcomes([(to_ball(p), to_ball(q)) for p, q in _responses(mechanism)])
        case ApproximateStatement(eps, delta):
            odds = to_ball(eps).exp()
            finite = to_ball(1 - delta)
            likely, unlikely = finite * odds / (1 + odds), finite / (1 + odds)
            ends = [(to_ball(delta), arb(0)), (arb(0), to_ball(delta))]
            inner = [(likely, unlikely), (unlikely, likely)] if delta < 1 else []
            return Outcomes([*inner, *ends])
        case Atoms(masses):
            found = [(to_ball(p), to_ball(q)) for p, q in masses]
            return Outcomes(found, attained=mechanism.attained)
        case DiscreteLaplace(sensitivity, scale):
            return _discrete_laplace(sensitivity, scale)
        case DiscreteGaussian(sensitivity):
            return _discrete_gaussian(sensitivity, mechanism.square, bits)
        case Subsampled(inner, rate):
            own = outcomes_of(inner, bits)
            return own and own.sampled(to_ball(rate))
        case _:
            return None


def is_attained(mechanism: Mechanism) -> bool:
    """Whether a pair is known that attains the profile."""
    inner, _ = unsampled(mechanism)
    if isinstance(inner, Between):
        return inner.exact or bool(inner.worst)
    return inner.attained if isinstance(inner, Atoms) else not has_choice(inner)


def has_choice(mechanism: Mechanism) -> bool:
    """Whether it may be any of many pairs, none of which attains the profile everywhere."""
    statements = RenyiStatement | ConcentratedStatement | ExponentialMechanism
    return isinstance(unsampled(mechanism)[0], statements)


def is_symmetric(mechanism: Mechanism) -> bool:
    """Whether the reversed pair has the same profile, or is dominated by it."""
    inner, rate = unsampled(mechanism)
    return rate == 1 and (not isinstance(inner, Atoms) or inner.symmetric)


def noise_of(square: Fraction) -> BallProfile:
    """Return the profile of Gaussian noise, of this square of its shift."""
    return GaussianProfile(to_ball(square).sqrt()) if square else Equal()


def _discrete_laplace(sensitivity: int, scale: Fraction) -> Outcomes:
    if sensitivity >= MOST_ATOMS:
        raise LimitReached(f"atom limit: more than {MOST_ATOMS} losses of one run")
    odds = to_ball(-1 / scale).exp()
    powers = [odds**x for x in asking(range(sensitivity + 1))]
    inner = [(1 - odds) * each for each in powers]
    first = [1 / (1 + odds), *(m / (1 + odds) for m in inner[1:-1]), powers[-1] / (1 + odds)]
    losses = to_ball(sensitivity / scale), to_ball(-2 / scale)
    return Outcomes(list(zip(first, first[::-1], strict=True)), losses=losses)


def _discrete_gaussian(shift: int, square: Fraction, bits: int) -> Outcomes:
    """P about 0, Q about Δ, from -R to R + Δ: beyond R there is less than 2^-bits of each.

    With w_k = e^(-k²/2σ²), as quotients of neighbours fall, Σ_(k > R) w_k is at most
    w_(R+1) / (1 - w_(R+2) / w_(R+1)).
    """
    reach = isqrt(ceil(2 * square * bits)) + 1
    if reach + shift > MOST_ATOMS:
        raise LimitReached(f"atom limit: more than {MOST_ATOMS} losses of one run")
    rate = to_ball(-1 / (2 * square))
    weights = [(rate * k * k).exp() for k in asking(range(reach + shift + 2))]
    after = (rate * (2 * reach + 3)).exp()
    beyond = up_to(((rate * (reach + 1) ** 2).exp() / (1 - after)).upper())
    total = 2 * (sum(weights[1 : reach + 1], arb(0)) + beyond) + 1
    masses = [
        (weights[abs(x)] / total, weights[abs(x - shift)] / total)
        for x in asking(range(-reach, reach + shift + 1))
    ]
    first = to_ball(Fraction(shift * shift + 2 * shift * reach) / (2 * square))
    losses = first, to_ball(-Fraction(shift) / square)
    return Outcomes(masses, 2 * beyond.upper() / total, losses)


def _responses(mechanism: RandomisedResponse) -> list[tuple[Fraction, Fraction]]:
    truth = mechanism.probability
    other = (1 - truth) / (mechanism.values - 1)
    rest = 1 - truth - other
    return [(truth, other), (other, truth), *[(rest, rest)] * (rest > 0)]


def rational_pairs(mechanism: Mechanism) -> list[tuple[Fraction, Fraction]] | None:
    """(P, Q) masses of outcomes that a mechanism has, exactly."""
    match mechanism:
        case RandomisedResponse():
            return _responses(mechanism)
        case Atoms(masses, attained=True) if all(not p.width and not q.width for p, q in masses):
            return [(p.lower, q.lower) for p, q in masses if p.lower or q.lower]
        case Subsampled(inner, rate):
            pairs_or_none = rational_pairs(inner)
            if pairs_or_none is None:
                return None
            return [(rate * p + (1 - rate) * q, q) for p, q in pairs_or_none]
        case _:
            return None
