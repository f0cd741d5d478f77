"""Gauss-Legendre rules on [-1, 1] that integrate from an end to each of their points as well.

Bernstein's ellipse E(rho), rho >= 1, is {(w + 1 / w) / 2: 1 <= |w| <= rho}: the foci are -1 and 1,
the half axes (rho + 1/rho) / 2 and (rho - 1/rho) / 2; E(1) is [-1, 1].

Errors. Let |f| <= M on E(rho), f analytic there, rho > 1. Then f is the sum of a_k T_k, the
polynomials of Chebyshev, with |a_k| <= 2 M rho^-k (Trefethen, Approximation Theory and
Approximation Practice, theorem 8.1).

1. A whole integral. The rule with n >= 2 points is exact for degrees < 2 n, and for odd functions.
   For even k >= 2 n, the integral of T_k is -2 / (k^2 - 1), in modulus at most 2 / 15, and its sum
   at most 2, as weights are > 0 with the sum 2 and |T_k| <= 1. So the error is at most the sum of
   2 M rho^-k * 32 / 15 over k = 2 n, 2 n + 2, ...: (64 / 15) M rho^(-2 n) / (1 - rho^-2).
2. An integral from -1 to the point x_j. Row j of the matrix A integrates exactly all p of degree
   < n. With p = sum of a_k T_k over k < n, |f - p| <= e = 2 M rho^-n / (1 - 1/rho) on [-1, 1], so
   the error is at most e * (x_j + 1 + sum_i |A_ji|). The same holds from x_j to 1.
3. The largest value on [-1, 1] is at most the largest at a point plus g M / (a - 1), if every place
   is within g of a point and a = (rho + 1/rho) / 2. For E(rho) holds all discs of the radius a - 1
   around x in [-1, 1] (|z - 1| + |z + 1| <= 2 |z - x| + 2 <= 2 a, which defines it), so that there
   |f'| <= M / (a - 1), by Cauchy.

Where f is only known to be in [0, M] on [-1, 1], which is rho = 1, both the integral and what
stands for it lie in [0, 2 M] for 1, and their difference is at most M (x_j + 1 + sum_i |A_ji|)
for 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import arb, arb_mat

from dipapprox.kernel.balls import precision, to_ball


@dataclass(frozen=True, slots=True)
class Rule:
    """n points with weights.

    Attributes:
        points: Enclosures of the roots of P_n, ascending.
        weights: Their weights, > 0; the sum is 2.
        from_left: n rows, n + 1 columns: what multiplies the value at point i in the integral
            from -1 to point j is at (i, j), that in the whole integral at (i, n).
        from_right: The same for the integrals from point j to 1.
        spread: Not below x_j + 1 + sum_i |A_ji| of any row j of either matrix.
        gap: No place in [-1, 1] is further from the nearest point.
    """

    points: tuple[arb, ...]
    weights: tuple[arb, ...]
    from_left: arb_mat
    from_right: arb_mat
    spread: arb
    gap: arb

    def whole_error(self, rho: Fraction) -> arb:
        """Return what M is multiplied by in the error of a whole integral, rho >= 1."""
        if rho == 1:
            return arb(2)
        n, ratio = len(self.points), to_ball(1 / rho)
        return arb(64) / 15 * ratio ** (2 * n) / (1 - ratio * ratio)

    def running_error(self, rho: Fraction) -> arb:
        """Return what M is multiplied by in the error of an integral to or from a point."""
        if rho == 1:
            return self.spread
        ratio = to_ball(1 / rho)
        return 2 * ratio ** len(self.points) / (1 - ratio) * self.spread

    def overshoot(self, rho: Fraction) -> arb:
        """Return what M is multiplied by in how far f exceeds its values at points, rho > 1."""
        return self.gap / ((to_ball(rho) + to_ball(1 / rho)) / 2 - 1)


@lru_cache(maxsize=16)
def rule(n: int, bits: int) -> Rule:
    """Return the rule with n >= 2 points; its numbers have `bits` bits.

    With the discrete orthogonality of Legendre's polynomials (the rule is exact for P_k P_l,
    k, l < n), the polynomial of degree < n through the values f_i is the sum over k < n of
    (2 k + 1) / 2 * (sum_i w_i P_k(x_i) f_i) * P_k; and the integral of P_k from -1 to x is
    (P_(k+1)(x) - P_(k-1)(x)) / (2 k + 1), where P_(-1) = -1. So
    A_ji = w_i / 2 * sum_k P_k(x_i) * (P_(k+1)(x_j) - P_(k-1)(x_j)).
    """
    # The recurrence widens balls around P_k(x) by less than 3 bits a step.
    with precision(bits + 3 * n + 20):
        found = [arb.legendre_p_root(n, k, weight=True) for k in reversed(range(n))]
        left = _integrals([x for x, _ in found], [w for _, w in found])
        right = [[w - a for a in row] for (_, w), row in zip(found, left, strict=True)]
        spread = arb(0)
        for matrix, sign in ((left, 1), (right, -1)):
            for j, (x, _) in enumerate(found):
                # From the right it is 1 - x_j instead.
                sizes = sum((abs(row[j]) for row in matrix), arb(0))
                spread = spread.max(1 + sign * x + sizes)
        gap = 1 + found[0][0]
        for (x, _), (y, _) in pairwise(found):
            gap = gap.max((y - x) / 2)
    with precision(bits):
        return Rule(
            points=tuple([x * 1 for x, _ in found]),
            weights=tuple([w * 1 for _, w in found]),
            from_left=_with_weights(left, found),
            from_right=_with_weights(right, found),
            spread=spread * 1,
            gap=gap * 1,
        )


def _integrals(points: list[arb], weights: list[arb]) -> list[list[arb]]:
    """Return A_ji at [i][j]."""
    n = len(points)
    # (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1).
    values: list[list[arb]] = []
    for x in points:
        row = [arb(1), x]
        for k in range(1, n):
            row.append(((2 * k + 1) * x * row[k] - k * row[k - 1]) / (k + 1))
        values.append(row)
    weighted = [[p * w / 2 for p in row[:n]] for row, w in zip(values, weights, strict=True)]
    rises = [[row[k + 1] - (row[k - 1] if k else -1) for row in values] for k in range(n)]
    entries: list[list[arb]] = (arb_mat(weighted) * arb_mat(rises)).tolist()
    return entries


def _with_weights(matrix: list[list[arb]], found: list[tuple[arb, arb]]) -> arb_mat:
    """Return a matrix with the weights as one more column, rounded to the current precision."""
    rows = [[*row, weight] for row, (_, weight) in zip(matrix, found, strict=True)]
    return arb_mat([[entry * 1 for entry in row] for row in rows])
