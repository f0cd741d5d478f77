"""Probabilities of outputs as functions of real inputs: near forms of them on any box.

    final states -> how outputs move with inputs (`movement`)
        analytic: patches of the whole box, terms per input
            -> when a box is asked for: probabilities at the nodes of its patch, in one batch
            -> a polynomial for each output -> value, gradient, rest on the box
        else, or where polynomials would take too much:
            -> probabilities at the centre of the box and of its sides -> a chord for each input

Polynomials are near by 2^-40 on a patch, chords by the square of a box' size. Noise without kinks
is analytic (`numerics.interpolation.analytic`), Laplace noise is smooth (`…smooth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import dropwhile, product
from math import prod

import numpy as np

from dipapprox.arithmetic.rounding import Array, above
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.language.domains import AllReals
from dipapprox.limits import check_limits
from dipapprox.numerics.interpolation.analytic import size_for, tails
from dipapprox.numerics.interpolation.polynomial import (
    Interval,
    Model,
    Polynomial,
    RestrictedPolynomial,
    fit,
    nodes,
)
from dipapprox.numerics.interpolation.smooth import near, points
from dipapprox.numerics.probability import BulkSource
from dipapprox.pairs.boxes.cells import Fixed, filled
from dipapprox.pairs.boxes.movement import DerivativeSigns, Movement, OutOfReach, movements
from dipapprox.semantics.state import FinalStates

_NODE_BITS = 40
_MOST_PROBABILITIES = 300_000
"""Of all outputs, for polynomials; as many again for chords: some minutes."""

_PORTION = 20_000  # probabilities in one batch
_REMEMBERED = 20_000
_LARGEST = Fraction(2**200)
"""Of the numbers that are taken into doubles, which hold squares of products of these."""

_MOST_SCALES = 2**40  # ranges of inputs, in scales of noise: far more would be cut as often
Box = tuple[Interval, ...]  # an interval for each real input
Ahead = Callable[[], Iterable[tuple[Box, Fixed]]]


class Models(Record, eq=False):
    """All outputs on one box, by output: see `Model`; gradients by output and real input."""

    values: Array
    gradients: Array
    spreads: Array
    lowest: Array  # lower bounds of the derivatives; `highest` upper ones
    highest: Array
    bends: Array  # by output and two real inputs
    rests: Array  # what is left beside the bends
    noises: Array  # what smaller boxes have of that, too
    most: Array  # upper bounds, at most what all others leave of 1


class OutputModels:
    """Near forms of the output probabilities of one program at one eps.

    The final states have no conditions on real inputs.

    Attributes:
        still: Whether all stay as they are when all real inputs move by the same number.
        monotone: Whether some have derivatives whose sign is known from guards.
        walls: Says where patches meet, inside the range of a real input.

    Raises:
        OutOfReach: If a real input has no bounds, or noise around it is of integers.
    """

    def __init__(self, states: FinalStates, eps: Fraction, bulk: BulkSource) -> None:
        self._bulk = bulk
        self._whole: list[Interval] = []
        names: list[str | None] = []
        for cell in states.program.inputs:
            if isinstance(cell.domain, AllReals):
                if cell.domain.bounds is None:
                    raise OutOfReach(f"the input '{cell.name}' has no bounds")
                low, high = cell.domain.bounds
                self._whole.append((low, high))
                # A range of one number moves nothing.
                names.append(cell.name if low < high else None)
        self._outputs = movements(states, eps, names)
        self._require_doubles()
        self.outputs = len(self._outputs)
        self.still = all(output.still for output in self._outputs)
        self.monotone = any(any(output.growth) for output in self._outputs)
        self._with_polynomials = {k for k, o in enumerate(self._outputs) if o.analytic is not None}
        self._axes = [output.axes for output in self._outputs]
        self._growth = np.zeros((self.outputs, len(names)))
        for k, output in enumerate(self._outputs):
            self._growth[k, output.axes] = output.growth
        self._steep = [np.array(list(map(above, each.smooth.steep))) for each in self._outputs]
        self._patches = _patches_of(tuple(self._whole), self._outputs)
        self.walls = self._patches.walls
        self._with_polynomials -= self._patches.too_wide
        self._polynomials: dict[tuple[int, Box, Fixed], Polynomial] = {}
        self._fitted: set[tuple[Box, Fixed]] = set()  # patches
        self._values: dict[_Point, Interval] = {}
        self._models: Cache[tuple[int, Box, Fixed], _Near] = Cache(_REMEMBERED)

    def _require_doubles(self) -> None:
        """Refuse numbers whose squares and quotients doubles might not hold."""
        steep = [each for output in self._outputs for each in output.smooth.steep if each]
        ends = [abs(end) for bounds in self._whole for end in bounds if end]
        widths = [high - low for low, high in self._whole if low < high]
        for number in (*steep, *ends, *widths):
            if not 1 / _LARGEST <= number <= _LARGEST:
                raise OutOfReach("bounds of inputs, or scales of noise, are beyond 2^±200")
        if max(widths, default=0) * max(steep, default=0) > _MOST_SCALES:
            raise OutOfReach("inputs range over more than 2^40 scales of noise")

    @property
    def signs(self) -> DerivativeSigns:
        """What guards tell of the signs of derivatives."""
        still = np.ones_like(self._growth, dtype=np.bool_)
        for k, axes in enumerate(self._axes):
            still[k, axes] = False
        return DerivativeSigns((self._growth > 0) | still, (self._growth < 0) | still)

    @property
    def forms(self) -> str:
        all_analytic = len(self._with_polynomials) == self.outputs
        found = ["polynomials"] * bool(self._with_polynomials) + ["chords"] * (not all_analytic)
        return " + ".join(found)

    def sensitivity(self, axis: int) -> float:
        """Say about how much noise a step of a real input is: what matters in cutting boxes."""
        slopes = (
            float(output.smooth.steep[output.axes.index(axis)])
            for output in self._outputs
            if axis in output.axes
        )
        return max(slopes, default=0.0) or 2.0**-20

    def on(self, box: Box, fixed: Fixed, ahead: Ahead = tuple) -> Models:
        """Return near forms of all outputs on a box inside one patch.

        Args:
            ahead: What boxes are likely to be asked for next: probabilities are found in one go.

        Raises:
            OutOfReach: If too many probabilities would be needed.
        """
        check_limits()
        models = [
            (each.model(), self._steep[k]) if isinstance(each, RestrictedPolynomial) else each
            for k, each in enumerate(self._require(box, fixed, ahead))
        ]
        values, spreads = np.zeros(self.outputs), np.zeros(self.outputs)
        rests, noises = spreads.copy(), spreads.copy()
        bends = np.zeros((self.outputs, len(box), len(box)))
        gradients = np.zeros((self.outputs, len(box)))
        lowest, highest = gradients.copy(), gradients.copy()
        for k, output in enumerate(self._outputs):
            axes, (model, steep) = output.axes, models[k]
            values[k], spreads[k] = model.value, model.spread
            rests[k], noises[k] = model.rest, model.noise
            bends[np.ix_((k,), axes, axes)] = model.bends
            gradients[k, axes] = model.gradient
            # Where the box has no width, the form tells nothing of the derivative.
            still = np.array([low == high for low, high in self._own(k, box)], dtype=np.bool_)
            off = model.steepness + np.abs(model.gradient) * 2.0**-52
            off, growth = np.where(still, np.inf, off), np.array(output.growth)
            least, most = np.where(growth > 0, 0.0, -steep), np.where(growth < 0, 0.0, steep)
            lowest[k, axes] = np.maximum(least, model.gradient - off)
            highest[k, axes] = np.minimum(most, model.gradient + off)
        # Sums of some doubles below 2, each rounded a few times; see `bounds`.
        slack = (self.outputs + 4 * len(box) + 16) * 2.0**-51
        halves = np.array([float(high - low) / 2 for low, high in box])
        reach = np.abs(gradients) @ halves + spreads + slack
        least = np.maximum(values - reach, 0.0)
        most = np.minimum(values + reach, 1 - (least.sum() - least) + slack)
        return Models(values, gradients, spreads, lowest, highest, bends, rests, noises, most)

    def _require(self, box: Box, fixed: Fixed, ahead: Ahead) -> list[_Near]:
        patch = tuple(self._patches.patch(axis, interval) for axis, interval in enumerate(box))
        self._fit(patch, fixed)
        wanted = self._of_chords([(box, fixed)])
        if wanted:
            self._evaluate(wanted | self._of_chords(ahead()))

        def found(k: int, own: Box) -> _Near:
            output = self._outputs[k]
            if k in self._with_polynomials:
                return self._polynomials[k, self._own(k, patch), fixed].restricted(own)
            places = points(output.smooth, output.growth, own)
            return near(output.smooth, output.growth, own, *self._bounds(k, places, fixed))

        every = [(k, self._own(k, box)) for k in range(self.outputs)]
        return [self._models.find((*each, fixed), partial(found, *each)) for each in every]

    def _fit(self, patch: Box, fixed: Fixed) -> None:
        """Find the polynomials of a patch, where they do not take too much."""
        if (patch, fixed) in self._fitted:
            return
        planned: dict[int, tuple[int, ...]] = {}
        wanted: dict[_Point, None] = {}
        for k in sorted(self._with_polynomials):
            own = self._own(k, patch)
            sizes = self._patches.sizes(k, own)
            known = len(self._values) + len(wanted)
            if (k, own, fixed) in self._polynomials:
                continue
            if prod(sizes) <= _MOST_NODES and known + prod(sizes) < _MOST_PROBABILITIES:
                planned[k] = sizes
                wanted.update(dict.fromkeys((k, p, fixed) for p in _grid(own, sizes)))
            else:
                self._with_polynomials.discard(k)
        self._evaluate(wanted)
        for k, sizes in planned.items():
            own = self._own(k, patch)
            ends = self._bounds(k, _grid(own, sizes), fixed)
            lower, upper = (each.reshape(sizes) for each in ends)
            centres = tuple((low + high) / 2 for low, high in own)
            halves = tuple((high - low) / 2 for low, high in own)
            left = tails(self._outputs[k].analytic or (), halves, sizes)
            self._polynomials[k, own, fixed] = fit(centres, halves, lower, upper, left)
        self._fitted.add((patch, fixed))  # a limit may end it before

    def _of_chords(self, boxes: Iterable[tuple[Box, Fixed]]) -> dict[_Point, None]:
        """Return the probabilities that chords on some boxes want, and that are not known."""
        found: dict[_Point, None] = {}
        for (box, fixed), (k, output) in product(boxes, enumerate(self._outputs)):
            if k not in self._with_polynomials:
                places = points(output.smooth, output.growth, self._own(k, box))
                found.update(dict.fromkeys((k, p, fixed) for p in places))
        return {each: None for each in found if each not in self._values}

    def _own(self, output: int, box: Box) -> Box:
        return tuple(box[axis] for axis in self._outputs[output].axes)

    def _bounds(
        self, output: int, where: Sequence[tuple[Fraction, ...]], fixed: Fixed
    ) -> tuple[Array, Array]:
        rows = np.array([self._values[output, point, fixed] for point in where])
        return rows[:, 0], rows[:, 1]

    def _evaluate(self, points: Iterable[_Point]) -> None:
        """Find probabilities; a real input that an output does not depend on may be anything."""
        wanted = [each for each in points if each not in self._values]
        if len(self._values) + len(wanted) > 2 * _MOST_PROBABILITIES:
            raise OutOfReach(
                "the real inputs are too many, or their ranges too wide: more than "
                f"{2 * _MOST_PROBABILITIES} probabilities would be needed"
            )
        lowest = dict(enumerate(low for low, _ in self._whole))
        for start in range(0, len(wanted), _PORTION):
            check_limits()
            part = wanted[start : start + _PORTION]
            inputs = [
                filled(fixed, (lowest | dict(zip(self._axes[k], point, strict=True))).values())
                for k, point, fixed in part
            ]
            bounds = self._bulk.cells([k for k, _, _ in part], inputs, _NODE_BITS)
            if bounds.obstacle is not None and (bounds.upper - bounds.lower).max() > 2.0**-20:
                raise OutOfReach(f"no enclosure: {bounds.obstacle}")
            found = zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
            self._values.update(zip(part, found, strict=True))


_Near = RestrictedPolynomial | tuple[Model, Array]
"""A polynomial; or a near form, and upper bounds of the sizes of derivatives."""

_Point = tuple[int, tuple[Fraction, ...], Fixed]
"""An output, the values of the real inputs that it depends on, those of finite inputs."""


def _grid(box: Box, sizes: Sequence[int]) -> list[tuple[Fraction, ...]]:
    lines = [
        [(low + high) / 2 + (high - low) / 2 * z for z in nodes(size)]
        for (low, high), size in zip(box, sizes, strict=True)
    ]
    return list(product(*lines))


_TOLERANCES = 2.0**-44, 2.0**-40, 2.0**-30, 2.0**-22
"""About what polynomials leave out: the first one with few nodes, else the last. The first is what
doubles can say of the probabilities at nodes. Single pairs are enclosed without polynomials."""

_MOST = 8  # inputs that an output with polynomials depends on
_MOST_TERMS = {1: 40, 2: 40, 3: 35, 4: 16}
_OTHER_TERMS = 10
"""In one input, by how many inputs an output depends on; wider boxes are cut into patches."""

_MOST_PATCHES = 64
_MOST_NODES = 45_000  # of one output in one patch
_FEW_NODES = 30_000  # of all outputs in all patches


class _Patches:
    """Where polynomials stand for probabilities: ranges of real inputs are cut into patches.

    Nothing is claimed here: what a polynomial leaves out is bounded where it is fitted.

    Args:
        whole: The ranges of the real inputs.
        tolerance: About what polynomials may leave out.
        terms: In one input, at most about.

    Attributes:
        too_wide: Outputs of too many inputs, or with a range that would need too many patches.
    """

    def __init__(
        self, whole: Box, outputs: Sequence[Movement], tolerance: float, terms: int
    ) -> None:
        self._whole, self._outputs, self._tolerance = whole, outputs, tolerance
        self.too_wide = {k for k, output in enumerate(outputs) if len(output.axes) > _MOST}
        self._parts = [1] * len(whole)
        for axis, (low, high) in enumerate(whole):
            while self._parts[axis] < _MOST_PATCHES:
                half = (high - low) / self._parts[axis] / 2
                sizes = (
                    size_for(output.analytic, output.axes.index(axis), half, tolerance)
                    for output in outputs
                    if axis in output.axes and output.analytic is not None
                    if len(output.axes) <= _MOST
                )
                if max(sizes, default=1) <= terms:
                    break
                self._parts[axis] *= 2
            else:
                self._parts[axis] = 1
                self.too_wide |= {k for k, o in enumerate(outputs) if axis in o.axes}

    def walls(self, axis: int) -> tuple[Fraction, ...]:
        (low, high), parts = self._whole[axis], self._parts[axis]
        return tuple(low + (high - low) * k / parts for k in range(1, parts))

    def patch(self, axis: int, interval: Interval) -> Interval:
        """Return the patch that holds an interval, which crosses no wall."""
        low, high = self._whole[axis]
        if low == high:
            return low, high
        size = (high - low) / self._parts[axis]
        part = min(int((interval[0] - low) / size), self._parts[axis] - 1)
        own = low + size * part, low + size * (part + 1)
        if interval[1] > own[1]:
            raise BrokenInvariant("a box in several patches")
        return own

    def sizes(self, output: int, patch: Box) -> tuple[int, ...]:
        """Return how many terms an output with polynomials is to have, by its inputs."""
        states = self._outputs[output].analytic or ()
        halves = ((high - low) / 2 for low, high in patch)
        return tuple(size_for(states, *each, self._tolerance) for each in enumerate(halves))

    @property
    def nodes(self) -> int:
        """About how many nodes all patches have."""
        found = 0
        for k, output in enumerate(self._outputs):
            if output.analytic is not None and k not in self.too_wide:
                patch = (self.patch(axis, self._whole[axis][:1] * 2) for axis in output.axes)
                parts = prod(self._parts[axis] for axis in output.axes)
                found += prod(self.sizes(k, tuple(patch))) * parts
        return found


def _patches_of(whole: Box, outputs: Sequence[Movement]) -> _Patches:
    """Choose how closely polynomials follow, and cut the ranges of real inputs for that."""
    inputs = max((len(o.axes) for o in outputs if o.analytic is not None), default=0)
    terms = _MOST_TERMS.get(inputs, _OTHER_TERMS)
    tried = (_Patches(whole, outputs, each, terms) for each in _TOLERANCES)
    found = next(dropwhile(lambda each: each.nodes > _FEW_NODES, tried), None)
    if found is None:
        found = _Patches(whole, outputs, _TOLERANCES[-1], terms)
        # In strips so many nodes are dearer than chords.
        found.too_wide |= {
            k
            for k, output in enumerate(outputs)
            for state in output.analytic or ()
            if any(family.strip is not None for family, _ in state)
        }
    return found
