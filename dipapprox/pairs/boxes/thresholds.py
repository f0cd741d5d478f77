"""Programs that compare single samples with what inputs make of them: independent parts.

    every guard   a sample against a linear form of the inputs
    -> of every sample Z, in scales, its *cuts*: linear forms t(u); a guard says Z <= t, or Z > t
    -> cuts of one sample that move alike lie in one order for all inputs: cells between them
    -> a tuple of cells, one of each sample, makes an output with what choices give it: its share

So Pr[Z in a cell] is a difference of values F(t(u)), and the probability of an output a sum of
shares times products of these. Numbers are doubles: `error` bounds what they are off, F itself by
2^-46. Shares are multiples of 2^-48: sums of them are exact.

**Second derivatives.** Let P_S be the probability of any set S of outputs, f the density of each
sample, s_k,i the slope in u_i of the cuts of the sample k, and with sums over its cuts

    D_k,i = |s_k,i| Σ f(t),    C_k,i = s_k,i² Σ |f'(t)|,

    |∂²P_S/∂u_i²| <= Σ_k C_k,i + 4 Σ_k<l D_k,i D_l,i.

Proof. Let π_k be the vector of the masses of the cells of k. Then P_S is linear in each, with
coefficients in [0, 1], as the others are >= 0 and add up to 1: P_S = Σ_c g_c π_k,c. By parts, Σ_c
g_c π''_k,c = Σ over cuts of (g before - g after) F'' is at most C_k,i. And Σ_c,d g_c,d π'_k,c
π'_l,d, g in [0, 1], is at most half of Σ |π'_k,c π'_l,d| <= 4 D_k,i D_l,i, as all of these products
add up to 0; it counts twice.

What is unlikely is curved little: of one tuple of cells the mass Π m_k has the second derivative
Σ_k m_k'' Π m + 2 Σ_k<l m_k' m_l' Π m, the products over all other samples, where |m'| is at most
the larger |s f| of two cuts, and |m''| the sum of their s² |f'|. Sums of these bound that of P_S
where S is known, and as well 1 - P_S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import Record, replace
from dipapprox.events.instantiate import Instantiator
from dipapprox.exact.choices import circuits
from dipapprox.exact.log_concave import own_cuts
from dipapprox.language.core import Input
from dipapprox.language.domains import AllReals
from dipapprox.laws.family import RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.state import FinalStates

_MOST_CELLS = 256  # tuples of cells
_MOST_OUTPUTS = 8  # of whose sets it is said which samples matter
_LARGEST = 2.0**40  # of cuts, anywhere: those are so far out that doubles tell little of them
_SLACK = 2.0**-40
"""More than extents of cuts are rounded, relative to 1 and the sizes of what they are sums of."""

_MASS = 2.0**-46  # at most what values of F are off
_UNIT = 2.0**-48  # of shares


class _Cuts(Record, eq=False):
    """The cuts of a sample: factors · u + offset, in ascending order; slopes are per unit of u."""

    family: RealFamily
    factors: tuple[Fraction, ...]
    slope: Array
    offsets: Array

    def values(self, moved: Array) -> list[Array]:
        """Return 0, F at all cuts, which inputs move by that much, and 1."""
        below = (self.family.below(moved + offset) for offset in self.offsets)
        return [np.zeros(moved.shape), *below, np.ones(moved.shape)]


class Curvature(Record, eq=False):
    """D_k,i and C_k,i by sample, input and polytope."""

    steep: Array
    curved: Array
    outputs: Array  # at least half of |∂²P_o/∂u_i²|, by output, input and polytope

    def half(
        self,
        moving: NDArray[np.bool_] | None = None,
        taken: NDArray[np.bool_] | None = None,
        left: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Bound half of |∂²P_S/∂u_i²|, by input and polytope; None of these for all sets S.

        Args:
            moving: Samples that P_S depends on, by sample and polytope.
            taken: Outputs that S may have, by output and polytope; `left`: that it may lack.
        """
        steep, curved = self.steep, self.curved
        if moving is not None:
            steep, curved = steep * moving[:, None], curved * moving[:, None]
        total = steep.sum(axis=0)
        # Half of all that, with 2 Σ_k<l D_k D_l = (Σ D_k)² - Σ D_k².
        mixed = np.maximum(total * total - (steep * steep).sum(axis=0), 0.0)
        found = curved.sum(axis=0) / 2 + mixed + 2.0**-30 * total * total
        for own in (taken, left):
            if own is not None:
                found = np.minimum(found, (self.outputs * own[:, None]).sum(axis=0))
        return np.asarray(found * (1 + 2.0**-30))


