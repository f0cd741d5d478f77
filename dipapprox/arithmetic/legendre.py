"""Gauss-Legendre sampling of analytic functions: nodes, integration matrices and proved errors.

Let x_1 < … < x_n be the Gauss-Legendre nodes in [-1, 1], w_k the weights, l_k the Lagrange
polynomials and W_jk = ∫_{-1}^{x_j} l_k. For f analytic inside the Bernstein ellipse with
semi-axes a = (r + 1/r) / 2 and b = (r - 1/r) / 2, r > 1, and |f| <= m in it,

    |∫_{-1}^{1} f - Σ w_k f(x_k)|      <=  8 m r^(1 - 2n) / (r - 1)                            (1)
    |∫_{-1}^{x_j} f - Σ W_jk f(x_k)|   <=  (2 + λ) 2 m r^(1 - n) / (r - 1)                     (2)

with λ = max_j Σ_k |W_jk|.

Proof. The Chebyshev coefficients satisfy |c_k| <= 2 m r^-k, so q = Σ_{k<N} c_k T_k is within d =
2 m r^(1-N) / (r - 1) of f on [-1, 1]. Both rules are exact for polynomials of degree < N, where N
= 2n in (1), N = n in (2). They err by at most (2 + Σ|w_k|) d, resp. (2 + λ) d, on f - q; and Σ
|w_k| = Σ w_k = 2.

The same W serves integrals from the right, with w_k - W_jk = W_{n+1-j, n+1-k} by symmetry.

References:
    L. N. Trefethen, Approximation Theory and Approximation Practice, theorems 8.1 and 19.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from flint import arb, arb_mat, ctx

from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import Array
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant

_BITS = 256


class Rule(Record, eq=False):
    """n nodes and R ellipses. All bounds are rounded up; nodes and matrices to nearest doubles."""

    nodes: Array  # x_j, shape (n,); each within 2 u |x_j| of the exact one
    points: Array  # -1, the nodes, 1
    from_left: Array  # the transpose of W with the column of weights appended, shape (n, n + 1)
    from_right: Array  # the same for integrals from x_j to 1, shape (n, n + 1)
    norm: float  # upper bound of λ and of 2
    ratios: Array  # r, ascending, shape (R,)
    wide: Array  # upper bounds of a, shape (R,)
    high: Array  # upper bounds of b, shape (R,)
    total_error: Array  # upper bounds of the factor of m in (1), shape (R,)
    partial_error: Array  # upper bounds of the factor of m in (2), shape (R,)


@cache
def legendre_rule(count: int, ratios: tuple[float, ...]) -> Rule:
    """Build the rule with `count` nodes and the ellipses of the given `ratios` > 1."""
    with precision(_BITS):
        nodes, weights = legendre_nodes(count)
        left = partial_weights(nodes, nodes, weights)
        rows = [[*(left[j][k] for j in range(count)), weights[k]] for k in range(count)]
        mirrored = [
            [*(weights[k] - left[j][k] for j in range(count)), weights[k]] for k in range(count)
        ]
        norm = max(
            double_above(sum((abs(row[k]) for row in matrix), arb(0)))
            for matrix in (rows, mirrored)
            for k in range(count + 1)
        )
        radii = [arb(ratio) for ratio in ratios]
        places = [nearest(node) for node in nodes]
        return Rule(
            nodes=np.array(places),
            points=np.array([-1.0, *places, 1.0]),
            from_left=np.array([[nearest(entry) for entry in row] for row in rows]),
            from_right=np.array([[nearest(entry) for entry in row] for row in mirrored]),
            norm=norm,
            ratios=np.array(ratios),
            wide=np.array([double_above((r + 1 / r) / 2) for r in radii]),
            high=np.array([double_above((r - 1 / r) / 2) for r in radii]),
            total_error=np.array([double_above(8 * r ** (1 - 2 * count) / (r - 1)) for r in radii]),
            partial_error=np.array(
                [double_above((2 + arb(norm)) * 2 * r ** (1 - count) / (r - 1)) for r in radii]
            ),
        )


def legendre_nodes(count: int) -> tuple[tuple[arb, ...], tuple[arb, ...]]:
    """The nodes, ascending, and their weights, at the working precision."""
    return _rules.find((count, ctx.prec), lambda: _nodes(count))


def _nodes(count: int) -> tuple[tuple[arb, ...], tuple[arb, ...]]:
    right = [arb.legendre_p_root(count, k, True) for k in range((count + 1) // 2)]
    nodes, weights = zip(*((-x, w) for x, w in right[: count // 2]), *reversed(right), strict=True)
    return nodes, weights


_rules: Cache[tuple[int, int], tuple[tuple[arb, ...], tuple[arb, ...]]] = Cache(
    20_000, lambda rule: len(rule[0])
)
"""By number of nodes and bits, up to about so many nodes."""


def partial_weights(
    points: Sequence[arb], nodes: Sequence[arb], weights: Sequence[arb]
) -> list[list[arb]]:
    """∫_{-1}^y l_k for points y, by y and k: w_k Σ_m P_m(x_k) (P_{m+1}(y) - P_{m-1}(y)) / 2.

    The rule is exact up to degree 2n - 1, so l_k = Σ_{m<n} (2m + 1) / 2 w_k P_m(x_k) P_m; and
    (2m + 1) P_m is the derivative of P_{m+1} - P_{m-1}, which vanishes at -1; P_{-1} = -1.
    """
    count = len(nodes)
    values = [[arb(-1), *(y.legendre_p(arb(m)) for m in range(count + 1))] for y in points]
    steps = arb_mat([[row[m + 2] - row[m] for m in range(count)] for row in values])
    halves = [
        [x.legendre_p(arb(m)) * w / 2 for m in range(count)]
        for x, w in zip(nodes, weights, strict=True)
    ]
    return (steps * arb_mat(halves).transpose()).tolist()


def nearest(value: arb) -> float:
    """Return a double within 2 u of a number, relatively: the ball tells whether it is."""
    found = float(value.mid())
    if not abs(value - found) <= abs(value) * 2.0**-52:
        raise BrokenInvariant("a node or weight of a rule is not known to a double's precision")
    return found


def double_above(value: arb) -> float:
    """Return a double >= value, to about its precision."""
    bound = float(value.upper())
    return bound + abs(bound) * 2.0**-50
