"""The statements that do not branch, and the laws of random choices.

Each step works on one state. Where it needs the value of an input it raises `NeedsValue` before it
changes anything.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.distributions import ChoiceLaw, FiniteLaw, count_outcomes
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.semantics.configuration import State
from dipapprox.semantics.evaluation import Evaluator, PathFault
from dipapprox.semantics.integers import with_integer_inputs
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.state import Choice, Sample
from dipapprox.semantics.weights import proportions, weight_value
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
        known = {id(cell.domain): {v: v for v in cell.domain} for cell in program.outputs}
        self._outputs = {cell.name: known[id(cell.domain)] for cell in program.outputs}
        self._admitted: dict[tuple[int, int], tuple[core.Constant, core.Value]] = {}
        self._samples: dict[tuple[object, ...], Sample] = {}
        self._drawn: dict[tuple[object, ...], LinearForm] = {}
        self._choices: list[Choice] = []
        self._choice_numbers: dict[tuple[int, ChoiceLaw], int] = {}
        self._laws: dict[tuple[int, ChoiceLaw], str] = {}
        self.integers: set[int] = set()

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples drawn so far."""
        return tuple(self._samples.values())

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All choices made so far."""
        return tuple(self._choices)

    @property
    def laws(self) -> tuple[Choice, ...]:
        """What was required to be a law so far."""
        return tuple(Choice(law, site, label) for (site, law), label in self._laws.items())

    def assign(self, statement: core.Assign, state: State) -> list[State]:
        """Run target <- value."""
        name = self.target(state, statement.target)
        if name not in self._outputs:
            state.store[name] = self._evaluator.evaluate(statement.value, state)
            return [state]
        # Constants by identity, kept alive: fractions hash slowly.
        key = id(self._outputs[name]), id(statement.value)
        known = self._admitted.get(key)
        if known is not None:
            state.set_output(name, known[1])
            return [state]
        value = self._evaluator.concrete(statement.value, state)
        found = self._set_output(state, name, value, statement.span)
        if isinstance(statement.value, core.Constant):
            self._admitted[key] = statement.value, found
        return [state]

    def put(self, state: State, name: str, value: core.Value, span: Span | None) -> None:
        """Assign a value to a cell."""
        if name in self._outputs:
            self._set_output(state, name, value, span)
        else:
            state.store[name] = self._evaluator.constant(value)

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
            number = len(self._drawn)
            line = None if statement.span is None else statement.span.line
            self._samples[key] = Sample(
                statement.family, mean, statement.scale, statement.site, name, line
            )
            if statement.family.is_discrete:
                self.integers.add(number)
            symbol = self._evaluator.shared(LinearForm.symbol(number))
            self._drawn[key] = symbol
        state.store[name] = symbol
        return [state]

    def target(self, state: State, target: core.Variable | core.Element) -> str:
        """Return the name of the cell that is assigned."""
        if isinstance(target, core.Variable):
            return target.name
        return self._evaluator.element(target, state)

    def weighed(
        self, statement: core.Choose, name: str, state: State
    ) -> dict[core.Value, ExponentialRatio]:
        """Return the values that a choice may give, each once, with their probabilities.

        Values of probability 0 for all eps are left out. The weights as they are written are one of
        the `laws` from now on.
        """
        options: list[tuple[core.Value, ExponentialRatio]] = []
        for expression, weight in statement.options:
            value = self._evaluator.concrete(expression, state)
            function = weight_value(weight, lambda each: self._number(each, state), statement.span)
            if function.numerator:
                options.append((value, function))
        weights = [function for _, function in options]
        if statement.proportional and weights:
            weights = proportions(weights)
        self.require_law(FiniteLaw(tuple(weights)), statement.site, name)
        total: dict[core.Value, ExponentialRatio] = {}
        for (value, _), own in zip(options, weights, strict=True):
            total[value] = total[value] + own if value in total else own
        kept = {value: own for value, own in total.items() if own.numerator}
        if not kept:
            raise PathFault("value error", "all weights of a choice are 0", statement.span)
        return kept

    def _number(self, expression: core.Expression, state: State) -> Fraction:
        value = self._evaluator.concrete(expression, state)
        if isinstance(value, str):
            raise PathFault(
                "type error", f"named value '{value}' is used as a number", expression.span
            )
        return value

    def require_law(self, law: ChoiceLaw, site: int, label: str) -> None:
        """Note that a law must be one for the program to make sense."""
        self._laws.setdefault((site, law), label)

    def outcomes(self, state: State, law: ChoiceLaw, site: int, label: str) -> list[State]:
        """Split a state, which is used up, into one for each outcome of a choice.

        Choices of equal sites and laws are one, unless the state has met later ones before.
        """
        count = count_outcomes(law)
        if count == 1:
            return [state]
        number = self._choice_numbers.get((site, law), -1)
        if number <= self._sets.largest(state.outcomes):
            number = self._choice_numbers[site, law] = len(self._choices)
            self._choices.append(Choice(law, site, label))
        parts = [*(state.fork() for _ in range(1, count)), state]
        split = self._sets.split(state.outcomes, number, count)
        for part, outcomes in zip(parts, split, strict=True):
            part.outcomes = outcomes
        return parts
