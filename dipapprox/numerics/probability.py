"""Output probabilities of a program: exact enclosures for one input, arrays of doubles for many.

    inputs -> catalogue: for each state and input a product of numbered events
         -> store: unknown events go to the `Method` in one batch
         -> products -> sums per output -> tightened by "all outputs sum to 1"

In: the final states (inputs symbolic), an eps and a method. Out: what DiPApprox calls
Prob[eps, u, o], for every output o of `FinalStates.outputs`.

Precision (DiPApprox section 5.2). If s states with at most k factors each make up an output, a
factor enclosed to 2^-(bits + ⌈log2 s⌉ + ⌈log2 k⌉) suffices: the width of a product of numbers in
[0, 1] is at most the sum of the widths.

The store computes bounds of events in batches and keeps them as doubles; those that are better than
doubles can say are kept exactly. What leaves in bulk are bounds rounded outward (`rounding`):
lower <= probability <= upper holds for the real numbers, never NaN, always inside [0, 1].
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.rounding import Array
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.canonical import IMPOSSIBLE, Numbers
from dipapprox.events.catalogue import Catalogue, StateColumns, rounds
from dipapprox.events.columns import Column
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.numerics.methods import Answers, Method
from dipapprox.semantics.state import FinalStates


class Bounds(Record, eq=False):
    """Proved bounds of an array of probabilities."""

    lower: Array  # in [0, 1], at most `upper`
    upper: Array  # the same shape
    # why some probabilities could not be enclosed, one reason; theirs are wide, up to [0, 1], and
    # still true. None if every one could
    obstacle: str | None = None
    # which outputs cannot occur, the same shape: none of their final states has an event that is
    # possible, for whatever the law of its samples. Exact, and more than an upper bound of 0 says:
    # that holds where it was computed. None if it was not asked
    impossible: NDArray[np.bool_] | None = None


class ProbabilitySource(Protocol):
    """Where output distributions come from. A source remembers what it computed, within bounds."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> Sequence[Sequence[Enclosure] | NotEnclosed]:
        """Enclose the probability of every output for some inputs, in one fixed order, to 2**-bits.

        Together inputs cost less than one by one. Two may get the same object only if their
        distributions are equal.
        """


class BulkSource(ProbabilitySource, Protocol):
    """A source for many inputs at once, too. Outputs are numbered as `states.outputs`."""

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound Pr[outputs[k]] for the inputs[k], for every k: arrays of shape (n,).

        Repetitions cost little. Wanted is 2**-bits, as far as doubles can express it.
        """

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound the probabilities of all outputs for every input: arrays (inputs, outputs).

        The bounds of an input have been checked to contain numbers that sum to 1, and tightened by
        it; which outputs are impossible is told.
        """


_ALIKE, _REMEMBERED = 100_000, 200_000
"""About how many enclosures are kept for inputs with the same events, and for inputs, at least the
last four: these occur in many pairs."""

_States = Sequence[tuple[int, Numbers]]
"""For each possible state of an input its output and its events."""

_Key = tuple[int, tuple[tuple[int, Numbers], ...]]  # bits, and the states of an input


