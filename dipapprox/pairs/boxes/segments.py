"""The largest delta_{u,u'} on a product of segments: u and u' move together, what cancels does so.

Most sets come down to segments: for every real input, one number z_i in [-1, 1] says where u_i and
u'_i are (points have none). Then h_o = P_o(u) - E P_o(u') is near one polynomial in z, the
difference of two (`interpolation.polynomial`), and so is f_S = Σ_{o in S} h_o for every set S of
outputs. What the polynomials have in common, and that is most where u and u' are near, cancels
before absolute values are taken. `bounds` takes them first.

    polynomials of u and u' -> coefficients c_o[κ] of h_o in Chebyshev form in z
        -> which h_o have a sign
        -> for every S that may be best: an upper bound of f_S, and bounds of its slopes

* delta = max_S f_S over all S with the outputs of h_o >= 0, without those of h_o <= 0: each S is
  looked at where few signs are unknown. Otherwise max(0, h) <= a h + b, the chord (`bounds`).
* Slopes of f_S in z_i are within Σ κ_i² |C[κ]|, over all κ but the unit vector, of C[unit vector].
  delta is locally Lipschitz with slopes between those of the f_S. If those are never negative, only
  one end of the segment matters (`polygons`).

**Bounds of a polynomial.** Let C have the constant, linear and quadratic part q(z), and let the
rest be at most ρ = Σ |C[κ]|. Two bounds of q on the cube:

* Coordinate by coordinate b z + c T_2(z) has a largest value in closed form; mixed terms count in
  full.
* q(z) = q~(z) + Σ p_i z_i² / 2 with p chosen such that the Hessian Q - diag(p) of q~ is negative
  semidefinite. A concave q~ is below its tangent at any w, so q~(z) <= q~(w) + Σ_i (|g_i| - g_i
  w_i), g its gradient at w; the rest is at most Σ max(p_i, 0) / 2. It does not matter how w was
  found: where q~ is largest, about, that is sharp. To prove the semidefiniteness, let L be about a
  Cholesky factor of diag(d) - Q, and R = diag(d) - Q - L L^T: then p_i = d_i + Σ_j |R_ij| will
  do, as R + diag(Σ_j |R_ij|) is diagonally dominant.

**Rounding.** Everything here is sums of products in doubles with few roundings each: what is
computed is off by at most (n + K + 64) 2^-51 times the sum of the absolute values of its terms, for
n outputs and K terms with at most n + K additions on the way of one (as in
`interpolation.polynomial`). Terms are coefficients of u's and E times of u''s polynomials, at most
squares of degrees times them for slopes. Matrices of k inputs, and all that is computed from them,
have at most 16 k³ terms, none above 64 Σ |C|. E is at least what is used (`FactorBounds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.rounding import Array
from dipapprox.pairs.boxes.bounds import OF_NO_USE, Bound, FactorBounds, SetChoice, Taken
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.lemmas import at_ends
from dipapprox.pairs.boxes.models import BoxPolynomials
from dipapprox.pairs.boxes.polygons import Point, Polygon, X, Y

_UNIT = 2.0**-51

_MOST_UNDECIDED = 5
"""Outputs of unknown sign that are taken or left one by one."""

_SHARP = 2.0
"""Where errors are at most so many times those of probabilities at nodes, bounds are sharp."""

_MOST_WIDTH = 2.0**-30
"""Of the bounds of E."""

_SWEEPS = 60
"""Through all coordinates, at most, in looking for a peak."""

_GRID = 2**20
"""Where pairs to be tried lie: at multiples of 1 / _GRID of a segment."""


def are_segments(pairs: PairSet, factor: FactorBounds) -> bool:
    """Whether this module is about a set of pairs: no polygon has an inside."""
    plain = all(len(polygon) <= 2 for polygon in pairs.polygons)
    return plain and not pairs.is_bound and factor.width <= _MOST_WIDTH


def bound_on_segments(
    pairs: PairSet,
    first: BoxPolynomials,
    second: BoxPolynomials,
    factor: FactorBounds,
    choice: SetChoice,
    goal: float,
    concave: Taken | None = None,
) -> Bound:
    """Bound the largest delta on a product of segments and points.

    Args:
        pairs: The set; see `are_segments`.
        first: Of the outputs on the box of u.
        second: Of the outputs on the box of u'.
        factor: e^eps_prv.
        choice: Which outputs are taken, or left, in any case.
        goal: Bounds below need not be sharp.
        concave: Which outputs are log-concave, if that shall be used.
    """
    forms = _Differences(pairs.polygons, first, second, factor)
    least, most = forms.ranges()
    positive, negative, is_of_use = choice.settled(least, most, factor)
    if not is_of_use:
        return OF_NO_USE
    undecided = np.flatnonzero(~positive & ~negative)
    shares, rises = _shares(positive, undecided, least, most)
    sums = forms.sums(shares)
    uppers = sums.quick() + rises
    places: list[Array | None] = [None] * len(uppers)
    for row in np.argsort(-uppers):
        if uppers[row] <= goal:
            break
        own, places[row] = sums.concave(int(row))
        uppers[row] = min(uppers[row], own + rises[row])
    row = int(np.argmax(uppers))
    upper = float(uppers[row])
    place = places[row]
    if place is None:
        place = sums.ends(row)
    value = forms.delta(place, choice)
    sharp = upper - value <= _SHARP * float(forms.off.sum())
    signs = _signs(forms, sums, shares, positive, undecided)
    parts = _faces(pairs.polygons, signs)
    ends = parts
    if concave is not None:
        for coordinate, settled in ((Y, negative), (X, positive)):
            if np.count_nonzero(~settled) == 1 and concave[~settled].all():
                ends = tuple(at_ends(each, coordinate) for each in ends)
    best = tuple(_point(each, z) for each, z in zip(pairs.polygons, place.tolist(), strict=True))
    return Bound(max(upper, 0.0), best, ends, ends != parts, sharp, value)


class _Differences:
    """The h_o as polynomials in z.

    Args:
        polygons: Segments and points.
        first: Of the outputs on the box of u.
        second: Of the outputs on the box of u'.
        factor: e^eps_prv.

    Attributes:
        table: Coefficients, by degree in each z_i, and output.
        off: How far each is at most from h_o, rounding of a few sums included.
        slopes_off: How far their derivatives are, by output and input.
        signs: Signs of their derivatives that guards tell, else 0.
    """

    def __init__(
        self,
        polygons: Sequence[Polygon],
        first: BoxPolynomials,
        second: BoxPolynomials,
        factor: FactorBounds,
    ) -> None:
        axes, outputs = range(len(polygons)), range(len(first.forms))
        moves = [
            [_sign(each[-1][coordinate] - each[0][coordinate]) for each in polygons]
            for coordinate in (X, Y)
        ]
        signed = ((first, 1.0, moves[X]), (second, -factor.taken, moves[Y]))
        own = [[_oriented(t, o, move, axes) for o in outputs] for t, _, move in signed]
        shape = tuple(max(t.shape[i] for each in own for t in each) for i in axes)
        self.shape = shape
        self.table = np.zeros((*shape, len(outputs)))
        sizes = np.zeros(len(outputs))
        self.off = np.zeros(len(outputs))
        self.slopes_off = np.zeros((len(outputs), len(polygons)))
        rounding = (len(outputs) + prod(shape) + 64) * _UNIT
        for (tables, scale, move), found in zip(signed, own, strict=True):
            for o in outputs:
                part = tuple(slice(size) for size in found[o].shape)
                self.table[..., o][part] += scale * found[o]
                size = abs(scale) * float(np.abs(found[o]).sum())
                sizes[o] += size
                self.off[o] += abs(scale) * tables.forms[o].noise
                for i, axis in enumerate(tables.axes[o]):
                    if move[axis]:
                        steep = size * float(shape[axis] ** 2)
                        self.slopes_off[o, axis] += (
                            abs(scale) * tables.forms[o].slopes[i] + steep * rounding
                        )
                        if tables is second:
                            self.slopes_off[o, axis] += factor.width * (
                                steep / abs(scale) + tables.forms[o].slopes[i]
                            )
        self.off = (self.off + rounding * sizes) * (1 + 8 * _UNIT)
        self.slopes_off *= 1 + 8 * _UNIT
        self.signs = _known_signs(first.growth, np.array(moves))

    def sums(self, shares: Array) -> _Sums:
        """Return Σ share_o h_o for rows of shares in [0, 1]."""
        return _Sums(self.table @ shares.T, shares @ self.off, shares @ self.slopes_off)

    def ranges(self) -> tuple[Array, Array]:
        """Return lower and upper bounds of the h_o."""
        own, other = (_Sums(sign * self.table, self.off, self.slopes_off) for sign in (1, -1))
        return -other.quick(), own.quick()

    def slopes(self) -> tuple[Array, Array]:
        """Return lower and upper bounds of the derivatives of the h_o."""
        low, high = _Sums(self.table, self.off, self.slopes_off).slopes()
        return (
            np.where(self.signs > 0, np.maximum(low, 0.0), low),
            np.where(self.signs < 0, np.minimum(high, 0.0), high),
        )

    def delta(self, place: Array, choice: SetChoice) -> float:
        """Return about delta at z, or what is asked instead of it."""
        table = self.table
        for z in place.tolist():
            angles = np.arange(len(table)) * np.arccos(min(max(z, -1.0), 1.0))
            table = np.tensordot(np.cos(angles), table, 1)
        gained = np.where(choice.taken, table, np.maximum(table, 0.0))
        return float(gained[~choice.left].sum())


class _Sums:
    """Polynomials in z, near sums of the h_o.

    Args:
        table: Coefficients, by degrees and row.
        off: What they are off at most.
        slopes_off: Their derivatives likewise, by row and input.
    """

    def __init__(self, table: Array, off: Array, slopes_off: Array) -> None:
        self._table, self._off, self._slopes_off = table, off, slopes_off
        inputs = range(table.ndim - 1)
        self._units = [tuple(int(j == i) for j in inputs) for i in inputs]
        self._twice = [tuple(2 * int(j == i) for j in inputs) for i in inputs]
        self._moving = [i for i in inputs if table.shape[i] > 1]
        self._curved = [i for i in inputs if table.shape[i] > 2]
        self._constant = (0,) * len(inputs)

    def quick(self) -> Array:
        """Bound each row from above, coordinate by coordinate."""
        rest = np.abs(self._table)
        found = self._table[self._constant] + self._off
        rest[self._constant] = 0.0
        for i in self._moving:
            b = rest[self._units[i]].copy()
            rest[self._units[i]] = 0.0
            if i in self._curved:
                c = self._table[self._twice[i]]
                rest[self._twice[i]] = 0.0
                inside = (c < 0) & (b < -4 * c)
                peak = np.where(inside, b * b / np.where(inside, -8 * c, 1.0), 0.0)
                found += np.where(inside, peak - c, b + c)
            else:
                found += b
        total: Array = found + rest.reshape(-1, len(found)).sum(axis=0)
        return total

    def slopes(self) -> tuple[Array, Array]:
        """Return lower and upper bounds of the derivatives, by row and input."""
        size = np.abs(self._table)
        low, high = np.zeros_like(self._slopes_off), np.zeros_like(self._slopes_off)
        for i in self._moving:
            count = self._table.shape[i]
            shape = [count if j == i else 1 for j in range(self._table.ndim)]
            weighted = size * (np.arange(count, dtype=np.float64) ** 2).reshape(shape)
            weighted[self._units[i]] = 0.0
            off = weighted.reshape(-1, len(low)).sum(axis=0) + self._slopes_off[:, i]
            unit = self._table[self._units[i]]
            low[:, i], high[:, i] = unit - off, unit + off
        return low, high

    def ends(self, row: int) -> Array:
        """Return where the linear part of a row is largest."""
        found = np.zeros(self._table.ndim - 1)
        for i in self._moving:
            found[i] = 1.0 if self._table[self._units[i]][row] >= 0 else -1.0
        return found

    def concave(self, row: int) -> tuple[float, Array]:
        """Bound a row from above by a concave polynomial; also return where that is largest."""
        table, moving = self._table[..., row], self._moving
        place = np.zeros(table.ndim)
        rest = np.abs(table)
        b, q = np.zeros(len(moving)), np.zeros((len(moving), len(moving)))
        constant = float(table[(0,) * table.ndim])
        rest[(0,) * table.ndim] = 0.0
        for k, i in enumerate(moving):
            unit = self._units[i]
            b[k], rest[unit] = table[unit], 0.0
            if i in self._curved:
                twice = self._twice[i]
                constant -= float(table[twice])
                q[k, k], rest[twice] = 4 * table[twice], 0.0
        for (k, i), (m, j) in combinations(enumerate(moving), 2):
            both = tuple(int(n in (i, j)) for n in range(table.ndim))
            q[k, m] = q[m, k] = table[both]
            rest[both] = 0.0
        upper, place[moving] = _largest(constant, b, q)
        return upper + float(rest.sum()) + float(self._off[row]), place


def _largest(constant: float, b: Array, q: Array) -> tuple[float, Array]:
    """Bound constant + b·z + z·Qz / 2 on the cube from above, and say where it is largest, about.

    See the module; infinity if no Cholesky factor is found.
    """
    size = len(b)
    sizes = float(np.abs(q).sum())
    d = max(float(np.linalg.eigvalsh(q)[-1]), 0.0) if size else 0.0
    d += 2.0**-40 * sizes
    target = d * np.eye(size) - q
    try:
        factor = np.linalg.cholesky(target)
    except np.linalg.LinAlgError:
        return np.inf, np.sign(b)
    s = size * d + sizes
    off = size * (size + 4) * 2 * _UNIT * s
    p = d + np.abs(target - factor @ factor.T).sum(axis=1) + off
    w = _peak(b, q - np.diag(p))
    gradient = b + q @ w - p * w
    found = constant + float(b @ w + w @ q @ w / 2 - p @ (w * w) / 2)
    found += float((np.abs(gradient) - gradient * w).sum()) + float(p.sum()) / 2
    terms = abs(constant) + 4 * (float(np.abs(b).sum()) + sizes + float(p.sum()))
    return found + terms * (2 * size * size + 32) * _UNIT, w


def _peak(b: Array, q: Array) -> Array:
    """Return about where b·z + z·Qz / 2 is largest on the cube, Q being negative definite."""
    try:
        free = np.linalg.solve(-q, b).astype(np.float64)
        if np.abs(free).max(initial=0.0) <= 1:
            return free
    except np.linalg.LinAlgError:
        pass
    slopes, rows = b.tolist(), q.tolist()
    w = [0.0] * len(slopes)
    for _ in range(_SWEEPS):
        moved = 0.0
        for i, row in enumerate(rows):
            pull = slopes[i] + sum(x * y for x, y in zip(row, w, strict=True)) - row[i] * w[i]
            # Diagonals are negative but for rounding.
            new = min(max(pull / max(-row[i], 2.0**-900), -1.0), 1.0)
            moved = max(moved, abs(new - w[i]))
            w[i] = new
        if moved < 2.0**-30:
            break
    return np.array(w)


def _shares(
    positive: Taken, undecided: NDArray[np.int_], least: Array, most: Array
) -> tuple[Array, Array]:
    """Return rows of shares, and what is added to each: delta is at most one of the sums."""
    certain = positive.astype(np.float64)
    if len(undecided) <= _MOST_UNDECIDED:
        rows = np.tile(certain, (2 ** len(undecided), 1))
        rows[:, undecided] = list(product((0.0, 1.0), repeat=len(undecided)))
        return rows, np.zeros(len(rows))
    low, high = np.minimum(least, 0.0), np.maximum(most, 0.0)
    certain[undecided] = high[undecided] / (high[undecided] - low[undecided])
    # Each share is rounded: what is off by that is within the rounding of a product with the range.
    rise = float((certain[undecided] * -low[undecided]).sum())
    slack = float((high - low)[undecided].sum())
    return certain[None, :], np.array([rise + slack * (len(least) + 16) * _UNIT])


def _signs(
    forms: _Differences, sums: _Sums, shares: Array, positive: Taken, undecided: NDArray[np.int_]
) -> list[int]:
    """Say for each input whether delta never falls (1), or never rises (-1), along its segment.

    Args:
        forms: The h_o.
        sums: Of them, for the shares.
        shares: All sets of outputs that may be taken; else one row of no use here.
        positive: Which outputs are taken for sure.
        undecided: Which may be.
    """
    own_low, own_high = forms.slopes()
    extra_low, extra_high = np.zeros(own_low.shape[1]), np.zeros(own_low.shape[1])
    if len(undecided) > _MOST_UNDECIDED:
        shares = positive.astype(np.float64)[None, :]
        sums = forms.sums(shares)
        extra_low = _sum_below(np.minimum(own_low[undecided], 0.0))
        extra_high = -_sum_below(-np.maximum(own_high[undecided], 0.0))
    rows_low, rows_high = sums.slopes()
    low = np.maximum(rows_low, _sums_below(shares, own_low)).min(axis=0) + extra_low
    high = np.minimum(rows_high, -_sums_below(shares, -own_high)).max(axis=0) + extra_high
    return [1 if a >= 0 else -1 if b <= 0 else 0 for a, b in zip(low, high, strict=True)]


def _sum_below(values: Array) -> Array:
    """Bound sums along the first axis from below; sums of zeros are 0."""
    found: Array = _sums_below(np.ones((1, len(values))), values)[0]
    return found


def _sums_below(shares: Array, values: Array) -> Array:
    """Bound sums with shares from below, by row; sums of zeros are 0."""
    off: Array = shares @ np.abs(values) * ((len(values) + 8) * _UNIT)
    found: Array = shares @ values - off
    return found


def _faces(polygons: Sequence[Polygon], signs: Sequence[int]) -> tuple[tuple[Polygon, ...], ...]:
    """Return the ends that are left."""
    parts: list[tuple[Polygon, ...]] = []
    for polygon, sign in zip(polygons, signs, strict=True):
        if len(polygon) == 1 or not sign:
            parts.append((polygon,))
        else:
            parts.append((polygon[1:] if sign > 0 else polygon[:1],))
    return tuple(parts)


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _oriented(
    tables: BoxPolynomials, output: int, moves: Sequence[int], axes: Sequence[int]
) -> Array:
    """Return the coefficients of an output in z, by degree in every z_i."""
    table = tables.forms[output].table
    shape = [1] * len(axes)
    for place, axis in enumerate(tables.axes[output]):
        if not moves[axis]:
            table = table.take([0], place)
        elif moves[axis] < 0:
            signs = 1.0 - 2.0 * (np.arange(table.shape[place]) % 2)
            table = table * signs.reshape([-1 if k == place else 1 for k in range(table.ndim)])
        shape[axis] = table.shape[place]
    return table.reshape(shape)


def _point(polygon: Polygon, z: float) -> Point:
    """Return the point of a segment at z, about."""
    (x, y), (x2, y2) = polygon[0], polygon[-1]
    share = Fraction(round((z + 1) / 2 * _GRID), _GRID)
    return x + share * (x2 - x), y + share * (y2 - y)


def _known_signs(growth: Array, moves: Array) -> Array:
    """Say which derivatives of h_o in z have a known sign, from those of P_o in the inputs."""
    ahead, behind = growth * moves[X], -growth * moves[Y]
    same = (ahead * behind >= 0) & ~np.isnan(growth)
    signs: Array = np.where(same, np.sign(ahead + behind), 0.0)
    return signs
