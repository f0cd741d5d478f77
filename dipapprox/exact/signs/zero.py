"""Isolated zeros of one or several functions: refined, and put in order, equal ones together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from dipapprox.data_classes import dataclass, replace
from dipapprox.exact.signs.bivariate import vanishes_too
from dipapprox.exact.signs.interval import split_point
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exact.signs.values import Evaluator
from dipapprox.limits import Limits

_ROUNDS = 90  # of refinement; round k makes boxes 2^k times smaller: some 4000 bits in all
_ROUNDS_UNASKED = 5  # before it is asked whether two zeros are equal
_ROUNDS_IN_DOUBT = 24  # for two zeros that may be equal, the degrees being too high to see


@dataclass(frozen=True, slots=True)
class Zero:
    """One zero of a function."""

    lower: Fraction  # if the zero is rational the zero itself, else a lower bound that is no zero
    upper: Fraction  # likewise; no other zero lies in [lower, upper]
    multiplicity: int  # >= 1; the function changes its sign if it is odd
    # A function without rational zeros > 0 that has this zero, a simple one, and no other in
    # [lower, upper]; None if the zero is rational.
    form: NormalForm | None

    @property
    def is_exact(self) -> bool:
        """Whether the zero is known exactly."""
        return self.form is None

    @property
    def changes_sign(self) -> bool:
        """Whether the function has opposite signs on the two sides."""
        return self.multiplicity % 2 == 1


@dataclass(frozen=True, slots=True)
class ZeroCluster:
    """Zeros that are one number, or too near to each other to tell."""

    # One of them, in a box that has them all. The boxes of two clusters have no point in common but
    # ends that are no zeros.
    zero: Zero
    members: tuple[int, ...]  # their positions in what was ordered, ascending
    equal: bool = True  # whether they are proved to be one number

    def joined(self, other: ZeroCluster, equal: bool) -> ZeroCluster:
        """Return both as one; what equal zeros have in common is the box of both."""
        ours, theirs = self.zero, other.zero
        lower, upper = min(ours.lower, theirs.lower), max(ours.upper, theirs.upper)
        if equal:
            lower, upper = max(ours.lower, theirs.lower), min(ours.upper, theirs.upper)
        members = tuple(sorted((*self.members, *other.members)))
        form = None if theirs.form is None else ours.form
        return ZeroCluster(Zero(lower, upper, ours.multiplicity, form), members, equal)


def refine(zero: Zero, width: Fraction, limits: Limits) -> Zero:
    """Bisect the box of a zero down to at most `width` > 0."""
    if zero.form is None or zero.upper - zero.lower <= width:
        return zero
    evaluator = Evaluator(zero.form)
    lower, upper = zero.lower, zero.upper
    at_lower = evaluator.sign(lower, limits)
    while upper - lower > width:
        limits.check()
        middle = split_point(lower, upper)
        if evaluator.sign(middle, limits) == at_lower:
            lower = middle
        else:
            upper = middle
    return Zero(lower, upper, zero.multiplicity, zero.form)


def in_order(
    found: Sequence[Zero], limits: Limits, *, distinct: bool = False
) -> tuple[ZeroCluster, ...]:
    """Order zeros of any functions, ascending, equal ones together.

    Boxes are refined until they are disjoint; those that stay together are asked for a common
    divisor with a zero there (`bivariate`), so this ends with certain places unless the degrees
    are too high for that, or different zeros are nearer than some 2^-4000.

    Args:
        distinct: Whether it is known that no two are equal.
    """
    clusters = [ZeroCluster(zero, (k,)) for k, zero in enumerate(found)]
    known: dict[tuple[int, int], bool | None] = {}
    for attempt in range(_ROUNDS):
        limits.check()
        clusters.sort(key=lambda each: (each.zero.lower, each.zero.upper))
        clashes = [k for k, (a, b) in enumerate(pairwise(clusters)) if _clash(a.zero, b.zero)]
        if not clashes:
            break
        merged: set[int] = set()
        waiting = set()
        for k in clashes:
            if k in merged:
                continue
            left, right = clusters[k], clusters[k + 1]
            key = left.members[0], right.members[0]
            if not distinct and attempt >= _ROUNDS_UNASKED and key not in known:
                known[key] = _are_equal(left.zero, right.zero, limits)
            if (left.zero.is_exact and right.zero.is_exact) or known.get(key):
                clusters[k + 1] = left.joined(right, True)
                merged.add(k)
            elif key not in known or known[key] is not None or attempt < _ROUNDS_IN_DOUBT:
                waiting |= {k, k + 1}
        if not merged and not waiting:
            break
        for k in waiting - merged:
            zero = clusters[k].zero
            width = (zero.upper - zero.lower) / 2 ** (attempt + 1)
            clusters[k] = replace(clusters[k], zero=refine(zero, width, limits))
        clusters = [each for k, each in enumerate(clusters) if k not in merged]
    places: list[ZeroCluster] = []
    for each in clusters:
        if places and _clash(places[-1].zero, each.zero):
            each = places.pop().joined(each, False)
        places.append(each)
    return tuple(places)


def _clash(left: Zero, right: Zero) -> bool:
    """Whether one box may contain the zero of the other; boxes come in order."""
    # Ends are no zeros of the box's own function, but may be a rational zero of another.
    touching = left.upper == right.lower and (left.is_exact or right.is_exact)
    return left.upper > right.lower or touching


def _are_equal(left: Zero, right: Zero, limits: Limits) -> bool | None:
    """Whether two zeros with overlapping boxes are one number; None if that cannot be told."""
    if left.form is None or right.form is None:
        return left.form is None and right.form is None
    lower, upper = max(left.lower, right.lower), min(left.upper, right.upper)
    return vanishes_too(left.form, right.form.function(), lower, upper, limits)
