"""Pairs with finitely many losses: their profiles, from the masses of their outcomes.

Several runs of a mechanism of few outcomes are one such pair. Of T runs of a pair with k outcomes
it only matters how often each came up,

    P(n_1, …, n_k) = T! / (n_1! … n_k!) p_1^n_1 … p_k^n_k,      Q likewise,

so there are (T + k - 1 choose k - 1) losses, which are computed and not rounded; and T (k - 1) + 1
if losses of one run are at equal steps, where powers of polynomials have them. A group costs on a
grid what a single run does.

An outcome that Q never has makes the loss of a group infinite: P has 1 - (1 - p_∞)^T of them.

The dominating pairs of mechanisms: of what is known of one run, its profile.

Noise of a log-concave law, added to numbers at distance at most Δ: the pair at distance Δ dominates
all others, since the best sets are half-lines and P(S) for the best S of given Q(S) grows with the
distance. The pairs are symmetric: x ↦ Δ - x exchanges them.

    (ε, δ)-DP          P: δ at infinity, (1 - δ) e^ε/(1 + e^ε) at ε, the rest at -ε; Q the reverse
    exponential        losses in an interval of length ε about 0 (bounded range)
    discrete Laplace   Δ + 1 losses (Δ - 2x)/b, 0 <= x <= Δ, the ends with all that lies beyond
    discrete Gaussian  losses (Δ² - 2 Δ x) / (2 σ²), tabulated as far as the precision goes
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, comb, isqrt

from flint import arb, arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.divergences import Divergences, shift_of
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
    NO_ENDS,
    BallProfile,
    BoundedRangeProfile,
    Ends,
    ProfilePoint,
    SubsampledProfile,
    up_to,
)
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.composition.statements import StatementProfile
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import asking, check_limits


class DiscreteProfile(Record):
    """Finitely many losses. Best sets are the atoms of ratio P / Q > α, and those where Q is 0.

    A set that errs, where balls do not tell a ratio ρ from α, loses |P - α Q| = P |1 - α/ρ| in each
    such atom. Of middles a, r and relative radii u and v <= 1/8, one errs only

    - if r <= a, and a - r <= u a + v r <= (u + v) a: it loses 1 - (1 - u) / (1 + v) <= u + v of P;
    - if r > a, and r - a <= u a + v r <= (u + 8/7 v (1 + u)) a <= 2 (u + v) a: it loses at most
      (1 + u) / (1 - v) - 1 <= 2 (u + v).
    """

    ratios: Sequence[arb]  # balls around the ratios, of ascending middles
    places: Sequence[arb]  # their middles
    firsts: Sequence[arb]  # firsts[k] encloses the P mass of atoms k, k + 1, … and of infinite loss
    seconds: Sequence[arb]  # their Q masses; both one longer than the ratios
    spread: arb  # at least the relative radius of every ratio, <= 1/8
    missing: arb  # at least the P mass of what is in no set, though not of loss minus infinity
    ends: Ends  # at infinite losses; none are known of a pair that is but an upper bound
    infinite: arb  # the P mass at infinite losses
    attained: bool  # whether the mechanism has this pair

    def at(self, alpha: arb) -> ProfilePoint:
        middle = alpha.mid()
        start = bisect_right(self.places, middle)
        first, second = self.firsts[start], self.seconds[start]
        bound = first - alpha * second + up_to(self.missing)
        doubt = (2 * (alpha.rad() / middle + self.spread)).upper()
        reach = (doubt * middle).upper()
        near = self.places[max(start - 1, 0) : start + 1]
        if not all(abs(place - middle) > reach for place in near):
            bound += up_to(doubt)
        if not self.attained:
            first = second = arb(1) if alpha < 1 else arb(0)
        return ProfilePoint(bound, first, second)

    def lines(self) -> Iterator[tuple[arb, arb]]:
        """Yield P(S) and Q(S) of all best sets, those likely under Q first, if there is the
        pair."""
        return zip(self.firsts, self.seconds, strict=True) if self.attained else iter(())


_TOLD = arb(2) ** -20  # wider ratios are told from nothing


class Outcomes(Record):
    """A pair by its outcomes."""

    # (P mass, Q mass) of each; an exact 0 means that there is none.
    masses: Sequence[tuple[arb, arb]]
    missing: arb = arb(0)  # at least the P mass, and the Q mass, of all further outcomes
    # If all masses are those of a lattice, and positive: ln(P / Q) of the first one, and by how
    # much it is greater for each next one.
    losses: tuple[arb, arb] | None = None
    attained: bool = True  # whether the mechanism has this pair

    def sampled(self, rate: arb) -> Outcomes:
        """Return the removal of a record on a Poisson sample."""
        masses = [(rate * p + (1 - rate) * q, q) for p, q in self.masses]
        return replace(self, masses=masses, losses=None)

    def turned(self) -> Outcomes:
        """Return the pair the other way round."""
        losses = self.losses and (-self.losses[0], -self.losses[1])
        return replace(self, masses=[(q, p) for p, q in self.masses], losses=losses)

    def count(self, times: int) -> int:
        """How many finite losses so many runs have."""
        finite = sum(is_finite(p, q) for p, q in self.masses)
        if self.losses is not None:
            return times * (finite - 1) + 1
        return comb(times + finite - 1, finite - 1) if finite else 1

    def power(self, times: int) -> Outcomes:
        """Return the outcomes of so many runs, as far as they have different losses."""
        if times == 1:
            return self
        missing = self.missing * times
        if self.losses is not None:
            first, step = self.losses
            sides = [arb_poly(list(each)) ** times for each in zip(*self.masses, strict=True)]
            both = [side.coeffs() for side in sides]
            return replace(
                self,
                masses=list(zip(*both, strict=True)),
                missing=missing,
                losses=(first * times, step),
            )
        infinite = sum((p for p, q in self.masses if q.is_zero()), arb(0))
        lost = sum((q for p, q in self.masses if p.is_zero()), arb(0))
        inner = [(p, q) for p, q in self.masses if is_finite(p, q)]
        ends = [(1 - (1 - infinite) ** times, arb(0)), (arb(0), 1 - (1 - lost) ** times)]
        several = list(_counted(inner, times, arb(1), arb(1))) if inner else []
        return replace(self, masses=[*several, *ends], missing=missing)

    def beside(self, other: Outcomes) -> Outcomes:
        """Return the outcomes of both, run independently.

        Those that one of them lacks are missing in the product: of mass that, together.
        """
        masses = [
            (p * r, q * t)
            for p, q in self.masses
            for r, t in other.masses
            if not (p * r).is_zero() or not (q * t).is_zero()
        ]
        attained = self.attained and other.attained
        return Outcomes(masses, self.missing + other.missing, None, attained)

    def profile(self) -> DiscreteProfile:
        """Collect them."""
        infinite = lost = spread = arb(0)
        missing, atoms = self.missing, []
        for k, (first, second) in enumerate(self.masses):
            if second.is_zero():
                infinite += first
            elif first.is_zero():
                lost += second
            else:
                ratio = first / second
                if self.losses is not None:
                    ratio = (self.losses[0] + k * self.losses[1]).exp()
                relative = (ratio.rad() / abs(ratio.mid())).upper() if ratio > 0 else arb(1)
                if relative <= _TOLD:
                    spread = max(spread, relative)
                    atoms.append((ratio, first, second))
                else:
                    missing += abs(first).upper()
        atoms.sort(key=lambda each: each[0].mid())
        firsts, seconds = [infinite], [arb(0)]
        for _, first, second in reversed(atoms):
            firsts.append(firsts[-1] + first)
            seconds.append(seconds[-1] + second)
        ratios = [each[0] for each in atoms]
        return DiscreteProfile(
            ratios,
            [ratio.mid() for ratio in ratios],
            firsts[::-1],
            seconds[::-1],
            spread,
            missing.upper(),
            Ends(infinite, lost) if self.attained else NO_ENDS,
            infinite,
            self.attained,
        )


MOST_LOSSES = 4_096  # of a group


def group_sizes(outcomes: Outcomes, times: int) -> list[tuple[int, int]]:
    """Divide runs into groups of nearly one size.

    Returns:
        (runs in a group, how many such groups), …
    """
    many = bisect_right(range(2, times + 1), MOST_LOSSES, key=outcomes.count)
    groups = -(-times // (1 + many))
    least, larger = divmod(times, groups)
    return [each for each in ((least + 1, larger), (least, groups - larger)) if each[1]]


def is_finite(p: arb, q: arb) -> bool:
    """Whether an outcome may have a finite loss.

    `p != 0` would be False for a ball that contains 0.
    """
    return not p.is_zero() and not q.is_zero()


def _counted(
    masses: Sequence[tuple[arb, arb]], times: int, p: arb, q: arb, start: int = 0
) -> Iterator[tuple[arb, arb]]:
    """Yield the masses of all counts of outcomes from a place on that add up to `times`."""
    check_limits()
    for place in range(start, len(masses)):
        if place == len(masses) - 2:
            both = zip(*masses[place:], strict=True)
            sides = [(arb_poly(list(each)) ** times).coeffs() for each in both]
            yield from ((p * own, q * other) for own, other in zip(*sides, strict=True))
            return
        first, second = masses[place]
        for count in range(1, times):
            ways = comb(times, count)
            own = p * ways * first**count, q * ways * second**count
            yield from _counted(masses, times - count, *own, place + 1)
        yield p * first**times, q * second**times


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
        case Gaussian() | Laplace():
            return mechanism.shift.profile(bits)
        case ExponentialMechanism(eps):
            return BoundedRangeProfile(to_ball(eps), chosen)
        case RenyiStatement() | ConcentratedStatement():
            sums = Divergences.of([(mechanism, 1)])
            below = ShiftedNoise(shift_of(mechanism)).profile(bits)
            return StatementProfile(sums, below, mechanism if chosen else None)
        case Between(above):
            return profile_of(replace(above, attained=False), bits)
        case Subsampled(inner, rate):
            return SubsampledProfile(profile_of(inner, bits, chosen=chosen), to_ball(rate))
        case _:
            raise BrokenInvariant("what has few outcomes is known by them")


def outcomes_of(mechanism: Mechanism, bits: int) -> Outcomes | None:
    """Return the outcomes of a pair with few of them; None for others."""
    match mechanism:
        case RandomisedResponse():
            return Outcomes([(to_ball(p), to_ball(q)) for p, q in _responses(mechanism)])
        case ApproximateStatement(eps, delta):
            odds = to_ball(-eps).exp()
            finite = to_ball(1 - delta)
            likely, unlikely = finite / (1 + odds), finite * odds / (1 + odds)
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
            own = rational_pairs(inner)
            return own and [(rate * p + (1 - rate) * q, q) for p, q in own]
        case _:
            return None


def greatest_loss(mechanism: Mechanism, bits: int) -> Enclosure | None:
    """Enclose the greatest loss, either way round; None if it is infinite, or none is known.

    Of a Poisson sample of rate r, with greatest losses a either way, P' / Q = 1 - r + r P/Q is at
    most 1 + r (e^a - 1), and Q / P' at most 1 / (1 - r + r e^-a), which is not more.

    Args:
        bits: Working precision; a loss that is rational is exact.
    """
    inner, rate = unsampled(mechanism)
    loss: Fraction | None = None
    match inner:
        case Laplace(sensitivity, scale) | DiscreteLaplace(sensitivity, scale):
            loss = sensitivity / scale
        case ExponentialMechanism(eps) | ApproximateStatement(eps, Fraction(numerator=0)):
            loss = eps
    if loss is not None and rate == 1:
        return Enclosure.exact(loss)
    with precision(bits):
        if loss is not None:  # e^loss may be larger than any ball: ln(1 - r + r e^a) otherwise
            share = to_ball(rate) + to_ball(1 - rate) * (-to_ball(loss)).exp()
            found = to_enclosure(to_ball(loss) + share.log())
        else:
            pairs = rational_pairs(mechanism)
            if pairs is None or not all(p and q for p, q in pairs):
                return None
            found = to_enclosure(to_ball(max(max(p / q, q / p) for p, q in pairs)).log())
    if isinstance(found, NotEnclosed):  # which does not say that it is infinite
        raise LimitReached(found.reason)
    return found