class OutputProbabilities:
    """The output distribution of a program as a function of the input."""

    def __init__(self, states: FinalStates, eps: Fraction, method: Method) -> None:
        self._method = method
        self._catalogue = Catalogue(states, eps)
        self._forget_events()
        self._known: Cache[_Key, tuple[Enclosure, ...]] = Cache(_ALIKE, len)
        self._of_input: Cache[tuple[int, Input], tuple[Enclosure, ...]] = Cache(
            _REMEMBERED, len, least=4
        )
        self._outputs = len(self._catalogue.states_per_output)
        self._most_states = max(self._catalogue.states_per_output, default=1)

    @property
    def name(self) -> str:
        """The method's word in reports."""
        return self._method.name

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        """Enclose the probability of every output for every input, in one batch, to 2**-bits each.

        Inputs with the same canonical events have the same distribution and get the same object.

        Returns:
            By input, in the order of `FinalStates.outputs`: enclosures inside [0, 1] whose sum
            contains 1; exactly [0, 0] for outputs that the input cannot have. Or the reason why
            some probability could not be enclosed.
        """
        known = [self._of_input.get((bits, input)) for input in inputs]
        missing = [input for input, each in zip(inputs, known, strict=True) if each is None]
        fresh = iter(self._distributions(missing, bits) if missing else ())
        return [next(fresh) if each is None else each for each in known]

    def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
        return self.distributions((input,), bits)[0]

    def _distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        """Enclose the distributions of inputs that are not remembered."""
        self._begin()
        keys = [(bits, tuple(states)) for states in self._catalogue.states(inputs)]
        known = {key: self._known.get(key) for key in set(keys)}
        self._enclose([states for (_, states), each in known.items() if each is None], bits)
        found = {key: each or self._distribution(key) for key, each in known.items()}
        for input, key in zip(inputs, keys, strict=True):
            each = found[key]
            if not isinstance(each, NotEnclosed):
                self._of_input.put((bits, input), each)
        return [found[key] for key in keys]

    @enclosing
    def _distribution(self, key: _Key) -> tuple[Enclosure, ...]:
        """Multiply and add up what is known of the events in an input's states."""
        bits, states = key
        return self._known.put(key, tightened(self._totals(states, bits)))

    @enclosing
    def some(self, outputs: Sequence[int], input: Input, bits: int) -> list[Enclosure]:
        """Enclose the probabilities of some outputs for one input; else as `distributions`."""
        self._begin()
        (states,) = self._catalogue.states((input,), outputs)
        self._enclose([states], bits)
        totals = self._totals(states, bits)
        return [totals[k] for k in outputs]

    def _enclose(self, inputs: Sequence[_States], bits: int) -> None:
        """See to the events in the states of some inputs."""
        solutions = [numbers for states in inputs for _, numbers in states]
        needed = {number for numbers in solutions for number in numbers}
        self._require(needed, bits, max(map(len, solutions), default=1))

    def _totals(self, states: _States, bits: int) -> tuple[Enclosure, ...]:
        """Add up what is known of the states of every output."""
        needed = (number for _, numbers in states for number in numbers)
        obstacle = self._obstacle(needed, bits)
        if obstacle is not None:
            sure(NotEnclosed(obstacle))
        totals: list[Enclosure | None] = [None] * self._outputs
        for output, numbers in states:
            total, product = totals[output], self._product(numbers)
            totals[output] = product if total is None else _at_most_one(total + product)
        nothing = Enclosure.exact(0)
        return tuple(nothing if total is None else total for total in totals)

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound the probabilities of all outputs for every input; see `BulkSource.table`."""
        self._begin()
        columns = self._catalogue.columns(inputs)
        factors = self._solutions(columns, bits)
        lower = np.zeros((self._outputs, len(inputs)))
        upper = np.zeros((self._outputs, len(inputs)))
        possible = np.zeros((self._outputs, len(inputs)), np.bool_)
        for group in columns:
            _add(factors, group, lower, upper)
            for rows in rounds(group):
                where = _places(group, group.outputs[rows])
                possible[where] |= group.solutions[rows] != IMPOSSIBLE
        lower, upper = lower.T, np.minimum(upper.T, 1.0)
        if rounding.contradicts_one(lower, upper).any():
            raise BrokenInvariant("the probabilities of all outputs do not sum to 1")
        lower, upper = rounding.tightened(lower, upper)
        if (lower > upper).any():
            raise BrokenInvariant("the probabilities of all outputs do not sum to 1")
        return Bounds(lower, upper, factors.obstacle, ~possible.T)

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound Pr[outputs[k]] for the inputs[k], for every k; see `BulkSource.cells`."""
        self._begin()
        wanted = np.asarray(outputs, np.int64)
        places_of = {each: np.flatnonzero(wanted == each) for each in sorted(set(outputs))}
        chosen = [(each, [inputs[k] for k in own.tolist()]) for each, own in places_of.items()]
        asked = list(zip(places_of.values(), self._catalogue.columns_of(chosen), strict=True))
        factors = self._solutions([column for _, found in asked for column in found], bits)
        lower, upper = np.zeros(len(inputs)), np.zeros(len(inputs))
        for places, columns in asked:
            low, high = np.zeros((1, len(places))), np.zeros((1, len(places)))
            for group in columns:
                _add(factors, replace(group, outputs=np.zeros_like(group.outputs)), low, high)
            lower[places], upper[places] = low[0], high[0]
        if (lower > 1).any():
            raise BrokenInvariant("the states of one output have a total probability above 1")
        return Bounds(lower, np.minimum(upper, 1.0), factors.obstacle)

    def _begin(self) -> None:
        check_limits()
        if self._catalogue.forget():
            self._forget_events()
            self._known.clear()

    def _forget_events(self) -> None:
        self._events = Answers(64)  # by number in the catalogue
        self._tried = np.zeros(64, np.int64)  # the bits that were asked for, likewise

    def _require(self, numbers: Collection[int], bits: int, factors: int) -> None:
        """Enclose some events in one batch, so that products of so many are narrow enough."""
        bits += _bits_to_count(self._most_states) + _bits_to_count(factors)
        events = self._catalogue.events
        self._events.grow(len(events))
        if len(self._tried) < len(self._events):
            self._tried = np.pad(self._tried, (0, len(self._events) - len(self._tried)))
        asked = np.fromiter(sorted(numbers), np.int64, len(numbers))
        missing = self._events.wide(bits, asked[self._tried[asked] < bits])
        if not missing:
            return
        batch = [events[number] for number in missing]
        try:
            found = self._method.enclose(batch, bits)
        except LimitReached as reached:
            if reached.event not in batch:
                raise
            where = self._catalogue.where(missing[batch.index(reached.event)])
            raise LimitReached(f"{where}: {reached.reason}") from reached
        self._tried[missing] = bits
        self._events.update(missing, found, self._method.name)

    def _obstacle(self, numbers: Iterable[int], bits: int) -> str | None:
        """Why one of these events is not enclosed to 2**-bits; None if that may still come."""
        reasons = self._events.reasons
        hindered = sorted(reasons.keys() & set(numbers)) if reasons else ()
        for number in self._events.wide(bits, np.array(hindered, np.int64)):
            return f"{self._catalogue.where(number)}: {reasons[number]}"
        return None

    def _product(self, numbers: Numbers) -> Enclosure:
        if not numbers:
            return Enclosure.exact(1)
        product, *others = map(self._events.enclosure, numbers)
        for found in others:
            product = Enclosure(product.lower * found.lower, product.upper * found.upper)
        return product

    def _solutions(self, columns: Sequence[StateColumns], bits: int) -> Bounds:
        """Bound the probabilities of all solutions that occur in some columns; 0 if impossible."""
        known = self._catalogue.solutions
        occurs = np.zeros(len(known), np.bool_)
        for group in columns:
            occurs[group.solutions] = True
        occurs[IMPOSSIBLE] = False
        present = np.flatnonzero(occurs)
        products = [known[number] or () for number in present.tolist()]
        most = max(map(len, products), default=1)
        needed = {number for product in products for number in product}
        self._require(needed, bits, most)
        low, high = np.ones(len(products)), np.ones(len(products))
        for k in range(most):
            places = np.array([i for i, p in enumerate(products) if len(p) > k], np.int64)
            factors = np.array([p[k] for p in products if len(p) > k], np.int64)
            low[places] = rounding.product_below(low[places], self._events.lower[factors])
            high[places] = rounding.product_above(high[places], self._events.upper[factors])
        lower, upper = np.zeros(len(known)), np.zeros(len(known))
        lower[present], upper[present] = low, high
        return Bounds(lower, upper, self._obstacle(needed, bits))


