"""Cells of densities, their losses on a grid: against closed forms and sums over a lattice."""

from __future__ import annotations

from fractions import Fraction as F
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.cell_losses import CellLosses, losses_of_cells
from dipapprox.composition.grid import GridStep
from dipapprox.composition.layers import Layering, product
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.composition.reading import deltas
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.cells import Cells
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick, Split
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method
from tests.thorough import examples

GAUSS, LAPLACE, ONE_SIDED = GAUSSIAN, LAPLACE, EXPONENTIAL
Y = LinearForm.symbol(0)


def number(family: Family, mean: F | int, scale: F | int = 1, most: F | None = None) -> Marginal:
    """A sample, at most `most`."""
    guards = () if most is None else (Y + LinearForm.constant_form(-most),)
    return Marginal(Event((Distribution(family, F(mean), F(scale)),), guards), Y)


def part(*numbers: Marginal) -> tuple[Part, ...]:
    return (Part((), numbers),)


def cut(first: Marginal, second: Marginal, spread: float) -> Discretised:
    line = HockeyStick(open_method(Options()), Limits())
    found = line.discretised(part(first), part(second), 40, spread, 2.0**-50)
    assert isinstance(found, Discretised)
    return found


def on_grid(cells: Cells, step: F) -> CellLosses:
    found = losses_of_cells(cells, GridStep(step), 80, 2**20, Limits())
    assert isinstance(found, CellLosses)
    return found


def divergence(
    first: tuple[Part, ...], second: tuple[Part, ...], budget: F, bits: int = 24
) -> Enclosure:
    with precision(200):
        growth = to_enclosure(to_ball(budget).exp())
    assert isinstance(growth, Enclosure)
    found = ProductMeasures(open_method(Options()), Limits()).divergence(
        first, second, growth, bits
    )
    assert isinstance(found, Split), found
    return found.value


@pytest.mark.parametrize(("family", "law"), [(GAUSS, norm), (LAPLACE, laplace)])
def test_cells_have_the_masses_and_ratios_of_their_densities(family: Family, law: object) -> None:
    found = cut(number(family, 0), number(family, 1), 1 / 16).cells
    assert abs(float(found.first[1].sum()) - 1) < 1e-11 > abs(float(found.second[0].sum()) - 1)
    assert (found.first[0] <= found.first[1]).all() and (found.least <= found.most).all()
    heavy = found.first[0] > 1e-9
    # All ratios lie between e^(shift²/2 ± …) or e^±1, and cells are as narrow as they were to be.
    assert (found.most[heavy] <= found.least[heavy] * (1 + 1 / 16)).all()
    inside = found.first[0] / found.second[1], found.first[1] / np.maximum(found.second[0], 1e-300)
    assert (inside[0] <= found.most * (1 + 1e-9))[heavy].all()
    assert (inside[1] >= found.least * (1 - 1e-9))[heavy].all()
    if law is laplace:
        assert found.most[heavy].max() <= exp(1) * (1 + 1e-5)


@pytest.mark.parametrize("step", [F(1, 16), F(1, 64)])
@pytest.mark.parametrize("family", [GAUSS, LAPLACE])
def test_losses_bound_the_profile_from_both_sides(family: Family, step: F) -> None:
    found = on_grid(cut(number(family, 0), number(family, 1), float(step) / 2).cells, step)
    budgets = [F(k, 7) for k in range(8)]
    one = Layering(GridStep(step), 1, F(0), exact=True)
    both = (product([(each, 1)], one, Limits()) for each in (found.above, found.below))
    upper, lower = (deltas(each, budgets) for each in both)
    for budget, low, high in zip(budgets, lower, upper, strict=True):
        e = float(budget)
        if family is GAUSS:
            true = float(norm.cdf(0.5 - e) - exp(e) * norm.cdf(-0.5 - e))
        else:
            true = max(1 - exp((e - 1) / 2), 0.0)
        assert low <= true + 1e-12 and true <= high + 1e-12
        assert high - low < 2 * step**2


@pytest.mark.parametrize("budget", [F(0), F(1, 2), F(2)])
def test_one_sided_noise_has_mass_where_the_other_has_none(budget: F) -> None:
    numbers = [part(*(number(ONE_SIDED, m) for _ in range(2))) for m in (0, 1)]
    there, back = divergence(*numbers, budget), divergence(*numbers[::-1], budget)
    beyond = 1 - exp(-2)  # where one of the numbers is below 1
    assert there.lower - 1e-9 <= beyond <= there.upper + 1e-9
    assert there.width < F(1, 10**6)
    true = max(1 - exp(float(budget)) * exp(-2), 0.0)
    assert back.lower - 1e-9 <= true <= back.upper + 1e-9
    assert back.width < F(1, 10**6)


def test_a_guard_that_hardly_matters_changes_hardly_anything() -> None:
    far = F(60)
    plain = [part(*(number(LAPLACE, m) for _ in range(3))) for m in (0, 1)]
    guarded = [part(*(number(LAPLACE, m, 1, far) for _ in range(3))) for m in (0, 1)]
    one, two = (divergence(*each, F(1, 2)) for each in (plain, guarded))
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert max(one.width, two.width) < F(1, 10**5)


@examples(3)
@given(
    most=st.tuples(st.fractions(-1, 2, max_denominator=4), st.fractions(-1, 2, max_denominator=4)),
    scale=st.sampled_from([F(1, 2), F(1), F(2)]),
    family=st.sampled_from([GAUSS, LAPLACE]),
    budget=st.fractions(0, 1, max_denominator=4),
)
def test_two_guarded_numbers_against_a_lattice(
    most: tuple[F, F], scale: F, family: Family, budget: F
) -> None:
    first, second = (
        part(number(family, m, scale, most[0]), number(LAPLACE, m, 1, most[1])) for m in (0, 1)
    )
    found = divergence(first, second, budget, 16)
    law = norm if family is GAUSS else laplace
    axes = [np.linspace(float(end) - 32, float(end), 1601) for end in most]
    masses = []
    for mean in (0, 1):
        one = np.diff(law.cdf(axes[0], loc=mean, scale=float(scale)))
        two = np.diff(laplace.cdf(axes[1], loc=mean))
        masses.append(np.outer(one, two))
    # Joining what lies in one cell of the lattice loses something, of the order of its square.
    true = float(np.maximum(masses[0] - exp(float(budget)) * masses[1], 0).sum())
    assert found.upper >= true - 1e-9
    assert float(found.lower) <= true + 5e-4
    assert found.width < F(1, 10**4)


def test_exact_ratios_on_the_grid_stay_there() -> None:
    """Half-lines of one ratio cost nothing: the budget of two truncated numbers is exact."""
    numbers = [part(*(number(LAPLACE, m, 1, F(3)) for _ in range(2))) for m in (0, 1)]
    assert divergence(*numbers, F(2)).upper < F(1, 10**8)
    near = divergence(*numbers, F(199, 100))
    assert near.lower > 0
    assert log(float(near.upper)) < log(sqrt(float(near.lower)))
