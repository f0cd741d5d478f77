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
from dipapprox.exact.signs.normal_form import NormalForm, Reduced, normal_form, reduce_function
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


@dataclass(frozen=True, slots=True)
class FactorPart:
    """A factor with exponent.

    Attributes:
        exponent: >= 1.
        cover: What proves its signs; its zeros in the interval are simple.
        form: The factor.
    """

    form: NormalForm
    exponent: int
    cover: Cover


@dataclass(frozen=True, slots=True)
class Factors:
    """f = positive function * sign * Π (ε - a)^m * Π part^exponent.

    Attributes:
        sign: 1 or -1.
        rational_zeros: (a, m), a != 0, ascending: also those outside the interval.
        parts: The other factors; without rational zeros, and no two share a zero > 0.
    """

    sign: int
    rational_zeros: tuple[tuple[Fraction, int], ...]
    parts: tuple[FactorPart, ...]


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


def factorise(
    function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits
) -> Factors:
    """Split a function into factors whose signs on the interval are proved.

    Args:
        function: Not the zero function.
        interval: Not a point.
        limits: Asked often.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    reduced = reduce_function(function)
    try:
        whole = cover(reduced.form, interval, _FIRST_BOXES, limits)
        return Factors(1, reduced.rational_zeros, (FactorPart(reduced.form, 1, whole),))
    except BoxesUsedUp:
        return _by_parts(reduced, interval, limits)


def _by_parts(reduced: Reduced, interval: EpsilonInterval, limits: Limits) -> Factors:
    degree = reduced.form.groups[-1][0]
    if degree**2 * reduced.form.size > _WORK_BUDGET:
        try:
            whole = cover(reduced.form, interval, _BOXES_IN_DOUBT, limits)
        except BoxesUsedUp as stuck:
            raise LimitReached(f"degree-budget: degree {degree}; {stuck.reason}") from stuck
        return Factors(1, reduced.rational_zeros, (FactorPart(reduced.form, 1, whole),))
    sign, found = squarefree_parts(reduced.form)
    parts = [
        FactorPart(form, exponent, cover(form, interval, _MOST_BOXES, limits))
        for form, exponent in found
    ]
    return Factors(sign, reduced.rational_zeros, tuple(parts))


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
    return chart(factorise(function, interval, limits), interval, limits)


def chart(factors: Factors, interval: EpsilonInterval, limits: Limits) -> SignChart:
    """Order the zeros of all factors, and find the signs between them."""
    sign = factors.sign
    found: list[Zero] = []
    for place, multiplicity in factors.rational_zeros:
        if interval.encloses(place):
            found.append(Zero(place, place, multiplicity, None))
        if place > interval.lower and multiplicity % 2:
            sign = -sign
    for part in factors.parts:
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
