"""Weights of choices as functions of ε: exact quotients, and everything that they divide by.

A quotient in lowest terms does not tell where a weight is undefined: (ε - 1) / (ε - 1) becomes 1.
So what is divided by is kept apart (`divisors`), and is to be examined before a weight is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.checking.chances import Chance
from dipapprox.checking.decisions.quotients import Quotient, constant, lowest_terms
from dipapprox.checking.decisions.signs import sign_at
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.errors import BrokenInvariant
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language import core
from dipapprox.limits import Limits

_ONE = constant(1)


def chance_form(chance: Chance) -> Quotient:
    """Return the probability of an outcome as a function of ε.

    Raises:
        Stuck: If a weight is no quotient of exponential polynomials.
    """
    own = weight_form(chance.weights[chance.outcome])
    return divided(own, total_weight(chance)) if chance.proportional else own


def is_nothing(chance: Chance) -> bool:
    """Whether the weight of an outcome is 0 whatever ε is; False where that cannot be told."""
    weight = chance.weights[chance.outcome]
    match weight:
        case core.Constant(value):
            return not value
        case _:
            return _vanishes.find(weight, lambda: _is_zero(weight))


_vanishes: Cache[core.Weight, bool] = Cache(1000)


def _is_zero(weight: core.Weight) -> bool:
    try:
        return not weight_form(weight).top
    except Stuck:
        return False


def require_distribution(chance: Chance, eps: Fraction, limits: Limits) -> None:
    """Make sure that a choice is a probability distribution at one ε > 0, exactly.

    Raises:
        Stuck: If it is none, or that cannot be told.
        LimitReached: If `limits` run out.
    """
    total = total_weight(chance)
    for weight in chance.weights:
        for divisor in divisors(weight):
            if not sign_of(divisor, eps, limits):
                raise Stuck(f"a choice divides by 0 at eps = {brief_text(eps)}")
        if sign_of(weight_form(weight), eps, limits) < 0:
            raise Stuck(f"a choice has a weight below 0 at eps = {brief_text(eps)}")
    if chance.proportional:
        if not sign_of(total, eps, limits):
            raise Stuck(f"all weights of a choice are 0 at eps = {brief_text(eps)}")
    elif sign_of(total.minus(_ONE), eps, limits):
        raise Stuck(f"the probabilities of a choice do not add up to 1 at eps = {brief_text(eps)}")


def sign_of(quotient: Quotient, eps: Fraction, limits: Limits) -> int:
    """Return the sign at one ε > 0 at which the denominator, in lowest terms, is not 0.

    Raises:
        Stuck: If it cannot be told.
        LimitReached: If `limits` run out.
    """
    below = sign_at(quotient.bottom, eps, limits)
    if not below:
        raise Stuck(f"a division by 0 at eps = {brief_text(eps)}")
    return sign_at(quotient.top, eps, limits) * below


def divisors(weight: core.Weight) -> Iterator[Quotient]:
    """Yield what a weight divides by."""
    match weight:
        case core.Inverse(operand):
            yield weight_form(operand)
            yield from divisors(operand)
        case core.WeightSum(left, right) | core.WeightProduct(left, right):
            yield from divisors(left)
            yield from divisors(right)
        case core.Exponential(exponent):
            yield from divisors(exponent)
        case core.Epsilon():
            pass
        case core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product():
            pass
        case _:
            assert_never(weight)


def total_weight(chance: Chance) -> Quotient:
    """Return the sum of all weights of a choice."""
    return reduce(Quotient.plus, map(weight_form, chance.weights), constant(0))


def weight_form(weight: core.Weight) -> Quotient:
    """Return a weight as a function of ε.

    Raises:
        Stuck: If it is no quotient of exponential polynomials.
    """
    match weight:
        case core.Constant(Fraction() as value):
            return constant(value)
        case core.Epsilon():
            return Quotient(ExponentialPolynomial.monomial(1, power=1))
        case core.WeightSum(left, right):
            return weight_form(left).plus(weight_form(right))
        case core.WeightProduct(left, right):
            return weight_form(left).times(weight_form(right))
        case core.Inverse(operand):
            return divided(_ONE, weight_form(operand))
        case core.Exponential(exponent):
            return exponential_of(weight_form(exponent))
        case core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product():
            raise BrokenInvariant("weights are closed")
        case _:
            assert_never(weight)


def exponential_of(exponent: Quotient) -> Quotient:
    """Return e^(rate ε) for an exponent rate * ε.

    Raises:
        Stuck: If the exponent is something else.
    """
    match exponent.top.terms, exponent.bottom.as_constant():
        case (), _:
            return _ONE
        case (((1, rate), factor),), Fraction() as divisor if not rate:
            return Quotient(ExponentialPolynomial.monomial(1, rate=factor / divisor))
        case _:
            raise Stuck("an exponent that is no rational multiple of eps")


def divided(left: Quotient, right: Quotient) -> Quotient:
    """left / right.

    Raises:
        Stuck: If `right` is the zero function.
    """
    if not right.top:
        raise Stuck("a division by 0")
    return left.times(lowest_terms(right.bottom, right.top))
