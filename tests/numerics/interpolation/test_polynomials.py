"""Polynomials near probabilities: every bound holds, and the bounds are narrow."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from dipapprox.numerics.interpolation.entire import StateBound, sizes_for, tails
from dipapprox.numerics.interpolation.polynomial import Polynomial, fit, nodes

_SLOPES = StateBound(((Fraction(1, 2), Fraction(0)), (Fraction(0), Fraction(1))))
"""Of Pr[X <= Y], X and Y Gaussian around u_1 and u_2, σ = 2 and 1."""


def _probability(u: float, v: float) -> float:
    """Closed form: the difference is Gaussian with variance 5."""
    return float(ndtr((v - u) / 5**0.5))


def _fitted(half: Fraction) -> Polynomial:
    halves, centres = (half, half), (Fraction(1, 3), Fraction(-1, 7))
    sizes = sizes_for((_SLOPES,), halves, 2.0**-40)
    grids = [[float(c + half * z) for z in nodes(n)] for c, n in zip(centres, sizes, strict=True)]
    values = np.array([[_probability(u, v) for v in grids[1]] for u in grids[0]])
    left_out = tails((_SLOPES,), halves, sizes)
    return fit(centres, halves, values - 1e-15, values + 1e-15, left_out)


@pytest.mark.parametrize("half", [Fraction(1, 2), Fraction(3)])
def test_polynomials_are_near_closed_forms(half: Fraction) -> None:
    found = _fitted(half)
    assert found.error < 1e-10


@given(st.data())
def test_models_hold_everywhere_in_their_boxes(data: st.DataObject) -> None:
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


def test_tails_contain_the_coefficients_left_out() -> None:
    """One variable: the coefficients of Φ on [-1, 1] by a fine discrete transform."""
    count = 64
    angles = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    values = ndtr(np.cos(angles))
    exact = [2 / count * float(values @ np.cos(k * angles)) for k in range(count)]
    for size in (4, 8, 12):
        bound = tails((StateBound(((Fraction(1),),)),), (Fraction(1),), (size,))
        left_out = sum(map(abs, exact[size:40]))
        assert left_out <= bound.value < 1000 * left_out + 1e-12
        assert sum(k * k * abs(a) for k, a in enumerate(exact[:40]) if k >= size) <= bound.slopes[0]
