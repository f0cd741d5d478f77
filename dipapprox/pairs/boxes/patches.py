"""Where polynomials stand for probabilities: ranges of real inputs are cut into patches.

    how outputs move with inputs, a wanted error -> patches with few terms in each input -> terms

Nothing is claimed here: what a polynomial leaves out is bounded where it is fitted. Where many
terms would be needed a larger error is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.interpolation.entire import size_for, sizes_for
from dipapprox.numerics.interpolation.polynomial import Interval
from dipapprox.pairs.boxes.movement import Movement

_FINE = 2.0**-44
"""About what polynomials of up to three inputs leave out: what doubles can say of the probabilities
at nodes. Single pairs are enclosed without them."""

_COARSER = (2.0**-40, 2.0**-30, 2.0**-22)
"""About what those of more inputs leave out: tables grow fast."""

_COARSE = 2.0**-22
"""About what they leave out where finer ones would have too many nodes."""

_FEW = 3

_MOST = 8
"""Inputs that an output with polynomials depends on."""

_MOST_TERMS = {1: 40, 2: 40, 3: 35, 4: 16}
_OTHER_TERMS = 10
"""In one input, by how many inputs an output depends on; wider boxes are cut into patches."""

_MOST_PATCHES = 64

MOST_NODES = 45_000
"""Of one output in one patch."""

_NO_MATTER = 80_000
"""So many nodes in all are taken for fine polynomials."""

Box = tuple[Interval, ...]
"""An interval for each real input."""


class Patches:
    """The patches.

    Args:
        whole: The ranges of the real inputs.
        outputs: How outputs move with them.
        tolerances: About what polynomials may leave out: the first one that is in reach.
        terms: In one input, at most about.

    Attributes:
        too_wide: Outputs of too many inputs, or with a range that would need too many patches.
    """

    def __init__(
        self, whole: Box, outputs: Sequence[Movement], tolerances: Sequence[float], terms: int
    ) -> None:
        self._whole, self._outputs, self._tolerances = whole, outputs, tolerances
        self.too_wide = {k for k, output in enumerate(outputs) if len(output.axes) > _MOST}
        self._parts = [1] * len(whole)
        for axis, (low, high) in enumerate(whole):
            while self._parts[axis] < _MOST_PATCHES:
                half = (high - low) / self._parts[axis] / 2
                if max(self._sizes_along(axis, half)) <= terms:
                    break
                self._parts[axis] *= 2
            else:
                self._parts[axis] = 1
                self.too_wide |= {k for k, o in enumerate(outputs) if axis in o.axes}

    def walls(self, axis: int) -> tuple[Fraction, ...]:
        """Return where patches meet, inside the range of a real input."""
        (low, high), parts = self._whole[axis], self._parts[axis]
        return tuple(low + (high - low) * k / parts for k in range(1, parts))

    def patch(self, axis: int, interval: Interval) -> Interval:
        """Return the patch that holds an interval, which crosses no wall."""
        (low, high), parts = self._whole[axis], self._parts[axis]
        if low == high:
            return low, high
        part = min(int((interval[0] - low) * parts / (high - low)), parts - 1)
        own = low + (high - low) * part / parts, low + (high - low) * (part + 1) / parts
        if interval[1] > own[1]:
            raise BrokenInvariant("a box in several patches")
        return own

    def sizes(self, output: int, patch: Box) -> tuple[int, ...]:
        """Return how many terms an output is to have, by its inputs.

        Args:
            output: Which has polynomials.
            patch: Of the inputs that it depends on.
        """
        halves = tuple((high - low) / 2 for low, high in patch)
        found: tuple[int, ...] = ()
        for tolerance in self._tolerances:
            found = sizes_for(self._outputs[output].entire or (), halves, tolerance)
            if prod(found) <= MOST_NODES:
                break
        return found

    @property
    def nodes(self) -> int:
        """About how many nodes all patches have."""
        found = 0
        for k, output in enumerate(self._outputs):
            if output.entire is not None and k not in self.too_wide:
                ends = (self._whole[axis][0] for axis in output.axes)
                patch = (
                    self.patch(a, (low, low)) for a, low in zip(output.axes, ends, strict=True)
                )
                parts = prod(self._parts[axis] for axis in output.axes)
                found += prod(self.sizes(k, tuple(patch))) * parts
        return found

    def _sizes_along(self, axis: int, half: Fraction) -> list[int]:
        found = [1]
        for output in self._outputs:
            if axis in output.axes and output.entire is not None and len(output.axes) <= _MOST:
                place = output.axes.index(axis)
                found.append(size_for(output.entire, place, half, self._tolerances[0]))
        return found


def patches_of(whole: Box, outputs: Sequence[Movement]) -> Patches:
    """Choose how closely polynomials follow, and cut the ranges of real inputs for that."""
    inputs = max((len(o.axes) for o in outputs if o.entire is not None), default=0)
    tolerances = (_FINE,) if inputs <= _FEW else _COARSER
    fine = Patches(whole, outputs, tolerances, _MOST_TERMS.get(inputs, _OTHER_TERMS))
    if fine.nodes <= _NO_MATTER:
        return fine
    return Patches(whole, outputs, (_COARSE,), _MOST_TERMS.get(inputs, _OTHER_TERMS))
