"""Probabilities of outputs as functions of real inputs: near forms of them on any box.

    final states -> how means move with inputs -> patches of the whole box, terms per input
        -> when a box is asked for: probabilities at the nodes of its patch, in one batch
        -> a polynomial for each output -> value, gradient, rest on the box

An output is a function of those inputs only that move the mean of a sample it depends on; all that
is needed is that noise around real inputs is Gaussian (`numerics.interpolation.entire`). Guards
that compare a sample with an input are freed of it first, by moving it into the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.instantiate import Instantiator, without_inputs
from dipapprox.language.core import Input, Value
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import BulkSource
from dipapprox.numerics.interpolation.entire import StateBound, sizes_for, tails
from dipapprox.numerics.interpolation.polynomial import Interval, Model, Polynomial, fit, nodes
from dipapprox.numerics.rounding import Array
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.state import FinalStates

_FINE, _COARSE = 2.0**-44, 2.0**-40
"""About what polynomials leave out, of up to three inputs and of more: what doubles can say of the
probabilities at nodes; and less, for tables grow fast. Single pairs are enclosed without them."""

_FEW = 3

_NODE_BITS = 40
_MOST_TERMS = 24
"""In one input; wider boxes are cut into patches."""

_MOST_NODES = 200_000
"""Of all outputs in one patch."""

_MOST_PROBABILITIES = 300_000
"""Of all outputs in all patches: some ten seconds."""

_MOST_PATCHES = 64
_PORTION = 20_000
"""Probabilities in one batch."""

_REMEMBERED = 20_000


class OutOfReach(LimitReached):
    """Polynomials are not known to be near, or too many of them would be needed."""


Box = tuple[Interval, ...]
"""An interval for each real input."""

Fixed = tuple[Value | None, ...]
"""The values of the finite inputs; None for real ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """All outputs on one box, by output: see `Model`; gradients by output and real input.

    Attributes:
        lowest: Lower bounds of the derivatives.
        highest: Upper bounds.
    """

    values: Array
    gradients: Array
    spreads: Array
    lowest: Array
    highest: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Output:
    """How an output moves.

    Attributes:
        axes: The real inputs that it depends on.
        states: Bounds for complex ones.
        growth: For each axis the sign of the derivative of its probability, 0 if it is not known
            from the guards.
    """

    axes: tuple[int, ...]
    states: tuple[StateBound, ...]
    growth: tuple[int, ...]


