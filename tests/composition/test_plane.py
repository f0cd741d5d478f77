"""Sums of products on cells of the plane: quadrature by scipy's laws."""

from fractions import Fraction as F
from random import Random

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy import stats

from dipapprox import Enclosure, Options
from dipapprox.composition.plane import PlaneCells
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick
from dipapprox.privacy.subjects import open_method
from tests.cases import part

LAWS = {"Gauss": stats.norm, "Lap": stats.laplace, "Logistic": stats.logistic}


def noise(family: str, mean: int, *above: int) -> Marginal:
    """A sample of scale 1; of those that are above a number only."""
    form = LinearForm.symbol(0)
    guards = tuple(LinearForm.constant_form(F(end)) - form for end in above)
    return Marginal(Event((Distribution(FAMILIES[family], F(mean), F(1)),), guards), form)


def density(family: str, mean: int, *above: int):
    return lambda x: LAWS[family].pdf(x, mean) * (x > max(above, default=-100))


@pytest.mark.parametrize("seed", part(range(12), 3))
def test_divergences_of_sums_of_products(seed: int) -> None:
    random = Random(seed)

    def factor() -> tuple:
        ends = [random.choice([-1, 0])] * (random.random() < 0.2)
        return random.choice([*LAWS]), random.choice([0, 0, 1, 2]), *ends

    sides = [[(factor(), factor()) for _ in range(random.choice([1, 2, 3]))] for _ in range(2)]
    growth = random.choice([F(1), F(3, 2), F(3), F(20)])
    parts = [[Part((), (noise(*a), noise(*b))) for a, b in side] for side in sides]
    cells = PlaneCells(HockeyStick(open_method(Options())))
    found = cells.divergence(*parts, Enclosure.exact(growth), 9)
    assert isinstance(found, Enclosure)
    (x, w), ends = leggauss(4), np.linspace(-40, 40, 401)
    half = np.diff(ends)[:, None] / 2
    x, w = (ends[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()
    f, g = (sum(np.outer(density(*a)(x), density(*b)(x)) for a, b in side) for side in sides)
    true = min(w @ np.maximum(f - float(growth) * g, 0) @ w, 1)
    assert float(found.lower) - 3e-4 <= true <= float(found.upper) + 3e-4
    assert found.width < F(1, 100)
