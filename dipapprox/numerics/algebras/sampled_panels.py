"""Running integrals of sampled functions on other panels, with proved errors; differences.

In: a `sampled.Sampled` f on some panels. Out: its integral from an end on finer panels: each lies
in one of the old ones, or beyond all of them, where the integral is constant.

Let w -> y = δ + ρ w map a new panel's [-1, 1] into an old one's, |δ| + ρ <= 1, and H be the old
half-width. With the notation of `sampled` and `legendre`, W_k(y) = ∫_{-1}^y l_k and l_k for the
exact nodes,

    ∫_{-1}^y f  =  Σ W_k(y) f(x_k)  up to  (2 + λ) d,   λ = Σ |W_k(y)|,   d = min_r κ m_r e_r,

e_r = 2 r^(1-n) / (r - 1), by the proof of (2) there, which holds for any y. The values' errors add
λ E: they are not amplified, as they would be if the integral's values were interpolated.

W_k is a polynomial of degree n with W_k(-1) = 0, so that W_k(y) = Σ_j L_j(y) W_k(x'_j) with the
Lagrange polynomials L_j of -1 and the stored nodes x'_1 … x'_n. The computed point y' for w = x_j,
moved into [-1, 1] and to -1 or 0 if it is within 2^-60 of them, is within 2^-50 of y: δ and ρ are
correctly rounded, x_j is within 2 u, and two more roundings follow; that costs at most 2^-50 κ m_0.
L_j(y') is a product of n differences, each rounded once, and a stored factor: its relative error is
below (2 n + 4) u; the stored W_k(x'_j) are within 2 u; so with S = Σ_k Σ_j |L_j(y') W_k(x'_j)| >= λ
the errors of all W_k(y') add up to at most (3 n + 12) u S, and those of their product with the
values, |v_k| <= V, to (4 n + 20) u S V. (No product of differences is below 2^-800 but 0, as only
one of them can be small, and not below 2^-61; other underflow is below 2^-950.) On one panel

    error  <=  H (λ E + (2 + λ) d + 2^-50 κ m_0 + (4 n + 20) u S V + 2^-950).

From the right, w_k - W_k(y) stand for W_k(y): λ and S grow by Σ w_k = 2. Panels before are added up
as in `sampled.indefinite`, and majorants of the integral are those found there: for z in the
ellipse with semi-axis a about the new panel, the distances from -1 and 1 add up to at most 2 ρ a +
2 (1 - ρ), by way of the new panel's ends; so it lies in the old panel's ellipse with the semi-axis
1 + ρ (a - 1), and inherits the bound of any wider one. All bounds have fewer than 2^20 roundings of
nonnegative doubles: they are multiplied by 1 + 2^-30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import Rule, legendre_nodes, nearest, partial_weights
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE, UNIT_ROUNDOFF
from dipapprox.data_classes import dataclass, replace
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.places import Place
from dipapprox.numerics.algebras.sampled import Sampled, indefinite, panel_errors, sampling_error

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_TINY = 2.0**-950
_SLACK = 1 + 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class _Refinement:
    """P new panels among old ones.

    Attributes:
        panels: The old panel of each new one.
        beyond: -1 or 1 where a new panel is beyond the left or the right end, else 0.
        fresh: The new panels that are parts of old ones, with the next four.
        matrix: W_k(y'_j), shape (fresh, n, n), by j and k.
        norm: Upper bounds of λ, shape (fresh,).
        spread: Upper bounds of S, shape (fresh,).
        majorants: For every new panel and majorant the old majorant, shape (R + 1, P).
    """

    panels: Integers
    beyond: Integers
    fresh: Integers
    matrix: Array
    norm: Array
    spread: Array
    majorants: Integers


def _refinement(where: Sequence[Place], rule: Rule) -> _Refinement:
    panels = np.array([place.panel for place in where], np.int64)
    beyond = np.array([place.beyond for place in where], np.int64)
    # Python divides integers with one rounding.
    center = np.array([place.center / place.width for place in where])
    half = np.array([place.half / place.width for place in where])
    same = np.array([place.is_same for place in where], np.bool_)  # a quotient may round to 1
    fresh = np.flatnonzero(~same & (beyond == 0))
    points = center[fresh, None] + half[fresh, None] * rule.nodes
    points = np.clip(points, -1.0, 1.0)
    points[np.abs(points) < 2.0**-60] = 0.0
    points[points + 1.0 < 2.0**-60] = -1.0
    lagrange, table = _lagrange(points, rule), _table(rule)[0]
    matrix = lagrange @ table
    spread = (np.abs(lagrange) @ np.abs(table)).sum(axis=2).max(axis=1, initial=0.0) * SAFE
    norm = np.abs(matrix).sum(axis=2).max(axis=1, initial=0.0) + 2.0**-40 * spread
    own = np.arange(1, len(rule.ratios) + 1)[:, None]
    reach = 1 + (rule.wide[:, None] - 1) * (half * _SLACK)
    wider = 1 + np.searchsorted(rule.wide / _SLACK, reach)
    majorants = np.zeros((len(rule.ratios) + 1, len(where)), np.int64)
    majorants[1:] = np.where(beyond == 0, np.minimum(wider, own), 0)
    return _Refinement(panels, beyond, fresh, matrix, norm * SAFE, spread, majorants)


class SampledIntegral:
    """t -> ∫ of a function from the left (right) end to t, on whatever panels it is wanted.

    Args:
        function: Without batch axes.
        rule: Its nodes and ellipses.
        half: The half-widths of its panels.
        from_left: From which end.
    """

    def __init__(self, function: Sampled, rule: Rule, half: Array, from_left: bool) -> None:
        self._function, self._rule, self._half, self._from_left = function, rule, half, from_left
        self.integral = indefinite(function, rule, half, from_left)

    @np.errstate(over="ignore", invalid="ignore")
    def on(self, how: _Refinement) -> Sampled:
        """The integral on new panels."""
        nodes = len(self._rule.nodes)
        whole = self.integral.layers[:, how.panels]
        layers = whole.copy()
        layers[nodes:-1] = whole[nodes:-1][how.majorants, np.arange(len(how.panels))]
        values, error = self._inside(how)
        layers[:nodes, how.fresh] = values
        after, after_error, _ = self._accumulated()
        end = -1 if self._from_left else 0
        for side, total, missing in (
            (1 if self._from_left else -1, after[end], after_error[end]),
            (-1 if self._from_left else 1, 0.0, 0.0),
        ):
            outside = how.beyond == side
            layers[:nodes, outside] = total
            layers[-1, outside] = 1 + missing * SAFE / layers[nodes, outside]
        layers[-1, how.fresh] = 1 + error * SAFE / layers[nodes, how.fresh]
        return Sampled(layers, self.integral.roundings, self.integral.least)

    def _accumulated(self) -> tuple[Array, Array, Array]:
        """The integral from the end up to and with each panel; error bounds; each panel's own."""
        order = slice(None) if self._from_left else slice(None, None, -1)
        function, rule = self._function, self._rule
        errors = panel_errors(function, rule)
        sampling = sampling_error(function, rule.total_error[:, None], errors.kappa)
        total = rule.from_left[:, -1] @ function.layers[: len(rule.nodes)] * self._half
        error = self._half * (2 * errors.values + sampling + errors.rounding + _TINY)
        error += (len(total) + 4) * UNIT_ROUNDOFF * np.abs(total)
        return np.cumsum(total[order])[order], np.cumsum(error[order])[order], total

    def _inside(self, how: _Refinement) -> tuple[Array, Array]:
        """Values in parts of old panels, shape (n, fresh); bounds of the errors, (fresh,)."""
        rule, nodes, panels = self._rule, len(self._rule.nodes), how.panels[how.fresh]
        errors = panel_errors(self._function, rule)
        samples = self._function.layers[:nodes, panels]
        half = self._half[panels]
        matrix, norm, spread = how.matrix, how.norm, how.spread
        if not self._from_left:
            matrix, norm, spread = rule.from_left[:, -1] - matrix, norm + 2, spread + 2
        inside = np.einsum("pjk,kp->jp", matrix, samples) * half
        after, after_error, totals = self._accumulated()
        before = after[panels] - totals[panels]  # the very numbers that were added up
        values = inside + before
        near = rule.partial_error / (2 + rule.norm) * SAFE
        distance = sampling_error(self._function, near[:, None], errors.kappa)[panels]
        kappa = np.broadcast_to(errors.kappa, self._half.shape)[panels]
        sup = kappa * self._function.layers[nodes, panels]
        # |v| <= E + κ m_0
        largest = errors.values[panels] + sup
        rounding = (4 * nodes + 20) * UNIT_ROUNDOFF * spread * largest
        error = norm * errors.values[panels] + (2 + norm) * distance + 2.0**-50 * sup
        error = half * (error + rounding + _TINY) + after_error[panels]
        error += 4 * UNIT_ROUNDOFF * (np.abs(values).max(axis=0) + np.abs(after[panels]))
        return values, error


def _lagrange(points: Array, rule: Rule) -> Array:
    """L_1 … L_n at the points, shape (…, n); W vanishes at -1, so L_0 is not needed."""
    count = len(rule.nodes)
    differences = points[..., None] - rule.nodes
    before, after = np.ones_like(differences), np.ones_like(differences)
    before[..., 0] = points + 1.0
    for k in range(1, count):
        np.multiply(before[..., k - 1], differences[..., k - 1], out=before[..., k])
        np.multiply(after[..., -k], differences[..., -k], out=after[..., -k - 1])
    before *= after
    before *= _table(rule)[1]
    return before


@cache
def _table(rule: Rule) -> tuple[Array, Array]:
    """W_k(x'_j), by j and k, and the constant factors of L_1 … L_n; each entry within 2 u."""
    count = len(rule.nodes)
    with precision(256):
        nodes, weights = legendre_nodes(count)
        stored = [arb(node) for node in rule.nodes.tolist()]
        integrals = partial_weights(stored, nodes, weights)
        factors = []
        for node in stored:
            product = node + 1
            for other in stored:
                if other is not node:
                    product = product * (node - other)
            factors.append(nearest(1 / product))
        return np.array([[nearest(each) for each in row] for row in integrals]), np.array(factors)


class SampledPanels:
    """Sampled functions on panels of their own: what `placed` asks for."""

    def __init__(self) -> None:
        # By identity: the places are kept, so that it stays theirs.
        self._known: dict[int, tuple[Sequence[Place], _Refinement]] = {}

    def on(self, grid: Grid) -> Float64Algebra:
        """The algebra on some panels.

        Raises:
            ValueError: If their widths are out of the range of doubles.
        """
        return Float64Algebra(grid)

    def picked(self, function: Sampled, panels: Sequence[int]) -> Sampled:
        """The function on some of its panels."""
        return replace(function, layers=function.layers[:, list(panels)])

    def integral(
        self, function: Sampled, grid: Grid, from_left: bool
    ) -> Callable[[Sequence[Place]], Sampled]:
        """∫ from an end, as a function of the panels that it is wanted on."""
        algebra = self.on(grid)
        integral = SampledIntegral(function, algebra.rule, algebra.half, from_left)

        def on(where: Sequence[Place]) -> Sampled:
            known = self._known.get(id(where))
            if known is None:
                known = self._known[id(where)] = where, _refinement(where, algebra.rule)
            return integral.on(known[1])

        return on
