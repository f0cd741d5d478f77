"""Numbers that share Gaussian noise, against δ of N(m, 1) and N(0, 1) with m² = v' S^-1 v.

S is the covariance of the numbers, v by how much they move (Balle and Wang 2018, theorem 8).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import dipapprox
from dipapprox.errors import NoCertificate
from dipapprox.privacy.profiles.profile_result import LeastDelta
from tests.moved_noise import gaussian

TREE = (
    "input x[4] in DOMAIN\noutput y[3] in real\nadjacent l1 1\n"
    "a <- Gauss(x[1] + x[2] + x[3] + x[4], 1 / eps)\nb <- Gauss(x[1] + x[2], 1 / eps)\n"
    "c <- Gauss(x[3] + x[4], 1 / eps)\n"
    "y[1] <- (a + 2*b - c) / 3\ny[2] <- (a + 2*c - b) / 3\ny[3] <- (2*a + b + c) / 3\n"
)
"""Least squares of a tree of counts: of three numbers one is the sum of the others."""


def least_delta(text: str, eps_prv: str) -> LeastDelta:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    assert isinstance(found, LeastDelta)
    return found


def test_any_matrix_of_noise() -> None:
    """Three numbers of four samples of different deviations; samples move, and numbers do."""
    rng = np.random.default_rng(7)
    matrix = rng.integers(-3, 4, (3, 4))
    assert np.linalg.matrix_rank(matrix) == 3
    deviations, shift = [1, 2, 3, 1], [2, 0, -1]
    text = "input q in {0, 1}\noutput y[3] in real\nadjacent all\n"
    for k, deviation in enumerate(deviations, 1):
        text += f"s{k} <- Gauss({k} * q, {deviation})\n"
    for i, row in enumerate(matrix):
        terms = " + ".join(f"{c} * s{k}" for k, c in enumerate(row, 1))
        text += f"y[{i + 1}] <- {terms} + {shift[i]} * q\n"
    moved = matrix @ np.arange(1, 5) + np.array(shift)
    covariance = matrix @ np.diag(np.array(deviations) ** 2) @ matrix.T
    square = float(moved @ np.linalg.solve(covariance.astype(float), moved))
    found = least_delta(text, "1/2").delta_enclosure
    assert found.width < Fraction(1, 10**10)
    assert abs(float(found.lower) - gaussian(sqrt(square), 0.5)) < 1e-9


def test_uncorrelated_numbers_and_numbers_beside_choices() -> None:
    """a + b and a - b are independent; a coin whose side is published is one more factor."""
    text = (
        "input q in {0, 1}\noutput y[2] in real\noutput c in {0, 1}\nadjacent all\n"
        "a <- Gauss(q, 1)\nb <- Gauss(q, 1)\ny[1] <- a + b\ny[2] <- a - b\n"
        "c <- choose { 0 : 1/2, 1 : 1/2 }\n"
    )
    found = least_delta(text, "1/2").delta_enclosure
    assert found.width < Fraction(1, 10**9)
    assert abs(float(found.lower) - gaussian(sqrt(2), 0.5)) < 1e-9


def test_renyi_divergences_are_half_the_square_times_the_order() -> None:
    found = dipapprox.profile(
        dipapprox.parse(TREE.replace("DOMAIN", "real")), eps=1, renyi=["1", "4"]
    )
    for each, wanted in zip(found.orders, (1, 4), strict=True):
        assert each.divergence.lower <= wanted <= each.divergence.upper
        assert each.divergence.upper - each.divergence.lower < Fraction(1, 10**9)


def test_they_have_no_certificate() -> None:
    text = TREE.replace("DOMAIN", "real")
    program = dipapprox.parse(text)
    for delta, answer in (("0.29", dipapprox.Answer.DP), ("0.2", dipapprox.Answer.NOT_DP)):
        found = dipapprox.verify(program, eps=1, eps_prv=1, delta=delta)
        assert found.answer is answer
        with pytest.raises(NoCertificate):
            dipapprox.certify(program, text, found)
