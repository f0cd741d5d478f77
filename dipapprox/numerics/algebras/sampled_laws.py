"""Laws on float64 panels: node values with proved errors, majorants on ellipses.

First standard laws, on any panels; from them the restricted laws of a grid, on all its panels.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. The density, the distribution function and 1 minus it, the survival function, come from the
same exponentials, on many panels at once: commonly those of all laws of a grid.

Values, their errors and bounds on ellipses are the families' (`laws.panels`). On the panel itself
the functions are monotone, but for densities round 0: their suprema are the values at an end.

Restricted laws (see `grid` for what restriction means). With F the distribution function, a and b
the span's ends:

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

from dipapprox.arithmetic.double_functions import UNDERFLOW
from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, UP, Array
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import RealFamily
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.sampled import Sampled

FARTHEST = 2**20
"""How many scales a panel may reach from a mean: the relative errors stay below 1 %."""


class Samples(Record, eq=False):
    """Density, distribution function and survival function, in this order, on P panels."""

    values: Array  # at the left end, the n nodes and the right end, shape (3, n + 2, P)
    error: Array  # absolute error of all values of a panel, shape (3, P)
    majorants: Array  # on the panel and the R ellipses, shape (3, R + 1, P); finite or inf


def sample_law(family: RealFamily, center: Array, half: Array, rule: Rule) -> Samples:
    """Sample the standard law; no panel may straddle 0 if there is a kink, or be too far away."""
    reach = np.abs(center) + half
    if not reach.max() <= FARTHEST:
        raise BrokenInvariant("a panel reaches further from a mean than error bounds allow")
    t = half * rule.points[:, None] + center
    if not np.isin(np.sign(center), (0, *family.sides)).all():
        raise BrokenInvariant("a one-sided law was sampled where it has no mass")
    density, tail = found = family.at(t)
    errors = family.errors(t, found, reach)
    # An end that is nearer to 0 than its own error may be on the wrong side of it: in proportion,
    # f(0) is then at most 2^-60 larger than the density there.
    right = np.broadcast_to(center > 0, t.shape) if family.has_kink else t > 0
    straddling = right[-1] > right[0]
    values, body = np.empty((3, *t.shape)), 1 - tail
    values[0] = density
    values[1] = np.where(right, body, tail)
    values[2] = np.where(right, tail, body)
    error = errors[[0, 1, 1]] + 2 * UNDERFLOW
    error[1] += UNIT_ROUNDOFF * right[-1]
    error[2] += UNIT_ROUNDOFF * ~right[0]
    # On the panel, the distribution function is largest at the right end, survival at the left.
    majorants = np.empty((3, len(rule.ratios) + 1, len(center)))
    majorants[0, 0] = np.where(straddling, float(family.steep), np.maximum(density[0], density[-1]))
    majorants[1, 0], majorants[2, 0] = values[1, -1], values[2, 0]
    majorants[:, 0] += error
    majorants[:, 0] *= UP
    majorants[:, 1:] = family.ellipses(center, half, rule)
    return Samples(values, error, majorants)


Integers = NDArray[np.int64]
_RESTRICTED_UP = 1 + 2.0**-45


def _on_grid(law: Distribution, grid: Grid, inside: Array, ends: tuple[Array, Array]) -> Array:
    """Layers on the whole grid from those on the span: beyond it they are constant."""
    span = grid.spans[law]
    layers = np.empty((len(inside), grid.panels))
    layers[:, : span.first], layers[:, span.last :] = ends
    layers[:, span.first : span.last] = inside
    layers.setflags(write=False)
    return layers


def restricted_laws(
    laws: Sequence[Distribution], grid: Grid, rule: Rule
) -> list[tuple[Sampled, Sampled, Sampled]]:
    """Sample restricted laws of one family, at least one: density, cdf and survival of each."""
    family = laws[0].real
    panels = [_standard_panels(law, grid) for law in laws]
    counts = [len(centers) for centers, _ in panels]
    ends: Integers = np.cumsum(counts)
    starts = ends - counts
    center, half = (np.array(list(chain(*lists))) for lists in zip(*panels, strict=True))
    standard = sample_law(family, center, half, rule)
    # By function and law: the masses left of the span for the distribution function, right of it
    # for the survival function.
    outside, outside_error = np.zeros((2, 3, len(laws)))
    if -1 in family.sides:
        outside[1] = standard.values[1, 0, starts]
        outside_error[1] = standard.error[1, starts]
    if 1 in family.sides:
        outside[2] = standard.values[2, -1, ends - 1]
        outside_error[2] = standard.error[2, ends - 1]
    scale = np.ones((3, len(laws)))
    scale[0] = [float(law.scale) for law in laws]
    layers = _layers(
        _reduced(standard, *np.repeat([scale, outside, outside_error], counts, axis=2))
    )
    totals = _totals(outside, outside_error, rule)
    least = min(float(each[..., len(rule.nodes) : -1, :].min()) for each in (layers, totals))
    nothing = np.zeros_like(totals[:, :1])
    nothing[-1] = 1.0
    found = []
    for k, law in enumerate(laws):
        inside, total = layers[..., starts[k] : ends[k]], totals[:, k : k + 1]
        beyond = (nothing, nothing), (nothing, total), (total, nothing)
        density, cdf, survival = (
            Sampled(_on_grid(law, grid, *each), 1, least)
            for each in zip(inside, beyond, strict=True)
        )
        found.append((density, cdf, survival))
    return found


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
    majorants = samples.majorants / scale[:, None] * _RESTRICTED_UP
    error = samples.error / scale + level_error + _ROUNDINGS * UNIT_ROUNDOFF * majorants[:, 0]
    majorants[:, 1:] += (level + level_error)[:, None] * _RESTRICTED_UP
    return Samples(values, error * _RESTRICTED_UP, majorants)


_ROUNDINGS = np.array([[3.0], [1.0], [1.0]])


def _totals(outside: Array, outside_error: Array, rule: Rule) -> Array:
    """Return the layers of the masses inside, constants; shape (n + R + 2, laws)."""
    beyond = outside.sum(axis=0)
    value = np.maximum(1 - beyond, 0.0)
    error = (outside_error.sum(axis=0) + UNIT_ROUNDOFF * (beyond + 0.5)) * _RESTRICTED_UP
    bound = np.maximum((value + error) * _RESTRICTED_UP, FLOOR)
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
