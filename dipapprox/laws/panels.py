"""What families need to bound their functions on panels, on arrays of doubles.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. On ellipses suprema are those of the modulus on the boundary, by the maximum principle, and the
boundary is cut into arcs at equidistant real parts. Laws here are symmetric, or mirror images of
each other: we may assume c >= 0.

Cuts. Let the ellipse have the semi-axes A and B. The computed A' is at least A + 2^-30 (c + A), and
the cuts x_j = fl(c + A' e_j), e_j from -1 to 1, are within 2^-51 (c + A') <= 2^-20 A' of c + A'
e_j. So the outer cuts enclose the ellipse; and it lies inside the one with the semi-axes A' and B,
on which |Im z| <= B sqrt(1 - e²) (1 + 2^-18) beyond the computed cut at |e| <= 3/4. Otherwise cuts
need no error bounds: they are what they are.

Rounding. `growth` exceeds the exponential by 2^-30 in proportion, which covers the roundings of its
argument, at most 700 * 2^-51, or 2^-990 below -690, and of what is made of it. Where a lower bound
is wanted, the factor 1 - 2^-20 leaves as much, up to 2^-988, which is only taken from 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import Rule

Array = NDArray[np.float64]

_ARCS = 8
_EDGES = np.linspace(-1.0, 1.0, _ARCS + 1)[:, None]
# Largest |Im w| / b on each arc of the left half: sqrt(1 - e²) at its right end, 1 next to 0.
_HEIGHTS = np.sqrt(1 - _EDGES[1 : _ARCS // 2 + 1] ** 2) * (1 + 2.0**-17)


class OnPanels(NamedTuple):
    """Functions of a standard law at points t of P panels, n to each, its ends among them.

    Attributes:
        density: f(t), shape (n, P).
        tail: The mass beyond t, as seen from 0, shape (n, P).
        errors: Relative errors of both as polynomials in T, the largest |t|, in units of 2^-53: the
            coefficients of 1, T and T², each for the density and for the tail.
        peak: About the largest density.
        ellipses: Bounds of the moduli of f, the distribution function and the survival function on
            the R ellipses round each panel, each of shape (R, P).
    """

    density: Array
    tail: Array
    errors: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    peak: float
    ellipses: tuple[Array, Array, Array]


def arcs(center: Array, half: Array, rule: Rule) -> tuple[Array, Array]:
    """Cut the ellipses round |c|.

    Returns:
        The cuts x_j, (R, arcs + 1, P), and the largest |Im z| on the arcs of the left half, (R,
        arcs / 2, P): those of the right half are as high.
    """
    c = np.abs(center)
    wide = rule.wide[:, None] * (half * (1 + 2.0**-29)) + 2.0**-29 * c
    high = rule.high[:, None] * half
    return wide[:, None, :] * _EDGES + c, high[:, None, :] * _HEIGHTS


def both_halves(left: Array) -> Array:
    """Return numbers on all arcs from those on the left half."""
    return np.concatenate([left, left[:, ::-1]], axis=1)


def mirrored(
    center: Array, density: Array, below: Array, above: Array
) -> tuple[Array, Array, Array]:
    """Return bounds round c from bounds round |c|."""
    swapped = center < 0
    return density, np.where(swapped, above, below), np.where(swapped, below, above)