def _add(solutions: Bounds, columns: StateColumns, lower: Array, upper: Array) -> None:
    """Add the probabilities of states to those of their outputs: arrays (outputs, inputs)."""
    for rows in rounds(columns):
        where, own = _places(columns, columns.outputs[rows]), columns.solutions[rows]
        lower[where] = rounding.sum_below(lower[where], solutions.lower[own])
        upper[where] = rounding.sum_above(upper[where], solutions.upper[own])


_Index = tuple[Column, slice] | tuple[Column, Column]


def _places(columns: StateColumns, outputs: Column) -> _Index:
    """Outputs × the inputs of some states, as an index."""
    if columns.inputs is None:
        return outputs, slice(None)
    return outputs[:, None], columns.inputs


def _at_most_one(total: Enclosure) -> Enclosure:
    if total.lower > 1:
        raise BrokenInvariant("the states of one output have a total probability above 1")
    return total if total.upper <= 1 else total.intersect(UNIT)


def _bits_to_count(number: int) -> int:
    """⌈log2 number⌉, and 0 for 0."""
    return max(number - 1, 0).bit_length()


def tightened(enclosures: tuple[Enclosure, ...]) -> tuple[Enclosure, ...]:
    """Use that the enclosed numbers sum to 1 (else some is wrong): each is 1 minus the others."""
    unit = lcm(*(end.denominator for each in enclosures for end in (each.lower, each.upper)))
    # In integers: thousands of fractions would be reduced at every step.
    lower = [each.lower.numerator * (unit // each.lower.denominator) for each in enclosures]
    upper = [each.upper.numerator * (unit // each.upper.denominator) for each in enclosures]
    least, most = sum(lower), sum(upper)
    if not least <= unit <= most:
        raise BrokenInvariant(
            f"the probabilities of all outputs sum to [{least / unit}, {most / unit}], not to 1"
        )
    return tuple(
        each
        if low >= unit - most + high and high <= unit - least + low
        else Enclosure(
            Fraction(max(low, unit - most + high), unit),
            Fraction(min(high, unit - least + low), unit),
        )
        for each, low, high in zip(enclosures, lower, upper, strict=True)
    )
