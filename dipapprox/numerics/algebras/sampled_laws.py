"""Standard laws on float64 panels: node values with proved errors, majorants on ellipses.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. The first majorant column bounds the function on the panel itself, the others on the ellipses.

Inputs c and h are correctly rounded. With u = 2^-53 and T = |c| + h the computed node t = fl(c +
fl(h x)) is within 2^-50 T of the exact one; moving an argument by d <= 2^-40 changes the
functions by factors within exp(± d (T + 1)), because the hazard rate of any law here is at most |t|
+ 1.

Laplace and one-sided panels lie on one side of 0, with the law's mass m on that side: the density
is m e^-|t|, the distribution function m e^-|t| on the left, 1 - m e^-|t| on the right.

Modulus of the Gaussian distribution function. Integrating the density from x to x + iy,

    Φ(x + iy) = Φ(x) + φ(x) ∫_0^y e^(s²/2) (sin(xs) + i cos(xs)) ds,

and with q = exp(y²/2), D = y (1 + (q - 1) / 3) >= ∫_0^y e^(s²/2) ds (compare power series),

    |Φ(x + iy)|² <= (Φ(x) + φ(x) min(|x| (q - 1), D))² + (φ(x) D)²,   as |sin xs| <= |x| s.

Here Φ(x) is bounded by elementary bounds of Mills' ratio (Birnbaum; Sampford), for t >= 0

    2 / (t + sqrt(t² + 4))  <=  M(t) = (1 - Φ(t)) / φ(t)  <=  4 / (3 t + sqrt(t² + 8)).

Modulus of that right branch:

    |1 - m e^(-x - iy)|² = (1 - m e^-x)² + 2 m e^-x (1 - cos y) <= (1 - m e^-x)² + m e^-x y².

Both are maximised over arcs of the ellipse's boundary, cut at equidistant Re w; the maximum
modulus principle takes them inside.

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
_ARCS = 10
_EDGES = np.linspace(-1.0, 1.0, _ARCS + 1)
# Largest |Im w| / b on each arc of the left half: sqrt(1 - c²) at its right end, 1 next to 0.
_HEIGHTS = np.sqrt(1 - _EDGES[1 : _ARCS // 2 + 1] ** 2) * (1 + 2.0**-39)
_FARTHEST = 2.0**20  # standard units; the relative errors stay below 1 %


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A function >= 0 on P panels: computed node values, their errors, majorants.

    Attributes:
        values: Shape (P, n).
        error: Absolute error of all values of a panel, shape (P,).
        majorants: On the panel and the R ellipses, shape (P, R + 1); finite or inf.
    """

    values: Array
    error: Array
    majorants: Array


def _check_reach(reach: Array) -> None:
    """Insist that a grid is as narrow as its construction promises: bounds depend on it."""
    if not reach.max() <= _FARTHEST:
        raise BrokenInvariant("a panel reaches further from a mean than error bounds allow")


def sample_density(family: Family, center: Array, half: Array, rule: Rule) -> Samples:
    """Sample the standard density; only Gaussian panels may straddle 0."""
    t = _nodes(center, half, rule)
    reach = np.abs(center) + half
    _check_reach(reach)
    if family is Family.GAUSSIAN:
        values = exponential(-0.5 * t * t) * _ROOT
        # argument: T d; its square: u T² / 2; exponential; constant and product: 3 u
        relative = reach * (reach + 1) * 2.0**-50 + reach * reach * _U + RELATIVE + 4 * _U
        majorants = _gaussian_density_majorants(center, half, rule)
    else:
        mass = _side_mass(family, center)
        values = mass * exponential(-np.abs(t))
        relative = reach * 2.0**-50 + RELATIVE + 4 * _U
        wide = np.append(1.0, rule.wide)
        nearest = np.abs(center)[:, None] - half[:, None] * wide
        majorants = mass * growth(-nearest + 2.0**-48 * (reach[:, None] + half[:, None] * wide))
    error = 1.01 * relative * values.max(axis=1) + 2 * UNDERFLOW
    return Samples(values, error, majorants)


def sample_cdf(family: Family, center: Array, half: Array, rule: Rule) -> Samples:
    """Sample the standard distribution function; only Gaussian panels may straddle 0."""
    t = _nodes(center, half, rule)
    reach = np.abs(center) + half
    _check_reach(reach)
    if family is Family.GAUSSIAN:
        tail = _gaussian_tail(np.abs(t))
        relative = (reach + 1) ** 2 * 2.0**-50 + reach * reach * _U + 2 * RELATIVE + 6 * _U
        majorants = _gaussian_cdf_majorants(center, half, rule)
    else:
        mass = _side_mass(family, center)
        tail = mass * exponential(-np.abs(t))
        relative = (reach + 1) * 2.0**-50 + RELATIVE + 4 * _U
        majorants = _exponential_cdf_majorants(mass, center, half, rule)
    right = t > 0
    values = np.where(right, 1 - tail, tail)
    error = 1.01 * relative * tail.max(axis=1) + 2 * UNDERFLOW + _U * right.any(axis=1)
    return Samples(values, error, majorants)


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


