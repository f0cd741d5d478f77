"""All zeros of an exponential polynomial on an interval, isolated, with the signs between them.

    split off the rational zeros  ->  cover what is left with few boxes
                                          | too few?
                                          v
                          squarefree parts (their zeros are simple and distinct), cover each

A double zero, or nearly one, is what makes the first attempt fail; the second always ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dipapprox.errors import LimitReached
from dipapprox.exact.signs.cover import BoxesUsedUp, Cover, cover
from dipapprox.exact.signs.evaluation import Evaluator
from dipapprox.exact.signs.interval import EpsilonInterval, split_point
from dipapprox.exact.signs.normal_form import NormalForm, Reduced, reduce_function
from dipapprox.exact.signs.squarefree import squarefree_parts
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure

_FIRST_BOXES = 100
"""Boxes before the function is split into squarefree parts."""

_BOXES_IN_DOUBT = 1000
"""Boxes for a factor that may still have double zeros, its degree being too high to see."""

_MOST_HALVINGS = 4000
"""Of the boxes of two zeros that must be different."""

_MOST_BOXES = 1_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """A factor with exponent.

    Attributes:
        exponent: >= 1.
        cover: What proves its signs; its zeros in the interval are simple. None if the exponent
            is even and nobody asked where the zeros are.
        form: The factor.
    """

    form: NormalForm
    exponent: int
    cover: Cover | None


@dataclass(frozen=True, slots=True)
class Factors:
    """f = positive function * sign * Π (ε - a)^m * Π part^exponent; no two share a zero > 0.

    Attributes:
        sign: 1 or -1.
        rational_zeros: (a, m), a > 0, ascending: also those outside the interval.
        parts: The other factors; without rational zeros > 0.
    """

    sign: int
    rational_zeros: tuple[tuple[Fraction, int], ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Zero:
    """One zero in an interval.

    Attributes:
        lower: If the zero is rational the zero itself, else a lower bound that is no zero.
        upper: Likewise; no other zero lies in [lower, upper].
        multiplicity: >= 1; the function changes its sign if it is odd.
        form: A function with this simple zero, and no other in [lower, upper]; None if rational.
    """

    lower: Fraction
    upper: Fraction
    multiplicity: int
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
class SignChart:
    """Where a function is positive, zero and negative on an interval.

    Attributes:
        interval: As asked.
        zeros: Those strictly inside the interval, ascending, their boxes disjoint or touching.
        signs: The sign between them: one more than zeros; all 0 for the zero function.
        zero_at_lower: Whether the lower end belongs to the interval and is a zero.
        zero_at_upper: Likewise.
        factors: What proves it; None for the zero function and for a point.
    """

    interval: EpsilonInterval
    zeros: tuple[Zero, ...]
    signs: tuple[int, ...]
    zero_at_lower: bool
    zero_at_upper: bool
    factors: Factors | None

    @property
    def gaps(self) -> tuple[tuple[Fraction, Fraction | None, int], ...]:
        """(from, to, sign) between the boxes of neighbouring zeros; `from` <= `to`."""
        starts = (self.interval.lower, *(zero.upper for zero in self.zeros))
        ends = (*(zero.lower for zero in self.zeros), self.interval.upper)
        return tuple(zip(starts, ends, self.signs, strict=True))


def factorise(
    function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits, *, even: bool = True
) -> Factors:
    """Split a function into factors whose signs on the interval are proved.

    Args:
        function: Not the zero function.
        interval: Not a point.
        limits: Asked often.
        even: Whether factors with even exponents need a cover.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    reduced = reduce_function(function)
    try:
        whole = cover(reduced.form, interval, _FIRST_BOXES, limits)
        return Factors(1, reduced.rational_zeros, (Part(reduced.form, 1, whole),))
    except BoxesUsedUp:
        return _by_parts(reduced, interval, limits, even)


