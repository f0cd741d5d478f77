"""Recorded functions that are >= 0 on an interval, each examined by its recorded proof."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import lcm
from typing import assert_never

from flint import arb

from dipapprox.certificates.proofs import (
    DerivativesAtZero,
    Factor,
    Factors,
    NoNegativeTerm,
    Point,
    Proof,
)
from dipapprox.checking.claims import Interval
from dipapprox.checking.decisions import covers
from dipapprox.checking.decisions.covers import Refuted
from dipapprox.checking.decisions.quotients import Canonical, as_function, canonical
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.precision import precision, to_ball

_MOST_BITS = 2**14


def is_positive(function: Canonical, proof: Proof, interval: Interval, limits: Limits) -> bool:
    """Examine a proof that a function is >= 0 on an interval.

    Returns:
        Whether it proves that the function is even > 0 there.

    Raises:
        Refuted: If the proof is wrong.
        Stuck: If its truth cannot be told.
        LimitReached: If `limits` run out.
    """
    match proof:
        case NoNegativeTerm():
            if any(c < 0 for _, _, c in function):
                raise Refuted("a term is negative")
            return bool(function)
        case DerivativesAtZero():
            if not grows_from_zero(function, limits):
                raise Refuted("derivatives at 0 do not prove it")
            return True
        case Point(eps=eps, sign=sign):
            if not interval.is_point or eps != interval.lower:
                raise Refuted("the interval is not that point")
            if sign_at(as_function(function), eps, limits) != sign or sign < 0:
                raise Refuted(f"the sign at {brief_text(eps)} is another one")
            return sign > 0
        case Factors():
            return _by_factors(function, proof, interval, limits)
        case _:
            assert_never(proof)


def grows_from_zero(function: Canonical, limits: Limits) -> bool:
    """Whether values at 0 prove that a function is > 0 for all ε > 0.

    With f = f_0 and, up to positive factors e^(qε) and integers, f_(i+1) = f_i': if f_i(0) >= 0 and
    f_(i+1) > 0 then f_i increases from a value >= 0. A function whose terms are all > 0 is > 0.
    The smallest rate is kept at 0, where derivatives lower its degree until it is gone.
    """
    if not function:
        return False
    steps = lcm(*(q.denominator for _, q, _ in function))
    terms = {(n, int(q * steps)): c for n, q, c in function}
    while True:
        limits.check()
        lowest = min(q for _, q in terms)
        terms = {(n, q - lowest): c for (n, q), c in terms.items()}
        if min(terms.values()) > 0:
            return True
        if sum(c for (n, _), c in terms.items() if not n) < 0:
            return False
        slope: dict[tuple[int, int], int] = {}
        for (n, q), c in terms.items():
            slope[n, q] = slope.get((n, q), 0) + q * c
            if n:
                slope[n - 1, q] = slope.get((n - 1, q), 0) + steps * n * c
        terms = {key: c for key, c in slope.items() if c}
        if not terms:
            return False  # a constant < 0 was refused above: not reached


def _by_factors(function: Canonical, proof: Factors, interval: Interval, limits: Limits) -> bool:
    """No factor with an odd exponent may change its sign inside the interval."""
    if interval.is_point:
        raise Refuted("the interval is a point")
    product = ExponentialPolynomial.constant(proof.sign)
    whole = _extents(as_function(function))
    sign: int = proof.sign
    positive = True
    for zero, multiplicity in proof.rational_zeros:
        if multiplicity > whole[0]:
            raise Refuted("a factor is larger than the function")
        linear = ExponentialPolynomial.of({(1, _ZERO): Fraction(1), (0, _ZERO): -zero})
        product = product * linear**multiplicity
        below = interval.upper is not None and zero >= interval.upper
        if multiplicity % 2 and not below and zero > interval.lower:
            raise Refuted(f"the sign changes at {brief_text(zero)}")
        if multiplicity % 2 and below:
            sign = -sign
        positive = positive and zero not in interval
    for part in proof.factors:
        limits.check()
        factor = _function(part)
        # Extents of products add up: what exceeds the whole is no factor, and may be huge.
        if any(
            part.exponent * own > all_ for own, all_ in zip(_extents(factor), whole, strict=True)
        ):
            raise Refuted("a factor is larger than the function")
        product = product * factor**part.exponent
    if canonical(product) != function:
        raise Refuted("the product of the factors is another function")
    for part in proof.factors:
        if part.cover is None:
            if part.exponent % 2:
                raise Refuted("a factor with an odd exponent has no cover")
            positive = False
            continue
        first, crosses = covers.examine(part, part.cover, interval, limits)
        if part.exponent % 2:
            sign *= first
            if crosses:
                raise Refuted("a factor with an odd exponent changes its sign")
        positive = positive and not crosses
    if sign < 0:
        raise Refuted("the factors make it negative")
    return positive


def _extents(function: ExponentialPolynomial) -> tuple[Fraction, Fraction]:
    """How far the powers of ε and the rates of a function reach."""
    powers = [n for (n, _), _ in function.terms] or [0]
    rates = [q for (_, q), _ in function.terms] or [_ZERO]
    return Fraction(max(powers) - min(powers)), max(rates) - min(rates)


def _function(part: Factor) -> ExponentialPolynomial:
    return ExponentialPolynomial.of(
        {(n, -j * part.rate): Fraction(c) for (n, j), c in covers.terms_of(part).items()}
    )


def sign_at(function: ExponentialPolynomial, eps: Fraction, limits: Limits) -> int:
    """The sign at a rational ε > 0.

    Raises:
        Stuck: If it cannot be told.
        LimitReached: If `limits` run out.
    """
    value = function.at(eps)
    if not value:
        return 0
    top = max(q for (_, q), _ in value.terms)
    bits = 64
    while bits <= _MOST_BITS:
        limits.check()
        with precision(bits):
            total = reduce(
                arb.__add__, (to_ball(c) * to_ball(q - top).exp() for (_, q), c in value.terms)
            )
            if total > 0:
                return 1
            if total < 0:
                return -1
        bits *= 4
    raise Stuck(f"{_MOST_BITS} bits do not tell the sign of a function at {brief_text(eps)}")


_ZERO = Fraction(0)