def _nodes(center: Array, half: Array, rule: Rule) -> Array:
    return center[:, None] + half[:, None] * rule.nodes


def _gaussian_tail(t: Array) -> Array:
    """Mass above t >= 0, with relative error 2 RELATIVE + 5 u + t² u / 2, or absolute UNDERFLOW."""
    return exponential(-0.5 * t * t) * mills_ratio(t) * _ROOT


def _gaussian_density_majorants(center: Array, half: Array, rule: Rule) -> Array:
    """max over c = cos of exp(-((m + h a c)² - h² b² (1 - c²)) / 2): a concave quadratic in c."""
    m = np.abs(center)[:, None]
    a, b = np.append(1.0, rule.wide), np.append(0.0, rule.high)
    wide, high = half[:, None] * a, half[:, None] * b
    squares = wide * wide + high * high
    inside = 0.5 * high * high * (1 - np.minimum(m * m / squares, 1.0))
    # The vertex is outside [-1, 1]: the end nearest to 0. Near a tie both values agree.
    end = -0.5 * (m - wide) ** 2
    exponent = np.where(m * wide > squares * (1 + 2.0**-40), end, inside)
    return 0.4 * growth(exponent + 2.0**-45 * (m + wide) ** 2)


def _arcs(center: Array, half: Array, rule: Rule) -> tuple[Array, Array, Array]:
    """Cut the ellipses in standard units.

    Returns:
        The ends of the arcs, (P, R + 1, arcs + 1), what they may be wrong by, (P, R + 1, 1), and
        the heights of the left half of the arcs, those of the right half are equal.
    """
    wide = half[:, None] * np.append(1.0, rule.wide)
    high = half[:, None] * np.append(0.0, rule.high)
    slack = 2.0**-48 * (np.abs(center)[:, None] + wide)[..., None]
    edges = center[:, None, None] + wide[..., None] * _EDGES
    return edges, slack, high[..., None] * _HEIGHTS


def _gaussian_cdf_majorants(center: Array, half: Array, rule: Rule) -> Array:
    edges, slack, y = _arcs(center, half, rule)
    near, far = np.maximum(np.abs(edges) - slack, 0.0), np.abs(edges) + slack
    # Within the slack of an edge exp(-x²/2) is at least `least` and at most `most`.
    bell = exponential(-0.5 * near * near)
    most = bell * (1 + 2.0**-40) + 2 * UNDERFLOW
    least = np.maximum(bell * (1 - 2.0**-40) - 2 * UNDERFLOW, 0.0) * (1 - 2.1 * far * slack)
    above = least * (_ROOT * (1 - 2.0**-40)) * 2 / (far + np.sqrt(far * far + 4))
    below = most * (_ROOT * (1 + 2.0**-40)) * 4 / (3 * near + np.sqrt(near * near + 8))
    cdf = np.where(edges + slack > 0, 1 - above, below)[..., 1:] * (1 + 2.0**-40)
    straddling = (edges[..., :-1] <= 0) & (edges[..., 1:] >= 0)
    density = 0.4 * np.where(straddling, 1.0, np.maximum(most[..., :-1], most[..., 1:]))
    excess = growth(0.5 * y * y) - 1
    vertical = y * (1 + excess / 3)
    excess, vertical = (np.concatenate([v, v[..., ::-1]], axis=-1) for v in (excess, vertical))
    farthest = np.maximum(far[..., :-1], far[..., 1:])
    with np.errstate(invalid="ignore", over="ignore"):
        real = cdf + density * np.minimum(farthest * np.maximum(excess, 0.0), vertical)
        imaginary = density * vertical
        largest = np.maximum(real, imaginary)  # > 0: squares of the quotients do not underflow
        modulus = largest * np.sqrt((real / largest) ** 2 + (imaginary / largest) ** 2)
        modulus = modulus.max(axis=-1)
    bound: Array = modulus * (1 + 2.0**-40)
    return bound


def _exponential_cdf_majorants(mass: float, center: Array, half: Array, rule: Rule) -> Array:
    edges, slack, y = _arcs(center, half, rule)
    low, high = edges[..., :-1] - slack, edges[..., 1:] + slack
    y = np.concatenate([y, y[..., ::-1]], axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        near, far = mass * growth(-low), mass * exponential(-high) * (1 - 2.0**-40)
        real = np.maximum(np.abs(1 - far), np.abs(near - 1))
        right = np.sqrt(real * real + near * y * y).max(axis=-1) * (1 + 2.0**-40)
    left = mass * growth(high.max(axis=-1))
    bound: Array = np.where(center[:, None] > 0, right, left)
    return bound
