"""Probabilities of outputs near a point: value, gradient, second derivatives, and what is left out.

**Integrals.** A star's integrand f is analytic, and |f(x + ib)| <= φ(x) e^(κ b² / 2) with
κ = 1 + Σ α_l², as |Φ(z + iy) - Φ(z' + iy)| <= e^(y² / 2). So the sum h Σ f(k h) over all integers k
is within 2 e^(κ b² / 2) / (e^(2 π b / h) - 1) of the integral for every b > 0 (Trefethen and
Weideman 2014, theorem 5.1); with b = 2π / hκ that is 1 / sinh(2π² / h²κ), below 2^-55 where
h² <= 1 / 2κ. The terms with |k h| > X are at most e^(-X² / 2) < 2^-58 for X = 9. A derivative in
v_l · u puts φ(z) - φ(z') or φ'(z) - φ'(z') for a leaf's factor; |φ| <= e^(y² / 2) φ(0) there, and
|φ'| <= e^(y² / 2) (1/4 + 2/5 |y|) with |y| = α b < 16: at most 16 times as much.

**Third derivatives.** Along a line u + τ t a product of stars is the probability of a fixed set of
standard normal numbers whose means move by τ a, a_l = v_l · t over all leaves. With K = |a|² its
third derivative is K^(3/2) ∫_G He_3(z · a / |a|) φ(z) dz over a set, at most
K^(3/2) E|He_3(Z)| / 2 = K^(3/2) (φ(0) + 4 φ(√3)) < 0.7551 K^(3/2). The third derivative in
directions s, t, t is at most |a(s)| K times the same number: the norm of a symmetric form is that
of its polynomial (Banach).

**Rounding.** Φ, φ and φ' are rounded to 2^-54 + 2^-60, and so are their differences. Factors,
weights and derivatives of one argument are known to 2^-52 then, and at most 1; a star of L leaves
on m points is a sum of products of L + 1 of them with weights that sum to 1, so it is off by at
most (4 L + m + 24) 2^-52 =: E, and derivatives in u_i, and in u_i and u_j, by E V_i and E V_i V_j
with V_i = Σ_l |v_li|, which also bound them. For products the E and the V add up. Twice as much is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt, lcm

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dipapprox.checking.boxes.states import Leaf, MovingState, Outcomes, Star, moving_outcomes
from dipapprox.checking.distributions import Distributions, NoBounds
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.numerics.precision import precision, to_ball

Array = NDArray[np.float64]
Row = tuple[Value | None, ...]
"""The values of finite inputs; None for real ones."""

Box = Sequence[tuple[Fraction, Fraction]]

_BITS = 96
_REACH = 9
_MOST_POINTS = 4_000
_ULP = 2.0**-51
_THIRD = 0.7551
_UP = 1 + 2.0**-40
"""More than all roundings of the bounds below, which are sums of positive numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """A function near the centre of a box, with errors: see `BoxModels.on` for the shapes."""

    value: float
    gradient: Array
    hessian: Array


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """All outputs on a box: P(c + t) = value + gradient · t + t · hessian · t / 2 up to `rests`.

    Attributes:
        values: By output.
        gradients: By output and real input.
        hessians: By output and two inputs.
        rests: By output, anywhere in the box.
        slope_rests: By output and input: of gradient + hessian · t against the derivative.
        growth: By output and input: the sign of the derivative that inequalities tell, or 0.
        halves: Half-widths of the box.
        centre: Of it.
    """

    values: Array
    gradients: Array
    hessians: Array
    rests: Array
    slope_rests: Array
    growth: NDArray[np.int64]
    halves: Array
    centre: tuple[Fraction, ...]


