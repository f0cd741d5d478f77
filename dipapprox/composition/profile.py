"""Privacy profiles of pairs of distributions, at any factor, in balls.

The profile of a pair (P, Q) is H(α) = sup_S P(S) - α Q(S) for α >= 0: the least δ for which
P(S) <= α Q(S) + δ for all S. It is convex, non-increasing with slopes in [-1, 0], H(0) = 1, and it
tends to the mass that P has where Q has none. Turned round,

    H_{Q,P}(α) = 1 - α + α H_{P,Q}(1/α),                                                       (1)

as the best set of the one is the complement of the best set of the other. A pair *dominates* a
mechanism, for an ordered relation of data sets, if its H is at least that of every two outputs so
related at every α > 0; by (1) the reversed pair then dominates the reversed relation.

Subsampling. If (P, Q) dominates removal of a record (P with it, Q without), the mechanism on a
Poisson sample of rate r has outputs r P' + (1 - r) Q' and Q', where (P', Q') are mixtures of such
outputs, over the sample of the other records. H is convex in the pair, so mixtures do no harm, and

    H'(α) = r H((α - 1 + r) / r) for α > 1 - r,   H'(α) = 1 - α for α <= 1 - r,                  (2)

with the same best sets. Its reversal, by (1), is for the adding of a record.

A best set that is not quite best. If S is best at some α'', and |α - α''| <= t, then

    P(S) - α Q(S) <= H(α) <= P(S) - α Q(S) + t,

since H(α) - H(α'') and α'' Q(S) - α Q(S) together are at most |α - α''| (1 - Q(S) or Q(S)). So a
comparison of α with a threshold that balls leave open may be taken either way.

Sources: Zhu, Dong, Wang, Optimal accounting of differential privacy via characteristic function,
2022; Dong, Durfee, Rogers, Optimal differential privacy composition for exponential mechanisms,
2020; Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, 2020 (Rényi bounds).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import exp, log
from typing import Protocol

from flint import arb

from dipapprox.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A profile at one α.

    Attributes:
        bound: A ball whose upper end is at least H(α).
        first: A ball around P(S), for one set S and a pair that the mechanism has.
        second: A ball around Q(S): H(x) >= first - x second, at every x.
    """

    bound: arb
    first: arb
    second: arb


@dataclass(frozen=True, slots=True)
class Ends:
    """What lies at infinite losses.

    Attributes:
        infinite: P mass where Q has none.
        lost: Q mass where P has none.
    """

    infinite: arb
    lost: arb


class Profile(Protocol):
    """A profile, at the precision at which it was made."""

    @property
    def ends(self) -> Ends:
        """What the pair has at infinite losses, or has at least; for lower bounds."""

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""


def trivial(alpha: arb) -> tuple[arb, arb]:
    """Return (P(S), Q(S)) for a pair of equal distributions, S all or nothing."""
    return (arb(1), arb(1)) if alpha < 1 else (arb(0), arb(0))


_NO_ENDS = Ends(arb(0), arb(0))


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """N(m, 1) against N(0, 1): best sets are x > ln(α)/m + m/2.

    Attributes:
        shift: m > 0.
    """

    shift: arb

    @property
    def ends(self) -> Ends:
        """None."""
        return _NO_ENDS

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        root = arb(2).sqrt()
        place = alpha.log() / (self.shift * root)
        half = self.shift / (2 * root)
        first, second = (place - half).erfc() / 2, (place + half).erfc() / 2
        return Point(first - alpha * second, first, second)


@dataclass(frozen=True, slots=True)
class LaplaceProfile:
    """Laplace laws of scale 1 about 0 and m: for |ln α| < m, best sets are x < (m - ln α) / 2.

    Attributes:
        shift: m > 0.
    """

    shift: arb

    @property
    def ends(self) -> Ends:
        """None."""
        return _NO_ENDS

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        most = self.shift.exp()
        if _at_least(alpha, most):
            return _point(alpha, arb(0), arb(0), most)
        if _at_least(1 / most, alpha):
            return _point(alpha, arb(1), arb(1), 1 / most)
        half = (-self.shift / 2).exp() / 2
        threshold = most if alpha > 1 else 1 / most
        if alpha.overlaps(threshold):
            # The set is best at α if that is in range, else at the threshold.
            alpha_or_threshold = alpha.union(threshold)
            root = alpha_or_threshold.sqrt()
            return _point(alpha, 1 - half * root, half / root, threshold)
        root = alpha.sqrt()
        return _point(alpha, 1 - half * root, half / root, alpha)


