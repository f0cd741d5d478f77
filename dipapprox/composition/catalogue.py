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
from typing import assert_never

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.closed_profiles import (
    BoundedRangeProfile,
    GaussianProfile,
    LaplaceProfile,
    RenyiBoundProfile,
)
from dipapprox.composition.discrete_profiles import DiscreteProfile, discrete_profile
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
    Profiled,
    RandomisedResponse,
    RenyiStatement,
    Subsampled,
)
from dipapprox.composition.profile import (
    BallProfile,
    BetweenProfile,
    Ends,
    SubsampledProfile,
    UpperOnlyProfile,
)
from dipapprox.errors import LimitReached
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_GAUSSIAN
from dipapprox.limits import asking
from dipapprox.numerics.integers.masses import law_masses

MOST_ATOMS = 2**20


def profile_of(mechanism: Mechanism, bits: int) -> BallProfile:
    """Return the profile of a mechanism (of the removal of a record, if that is not symmetric).

    Args:
        mechanism: What is run.
        bits: The precision of the block in which this is called and the profile is used.

    Raises:
        LimitReached: If there are too many atoms.
    """
    match mechanism:
        case Gaussian(sensitivity, sigma):
            return GaussianProfile(to_ball(sensitivity / sigma))
        case Laplace(sensitivity, scale):
            return LaplaceProfile(to_ball(sensitivity / scale))
        case DiscreteLaplace(sensitivity, scale):
            return _discrete_laplace(sensitivity, scale)
        case DiscreteGaussian():
            return _discrete_gaussian(mechanism, bits)
        case ExponentialMechanism(eps):
            return BoundedRangeProfile(to_ball(eps))
        case RandomisedResponse() | ApproximateStatement():
            return discrete_profile(outcomes_of(mechanism) or [], arb(0))
        case RenyiStatement(orders):
            return RenyiBoundProfile([(to_ball(a), to_ball(b)) for a, b in orders], arb(0))
        case ConcentratedStatement(rho):
            return RenyiBoundProfile((), to_ball(rho))
        case Atoms():
            found = discrete_profile(outcomes_of(mechanism) or [], arb(0))
            return found if mechanism.attained else UpperOnlyProfile(found)
        case Between(above, below):
            return BetweenProfile(profile_of(above, bits), profile_of(below, bits))
        case Profiled(at_bits):
            own = at_bits(bits)
            return own if mechanism.attained else UpperOnlyProfile(own)
        case Subsampled(inner, rate):
            return SubsampledProfile(profile_of(inner, bits), to_ball(rate))
        case _:
            assert_never(mechanism)


def outcomes_of(mechanism: Mechanism) -> list[tuple[arb, arb]] | None:
    """Return the masses of P and of Q of a pair with few outcomes; None for others."""
    match mechanism:
        case RandomisedResponse(probability, values):
            other = (1 - probability) / (values - 1)
            rest = 1 - probability - other
            pairs = [(probability, other), (other, probability), (rest, rest)]
            return [(to_ball(p), to_ball(q)) for p, q in pairs if p]
        case ApproximateStatement(eps, delta):
            odds = to_ball(eps).exp()
            finite = to_ball(1 - delta)
            likely, unlikely = finite * odds / (1 + odds), finite / (1 + odds)
            ends = [(to_ball(delta), arb(0)), (arb(0), to_ball(delta))]
            inner = [(likely, unlikely), (unlikely, likely)] if delta < 1 else []
            return [*inner, *ends]
        case Atoms(masses):
            return [(ball_of(p), ball_of(q)) for p, q in masses]
        case Subsampled(inner, rate):
            pairs_or_none = outcomes_of(inner)
            if pairs_or_none is None:
                return None
            share = to_ball(rate)
            return [(share * p + (1 - share) * q, q) for p, q in pairs_or_none]
        case _:
            return None


