"""Events that laws make impossible: outside the support of one-sided noise, or between integers.

Guards that leave an open set of reals (`half_spaces`) may still leave no values that samples take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.events.event import Event, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm, difference
from dipapprox.linear.half_spaces import has_interior
from dipapprox.linear.zones import potentials

if TYPE_CHECKING:
    from dipapprox.linear import half_spaces
else:
    half_spaces = Deferred("dipapprox.linear.half_spaces")


def is_possible(event: Event | Star) -> bool:
    """Whether samples of the laws meet guards that leave an open set with positive probability.

    Of integers, bounds of single samples and of differences of two are decided, and others almost
    always (`half_spaces`); what is not counts as possible.
    """
    if isinstance(event, Star):
        return _star_is_possible(event)
    families = {law.family for law in event.samples}
    if any(family.is_discrete for family in families):
        return _have_integer_points(event) is not False
    if all(family.sides == BOTH_SIDES for family in families):
        return True
    supports = [form for k, law in enumerate(event.samples) for form in _support(k, law)]
    return not supports or has_interior([*event.guards, *supports])


def is_surely_possible(event: Event | Star) -> bool:
    """Whether an event of `reduce` is possible for certain: guards of integers may be in doubt."""
    if isinstance(event, Star) or not any(law.family.is_discrete for law in event.samples):
        return True
    return _have_integer_points(event) is True


def _support(sample: int, law: Distribution) -> Iterator[LinearForm]:
    """Yield the bound of a one-sided law."""
    if -1 not in law.family.sides:
        yield LinearForm(((sample, Fraction(-1)),), law.mean)
    if 1 not in law.family.sides:
        yield LinearForm(((sample, Fraction(1)),), -law.mean)


def range_of(
    form: LinearForm, samples: Sequence[Distribution]
) -> tuple[Fraction | None, Fraction | None]:
    """Return between what ends, None for infinite ones, a sum of samples surely lies."""
    ends: list[Fraction | None] = [form.constant, form.constant]
    for sample in form.samples():
        law, factor = samples[sample], form.coefficient(sample)
        for side, end in enumerate(ends):
            own = (-1, 1)[side if factor > 0 else 1 - side]
            known = end is not None and own not in law.family.sides
            ends[side] = end + factor * law.mean if known and end is not None else None
    return ends[0], ends[1]


def _star_is_possible(star: Star) -> bool:
    """Every x <= c <= every y: the greatest lower bound has to be below the least upper one.

    Only bounds that a chain of comparisons connects count: of an x and c, of c and a y, of both.
    """
    lowest = [law.mean for law, _ in star.below if -1 not in law.family.sides]
    highest = [law.mean for law, _ in star.above if 1 not in law.family.sides]
    centre = star.centre
    if -1 not in centre.family.sides:
        lowest.append(centre.mean)
    if 1 not in centre.family.sides:
        highest.append(centre.mean)
    return not lowest or not highest or max(lowest) < min(highest)


def _have_integer_points(event: Event) -> bool | None:
    """Whether guards of integers hold together at integers; None if that is not known.

    x[v] - x[u] <= w means x[v] - x[u] <= ⌊w⌋. Other guards are left to linear programmes.
    """
    found = [each for each in map(difference, event.guards) if each is not None]
    if len(found) < len(event.guards):
        if not all(law.family.is_discrete for law in event.samples):
            return None
        return half_spaces.have_integer_point(map(half_spaces.integer_inequality, event.guards))
    return potentials([(u, v, floor(w)) for u, v, w in found], 0) is not None
