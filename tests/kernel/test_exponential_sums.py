"""Exponential polynomials and their quotients: against floats, and what is too long."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp, isclose
from typing import Any

import pytest

from dipapprox.kernel import exponentials
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.exponentials import Ratio, Sum, power

POINTS = [Fraction(1, 3), Fraction(1), Fraction(5, 2)]


def some(source: random.Random, count: int = 3) -> Sum:
    """A few terms."""
    return Sum.of(
        (
            (Fraction(source.randint(-2, 2), source.randint(1, 2)), source.randint(-1, 2)),
            Fraction(source.randint(-4, 4), source.randint(1, 3)),
        )
        for _ in range(source.randint(1, count))
    )


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


@pytest.mark.parametrize("seed", range(10))
def test_operations_are_those_of_values(seed: int) -> None:
    source = random.Random(seed)
    f, g = some(source), some(source)
    monomial, part = f.parts() if f.terms else (Sum.constant(0), Sum.constant(1))
    if f.terms:
        assert all(int(c) == c for _, c in part.terms)
        assert (min(q for (q, _), _ in part.terms), min(n for (_, n), _ in part.terms)) == (0, 0)
        assert [c > 0 for _, c in monomial.terms] == [True]
    for eps in POINTS:
        x, y = value(f, eps), value(g, eps)
        assert near(value(f + g, eps), x + y)
        assert near(value(f * g, eps), x * y)
        assert near(value(f.scaled(-2), eps), -2 * x)
        assert near(value(f.at(eps), eps), x)
        assert all(n == 0 for (_, n), _ in f.at(eps).terms)
        assert near(value(monomial * part, eps), x)
        assert near(float(f.ball(exponentials.to_ball(eps)).mid()), x)
        assert f.sign(eps) == (0 if not f.terms else (x > 0) - (x < 0))
        step = 1e-6
        around = [value(f, eps + Fraction(d)) for d in (-step, step)]
        assert abs((around[1] - around[0]) / (2 * step) - value(f.derivative(), eps)) < 1e-4


@pytest.mark.parametrize("seed", range(10))
def test_quotients_are_those_of_values(seed: int) -> None:
    source = random.Random(seed)

    def ratio() -> Ratio:
        below = Sum.of(((abs(q), abs(n)), abs(c)) for (q, n), c in some(source).terms)
        below = below + Sum.constant(1)
        return Ratio(some(source)) * Ratio(below).inverse() * Ratio(below).inverse()

    f, g, h = ratio(), ratio(), ratio()
    whole = (f + g) * h - f * h
    for eps in POINTS:
        x, y, z = (value(each, eps) for each in (f, g, h))
        assert near(value(f + g, eps), x + y)
        assert near(value(f - g, eps), x - y)
        assert near(value(f * g, eps), x * y)
        assert near(value(whole, eps), y * z)
        assert near(value(f.at(eps), eps), x)
        assert near(float(f.ball(eps).mid()), x)
        # The divisor is > 0: the numerator has the sign.
        assert (f.numerator.sign(eps) > 0) == (x > 0)
    # What both have below is there once.
    same = f + f.scaled(3)
    assert same.denominator == f.denominator


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


def test_signs_that_take_many_bits_are_told() -> None:
    """e^(1/2) is above a rational number by less than 10^-60, or below another one."""
    near_it = Fraction("1.648721270700128146848650787814163571653776100710148011575079")
    for number, sign in ((near_it, 1), (near_it + Fraction(1, 10**60), -1)):
        function = Sum.exponential(1) + Sum.constant(-number)
        assert function.sign(Fraction(1, 2)) == sign
    assert (Sum.exponential(1) + Sum.exponential(1).scaled(-1)).sign(Fraction(1)) == 0
