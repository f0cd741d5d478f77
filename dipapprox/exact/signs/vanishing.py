"""Which of several functions are 0 at the same ε? Exact, by common divisors (`bivariate`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from dipapprox.errors import LimitReached
from dipapprox.exact.signs.bivariate import vanishes_too
from dipapprox.exact.signs.interval import EpsilonInterval, simplest_between
from dipapprox.exact.signs.zero import Zero, refine
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits

_NEAR = Fraction(1, 2**10)
"""How near a zero the number is that stands for it in reports."""

Key = TypeVar("Key")


def vanishing_together(
    functions: Mapping[Key, ExponentialPolynomial], epsilons: EpsilonInterval, limits: Limits
) -> Iterator[tuple[frozenset[Key], Fraction]]:
    """Yield, for every zero of one of the functions in an interval, which of them are 0 there.

    Args:
        functions: Named; none is the zero function, unless the interval is a point.
        (names of the functions that vanish, the zero or a number near it).

    Raises:
        LimitReached: If the zeros cannot be isolated.
    """
    names: dict[ExponentialPolynomial, list[Key]] = {}
    for name, function in functions.items():
        names.setdefault(function, []).append(name)
    if epsilons.is_point:
        vanishing = _zero_at(names, epsilons.lower)
        if vanishing:
            yield vanishing, epsilons.lower
        return
    for function in names:
        if all(c > 0 for _, c in function.terms) or all(c < 0 for _, c in function.terms):
            continue
        chart = zeros(function, epsilons, limits)
        if chart.zero_at_lower:
            yield _zero_at(names, epsilons.lower), epsilons.lower
        for zero in chart.zeros:
            near = refine(zero, _NEAR, limits)
            place = near.lower if near.is_exact else simplest_between(near.lower, near.upper)
            yield _zero_in(names, zero, limits), place
        if chart.zero_at_upper and epsilons.upper is not None:
            yield _zero_at(names, epsilons.upper), epsilons.upper


def _zero_at(names: Mapping[ExponentialPolynomial, list[Key]], place: Fraction) -> frozenset[Key]:
    return frozenset(k for function, keys in names.items() if not function.at(place) for k in keys)


def _zero_in(
    names: Mapping[ExponentialPolynomial, list[Key]], zero: Zero, limits: Limits
) -> frozenset[Key]:
    """The functions that vanish at a zero, given as the only one of a form in a box."""
    if zero.form is None:
        return _zero_at(names, zero.lower)
    found: set[Key] = set()
    for function, keys in names.items():
        limits.check()
        vanishes = vanishes_too(zero.form, function, zero.lower, zero.upper, limits)
        if vanishes is None:
            raise LimitReached("degree-budget: a common zero of functions of too high degrees")
        if vanishes:
            found |= set(keys)
    return frozenset(found)
