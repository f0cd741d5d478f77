"""What the integrals of products of interpolating polynomials are, as matrices of doubles.

For polynomials p, q of degree < n by their values at the Gauss-Legendre nodes θ_j of [0, 1],

    ∫_0^{θ_j} p(ρ) q(θ_j - ρ) dρ = p' A_j q,      ∫_{θ_j}^1 p(ρ) q(1 + θ_j - ρ) dρ = p' B_j q,

from the same rule on [0, θ_j], which is exact for the degree 2n - 2. See `convolution`.
"""

from __future__ import annotations

from functools import cache
from itertools import chain

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import legendre_nodes
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE
from dipapprox.data_classes import dataclass

Array = NDArray[np.float64]

_BITS = 192


@dataclass(frozen=True, slots=True, eq=False)
class Bilinear:
    """The matrices A_j and B_j, of doubles, and what their errors can do.

    Attributes:
        first: A_j[a, b], shape (n, n, n); symmetric in a, b.
        second: B_j[a, b], likewise.
        matrix_error: Bound of Σ_ab |errors of A_j[a, b] and B_j[a, b]|, for every j.
        norm: Bound of Σ_ab |A_j[a, b]| + |B_j[a, b]|, for every j.
        coefficients: (2m + 1) / 2 w_i P_m(x_i), shape (n, n), rounded.
        lebesgue: Λ, and more for what was rounded.
        interpolation: (1 + Λ) 2 r^(1 - n) / (r - 1) for each ellipse, shape (R,).
    """

    first: Array
    second: Array
    matrix_error: float
    norm: float
    coefficients: Array
    lebesgue: float
    interpolation: Array


@cache
def bilinear(count: int, ratios: tuple[float, ...]) -> Bilinear:
    with precision(_BITS):
        nodes, own = legendre_nodes(count)
        pairs = list(zip(nodes, own, strict=True))
        transform = arb_mat(
            [[(2 * m + 1) * w * x.legendre_p(arb(m)) / 2 for x, w in pairs] for m in range(count)]
        )
        weights = arb_mat(
            [[own[i] / 2 if i == k else 0 for k in range(count)] for i in range(count)]
        )
        first = np.empty((count,) * 3)
        wrong, sizes = [], []
        for j in range(count):
            theta = (nodes[j] + 1) / 2
            places = [theta * (x + 1) - 1 for x in nodes]  # of θ_j τ_i in [-1, 1]
            values = arb_mat([[x.legendre_p(arb(m)) for m in range(count)] for x in places])
            basis = values * transform  # basis[i, a] = l_a at θ_j τ_i
            mirrored = arb_mat(list(reversed(basis.tolist())))
            matrix = (basis.transpose() * weights * mirrored * theta).tolist()
            first[j] = [[float(entry.mid()) for entry in row] for row in matrix]
            rounded = zip(chain.from_iterable(matrix), first[j].ravel().tolist(), strict=True)
            wrong.append(
                _upper(sum((abs(exact - arb(double)) for exact, double in rounded), arb(0)))
            )
            sizes.append(_upper(sum((abs(entry) for row in matrix for entry in row), arb(0))))
        coefficients = [[float(entry.mid()) for entry in row] for row in transform.tolist()]
        lebesgue = _upper(sum((abs(e) for row in transform.tolist() for e in row), arb(0))) * SAFE
        radii = [arb(r) for r in ratios]
        interpolation = [
            _upper((1 + arb(lebesgue)) * 2 * r ** (1 - count) / (r - 1)) for r in radii
        ]
    return Bilinear(
        first,
        np.ascontiguousarray(first[::-1, ::-1, ::-1]),
        2 * max(wrong) * SAFE,
        max(map(sum, zip(sizes, reversed(sizes), strict=True))) * SAFE,
        np.array(coefficients),
        lebesgue,
        np.array(interpolation),
    )


def _upper(value: arb) -> float:
    bound = float(value.upper())
    return bound + abs(bound) * 2.0**-50


def interpolation_errors(ellipses: Array, matrices: Bilinear) -> Array:
    """Bound the interpolation errors of functions with the majorants `ellipses`, (R, P)."""
    found: Array = np.fmin.reduce(ellipses * matrices.interpolation[:, None], axis=0)
    found *= SAFE
    return found