class BoxModels:
    """Models of a program's outputs.

    Args:
        derived: Follows the program, and encloses what inputs do not move.
        axes: How many real inputs there are.
        bits: For the latter.
        limits: Asked throughout.

    Attributes:
        order: The places of outputs in models.
    """

    def __init__(self, derived: Distributions, axes: int, bits: int, limits: Limits) -> None:
        self._derived, self._axes, self._bits, self._limits = derived, axes, bits, limits
        self._outcomes: dict[Row, Outcomes] = {}
        self.order: dict[tuple[Value, ...], int] = {}
        self._weights: dict[tuple[int, ...], tuple[float, float]] = {}
        self._normals: dict[tuple[Fraction, Fraction, int], Array] = {}
        self._stars: dict[tuple[Star, tuple[Fraction, ...]], Near] = {}
        self._points: dict[int, Array] = {}

    def require(self, rows: Sequence[Row]) -> None:
        """Follow the program for these finite values; all rows must be named before boxes are.

        Raises:
            Stuck, NoBounds: If the check cannot follow or enclose something.
            LimitReached: If limits run out.
        """
        for row in rows:
            if row not in self._outcomes:
                found = self._outcomes[row] = moving_outcomes(self._derived, row, self._limits)
                for output in found:
                    self.order.setdefault(output, len(self.order))

    def on(self, row: Row, box: Box) -> Models:
        """Return models on a box."""
        self._limits.check()
        n, m = len(self.order), self._axes
        centre = tuple((low + high) / 2 for low, high in box)
        halves = np.array([float((high - low) / 2) for low, high in box]) * _UP
        values, gradients, hessians = np.zeros(n), np.zeros((n, m)), np.zeros((n, m, m))
        rests, slope_rests = np.zeros(n), np.zeros((n, m))
        growth = np.zeros((n, m), dtype=np.int64)
        for output, states in self._outcomes[row].items():
            k = self.order[output]
            for state in states:
                weight, off = self._weight(state.fixed)
                near = self._product(state, centre)
                values[k] += weight * near.value
                gradients[k] += weight * near.gradient
                hessians[k] += weight * near.hessian
                slopes = _slopes(state, m)
                moved = np.abs(slopes).sum(axis=0)
                error = _error(state) + off + (len(states) + 4) * _ULP
                along = float(moved @ halves)
                rests[k] += error * (1 + along + along**2 / 2)
                size = float(((np.abs(slopes) @ halves) ** 2).sum())
                rests[k] += _THIRD * size**1.5 / 6
                slope_rests[k] += error * moved * (1 + along)
                slope_rests[k] += _THIRD / 2 * size * np.sqrt((slopes**2).sum(axis=0))
            growth[k] = _growth(states, m)
        return Models(
            values, gradients, hessians, rests * _UP, slope_rests * _UP, growth, halves, centre
        )

    def _weight(self, fixed: tuple[int, ...]) -> tuple[float, float]:
        """Return about the probability of some factors, and how far that is off."""
        if not fixed:
            return 1.0, 0.0
        if fixed not in self._weights:
            bounds = self._derived.at(self._bits)
            low, high = bounds.together((fixed,))
            middle = float(Fraction(low + high, 2 << bounds.unit))
            width = float(Fraction(high - low, 1 << bounds.unit))
            self._weights[fixed] = middle, (width + _ULP) * _UP
        return self._weights[fixed]

    def _product(self, state: MovingState, centre: tuple[Fraction, ...]) -> Near:
        whole = Near(1.0, np.zeros(self._axes), np.zeros((self._axes, self._axes)))
        for star in state.stars:
            key = (
                star,
                tuple(
                    c if any(leaf.slopes[i] for leaf in star.leaves) else Fraction(0)
                    for i, c in enumerate(centre)
                ),
            )
            near = self._stars.get(key)
            if near is None:
                near = self._stars[key] = self._star(star, centre)
            cross = np.outer(whole.gradient, near.gradient)
            whole = Near(
                whole.value * near.value,
                whole.value * near.gradient + near.value * whole.gradient,
                whole.value * near.hessian + near.value * whole.hessian + cross + cross.T,
            )
        return whole

    def _star(self, star: Star, centre: tuple[Fraction, ...]) -> Near:
        steps = _steps(star)
        weights = self._point_weights(steps)
        tables = [self._leaf(leaf, steps, centre) for leaf in star.leaves]
        masses, first, second = (np.array(each) for each in zip(*tables, strict=True))
        count = len(tables)
        by_leaf, by_two = np.zeros(count), np.zeros((count, count))
        for k in range(count):
            others = weights * np.delete(masses, k, axis=0).prod(axis=0)
            by_leaf[k], by_two[k, k] = others @ first[k], others @ second[k]
        for j, k in combinations(range(count), 2):
            others = weights * np.delete(masses, (j, k), axis=0).prod(axis=0)
            by_two[j, k] = by_two[k, j] = (others * first[j]) @ first[k]
        slopes = np.array([[float(each) for each in leaf.slopes] for leaf in star.leaves])
        value = float(weights @ masses.prod(axis=0))
        return Near(value, by_leaf @ slopes, slopes.T @ by_two @ slopes)

    def _point_weights(self, steps: int) -> Array:
        """Return h φ(k h), h = 1 / steps; without steps the one point 0 of weight 1."""
        if not steps:
            return np.ones(1)
        if steps not in self._points:
            with precision(_BITS):
                root = (2 * arb.pi()).sqrt() * steps
                self._points[steps] = np.array(
                    [
                        _double((-to_ball(Fraction(k * k, 2 * steps**2))).exp() / root)
                        for k in range(-_REACH * steps, _REACH * steps + 1)
                    ]
                )
        return self._points[steps]

    def _leaf(
        self, leaf: Leaf, steps: int, centre: tuple[Fraction, ...]
    ) -> tuple[Array, Array, Array]:
        """Return a leaf's factor, and its first two derivatives, at all points."""
        at = sum((v * c for v, c in zip(leaf.slopes, centre, strict=True)), Fraction(0))
        found = np.zeros((3, 2 * _REACH * steps + 1))
        for end, sign in ((leaf.upper, 1), (leaf.lower, -1)):
            if end is not None:
                key = end + at, leaf.alpha, steps
                if key not in self._normals:
                    self._limits.check()
                    self._normals[key] = _normals(*key)
                found += sign * self._normals[key]
            elif sign > 0:
                found[0] += 1.0
        return found[0], found[1], found[2]


