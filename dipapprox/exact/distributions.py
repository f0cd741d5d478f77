"""Output probabilities of a program in closed form: as functions of its eps, or at one eps.

    input -> catalogue: for each state a product of numbered events
        -> closed form of each event -> products -> sums per output -> checked: all sum to 1

The catalogue is made at one eps, and a closed form is a function of a formal ε' by which every
scale is divided. If all scales are a / eps, the events at eps = 1 as functions of ε' are the
program's for eps = ε', for all eps > 0 at once.

Inputs that differ only in the order of interchangeable cells are solved as one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import prod

from dipapprox.arithmetic.enclosure import Missing, NotEnclosed, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.errors import BrokenInvariant
from dipapprox.events import symmetry
from dipapprox.events.canonical import Numbers
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen
from dipapprox.exact.methods import EventForms, ratio_sum
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.semantics.state import FinalStates, Path, Sample, samples_of

InputStates = tuple[tuple[int, Numbers], ...]
"""(index of the output, indices of independent events) of every possible state; cf.
`Catalogue.row`."""

_ONE = ExponentialRatio.constant(1)
_MANY = 32  # symmetries are looked for when as many inputs have been solved
_ENTRIES = 200_000  # about how many states of inputs are remembered


class SolvedInputs:
    """What a catalogue says of inputs; whoever lets it forget lets this forget, too."""

    def __init__(self, catalogue: Catalogue, states: FinalStates) -> None:
        self._catalogue, self._states = catalogue, states
        self._symmetry: symmetry.CellSymmetry | None = None
        self.forget()

    def forget(self) -> None:
        """Forget everything: the numbers have lost their meaning."""
        self._known: Cache[Input, InputStates] = Cache(_ENTRIES, len)
        self._solved = 0

    def states(self, input: Input) -> InputStates:
        """Return the possible states of an input and the events that they need."""
        if self._symmetry is None and self._solved >= _MANY:
            self._symmetry = symmetry.symmetry_of(self._states)
        if self._symmetry is not None:
            input = self._symmetry.multiset(input)
        found = self._known.get(input)
        if found is None:
            self._solved += 1
            (states,) = self._catalogue.states([input])
            found = self._known.put(input, tuple(states))
        return found


_REMEMBERED = 100_000  # about how many terms of distributions are kept, and of products of events


class ExactDistributions:
    """The output distribution of a program, input by input, at one eps or (None) at all."""

    def __init__(self, states: FinalStates, eps: Fraction | None) -> None:
        self._states = states
        self._eps = eps
        self._catalogue = Catalogue(states, Fraction(1) if eps is None else eps)
        self._inputs = SolvedInputs(self._catalogue, states)
        self._forms = EventForms()
        self._outputs = len(self._catalogue.states_per_output)
        self._unlike, self._are_alike = _unlike_scale(states) if eps is None else (None, True)
        self._known: Cache[InputStates, tuple[ExponentialRatio, ...]] = Cache(
            _REMEMBERED, lambda found: sum(map(_size, found))
        )
        self._products: Cache[Numbers, ExponentialRatio] = Cache(_REMEMBERED, _size)

    @enclosing
    def distribution(self, input: Input) -> tuple[ExponentialRatio, ...]:
        """Return the probability of every output, in the order of `FinalStates.outputs`.

        Inputs with the same canonical events have the same distribution and get the same object.

        Args:
            input: One value per input cell.

        Returns:
            Functions of the program's eps that sum to exactly 1; if the program runs at one
            eps, ratios without powers to be read at ε' = 1. The constant 0 for outputs
            that this input cannot have. Or why some probability has no closed form.

        Raises:
            BrokenInvariant: If the outputs do not sum to 1: a bug.
        """
        check_limits()
        if self._catalogue.forget():
            self._inputs.forget()
            self._known.clear()
            self._products.clear()
        states = self._inputs.states(input)
        return self._known.find(states, lambda: self._distribution(states))

    def _distribution(self, states: InputStates) -> tuple[ExponentialRatio, ...]:
        summands: list[list[ExponentialRatio]] = [[] for _ in range(self._outputs)]
        for output, numbers in states:
            product = self._products.find(numbers, partial(self._product, numbers))
            summands[output].append(product)
        found = tuple(map(ratio_sum, summands))
        total = ratio_sum(found)
        if total.numerator != _ONE.over(dict(total.denominator)):
            raise BrokenInvariant("the exact probabilities of all outputs do not sum to 1")
        return found

    def _product(self, numbers: Numbers) -> ExponentialRatio:
        check_limits()
        return prod(map(self._form, numbers), start=_ONE)

    def _form(self, number: int) -> ExponentialRatio:
        event = self._catalogue.events[number]
        form = sure(self._forms.closed_form_of(event))
        if self._eps is not None:
            return form.at(Fraction(1))
        if self._unlike is None or isinstance(event, Chosen):
            return form
        # If the scales are a * eps^p with one p, the probability is the form at ε' = eps^-p.
        if self._are_alike and not form.denominator and form.numerator.as_constant() is not None:
            return form
        place = f"the scale of '{self._unlike.label}'"
        raise Missing(NotEnclosed(f"outside-fragment: {place} is no rational multiple of 1/eps"))


def _unlike_scale(states: FinalStates) -> tuple[Sample | None, bool]:
    """Return a compared sample with another scale than a / eps, and whether all powers are one."""
    if all(sample.scale.power == -1 for sample in states.samples):
        return None, True
    compared = compared_samples(states)
    unlike = next((sample for sample in compared if sample.scale.power != -1), None)
    return unlike, len({sample.scale.power for sample in compared}) == 1


def compared_samples(states: FinalStates) -> list[Sample]:
    """Return the samples that some guard mentions, in order."""
    mentioned: set[int] = set()
    seen: set[int] = set()
    for state in states.states:
        path: Path | None = state.path
        while path is not None and id(path) not in seen:
            seen.add(id(path))
            mentioned.update(samples_of(path.step))
            path = path.parent
    for comparison in states.comparisons:
        mentioned.update(comparison.guard.form.samples())
    return [states.samples[number] for number in sorted(mentioned)]


def _size(ratio: ExponentialRatio) -> int:
    return len(ratio.numerator.terms) + 1
