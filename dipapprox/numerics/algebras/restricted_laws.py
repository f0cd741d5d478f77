"""Restricted laws, sampled on all panels of a grid (see `grid` for what restriction means).

With F the distribution function, a and b the span's ends:

              left of the span     on the span        right of it
    density   0                    F'(t)              0
    cdf       0                    F(t) - F(a)        F(b) - F(a)
    survival  F(b) - F(a)          F(b) - F(t)        0

F(a) and 1 - F(b) are what is sampled at these ends; for one-sided laws one of them is 0. The laws
are those of one family: in standard units they are one law, on the panels of all their spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.numerics.algebras.grid import Grid, Span
from dipapprox.numerics.algebras.legendre import Rule
from dipapprox.numerics.algebras.sampled import SAFE, Sampled
from dipapprox.numerics.algebras.sampled_laws import Samples, sample_law
from dipapprox.numerics.rounding import FLOOR

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_U = 2.0**-53
_UP = 1 + 2.0**-45


@dataclass(frozen=True, slots=True, eq=False)
class RestrictedLaw:
    """A restricted law, sampled on its span of a grid.

    Attributes:
        panels: Of the grid.
        span: Which of them are the law's.
        layers: See `Sampled`: density, cdf and survival on the span, shape (3, n + R + 2, …).
        total: Layers of a constant, the total mass; shape (n + R + 2, 1).
        least: Positive lower bound of all majorants.
    """

    panels: int
    span: Span
    layers: Array
    total: Array
    least: float

    def density(self) -> Sampled:
        """The density on the grid."""
        nothing = self._nothing()
        return self._joined(nothing, self.layers[0], nothing)

    def cdf(self) -> Sampled:
        """t -> mass below t."""
        return self._joined(self._nothing(), self.layers[1], self.total)

    def survival(self) -> Sampled:
        """t -> mass above t."""
        return self._joined(self.total, self.layers[2], self._nothing())

    def _nothing(self) -> Array:
        zero = np.zeros_like(self.total)
        zero[-1] = 1.0
        return zero

    def _joined(self, before: Array, inside: Array, after: Array) -> Sampled:
        layers = np.empty((len(inside), self.panels))
        layers[:, : self.span.first] = before
        layers[:, self.span.first : self.span.last] = inside
        layers[:, self.span.last :] = after
        return Sampled(layers, 1, self.least)


def restricted_laws(laws: Sequence[Distribution], grid: Grid, rule: Rule) -> list[RestrictedLaw]:
    """Sample restricted laws of one family, at least one."""
    family = laws[0].family
    panels = [_standard_panels(law, grid) for law in laws]
    counts = [len(centers) for centers, _ in panels]
    ends: Integers = np.cumsum(counts)
    starts = ends - counts
    center, half = (np.array(list(chain(*lists))) for lists in zip(*panels, strict=True))
    standard = sample_law(family, center, half, rule)
    # By function and law: the masses left of the span for the distribution function, right of it
    # for the survival function.
    outside, outside_error = np.zeros((2, 3, len(laws)))
    if family is not Family.EXPONENTIAL:
        outside[1] = standard.values[1, 0, starts]
        outside_error[1] = standard.error[1, starts]
    if family is not Family.REFLECTED_EXPONENTIAL:
        outside[2] = standard.values[2, -1, ends - 1]
        outside_error[2] = standard.error[2, ends - 1]
    scale = np.ones((3, len(laws)))
    scale[0] = [float(law.scale) for law in laws]
    layers = _layers(
        _reduced(standard, *np.repeat([scale, outside, outside_error], counts, axis=2))
    )
    totals = _totals(outside, outside_error, rule)
    least = min(float(each[..., len(rule.nodes) : -1, :].min()) for each in (layers, totals))
    return [
        RestrictedLaw(
            grid.panels, grid.spans[law], layers[..., start:end], totals[:, k : k + 1], least
        )
        for k, (law, start, end) in enumerate(zip(laws, starts, ends, strict=True))
    ]


def _standard_panels(law: Distribution, grid: Grid) -> tuple[list[float], list[float]]:
    """Centres and half-widths of the span's panels in standard units, correctly rounded.

    Python divides integers with one rounding: over a common denominator d, with mean = m / n and
    scale = s / t, a centre is ((low + high) / (2 d) - m / n) t / s.
    """
    span = grid.spans[law]
    marks, denominator = grid.marks[span.first : span.last + 1], grid.unit
    (m, n), (s, t) = law.mean.as_integer_ratio(), law.scale.as_integer_ratio()
    below, wide = 2 * denominator * n * s, 2 * denominator * s
    factor, shift = n * t, 2 * denominator * m * t
    center = [((low + high) * factor - shift) / below for low, high in pairwise(marks)]
    half = [(high - low) * t / wide for low, high in pairwise(marks)]
    return center, half


def _reduced(samples: Samples, scale: Array, level: Array, level_error: Array) -> Samples:
    """function / scale - level, which is still >= 0; every argument has shape (3, P).

    The scale, the quotient and the difference are rounded once each: a density is divided, the
    other functions lose a constant. No value exceeds the majorant on the panel by more than its
    error, and that is taken care of by the last factor. The other majorants grow by the constant.
    """
    values = samples.values / scale[:, None] - level[:, None]
    majorants = samples.majorants / scale[:, None] * _UP
    error = samples.error / scale + level_error + _ROUNDINGS * _U * majorants[:, 0]
    majorants[:, 1:] += (level + level_error)[:, None] * _UP
    return Samples(values, error * _UP, majorants)


_ROUNDINGS = np.array([[3.0], [1.0], [1.0]])


def _totals(outside: Array, outside_error: Array, rule: Rule) -> Array:
    """Return the layers of the masses inside, constants; shape (n + R + 2, laws)."""
    beyond = outside.sum(axis=0)
    value = np.maximum(1 - beyond, 0.0)
    error = (outside_error.sum(axis=0) + _U * (beyond + 0.5)) * _UP
    bound = np.maximum((value + error) * _UP, FLOOR)
    layers = np.empty((len(rule.nodes) + len(rule.ratios) + 2, len(value)))
    layers[: len(rule.nodes)] = value
    layers[len(rule.nodes) : -1] = bound
    layers[-1] = 1 + error / bound * SAFE
    return layers


def _layers(samples: Samples) -> Array:
    """Arrange functions that vanish nowhere as `Sampled` does."""
    majorants = np.maximum(samples.majorants, FLOOR)
    amplification = 1 + samples.error / majorants[..., 0, :] * SAFE
    values = samples.values[..., 1:-1, :]
    return np.concatenate([values, majorants, amplification[..., None, :]], axis=-2)
