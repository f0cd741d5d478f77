"""Profiles of closed form: noise of Gauss and Laplace, bounded ranges.

Sources: Balle, Wang, Improving the Gaussian mechanism for differential privacy, 2018; Dong, Durfee,
Rogers, Optimal differential privacy composition for exponential mechanisms, 2020.
"""

from __future__ import annotations

from typing import ClassVar

from flint import arb

from dipapprox.composition.profile import NO_ENDS, Ends, ProfilePoint, up_to
from dipapprox.data_classes import Record


class GaussianProfile(Record):
    """N(m, 1) against N(0, 1): best sets are x > ln(α)/m + m/2."""

    shift: arb  # m > 0

    ends: ClassVar[Ends] = NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at α > 0."""
        wide = self.shift * arb(2).sqrt()
        place, half = alpha.log() / wide, wide / 4
        first, second = (place - half).erfc() / 2, (place + half).erfc() / 2
        return ProfilePoint(first - alpha * second, first, second)


class LaplaceProfile(Record):
    """Laplace laws of scale 1 about 0 and m: for |ln α| <= m, best sets are x < (m - ln α) / 2.

    Where balls do not tell α from a threshold T, e^m or e^-m, it may lie beyond. Then the set has
    P mass e^x / 2 beyond e^m, and Q mass 1 - e^(m-x) / 2 beyond e^-m, which lie between the
    formula of the range and 1/2, and the balls have both; it is |α - T| / 2 from the best at most.
    """

    shift: arb  # m > 0

    ends: ClassVar[Ends] = NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at α > 0."""
        most = self.shift.exp()
        if _at_least(alpha, most):
            return _point(alpha, arb(0), arb(0), most)
        if _at_least(1 / most, alpha):
            return _point(alpha, arb(1), arb(1), 1 / most)
        half = (-self.shift / 2).exp() / 2
        threshold = most if alpha > 1 else 1 / most
        root = alpha.sqrt()
        return _point(alpha, 1 - half * root, half / root, threshold)


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
        """Evaluate at α > 0."""
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