@dataclass(frozen=True, slots=True)
class DiscreteProfile:
    """Finitely many losses. Best sets are the atoms of ratio P / Q > α, and those where Q is 0.

    A set that errs, where balls do not tell a ratio ρ from α, loses |P - α Q| = P |1 - α/ρ| in each
    such atom. Of middles a, r and relative radii u, v <= 1/8, one errs only if |r - a| is at most
    v r + u a <= 2 (u + v) a, and loses at most (v r + u a) / ρ <= 2 (u + v) of P.

    Attributes:
        places: Middles of the ratios, ascending.
        firsts: firsts[k] encloses the P mass of atoms k, k + 1, … and of infinite loss.
        seconds: Their Q masses; both one longer than the places.
        spread: At least the relative radius of every ratio, <= 1/8.
        missing: At least the P mass of what is in no set, though not of loss minus infinity.
        ends: At infinite losses.
    """

    places: Sequence[arb]
    firsts: Sequence[arb]
    seconds: Sequence[arb]
    spread: arb
    missing: arb
    ends: Ends

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        middle = alpha.mid()
        start = bisect_right(self.places, middle)
        first, second = self.firsts[start], self.seconds[start]
        bound = first - alpha * second + _up_to(self.missing)
        own = alpha.rad() / middle
        if not own <= _TOLD:
            return Point(bound + _up_to(arb(1)), first, second)
        doubt = (2 * (own + self.spread)).upper()
        reach = (doubt * middle).upper()
        near = self.places[max(start - 1, 0) : start + 1]
        if not all(abs(place - middle) > reach for place in near):
            bound += _up_to(doubt)
        return Point(bound, first, second)


_TOLD = arb(1) / 8


def discrete_profile(masses: Sequence[tuple[arb, arb]], missing: arb) -> DiscreteProfile:
    """Collect outcomes.

    Args:
        masses: (P mass, Q mass) of each; an exact 0 means that there is none.
        missing: At least the P mass of all further outcomes.
    """
    infinite = lost = spread = arb(0)
    atoms = []
    for first, second in masses:
        if second == 0:
            infinite += first
        elif first == 0:
            lost += second
        else:
            ratio = first / second
            relative = (ratio.rad() / abs(ratio.mid())).upper() if ratio > 0 else arb(1)
            if relative <= _TOLD:
                spread = max(spread, relative)
                atoms.append((ratio.mid(), first, second))
            else:
                missing += abs(first).upper()
    atoms.sort(key=lambda each: each[0])
    firsts, seconds = [infinite], [arb(0)]
    for _, first, second in reversed(atoms):
        firsts.append(firsts[-1] + first)
        seconds.append(seconds[-1] + second)
    return DiscreteProfile(
        [each[0] for each in atoms],
        firsts[::-1],
        seconds[::-1],
        spread,
        missing.upper(),
        Ends(infinite, lost),
    )


@dataclass(frozen=True, slots=True)
class BoundedRangeProfile:
    """All pairs whose losses lie in an interval of length ε that contains 0.

    With E = e^ε, the extreme pairs have losses t and t - ε, and Q mass (E - T) / (T (E - 1)) at the
    upper one, T = e^t; so H(α) = max_T (E - T) (T - α) / (T (E - 1)), which is largest where T² is
    E α: H(α) = (√E - √α)² / (E - 1) for 1/E <= α <= E. The pair that is shown to be had is the
    one with t = ε/2, its own reversal.

    Attributes:
        range: ε > 0.
    """

    range: arb

    @property
    def ends(self) -> Ends:
        """None."""
        return _NO_ENDS

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        top = self.range.exp()
        root = top.sqrt()
        chance = root / (1 + root)
        if _at_least(alpha, root):
            line = (arb(0), arb(0))
        elif _at_least(1 / root, alpha):
            line = (arb(1), arb(1))
        else:
            line = (chance, 1 - chance)
        if _at_least(alpha, top):
            bound = _point(alpha, arb(0), arb(0), top).bound
        elif _at_least(1 / top, alpha):
            bound = _point(alpha, arb(1), arb(1), 1 / top).bound
        else:
            bound = (root - alpha.sqrt()) ** 2 / (top - 1)
        return Point(bound, *line)


