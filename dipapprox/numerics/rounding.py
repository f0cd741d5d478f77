"""Outward rounding: probabilities as pairs of arrays of doubles, lower <= value <= upper.

IEEE 754 doubles, round to nearest. The result of one addition or multiplication is then the double
nearest to the exact result, or one of the two nearest; the next double above (below) it is an
upper (a lower) bound. This covers underflow: a product that is too small becomes 0 or 2^-1074, and
2^-1074 or 0 are its neighbours. All numbers here lie in [0, 1] up to rounding, so nothing overflows
and no NaN arises. Where an operand makes the operation exact (adding 0, multiplying by 0 or 1)
nothing is widened, so that exact zeros and ones stay exact.

Sums of n nonnegative doubles in any order have a relative error of at most n u / (1 - n u), u =
2^-53, and no underflow error at all (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., sections 2.1 and 4.2); the factors 1 ± (n + 4) 2^-52 used here include their own rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dipapprox.numerics.enclosure import Enclosure

Array = NDArray[np.float64]


def below(value: Fraction) -> float:
    """Return a double <= value, for 0 <= value <= 1; the nearest such one or its neighbour."""
    found = float(value)
    while Fraction(found) > value:
        found = float(np.nextafter(found, -np.inf))
    return found


def above(value: Fraction) -> float:
    """Return a double >= value, for 0 <= value <= 1; the nearest such one or its neighbour."""
    found = float(value)
    while Fraction(found) < value:
        found = float(np.nextafter(found, np.inf))
    return found


def doubles(enclosures: Sequence[Enclosure]) -> tuple[Array, Array]:
    """Return lower and upper bounds of enclosures inside [0, 1]."""
    lower = np.array([below(each.lower) for each in enclosures], np.float64)
    upper = np.array([above(each.upper) for each in enclosures], np.float64)
    return lower, upper


def product_below(left: Array, right: Array) -> Array:
    """A lower bound of left * right, entries >= 0."""
    product = left * right
    exact = _exact_product(left, right)
    return np.where(exact, product, np.maximum(np.nextafter(product, -np.inf), 0.0))


def product_above(left: Array, right: Array) -> Array:
    """An upper bound of left * right, entries >= 0."""
    product = left * right
    return np.where(_exact_product(left, right), product, np.nextafter(product, np.inf))


def _exact_product(left: Array, right: Array) -> NDArray[np.bool_]:
    exact: NDArray[np.bool_] = (left == 0) | (right == 0) | (left == 1) | (right == 1)
    return exact


def sum_below(left: Array, right: Array) -> Array:
    """A lower bound of left + right, entries >= 0."""
    total = left + right
    return np.where((left == 0) | (right == 0), total, np.nextafter(total, -np.inf))


def sum_above(left: Array, right: Array) -> Array:
    """An upper bound of left + right, entries >= 0."""
    total = left + right
    return np.where((left == 0) | (right == 0), total, np.nextafter(total, np.inf))


def total_below(terms: Array) -> Array:
    """Lower bounds of the sums along the last axis, entries >= 0."""
    total: Array = terms.sum(axis=-1) * (1 - (terms.shape[-1] + 4) * 2.0**-52)
    return total


def total_above(terms: Array) -> Array:
    """Upper bounds of the sums along the last axis, entries >= 0."""
    total = terms.sum(axis=-1)
    # A factor above 1 cannot raise the smallest doubles; one step up can.
    raised: Array = np.nextafter(total * (1 + (terms.shape[-1] + 4) * 2.0**-52), np.inf)
    return raised


def tightened(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Use that the numbers bounded along the last axis sum to 1: each is 1 minus the others.

    Args:
        lower: Entries in [0, 1], sums at most 1 (after rounding: see `contradicts_one`).
        upper: Entries in [lower, 1].

    Returns:
        Bounds at least as tight.
    """
    # Σ_j≠i u_j <= up(U - u_i), and p_i = 1 - Σ_j≠i p_j >= down(1 - that).
    others_above = np.nextafter(total_above(upper)[..., None] - upper, np.inf)
    others_below = np.nextafter(total_below(lower)[..., None] - lower, -np.inf)
    least = np.nextafter(1 - others_above, -np.inf)
    most = np.nextafter(1 - others_below, np.inf)
    return np.maximum(lower, least), np.minimum(upper, most)


def contradicts_one(lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Whether no numbers within the bounds along the last axis sum to 1, for certain."""
    found: NDArray[np.bool_] = (total_below(lower) > 1) | (total_above(upper) < 1)
    return found
