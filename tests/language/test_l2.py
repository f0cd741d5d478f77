"""Adjacency by the Euclidean norm: Gaussian noise on vectors knows no other guarantee."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.language.core import Listed

VECTOR = """
input q[{n}] in 0..2
output y[{n}] in real
adjacent l2 {radius}
for i in 1..{n} do y[i] <- Gauss(q[i], {scale} / eps) end
"""
LEAST = Fraction("4.3771780957")
"""The least ε_prv of Gaussian noise at a distance of one standard deviation for δ = 1e-5, as the
analytic Gaussian mechanism has it (Balle and Wang 2018), rounded."""


@pytest.mark.parametrize(("n", "radius", "scale"), [(1, 2, 2), (2, 2, 2), (3, "5/4", 1)])
def test_gaussian_vectors_are_as_private_as_numbers(
    n: int, radius: int | str, scale: int | str
) -> None:
    text = VECTOR.format(n=n, radius=radius, scale=scale)
    profile = dipapprox.profile(dipapprox.parse(text), eps=1, delta="1e-5")
    found = profile.eps_prv_enclosure
    assert abs(found.lower - LEAST) < Fraction(1, 10**9)
    assert found.upper - found.lower < Fraction(1, 10**8)


def test_pairs_on_a_square() -> None:
    text = VECTOR.format(n=2, radius="3/2", scale=1)
    adjacency = dipapprox.parse(text).adjacency
    assert isinstance(adjacency, Listed)
    assert len(adjacency.pairs) == 20  # of 9 points on a square: 12 sides and 8 diagonals
