"""From final states to events: fix eps and one input.

Everything that does not depend on the input is done once for each state: which samples it
mentions, its guards over local indices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.events.circuits import EVERYTHING, NO_CHOICES, Chances, chances_of
from dipapprox.events.event import Chosen
from dipapprox.language.core import Input, Value
from dipapprox.language.domains import AllReals
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.state import FinalStates, InputCondition, Sample, guards_of


class Outline(Record):
    """What a final state looks like before an input is chosen.

    Its output is an index in `FinalStates.outputs`, its samples those of its guards, ascending;
    guards are over places among them and input cells, and vary if some mentions one.
    """

    output: int
    samples: tuple[int, ...]
    guards: tuple[LinearForm, ...]
    varying: bool


class Instantiator:
    """Makes the events of a program at one eps, input by input; `chances` is what choices need."""

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self._cells = tuple(cell.name for cell in states.program.inputs)
        self._samples, self._states = states.samples, states.states
        self.scales, self._eps = _scales(states.samples, eps), eps
        self.chances = chances_of_states(states)
        # States with equal outputs share one tuple: no need to hash a thousand fractions.
        self._positions = {id(outputs): k for k, outputs in enumerate(states.outputs)}
        self._outlines: list[Outline | None] = [None] * len(states.states)

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """The outlines of all states, in order: a guard list for each, long for deep programs."""
        return tuple(map(self.outline, range(len(self._states))))

    def outline(self, state: int) -> Outline:
        """Return the outline of a state, made when it is first asked for."""
        found = self._outlines[state]
        if found is None:
            final = self._states[state]
            forms = tuple(guard.form for guard in guards_of(final.path))
            samples = sorted({sample for form in forms for sample in form.samples()})
            local: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(samples)}
            found = self._outlines[state] = Outline(
                self._positions[id(final.outputs)],
                tuple(samples),
                tuple(form.renamed(lambda symbol: local.get(symbol, symbol)) for form in forms),
                any(form.inputs() for form in forms),
            )
        return found

    def chosen(self, state: int) -> Chosen | None:
        """Return what a state needs of choices, the same at all inputs; None for nothing."""
        root = self.chances.root(state)
        if root is None:
            raise BrokenInvariant("what a state needs of choices depends on the input")
        return self.chosen_root(root)

    def chosen_root(self, root: int) -> Chosen | None:
        """Return what a root of `chances` is; None for nothing that is needed."""
        return None if root == EVERYTHING else Chosen(self.chances.circuit, root, self._eps)

    def numbers(self, input: Input) -> dict[Symbol, Fraction]:
        """Return the cells that hold numbers; named values occur in conditions only."""
        cells = zip(self._cells, input, strict=True)
        return {name: value for name, value in cells if isinstance(value, Fraction)}

    def laws(self, numbers: Mapping[Symbol, Fraction]) -> list[Distribution]:
        return [
            Distribution(sample.family, sample.mean.at(numbers).constant, scale)
            for sample, scale in zip(self._samples, self.scales, strict=True)
        ]

    def admitted(self, input: Input, numbers: Mapping[Symbol, Fraction]) -> Iterator[int]:
        """Yield the numbers of the states whose conditions the input meets.

        They are disjoint, and their probabilities sum to 1.
        """
        values: dict[str, Value] = dict(zip(self._cells, input, strict=True))
        for state, final in enumerate(self._states):
            if all(holds(condition, values, numbers) for condition in final.conditions):
                yield state


_chances: Cache[FinalStates, Chances] = Cache(4)


def chances_of_states(states: FinalStates) -> Chances:
    """Return the probabilities of what final states need of choices, in their order; remembered."""
    if not states.choices:
        return Chances(NO_CHOICES, (EVERYTHING,) * len(states.states))
    sizes = [
        0 if isinstance(cell.domain, AllReals) else len(cell.domain)
        for cell in states.program.inputs
    ]
    sets = [state.chosen for state in states.states]
    return _chances.find(states, lambda: chances_of(states.choices, sizes, states.sets, sets))


def _scales(samples: Iterable[Sample], eps: Fraction) -> tuple[Fraction, ...]:
    """Evaluate the scales of all samples, each different one once."""
    known: dict[tuple[int, int, int], Fraction] = {}
    found = []
    for sample in samples:
        scale = sample.scale
        key = *scale.coefficient.as_integer_ratio(), scale.power
        if key not in known:
            known[key] = scale.at(eps)
        found.append(known[key])
    return tuple(found)


def without_inputs(
    size: int, guards: Sequence[LinearForm]
) -> tuple[dict[int, LinearForm], tuple[LinearForm, ...]] | None:
    """Move the inputs from the guards into the means, if that is possible for every input.

    x + q <= y becomes x' <= y with x' = x + q: the same guards for all inputs. A sample can take
    the inputs of a guard if it would take the same in all guards that mention it.

    Returns:
        What is added to the mean of each sample that changes, as forms over input cells, and the
        guards over the new samples; None if some guard cannot be freed.
    """
    shifts: dict[int, LinearForm] = {}
    forms = list(guards)
    uses: list[list[int]] = [[] for _ in range(size)]
    for position, form in enumerate(forms):
        for sample in form.samples():
            uses[sample].append(position)

    def taken(form: LinearForm, sample: int) -> LinearForm:
        inputs = tuple(term for term in form.terms if isinstance(term[0], str))
        return LinearForm(inputs, Fraction(0)).scaled(1 / form.coefficient(sample))

    for position in range(len(forms)):
        if not forms[position].inputs():
            continue
        for sample in forms[position].samples():
            shift = taken(forms[position], sample)
            if all(taken(forms[k], sample) == shift for k in uses[sample]):
                break
        else:
            return None
        shifts[sample] = shifts.get(sample, LinearForm.constant_form(0)) + shift
        for k in uses[sample]:
            forms[k] = forms[k] - shift.scaled(forms[k].coefficient(sample))
    return shifts, tuple(forms)


def holds(
    condition: InputCondition, values: Mapping[str, Value], numbers: Mapping[Symbol, Fraction]
) -> bool:
    """Decide an input condition exactly."""
    if condition.values is not None:
        assert condition.cell is not None
        return values[condition.cell] in condition.values
    assert condition.form is not None
    value = condition.form.at(numbers)
    if not value.is_constant:
        raise BrokenInvariant("a comparison of named values reached the events")
    return value.constant < 0 if condition.strict else value.constant <= 0
