"""Output probabilities of a program in closed form: as functions of its eps, or at one eps.

    input -> catalogue: for each state a product of numbered events
        -> closed form of each event -> products -> sums per output -> checked: all sum to 1

The catalogue is made at one eps, and a closed form is a function of a formal ε' by which every
scale is divided. If all scales are a / eps, the events at eps = 1 as functions of ε' are the
program's for eps = ε', for all eps > 0 at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen
from dipapprox.events.solutions import Numbers
from dipapprox.exact.closed_forms import EventForms, ratio_sum
from dipapprox.exact.solved_inputs import InputStates, SolvedInputs
from dipapprox.exponentials import (
    ONE,
    ExponentialRatio,
)
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.semantics.state import FinalStates, Path, Sample, samples_of

_REMEMBERED = 100_000
"""About how many terms of distributions are kept, and of products of events."""


class ExactDistributions:
    """The output distribution of a program as a function of the input, in closed form.

    Args:
        states: The final states, inputs symbolic.
        eps: Where the program runs, exact and > 0; None for all eps > 0.
        limits: Asked throughout.
    """

    def __init__(self, states: FinalStates, eps: Fraction | None, limits: Limits) -> None:
        self._states = states
        self._eps = eps
        self._limits = limits
        self._catalogue = Catalogue(states, Fraction(1) if eps is None else eps)
        self._inputs = SolvedInputs(self._catalogue, states)
        self._forms = EventForms()
        self._outputs = len(self._catalogue.states_per_output)
        self._unlike = _unlike_scales(states) if eps is None else None
        self._known: Cache[InputStates, tuple[ExponentialRatio, ...]] = Cache(
            _REMEMBERED, lambda found: sum(map(_size, found))
        )
        self._products: Cache[Numbers, ExponentialRatio] = Cache(_REMEMBERED, _size)

    def distribution(self, input: Input) -> tuple[ExponentialRatio, ...] | NotEnclosed:
        """Return the probability of every output, in the order of `FinalStates.outputs`.

        Inputs with the same canonical events have the same distribution and get the same object.

        Args:
            input: One value per input cell.

        Returns:
            Functions of the program's eps that sum to exactly 1; if the program runs at one
            eps, ratios without powers to be read at ε' = 1. The constant 0 for outputs
            that this input cannot have. Or why some probability has no closed form.

        Raises:
            LimitReached: If the limits run out.
            BrokenInvariant: If the outputs do not sum to 1: a bug.
        """
        self._limits.check()
        if self._catalogue.forget():
            self._inputs.forget()
            self._known.clear()
            self._products.clear()
        states = self._inputs.states(input)
        known = self._known.get(states)
        if known is not None:
            return known
        summands: list[list[ExponentialRatio]] = [[] for _ in range(self._outputs)]
        for output, numbers in states:
            product = self._product(numbers)
            if isinstance(product, NotEnclosed):
                return product
            summands[output].append(product)
        found = tuple(map(ratio_sum, summands))
        _require_one(found)
        return self._known.put(states, found)

    def _product(self, numbers: Numbers) -> ExponentialRatio | NotEnclosed:
        """The probability of a conjunction of independent events."""
        known = self._products.get(numbers)
        if known is not None:
            return known
        self._limits.check()
        product = ExponentialRatio.constant(1)
        for number in numbers:
            form = self._form(number)
            if isinstance(form, NotEnclosed):
                return form
            product = product * form
        return self._products.put(numbers, product)

    def _form(self, number: int) -> ExponentialRatio | NotEnclosed:
        event = self._catalogue.events[number]
        form = self._forms.closed_form_of(event, self._limits)
        if isinstance(form, NotEnclosed):
            return form
        if self._eps is not None:
            return form.at(Fraction(1))
        if self._unlike is not None and not isinstance(event, Chosen):
            return self._unlike.checked(form)
        return form


@dataclass(frozen=True, slots=True)
class _UnlikeScales:
    """Compared samples with other scales than a / eps.

    Attributes:
        sample: One of them.
        alike: Whether all compared samples have scales a * eps^p, with one p.
    """

    sample: Sample
    alike: bool

    def checked(self, form: ExponentialRatio) -> ExponentialRatio | NotEnclosed:
        """The form of an event if it does not depend on eps.

        If the scales are alike, the probability is the form at ε' = eps^-p.
        """
        if self.alike and not form.denominator and form.numerator.as_constant() is not None:
            return form
        return NotEnclosed(
            f"outside-fragment: the scale of '{self.sample.label}' is no rational multiple of 1/eps"
        )


def _unlike_scales(states: FinalStates) -> _UnlikeScales | None:
    if all(sample.scale.power == -1 for sample in states.samples):
        return None
    compared = compared_samples(states)
    unlike = next((sample for sample in compared if sample.scale.power != -1), None)
    if unlike is None:
        return None
    return _UnlikeScales(unlike, len({sample.scale.power for sample in compared}) == 1)


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


def _require_one(probabilities: Sequence[ExponentialRatio]) -> None:
    """Check the hard invariant: all outputs sum to exactly 1.

    Raises:
        BrokenInvariant: If they do not: a bug, or weights that do not add up.
    """
    total = ratio_sum(probabilities)
    below = ONE
    for factor, exponent in total.denominator:
        below = below * factor**exponent
    if total.numerator != below:
        raise BrokenInvariant("the exact probabilities of all outputs do not sum to 1")
