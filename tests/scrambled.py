"""Made-up probabilities that respect nothing but the equality of events."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Chosen, Event
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.language.core import Input
from dipapprox.numerics.probability import Bounds
from dipapprox.semantics.state import FinalStates


def raw_events(
    instantiator: Instantiator, states: FinalStates, input: Input
) -> Iterator[tuple[int, Event, Chosen | None]]:
    """The slow way: the output, the event as it stands and the choices, state by state."""
    numbers = instantiator.numbers(input)
    laws, chances = instantiator.laws(numbers), instantiator.chances
    domains = [cell.domain for cell in states.program.inputs]
    for state in instantiator.admitted(input, numbers):
        outline, root = instantiator.outline(state), chances.sets[state]
        if chances.diagrams is not None:
            root = chances.diagrams.at(root, lambda k: domains[k].index(input[k]))
        event = Event(
            tuple(laws[i] for i in outline.samples),
            tuple(form.at(numbers) for form in outline.guards),
        )
        yield outline.output, event, instantiator.chosen_root(root)


class Scrambled:
    """Gives every event an arbitrary number: only what makes events equal can make deltas equal."""

    name = "scrambled"

    def __init__(self, states: FinalStates, seed: int) -> None:
        self._states = states
        self._instantiator = Instantiator(states, Fraction(1, 2))
        self._outputs = len(states.outputs)
        self._most = len(states.states)
        self._random = Random(seed)
        self._numbers: dict[object, Fraction] = {}
        self._known: dict[Input, tuple[Enclosure, ...]] = {}

    def distributions(self, inputs: Sequence[Input], bits: int) -> list[tuple[Enclosure, ...]]:
        return [self.distribution(input, bits) for input in inputs]

    def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...]:
        if input not in self._known:
            self._known[input] = self._distribution(input)
        return self._known[input]

    def _distribution(self, input: Input) -> tuple[Enclosure, ...]:
        totals = [Fraction(0)] * self._outputs
        for output, event, chosen in raw_events(self._instantiator, self._states, input):
            reduced = reduce(event)
            if reduced is not None:
                key = frozenset((*map(canonical, reduced), chosen))
                if key not in self._numbers:
                    self._numbers[key] = Fraction(self._random.randrange(2**30), 2**30)
                totals[output] += self._numbers[key] / self._most
        return tuple(map(Enclosure.exact, totals))

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        found = [[each.lower for each in self.distribution(input, bits)] for input in inputs]
        return Bounds(
            np.array([list(map(rounding.below, each)) for each in found]),
            np.array([list(map(rounding.above, each)) for each in found]),
        )

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        found = [
            self.distribution(input, bits)[output].lower
            for output, input in zip(outputs, inputs, strict=True)
        ]
        return Bounds(
            np.array(list(map(rounding.below, found))), np.array(list(map(rounding.above, found)))
        )
