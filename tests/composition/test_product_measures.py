"""Several independent published numbers: products, losses of cells on a grid, Rényi moments.

Against closed forms, quadrature, sums over a lattice, and what must not matter.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction as F
from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from dipapprox import Enclosure, Limits, NotEnclosed, Options
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import deltas
from dipapprox.composition.moments import Moment, Moments
from dipapprox.composition.pair_products import CellLosses, losses_of_cells, slacks
from dipapprox.composition.powers import LossGrid, product
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick, Split
from dipapprox.numerics.real_outputs.panel_polynomials import Cells
from dipapprox.privacy.sources import open_method
from tests import moved_noise
from tests.cases import cases

Y = LinearForm.symbol(0)
MEASURES = ProductMeasures(open_method(Options()), Limits())
Law = Callable[[float], float]


def noise(family: Family, mean: F | int, scale: F | int = 1, most: int | None = None) -> Marginal:
    """A sample, at most `most`."""
    guards = () if most is None else (Y + LinearForm.constant_form(-most),)
    return Marginal(Event((Distribution(family, F(mean), F(scale)),), guards), Y)


def part(*numbers: Marginal) -> tuple[Part, ...]:
    return (Part((), numbers),)


def half(mean: F | int) -> Event:
    """{x <= 0} for a standard Laplace sample: of mass e^-mean / 2 for a mean >= 0."""
    return Event((Distribution(LAPLACE, F(mean), F(1)),), (Y,))


def value(first: Sequence[Part], second: Sequence[Part], budget: F, bits: int = 30) -> Split:
    with precision(200):
        growth = to_enclosure(to_ball(budget).exp())
    assert isinstance(growth, Enclosure)
    found = MEASURES.divergence(first, second, growth, bits)
    assert isinstance(found, Split), found
    return found


@pytest.mark.parametrize("budget", [F(1, 2), F(2)])
def test_gaussian_vectors_depend_on_the_norm_of_the_shift(budget) -> None:
    scales, shifts = (1, 2, 4), (F(1, 2), F(-1), F(3))
    first = part(*(noise(GAUSSIAN, 0, s) for s in scales))
    second = part(*(noise(GAUSSIAN, m, s) for m, s in zip(shifts, scales, strict=True)))
    found = value(first, second, budget, 60)
    shift = sqrt(sum(float(m / s) ** 2 for m, s in zip(shifts, scales, strict=True)))
    assert float(found.value.lower) == pytest.approx(
        moved_noise.gaussian(shift, float(budget)), rel=1e-10
    )
    assert found.value.width < F(1, 2**60)


def test_one_number_that_differs_is_as_good_as_alone() -> None:
    same = [noise(LAPLACE, 0, 2), noise(GAUSSIAN, 0, 1)]
    first, second = (part(same[0], noise(LAPLACE, m), same[1]) for m in (0, 1))
    found = value(first, second, F(1, 2))
    assert float(found.value.lower) == pytest.approx(1 - exp(-0.25), rel=1e-9)
    assert found.coordinate == 1 and found.intervals is not None


def test_the_same_measure_twice() -> None:
    both = part(noise(LAPLACE, 0), noise(GAUSSIAN, 0))
    assert value(both, both, F(1)).value == Enclosure.exact(0)
    assert value(both, (), F(1)).value == Enclosure.exact(1)
    assert value((), both, F(1)).value == Enclosure.exact(0)


def test_truncated_noise_is_completed() -> None:
    """Two numbers below 3: against a two-dimensional sum."""
    parts = [part(noise(LAPLACE, m, 2, 3), noise(LAPLACE, m, 2, 3)) for m in (0, 1)]
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
        Part((canonical(half(F(0))),), (noise(GAUSSIAN, mean, s), noise(GAUSSIAN, mean, 2 * s)))
        for s in (1, 2)
    ]


@pytest.mark.parametrize("budget", [F(1, 2)])
def test_sums_of_products_are_bounded(budget) -> None:
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
def test_errors_of_products_grow_with_their_masses(times) -> None:
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


# --- losses of cells, on a grid ---


def cut(first: Marginal, second: Marginal, spread: float) -> Discretised:
    line = HockeyStick(open_method(Options()), Limits())
    found = line.discretised(part(first), part(second), 40, spread, 2.0**-50)
    assert isinstance(found, Discretised)
    return found


def on_grid(cells: Cells, step: F) -> CellLosses:
    found = losses_of_cells(cells, GridStep(step), 80, 2**20, Limits())
    assert isinstance(found, CellLosses)
    return found


@pytest.mark.parametrize("step", [F(1, 16), F(1, 64)])
@cases("family, oracle", (GAUSSIAN, moved_noise.gaussian), (LAPLACE, moved_noise.laplace))
def test_losses_bound_the_profile_from_both_sides(family, oracle, step) -> None:
    found = on_grid(cut(noise(family, 0), noise(family, 1), float(step) / 2).cells, step)
    budgets = [F(k, 7) for k in range(8)]
    one = LossGrid(GridStep(step), F(0), exact=True)
    both = (product([(each, 1)], one, Limits()) for each in (found.above, found.below))
    upper, lower = (deltas(each, budgets) for each in both)
    for budget, low, high in zip(budgets, lower, upper, strict=True):
        true = getattr(moved_noise, "gaussian" if family is GAUSSIAN else "laplace")(
            1, float(budget)
        )
        assert low <= true + 1e-12 and true <= high + 1e-12
        assert high - low < 2 * step**2


def test_a_guard_that_hardly_matters_changes_hardly_anything() -> None:
    plain = [part(*(noise(LAPLACE, m) for _ in range(3))) for m in (0, 1)]
    guarded = [part(*(noise(LAPLACE, m, 1, 60) for _ in range(3))) for m in (0, 1)]
    one, two = (value(*each, F(1, 2), 24).value for each in (plain, guarded))
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert max(one.width, two.width) < F(1, 10**5)


# --- Rényi moments ---


def moment(
    first: tuple[Part, ...], second: tuple[Part, ...], order: F, budget: F | None = None
) -> Moment:
    found = Moments(MEASURES, order, Limits()).of(first, second, budget)
    assert isinstance(found, Moment), found
    return found


def by_quadrature(f: Law, g: Law, order: F, end: float) -> float:
    a = float(order)

    def integrand(y: float) -> float:
        ratio = f(y) / g(y)
        return f(y) * (log(ratio) if order == 1 else ratio ** (a - 1))

    marks = [m for m in (-1.0, 0.0, 1.0, 2.0) if m < end]
    places = [-30.0, *marks, end]
    return sum(float(quad(integrand, *two)[0]) for two in pairwise(places))


@pytest.mark.parametrize("order", [F(1), F(3, 2), F(4)])
@pytest.mark.parametrize("family", [GAUSSIAN, LAPLACE])
def test_plain_noise_has_a_closed_form(family, order) -> None:
    found = moment(part(noise(family, 0)), part(noise(family, 1)), order)
    law = norm if family is GAUSSIAN else laplace
    expected = by_quadrature(law.pdf, lambda y: law.pdf(y, 1), order, 30)
    assert float(found.lower) == pytest.approx(expected, rel=1e-9)
    assert float(found.upper) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [F(1), F(2), F(6)])
def test_truncated_laplace_noise_against_quadrature(order) -> None:
    found = moment(part(noise(LAPLACE, 0, most=2)), part(noise(LAPLACE, 1, most=2)), order, F(1))
    expected = by_quadrature(laplace.pdf, lambda y: laplace.pdf(y, 1), order, 2)
    assert float(found.lower) <= expected * (1 + 1e-10)
    assert float(found.upper) >= expected * (1 - 1e-10)
    assert float(found.upper - found.lower) < 1e-5 * expected


def test_tails_of_truncated_gaussian_noise_are_not_known() -> None:
    found = moment(part(noise(GAUSSIAN, 0, most=2)), part(noise(GAUSSIAN, 1, most=2)), F(2))
    expected = by_quadrature(norm.pdf, lambda y: norm.pdf(y, 1), F(2), 2)
    assert found.upper is None
    assert expected * (1 - 1e-4) < float(found.lower) <= expected * (1 + 1e-10)


@pytest.mark.parametrize("order", [F(1), F(3)])
def test_moments_of_products(order) -> None:
    """Weights, a number that is the same for both, a truncated number and a plain one."""
    sides = [
        (
            Part(
                (canonical(half(m)),),
                (noise(LAPLACE, m, most=2), noise(GAUSSIAN, 0, most=1), noise(GAUSSIAN, m)),
            ),
        )
        for m in (0, 1)
    ]
    # Pr[x <= 0] falls from 1/2 to 1 / (2e), the truncated numbers' quotient by at most e.
    found = moment(sides[0], sides[1], order, None)
    assert found.upper is None
    w, v, c = 0.5, 0.5 / np.e, float(norm.cdf(1))
    f, g = laplace.pdf, lambda y: laplace.pdf(y, 1)
    one = by_quadrature(f, g, order, 2)
    two = by_quadrature(norm.pdf, lambda y: norm.pdf(y, 1), order, 30)
    mass = float(laplace.cdf(2))
    a = float(order)
    expected = c * w**a * v ** (1 - a) * one * two
    if order == 1:
        expected = c * w * (mass * log(w / v) + one + mass * two)
    assert expected * (1 - 1e-4) < float(found.lower) <= expected * (1 + 1e-10)
    bounded = moment(
        tuple(Part(p.events, p.marginals[:2]) for p in sides[0]),
        tuple(Part(p.events, p.marginals[:2]) for p in sides[1]),
        order,
        F(2),
    )
    alone = c * w**a * v ** (1 - a) * one
    if order == 1:
        alone = c * w * (mass * log(w / v) + one)
    assert alone * (1 - 1e-10) < float(bounded.upper) < alone * (1 + 1e-4)


def test_mass_off_the_grid_may_lower_a_divergence() -> None:
    """A law that lacks most of what one cell has, where r ln r falls, and mass beside the grid."""
    one, lost = F(1), (F(1, 8), F(1, 16))
    ends = [np.array([each]) for each in (1 / 64, 1.0, 0.0, 1.0)]
    cells = Cells((ends[0], ends[0]), (ends[1], ends[1]), ends[2], ends[3])
    below, _ = Moments(MEASURES, one, Limits())._of_cells(cells, lost, None)
    # The cell has 9/64 at most, and then its term is less than that of 1/64.
    least = 9 / 64 * log(9 / 64) - 1 / 16 / np.e
    assert least - 0.1 < float(below.lower()) <= least < log(1 / 64) / 64
    more, _ = Moments(MEASURES, one, Limits())._of_cells(cells, (F(1), F(0)), None)
    assert float(more.lower()) == pytest.approx(-1 / np.e)


def test_what_only_one_input_has_is_infinitely_dear() -> None:
    assert moment(part(noise(GAUSSIAN, 0)), (), F(2)).infinite
    nothing = moment((), part(noise(GAUSSIAN, 0)), F(2))
    assert nothing.upper == 0
    same = moment(part(noise(GAUSSIAN, 0)), part(noise(GAUSSIAN, 0)), F(2))
    assert abs(float(same.lower) - 1) < 1e-12


@pytest.mark.parametrize("order", [F(1), F(2)])
def test_one_sided_noise_has_what_its_shift_has_not(order) -> None:
    """Beside a number that both have; the other way round the ratio is e wherever f is."""
    near, far = (part(noise(GAUSSIAN, m), noise(EXPONENTIAL, m)) for m in (0, 1))
    assert moment(near, far, order).infinite
    back = moment(part(noise(EXPONENTIAL, 1)), part(noise(EXPONENTIAL, 0)), order, F(1))
    assert not back.infinite and back.lower <= F(272, 100)
    assert moment(
        part(noise(REFLECTED_EXPONENTIAL, 1)), part(noise(REFLECTED_EXPONENTIAL, 0)), order
    ).infinite
    assert not moment(
        part(noise(REFLECTED_EXPONENTIAL, 0)), part(noise(REFLECTED_EXPONENTIAL, 1)), order
    ).infinite


def test_mixtures_have_a_reason() -> None:
    first = part(noise(GAUSSIAN, 0), noise(GAUSSIAN, 0)) + part(
        noise(GAUSSIAN, 1), noise(GAUSSIAN, 1)
    )
    found = Moments(MEASURES, F(2), Limits()).of(first, first[:1], None)
    assert isinstance(found, NotEnclosed) and "number 1 and number 2" in found.reason
