"""Numbers whose joint density is out of reach: what tells less, and more, bounds them."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import dipapprox
from dipapprox import Answer

LABELLED = """
input q in {0, 1}
adjacent all
output y, z in real
output c in {0, 1}
a <- Lap(q, 1 / eps)
b <- Lap(0, 1 / eps)
y <- a
z <- b
c <- a >= b
"""

SHARED = """
input q in {0, 1}
adjacent all
output y, z in real
a <- Lap(q, 1 / eps)
b <- Lap(0, 1 / eps)
c <- Lap(q, 1 / eps)
y <- a + b
z <- b + c
"""


def _delta(text: str, eps_prv: str) -> dipapprox.Enclosure:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    return found.delta_enclosure


def test_a_label_of_published_numbers_adds_nothing() -> None:
    found = _delta(LABELLED, "1/2")
    truth = 1 - exp(-1 / 4)  # of y alone, and of both samples
    assert found.width < Fraction(1, 10**6)
    assert float(found.lower) - 1e-9 <= truth <= float(found.upper) + 1e-9


def test_sums_with_a_common_sample_are_bounded_from_both_sides() -> None:
    alone = SHARED.replace("output y, z", "output y").replace("z <- b + c", "")
    samples = SHARED.replace("y <- a + b", "y <- a").replace("z <- b + c", "z <- c")
    found, less, more = (_delta(each, "1/2") for each in (SHARED, alone, samples))
    assert found.lower >= less.lower - Fraction(1, 10**6)
    assert found.upper <= more.upper + Fraction(1, 10**6)
    assert found.lower < found.upper < Fraction(4, 10)


SUMMED = """
input q in {0, 1}
adjacent all
output y, z in real
a <- Lap(q, 3 / eps)
b <- Lap(2 * q, 1 / eps)
y <- Lap(q, 2 / eps)
z <- a + b
"""


def test_sums_that_take_too_many_panels_are_enclosed_less_well() -> None:
    """y moves by 1, of scale 2, and z by 3: δ is an integral of δ of z at what y has lost."""
    x = np.linspace(-80, 80, 160_001)
    f, g = ((3 * np.exp(-abs(x - m) / 3) - np.exp(-abs(x - m))) / 16 for m in (3, 0))
    y = (np.arange(200) + 0.5) / 200
    inner = np.exp(-abs(y - 1) / 2) / 4
    lost = [0.5, -0.5, *(y - 0.5)]
    weight = [0.5, 0.5 * exp(-0.5), *(inner / 200)]
    truth = sum(
        w * np.maximum(f - exp(0.5 - each) * g, 0).sum() * 0.001
        for w, each in zip(weight, lost, strict=True)
    )
    found = _delta(SUMMED, "1/2")
    assert found.width < Fraction(1, 10**6)
    assert truth == pytest.approx(float(found.lower), abs=1e-4)


def test_the_least_budget_has_two_ends() -> None:
    found = dipapprox.profile(dipapprox.parse(SHARED), eps=1, delta="1/20")
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert Fraction(1, 2) < lower < upper <= 2
    for eps_prv, answer in ((lower, Answer.NOT_DP), (upper, Answer.DP)):
        eps_prv += Fraction(answer is Answer.DP, 100) - Fraction(answer is Answer.NOT_DP, 100)
        claim = dipapprox.verify(dipapprox.parse(SHARED), eps=1, eps_prv=eps_prv, delta="1/20")
        assert claim.answer is answer


FAR = """
input x in {0, 1, 4}
output y in real
output v in real
adjacent all
z <- Gauss(x, 1)
w <- Lap(0, 1)
t <- Gauss(0, 1)
y <- z + w
v <- w + t
"""


def test_pairs_without_densities_are_bounded_each_for_itself() -> None:
    """Of 0 and 4 the first number alone tells much more than of 0 and 1."""
    program = dipapprox.parse(FAR)
    alone = dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5", pairs=[((4,), (0,))])
    assert alone.answer is Answer.NOT_DP
    assert dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5").answer is Answer.NOT_DP
    found = dipapprox.profile(program, eps=1, eps_prv=1).delta_enclosure
    assert found.lower >= alone.delta_enclosure.lower > Fraction(1, 2)
