"""Grids do not depend on the last bits of what they are chosen by."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.lattice import aligned
from dipapprox.composition.mechanisms import Atoms, Laplace

SIZE = Fraction(1, 64)
LESS, MORE, SAME = 0.19590011876974364, 0.2404104725142643, 0.5636894087122191


def atoms(noise: float, rare: float) -> Atoms:
    """A pair and its reversal, some bits off; also what is known so little that it has no ratio."""
    both = [(LESS + noise, MORE - noise), (rare, 1.25 * rare)]
    both += [(q, p) for p, q in both] + [(SAME, SAME)]
    return Atoms(tuple((about(p), about(q)) for p, q in both))


def about(mass: float) -> Enclosure:
    slack = Fraction(mass) / 2**30
    return Enclosure(Fraction(mass) - slack, Fraction(mass) + slack)


@pytest.mark.parametrize("noise", [2.0**-52, -3e-15, 1e-14])
def test_last_bits_choose_no_grid(noise: float) -> None:
    expected = aligned([atoms(0.0, 7.07e-13)], SIZE)
    assert aligned([atoms(noise, 7.05e-13)], SIZE) == expected
    assert aligned([atoms(noise, 0.0)], SIZE) == expected


def test_losses_lie_near_the_grid() -> None:
    mechanisms = [Laplace(Fraction(1), Fraction(10)), Laplace(Fraction(1), Fraction(7))]
    step = aligned(mechanisms, SIZE)
    assert step.unit <= SIZE
    for loss in (Fraction(1, 10), Fraction(1, 7)):
        count = round(loss / step.unit)
        assert abs(loss / step.unit - count) < Fraction(1, 4)