class OutputModels:
    """Near forms of the output probabilities of one program at one eps.

    Args:
        states: The final states, without conditions on real inputs.
        eps: Where the program runs.
        bulk: Gives probabilities at rational inputs.
        limits: Asked throughout.

    Attributes:
        outputs: How many outputs there are.

    Raises:
        OutOfReach: If noise around a real input is not Gaussian, a sample lies between several, or
            a range is too wide.
    """

    def __init__(
        self, states: FinalStates, eps: Fraction, bulk: BulkSource, limits: Limits
    ) -> None:
        self._bulk, self._limits = bulk, limits
        self._places = [
            k for k, c in enumerate(states.program.inputs) if isinstance(c.domain, AllReals)
        ]
        self._whole: list[Interval] = []
        for place in self._places:
            domain = states.program.inputs[place].domain
            assert isinstance(domain, AllReals)
            if domain.bounds is None:
                raise OutOfReach(f"the input '{states.program.inputs[place].name}' has no bounds")
            self._whole.append(domain.bounds)
        # A range of one number moves nothing.
        names = [
            states.program.inputs[place].name if low < high else None
            for place, (low, high) in zip(self._places, self._whole, strict=True)
        ]
        self._outputs = _moving(states, eps, names)
        self.outputs = len(self._outputs)
        self._parts = self._patches()
        self._asked = 0
        self._polynomials: dict[tuple[int, Box, Fixed], Polynomial] = {}
        self._models: Cache[tuple[int, Box, Fixed], Model] = Cache(_REMEMBERED)

    def walls(self, axis: int) -> tuple[Fraction, ...]:
        """Return where patches meet, inside the range of a real input."""
        (low, high), parts = self._whole[axis], self._parts[axis]
        return tuple(low + (high - low) * k / parts for k in range(1, parts))

    def sensitivity(self, axis: int) -> float:
        """Say about how much noise a step of a real input is: what matters in cutting boxes."""
        slopes = (
            float(sum(row[output.axes.index(axis)] for row in state.slopes))
            for output in self._outputs
            if axis in output.axes
            for state in output.states
        )
        return max(slopes, default=0.0) or 2.0**-20

    def on(self, box: Box, fixed: Fixed) -> Models:
        """Return near forms of all outputs on a box inside one patch.

        Raises:
            OutOfReach: If too many probabilities would be needed.
            LimitReached: If a limit is reached.
        """
        self._limits.check()
        patch = tuple(self._patch(axis, interval) for axis, interval in enumerate(box))
        self._require(patch, fixed)
        values, spreads = np.zeros(self.outputs), np.zeros(self.outputs)
        gradients = np.zeros((self.outputs, len(box)))
        lowest, highest = gradients.copy(), gradients.copy()
        for k, output in enumerate(self._outputs):
            axes = output.axes
            own = tuple(box[axis] for axis in axes)
            key = k, own, fixed
            model = self._models.get(key)
            if model is None:
                there = self._polynomials[k, tuple(patch[axis] for axis in axes), fixed]
                model = self._models.put(key, there.on(own))
            values[k], spreads[k] = model.value, model.spread
            gradients[k, axes] = model.gradient
            lowest[k, axes] = np.where(np.array(output.growth) > 0, 0.0, -np.inf)
            highest[k, axes] = np.where(np.array(output.growth) < 0, 0.0, np.inf)
            off = model.steepness + np.abs(model.gradient) * 2.0**-52
            lowest[k, axes] = np.maximum(lowest[k, axes], model.gradient - off)
            highest[k, axes] = np.minimum(highest[k, axes], model.gradient + off)
        return Models(values, gradients, spreads, lowest, highest)

    def _patches(self) -> list[int]:
        """Choose in how many parts the range of each real input is cut."""
        parts = [1] * len(self._whole)
        for axis, (low, high) in enumerate(self._whole):
            while parts[axis] < _MOST_PATCHES:
                half = (high - low) / parts[axis] / 2
                if max(self._sizes_along(axis, half)) <= _MOST_TERMS:
                    break
                parts[axis] *= 2
            else:
                raise OutOfReach("the range of a real input is too wide for its noise")
        return parts

    def _sizes_along(self, axis: int, half: Fraction) -> list[int]:
        found = [1]
        for output in self._outputs:
            if axis in output.axes:
                halves = [half if a == axis else Fraction(0) for a in output.axes]
                place = output.axes.index(axis)
                found.append(sizes_for(output.states, halves, _FINE)[place])
        return found

    def _patch(self, axis: int, interval: Interval) -> Interval:
        (low, high), parts = self._whole[axis], self._parts[axis]
        if low == high:
            return low, high
        part = min(int((interval[0] - low) * parts / (high - low)), parts - 1)
        own = low + (high - low) * part / parts, low + (high - low) * (part + 1) / parts
        if interval[1] > own[1]:
            raise BrokenInvariant("a box in several patches")
        return own

    def _require(self, patch: Box, fixed: Fixed) -> None:
        """Fit the polynomials of a patch that are not known, all in one go."""
        missing = []
        for k, output in enumerate(self._outputs):
            key = k, tuple(patch[axis] for axis in output.axes), fixed
            if key not in self._polynomials:
                missing.append((k, key))
        if not missing:
            return
        sizes = {}
        for k, (_, own, _) in missing:
            halves = tuple((high - low) / 2 for low, high in own)
            tolerance = _FINE if len(own) <= _FEW else _COARSE
            sizes[k] = sizes_for(self._outputs[k].states, halves, tolerance)
        total = sum(prod(each) for each in sizes.values())
        if total > _MOST_NODES:
            raise OutOfReach(
                f"too many real inputs for their noise: {total} probabilities would be needed, "
                f"more than {_MOST_NODES}"
            )
        self._asked += total
        if self._asked > _MOST_PROBABILITIES:
            raise OutOfReach(
                "the ranges of real inputs are too wide for their noise: more than "
                f"{_MOST_PROBABILITIES} probabilities would be needed"
            )
        asked: list[int] = []
        inputs: list[Input] = []
        for k, (_, own, _) in missing:
            grids = [
                [(low + high) / 2 + (high - low) / 2 * z for z in nodes(size)]
                for (low, high), size in zip(own, sizes[k], strict=True)
            ]
            free = {self._places[axis]: n for n, axis in enumerate(self._outputs[k].axes)}
            others = {
                place: interval[0] for place, interval in zip(self._places, patch, strict=True)
            }
            template = [
                others[place] if value is None else value for place, value in enumerate(fixed)
            ]
            for point in product(*grids):
                inputs.append(
                    tuple(
                        point[free[place]] if place in free else value
                        for place, value in enumerate(template)
                    )
                )
            asked += [k] * prod(sizes[k])
        lower, upper = np.zeros(len(asked)), np.zeros(len(asked))
        for start in range(0, len(asked), _PORTION):
            self._limits.check()
            stop = start + _PORTION
            bounds = self._bulk.cells(asked[start:stop], inputs[start:stop], _NODE_BITS)
            lower[start:stop], upper[start:stop] = bounds.lower, bounds.upper
            if bounds.obstacle is not None and (bounds.upper - bounds.lower).max() > 2.0**-20:
                raise OutOfReach(f"no enclosure: {bounds.obstacle}")
        start = 0
        for k, key in missing:
            stop = start + prod(sizes[k])
            own = key[1]
            halves = tuple((high - low) / 2 for low, high in own)
            self._polynomials[key] = fit(
                tuple((low + high) / 2 for low, high in own),
                halves,
                lower[start:stop].reshape(sizes[k]),
                upper[start:stop].reshape(sizes[k]),
                tails(self._outputs[k].states, halves, sizes[k]),
            )
            start = stop