@dataclass(frozen=True, slots=True)
class RenyiProfile:
    """What Rényi divergences allow, for both directions; for order λ and y = Q/P,

        H(α) = E_P (1 - α y)₊ <= max_y (1 - α y) y^(λ-1) E_P y^(1-λ)
                              <= (1 - 1/λ)^(λ-1) / λ α^(1-λ) e^((λ-1) divergence).

    Every order gives a bound; which one is used is guessed. No pair is known to attain them.

    Attributes:
        orders: (λ > 1, divergence), …; empty for zCDP.
        rho: Of zCDP, where divergence = rho λ for every λ.
    """

    orders: Sequence[tuple[arb, arb]]
    rho: arb

    @property
    def ends(self) -> Ends:
        """None is known."""
        return _NO_ENDS

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        bounds = [arb(1), self._markov(alpha), 1 - alpha + alpha * self._markov(1 / alpha)]
        return Point(min(bounds, key=lambda each: each.upper()), *trivial(alpha))

    def _markov(self, alpha: arb) -> arb:
        place = float(alpha.log().mid())
        if self.orders:
            order, divergence = min(
                self.orders, key=lambda each: _exponent(float(each[0]), float(each[1]), place)
            )
        else:
            order = arb(_best_order(float(self.rho), place))
            divergence = self.rho * order
        less = order - 1
        return ((1 - 1 / order) / alpha * divergence.exp()) ** less / order


def _exponent(order: float, divergence: float, place: float) -> float:
    less = order - 1
    return less * (divergence - place + log(less / order)) - log(order)


def _best_order(rho: float, place: float) -> float:
    """About the order, a short binary fraction, that bounds most tightly; by golden sections."""
    low, high = -20.0, 40.0  # of ln(order - 1)
    for _ in range(60):
        one, two = low + 0.382 * (high - low), low + 0.618 * (high - low)
        first, second = 1 + exp(one), 1 + exp(two)
        if _exponent(first, rho * first, place) < _exponent(second, rho * second, place):
            high = two
        else:
            low = one
    return 1 + max(round(exp(low) * 2**20), 1) / 2**20


@dataclass(frozen=True, slots=True)
class UpperOnlyProfile:
    """A profile that no pair is known to have; the pair that is had are two equal outputs."""

    profile: Profile

    @property
    def ends(self) -> Ends:
        """None is known."""
        return _NO_ENDS

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        return Point(self.profile.at(alpha).bound, *trivial(alpha))


@dataclass(frozen=True, slots=True)
class BetweenProfile:
    """A profile that is known by one that is greater, and by a pair that the mechanism has."""

    above: Profile
    below: Profile

    @property
    def ends(self) -> Ends:
        """Of the pair."""
        return self.below.ends

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        point = self.below.at(alpha)
        return Point(self.above.at(alpha).bound, point.first, point.second)


@dataclass(frozen=True, slots=True)
class ReversedProfile:
    """The pair the other way round, by (1)."""

    profile: Profile

    @property
    def ends(self) -> Ends:
        """Exchanged."""
        ends = self.profile.ends
        return Ends(ends.lost, ends.infinite)

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        point = self.profile.at(1 / alpha)
        bound = 1 - alpha + alpha * point.bound
        return Point(bound, 1 - point.second, 1 - point.first)


@dataclass(frozen=True, slots=True)
class SubsampledProfile:
    """The removal of a record before Poisson sampling, by (2).

    Attributes:
        rate: r, 0 < r <= 1.
    """

    profile: Profile
    rate: arb

    @property
    def ends(self) -> Ends:
        """P is now everywhere where Q is, unless all are sampled."""
        ends = self.profile.ends
        return Ends(self.rate * ends.infinite, ends.lost if self.rate == 1 else arb(0))

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0."""
        inner = (alpha - 1 + self.rate) / self.rate
        if not inner > 0:
            # Where balls leave the side open, r H(inner) is still within r |inner| of 1 - α.
            bound = 1 - alpha if inner < 0 else 1 - alpha + _up_to(self.rate * abs(inner).upper())
            return Point(bound, arb(1), arb(1))
        point = self.profile.at(inner)
        first = self.rate * point.first + (1 - self.rate) * point.second
        return Point(self.rate * point.bound, first, point.second)


def _at_least(left: arb, right: arb) -> bool:
    """Whether left >= right, or nearly: what balls leave open is taken either way."""
    return bool(left.mid() >= right.mid())


def _point(alpha: arb, first: arb, second: arb, threshold: arb) -> Point:
    """A point whose set is best at α, or at a threshold that balls do not tell from it."""
    bound = first - alpha * second
    if threshold is not alpha and alpha.overlaps(threshold):
        bound += _up_to(2 * (alpha.rad() + threshold.rad()))
    return Point(bound, first, second)


def _up_to(size: arb) -> arb:
    """A ball around [0, size]."""
    return arb(0).union(size)
