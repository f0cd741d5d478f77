"""The statements that do not branch, the laws of random choices, and where loops come back to.

Each step works on one state. Where it needs the value of an input it raises `NeedsValue` before it
changes anything.

A weight, once the values of the finite-domain expressions in it are known, is an `ExponentialRatio`
in eps (DiPC paper, section 3.2). Monomials c·eps^n·e^(q·eps) never stay in a denominator where they
cancel, so that equal weights mostly look equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import TypeGuard, TypeVar

from dipapprox.errors import BrokenInvariant
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.traversal import nodes_in
from dipapprox.laws.distribution import ChoiceLaw, FiniteLaw, count_outcomes
from dipapprox.linear.form import LinearForm
from dipapprox.semantics import evaluation
from dipapprox.semantics.evaluation import PathFault, StoredValue, number
from dipapprox.semantics.run import Execution, State, Weighing, live_values
from dipapprox.semantics.splitting import with_integer_inputs
from dipapprox.semantics.state import Choice, Sample
from dipapprox.source import Span

_EPSILON = ExponentialPolynomial.monomial(1, 1)


def weight_value(
    weight: core.Weight, number: Callable[[core.Expression], Fraction], span: Span | None
) -> ExponentialRatio:
    """Return a weight as a function of eps.

    Args:
        number: Evaluates the finite-domain expressions in it.
        span: The statement, for faults in parts that have no place of their own.

    Raises:
        PathFault: For a division by the zero function, and for e to the power of something that is
            no rational multiple of eps.
    """
    if _is_number(weight):
        return ExponentialRatio.constant(number(weight))
    match weight:
        case core.Epsilon():
            return ExponentialRatio(_EPSILON)
        case core.Sum(left, right):
            return weight_value(left, number, span) + weight_value(right, number, span)
        case core.Product(left, right):
            return _cancelled(weight_value(left, number, span) * weight_value(right, number, span))
        case core.Inverse(operand):
            value = weight_value(operand, number, weight.span or span)
            if not value.numerator:
                raise PathFault("value error", "division by zero", weight.span or span)
            return inverse(value)
        case core.Exponential(exponent):
            value = weight_value(exponent, number, weight.span or span)
            return ExponentialRatio(
                ExponentialPolynomial.monomial(1, 0, _rate(value, weight.span or span))
            )
        case _:
            raise BrokenInvariant("a weight is an expression in eps")


def expressions_in(weight: core.Weight) -> Iterator[core.Expression]:
    """Yield the finite-domain expressions in a weight, constants apart."""
    if _is_number(weight):
        yield from () if isinstance(weight, core.Constant) else (weight,)
        return
    match weight:
        case core.Sum(left, right) | core.Product(left, right):
            yield from expressions_in(left)
            yield from expressions_in(right)
        case core.Inverse(operand) | core.Exponential(operand):
            yield from expressions_in(operand)


def _is_number(weight: core.Weight) -> TypeGuard[core.Expression]:
    """Whether a weight is an expression, without eps."""
    others = core.Epsilon | core.Inverse | core.Exponential
    return not any(isinstance(each, others) for each in nodes_in(weight))


def inverse(value: ExponentialRatio) -> ExponentialRatio:
    """1 / value for a function that is not the zero function."""
    if len(value.numerator.terms) > 1:
        return _cancelled(value.inverse())
    # 1 / (c eps^n e^(q eps)) = e^(-q eps) / c / eps^n
    (((power, rate), coefficient),) = value.numerator.terms
    turned = ExponentialRatio(ExponentialPolynomial.constant(1), value.denominator).inverse()
    factor = ExponentialPolynomial.monomial(1 / coefficient, 0, -rate)
    return _cancelled(ExponentialRatio.of(turned.numerator * factor, {_EPSILON: power}))


def proportions(weights: list[ExponentialRatio]) -> list[ExponentialRatio]:
    """Divide weights, not all of them 0, by their sum.

    A factor e^(q·eps) that all have in common goes first: scores that differ by a constant have
    equal laws, and these look equal.
    """
    rates = [rate for weight in weights for (_, rate), _ in weight.numerator.terms]
    if all(not weight.denominator for weight in weights):
        factor = ExponentialPolynomial.monomial(1, 0, -min(rates))
        weights = [ExponentialRatio(weight.numerator * factor) for weight in weights]
    divisor = inverse(sum(weights, ExponentialRatio.constant(0)))
    return [_cancelled(weight * divisor) for weight in weights]


def _rate(exponent: ExponentialRatio, span: Span | None) -> Fraction:
    """The q of an exponent q·eps."""
    terms = exponent.numerator.terms
    if not terms:
        return Fraction(0)
    if len(terms) == 1 and terms[0][0] == (1, Fraction(0)) and not exponent.denominator:
        return terms[0][1]
    message = "the exponent of e is not a rational multiple of eps"
    raise PathFault("value error", message, span, "write exp(eps / 2) or exp(-2 * eps)")


def _cancelled(ratio: ExponentialRatio) -> ExponentialRatio:
    """Cancel powers of eps."""
    below = dict(ratio.denominator)
    power = below.get(_EPSILON, 0)
    common = min([power, *(n for (n, _), _ in ratio.numerator.terms)])
    if not common:
        return ratio
    below[_EPSILON] = power - common
    numerator = {(n - common, q): c for (n, q), c in ratio.numerator.terms}
    return ExponentialRatio.of(ExponentialPolynomial.of(numerator), below)


L = TypeVar("L", bound=ChoiceLaw)


def new_sample(run: Execution, sample: Sample) -> int:
    """Number a sample that no path has drawn."""
    number = len(run.samples)
    run.samples[_key(sample)] = sample
    if len(run.samples) == number:
        raise BrokenInvariant("a sample was drawn twice")
    run.drawn_on.append(sample.line)
    if sample.family.is_discrete:
        run.integers.add(number)
    return number


def _key(sample: Sample) -> Hashable:
    # By the identity of the mean, equality for what an evaluator returns: forms hash slowly.
    ratio = sample.scale.coefficient.as_integer_ratio()
    return sample.site, sample.family, id(sample.mean), sample.scale.power, ratio


def assign(run: Execution, statement: core.Assign, state: State) -> list[State]:
    name = target_name(run, state, statement.target)
    read = evaluation.finite if name in run.outputs else evaluation.evaluate
    assign_value(run, state, name, read(run, statement.value, state), statement.span)
    return [state]


def assign_value(
    run: Execution, state: State, name: str, value: core.Value | LinearForm, span: Span | None
) -> None:
    if isinstance(value, LinearForm):
        _store(run, state, name, value, span)
    elif name in run.outputs:
        _set_output(run, state, name, value, span)
    else:
        _store(run, state, name, evaluation.constant(run, value), span)


def _store(run: Execution, state: State, name: str, value: StoredValue, span: Span | None) -> None:
    """Assign a cell that is no finite output.

    A real output that holds noise has been published: it is not assigned again. A constant may
    be overwritten: `y[i] <- 0` before a loop.
    """
    if name in run.reals:
        before = state.store.get(name)
        if isinstance(before, LinearForm) and before.samples():
            message = f"the real output '{name}' is assigned twice"
            hint = "noise is published once: compute in another variable, and assign it at last"
            raise PathFault("value error", message, span, hint, name)
        if isinstance(value, str):
            message = f"the real output '{name}' gets the named value '{value}'"
            raise PathFault("value error", message, span, "assign a number", name)
        if not run.integers.isdisjoint(value.samples()):
            message = f"the real output '{name}' gets a random integer"
            hint = "declare a finite domain, and 'clamp' the integer to it"
            raise PathFault("value error", message, span, hint, name)
    state.store[name] = value


def _set_output(
    run: Execution, state: State, name: str, value: core.Value, span: Span | None
) -> None:
    domain = run.outputs[name]
    found = domain.get(value)
    if found is None:
        message = f"'{name}' gets {value}, which is not in its domain"
        hint = f"allowed are {', '.join(map(str, domain))}"
        raise PathFault("value error", message, span, hint, name)
    state.set_output(name, found)


def draw(run: Execution, statement: core.Draw, state: State) -> list[State]:
    name = target_name(run, state, statement.target)
    mean = evaluation.over_inputs(
        evaluation.form_of(run, statement.mean, state), statement.mean.span
    )
    if statement.family.is_discrete:
        mean = evaluation.shared(run, with_integer_inputs(mean, state.knowledge))
        if mean.constant.denominator != 1:
            fraction = f"has the fractional part of {mean.constant}"
            message = f"the mean of '{statement.family.name}' {fraction}"
            hint = "integer noise needs an integer mean"
            raise PathFault("value error", message, statement.span, hint)
    site = statement.site + run.sites
    line = None if statement.span is None else statement.span.line
    sample = Sample(statement.family, mean, statement.scale, site, name, line)
    key = _key(sample)
    symbol = run.drawn.get(key)
    if symbol is None:
        symbol = run.drawn[key] = evaluation.shared(run, LinearForm.symbol(new_sample(run, sample)))
    _store(run, state, name, symbol, statement.span)
    return [state]


def target_name(run: Execution, state: State, target: core.Variable | core.Element) -> str:
    name = evaluation.cell_of(run, target, state)
    return run.cells.get(name, name)


def weighed(
    run: Execution, statement: core.Choose, name: str, state: State
) -> tuple[FiniteLaw, tuple[core.Value | LinearForm, ...]]:
    """Return the law of a choice, and the value of each outcome, all different.

    Values of probability 0 for all eps are left out. The weights as they are written are one of
    the `laws` from now on.
    """
    fixed = run.fixed_choices.get(id(statement))
    if fixed is not None:
        return fixed[1].law, fixed[2]
    read = evaluation.evaluate if run.chooses_forms else evaluation.finite
    values: tuple[core.Value | LinearForm, ...] = tuple(
        [read(run, value, state) for value, _ in statement.options]
    )
    first: dict[core.Value | LinearForm, int] = {}
    alike = tuple([first.setdefault(value, place) for place, value in enumerate(values)])
    written, expressions = _weights_of(run, statement)
    numbers = tuple([number(run, expression, state) for expression in expressions])
    key = written, statement.proportional, alike, numbers
    known = run.weighings.get(key)
    if known is None:
        known = run.weighings[key] = _weighing(run, statement, alike, state)
    require_law(run, known.written, statement.site, name, statement.span)
    if not known.places:
        raise PathFault("value error", "all weights of a choice are 0", statement.span)
    values = tuple([values[place] for place in known.places])
    if not expressions and all(isinstance(value, core.Constant) for value, _ in statement.options):
        run.fixed_choices[id(statement)] = statement, known, values
    return known.law, values


def _weights_of(run: Execution, statement: core.Choose) -> tuple[int, tuple[core.Expression, ...]]:
    """Return a number for the weights of a choice, and the expressions that they are of."""
    found = run.weights.get(id(statement))
    if found is None:
        weights = tuple(weight for _, weight in statement.options)
        number = run.weight_numbers.setdefault(weights, len(run.weight_numbers))
        read = (each for weight in weights for each in expressions_in(weight))
        found = run.weights[id(statement)] = number, tuple(read)
    return found


def _weighing(
    run: Execution, statement: core.Choose, alike: tuple[int, ...], state: State
) -> Weighing:
    """Work out the law of a choice; options with equal values are `alike`."""
    functions = [
        weight_value(weight, lambda each: number(run, each, state), statement.span)
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
    law = _shared(run, FiniteLaw(tuple(kept.values())))
    return Weighing(_shared(run, FiniteLaw(tuple(weights))), law, tuple(kept))


def _shared(run: Execution, law: L) -> L:
    """Return the one object that stands for equal laws: they hash slowly, and that one is known."""
    if run.the_laws.get(id(law)) is law:
        return law
    found = run.shared_laws.setdefault(law, law)
    run.the_laws[id(found)] = found
    assert isinstance(found, type(law))
    return found


def require_law(run: Execution, law: ChoiceLaw, site: int, label: str, span: Span | None) -> None:
    """Note that a law must be one for the program to make sense."""
    law = _shared(run, law)
    run.laws.setdefault((site, id(law)), Choice(law, site, label, span=span))


def split_by_outcome(
    run: Execution, state: State, law: ChoiceLaw, site: int, label: str
) -> list[State]:
    """Split a state, which is used up, into one for each outcome of a choice.

    Choices of equal sites and laws are one, unless the state has met later ones before.
    """
    count = count_outcomes(law)
    if count == 1:
        return [state]
    law = _shared(run, law)
    number = run.choice_numbers.get((site, id(law)), -1)
    if number <= run.sets.largest(state.outcomes):
        number = run.choice_numbers[site, id(law)] = len(run.choices)
        run.choices.append(Choice(law, site, label))
    parts = [*(state.fork() for _ in range(1, count)), state]
    split = run.sets.split(state.outcomes, number, count)
    for part, outcomes in zip(parts, split, strict=True):
        part.outcomes = outcomes
    return parts


# --- loops ----------------------------------------------------------------------------------------

Situation = tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]
"""The values of live cells and of outputs, by identity: equal values are one object."""


def situation(run: Execution, state: State, live: int) -> Situation:
    """Return all that the further course depends on, inputs and samples apart."""
    cells = frozenset((name, id(value)) for name, value in live_values(run, state, live))
    return cells, frozenset((name, id(value)) for name, value in state.outputs.items())


def choices_in(body: core.Body) -> Iterator[core.Choose]:
    return (each for each in statements_in(body) if isinstance(each, core.Choose))


def endless(loop: core.While) -> PathFault:
    """Return the fault of a loop that comes back to where it was, nothing left to chance."""
    hint = "a loop must end with probability 1"
    return PathFault("loop error", "the loop never ends", loop.condition.span or loop.span, hint)