class Thresholds:
    """Probabilities of all outputs at many inputs; see the module.

    Args:
        cuts: Of every sample.
        shares: Of each output in every tuple of cells: an array by output, and cell of each sample.
        reach: The largest size of each real input.
        off: At most what shares in one tuple of cells are off, together.

    Attributes:
        error: At most Σ over outputs of how far probabilities are off.
        wider: How much more bounds of them are off: see `extent`.
    """

    def __init__(
        self, cuts: Sequence[_Cuts], shares: Array, reach: Array, off: float = 0.0
    ) -> None:
        self._cuts, self._reach, self._off = cuts, reach, off
        self._shares, self.outputs = shares, len(shares)
        self._of_cells = shares.reshape(len(shares), -1)
        count = self._of_cells.shape[1]
        error = (len(cuts) + count) * 2.0**-50 + off
        error += sum(2 * float(self._errors(each).sum()) for each in cuts)
        self.error = error * (1 + 2.0**-20)
        self.wider = 2.0 * count * (self.outputs + 1)

    @property
    def number(self) -> tuple[Fraction, ...] | None:
        """What outputs depend on, if it is one number made of real inputs: their factors."""
        rows = [each.factors for each in self._cuts]
        leading = next((row for row in rows if any(row)), (Fraction(0),) * len(self._reach))
        multiples = [_multiple(row, leading) for row in rows]
        alike = [tuple([a * each for each in leading]) for a in multiples]
        return leading if alike == rows else None

    def _sizes(self, cuts: _Cuts) -> Array:
        """Return about the most that the terms of each cut of a sample add up to."""
        return np.asarray(float(np.abs(cuts.slope) @ self._reach) + np.abs(cuts.offsets))

    def _errors(self, cuts: _Cuts) -> Array:
        """Return at most what F is off at each cut of a sample, with what its argument is off."""
        # Slopes and offsets are rounded once; then come as many products and sums as inputs.
        unit = (len(self._reach) + 3) * 2.0**-52
        return float(cuts.family.steep) * self._sizes(cuts) * unit + _MASS

    def of_number(self, old: Fraction, unit: Fraction) -> Thresholds:
        """Return the same outputs as functions of `number`, measured in `unit`, as if it was the
        only real input; real inputs are measured in `old`."""
        factors = self.number or ()
        multiples = [_multiple(each.factors, factors) for each in self._cuts]
        cuts = [
            replace(each, factors=(a,), slope=np.array([float(a * unit)]))
            for each, a in zip(self._cuts, multiples, strict=True)
        ]
        size = np.array([float(abs(a) * old / unit) for a in factors]) @ self._reach
        reach = np.array([float(size) * (1 + _SLACK)])
        return Thresholds(cuts, self._shares, reach, self._off)

    def of_samples(self) -> list[Thresholds]:
        """Return for each sample what shows its cell alone."""
        return [
            Thresholds([each], np.eye(len(each.offsets) + 1), self._reach) for each in self._cuts
        ]

    @cached_property
    def still(self) -> NDArray[np.bool_]:
        """Which samples P_S does not depend on: by sample, and S as a binary number.

        Of many outputs nothing is said.
        """
        count = 2**self.outputs if self.outputs <= _MOST_OUTPUTS else 0
        sets = np.arange(count)[:, None] >> np.arange(self.outputs) & 1
        inside = np.tensordot(sets.astype(np.float64), self._shares, 1)
        found = [
            (inside == inside.take([0], axis)).all(axis=tuple(range(1, inside.ndim)))
            for axis in range(1, inside.ndim)
        ]
        return np.array(found, dtype=np.bool_)

    def moved(self, changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say by sample and polytope which cuts move, if inputs are changed at some corners."""
        slopes = np.array([each.slope != 0 for each in self._cuts])
        return np.array((slopes[:, :, None] & changed.any(axis=-1)).any(axis=1))

    def is_alone(self, axis: int) -> bool:
        """Whether a real input moves one cut, or none."""
        return sum(len(each.offsets) for each in self._cuts if each.slope[axis]) <= 1

    def masses(self, inputs: Array) -> Array:
        """Return about the probabilities of outputs, along a first axis, at inputs along one."""
        cells: list[Array] = [np.ones(inputs.shape[1:])]
        for each in self._cuts:
            ends = each.values(_along(inputs, each.slope))
            own = [after - before for before, after in pairwise(ends)]
            cells = [whole * part for whole in cells for part in own]
        return np.tensordot(self._of_cells, np.array(cells), 1)

    def extent(self, inputs: Array) -> tuple[Array, Array]:
        """Return about bounds of the probabilities of outputs on polytopes.

        F rises, so a cut says where F lies; the mass of a cell is from 0 to 1. Bounds of all other
        factors are at most 1 then, but need not add up to 1: in all they are off by `wider` times
        `error` at most, as sums over all cells, and once more for each output where the others are
        what is left of 1.

        Args:
            inputs: Inputs, polytopes, corners.
        """
        cells = [(np.ones(inputs.shape[1]), np.ones(inputs.shape[1]))]
        for each in self._cuts:
            moved = _along(inputs, each.slope)
            lows, highs = each.values(moved.min(axis=1)), each.values(moved.max(axis=1))
            parts = [
                (np.maximum(lows[k + 1] - highs[k], 0.0), np.minimum(highs[k + 1] - lows[k], 1.0))
                for k in range(len(lows) - 1)
            ]
            cells = [(a * c, b * d) for a, b in cells for c, d in parts]
        least, most = (self._of_cells @ np.array(own) for own in zip(*cells, strict=True))
        most = np.minimum(most, 1 - least.sum(axis=0) + least)
        return least, most

    def curvature(self, inputs: Array) -> Curvature:
        """Bound second derivatives on polytopes; `inputs` as in `extent`."""
        count = inputs.shape[1]
        steep, curved = np.zeros((2, len(self._cuts), *inputs.shape[:2]))
        # Of every cell its mass, and half of its derivatives, in each input.
        nothing = np.zeros(inputs.shape[:2])
        cells = [(np.ones(count), nothing, nothing)]
        for k, each in enumerate(self._cuts):
            moved = _along(inputs, each.slope)
            lowest, highest = moved.min(axis=1), moved.max(axis=1)
            lows, highs = each.values(lowest), each.values(highest)
            slopes, bends = [np.zeros(count)], [np.zeros(count)]  # at all ends of cells
            for offset, size in zip(each.offsets, self._sizes(each), strict=True):
                low, high = lowest + offset, highest + offset
                slack = float(1 + size) * _SLACK
                near = np.maximum(np.maximum(low, -high) - slack, 0.0)
                density, slope = each.family.swing(near, np.maximum(-low, high) + slack)
                slopes.append(density)
                bends.append(slope)
            sizes = np.abs(each.slope)[:, None]
            steep[k], curved[k] = sizes * sum(slopes), sizes * sizes * sum(bends)
            slopes, bends = [*slopes, slopes[0]], [*bends, bends[0]]
            off = 2 * float(self._errors(each).max())  # of both ends of a cell: their cuts, too
            own = [
                (
                    np.clip(highs[c + 1] - lows[c] + off, 0.0, 1.0),
                    sizes * np.maximum(slopes[c], slopes[c + 1]),
                    sizes * sizes * (bends[c] + bends[c + 1]) / 2,
                )
                for c in range(len(lows) - 1)
            ]
            cells = [
                (m * n, m * b + n * a, m * d + n * c + a * b)
                for m, a, c in cells
                for n, b, d in own
            ]
        outputs = np.tensordot(self._of_cells, np.array([bend for _, _, bend in cells]), 1)
        return Curvature(steep, curved, outputs * (1 + 2.0**-30))


def all_between(true: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say for sets S, and sets apart from S, whether something that is true of sets, as binary
    numbers, is true of S with any part of these."""
    size = len(true)
    found = np.zeros((size, size), dtype=np.bool_)
    found[:, :1] = true[:, None]
    for more in range(1, size):
        one = more & -more
        found[:, more] = found[:, more ^ one] & found[np.arange(size) | one, more ^ one]
    return found


def _along(inputs: Array, slope: Array) -> Array:
    """Return a linear form of inputs along a first axis."""
    found = np.zeros(inputs.shape[1:])
    for values, factor in zip(inputs, slope.tolist(), strict=True):
        if factor:
            found = found + factor * values
    return found


def thresholds_of(
    states: FinalStates, eps: Fraction, input: Input, places: Sequence[int], unit: Fraction
) -> Thresholds | None:
    """Return the cuts of a program at some values of its finite inputs.

    Args:
        input: Values of the finite inputs, any of the real ones.
        places: Of the real inputs, which have bounds.
        unit: Real inputs are measured in it.

    Returns:
        None if some guard compares several samples, or otherwise than the module says.
    """
    instantiator = Instantiator(states, eps)
    if instantiator.chances.diagrams is not None:
        return None
    cells = states.program.inputs
    names = [cells[place].name for place in places]
    every = instantiator.numbers(input)
    numbers = {name: value for name, value in every.items() if name not in names}
    found: dict[int, dict[LinearForm, None]] = {}
    sides: list[_Side] = []
    for state in instantiator.admitted(input, every):
        outline = instantiator.outline(state)
        own = own_cuts(states, instantiator.scales, outline, numbers)
        if own is None:
            return None
        chosen = instantiator.chosen(state)
        share = None if chosen is None else circuits.enclose_choices([chosen], 64)[chosen]
        if isinstance(share, NotEnclosed):
            return None
        sides.append((outline.output, share, own))
        for number, cut, _ in own:
            found.setdefault(number, {})[cut] = None
    order = {number: sorted(own, key=lambda cut: cut.constant) for number, own in found.items()}
    if any(len({cut.terms for cut in own}) > 1 for own in order.values()):
        return None
    shares = _shares(order, sides, len(states.outputs))
    if shares is None:
        return None
    found_cuts: list[_Cuts] = []
    for number, ordered in order.items():
        family = states.samples[number].family
        if not isinstance(family, RealFamily) or family.curved is None:
            return None
        factors = tuple([ordered[0].coefficient(name) for name in names])
        slope = np.array([float(factor * unit) for factor in factors])
        offsets = np.array([float(cut.constant) for cut in ordered])
        found_cuts.append(_Cuts(family, factors, slope, offsets))
    ranges = (cells[place].domain for place in places)
    ends = [domain.bounds for domain in ranges if isinstance(domain, AllReals) and domain.bounds]
    reach = np.array([float(max(map(abs, own))) * (1 + 2.0**-50) / float(unit) for own in ends])
    sizes = [float(np.abs(each.slope) @ reach + np.abs(each.offsets).max()) for each in found_cuts]
    if max(sizes, default=0.0) > _LARGEST:
        return None
    off = sum(_UNIT for _, share, _ in sides if share is not None)
    return Thresholds(found_cuts, shares, reach, off)


def _multiple(row: Sequence[Fraction], leading: Sequence[Fraction]) -> Fraction:
    """Return which multiple of a row that is not 0 another one is, if it is one."""
    return next((a / b for a, b in zip(row, leading, strict=True) if b), Fraction(0))


_Side = tuple[int, Enclosure | None, list[tuple[int, LinearForm, bool]]]
"""An output, what choices give it, and of every guard its sample, the cut, and whether the sample
lies below it."""


def _shares(
    order: Mapping[int, Sequence[LinearForm]], sides: Sequence[_Side], outputs: int
) -> Array | None:
    """Return the shares of outputs in every tuple of cells; None if these are many."""
    shape = [len(own) + 1 for own in order.values()]
    if prod(shape) > _MOST_CELLS:
        return None
    found = np.zeros((outputs, *shape))
    axes = {number: axis for axis, number in enumerate(order)}
    for output, share, own in sides:
        parts = [(0, size) for size in shape]
        for sample, cut, is_below in own:
            place, (low, high) = order[sample].index(cut) + 1, parts[axes[sample]]
            parts[axes[sample]] = (low, min(high, place)) if is_below else (max(low, place), high)
        part = [slice(low, max(low, high)) for low, high in parts]
        places: tuple[int | slice, ...] = (output, *part)
        found[places] += 1 if share is None else round(share.lower / Fraction(_UNIT)) * _UNIT
    return found if (np.abs(found.sum(axis=0) - 1) <= len(sides) * _UNIT).all() else None
