"""All zeros of an exponential polynomial on an interval, isolated, with the signs between them.

    split off the rational zeros  ->  cover what is left with few boxes
                                          | too few?
                                          v
                          squarefree parts (their zeros are simple and distinct), cover each

A double zero, or nearly one, is what makes the first attempt fail. The second ends with an answer
if the boxes suffice. Where the degree is too high for a decomposition there is one part, which may
have double zeros, and is given up after few boxes.

Covers are ε ranges on each of which the sign of a `NormalForm`, or its one change, is proved:

    near zero:  (0, η]   by the first derivative that is not 0 at 0
    in between: boxes    by Taylor's formula at their middle, bisected until it tells
    far away:   [M, ∞)   by the leading term

Each argument can be repeated by a reader of the cover; nothing else about the function is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count, pairwise
from typing import NamedTuple

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.interval import EpsilonInterval, split_point
from dipapprox.exact.signs.normal_form import NormalForm, reduce_function
from dipapprox.exact.signs.values import START_BITS, Evaluator, sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import check_limits
from dipapprox.linear.form import content

_ROUNDS = 90  # of refinement; round k makes boxes 2^k times smaller: some 4000 bits in all
_ROUNDS_UNASKED = 5  # before it is asked whether two zeros are equal
_ROUNDS_IN_DOUBT = 24  # for two zeros that may be equal, the degrees being too high to see


class Zero(Record):
    lower: Fraction  # if the zero is rational the zero itself, else a lower bound that is no zero
    upper: Fraction  # likewise; no other zero lies in [lower, upper]
    multiplicity: int  # >= 1; the function changes its sign if it is odd
    # A function without rational zeros > 0 that has this zero, a simple one, and no other in
    # [lower, upper]; None if the zero is rational.
    form: NormalForm | None

    @property
    def is_exact(self) -> bool:
        return self.form is None

    @property
    def changes_sign(self) -> bool:
        """Whether the function has opposite signs on the two sides."""
        return self.multiplicity % 2 == 1


class ZeroCluster(Record):
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


def refine(zero: Zero, width: Fraction) -> Zero:
    """Bisect the box of a zero down to at most `width` > 0."""
    if zero.form is None or zero.upper - zero.lower <= width:
        return zero
    evaluator = Evaluator(zero.form)
    lower, upper = zero.lower, zero.upper
    at_lower = evaluator.sign(lower)
    while upper - lower > width:
        check_limits()
        middle = split_point(lower, upper)
        if evaluator.sign(middle) == at_lower:
            lower = middle
        else:
            upper = middle
    return Zero(lower, upper, zero.multiplicity, zero.form)


def in_order(found: Sequence[Zero], *, distinct: bool = False) -> tuple[ZeroCluster, ...]:
    """Order zeros of any functions, ascending, equal ones together.

    Boxes are refined until they are disjoint; those that stay together are asked for a common
    divisor with a zero there (`normal_form`), so this ends with certain places unless the degrees
    are too high for that, or different zeros are nearer than some 2^-4000.

    Args:
        distinct: Whether it is known that no two are equal.
    """
    clusters = [ZeroCluster(zero, (k,)) for k, zero in enumerate(found)]
    known: dict[tuple[int, int], bool | None] = {}
    for attempt in range(_ROUNDS):
        check_limits()
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
                known[key] = _are_equal(left.zero, right.zero)
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
            clusters[k] = replace(clusters[k], zero=refine(zero, width))
        clusters = [each for k, each in enumerate(clusters) if k not in merged]
    places: list[ZeroCluster] = []
    for each in clusters:
        if places and _clash(places[-1].zero, each.zero):
            each = places.pop().joined(each, False)
        places.append(each)
    return tuple(places)


_HIGHEST = 16_000  # degree in e^{ε/N}: a common divisor takes seconds, without a way to stop


def _clash(left: Zero, right: Zero) -> bool:
    """Whether one box may contain the zero of the other; boxes come in order."""
    # Ends are no zeros of the box's own function, but may be a rational zero of another.
    touching = left.upper == right.lower and (left.is_exact or right.is_exact)
    return left.upper > right.lower or touching


def _are_equal(left: Zero, right: Zero) -> bool | None:
    """Whether two zeros with overlapping boxes are one number.

    Returns:
        None if that cannot be told: the degrees are too high.
    """
    if left.form is None or right.form is None:
        return left.form is None and right.form is None
    step = content((left.form.rate, right.form.rate))
    first, second = (
        form.polynomial.inflate([1, int(form.rate / step)]) for form in (left.form, right.form)
    )
    if max(first.degrees()[1], second.degrees()[1]) > _HIGHEST:
        return None
    common = NormalForm(step, first.gcd(second)).function()
    # A divisor of a form is not 0 at the ends, and changes its sign at a simple zero.
    lower, upper = max(left.lower, right.lower), min(left.upper, right.upper)
    return sign_at(common, lower) != sign_at(common, upper)


class SignBox(NamedTuple):
    """A range of ε with the sign of G at its lower end, or just above 0.

    G has no zero in it, or one, a simple one, inside: then it crosses.
    """

    lower: Fraction
    upper: Fraction | None
    sign: int
    crosses: bool = False


Cover = tuple[SignBox, ...]  # ascending, at least one, each beginning where the one before ends


class BoxesUsedUp(LimitReached):
    """A cover needs more boxes than it was allowed."""


def cover(form: NormalForm, interval: EpsilonInterval, most: int) -> Cover:
    """Prove the signs of G, not 0 at any rational ε > 0, on the closure of an interval, no point.

    This ends, given enough boxes, if G has simple zeros only: a box that is small enough has a
    range without 0, or lies so near to a zero that G' is not 0 on it. Else BoxesUsedUp is raised.
    """
    evaluator, lower, upper = Evaluator(form), interval.lower, interval.upper
    boxes, beyond = list[SignBox](), list[SignBox]()
    if not lower:
        start, (lower, sign) = lower, near_zero(evaluator, upper)
        boxes.append(SignBox(start, lower, sign))
    if upper is None:
        upper, sign = far_away(form, lower)
        beyond.append(SignBox(upper, None, sign))
    waiting = [(lower, upper)] if lower < upper else []
    for used in count():
        if not waiting:
            break
        check_limits()
        if used >= most:
            low, high = short(Enclosure(*waiting[-1]))
            raise BoxesUsedUp(f"box-budget: undecided for eps in [{low}, {high}]")
        left, right = waiting.pop()
        # The order of Taylor's formula: 2, but more where the boxes become many.
        box = _settle(evaluator, left, right, min(2 << (used // 24), 32))
        if box is None:
            middle = split_point(left, right)
            waiting += [(middle, right), (left, middle)]
        else:
            boxes.append(box)
    return (*boxes, *beyond)


def _settle(evaluator: Evaluator, left: Fraction, right: Fraction, order: int) -> SignBox | None:
    """Prove something of one box, if it is small enough: that G, or that G', is not 0 there."""
    sign, slope = evaluator.on_box(left, right, order)
    if sign:
        return SignBox(left, right, sign)
    if not slope:
        return None
    sign = evaluator.sign(left)
    return SignBox(left, right, sign, sign != evaluator.sign(right))


