"""Cells of densities, their losses on a grid: against closed forms and sums over a lattice."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.grid import GridStep
from dipapprox.composition.pair_products import CellLosses, losses_of_cells
from dipapprox.composition.powers import Wanted, product
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
from tests.moved_noise import gaussian, laplace

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


@pytest.mark.parametrize("step", [F(1, 16), F(1, 64)])
@pytest.mark.parametrize("family", [GAUSS, LAPLACE])
def test_losses_bound_the_profile_from_both_sides(family: Family, step: F) -> None:
    found = on_grid(cut(number(family, 0), number(family, 1), float(step) / 2).cells, step)
    budgets = [F(k, 7) for k in range(8)]
    one = Wanted(GridStep(step), F(0), exact=True)
    both = (product([(each, 1)], one, Limits()) for each in (found.above, found.below))
    upper, lower = (deltas(each, budgets) for each in both)
    for budget, low, high in zip(budgets, lower, upper, strict=True):
        true = (gaussian if family is GAUSS else laplace)(1, float(budget))
        assert low <= true + 1e-12 and true <= high + 1e-12
        assert high - low < 2 * step**2


def test_a_guard_that_hardly_matters_changes_hardly_anything() -> None:
    far = F(60)
    plain = [part(*(number(LAPLACE, m) for _ in range(3))) for m in (0, 1)]
    guarded = [part(*(number(LAPLACE, m, 1, far) for _ in range(3))) for m in (0, 1)]
    one, two = (divergence(*each, F(1, 2)) for each in (plain, guarded))
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert max(one.width, two.width) < F(1, 10**5)
