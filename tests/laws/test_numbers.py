"""Numbers that bound densities in proofs: above the truth, and not by much."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.laws.families import LOGISTIC

BITS = 100


def above(number: Fraction | None, truth: arb) -> bool:
    """A bound holds, and is not much more than that."""
    assert number is not None
    return bool(truth <= to_ball(number)) and bool(to_ball(number) <= truth * 1.001)


def test_logistic_noise() -> None:
    with precision(BITS):
        assert above(LOGISTIC.steep, arb(1) / 4)
        assert above(LOGISTIC.curved, arb(3).sqrt() / 9)
        # z f is largest where z tanh(z/2) = 1: between these points, by the signs there.
        ends = arb("1.5434046384"), arb("1.5434046385")
        low, high = (z * (z / 2).tanh() - 1 for z in ends)
        assert low < 0 < high
        z = ends[0].union(ends[1])
        assert above(LOGISTIC.drift, 2 * z * LOGISTIC.pdf(z, 0))