def near_zero(evaluator: Evaluator, most: Fraction | None) -> tuple[Fraction, int]:
    """Return some η <= `most` and the sign of G on (0, η].

    G^(order), the first derivative that is not 0 at 0, has no zero in [0, η]; by Taylor's formula
    G(ε) = ε^order / order! · G^(order)(ξ) with 0 < ξ < ε has its sign. There is one: G solves a
    linear differential equation with constant coefficients, of the order of how many ε^n e^(-jρε)
    there are with n <= deg P_j.
    """
    order = 0
    while not (value := evaluator.derivative(order).polynomial(0, 1)):
        check_limits()
        order += 1
    rate = evaluator.form.rate * max(evaluator.form.degree, 1)
    upper = Fraction(4 * (order + 1)) / rate
    upper = Fraction(2) ** (upper.numerator.bit_length() - upper.denominator.bit_length())
    if most is not None:
        upper = min(upper, most)
    while not evaluator.constant_near_zero(order, upper):
        check_limits()
        upper /= 2
    return upper, 1 if value > 0 else -1


def far_away(form: NormalForm, least: Fraction) -> tuple[Fraction, int]:
    """Return some M >= `least` and the sign of G on [M, ∞): that of c ε^n, the last term of P_0.

    Let T be the terms d ε^i e^(-jρε) of the other sign. Σ_T |d| ε^(i-n) e^(-jρε) < |c| at M, and
    beyond it does not increase, as M j ρ >= i - n for all of T.
    """
    power, leading = form.far()
    sign = 1 if leading > 0 else -1
    against = [
        (int(n) - power, int(j), int(abs(c)))
        for (n, j), c in form.polynomial.terms()
        if c * sign < 0
    ]
    lower = max(
        least, *(Fraction(n) / (j * form.rate) for n, j, _ in against if n > 0), Fraction(0)
    )
    if not lower:
        lower = Fraction(1)
    while True:
        check_limits()
        with precision(START_BITS):
            x = to_ball(lower)
            exponent = x * to_ball(-form.rate)
            total = to_ball(-abs(leading))
            for n, j, c in against:
                total += (exponent * j).exp() * x**n * c
            if total < 0:
                return lower, sign
        lower *= 2


