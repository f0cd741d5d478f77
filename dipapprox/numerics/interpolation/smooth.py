"""Probabilities as functions of real inputs: how steep they are, how curved, and linear forms.

A final state whose guards are free of inputs is a set G of noise, and with independent samples
X_k = μ_k(u) + σ_k Z_k its probability at the inputs u is P(u) = Pr[X in G].

**Lemma (steepness).** Let Z_k have the density f, of bounded variation. Then P moves with μ_k by at
most c/σ_k per unit, 2c being the total variation of f.
Proof. P(μ + t) - P(μ) = ∫ (f(x - t) - f(x)) g(x) dx with 0 <= g <= 1, for σ = 1: the difference has
the integral 0, so this is at most half its L1 norm, which is at most 2c |t|.

**Lemma (curvature).** Let f be absolutely continuous, and f' of bounded variation. Then P has
derivatives in the μ_k; those in μ_k move with μ_k by at most d/σ_k² per unit, 2d being the total
variation of f', and with another μ_l by at most 2 c c'/σ_k σ_l.
Proof. The same with f' for f; and with f'(x) f'(y), whose L1 norm is 2c · 2c' and whose integral is
0, against 0 <= g(x, y) <= 1.

c and d of every family stand in `laws`; where f jumps, nothing is said of curvature. A family that
can be shifted to both sides has f(x - t) <= e^|t| f(x), so P moves with μ_k by at most P/σ_k per
unit, and from P(m) by at most P(m) (e^κ - 1) for κ = Σ_k |change of μ_k| / σ_k: that is less where
P is small.

States of one output are disjoint: if all are free of inputs with the same samples, then the output
is one set G. The means are affine in u; sums over samples give bounds L_i of |∂P/∂u_i| and K_ij for
how ∂P/∂u_i moves with u_j.

**Guards with inputs.** A guard Σ a_k X_k + b·u + c <= 0 becomes true or false for other noise as u
moves. The density of Σ a_k X_k is nowhere above that of any one a_k X_k, so P moves by at most
Σ over guards of |slope of the form in u_i| min_k c_k / (|a_k| σ_k), f being unimodal: c is its
maximum.

**Linear form.** On a box with centre m and half-widths h_i, with the values v_0 at m and v_i^± at
m ± h_i e_i: P is within ½ Σ_ij K_ij h_i h_j of

    v_0 + Σ_i ((v_i^+ + v_i^-) / 2 - v_0) + Σ_i (v_i^+ - v_i^-) / 2 h_i · (u_i - m_i),

and ∂P/∂u_i within Σ_j K_ij h_j of its slope.
Proof. Along an axis a chord is within K_ii (2 h_i)² / 8 of P. P(u) - P(m) differs from the sum of
what single coordinates change by at most Σ over i < j of K_ij h_i h_j: change one coordinate after
the other; each change is the integral of a derivative, at a place that differs in coordinates
changed before. A chord's slope is a mean of derivatives at most 2 h_i away, on average at most h_i.

**Without K**, or on boxes that are so large that L tells as much. Where P is known to rise with
u_i, or to fall, its least and greatest values lie at opposite ends; other coordinates change it by
at most L_i h_i. So P is within (v^+ - v^-) / 2 + Σ over the others of L_i h_i of (v^+ + v^-) / 2,
v^± being the values where coordinates of known sign are at the ends that make P large, or small,
and others at m_i; derivatives, where there are any, are within L_i of 0.

**Rounding.** Values lie in [0, 1] and at most 4 (n + 1) operations are done with them, each with an
error of at most 2^-51 (n + 1); widths of enclosures add up likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from dipapprox.arithmetic.precision import exponential
from dipapprox.arithmetic.rounding import Array, above
from dipapprox.data_classes import Record
from dipapprox.laws.family import BOTH_SIDES, RealFamily
from dipapprox.numerics.interpolation.analytic import Row
from dipapprox.numerics.interpolation.polynomial import Interval, Model


class Smoothness(Record):
    """How a probability moves with real inputs; see the module."""

    steep: tuple[Fraction, ...]  # L_i, by axis
    curved: tuple[tuple[Fraction, ...], ...] | None  # K_ij; None where nothing is known
    # |∂P / ∂u_i| is at most rates[i] P; None where nothing is known
    rates: tuple[Fraction, ...] | None

    def __add__(self, other: Smoothness) -> Smoothness:
        """Bound the sum of two probabilities."""
        curved = rates = None
        if self.curved is not None and other.curved is not None:
            curved = tuple(map(_sums, self.curved, other.curved))
        if self.rates is not None and other.rates is not None:
            rates = tuple(map(max, self.rates, other.rates))
        return Smoothness(_sums(self.steep, other.steep), curved, rates)


def smoothness_of_means(rows: Sequence[Row], axes: int) -> Smoothness:
    """Bound how a set's probability moves with the means of samples, all those that move."""
    places = range(axes)
    steep = tuple(sum((f.steep * row[i] for f, row in rows), Fraction(0)) for i in places)
    rates = curved = None
    if all(family.shifts == BOTH_SIDES for family, _ in rows):
        rates = tuple(sum((row[i] for _, row in rows), Fraction(0)) for i in places)
    if all(family.curved is not None for family, _ in rows):
        # 2 Σ_kl c_k c_l, and on the diagonal k = l it is d.
        own = [(f.curved - 2 * f.steep**2, row) for f, row in rows if f.curved is not None]
        curved = tuple(
            tuple(
                2 * steep[i] * steep[j] + sum((d * r[i] * r[j] for d, r in own), Fraction(0))
                for j in places
            )
            for i in places
        )
    return Smoothness(steep, curved, rates)