def _normals(start: Fraction, alpha: Fraction, steps: int) -> Array:
    """Return Φ, φ and φ' at start + alpha k / steps, for all k that count, as rows.

    Raises:
        NoBounds: If the arguments are too large.
    """
    step = alpha / (steps or 1)
    unit = lcm(start.denominator, step.denominator)
    first, more = int(start * unit), int(step * unit)
    rows = []
    with precision(_BITS):
        root, half = (2 * arb.pi()).sqrt(), arb(2).sqrt()
        for k in range(-_REACH * steps, _REACH * steps + 1):
            z = arb(fmpq(first + k * more, unit))
            density = (-z * z / 2).exp() / root
            rows.append([_double((-z / half).erfc() / 2), _double(density), _double(-z * density)])
    return np.array(rows).T


def _double(ball: arb) -> float:
    """Return a double within 2^-54 + 2^-60 of a number of size at most 1.

    Raises:
        NoBounds: If the ball is too wide.
    """
    if not float(ball.rad()) < 2.0**-60:
        raise NoBounds("arguments too large for the check's balls")
    return float(ball.mid())


def _steps(star: Star) -> int:
    """Return 1 / h with h² <= 1 / 2κ; 0 without a root.

    Raises:
        Stuck: If that are too many points.
    """
    if not star.has_root:
        return 0
    spread = 1 + sum((leaf.alpha**2 for leaf in star.leaves), Fraction(0))
    steps = isqrt(int(2 * spread)) + 1
    if 2 * _REACH * steps > _MOST_POINTS:
        raise Stuck("noise of too different sizes beside real inputs")
    return steps


def _slopes(state: MovingState, axes: int) -> Array:
    """Return the slopes of all leaves, by leaf and real input."""
    rows = [[float(v) for v in leaf.slopes] for star in state.stars for leaf in star.leaves]
    return np.array(rows) if rows else np.zeros((0, axes))


def _error(state: MovingState) -> float:
    """Return E; see the module."""
    total = 24
    for star in state.stars:
        total += 4 * len(star.leaves) + 2 * _REACH * _steps(star) + 1 + 24
    return total * _ULP


def _growth(states: Sequence[MovingState], axes: int) -> list[int]:
    """Return the sign of each derivative that all leaves agree on, or 0."""
    found = []
    for axis in range(axes):
        signs = set()
        for leaf in (leaf for state in states for star in state.stars for leaf in star.leaves):
            slope = leaf.slopes[axis]
            if slope:
                open_ended = (leaf.lower is None) != (leaf.upper is None)
                rises = (slope > 0) == (leaf.lower is None)
                signs.add((1 if rises else -1) if open_ended else 0)
        found.append(signs.pop() if len(signs) == 1 else 0)
    return found
