"""The statements that do not branch, and the laws of random choices.

Each step works on one state. Where it needs the value of an input it raises `NeedsValue` before it
changes anything.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.distributions import ChoiceLaw, FiniteLaw, count_outcomes
from dipapprox.errors import BrokenInvariant
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.semantics.configuration import State, StoredValue
from dipapprox.semantics.evaluation import Evaluator, PathFault
from dipapprox.semantics.integers import with_integer_inputs
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.state import Choice, Sample
from dipapprox.semantics.weights import expressions_in, proportions, weight_value
from dipapprox.source import Span


class Numbering:
    """Numbers what decides where paths part: statements, by identity, and their outcomes."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def number(self, statement: core.Statement, outcome: int = 0) -> int:
        """Return the same number as for the same statement and outcome before."""
        return self._numbers.setdefault((id(statement), outcome), len(self._numbers))


class Statements:
    """Runs single statements; knows the samples and choices of an execution.

    Args:
        program: The program.
        evaluator: Evaluates its expressions.
        sets: What states know of choices.

    Attributes:
        integers: The samples that are integers.
        drawn: The line that each sample is drawn on.
    """

    def __init__(
        self,
        program: core.Program,
        evaluator: Evaluator,
        sets: OutcomeSets,
    ) -> None:
        self._evaluator = evaluator
        self._sets = sets
        # The cells of an array have one domain.
        domains = {id(cell.domain): cell.domain for cell in program.outputs}
        known = {number: {v: v for v in domain} for number, domain in domains.items()}
        self._outputs = {cell.name: known[id(cell.domain)] for cell in program.outputs}
        self._reals = frozenset(cell.name for cell in program.real_outputs)
        self._admitted: dict[tuple[int, int], tuple[core.Constant, core.Value]] = {}
        self._samples: dict[tuple[object, ...], Sample] = {}
        self._drawn: dict[tuple[object, ...], LinearForm] = {}
        self._choices: list[Choice] = []
        self._choice_numbers: dict[tuple[int, int], int] = {}
        self._laws: dict[tuple[int, int], Choice] = {}
        self._shared_laws: dict[ChoiceLaw, ChoiceLaw] = {}
        self._weights: dict[int, tuple[int, tuple[core.Expression, ...]]] = {}
        self._weight_numbers: dict[tuple[core.Weight, ...], int] = {}
        self._weighings: dict[tuple[object, ...], _Weighing] = {}
        self.integers: set[int] = set()
        self.drawn: list[int | None] = []

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples drawn so far."""
        return tuple(self._samples.values())

    def repeat(self, sample: Sample, mean: LinearForm, site: int) -> None:
        """Draw a sample like another one: in another turn of a loop, where nothing draws again.

        Args:
            sample: The other one.
            mean: Of the new one; the object that stands for equal forms.
            site: Of the new one.
        """
        scale, number = sample.scale, len(self._samples)
        key = site, sample.family, id(mean), scale.power, scale.coefficient.as_integer_ratio()
        self._samples[key] = Sample(sample.family, mean, scale, site, sample.label, sample.line)
        if len(self._samples) == number:
            raise BrokenInvariant("a sample was drawn twice")
        self.drawn.append(sample.line)
        if sample.family.is_discrete:
            self.integers.add(number)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All choices made so far."""
        return tuple(self._choices)

    @property
    def laws(self) -> tuple[Choice, ...]:
        """What was required to be a law so far."""
        return tuple(self._laws.values())

    def assign(self, statement: core.Assign, state: State) -> list[State]:
        """Run target <- value."""
        name = self.target(state, statement.target)
        if name not in self._outputs:
            value = self._evaluator.evaluate(statement.value, state)
            self._store(state, name, value, statement.span)
            return [state]
        # Constants by identity, kept alive: fractions hash slowly.
        key = id(self._outputs[name]), id(statement.value)
        known = self._admitted.get(key)
        if known is not None:
            state.set_output(name, known[1])
            return [state]
        finite = self._evaluator.concrete(statement.value, state)
        found = self._set_output(state, name, finite, statement.span)
        if isinstance(statement.value, core.Constant):
            self._admitted[key] = statement.value, found
        return [state]

    def put(self, state: State, name: str, value: core.Value, span: Span | None) -> None:
        """Assign a value to a cell."""
        if name in self._outputs:
            self._set_output(state, name, value, span)
        else:
            self._store(state, name, self._evaluator.constant(value), span)

    def _store(self, state: State, name: str, value: StoredValue, span: Span | None) -> None:
        """Assign a cell that is no finite output.

        A real output that holds noise has been published: it is not assigned again. A constant may
        be overwritten: `y[i] <- 0` before a loop.
        """
        if name in self._reals:
            before = state.store.get(name)
            if isinstance(before, LinearForm) and before.samples():
                raise PathFault(
                    "value error",
                    f"the real output '{name}' is assigned twice",
                    span,
                    "noise is published once: compute in another variable, and assign it at last",
                    name,
                )
            if isinstance(value, str):
                message = f"the real output '{name}' gets the named value '{value}'"
                raise PathFault("value error", message, span, "assign a number", name)
            if not self.integers.isdisjoint(value.samples()):
                raise PathFault(
                    "value error",
                    f"the real output '{name}' gets a random integer",
                    span,
                    "declare a finite domain, and 'clamp' the integer to it",
                    name,
                )
        state.store[name] = value

    def _set_output(
        self, state: State, name: str, value: core.Value, span: Span | None
    ) -> core.Value:
        domain = self._outputs[name]
        found = domain.get(value)
        if found is None:
            raise PathFault(
                "value error",
                f"'{name}' gets {value}, which is not in its domain",
                span,
                f"allowed are {', '.join(map(str, domain))}",
                name,
            )
        state.set_output(name, found)
        return found

    def draw(self, statement: core.Draw, state: State) -> list[State]:
        """Run target <- a fresh sample."""
        name = self.target(state, statement.target)
        mean = self._evaluator.mean(statement.mean, state)
        if statement.family.is_discrete:
            mean = self._evaluator.shared(with_integer_inputs(mean, state.knowledge))
            if mean.constant.denominator != 1:
                raise PathFault(
                    "value error",
                    f"the mean of '{statement.family.value}' has the fractional part of "
                    f"{mean.constant}",
                    statement.span,
                    "integer noise needs an integer mean",
                )
        # By identity, which is equality for what an evaluator returns: forms hash slowly.
        scale = statement.scale
        ratio = scale.coefficient.as_integer_ratio()
        key = statement.site, statement.family, id(mean), scale.power, ratio
        symbol = self._drawn.get(key)
        if symbol is None:
            number = len(self._samples)
            line = None if statement.span is None else statement.span.line
            self._samples[key] = Sample(
                statement.family, mean, statement.scale, statement.site, name, line
            )
            self.drawn.append(line)
            if statement.family.is_discrete:
                self.integers.add(number)
            symbol = self._evaluator.shared(LinearForm.symbol(number))
            self._drawn[key] = symbol
        self._store(state, name, symbol, statement.span)
        return [state]

    def target(self, state: State, target: core.Variable | core.Element) -> str:
        """Return the name of the cell that is assigned."""
        if isinstance(target, core.Variable):
            return target.name
        return self._evaluator.element(target, state)

    def weighed(
        self, statement: core.Choose, name: str, state: State
    ) -> tuple[FiniteLaw, tuple[core.Value, ...]]:
        """Return the law of a choice, and the value of each outcome, all different.

        Values of probability 0 for all eps are left out. The weights as they are written are one of
        the `laws` from now on.
        """
        values = tuple([self._evaluator.concrete(value, state) for value, _ in statement.options])
        first: dict[core.Value, int] = {}
        alike = tuple([first.setdefault(value, place) for place, value in enumerate(values)])
        number, expressions = self._weights_of(statement)
        numbers = tuple([self._number(expression, state) for expression in expressions])
        key = number, statement.proportional, alike, numbers
        known = self._weighings.get(key)
        if known is None:
            known = self._weighings[key] = self._weighing(statement, alike, state)
        self.require_law(known.written, statement.site, name)
        if not known.places:
            raise PathFault("value error", "all weights of a choice are 0", statement.span)
        return known.law, tuple([values[place] for place in known.places])

    def _weights_of(self, statement: core.Choose) -> tuple[int, tuple[core.Expression, ...]]:
        """Return a number for the weights of a choice, and the expressions that they are of."""
        found = self._weights.get(id(statement))
        if found is None:
            weights = tuple(weight for _, weight in statement.options)
            number = self._weight_numbers.setdefault(weights, len(self._weight_numbers))
            read = (each for weight in weights for each in expressions_in(weight))
            found = self._weights[id(statement)] = number, tuple(read)
        return found

    def _weighing(self, statement: core.Choose, alike: tuple[int, ...], state: State) -> _Weighing:
        """Work out the law of a choice; options with equal values are `alike`."""
        functions = [
            weight_value(weight, lambda each: self._number(each, state), statement.span)
            for _, weight in statement.options
        ]
        places = [place for place, function in enumerate(functions) if function.numerator]
        weights = [functions[place] for place in places]
        if statement.proportional and weights:
            weights = proportions(weights)
        total: dict[int, ExponentialRatio] = {}
        for place, own in zip(places, weights, strict=True):
            first = alike[place]
            total[first] = total[first] + own if first in total else own
        kept = {place: own for place, own in total.items() if own.numerator}
        law = self._shared(FiniteLaw(tuple(kept.values())))
        return _Weighing(self._shared(FiniteLaw(tuple(weights))), law, tuple(kept))

    def _shared(self, law: L) -> L:
        """Return the one object that stands for equal laws: they hash slowly."""
        found = self._shared_laws.setdefault(law, law)
        assert isinstance(found, type(law))
        return found

    def _number(self, expression: core.Expression, state: State) -> Fraction:
        value = self._evaluator.concrete(expression, state)
        if isinstance(value, str):
            raise PathFault(
                "type error", f"named value '{value}' is used as a number", expression.span
            )
        return value

    def require_law(self, law: ChoiceLaw, site: int, label: str) -> None:
        """Note that a law must be one for the program to make sense."""
        law = self._shared(law)
        self._laws.setdefault((site, id(law)), Choice(law, site, label))

    def outcomes(self, state: State, law: ChoiceLaw, site: int, label: str) -> list[State]:
        """Split a state, which is used up, into one for each outcome of a choice.

        Choices of equal sites and laws are one, unless the state has met later ones before.
        """
        count = count_outcomes(law)
        if count == 1:
            return [state]
        law = self._shared(law)
        number = self._choice_numbers.get((site, id(law)), -1)
        if number <= self._sets.largest(state.outcomes):
            number = self._choice_numbers[site, id(law)] = len(self._choices)
            self._choices.append(Choice(law, site, label))
        parts = [*(state.fork() for _ in range(1, count)), state]
        split = self._sets.split(state.outcomes, number, count)
        for part, outcomes in zip(parts, split, strict=True):
            part.outcomes = outcomes
        return parts


@dataclass(frozen=True, slots=True, eq=False)
class _Weighing:
    """A choice with its weights worked out.

    Attributes:
        written: The weights as they are written, but for those that are the zero function.
        law: Of the values that can come out, each once.
        places: For each outcome of `law` the first option with its value.
    """

    written: FiniteLaw
    law: FiniteLaw
    places: tuple[int, ...]


L = TypeVar("L", bound=ChoiceLaw)
