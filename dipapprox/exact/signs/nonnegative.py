"""Is an exponential polynomial >= 0 for every ε of an interval, and where is it negative?

Cheap arguments first: the zero function, no negative coefficient, the chain of derivatives at 0,
a sign at one point, the signs just above 0 and far away. Only then the zeros are looked for
(`zeros`): f >= 0 exactly if f > 0 somewhere and all zeros inside have even multiplicities. Ratios
are brought to one polynomial of the same sign.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, simplest
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.normal_form import NormalForm, derived, normal_form
from dipapprox.exact.signs.values import Function, sign_at
from dipapprox.exact.signs.zeros import Zero, refine, zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import check_limits


def chain_sign(form: NormalForm) -> tuple[int, int]:
    """Look at G and repeated derivatives at 0 only.

    Write H_0 = G e^(Jρε), J the largest j, so that all rates are >= 0 and the smallest is 0. From
    H_i, a sum with smallest rate 0, make H_(i+1): the derivative (times the denominator of ρ), and
    if that has no term of rate 0, times e^(-rε) with r its smallest rate.

    If H_i(0) >= 0 and H_(i+1) > 0 on (0, ∞), then H_i > 0 there: H_i' has the sign of H_(i+1).
    A sum all of whose coefficients are > 0 is > 0. So non-negative values H_i(0) up to such a sum
    prove G > 0 on (0, ∞).

    Each step maps a leading term c ε^k, k >= 1, at 0 to a positive multiple of c ε^(k-1). So the
    first H_i(0) that is not 0 has the sign of G on some (0, η).

    Each step lowers the degree of the coefficient of the smallest rate: the chain ends.

    Returns:
        (1 if G > 0 on (0, ∞) is proved else 0, the sign of G on some (0, η)); the second is exact
        whenever the first is 0.
    """
    top, near = form.degree, 0
    terms = form.polynomial.to_dict().items()
    polynomial = form.polynomial.context().from_dict({(n, top - j): c for (n, j), c in terms})
    while True:
        check_limits()
        value = polynomial(0, 1)  # in ε and e^(ρε)
        near = near or (value > 0) - (value < 0)
        if value < 0:
            return 0, near
        if all(c >= 0 for c in polynomial.coeffs()):
            return 1, 1
        polynomial = derived(polynomial, form.rate)
        least = min(k for _, k in polynomial.monoms())
        if least:
            polynomial = polynomial // polynomial.context().gens()[1] ** least


class Nonnegative(Record):
    """The function is >= 0 on the whole interval."""


class Negative(Record):
    """The function is < 0 at `eps`, a simple number of the interval."""

    eps: Fraction


class Undecided(Record):
    """Neither is proved; `reason` begins with what ran out: degree-, box-, precision-budget."""

    reason: str


Decision = Nonnegative | Negative | Undecided


def is_nonnegative(function: Function, interval: EpsilonInterval) -> Decision:
    """Decide whether `function` >= 0 for all ε of `interval` at which it is defined."""
    try:
        polynomial = polynomial_of_same_sign(function, interval)
        return _decide(polynomial, interval)
    except LimitReached as reached:
        return Undecided(reached.reason)


def _decide(function: ExponentialPolynomial, interval: EpsilonInterval) -> Nonnegative | Negative:
    if all(c > 0 for _, c in function.terms):
        return Nonnegative()
    if interval.is_point:
        negative = sign_at(function, interval.lower) < 0
        return Negative(interval.lower) if negative else Nonnegative()
    form = normal_form(function)
    constant, near = chain_sign(form)
    if constant:
        return Nonnegative()
    eps = simplest(interval.lower, interval.upper, inside=True)
    if sign_at(function, eps) < 0:
        return Negative(eps)
    if near < 0 and not interval.lower:
        return Negative(_descend(function, eps, Fraction(1, 2)))
    if form.far()[1] < 0 and interval.upper is None:  # far away
        return Negative(_descend(function, eps, Fraction(2)))
    found = zeros(function, interval)
    if min(found.signs) >= 0:
        return Nonnegative()
    return Negative(_witness(function, found.zeros, found.signs, interval))


def _descend(function: ExponentialPolynomial, eps: Fraction, factor: Fraction) -> Fraction:
    """Walk towards 0 or infinity until the function is negative; it is so from some point on."""
    while True:
        check_limits()
        eps *= factor
        if sign_at(function, eps) < 0:
            return eps


def _witness(
    function: ExponentialPolynomial,
    places: tuple[Zero, ...],
    signs: tuple[int, ...],
    interval: EpsilonInterval,
) -> Fraction:
    """Return a simple ε in the first gap where the function is negative."""
    gap = next(place for place, sign in enumerate(signs) if sign < 0)
    # Boxes next to the gap must leave some of it free, most of it if possible.
    left = places[gap - 1] if gap else None
    right = places[gap] if gap < len(places) else None
    while True:
        lower = left.upper if left else interval.lower
        upper = right.lower if right else interval.upper
        used = max((zero.upper - zero.lower for zero in (left, right) if zero), default=Fraction(0))
        if upper is None or used * 2 < upper - lower:
            break
        left = left and refine(left, used / 4)
        right = right and refine(right, used / 4)
    eps = simplest(lower, upper, inside=True)
    if sign_at(function, eps) >= 0:
        raise BrokenInvariant(f"the function is not negative at {eps}, as its zeros say")
    return eps


def positive_on(function: ExponentialPolynomial, interval: EpsilonInterval) -> bool:
    """Whether `function` > 0 at every ε of `interval`."""
    if not function:
        return False
    if all(c > 0 for _, c in function.terms) or chain_sign(normal_form(function))[0]:
        return True
    found = zeros(function, interval)
    return found.signs == (1,) and not (found.zero_at_lower or found.zero_at_upper)


def polynomial_of_same_sign(function: Function, interval: EpsilonInterval) -> ExponentialPolynomial:
    """Return g with the sign of `function` wherever that is defined in `interval`.

    Even powers in the denominator and factors > 0 on the interval are left out; what else stands
    in the denominator is multiplied instead of divided.
    """
    if isinstance(function, ExponentialPolynomial):
        return function
    numerator = function.numerator
    for factor, exponent in function.denominator:
        if exponent % 2 and not positive_on(factor, interval):
            numerator = numerator * factor
    return numerator


class NegativeRange(Record):
    """An interval of ε, open but for ends that are said to be included: those of what was asked.

    Ends that are known exactly are points; None is infinity.
    """

    lower: Enclosure
    upper: Enclosure | None
    lower_included: bool = False
    upper_included: bool = False


def negative_set(
    function: Function, interval: EpsilonInterval, width: Fraction
) -> tuple[NegativeRange, ...]:
    """Return the maximal intervals inside `interval`, no point, on which `function` < 0, ascending.

    Poles of a ratio end an interval as zeros do; enclosures of the ends are no wider than `width`.
    """
    if interval.is_point:
        raise ValueError("an open interval is asked for inside a point; use sign_at")
    polynomial = polynomial_of_same_sign(function, interval)
    chart = zeros(polynomial, interval)
    found: list[NegativeRange] = []
    for place, sign in enumerate(chart.signs):
        if sign >= 0:
            continue
        lower, upper = Enclosure.exact(interval.lower), None
        lower_included = upper_included = False
        if place:
            lower = _end(chart.zeros[place - 1], width)
        elif interval.lower_included:
            lower_included = sign_at(polynomial, interval.lower) < 0
        if place < len(chart.zeros):
            upper = _end(chart.zeros[place], width)
        elif interval.upper is not None:
            upper = Enclosure.exact(interval.upper)
            upper_included = interval.upper_included and sign_at(polynomial, interval.upper) < 0
        found.append(NegativeRange(lower, upper, lower_included, upper_included))
    return tuple(found)


def _end(zero: Zero, width: Fraction) -> Enclosure:
    fine = refine(zero, width)
    return Enclosure(fine.lower, fine.upper)
