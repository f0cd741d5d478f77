"""All zeros of an exponential polynomial on an interval, isolated, with the signs between them.

    split off the rational zeros  ->  cover what is left with few boxes
                                          | too few?
                                          v
                          squarefree parts (their zeros are simple and distinct), cover each

A double zero, or nearly one, is what makes the first attempt fail. The second ends with an answer
if the boxes suffice. Where the degree is too high for a decomposition there is one part, which may
have double zeros, and is given up after few boxes.
"""

from __future__ import annotations

from fractions import Fraction

from flint import Ordering, fmpz_mpoly_ctx

from dipapprox.arithmetic.decimals import short
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.cover import BoxesUsedUp, Cover, cover
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.normal_form import NormalForm, normal_form, reduce_function
from dipapprox.exact.signs.values import sign_at
from dipapprox.exact.signs.zero import Zero, in_order
from dipapprox.exponentials import Exponent, ExponentialPolynomial
from dipapprox.limits import Limits

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
        interval: As asked.
        zeros: Those strictly inside the interval, ascending, their boxes disjoint or touching.
        signs: The sign between them: one more than zeros; all 0 for the zero function.
        zero_at_lower: Whether the lower end belongs to the interval and is a zero.
        zero_at_upper: Likewise.
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

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
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
