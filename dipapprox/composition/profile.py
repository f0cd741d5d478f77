"""Privacy profiles of pairs of distributions, at any factor, in balls.

The profile of a pair (P, Q) is H(α) = sup_S P(S) - α Q(S) for α >= 0: the least δ for which
P(S) <= α Q(S) + δ for all S. It is convex, non-increasing with slopes in [-1, 0], H(0) = 1, and it
tends to the mass that P has where Q has none. Turned round,

    H_{Q,P}(α) = 1 - α + α H_{P,Q}(1/α),                                                       (1)

as the best set of the one is the complement of the best set of the other. A pair *dominates* a
mechanism, for an ordered relation of data sets, if its H is at least that of every two outputs so
related at every α > 0; by (1) the reversed pair then dominates the reversed relation.

A kind of pair joins by a class with the two members of `BallProfile`; nothing else is asked of it:
no densities, no losses, no masses. All bounds of compositions are made of `at` (`products`). It
is asked

- at balls α about e^loss, as wide as the working precision makes them, from e^(-2^40) to e^(2^40);
  answers hold for every number of the ball, and are finite;
- a thousand times or more: α close together, ascending or by bisection;
- for a `bound` as narrow as the precision allows. Where it is not, bounds of compositions stay
  true and get wide. Where no more is known, 1 is a bound, and noise that moves nothing has a line;
- for a line of *one* set, guessed at the middle of α, and both masses are of that same set. A set
  that is nearly best costs nearly nothing (below);
- for lines of *one* pair, at all α: of the greatest of several profiles the lines are those of one
  of them, chosen beforehand, or none. A mechanism that has each of two pairs
  need not have one that is as bad as both, and products would claim that it does.

If α < 1 is not known of itself, (1) tells it, with `ReversedProfile` about the profile of (Q, P).

Subsampling. If (P, Q) dominates removal of a record (P with it, Q without), the mechanism on a
Poisson sample of rate r has outputs r P' + (1 - r) Q' and Q', where (P', Q') are mixtures of such
outputs, over the sample of the other records. H is convex in the pair, so mixtures do no harm, and

    H'(α) = r H((α - 1 + r) / r) for α > 1 - r,   H'(α) = 1 - α for α <= 1 - r,                  (2)

with the same best sets. Its reversal, by (1), is for the adding of a record.

A best set that is not quite best. If S is best at some α'', and |α - α''| <= t, then

    P(S) - α Q(S) <= H(α) <= P(S) - α Q(S) + t,                                                (3)

since H(α) - H(α'') and α'' Q(S) - α Q(S) together are at most |α - α''| (1 - Q(S) or Q(S)). So a
comparison of α with a threshold that balls leave open may be taken either way.

Source: Zhu, Dong, Wang, Optimal accounting of differential privacy via characteristic function,
2022.

Bounded ranges: Dong, Durfee, Rogers, Optimal differential privacy composition for exponential
mechanisms, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

from flint import arb

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import to_ball, to_enclosure
from dipapprox.data_classes import Record
from dipapprox.limits import ask


class ProfilePoint(Record):
    """A profile at one α."""

    bound: arb  # a ball whose upper end is at least H(α)
    first: arb  # a ball around P(S), for one set S, of a pair (P, Q) that the mechanism has
    second: arb  # a ball around Q(S): H(x) >= first - x second, at every x

    def turned(self, alpha: arb) -> ProfilePoint:
        """What one at 1/α tells of the reversed pair at α, by (1): of the other set's complement,
        exchanged."""
        return ProfilePoint(1 - alpha + alpha * self.bound, 1 - self.second, 1 - self.first)


class Ends(Record):
    """What lies at infinite losses."""

    infinite: arb  # P mass where Q has none
    lost: arb  # Q mass where P has none


class BallProfile(Protocol):
    """A profile, used at the working precision at which it was made."""

    @property
    def ends(self) -> Ends:
        """What the pair has at infinite losses, or has at least; for lower bounds."""

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at all α > 0 of a ball."""


NO_ENDS = Ends(arb(0), arb(0))  # all losses are finite, or nothing more is known


class ReversedProfile(Record):
    """The pair the other way round, by (1)."""

    profile: BallProfile

    @property
    def ends(self) -> Ends:
        """Exchanged."""
        ends = self.profile.ends
        return Ends(ends.lost, ends.infinite)

    def at(self, alpha: arb) -> ProfilePoint:
        return self.profile.at(1 / alpha).turned(alpha)


