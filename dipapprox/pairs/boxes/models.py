"""Probabilities of outputs as functions of real inputs: near forms of them on any box.

    final states -> how outputs move with inputs (`movement`)
        analytic: terms per input
            -> probabilities at the nodes of the whole box, in one batch
            -> a polynomial for each output -> value, gradient, rest on the box
        else, or where polynomials would take too much:
            -> probabilities at the centre of the box and of its sides -> a chord for each input

Polynomials are near by 2^-40 everywhere, chords by the square of a box' size. Noise without kinks
is analytic (`numerics.interpolation.analytic`), Laplace noise is smooth (`…smooth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np

from dipapprox.arithmetic.rounding import Array, above
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
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

    Raises:
        OutOfReach: If a real input has no bounds, or noise around it is of integers.
    """

    def __init__(self, states: FinalStates, eps: Fraction, bulk: BulkSource) -> None:
        self._bulk = bulk
        whole: list[Interval] = []
        names: list[str | None] = []
        for cell in states.program.inputs:
            if isinstance(cell.domain, AllReals):
                if cell.domain.bounds is None:
                    raise OutOfReach(f"the input '{cell.name}' has no bounds")
                low, high = cell.domain.bounds
                whole.append((low, high))
                # A range of one number moves nothing.
                names.append(cell.name if low < high else None)
        self._whole: Box = tuple(whole)
        self._outputs = movements(states, eps, names)
        self._require_doubles()
        self.outputs = len(self._outputs)
        self.still = all(output.still for output in self._outputs)
        self.monotone = any(any(output.growth) for output in self._outputs)
        self._axes = [output.axes for output in self._outputs]
        self._growth = np.zeros((self.outputs, len(names)))
        for k, output in enumerate(self._outputs):
            self._growth[k, output.axes] = output.growth
        self._steep = [np.array(list(map(above, each.smooth.steep))) for each in self._outputs]
        self._sizes = _sizes_of(self._whole, self._outputs)  # of outputs with polynomials
        self._polynomials: dict[tuple[int, Fixed], Polynomial] = {}
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
        all_analytic = len(self._sizes) == self.outputs
        found = ["polynomials"] * bool(self._sizes) + ["chords"] * (not all_analytic)
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
        """Return near forms of all outputs on a box.

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
        self._fit(fixed)
        wanted = self._of_chords([(box, fixed)])
        if wanted:
            self._evaluate(wanted | self._of_chords(ahead()))

        def found(k: int, own: Box) -> _Near:
            output = self._outputs[k]
            if k in self._sizes:
                return self._polynomials[k, fixed].restricted(own)
            places = points(output.smooth, output.growth, own)
            return near(output.smooth, output.growth, own, *self._bounds(k, places, fixed))

        every = [(k, self._own(k, box)) for k in range(self.outputs)]
        return [self._models.find((*each, fixed), partial(found, *each)) for each in every]

    def _fit(self, fixed: Fixed) -> None:
        """Find the polynomials at some values of finite inputs, where they do not take too much."""
        grids: dict[int, list[tuple[Fraction, ...]]] = {}
        wanted: dict[_Point, None] = {}
        for k, sizes in list(self._sizes.items()):
            if (k, fixed) in self._polynomials:
                continue
            if len(self._values) + len(wanted) + prod(sizes) < _MOST_PROBABILITIES:
                grids[k] = _grid(self._own(k, self._whole), sizes)
                wanted.update(dict.fromkeys((k, p, fixed) for p in grids[k]))
            else:
                del self._sizes[k]
        self._evaluate(wanted)
        for k, grid in grids.items():
            own, sizes = self._own(k, self._whole), self._sizes[k]
            lower, upper = (each.reshape(sizes) for each in self._bounds(k, grid, fixed))
            centres = tuple((low + high) / 2 for low, high in own)
            halves = tuple((high - low) / 2 for low, high in own)
            left = tails(self._outputs[k].analytic or (), halves, sizes)
            self._polynomials[k, fixed] = fit(centres, halves, lower, upper, left)

    def _of_chords(self, boxes: Iterable[tuple[Box, Fixed]]) -> dict[_Point, None]:
        """Return the probabilities that chords on some boxes want, and that are not known."""
        found: dict[_Point, None] = {}
        for (box, fixed), (k, output) in product(boxes, enumerate(self._outputs)):
            if k not in self._sizes:
                places = points(output.smooth, output.growth, self._own(k, box))
                found.update(dict.fromkeys((k, p, fixed) for p in places))
        return {each: None for each in found if each not in self._values}

    def _own(self, output: int, box: Sequence[Interval]) -> Box:
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
_MOST_TERMS = 120  # in one input
_MOST_NODES = 45_000  # of one output
_FEW_NODES = 30_000  # of all outputs


def _sizes_of(whole: Box, outputs: Sequence[Movement]) -> dict[int, tuple[int, ...]]:
    """Say which outputs are to have polynomials, of how many terms in each of their inputs.

    Nothing is claimed here: what a polynomial leaves out is bounded where it is fitted.
    """
    found: dict[int, tuple[int, ...]] = {}
    for tolerance in _TOLERANCES:
        found = {}
        for k, output in enumerate(outputs):
            if output.analytic is not None and len(output.axes) <= _MOST:
                halves = [(whole[axis][1] - whole[axis][0]) / 2 for axis in output.axes]
                sizes = tuple(
                    size_for(output.analytic, axis, half, tolerance)
                    for axis, half in enumerate(halves)
                )
                if max(sizes, default=1) <= _MOST_TERMS and prod(sizes) <= _MOST_NODES:
                    found[k] = sizes
        if sum(map(prod, found.values())) <= _FEW_NODES:
            return found
    # In strips so many nodes are dearer than chords.
    return {
        k: sizes
        for k, sizes in found.items()
        if all(family.strip is None for state in outputs[k].analytic or () for family, _ in state)
    }