def is_attained(mechanism: Mechanism) -> bool:
    """Whether a pair is known that attains the profile."""
    match mechanism:
        case Subsampled(inner):
            return is_attained(inner)
        case Atoms() | Profiled():
            return mechanism.attained
        case Between():
            return mechanism.exact or bool(mechanism.worst)
        case RenyiStatement() | ConcentratedStatement() | ExponentialMechanism():
            return False
        case _:
            return True


def is_symmetric(mechanism: Mechanism) -> bool:
    """Whether the reversed pair has the same profile, or is dominated by it."""
    match mechanism:
        case Subsampled(inner, rate):
            return rate == 1 and is_symmetric(inner)
        case Atoms() | Profiled():
            return mechanism.symmetric
        case _:
            return True


def ball_of(mass: Enclosure) -> arb:
    """Return a ball around an enclosure."""
    return to_ball(mass.lower).union(to_ball(mass.upper)) if mass.width else to_ball(mass.lower)


def _discrete_laplace(sensitivity: int, scale: Fraction) -> DiscreteProfile:
    if sensitivity >= MOST_ATOMS:
        raise LimitReached(f"atom limit: more than {MOST_ATOMS} losses of one run")
    odds = to_ball(-1 / scale).exp()
    powers = [odds**x for x in asking(range(sensitivity + 1))]
    inner = [(1 - odds) * each for each in powers]
    first = [1 / (1 + odds), *(m / (1 + odds) for m in inner[1:-1]), powers[-1] / (1 + odds)]
    return discrete_profile(list(zip(first, first[::-1], strict=True)), arb(0))


def _discrete_gaussian(mechanism: DiscreteGaussian, bits: int) -> DiscreteProfile:
    """Tabulate: P about 0, Q about Δ; best sets are {x <= m}, which reach beyond the table.

    The table has each set's mass up to `missing`. Of P that is the mass of what the table lacks.
    """
    shift, variance = mechanism.sensitivity, mechanism.sigma**2
    law = law_masses(Distribution(DISCRETE_GAUSSIAN, Fraction(0), mechanism.sigma), bits)
    if isinstance(law, NotEnclosed) or len(law.values) + shift > MOST_ATOMS:
        raise LimitReached(f"atom limit: more than {MOST_ATOMS} losses of one run")
    unit = Fraction(1, 2**bits)
    doubt = ball_of(Enclosure(Fraction(0), law.missing * unit))
    first = second = doubt
    places, firsts, seconds = [], [arb(0)], [arb(0)]
    spread = arb(0)
    for x in asking(range(law.first, law.last + shift + 1)):
        here = law.between(x, x)
        there = law.between(x - shift, x - shift)
        first += to_ball(sum(here.values) * unit)
        second += to_ball(sum(there.values) * unit)
        ratio = to_ball(Fraction(shift * shift - 2 * shift * x) / (2 * variance)).exp()
        spread = max(spread, (ratio.rad() / ratio.mid()).upper())
        places.append(ratio.mid())
        firsts.append(first)
        seconds.append(second)
    return DiscreteProfile(
        places[::-1], firsts[::-1], seconds[::-1], spread, doubt.upper(), Ends(arb(0), arb(0))
    )


def rational_pairs(mechanism: Mechanism) -> list[tuple[Fraction, Fraction]] | None:
    """(P, Q) masses of outcomes that a mechanism has, exactly."""
    match mechanism:
        case RandomisedResponse(probability, values):
            other = (1 - probability) / (values - 1)
            rest = 1 - probability - other
            pairs = [(probability, other), (other, probability)]
            return [*pairs, (rest, rest)] if rest else pairs
        case Atoms(masses, attained=True) if all(not p.width and not q.width for p, q in masses):
            return [(p.lower, q.lower) for p, q in masses if p.lower or q.lower]
        case Subsampled(inner, rate):
            pairs_or_none = rational_pairs(inner)
            if pairs_or_none is None:
                return None
            return [(rate * p + (1 - rate) * q, q) for p, q in pairs_or_none]
        case _:
            return None
