"""Standard laws on float64 panels: node values with proved errors, majorants on ellipses.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. The density, the distribution function and 1 minus it, the survival function, come from the
same exponentials, on many panels at once: commonly those of all laws of a grid.

Inputs c and h are correctly rounded. With u = 2^-53 and T = |c| + h the computed point t = fl(c +
fl(h x)) is within 2^-50 T of the exact one; moving an argument by d <= 2^-40 changes the
functions by factors within exp(± d (T + 1)), because the hazard rate of any law here is at most |t|
+ 1.

Laplace and one-sided panels lie on one side of 0, with the law's mass m on that side: the density
and what is beyond t are m e^-|t|.

On the panel itself the functions are monotone, but for the Gaussian density round 0: their suprema
are the values at an end. On an ellipse they are those of the modulus on its boundary, by the
maximum principle, and the boundary is cut into arcs at equidistant real parts. All laws here are
symmetric, or mirror images of each other: we may assume c >= 0.

Cuts. Let the ellipse have the semi-axes A and B. The computed A' is at least A + 2^-30 (c + A), and
the cuts x_j = fl(c + A' e_j), e_j from -1 to 1, are within 2^-51 (c + A') <= 2^-20 A' of c + A'
e_j. So the outer cuts enclose the ellipse; and it lies inside the one with the semi-axes A' and B,
on which |Im z| <= B sqrt(1 - e²) (1 + 2^-18) beyond the computed cut at |e| <= 4/5. Otherwise cuts
need no error bounds: they are what they are.

Gaussian ellipses. Integrating the density from x to x + iy,

    Φ(x + iy) = Φ(x) + φ(x) ∫_0^y e^(s²/2) (sin(xs) + i cos(xs)) ds,

and with q = exp(y²/2), D = y (1 + (q - 1) / 3) >= ∫_0^y e^(s²/2) ds (compare power series),

    |Φ(x + iy)|² <= (Φ(x) + φ(x) min(|x| (q - 1), D))² + (φ(x) D)²,   as |sin xs| <= |x| s,

likewise for 1 - Φ, and |φ(x + iy)| = φ(x) q. Here Φ(x) is bounded by elementary bounds of Mills'
ratio (Birnbaum; Sampford), for t >= 0

    2 / (t + sqrt(t² + 4))  <=  M(t) = (1 - Φ(t)) / φ(t)  <=  4 / (3 t + sqrt(t² + 8)),

the latter at most 6 / (5 t + 4), as 9 (t² + 8) >= (t + 8)².

Exponential ellipses. |m e^-z| is largest at the left end, and

    |1 - m e^(-x - iy)|² = (1 - m e^-x)² + 2 m e^-x (1 - cos y) <= (1 - m e^-x)² + m e^-x y².

References:
    Z. Birnbaum, An inequality for Mill's ratio, Ann. Math. Statist. 13 (1942);
    M. Sampford, Some inequalities on Mill's ratio and related functions, ibid. 24 (1953).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dipapprox.distributions import Family
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.algebras.elementary import (
    EXCESS,
    RELATIVE,
    UNDERFLOW,
    exponential,
    growth,
    mills_ratio,
)
from dipapprox.numerics.algebras.legendre import Rule

Array = NDArray[np.float64]

_U = 2.0**-53
_ROOT = 0.3989422804014327  # 1 / sqrt(2 pi), within u
_ROOT_ABOVE = _ROOT * (1 + 2.0**-50)
_UP = 1 + 2.0**-40
_ARCS = 10
_EDGES = np.linspace(-1.0, 1.0, _ARCS + 1)[:, None]
# Largest |Im w| / b on each arc of the left half: sqrt(1 - e²) at its right end, 1 next to 0.
_HEIGHTS = np.sqrt(1 - _EDGES[1 : _ARCS // 2 + 1] ** 2) * (1 + 2.0**-17)
_FARTHEST = 2.0**20  # standard units; the relative errors stay below 1 %


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A function >= 0 on P panels: computed values, their errors, majorants.

    Attributes:
        values: At the left end, the n nodes and the right end, shape (n + 2, P).
        error: Absolute error of all values of a panel, shape (P,).
        majorants: On the panel and the R ellipses, shape (R + 1, P); finite or inf.
    """

    values: Array
    error: Array
    majorants: Array


@dataclass(frozen=True, slots=True, eq=False)
class LawSamples:
    """The functions of a law."""

    density: Samples
    cdf: Samples
    survival: Samples


