"""What families need to bound their functions on panels, on arrays of doubles.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. On ellipses suprema are those of the modulus on the boundary, by the maximum principle, and the
boundary is cut into arcs at equidistant real parts.

Values. Inputs c and h are correctly rounded. With u = 2^-53 and T = |c| + h <= 2^20 the computed
point t = fl(c + fl(h x)) is within d = 2^-50 T of the exact one. Where the hazard rate is at most
|t| + 1 this changes functions by factors within exp(± d (T + 1 + d)); as d (T + 1) is below 2^-9,
1.01 times the terms of first order bound all relative errors.

Cuts. Let the ellipse have the semi-axes A and B. The computed A' is at least A + 2^-30 (|c| + A),
and the cuts x_j = fl(c + A' e_j), e_j from -1 to 1, are within 2^-51 (|c| + A') <= 2^-20 A' of
c + A' e_j. So the outer cuts enclose the ellipse; and it lies inside the one with the semi-axes A'
and B, on which |Im z| <= B sqrt(1 - e²) (1 + 2^-18) beyond the computed cut at |e| <= 3/4.
Otherwise cuts need no error bounds: they are what they are.

Rounding. `growth` exceeds the exponential by 2^-30 in proportion, which covers the roundings of its
argument, at most 700 * 2^-51, or 2^-990 below -690, and of what is made of it. Where a lower bound
is wanted, the factor 1 - 2^-20 leaves as much, up to 2^-988, which is only taken from 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import Rule

Array = NDArray[np.float64]
_ARCS = 8
_EDGES = np.linspace(-1.0, 1.0, _ARCS + 1)[:, None]
# Largest |Im w| / b on each arc of the left half: sqrt(1 - e²) at its right end, 1 next to 0.
_HEIGHTS = np.sqrt(1 - _EDGES[1 : _ARCS // 2 + 1] ** 2) * (1 + 2.0**-17)


def least_cosine(height: Array) -> Array:
    """Return a lower bound of cos y for |y| <= height.

    By Taylor's polynomial 1 - h²/2 + h⁴/24 - h⁶/720, which is below the cosine; rounding costs less
    than 2^-30. Beyond π the cosine is not monotone: -1 serves everywhere.
    """
    square = height * height
    cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30))
    found: Array = np.where(height < 3.125, np.maximum(cosine - 2.0**-30, -1.0), -1.0)
    return found


def arcs(center: Array, half: Array, rule: Rule) -> tuple[Array, Array]:
    """Cut the ellipses.

    Returns:
        The cuts x_j, (R, arcs + 1, P), and the largest |Im z| on the arcs of the left half, (R,
        arcs / 2, P): those of the right half are as high.
    """
    wide = rule.wide[:, None] * (half * (1 + 2.0**-29)) + 2.0**-29 * np.abs(center)
    high = rule.high[:, None] * half
    return wide[:, None, :] * _EDGES + center, high[:, None, :] * _HEIGHTS


def on_all(values: Array, edges: Array) -> Array:
    """Return numbers on all boxes between edges from those on the left half, if that is all."""
    if 2 * values.shape[1] == edges.shape[1] - 1:
        return np.concatenate([values, values[:, ::-1]], axis=1)
    return values