def _by_parts(reduced: Reduced, interval: EpsilonInterval, limits: Limits, even: bool) -> Factors:
    found = squarefree_parts(reduced.form)
    most = _MOST_BOXES if found.complete else _BOXES_IN_DOUBT
    parts: list[Part] = []
    for form, exponent in found.parts:
        try:
            proof = cover(form, interval, most, limits) if even or exponent % 2 else None
        except BoxesUsedUp as stuck:
            if found.complete:
                raise
            degree = reduced.form.groups[-1][0]
            raise LimitReached(f"degree-budget: degree {degree}; {stuck.reason}") from stuck
        parts.append(Part(form, exponent, proof))
    return Factors(found.sign, reduced.rational_zeros, tuple(parts))


def zeros(function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits) -> SignChart:
    """Isolate all zeros of a function on an interval.

    The zero function has no isolated zeros: its chart has none, and the sign 0.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    if not function:
        return SignChart(interval, (), (0,), interval.lower_included, interval.upper_included, None)
    if interval.is_point:
        sign = sign_at(function, interval.lower, limits)
        return SignChart(interval, (), (sign,), not sign, not sign, None)
    return chart(factorise(function, interval, limits), interval, limits)


def chart(factors: Factors, interval: EpsilonInterval, limits: Limits) -> SignChart:
    """Order the zeros of all factors that have a cover, and find the signs between them."""
    sign = factors.sign
    found: list[Zero] = []
    for place, multiplicity in factors.rational_zeros:
        if interval.encloses(place):
            found.append(Zero(place, place, multiplicity, None))
        if place > interval.lower and multiplicity % 2:
            sign = -sign
    for part in factors.parts:
        if part.cover is None:
            continue
        if part.exponent % 2:
            sign *= part.cover.first_sign
        found += [Zero(b.lower, b.upper, part.exponent, part.form) for b in part.cover.crossings]
    ordered = _separate(found, limits)
    signs = [sign]
    for zero in ordered:
        signs.append(-signs[-1] if zero.changes_sign else signs[-1])
    places = [place for place, _ in factors.rational_zeros]
    return SignChart(
        interval,
        ordered,
        tuple(signs),
        interval.lower_included and interval.lower in places,
        interval.upper_included and interval.upper in places,
        factors,
    )


def _separate(found: list[Zero], limits: Limits) -> tuple[Zero, ...]:
    """Refine boxes until none contains the zero of another, and order them."""
    for _ in range(_MOST_HALVINGS):
        limits.check()
        found.sort(key=lambda zero: (zero.lower, zero.upper))
        clash = {
            place
            for here, (left, right) in enumerate(pairwise(found))
            # Ends are no zeros of the box's own factor, but may be a rational zero.
            if left.upper > right.lower or (left.upper == right.lower and _touch(left, right))
            for place in (here, here + 1)
        }
        if not clash:
            return tuple(found)
        for place in clash:
            zero = found[place]
            found[place] = refine(zero, (zero.upper - zero.lower) / 2, limits)
    near, _ = short(Enclosure.exact(found[min(clash)].lower))
    raise LimitReached(f"precision-budget: two zeros near eps = {near} cannot be told apart")


def _touch(left: Zero, right: Zero) -> bool:
    return left.is_exact or right.is_exact


def refine(zero: Zero, width: Fraction, limits: Limits) -> Zero:
    """Shrink the box of a zero to at most `width` > 0: Newton where it helps, else bisection."""
    if zero.form is None or zero.upper - zero.lower <= width:
        return zero
    evaluator = Evaluator(zero.form)
    lower, upper = zero.lower, zero.upper
    at_lower = evaluator.sign(lower, limits)
    while upper - lower > width:
        limits.check()
        smaller = evaluator.newton(lower, upper, limits)
        if smaller is not None and (smaller[1] - smaller[0]) * 2 < upper - lower:
            lower, upper = smaller
            continue
        middle = split_point(lower, upper)
        if evaluator.sign(middle, limits) == at_lower:
            lower = middle
        else:
            upper = middle
    return Zero(lower, upper, zero.multiplicity, zero.form)
