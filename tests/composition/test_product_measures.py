"""Several independent published numbers: closed forms, lattice convolutions, factors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.grid import GridStep
from dipapprox.composition.pair_products import losses_of_cells, slacks
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.cells import Cells
from dipapprox.numerics.real_outputs.hockey_stick import Split
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method
from tests.moved_noise import gaussian

GAUSS, LAPLACE = GAUSSIAN, LAPLACE
Y = LinearForm.symbol(0)


def noise(family: Family, mean: F | int, scale: F | int, upper: int | None = None) -> Marginal:
    guards = () if upper is None else (Y + LinearForm.constant_form(-upper),)
    return Marginal(Event((Distribution(family, F(mean), F(scale)),), guards), Y)


def half(mean: F) -> Event:
    """{x <= 0} for a standard Laplace sample about a mean."""
    return Event((Distribution(LAPLACE, mean, F(1)),), (Y,))


def value(first: Sequence[Part], second: Sequence[Part], budget: F, bits: int = 30) -> Split:
    with precision(200):
        growth = to_enclosure(to_ball(budget).exp())
    assert isinstance(growth, Enclosure)
    measures = ProductMeasures(open_method(Options()), Limits())
    found = measures.divergence(first, second, growth, bits)
    assert isinstance(found, Split), found
    return found


@pytest.mark.parametrize("budget", [F(1, 2), F(2)])
def test_gaussian_vectors_depend_on_the_norm_of_the_shift(budget: F) -> None:
    scales, shifts = (1, 2, 4), (F(1, 2), F(-1), F(3))
    first = [Part((), tuple(noise(GAUSS, 0, s) for s in scales))]
    second = [Part((), tuple(noise(GAUSS, m, s) for m, s in zip(shifts, scales, strict=True)))]
    found = value(first, second, budget, 60)
    shift = sqrt(sum(float(m / s) ** 2 for m, s in zip(shifts, scales, strict=True)))
    assert float(found.value.lower) == pytest.approx(gaussian(shift, float(budget)), rel=1e-10)
    assert found.value.width < F(1, 2**60)


def test_one_number_that_differs_is_as_good_as_alone() -> None:
    same = [noise(LAPLACE, 0, 2), noise(GAUSS, 0, 1)]
    first, second = ([Part((), (same[0], noise(LAPLACE, m, 1), same[1]))] for m in (0, 1))
    found = value(first, second, F(1, 2))
    assert float(found.value.lower) == pytest.approx(1 - exp(-0.25), rel=1e-9)
    assert found.coordinate == 1 and found.intervals is not None


def test_the_same_measure_twice() -> None:
    part = [Part((), (noise(LAPLACE, 0, 1), noise(GAUSS, 0, 1)))]
    assert value(part, part, F(1)).value == Enclosure.exact(0)
    assert value(part, (), F(1)).value == Enclosure.exact(1)
    assert value((), part, F(1)).value == Enclosure.exact(0)


def test_truncated_noise_is_completed() -> None:
    """Two numbers below 3: against a two-dimensional sum."""
    parts = [[Part((), (noise(LAPLACE, m, 2, 3), noise(LAPLACE, m, 2, 3)))] for m in (0, 1)]
    found = value(parts[0], parts[1], F(1, 4), 12).value
    places = np.linspace(-37, 3, 2001)[:-1] + 0.01
    densities = [np.exp(-np.abs(places - m) / 2) / 4 for m in (0, 1)]
    f, g = (np.outer(each, each) for each in densities)
    expected = float(np.sum(np.maximum(f - exp(0.25) * g, 0.0)) * 0.02**2)
    assert abs(float(found.lower) - expected) < 1e-3
    assert found.width < 1e-3


def mixed(mean: int) -> list[Part]:
    """One of two levels of noise, by a coin that nobody sees, in two numbers."""
    return [
        Part((canonical(half(F(0))),), (noise(GAUSS, mean, s), noise(GAUSS, mean, 2 * s)))
        for s in (1, 2)
    ]


@pytest.mark.parametrize("budget", [F(1, 2)])
def test_sums_of_products_are_bounded(budget: F) -> None:
    """Against a two-dimensional sum; the terms come in another order on the other side."""
    found = value(mixed(0), mixed(1)[::-1], budget, 12)
    places = np.linspace(-20, 21, 1201)
    size = places[1] - places[0]
    densities = []
    for mean in (0, 1):
        two = [[norm.pdf(places, mean, s * k) for k in (1, 2)] for s in (1, 2)]
        densities.append(sum(np.outer(*each) for each in two) / 2)
    f, g = densities
    expected = float(np.maximum(f - exp(budget) * g, 0.0).sum() * size**2)
    assert found.value.lower < expected < found.value.upper < 2 * expected
    assert found.value.lower > expected / 2
    # One number alone attains the lower end.
    assert found.first.lower - F(exp(budget)) * found.second.upper > expected / 2


@pytest.mark.parametrize("times", [2, 3, 9])
def test_errors_of_products_grow_with_their_masses(times: int) -> None:
    """All have one outcome; cells have 1 + e of it where measures have 1 - λ, exactly."""
    e, lost, factor = F(1, 50), F(1, 30), F(3, 2)
    found = slacks([(times * lost, times * lost)], [(times * e, times * e)], factor)
    assert not isinstance(found, NotEnclosed)
    too_great, too_small = (1 + e) ** times - 1, 1 - (1 - e - lost) ** times
    less, more = found
    assert too_great + factor * too_small <= less <= 4 * (too_great + factor * too_small)
    assert too_small + factor * too_great <= more <= 4 * (too_small + factor * too_great)
    assert isinstance(slacks([(lost, lost)], [(F(1), F(0))], factor), NotEnclosed)


def test_cells_may_have_more_than_all() -> None:
    many = np.array([1.25]), np.array([1.25])
    cells = Cells(many, many, np.array([1.0]), np.array([1.0]))
    found = losses_of_cells(cells, GridStep(F(1, 8)), 40, 0, Limits())
    assert not isinstance(found, NotEnclosed)
    above, below = (sum(each.masses.values()) for each in (found.above, found.below))
    assert above >= 1.25 * 2**40 >= below
