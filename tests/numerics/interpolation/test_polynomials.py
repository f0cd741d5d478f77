"""Polynomials and linear forms near probabilities: every bound holds, and the bounds are narrow."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtr

from dipapprox.laws.families import (
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    REFLECTED_EXPONENTIAL,
    REFLECTED_GUMBEL,
)
from dipapprox.laws.family import Family
from dipapprox.numerics.interpolation.analytic import size_for, tails
from dipapprox.numerics.interpolation.polynomial import (
    Polynomial,
    fit,
    nodes,
    restricted_rows,
    restriction,
)
from dipapprox.numerics.interpolation.smooth import near, points, smoothness_of_means

_SLOPES = (GAUSSIAN, (Fraction(1, 2), Fraction(0))), (GAUSSIAN, (Fraction(0), Fraction(1)))
"""Of Pr[X <= Y], X and Y Gaussian around u_1 and u_2, σ = 2 and 1."""


def _probability(u: float, v: float) -> float:
    """Closed form: the difference is Gaussian with variance 5."""
    return float(ndtr((v - u) / 5**0.5))


def _fitted(half: Fraction) -> Polynomial:
    halves, centres = (half, half), (Fraction(1, 3), Fraction(-1, 7))
    sizes = tuple(size_for((_SLOPES,), *each, 2.0**-40) for each in enumerate(halves))
    grids = [[float(c + half * z) for z in nodes(n)] for c, n in zip(centres, sizes, strict=True)]
    values = np.array([[_probability(u, v) for v in grids[1]] for u in grids[0]])
    left_out = tails((_SLOPES,), halves, sizes)
    return fit(centres, halves, values - 1e-15, values + 1e-15, left_out)


@pytest.mark.parametrize("half", [Fraction(1, 2), Fraction(3)])
def test_polynomials_are_near_closed_forms(half) -> None:
    found = _fitted(half)
    assert found.error < 1e-10


@given(st.data())
def test_models_hold_everywhere_in_their_boxes(data) -> None:
    whole = _fitted(Fraction(2))
    share = st.fractions(0, 1, max_denominator=64)
    box, points = [], []
    for centre in whole.centres:
        a, b = sorted(centre - 2 + 4 * data.draw(share) for _ in range(2))
        box.append((a, b))
        points.append([float(a + (b - a) * data.draw(share)) for _ in range(4)])
    model = whole.restricted(box).model()
    middles = [float(a + b) / 2 for a, b in box]
    for u, v in product(*points):
        form = model.value + model.gradient @ (np.array([u, v]) - middles)
        assert abs(_probability(u, v) - form) <= model.spread + 1e-14
        halves = [float(b - a) / 2 for a, b in box]
        x, y = (
            (value - middle) / half if half else 0.0
            for value, middle, half in zip((u, v), middles, halves, strict=True)
        )
        (xx, xy), (_, yy) = model.bends
        form += xx * (2 * x * x - 1) + xy * x * y + yy * (2 * y * y - 1)
        assert abs(_probability(u, v) - form) <= model.rest + 1e-14
        slope = float(np.exp(-((v - u) ** 2) / 10) / (10 * np.pi) ** 0.5)
        for axis, own in enumerate((-slope, slope)):
            if box[axis][0] < box[axis][1]:
                assert abs(own - model.gradient[axis]) <= model.steepness[axis] + 1e-14


@given(st.fractions(-1, 1, max_denominator=999), st.fractions(0, 1, max_denominator=999))
def test_restrictions_count_what_they_leave_out(centre, share) -> None:
    """Chebyshev polynomials of a part of [-1, 1], against those with all of their terms."""
    half, count = (1 - abs(centre)) * share, 24
    exact = restricted_rows(count, centre, half, 5000)
    found = restriction(count, centre, half)
    for row, whole in zip(found.matrix, exact, strict=True):
        terms = [Fraction(value, 2**5000) for value in whole]
        assert sum(map(abs, terms)) <= found.norm < 40
        kept = [Fraction(float(value)) for value in row] + [0] * len(terms)
        off = sum(abs(a - b) for a, b in zip(terms, kept, strict=False))
        assert off <= found.dropped + found.norm * 2.0**-53 < 2.0**-46
    assert exact[1][:2] == [int(centre * 2**5000 // 1), int(half * 2**5000 // 1)]
    x, last = centre + half, [Fraction(1), centre + half]
    for row in exact[2:]:
        last = [last[1], 2 * x * last[1] - last[0]]
        assert abs(Fraction(sum(row), 2**5000) - last[1]) < 2.0**-900


_BELOW = {
    GAUSSIAN: ndtr,
    LOGISTIC: stats.logistic.cdf,
    GUMBEL: stats.gumbel_r.cdf,
    REFLECTED_GUMBEL: stats.gumbel_l.cdf,
}


@pytest.mark.parametrize("family", _BELOW, ids=repr)
def test_tails_contain_the_coefficients_left_out(family) -> None:
    """One variable: the coefficients of the distribution function on [-1, 1] by a fine discrete
    transform."""
    count = 64
    angles = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    values = _BELOW[family](np.cos(angles))
    exact = [2 / count * float(values @ np.cos(k * angles)) for k in range(count)]
    for size in (4, 8, 12):
        bound = tails((((family, (Fraction(1),)),),), (Fraction(1),), (size,))
        left_out = sum(map(abs, exact[size:40]))
        assert left_out <= bound.value < 10_000 * left_out + 1e-12
        assert sum(k * k * abs(a) for k, a in enumerate(exact[:40]) if k >= size) <= bound.slopes[0]


_OFF_THE_LINE = {
    GAUSSIAN: lambda z: np.exp(-z * z / 2) / (2 * np.pi) ** 0.5,
    LOGISTIC: lambda z: 1 / (4 * np.cosh(z / 2) ** 2),
    GUMBEL: lambda z: np.exp(-z - np.exp(-z)),
    REFLECTED_GUMBEL: lambda z: np.exp(z - np.exp(z)),
}


@pytest.mark.parametrize("family", _OFF_THE_LINE, ids=repr)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)])
def test_moduli_off_the_line(family, share) -> None:
    """By quadrature."""
    height = share * (Fraction(2) if family.strip is None else family.strip)
    true, _ = quad(lambda x: abs(_OFF_THE_LINE[family](x + 1j * float(height))), -40, 40, limit=200)
    assert true - 1e-9 <= family.modulus(height) < 1.01 * true


_LAWS = {
    LAPLACE: stats.laplace,
    GAUSSIAN: stats.norm,
    EXPONENTIAL: stats.expon,
    REFLECTED_EXPONENTIAL: None,
}


def _below(family: Family, x: float) -> float:
    """Pr[Z <= x]."""
    law = _LAWS[family]
    return float(1 - stats.expon.cdf(-x) if law is None else law.cdf(x))


@given(
    st.lists(st.sampled_from(sorted(_LAWS, key=str)), min_size=2, max_size=2),
    st.lists(st.fractions(-2, 2, max_denominator=4), min_size=4, max_size=4),
    st.lists(st.fractions(-3, 3, max_denominator=8), min_size=2, max_size=2),
    st.lists(st.fractions(0, 1, max_denominator=8), min_size=2, max_size=2),
)
def test_forms_are_near_everywhere(families, matrix, centre, halves) -> None:
    """Pr[Z_1 <= a·u, Z_2 <= b·u] on a box of two inputs."""
    rows = [matrix[:2], matrix[2:]]

    def probability(u: tuple[Fraction, ...]) -> float:
        forms = [sum((s * x for s, x in zip(row, u, strict=True)), Fraction(0)) for row in rows]
        return float(np.prod([_below(f, float(x)) for f, x in zip(families, forms, strict=True)]))

    smooth = smoothness_of_means(
        [(f, tuple(map(abs, row))) for f, row in zip(families, rows, strict=True)], 2
    )
    growth = [
        (1 if min(column) >= 0 else -1 if max(column) <= 0 else 0)
        for column in zip(*rows, strict=True)
    ]
    box = [(c - h, c + h) for c, h in zip(centre, halves, strict=True)]
    values = np.array([probability(point) for point in points(smooth, growth, box)])
    model, steep = near(smooth, growth, box, values, values)
    for share in ((0, 0), (1, 1), (0, 1), (1, 0), (Fraction(1, 3), Fraction(4, 5))):
        u = tuple(low + s * (high - low) for s, (low, high) in zip(share, box, strict=True))
        offset = np.array([float(x - c) for x, c in zip(u, centre, strict=True)])
        form = model.value + float(model.gradient @ offset)
        assert abs(form - probability(u)) <= model.spread + 1e-13
        for axis in (0, 1):
            if halves[axis]:
                step = tuple(x - Fraction(axis == k, 10**4) for k, x in enumerate(u))
                slope = (probability(u) - probability(step)) * 10**4
                assert abs(slope) <= float(steep[axis]) + 1e-3
                assert abs(slope - model.gradient[axis]) <= model.steepness[axis] + 1e-3
