"""Polynomials with balls as coefficients against the functions they hold, at many places."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import pytest
from flint import arb, arb_poly
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.taylor import exponential, running, shortened, times, whole

PLACES = [Fraction(k, 8) for k in range(-8, 9)]
fractions = st.fractions(min_value=-2, max_value=2, max_denominator=16)

Polynomial = list[Fraction]


def value(of: Polynomial, t: Fraction) -> Fraction:
    """The polynomial at a place."""
    return sum((c * t**k for k, c in enumerate(of)), Fraction(0))


def integral(of: Polynomial, low: Fraction, high: Fraction) -> Fraction:
    """The integral between two places."""
    parts = (c / (k + 1) * (high ** (k + 1) - low ** (k + 1)) for k, c in enumerate(of))
    return sum(parts, Fraction(0))


@st.composite
def held(draw: st.DrawFn) -> tuple[arb_poly, list[Callable[[Fraction], Polynomial]]]:
    """A polynomial of balls, and functions with coefficients in them that differ from t to t."""
    size = draw(st.integers(1, 6))
    middles = [draw(fractions) for _ in range(size)]
    radii = [abs(draw(fractions)) for _ in range(size)]
    balls = [to_ball(m) + to_ball(r) * arb(0, 1) for m, r in zip(middles, radii, strict=True)]

    def function(k: int) -> Callable[[Fraction], Polynomial]:
        def at(t: Fraction) -> Polynomial:
            side = {0: 0, 1: 1, 2: -1, 3: 1 if t > 0 else -1, 4: -1 if t > 0 else 1}[k]
            return [m + side * r for m, r in zip(middles, radii, strict=True)]

        return at

    return arb_poly(balls), [function(k) for k in range(5)]


@given(one=held(), other=held(), terms=st.integers(1, 8))
def test_products_and_sums(one: tuple, other: tuple, terms: int) -> None:
    with precision(100):
        (f, fs), (g, gs) = one, other
        product, total, short = times(f, g, terms), f + g, shortened(f, terms)
        assert product.length() <= terms >= short.length()
        for t in PLACES:
            at = to_ball(t)
            for a in fs:
                x = value(a(t), t)
                assert to_ball(x).overlaps(short(at))
                for b in gs:
                    y = value(b(t), t)
                    assert to_ball(x * y).overlaps(product(at))
                    assert to_ball(x + y).overlaps(total(at))


@given(one=held(), terms=st.integers(1, 8))
def test_integrals(one: tuple, terms: int) -> None:
    """Of functions that jump at 0 from one of the polynomials they are in to another."""
    with precision(100):
        f, fs = one
        everything, up, down = whole(f), running(f, True, terms), running(f, False, terms)
        assert max(up.length(), down.length()) <= terms
        for a in fs:
            first, last = a(Fraction(-1)), a(Fraction(1))

            def over(low: Fraction, high: Fraction, first=first, last=last) -> Fraction:
                zero = Fraction(0)
                return integral(first, min(low, zero), min(high, zero)) + integral(
                    last, max(low, zero), max(high, zero)
                )

            assert to_ball(over(Fraction(-1), Fraction(1))).overlaps(everything)
            for t in PLACES:
                assert to_ball(over(Fraction(-1), t)).overlaps(up(to_ball(t)))
                assert to_ball(over(t, Fraction(1))).overlaps(down(to_ball(t)))


@pytest.mark.parametrize("k", range(6))
def test_what_changes_sign_on_the_way_does_not_cancel(k: int) -> None:
    """|f| <= 1 where t^k has one sign, and the other sign where it has the other."""
    with precision(100):
        f = arb_poly([0] * k + [arb(0, 1)])
        most = Fraction(2, k + 1)
        assert abs(whole(f)).upper() >= to_ball(most).lower()
        assert abs(running(f, True, 9)(arb(1))).upper() >= to_ball(most).lower()
        assert abs(running(f, False, 9)(arb(-1))).upper() >= to_ball(most).lower()


@pytest.mark.parametrize("terms", [1, 2, 5, 12])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 7), Fraction(-3), Fraction(9, 2)])
def test_exponentials(rate: Fraction, step: int, terms: int) -> None:
    with precision(100):
        found = exponential(to_ball(rate), terms, step)
        for t in PLACES:
            exact = to_ball(rate * t**step).exp()
            assert found(to_ball(t)).overlaps(exact)
        # What is left out at 1 is at least the next term, and with e^|rate| as a factor enough.
        count = -(-terms // step)
        left = to_ball(abs(rate)) ** count / arb(count).gamma() / count
        assert found.length() <= terms
        assert found(arb(1)).rad() <= left * to_ball(abs(rate)).exp() * arb("1.001") + arb("1e-25")
        assert found(arb(1)).rad() * arb("1.001") >= left


@pytest.mark.parametrize("n", [3, 6])
def test_short_products_are_near(n: int) -> None:
    """(1 + t / 8)^(2 n) from two halves: what is left out is what the last coefficients are."""
    with precision(100):
        half = arb_poly([to_ball(Fraction(comb(n, k), 8**k)) for k in range(n + 1)])
        found = times(half, half, n + 1)
        left = sum(Fraction(comb(2 * n, k), 8**k) for k in range(n + 1, 2 * n + 1))
        for t in PLACES:
            ball = found(to_ball(t))
            assert ball.overlaps(to_ball((1 + t / 8) ** (2 * n)))
            assert ball.rad() <= to_ball(left) * arb("1.001") + arb("1e-25")
