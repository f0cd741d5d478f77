"""Is an exponential polynomial >= 0 for every ε of an interval?

Cheap arguments first: the zero function, no negative coefficient, the chain of derivatives at 0,
a sign at one point, the signs just above 0 and far away. Only then the zeros are looked for
(`zeros`): f >= 0 exactly if f > 0 somewhere and all zeros inside have even multiplicities.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.exact.signs.chain import chain_sign
from dipapprox.exact.signs.interval import EpsilonInterval, simplest_between
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exact.signs.positive import polynomial_of_same_sign
from dipapprox.exact.signs.values import Function, sign_at
from dipapprox.exact.signs.zero import Zero, refine
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class Nonnegative:
    """The function is >= 0 on the whole interval."""


@dataclass(frozen=True, slots=True)
class Negative:
    """The function is < 0 at `eps`, a simple number of the interval."""

    eps: Fraction


@dataclass(frozen=True, slots=True)
class Undecided:
    """Neither is proved; `reason` begins with what ran out: degree-, box-, precision-budget."""

    reason: str


Decision = Nonnegative | Negative | Undecided


def is_nonnegative(function: Function, interval: EpsilonInterval, limits: Limits) -> Decision:
    """Decide whether `function` >= 0 for all ε of `interval` at which it is defined."""
    try:
        polynomial = polynomial_of_same_sign(function, interval, limits)
        return _decide(polynomial, interval, limits)
    except LimitReached as reached:
        return Undecided(reached.reason)


def _decide(
    function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits
) -> Nonnegative | Negative:
    if all(c > 0 for _, c in function.terms):
        return Nonnegative()
    if interval.is_point:
        negative = sign_at(function, interval.lower, limits) < 0
        return Negative(interval.lower) if negative else Nonnegative()
    form = normal_form(function)
    constant, near = chain_sign(form, limits)
    if constant:
        return Nonnegative()
    eps = simplest_between(interval.lower, interval.upper)
    if sign_at(function, eps, limits) < 0:
        return Negative(eps)
    if near < 0 and not interval.lower:
        return Negative(_descend(function, eps, Fraction(1, 2), limits))
    if _far_sign(form) < 0 and interval.upper is None:
        return Negative(_descend(function, eps, Fraction(2), limits))
    found = zeros(function, interval, limits)
    if min(found.signs) >= 0:
        return Nonnegative()
    return Negative(_witness(function, found.zeros, found.signs, interval, limits))


def _far_sign(form: NormalForm) -> int:
    return 1 if form.groups[0][1][-1] > 0 else -1


def _descend(
    function: ExponentialPolynomial, eps: Fraction, factor: Fraction, limits: Limits
) -> Fraction:
    """Walk towards 0 or infinity until the function is negative; it is so from some point on."""
    while True:
        limits.check()
        eps *= factor
        if sign_at(function, eps, limits) < 0:
            return eps


def _witness(
    function: ExponentialPolynomial,
    places: tuple[Zero, ...],
    signs: tuple[int, ...],
    interval: EpsilonInterval,
    limits: Limits,
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
        left = left and refine(left, used / 4, limits)
        right = right and refine(right, used / 4, limits)
    eps = simplest_between(lower, upper)
    if sign_at(function, eps, limits) >= 0:
        raise BrokenInvariant(f"the function is not negative at {eps}, as its zeros say")
    return eps
