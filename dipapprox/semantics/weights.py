"""Weights of choices: expressions in eps to exact ratios of exponential polynomials.

In: a `core.Weight` and the values of the finite-domain expressions in it. Out: an
`ExponentialRatio` in eps (DiPC paper, section 3.2). Monomials c·eps^n·e^(q·eps) never stay in a
denominator where they cancel, so that equal weights mostly look equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import assert_never

from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language import core
from dipapprox.semantics.evaluation import PathFault
from dipapprox.source import Span

_EPSILON = ExponentialPolynomial.monomial(1, 1)


def weight_value(
    weight: core.Weight, number: Callable[[core.Expression], Fraction], span: Span | None
) -> ExponentialRatio:
    """Return a weight as a function of eps.

    Args:
        weight: The weight.
        number: Evaluates the finite-domain expressions in it.
        span: The statement, for faults in parts that have no place of their own.

    Raises:
        PathFault: For a division by the zero function, and for e to the power of something that is
            no rational multiple of eps.
    """
    match weight:
        case core.Epsilon():
            return ExponentialRatio(_EPSILON)
        case core.WeightSum(left, right):
            return weight_value(left, number, span) + weight_value(right, number, span)
        case core.WeightProduct(left, right):
            return _cancelled(weight_value(left, number, span) * weight_value(right, number, span))
        case core.Inverse(operand):
            value = weight_value(operand, number, weight.span or span)
            if not value.numerator:
                raise PathFault("value error", "division by zero", weight.span or span)
            return inverse(value)
        case core.Exponential(exponent):
            value = weight_value(exponent, number, weight.span or span)
            return ExponentialRatio(
                ExponentialPolynomial.monomial(1, 0, _rate(value, weight.span or span))
            )
        case (
            core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product()
        ) as expression:
            return ExponentialRatio.constant(number(expression))
        case _:
            assert_never(weight)


def expressions_in(weight: core.Weight) -> Iterator[core.Expression]:
    """Yield the finite-domain expressions in a weight, constants apart."""
    match weight:
        case core.Epsilon() | core.Constant():
            return
        case core.WeightSum(left, right) | core.WeightProduct(left, right):
            yield from expressions_in(left)
            yield from expressions_in(right)
        case core.Inverse(operand) | core.Exponential(operand):
            yield from expressions_in(operand)
        case core.Variable() | core.Element() | core.Sum() | core.Product():
            yield weight
        case _:
            assert_never(weight)


def inverse(value: ExponentialRatio) -> ExponentialRatio:
    """1 / value for a function that is not the zero function."""
    if len(value.numerator.terms) > 1:
        return _cancelled(value.inverse())
    # 1 / (c eps^n e^(q eps)) = e^(-q eps) / c / eps^n
    (((power, rate), coefficient),) = value.numerator.terms
    turned = ExponentialRatio(ExponentialPolynomial.constant(1), value.denominator).inverse()
    factor = ExponentialPolynomial.monomial(1 / coefficient, 0, -rate)
    return _cancelled(ExponentialRatio.of(turned.numerator * factor, {_EPSILON: power}))


def proportions(weights: list[ExponentialRatio]) -> list[ExponentialRatio]:
    """Divide weights, not all of them 0, by their sum.

    A factor e^(q·eps) that all have in common goes first: scores that differ by a constant have
    equal laws, and these look equal.
    """
    rates = [rate for weight in weights for (_, rate), _ in weight.numerator.terms]
    if all(not weight.denominator for weight in weights):
        factor = ExponentialPolynomial.monomial(1, 0, -min(rates))
        weights = [ExponentialRatio(weight.numerator * factor) for weight in weights]
    total = ExponentialRatio.constant(0)
    for weight in weights:
        total = total + weight
    divisor = inverse(total)
    return [_cancelled(weight * divisor) for weight in weights]


def _rate(exponent: ExponentialRatio, span: Span | None) -> Fraction:
    """The q of an exponent q·eps."""
    terms = exponent.numerator.terms
    if not terms:
        return Fraction(0)
    if len(terms) == 1 and terms[0][0] == (1, Fraction(0)) and not exponent.denominator:
        return terms[0][1]
    raise PathFault(
        "value error",
        "the exponent of e is not a rational multiple of eps",
        span,
        "write exp(eps / 2) or exp(-2 * eps)",
    )


def _cancelled(ratio: ExponentialRatio) -> ExponentialRatio:
    """Cancel powers of eps."""
    below = dict(ratio.denominator)
    power = below.get(_EPSILON, 0)
    common = min([power, *(n for (n, _), _ in ratio.numerator.terms)])
    if not common:
        return ratio
    below[_EPSILON] = power - common
    numerator = {(n - common, q): c for (n, q), c in ratio.numerator.terms}
    return ExponentialRatio.of(ExponentialPolynomial.of(numerator), below)
