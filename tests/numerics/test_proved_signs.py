"""Signs on sub-panels, in doubles and in balls, against values in many bits."""

from __future__ import annotations

from fractions import Fraction as F
from math import log, sqrt

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split
from dipapprox.numerics.real_outputs.panel_polynomials import combination
from dipapprox.numerics.real_outputs.signs import (
    Leaf,
    combination_in_balls,
    signs_in_balls,
    signs_in_doubles,
)
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method

Y = LinearForm.symbol(0)


def gauss(mean: F | int, scale: F | int) -> Distribution:
    return Distribution(GAUSSIAN, F(mean), F(scale))


def value(terms: list[tuple[F, Distribution]], y: F) -> arb:
    """Σ weight · density at y, at the precision of the block."""
    total = arb(0)
    for weight, law in terms:
        z = to_ball((y - law.mean) / law.scale)
        total += to_ball(weight / law.scale) * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
    return total


def ends(leaf: Leaf, grid: Grid) -> tuple[F, F]:
    low, high = (F(grid.marks[leaf.panel + k], grid.unit) for k in (0, 1))
    width = (high - low) / 2**leaf.depth
    return low + leaf.place * width, low + (leaf.place + 1) * width


_weights = st.integers(-8, 8).filter(bool).map(lambda k: F(k, 7))
_laws = st.tuples(st.integers(-4, 4), st.sampled_from([F(1, 2), F(1), F(3, 2)]))


@given(st.lists(st.tuples(_weights, _laws), min_size=2, max_size=4), st.booleans())
def test_proved_signs_are_those_of_the_function(
    drawn: list[tuple[F, tuple[int, F]]], balls: bool
) -> None:
    terms = [(weight, gauss(*law)) for weight, law in drawn]
    laws = {law for _, law in terms}
    grid = build_grid(laws, (), 60)
    leaves: list[Leaf] | NotEnclosed
    if balls:
        own = BallAlgebra(grid, 128, 40)
        found = [(Enclosure.exact(weight), own.density(law)) for weight, law in terms]
        leaves = signs_in_balls(combination_in_balls(found, own), own, F(1, 2**40), Limits())
    else:
        algebra = Float64Algebra(grid)
        sampled = [(Enclosure.exact(weight), algebra.density(law)) for weight, law in terms]
        leaves = signs_in_doubles(
            combination(sampled, algebra.rule, grid.panels), algebra, 2.0**-40
        )
    assert not isinstance(leaves, NotEnclosed)
    covered = [F(0)] * grid.panels
    with precision(400):
        for leaf in leaves:
            covered[leaf.panel] += F(1, 2**leaf.depth)
            low, high = ends(leaf, grid)
            # Where all laws are kept, the function is what it is.
            kept = all(
                span.first <= leaf.panel < span.last
                for law, span in grid.spans.items()
                if law in laws
            )
            for part in (0, F(1, 3), 1):
                here = value(terms, low + (high - low) * part)
                if leaf.sign and kept:
                    assert leaf.sign * here > -(arb(2) ** -300)
                elif kept:
                    assert abs(here) * to_ball(high - low) <= 4 * to_ball(leaf.excess)
    if not balls or len(terms) > 1:
        assert all(each in (0, 1) for each in covered)


def test_a_touching_zero_costs_nothing() -> None:
    """N(0, 1) is at most twice N(0, 2), and that at 0."""
    first, second = ((Part((), (Marginal(Event((gauss(0, scale),), ()), Y),)),) for scale in (1, 2))
    stick = HockeyStick(open_method(Options()), Limits())
    tangent = stick.divergence(first, second, Enclosure.exact(2), 45)
    assert isinstance(tangent, Split)
    assert tangent.value.lower == 0 and tangent.value.upper < F(1, 2**45)
    factor = F(2) - F(1, 1000)
    near = stick.divergence(first, second, Enclosure.exact(factor), 60)
    assert isinstance(near, Split)
    ((low, high),) = near.intervals or ()
    root = sqrt(8 / 3 * log(2 / float(factor)))
    assert float(-low) == pytest.approx(root, rel=1e-6) == float(high)
    mass = [2 * norm.cdf(root / scale) - 1 for scale in (1, 2)]
    assert float(near.value.lower) == pytest.approx(mass[0] - float(factor) * mass[1], rel=1e-6)