def smoothness_of_guards(
    guards: Sequence[tuple[Sequence[tuple[RealFamily, Fraction]], Sequence[Fraction]]], axes: int
) -> Smoothness:
    """Bound how a probability moves with inputs that stay in guards.

    `guards`: for each its samples, by family and |coefficient| times scale, and its slopes.
    """
    steep = [Fraction(0)] * axes
    for samples, slopes in guards:
        most = min(family.steep / size for family, size in samples)
        for axis, slope in enumerate(slopes):
            steep[axis] += abs(slope) * most
    return Smoothness(tuple(steep), None, None)


def points(
    smoothness: Smoothness, growth: Sequence[int], box: Sequence[Interval]
) -> list[tuple[Fraction, ...]]:
    """Return where `near` wants the values, at least one.

    `growth`: by axis the sign of the derivative, 0 if that is not known.
    """
    centre = tuple((low + high) / 2 for low, high in box)
    if _curves(smoothness, box) is None:
        ends = list(zip(growth, centre, box, strict=True))
        return [
            tuple(own[(side * g + 1) // 2] if g else middle for g, middle, own in ends)
            for side in (1, -1)
        ]
    found = [centre]
    for axis, (low, high) in enumerate(box):
        if low < high:
            found += [(*centre[:axis], end, *centre[axis + 1 :]) for end in (high, low)]
    return found


def near(
    smoothness: Smoothness,
    growth: Sequence[int],
    box: Sequence[Interval],
    lower: Array,
    upper: Array,
) -> tuple[Model, Array]:
    """Bound a probability on a box by bounds of its values at `points`.

    Returns:
        A linear form, and upper bounds of |∂P / ∂u_i|.
    """
    size = len(box)
    halves = [(high - low) / 2 for low, high in box]
    values = (lower + upper) / 2
    unknown = float((upper - lower).max()) / 2 + 4 * (size + 1) ** 2 * 2.0**-51
    noise = 2 * unknown
    gradient = np.zeros(size)
    curves = _curves(smoothness, box)
    if curves is None:
        top, bottom = float(values[0]), float(values[1])
        free = [Fraction(0) if g else half for g, half in zip(growth, halves, strict=True)]
        value, steepness = (top + bottom) / 2, np.array(list(map(above, smoothness.steep)))
        spread = abs(top - bottom) / 2 + above(_dot(smoothness.steep, free)) + 2 * unknown
    else:
        value, place, steepness = float(values[0]), 1, np.zeros(size)
        for axis, half in enumerate(halves):
            if half:
                high, low = values[place], values[place + 1]
                place += 2
                value += float(high + low) / 2 - float(values[0])
                gradient[axis] = float(high - low) / 2 / float(half)
                steepness[axis] = above(curves[axis] + Fraction(2 * unknown) / half)
        noise = (4 * size + 2) * unknown
        spread = above(_dot(curves, halves) / 2) + noise
    moved = float(np.dot(np.abs(gradient), [float(h) for h in halves]))
    if smoothness.rates is not None and curves is not None:
        # The centre's value, and all that the form itself changes.
        exponent = _dot(smoothness.rates, halves)
        change = above(exponential(exponent, 24).upper - 1) if exponent < 1 else inf
        most = float(upper[0]) * change + abs(value - float(values[0])) + moved + unknown
        spread, noise = min(spread, most * (1 + 2.0**-44)), min(noise, unknown)
    spread *= 1 + 2.0**-48
    steep = np.array(list(map(above, smoothness.steep)))
    if smoothness.rates is not None:
        most = min(1.0, (abs(value) + moved + spread) * (1 + 2.0**-44))
        steep = np.minimum(steep, [above(each * Fraction(most)) for each in smoothness.rates])
    bends = np.zeros((size, size))
    return Model(value, gradient, spread, steepness, bends, spread, noise), steep


def _curves(smoothness: Smoothness, box: Sequence[Interval]) -> list[Fraction] | None:
    """Return Σ_j K_ij h_j, by axis; None where nothing is known, or less than by steepness."""
    halves = [(high - low) / 2 for low, high in box]
    found = [_dot(row, halves) for row in smoothness.curved or ()]
    return found if found and _dot(found, halves) < 2 * _dot(smoothness.steep, halves) else None


def _sums(first: Sequence[Fraction], second: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))
