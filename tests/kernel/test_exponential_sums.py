"""Exponential polynomials and their quotients: against floats, and what is too long."""

from __future__ import annotations

from fractions import Fraction
from math import exp, isclose
from typing import Any

import pytest

from dipapprox.kernel import exponentials
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.exponentials import Ratio, Sum, power


def value(function: Sum | Ratio, eps: Fraction) -> float:
    if isinstance(function, Ratio):
        below = 1.0
        for factor, exponent in function.denominator:
            below *= value(factor, eps) ** exponent
        return value(function.numerator, eps) / below
    at = float(eps)
    return sum(float(c) * at**n * exp(float(q) * at) for (q, n), c in function.terms)


def near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def test_only_multiples_of_eps_are_exponents() -> None:
    def linear(c: Any, n: int = 1, q: Any = 0) -> Ratio:
        return Ratio(Sum.of([((Fraction(q), n), Fraction(c))]))

    assert near(value(linear(Fraction(-1, 2)).exponential(), Fraction(3)), exp(-1.5))
    assert linear(0).exponential() == Ratio.constant(Fraction(1))
    quotient = Ratio(Sum.constant(1)) * Ratio(Sum.exponential(1) + Sum.constant(1)).inverse()
    for other in (linear(1, 0), linear(1, 2), linear(1, 1, 1), linear(1) + linear(1, 0), quotient):
        with pytest.raises(Refused, match="no rational multiple"):
            other.exponential()


def test_what_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert power(Fraction(-2, 3), 5) == Fraction(-32, 243)
    assert power(Fraction(2, 3), -2) == Fraction(9, 4)
    for base, exponent in ((Fraction(2), 10**6), (Fraction(2), -(10**6)), (Fraction(2) ** 999, 99)):
        with pytest.raises(Refused, match="too long"):
            power(base, exponent)
    with pytest.raises(Refused, match="too long"):
        Sum.constant(Fraction(2) ** 70_000)
    with pytest.raises(Refused, match="too long"):
        Sum.exponential(Fraction(2) ** 70_000)
    monkeypatch.setattr(exponentials, "MOST_TERMS", 6)
    three = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(3))
    with pytest.raises(Refused, match="a product of more than 6"):
        _ = three * three
    two = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(2))
    assert len((three * two).terms) == 4
    with pytest.raises(Refused, match="more than 6 terms"):
        Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(7))