_FIRST_BOXES = 100  # boxes before the function is split into squarefree parts
_WORK_BUDGET = 500_000_000
"""Largest degree² times number of terms that is decomposed: two seconds, without a way to stop."""

_BOXES_IN_DOUBT = 1000
"""Boxes for a function that may have double zeros, its degree being too high to see."""

_MOST_BOXES = 1_000_000
_Parts = list[tuple[NormalForm, Cover, int]]
"""Factors without rational zeros, covered, with their exponents >= 1; none shares a zero > 0."""


class SignChart(Record):
    interval: EpsilonInterval
    # Those strictly inside the interval, ascending, their boxes disjoint or touching.
    zeros: tuple[Zero, ...]
    # The sign between them: one more than zeros; all 0 for the zero function.
    signs: tuple[int, ...]
    zero_at_lower: bool  # whether the lower end belongs to the interval and is a zero
    zero_at_upper: bool


def _parts(form: NormalForm, interval: EpsilonInterval) -> tuple[int, _Parts]:
    """Split a function without rational zeros: positive function * sign * Π part^exponent."""
    try:
        return 1, [(form, cover(form, interval, _FIRST_BOXES), 1)]
    except BoxesUsedUp:
        pass
    degree = form.degree
    if degree**2 * len(form.polynomial) > _WORK_BUDGET:
        try:
            return 1, [(form, cover(form, interval, _BOXES_IN_DOUBT), 1)]
        except BoxesUsedUp as stuck:
            raise LimitReached(f"degree-budget: degree {degree}; {stuck.reason}") from stuck
    # They are not constant, have simple zeros only, and no two have one in common (`normal_form`).
    constant, factors = form.polynomial.factor_squarefree()
    parts = [(NormalForm(form.rate, factor), int(n)) for factor, n in factors]
    sign = 1 if constant > 0 else -1
    return sign, [(part, cover(part, interval, _MOST_BOXES), n) for part, n in parts]


def zeros(function: ExponentialPolynomial, interval: EpsilonInterval) -> SignChart:
    """Isolate all zeros of a function on an interval.

    The zero function has no isolated zeros: its chart has none, and the sign 0.
    """
    if not function:
        return SignChart(interval, (), (0,), interval.lower_included, interval.upper_included)
    if interval.is_point:
        sign = sign_at(function, interval.lower)
        return SignChart(interval, (), (sign,), not sign, not sign)
    rational, form = reduce_function(function)
    sign, parts = _parts(form, interval)
    found: list[Zero] = []
    for place, multiplicity in rational:
        if interval.encloses(place):
            found.append(Zero(place, place, multiplicity, None))
        if place > interval.lower and multiplicity % 2:
            sign = -sign
    for part, boxes, exponent in parts:
        if exponent % 2:
            sign *= boxes[0].sign
        for box in boxes:
            if box.crosses and box.upper is not None:
                found.append(Zero(box.lower, box.upper, exponent, part))
    ordered, signs = list[Zero](), [sign]
    for cluster in in_order(found, distinct=True):
        zero = cluster.zero
        if len(cluster.members) > 1:
            near, _ = short(Enclosure.exact(zero.lower))
            raise LimitReached(
                f"precision-budget: two zeros near eps = {near} cannot be told apart"
            )
        ordered.append(zero)
        signs.append(-signs[-1] if zero.changes_sign else signs[-1])
    places = [place for place, _ in rational]
    return SignChart(
        interval,
        tuple(ordered),
        tuple(signs),
        interval.lower_included and interval.lower in places,
        interval.upper_included and interval.upper in places,
    )
