"""All zeros of an exponential polynomial on an interval, isolated, with the signs between them.

    split off the rational zeros  ->  cover what is left with few boxes
                                          | too few?
                                          v
                          squarefree parts (their zeros are simple and distinct), cover each

A double zero, or nearly one, is what makes the first attempt fail. The second ends with an answer
if the boxes suffice. Where the degree is too high for a decomposition there is one part, which may
have double zeros, and is given up after few boxes.

Cover. Covers: ε ranges on each of which the sign of a `NormalForm`, or its one change, is proved.

    near zero:  (0, η]   by the first derivative that is not 0 at 0
    in between: boxes    by Taylor's formula at their middle, bisected until it tells
    far away:   [M, ∞)   by the leading term

Each argument can be repeated by a reader of the cover; nothing else about the function is needed.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from itertools import count

from flint import Ordering, fmpz_mpoly_ctx

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.interval import EpsilonInterval, split_point
from dipapprox.exact.signs.normal_form import NormalForm, normal_form, reduce_function
from dipapprox.exact.signs.values import START_BITS, Evaluator, sign_at
from dipapprox.exact.signs.zero import Zero, in_order
from dipapprox.exponentials import Exponent, ExponentialPolynomial
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class SignNearZero:
    """The sign of G on (0, upper].

    G^(order) is the first derivative that is not 0 at 0, and it has no zero in [0, upper]; by
    Taylor's formula G(ε) = ε^order / order! * G^(order)(ξ) with 0 < ξ < ε has its sign.
    """

    upper: Fraction
    order: int
    sign: int


@dataclass(frozen=True, slots=True)
class FarAway:
    """The sign of G on [lower, ∞): that of its leading term c ε^n, the last one with j = 0.

    Let T be the terms d ε^i e^(-jρε) of the other sign. Σ_T |d| ε^(i-n) e^(-jρε) < |c| at `lower`,
    and for ε >= lower it does not increase, as lower * jρ >= i - n for all of T.
    """

    lower: Fraction
    sign: int


class BoxProof(Enum):
    """What is proved of a box [lower, upper]."""

    CONSTANT = "constant"  # G has no zero: Taylor's formula excludes 0
    MONOTONE = "monotone"  # G' has no zero, G has the same sign at both ends: no zero
    CROSSING = "crossing"  # G' has no zero, G has opposite signs at the ends: one simple zero


@dataclass(frozen=True, slots=True)
class SignBox:
    """A closed range of ε with what is proved of it; `sign` is the sign of G at `lower`."""

    lower: Fraction
    upper: Fraction
    argument: BoxProof
    sign: int


@dataclass(frozen=True, slots=True)
class Cover:
    """What proves the signs of `form` on an interval.

    Attributes:
        form: G, without a rational zero in the interval.
        near: Given if the interval begins at 0.
        boxes: Ascending, each beginning where the one before ends; from η to M.
        far: Given if the interval has no upper end.
    """

    form: NormalForm
    near: SignNearZero | None
    boxes: tuple[SignBox, ...]
    far: FarAway | None

    @property
    def first_sign(self) -> int:
        """The sign at the lower end of the interval, or just above 0."""
        if self.near is not None:
            return self.near.sign
        if self.boxes:
            return self.boxes[0].sign
        assert self.far is not None
        return self.far.sign

    @property
    def crossings(self) -> tuple[SignBox, ...]:
        """The boxes with a zero, ascending."""
        return tuple(box for box in self.boxes if box.argument is BoxProof.CROSSING)


class BoxesUsedUp(LimitReached):
    """A cover needs more boxes than it was allowed."""


def cover(form: NormalForm, interval: EpsilonInterval, most: int, limits: Limits) -> Cover:
    """Prove the signs of a function without rational zeros on the closure of an interval.

    This ends, given enough boxes, if G has simple zeros only: a box that is small enough has a
    range without 0, or lies so near to a zero that G' is not 0 on it.

    Args:
        form: Not zero at any rational ε > 0.
        interval: Not a point.
        most: Largest number of boxes to look at.

    Raises:
        BoxesUsedUp: If `most` is reached.
    """
    evaluator = Evaluator(form)
    lower, near, far = interval.lower, None, None
    if not lower:
        near = near_zero(evaluator, interval.upper, limits)
        lower = near.upper
    upper = interval.upper
    if upper is None:
        far = far_away(form, lower, limits)
        upper = far.lower
    boxes: list[SignBox] = []
    waiting = [(lower, upper)] if lower < upper else []
    for used in count():
        if not waiting:
            break
        limits.check()
        if used >= most:
            low, high = short(Enclosure(*waiting[-1]))
            raise BoxesUsedUp(f"box-budget: undecided for eps in [{low}, {high}]")
        left, right = waiting.pop()
        box = _settle(evaluator, left, right, _order(used), limits)
        if box is None:
            middle = split_point(left, right)
            waiting += [(middle, right), (left, middle)]
        else:
            boxes.append(box)
    return Cover(form, near, tuple(boxes), far)


def _order(used: int) -> int:
    """The order of Taylor's formula: 2, but more where the boxes become many."""
    return min(2 << (used // 24), 32)


def _settle(
    evaluator: Evaluator, left: Fraction, right: Fraction, order: int, limits: Limits
) -> SignBox | None:
    """Prove something of one box, if it is small enough."""
    sign, slope = evaluator.on_box(left, right, order, limits)
    if sign:
        return SignBox(left, right, BoxProof.CONSTANT, sign)
    if not slope:
        return None
    at_left, at_right = evaluator.sign(left, limits), evaluator.sign(right, limits)
    argument = BoxProof.MONOTONE if at_left == at_right else BoxProof.CROSSING
    return SignBox(left, right, argument, at_left)


def near_zero(evaluator: Evaluator, most: Fraction | None, limits: Limits) -> SignNearZero:
    """Find the sign of G on some (0, η], η <= `most`.

    G solves a linear differential equation with constant coefficients whose order is the number
    of ε^n e^(-jρε), n <= deg P_j: some derivative of smaller order is not 0 at 0.
    """
    order = 0
    while not (value := evaluator.derivative(order).at_zero()):
        limits.check()
        order += 1
    rate = evaluator.form.rate * max(evaluator.form.groups[-1][0], 1)
    upper = Fraction(4 * (order + 1)) / rate
    upper = Fraction(2) ** (upper.numerator.bit_length() - upper.denominator.bit_length())
    if most is not None:
        upper = min(upper, most)
    while not evaluator.constant_near_zero(order, upper):
        limits.check()
        upper /= 2
    return SignNearZero(upper, order, 1 if value > 0 else -1)


def far_away(form: NormalForm, least: Fraction, limits: Limits) -> FarAway:
    """Find M >= `least` beyond which the leading term decides."""
    row = form.groups[0][1]
    power, leading = len(row) - 1, row[-1]
    sign = 1 if leading > 0 else -1
    against = [
        (n - power, j, abs(c))
        for j, coefficients in form.groups
        for n, c in enumerate(coefficients)
        if c * sign < 0
    ]
    lower = max(
        least, *(Fraction(n) / (j * form.rate) for n, j, _ in against if n > 0), Fraction(0)
    )
    if not lower:
        lower = Fraction(1)
    while True:
        limits.check()
        with precision(START_BITS):
            x = to_ball(lower)
            exponent = x * to_ball(-form.rate)
            total = to_ball(-abs(leading))
            for n, j, c in against:
                total += (exponent * j).exp() * x**n * c
            if total < 0:
                return FarAway(lower, sign)
        lower *= 2


_FIRST_BOXES = 100
"""Boxes before the function is split into squarefree parts."""

_WORK_BUDGET = 500_000_000
"""Largest degree² times number of terms that is decomposed: two seconds, without a way to stop."""

_BOXES_IN_DOUBT = 1000
"""Boxes for a function that may have double zeros, its degree being too high to see."""

_MOST_BOXES = 1_000_000


_Parts = list[tuple[Cover, int]]
"""Factors without rational zeros, covered, with their exponents >= 1; none shares a zero > 0."""


@dataclass(frozen=True, slots=True)
class SignChart:
    """Where a function is positive, zero and negative on an interval.

    Attributes:
        zeros: Those strictly inside the interval, ascending, their boxes disjoint or touching.
        signs: The sign between them: one more than zeros; all 0 for the zero function.
        zero_at_lower: Whether the lower end belongs to the interval and is a zero.
    """

    interval: EpsilonInterval
    zeros: tuple[Zero, ...]
    signs: tuple[int, ...]
    zero_at_lower: bool
    zero_at_upper: bool


def _parts(form: NormalForm, interval: EpsilonInterval, limits: Limits) -> tuple[int, _Parts]:
    """Split a function without rational zeros: positive function * sign * Π part^exponent."""
    try:
        return 1, [(cover(form, interval, _FIRST_BOXES, limits), 1)]
    except BoxesUsedUp:
        pass
    degree = form.groups[-1][0]
    if degree**2 * form.size > _WORK_BUDGET:
        try:
            return 1, [(cover(form, interval, _BOXES_IN_DOUBT, limits), 1)]
        except BoxesUsedUp as stuck:
            raise LimitReached(f"degree-budget: degree {degree}; {stuck.reason}") from stuck
    sign, found = squarefree_parts(form)
    return sign, [(cover(part, interval, _MOST_BOXES, limits), power) for part, power in found]


def squarefree_parts(form: NormalForm) -> tuple[int, list[tuple[NormalForm, int]]]:
    """Decompose G without rational zeros: G = positive function * sign * Π part^exponent.

    Parts have simple zeros only, and no two have one in common (`normal_form`).

    Returns:
        1 or -1, and the parts, none constant, with their exponents >= 1.
    """
    context = fmpz_mpoly_ctx.get(("x", "y"), Ordering.lex)
    constant, factors = context.from_dict(
        {(n, j): c for j, row in form.groups for n, c in enumerate(row) if c}
    ).factor_squarefree()
    sign = 1 if constant > 0 else -1
    parts: list[tuple[NormalForm, int]] = []
    for factor, exponent in factors:
        rows = factor.to_dict().items()
        terms: dict[Exponent, Fraction] = {
            (int(n), -int(j) * form.rate): Fraction(int(c)) for (n, j), c in rows
        }
        part = normal_form(ExponentialPolynomial.of(terms))
        if part.size > 1:
            parts.append((part, int(exponent)))
        elif exponent % 2 and part.groups[0][1][-1] < 0:
            sign = -sign
    return sign, parts


def zeros(function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits) -> SignChart:
    """Isolate all zeros of a function on an interval.

    The zero function has no isolated zeros: its chart has none, and the sign 0.
    """
    if not function:
        return SignChart(interval, (), (0,), interval.lower_included, interval.upper_included)
    if interval.is_point:
        sign = sign_at(function, interval.lower, limits)
        return SignChart(interval, (), (sign,), not sign, not sign)
    reduced = reduce_function(function)
    sign, parts = _parts(reduced.form, interval, limits)
    found: list[Zero] = []
    for place, multiplicity in reduced.rational_zeros:
        if interval.encloses(place):
            found.append(Zero(place, place, multiplicity, None))
        if place > interval.lower and multiplicity % 2:
            sign = -sign
    for part, exponent in parts:
        if exponent % 2:
            sign *= part.first_sign
        found += [Zero(b.lower, b.upper, exponent, part.form) for b in part.crossings]
    ordered = _separate(found, limits)
    signs = [sign]
    for zero in ordered:
        signs.append(-signs[-1] if zero.changes_sign else signs[-1])
    places = [place for place, _ in reduced.rational_zeros]
    return SignChart(
        interval,
        ordered,
        tuple(signs),
        interval.lower_included and interval.lower in places,
        interval.upper_included and interval.upper in places,
    )


def _separate(found: list[Zero], limits: Limits) -> tuple[Zero, ...]:
    """Order zeros, of which no two are equal."""
    ordered: list[Zero] = []
    for place in in_order(found, limits, distinct=True):
        if len(place.members) > 1:
            near, _ = short(Enclosure.exact(place.lower))
            raise LimitReached(
                f"precision-budget: two zeros near eps = {near} cannot be told apart"
            )
        zero = found[place.members[0]]
        ordered.append(Zero(place.lower, place.upper, zero.multiplicity, zero.form))
    return tuple(ordered)
