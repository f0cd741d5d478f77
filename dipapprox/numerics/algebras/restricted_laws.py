"""Restricted laws, sampled on all panels of a grid (see `grid` for what restriction means).

With F the distribution function, a and b the span's ends, F(a) and 1 - F(b) from balls:

              left of the span     on the span        right of it
    density   0                    F'(t)              0
    cdf       0                    F(t) - F(a)        F(b) - F(a)
    survival  F(b) - F(a)          F(b) - F(t)        0
    mass      F(b) - F(a)          F(b) - F(a)        F(b) - F(a)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.distributions import MIRRORED, Distribution
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.legendre import Rule
from dipapprox.numerics.algebras.sampled_laws import Samples, sample_cdf, sample_density
from dipapprox.numerics.densities import STANDARD_LAWS
from dipapprox.numerics.precision import precision, to_ball

Array = NDArray[np.float64]
Sampler = Callable[[Distribution, Grid, Rule], Samples]

_U = 2.0**-53
_UP = 1 + 2.0**-45


def restricted_density(law: Distribution, grid: Grid, rule: Rule) -> Samples:
    """Sample the density of the restricted law."""
    scale = float(law.scale)
    inner = sample_density(law.family, *_standard_panels(law, grid), rule)
    values = inner.values / scale
    # The scale and the quotient are rounded once each.
    error = inner.error / scale * _UP + 3 * _U * values.max(axis=1)
    inside = Samples(values, error, inner.majorants / scale * _UP)
    return _on_grid(law, grid, inside, _NOTHING, _NOTHING)


def restricted_cdf(law: Distribution, grid: Grid, rule: Rule) -> Samples:
    """Sample t -> mass of the restricted law below t."""
    left, mass, _ = _masses(law, grid)
    inner = sample_cdf(law.family, *_standard_panels(law, grid), rule)
    return _on_grid(law, grid, _minus(inner, left), _NOTHING, mass)


def restricted_survival(law: Distribution, grid: Grid, rule: Rule) -> Samples:
    """Sample t -> mass of the restricted law above t: 1 - F(t) is F(-t) of the mirrored law."""
    _, mass, right = _masses(law, grid)
    center, half = _standard_panels(law, grid)
    inner = sample_cdf(MIRRORED[law.family], -center, half, rule)
    mirrored = Samples(inner.values[:, ::-1], inner.error, inner.majorants)
    return _on_grid(law, grid, _minus(mirrored, right), mass, _NOTHING)


def restricted_mass(law: Distribution, grid: Grid, rule: Rule) -> Samples:
    """Sample the total mass of the restricted law."""
    _, mass, _ = _masses(law, grid)
    panels = grid.panels
    return Samples(
        np.full((panels, len(rule.nodes)), mass.value),
        np.full(panels, mass.error),
        np.full((panels, len(rule.ratios) + 1), mass.bound),
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """A constant >= 0: a double, a bound on its error, an upper bound of the exact number."""

    value: float
    error: float
    bound: float

    @classmethod
    def of(cls, ball: arb) -> _Level:
        value = max(float(ball.mid()), 0.0)
        error = float(abs(ball - arb(value)).upper()) * _UP
        return cls(value, error, (value + error) * _UP)


_NOTHING = _Level(0.0, 0.0, 0.0)


def _standard_panels(law: Distribution, grid: Grid) -> tuple[Array, Array]:
    """Centres and half-widths of the span's panels in standard units, correctly rounded.

    Python divides integers with one rounding: over a common denominator d, with mean = m / n and
    scale = s / t, a centre is ((low + high) / (2 d) - m / n) t / s.
    """
    span = grid.spans[law]
    marks, denominator = grid.marks[span.first : span.last + 1], grid.unit
    (m, n), (s, t) = law.mean.as_integer_ratio(), law.scale.as_integer_ratio()
    below, shift, wide = 2 * denominator * n * s, 2 * denominator * m, 2 * denominator * s
    center = [((low + high) * n - shift) * t / below for low, high in pairwise(marks)]
    half = [(high - low) * t / wide for low, high in pairwise(marks)]
    return np.array(center), np.array(half)


def _masses(law: Distribution, grid: Grid) -> tuple[_Level, _Level, _Level]:
    """Mass left of the span, in it, right of it."""
    span = grid.spans[law]
    standard = STANDARD_LAWS[law.family]
    with precision(128):
        low, high = (
            to_ball((grid.boundaries[end] - law.mean) / law.scale)
            for end in (span.first, span.last)
        )
        left, right = standard.cdf(low, -1), standard.survival(high, 1)
        return _Level.of(left), _Level.of(1 - left - right), _Level.of(right)


def _minus(samples: Samples, level: _Level) -> Samples:
    """function - level, which is still >= 0; a majorant other than on the panel grows by level."""
    growth = np.full(samples.majorants.shape[1], level.bound)
    growth[0] = 0.0
    values = samples.values - level.value
    error = samples.error + level.error + _U * np.abs(values).max(axis=1)
    return Samples(values, error * _UP, (samples.majorants + growth) * _UP)


def _on_grid(
    law: Distribution, grid: Grid, inside: Samples, left: _Level, right: _Level
) -> Samples:
    span = grid.spans[law]
    before, after = span.first, grid.panels - span.last

    def extend(inner: Array, first: float, last: float) -> Array:
        ends = [
            np.full((count, *inner.shape[1:]), level)
            for count, level in ((before, first), (after, last))
        ]
        return np.concatenate([ends[0], inner, ends[1]])

    return Samples(
        extend(inside.values, left.value, right.value),
        extend(inside.error, left.error, right.error),
        extend(inside.majorants, left.bound, right.bound),
    )