def _moving(states: FinalStates, eps: Fraction, names: Sequence[str | None]) -> list[_Output]:
    """Find how the outputs move with the real inputs of some names; None: one that stays."""

    def slope(form: LinearForm, name: str | None) -> Fraction:
        return Fraction(0) if name is None else form.coefficient(name)

    instantiator = Instantiator(states, eps)
    found: list[list[_State]] = [[] for _ in states.outputs()]
    for outline in instantiator.outlines:
        freed = without_inputs(len(outline.samples), outline.guards)
        if freed is None:
            raise OutOfReach("a sample is compared with several real inputs")
        shifts, guards = freed
        means: dict[int, LinearForm] = {}
        rows: dict[int, list[Fraction]] = {}
        for local in {sample for guard in guards for sample in guard.samples()}:
            number = outline.samples[local]
            sample = states.samples[number]
            mean = sample.mean + shifts.get(local, LinearForm.constant_form(0))
            means[local] = mean
            row = [abs(slope(mean, name)) / instantiator.scales[number] for name in names]
            if any(row):
                if sample.family is not Family.GAUSSIAN:
                    where = "" if sample.line is None else f"line {sample.line}: "
                    raise OutOfReach(
                        f"{where}{sample.family.value} noise around real inputs has kinks; "
                        "(ε, δ) for all of them is known for Gauss only"
                    )
                rows[number] = row
        # A guard is form <= 0: where the form falls as an input rises, more noise obeys it.
        slopes = [
            [
                sum((guard.coefficient(k) * slope(means[k], name) for k in means), Fraction(0))
                for guard in guards
            ]
            for name in names
        ]
        found[outline.output].append(_State(rows, bool(shifts), [_growth(s) for s in slopes]))
    return [_joined(each, len(names)) for each in found]


@dataclass(frozen=True, slots=True)
class _State:
    """How a final state moves.

    Attributes:
        rows: For each sample around real inputs |slopes| / scale.
        shifted: Whether guards were freed of inputs by moving samples.
        growth: For each real input 1 if the noise that leads here can only become more as it
            rises, -1 if only less, None if neither is said, 0 if both.
    """

    rows: dict[int, list[Fraction]]
    shifted: bool
    growth: list[int | None]


def _growth(slopes: Sequence[Fraction]) -> int | None:
    """See `_State`; from the slopes of all guards in an input."""
    if not any(slopes):
        return 0
    if max(slopes) <= 0:
        return 1
    return -1 if min(slopes) >= 0 else None


def _joined(states: Sequence[_State], inputs: int) -> _Output:
    """Return one bound for all states of an output, which are disjoint, or one for each.

    Their noises are disjoint sets: if each can only grow, so does the whole.
    """
    whole: dict[int, list[Fraction]] = {}
    for each in states:
        whole.update(each.rows)
    axes = tuple(
        axis
        for axis in range(inputs)
        if any(rows[axis] for each in states for rows in each.rows.values())
    )

    def bound(rows: dict[int, list[Fraction]]) -> StateBound:
        return StateBound(tuple(tuple(row[axis] for axis in axes) for row in rows.values()))

    growth = []
    for axis in axes:
        signs = {each.growth[axis] for each in states} - {0}
        (sign,) = signs if len(signs) == 1 else (None,)
        growth.append(sign or 0)
    if any(each.shifted for each in states):
        # The samples of different states are moved in different ways: their bounds add up.
        return _Output(axes, tuple(bound(each.rows) for each in states), tuple(growth))
    return _Output(axes, (bound(whole),), tuple(growth))