def sample_law(family: Family, center: Array, half: Array, rule: Rule) -> LawSamples:
    """Sample the standard law; only Gaussian panels may straddle 0.

    Raises:
        BrokenInvariant: If a panel is too far from 0 for the bounds, or outside the law's support.
    """
    reach = np.abs(center) + half
    if not reach.max() <= _FARTHEST:
        raise BrokenInvariant("a panel reaches further from a mean than error bounds allow")
    t = half * rule.points[:, None] + center
    if family is Family.GAUSSIAN:
        density = exponential(-0.5 * t * t) * _ROOT
        tail = density * mills_ratio(np.abs(t))
        # argument: T d; its square: u T² / 2; exponential; constant and product: 3 u; for what is
        # beyond, the argument: (T + 1) d, Mills' ratio, and one more product
        relative = reach * (reach + 1) * 2.0**-50 + reach * reach * _U + RELATIVE + 4 * _U
        tail_relative = (reach + 1) ** 2 * 2.0**-50 + reach * reach * _U + 2 * RELATIVE + 6 * _U
        right = t > 0
        # An end that is nearer to 0 than its own error may be on the wrong side of it: in
        # proportion, φ(0) is then at most 2^-60 larger than the density there.
        straddling = right[-1] > right[0]
        ellipses = _gaussian_ellipses(center, half, rule)
    else:
        mass = _side_mass(family, center)
        density = tail = mass * exponential(-np.abs(t))
        relative = reach * 2.0**-50 + RELATIVE + 4 * _U
        tail_relative = relative + 2.0**-50
        right = np.broadcast_to(center > 0, t.shape)
        straddling = np.zeros_like(right[0])
        ellipses = _exponential_ellipses(mass, center, half, rule)
    body = 1 - tail
    cdf, survival = np.where(right, body, tail), np.where(right, tail, body)
    error = 1.01 * relative * density.max(axis=0) + 2 * UNDERFLOW
    tail_error = 1.01 * tail_relative * tail.max(axis=0) + 2 * UNDERFLOW
    mirrored = center < 0
    return LawSamples(
        _samples(
            density,
            error,
            np.where(straddling, _ROOT, np.maximum(density[0], density[-1])),
            ellipses.density,
        ),
        _samples(
            cdf,
            tail_error + _U * right[-1],
            cdf[-1],
            np.where(mirrored, ellipses.survival, ellipses.cdf),
        ),
        _samples(
            survival,
            tail_error + _U * ~right[0],
            survival[0],
            np.where(mirrored, ellipses.cdf, ellipses.survival),
        ),
    )


def _samples(values: Array, error: Array, largest: Array, ellipses: Array) -> Samples:
    """Put together what is known; `largest` is the supremum on the panel, within the error."""
    return Samples(values, error, np.vstack([(largest + error) * _UP, ellipses]))


def _side_mass(family: Family, center: Array) -> float:
    """1/2, or 1: the mass on the panels' side; one-sided laws are sampled on their support only."""
    supported = {
        Family.LAPLACE: True,
        Family.EXPONENTIAL: bool((center > 0).all()),
        Family.REFLECTED_EXPONENTIAL: bool((center < 0).all()),
    }
    if not supported[family]:
        raise BrokenInvariant("a one-sided law was sampled where it has no mass")
    return 0.5 if family is Family.LAPLACE else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Ellipses:
    """Majorants on the ellipses round |c|, each of shape (R, P)."""

    density: Array
    cdf: Array
    survival: Array


def _arcs(center: Array, half: Array, rule: Rule) -> tuple[Array, Array]:
    """Return the cuts x_j, (R, arcs + 1, P), and the largest |Im z| on the arcs, (R, arcs, P)."""
    c = np.abs(center)
    wide = rule.wide[:, None] * (half * (1 + 2.0**-29)) + 2.0**-29 * c
    left = (rule.high[:, None] * half)[:, None, :] * _HEIGHTS
    heights = np.concatenate([left, left[:, ::-1]], axis=1)
    return wide[:, None, :] * _EDGES + c, heights


@np.errstate(over="ignore", invalid="ignore")
def _gaussian_ellipses(center: Array, half: Array, rule: Rule) -> _Ellipses:
    x, y = _arcs(center, half, rule)
    t, right = np.abs(x), x > 0
    square = x * x
    bell = growth(-0.5 * square) * _ROOT_ABOVE
    tail = bell / (5 / 6 * t + 2 / 3)
    body = 1 - bell * (2 * (1 - EXCESS)) / (t + np.sqrt(square + 4))
    density = np.maximum(bell[:, :-1], bell[:, 1:])
    density[right[:, 1:] > right[:, :-1]] = _ROOT_ABOVE
    q = growth(0.5 * y * y)
    excess = q - 1
    vertical = y * (1 + excess / 3)
    horizontal = np.minimum(np.maximum(t[:, :-1], t[:, 1:]) * excess, vertical) * density
    vertical *= density
    vertical *= vertical

    def modulus(real: Array) -> Array:
        real = real + horizontal
        largest = (real * real + vertical).max(axis=1)
        bound: Array = np.sqrt(largest + 2.0**-1000) * _UP  # whatever underflowed is smaller
        return bound

    return _Ellipses(
        (density * q).max(axis=1) * _UP,
        modulus(np.where(right, body, tail)[:, 1:]),
        modulus(np.where(right, tail, body)[:, :-1]),
    )


@np.errstate(over="ignore", invalid="ignore")
def _exponential_ellipses(mass: float, center: Array, half: Array, rule: Rule) -> _Ellipses:
    x, y = _arcs(center, half, rule)
    tail = mass * growth(-x)
    near, far = tail[:, :-1], tail[:, 1:] * (1 - EXCESS)
    real = np.maximum(1 - far, near - 1)
    body = np.sqrt((real * real + near * y * y).max(axis=1)) * _UP
    return _Ellipses(tail[:, 0], body, tail[:, 0])
