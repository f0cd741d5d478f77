"""Rényi moments of published numbers: closed forms, quadrature, data processing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import pairwise
from math import log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.composition.moments import Moment, Moments
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.cells import Cells
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method

GAUSS, LAPLACE = GAUSSIAN, LAPLACE
Y = LinearForm.symbol(0)
Law = Callable[[float], float]


def number(family: Family, mean: F | int, most: int | None = None) -> Marginal:
    guards = () if most is None else (Y + LinearForm.constant_form(-most),)
    return Marginal(Event((Distribution(family, F(mean), F(1)),), guards), Y)


def part(*numbers: Marginal) -> tuple[Part, ...]:
    return (Part((), numbers),)


def half(mean: int) -> Event:
    """{x <= 0} for a Laplace sample: of mass e^-mean / 2 for a mean >= 0."""
    return Event((Distribution(LAPLACE, F(mean), F(1)),), (Y,))


def moment(
    first: tuple[Part, ...], second: tuple[Part, ...], order: F, budget: F | None = None
) -> Moment:
    measures = ProductMeasures(open_method(Options()), Limits())
    found = Moments(measures, order, Limits()).of(first, second, budget)
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
@pytest.mark.parametrize("family", [GAUSS, LAPLACE])
def test_plain_noise_has_a_closed_form(family: Family, order: F) -> None:
    found = moment(part(number(family, 0)), part(number(family, 1)), order)
    law = norm if family is GAUSS else laplace
    expected = by_quadrature(law.pdf, lambda y: law.pdf(y, 1), order, 30)
    assert float(found.lower) == pytest.approx(expected, rel=1e-9)
    assert float(found.upper) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [F(1), F(2), F(6)])
def test_truncated_laplace_noise_against_quadrature(order: F) -> None:
    found = moment(part(number(LAPLACE, 0, 2)), part(number(LAPLACE, 1, 2)), order, F(1))
    expected = by_quadrature(laplace.pdf, lambda y: laplace.pdf(y, 1), order, 2)
    assert float(found.lower) <= expected * (1 + 1e-10)
    assert float(found.upper) >= expected * (1 - 1e-10)
    assert float(found.upper - found.lower) < 1e-5 * expected


def test_tails_of_truncated_gaussian_noise_are_not_known() -> None:
    found = moment(part(number(GAUSS, 0, 2)), part(number(GAUSS, 1, 2)), F(2))
    expected = by_quadrature(norm.pdf, lambda y: norm.pdf(y, 1), F(2), 2)
    assert found.upper is None
    assert expected * (1 - 1e-4) < float(found.lower) <= expected * (1 + 1e-10)


@pytest.mark.parametrize("order", [F(1), F(3)])
def test_moments_of_products(order: F) -> None:
    """Weights, a number that is the same for both, a truncated number and a plain one."""
    sides = [
        (
            Part(
                (canonical(half(m)),),
                (number(LAPLACE, m, 2), number(GAUSS, 0, 1), number(GAUSS, m)),
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
    measures = ProductMeasures(open_method(Options()), Limits())
    one, lost = F(1), (F(1, 8), F(1, 16))
    ends = [np.array([each]) for each in (1 / 64, 1.0, 0.0, 1.0)]
    cells = Cells((ends[0], ends[0]), (ends[1], ends[1]), ends[2], ends[3])
    below, _ = Moments(measures, one, Limits())._of_cells(cells, lost, None)
    # The cell has 9/64 at most, and then its term is less than that of 1/64.
    least = 9 / 64 * log(9 / 64) - 1 / 16 / np.e
    assert least - 0.1 < float(below.lower()) <= least < log(1 / 64) / 64
    more, _ = Moments(measures, one, Limits())._of_cells(cells, (F(1), F(0)), None)
    assert float(more.lower()) == pytest.approx(-1 / np.e)


def test_what_only_one_input_has_is_infinitely_dear() -> None:
    assert moment(part(number(GAUSS, 0)), (), F(2)).infinite
    nothing = moment((), part(number(GAUSS, 0)), F(2))
    assert nothing.upper == 0
    same = moment(part(number(GAUSS, 0)), part(number(GAUSS, 0)), F(2))
    assert abs(float(same.lower) - 1) < 1e-12


@pytest.mark.parametrize("order", [F(1), F(2)])
def test_one_sided_noise_has_what_its_shift_has_not(order: F) -> None:
    """Beside a number that both have; the other way round the ratio is e wherever f is."""
    exponential = EXPONENTIAL
    near, far = (part(number(GAUSS, m), number(exponential, m)) for m in (0, 1))
    assert moment(near, far, order).infinite
    back = moment(part(number(exponential, 1)), part(number(exponential, 0)), order, F(1))
    assert not back.infinite and back.lower <= F(272, 100)
    mirrored = REFLECTED_EXPONENTIAL
    assert moment(part(number(mirrored, 1)), part(number(mirrored, 0)), order).infinite
    assert not moment(part(number(mirrored, 0)), part(number(mirrored, 1)), order).infinite


def test_mixtures_have_a_reason() -> None:
    first = part(number(GAUSS, 0), number(GAUSS, 0)) + part(number(GAUSS, 1), number(GAUSS, 1))
    measures = ProductMeasures(open_method(Options()), Limits())
    found = Moments(measures, F(2), Limits()).of(first, first[:1], None)
    assert isinstance(found, NotEnclosed) and "number 1 and number 2" in found.reason