class SubsampledProfile(Record):
    """The removal of a record before Poisson sampling, by (2)."""

    profile: BallProfile
    rate: arb  # r, 0 < r <= 1

    @property
    def ends(self) -> Ends:
        """P is now everywhere where Q is, unless all are sampled."""
        ends = self.profile.ends
        return Ends(self.rate * ends.infinite, ends.lost if self.rate == 1 else arb(0))

    def at(self, alpha: arb) -> ProfilePoint:
        inner = (alpha - 1 + self.rate) / self.rate
        if not inner > 0:
            # Where balls leave the side open, r H(inner) is still within r |inner| of 1 - α.
            bound = 1 - alpha if inner < 0 else 1 - alpha + up_to(self.rate * abs(inner).upper())
            return ProfilePoint(bound, arb(1), arb(1))
        point = self.profile.at(inner)
        first = self.rate * point.first + (1 - self.rate) * point.second
        return ProfilePoint(self.rate * point.bound, first, point.second)


def up_to(size: arb) -> arb:
    """A ball around [0, size]."""
    return arb(0).union(size)


class BoundedRangeProfile(Record):
    """All pairs whose losses lie in an interval of length ε that contains 0.

    With E = e^ε, the extreme pairs have losses t and t - ε, and Q mass (E - T) / (T (E - 1)) at the
    upper one, T = e^t; so H(α) = max_T (E - T) (T - α) / (T (E - 1)), which is largest where T² is
    E α: H(α) = (√E - √α)² / (E - 1) for 1/E <= α <= E. The pair that is shown to be had is the
    one with t = ε/2, its own reversal; or where it may be chosen by α, the worst one.
    """

    range: arb  # ε > 0
    chosen: bool = False  # whether it may

    ends: ClassVar[Ends] = NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        top = self.range.exp()
        root = top.sqrt()
        if self.chosen and alpha < top and 1 / top < alpha:
            most = root * alpha.sqrt()
            first = (top - most) / (top - 1)
            return ProfilePoint(first - alpha * first / most, first, first / most)
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
            gap = root - alpha.sqrt()
            bound = gap * gap / (top - 1)  # the power of a ball about 0 is no number in flint
        return ProfilePoint(bound, *line)


def _at_least(left: arb, right: arb) -> bool:
    """Whether left >= right, or nearly: what balls leave open is taken either way."""
    return bool(left.mid() >= right.mid())


def _point(alpha: arb, first: arb, second: arb, threshold: arb) -> ProfilePoint:
    """A point whose set is best at α, or at a threshold that balls do not tell from it."""
    bound = first - alpha * second
    if alpha.overlaps(threshold):
        bound += up_to(2 * (alpha.rad() + threshold.rad()))
    return ProfilePoint(bound, first, second)


_ZERO, _ONE = Fraction(0), Fraction(1)
_LARGEST_BUDGET = 2**40


def deltas_of(profile: BallProfile, budgets: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Enclose H(e^ε) at every ε >= 0, of one profile, at the precision of the enclosing block."""
    return [bounds_at(profile, to_ball(budget).exp()) for budget in budgets]


def bounds_at(profile: BallProfile, alpha: arb) -> tuple[Fraction, Fraction]:
    """Bound H(α) from below and from above, at the precision of the enclosing block."""
    point = profile.at(alpha)
    lower, upper = to_enclosure(point.first - alpha * point.second), to_enclosure(point.bound)
    low = _ZERO if isinstance(lower, NotEnclosed) else max(lower.lower, _ZERO)
    return low, _ONE if isinstance(upper, NotEnclosed) else min(upper.upper, _ONE)


def epsilon_of(
    profile: BallProfile, delta: Fraction, width: Fraction, most: Fraction = _ONE
) -> list[tuple[Fraction | None, Fraction | None]]:
    """Enclose the least ε >= 0 with H(e^ε) <= δ, of one profile, by bisection.

    Args:
        profile: At the precision of the enclosing block.
        width: How far it goes.
        most: An ε > 0 that may be enough.
    """
    if deltas_of(profile, [_ZERO])[0][1] <= delta:
        return [(_ZERO, _ZERO)]
    while (unknown := deltas_of(profile, [most])[0][1] > delta) and most <= _LARGEST_BUDGET:
        ask()
        most *= 2

    def falling(low: Fraction, high: Fraction, ends: tuple[int, int]) -> tuple[Fraction, Fraction]:
        """Between which two ends fall to δ, the one from above and the other from below."""
        while high - low > width:
            ask()
            middle = (low + high) / 2
            bounds = deltas_of(profile, [middle])[0]
            if bounds[ends[0]] > delta:
                low = middle
            elif bounds[ends[1]] <= delta:
                high = middle
            else:
                break
        return low, high

    low, high = falling(_ZERO, most, (0, 1))
    upper = None if unknown else falling(low, high, (1, 1))[1]
    if profile.ends.infinite > to_ball(delta):  # H is so for all, as its limit is
        return [(None, upper)]
    return [(falling(low, high, (0, 0))[0], upper)]
