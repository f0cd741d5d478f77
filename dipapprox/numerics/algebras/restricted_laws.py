"""Restricted laws, sampled on all panels of a grid (see `grid` for what restriction means).

With F the distribution function, a and b the span's ends:

              left of the span     on the span        right of it
    density   0                    F'(t)              0
    cdf       0                    F(t) - F(a)        F(b) - F(a)
    survival  F(b) - F(a)          F(b) - F(t)        0
    mass      F(b) - F(a)          F(b) - F(a)        F(b) - F(a)

F(a) and 1 - F(b) are what is sampled at these ends; for one-sided laws one of them is 0. The laws
are those of one family: in standard units they are one law, on the panels of all their spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from dipapprox.distributions import Distribution, Family
from dipapprox.numerics.algebras.grid import Grid, Span
from dipapprox.numerics.algebras.legendre import Rule
from dipapprox.numerics.algebras.sampled import FLOOR, SAFE, Sampled
from dipapprox.numerics.algebras.sampled_laws import Samples, sample_law

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_U = 2.0**-53
_UP = 1 + 2.0**-45


@dataclass(frozen=True, slots=True, eq=False)
class RestrictedLaw:
    """The functions of a restricted law on a grid.

    Attributes:
        density: 0 outside the span.
        cdf: t -> mass below t.
        survival: t -> mass above t.
        mass: t -> the total mass.
    """

    density: Sampled
    cdf: Sampled
    survival: Sampled
    mass: Sampled


def restricted_laws(laws: Sequence[Distribution], grid: Grid, rule: Rule) -> list[RestrictedLaw]:
    """Sample restricted laws of one family, at least one."""
    family = laws[0].family
    panels = [_standard_panels(law, grid) for law in laws]
    counts = [len(centers) for centers, _ in panels]
    ends: Integers = np.cumsum(counts)
    first, last = ends - counts, ends - 1
    center, half = (np.array(list(chain(*lists))) for lists in zip(*panels, strict=True))
    scale = np.repeat([float(law.scale) for law in laws], counts)
    standard = sample_law(family, center, half, rule)
    left = _beyond(standard.cdf, (0, first), family is not Family.EXPONENTIAL)
    right = _beyond(standard.survival, (-1, last), family is not Family.REFLECTED_EXPONENTIAL)
    inside = [
        _layers(_scaled(standard.density, scale)),
        _layers(_minus(standard.cdf, left.repeated(counts))),
        _layers(_minus(standard.survival, right.repeated(counts))),
    ]
    masses = _layers(_complement(left, right, rule))
    nothing = np.zeros((len(masses), 1))
    nothing[-1] = 1.0
    least = min(float(each[len(rule.nodes) : -1].min()) for each in (*inside, masses))
    found = []
    for k, law in enumerate(laws):
        span, own = grid.spans[law], slice(first[k], ends[k])
        density, cdf, survival = (layers[:, own] for layers in inside)
        mass = masses[:, k : k + 1]
        pieces = (
            (nothing, density, nothing),
            (nothing, cdf, mass),
            (mass, survival, nothing),
            (mass, mass, mass),
        )
        found.append(
            RestrictedLaw(
                *(Sampled(_on_grid(each, span, grid.panels), 1, least, True) for each in pieces)
            )
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """Constants >= 0: doubles, bounds on their errors, upper bounds of the exact numbers."""

    value: Array
    error: Array
    bound: Array

    def repeated(self, counts: list[int]) -> _Levels:
        """Each as often as given."""
        return _Levels(*(np.repeat(each, counts) for each in (self.value, self.error, self.bound)))


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


def _beyond(samples: Samples, ends: tuple[int, Integers], supported: bool) -> _Levels:
    """Read the masses beyond ends of the spans, row and panels; 0 if none is `supported`."""
    row, panels = ends
    value, error = samples.values[row, panels] * supported, samples.error[panels] * supported
    return _Levels(value, error, (value + error) * _UP)


def _complement(left: _Levels, right: _Levels, rule: Rule) -> Samples:
    """Return the masses between: constants, as if every law had one panel."""
    outside = left.value + right.value
    value = np.maximum(1 - outside, 0.0)
    error = (left.error + right.error + _U * (outside + 0.5)) * _UP
    rows = np.ones((len(rule.points), 1)), np.ones((len(rule.ratios) + 1, 1))
    return Samples(rows[0] * value, error, rows[1] * ((value + error) * _UP))


def _scaled(samples: Samples, scale: Array) -> Samples:
    """function / scale; the scale and the quotient are rounded once each."""
    majorants = samples.majorants / scale * _UP
    error = samples.error / scale * _UP + 3 * _U * majorants[0]
    return Samples(samples.values / scale, error, majorants)


def _minus(samples: Samples, level: _Levels) -> Samples:
    """function - level, which is still >= 0; a majorant other than on the panel grows by level."""
    majorants = samples.majorants * _UP
    majorants[1:] += level.bound * _UP
    error = samples.error + level.error + _U * majorants[0]
    return Samples(samples.values - level.value, error * _UP, majorants)


def _layers(samples: Samples) -> Array:
    """Arrange functions that vanish nowhere as `Sampled` does."""
    majorants = np.maximum(samples.majorants, FLOOR)
    amplification = 1 + samples.error / majorants[0] * SAFE
    return np.vstack([samples.values[1:-1], majorants, amplification])


def _on_grid(pieces: tuple[Array, Array, Array], span: Span, panels: int) -> Array:
    """Join layers left of the span, in it and right of it."""
    before, inside, after = pieces
    layers = np.empty((len(inside), panels))
    layers[:, : span.first] = before
    layers[:, span.first : span.last] = inside
    layers[:, span.last :] = after
    return layers
