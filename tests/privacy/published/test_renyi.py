"""Rényi divergences of programs that publish numbers, against closed forms."""

from __future__ import annotations

from fractions import Fraction as F
from math import exp, log

import pytest

import dipapprox
from dipapprox.privacy.profiles.profile_result import RenyiProfile


def divergences(text: str, *orders: str, bits: int = 8192) -> RenyiProfile:
    program = dipapprox.parse("input q in {0, 1}\nadjacent linf 1\n" + text)
    options = dipapprox.Options(max_precision=bits)
    found = dipapprox.profile(program, eps=1, renyi=orders, options=options)
    assert isinstance(found, RenyiProfile)
    return found


def enclosed(found: RenyiProfile, place: int, expected: float) -> None:
    divergence = found.orders[place].divergence
    assert float(divergence.lower) == pytest.approx(expected, abs=1e-6)
    assert divergence.lower - F(1, 10**12) <= expected <= divergence.upper + F(1, 10**12)
    assert divergence.upper - divergence.lower < F(1, 10**5)


def laplace(order: float, shift: float) -> float:
    """Mironov 2017, table II."""
    a = order
    if a == 1:
        return shift + exp(-shift) - 1
    parts = a * exp((a - 1) * shift) + (a - 1) * exp(-a * shift)
    return log(parts / (2 * a - 1)) / (a - 1)


def test_gaussian_noise_adds_half_the_order_times_the_square() -> None:
    found = divergences(
        "output y[2] in real\ny[1] <- Gauss(q, 2)\ny[2] <- Gauss(3 * q, 4)", "1", "2", "8"
    )
    for place, order in enumerate((1, 2, 8)):
        enclosed(found, place, order * (1 / 4 + 9 / 16) / 2)


def test_laplace_noise_below_its_pure_budget() -> None:
    found = divergences("output y in real\ny <- Lap(q, 1 / eps)", "1", "2", "30", "inf")
    for place, order in enumerate((1, 2, 30)):
        enclosed(found, place, laplace(order, 1))
    enclosed(found, 3, 1.0)


def test_clamping_keeps_what_is_known_on_one_side() -> None:
    """Everything below 0 is one atom: a sum over that and a half-line, by hand for order 2."""
    found = divergences(
        "output y in real\nr <- Lap(q, 1)\nif r < 0 then\n    y <- 0\nelse\n    y <- r\nend", "2"
    )
    # u = 1: atoms 1/(2e) and 1/2; densities e^-|y-1| / 2 and e^-y / 2.
    one = (1 / (2 * exp(1))) ** 2 / (1 / 2)
    one += exp(-2) * (exp(3) - 1) / 6 + exp(2) * exp(-1) / 2
    other = (1 / 2) ** 2 / (1 / (2 * exp(1)))
    other += exp(1) * (1 - exp(-3)) / 6 + exp(-1) * exp(-1) / 2
    enclosed(found, 0, log(max(one, other)))


def test_without_a_bound_of_the_tails_there_is_a_lower_one() -> None:
    found = divergences(
        "output y in real\nr <- Gauss(q, 1)\nif r < 0 then\n    y <- 0\nelse\n    y <- r\nend",
        "2",
        bits=80,
    )
    divergence = found.orders[0].divergence
    assert divergence.upper is None
    assert F(9, 10) < divergence.lower < 1  # clamping is post-processing
    assert "quotient of densities" in found.run.reason


@pytest.mark.parametrize(
    ("published", "infinite"),
    [
        ("y[1] <- Gauss(q, 1)\ny[2] <- 0", True),
        ("a <- Gauss(q, 1)\nb <- Gauss(0, 1)\ny[1] <- a + b\ny[2] <- a - 2 * b", True),
        ("y[1] <- Gauss(0, 1)\ny[2] <- Lap(q, 1)", False),
    ],
)
def test_gaussian_densities_that_are_shifted_have_no_largest_quotient(
    published: str, infinite: bool
) -> None:
    text = f"input q in {{0, 1}}\noutput y[2] in real\nadjacent all\n{published}\n"
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    assert found.eps_prv_enclosure.infinite is infinite
