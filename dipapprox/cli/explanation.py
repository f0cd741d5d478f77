"""What there is to say about a program's final states, as data: guards, dependencies, integrals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.cli.state_text import (
    choices_text,
    condition_text,
    guard_text,
    sample_names,
    sample_text,
    sum_text,
)
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import connected_parts
from dipapprox.events.sums import leading, primitive, used_together
from dipapprox.integrals.integral import Add, Integral, Multiply, Plan, nesting
from dipapprox.integrals.optimizer import order_edges, plan
from dipapprox.integrals.plan import form_text
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input, Value
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.elimination import sum_event
from dipapprox.numerics.integers import sums as integer_sums
from dipapprox.numerics.kinds import has_sums, is_discrete
from dipapprox.semantics.state import FinalState, FinalStates, guards_of
from dipapprox.semantics.structure import measure_structure


@dataclass(frozen=True, slots=True)
class ExplainedState:
    """One final state, in words; integrals are those at the explanation's eps and input.

    Attributes:
        conditions: Comparisons of inputs under which the state exists.
        numbers: What its real outputs are: "y = r + 1".
        choices: The outcomes of random choices that the state needs; the integrals leave them out.
        guards: Comparisons of samples.
        samples: "rT ~ Gauss(0, 2/eps)" for every sample in the guards.
        sums: "x + 2*y ~ Lap(0, 1) + Lap(1, 4)" for every sum of samples that are used only
            together, in guards and real outputs, and for those that the guards reduce to.
        names: The samples' names; plans and dependencies refer to them by index.
        dependencies: (larger, smaller) for guards that compare two samples.
        before: The literal integral; None if `obstacle` says why.
        after: The optimised integral.
        input: The input that the integrals are for: the first of the candidates for which the
            state exists; None if there is none.
    """

    outputs: tuple[Value, ...]
    conditions: tuple[str, ...]
    choices: tuple[str, ...]
    guards: tuple[str, ...]
    samples: tuple[str, ...]
    numbers: tuple[str, ...]
    sums: tuple[str, ...]
    names: tuple[str, ...]
    dependencies: tuple[tuple[int, int], ...]
    before: Plan | None
    after: Plan | None
    input: Input | None
    obstacle: str | None

    @property
    def depth(self) -> int:
        """Nested integrals after optimisation."""
        return nesting(self.after)

    @property
    def depth_unoptimised(self) -> int:
        """Nested integrals of the literal integral: one for each sample."""
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A program's final states with averages over them.

    Without merging these are the columns of the papers' tables (see `semantics.structure`); with
    merging, plain averages over the states of guards, of nested integrals, and of samples.
    """

    states: FinalStates
    eps: Fraction
    final_states: int
    average_guards: Fraction
    average_depth: Fraction
    average_depth_unoptimised: Fraction
    details: tuple[ExplainedState, ...]


def explain(
    states: FinalStates, eps: Fraction, inputs: Iterable[Input], strategy: Strategy, limits: Limits
) -> Explanation:
    """Explain all final states, with the integrals at one eps, for the first of `inputs` for which
    each exists."""
    names = sample_names(states.samples)
    instantiator = Instantiator(states, eps)
    events = _first_events(instantiator, inputs, limits)
    details = []
    for state, outline in zip(states.states, instantiator.outlines, strict=True):
        limits.check()
        place = events.get(id(outline))
        sums: tuple[str, ...] = ()
        if place is not None:
            laws = instantiator.laws(instantiator.numbers(place[0]))
            sums = _sums(place[1], outline.samples, state.reals, laws, names)
        details.append(
            _explain_state(state, states, names, outline.samples, place, sums, strategy, limits)
        )
    if states.merged:
        averages = (
            _mean([len(detail.guards) for detail in details]),
            _mean([detail.depth for detail in details if detail.after is not None]),
            _mean([detail.depth_unoptimised for detail in details]),
        )
        return Explanation(states, eps, len(details), *averages, tuple(details))
    found = measure_structure(states)
    averages = (found.average_guards, found.average_depth, found.average_variables)
    return Explanation(states, eps, found.final_states, *averages, tuple(details))


def _first_events(
    instantiator: Instantiator, inputs: Iterable[Input], limits: Limits
) -> dict[int, tuple[Input, Event]]:
    """Find for each outline, by identity, the first input for which it exists, and its event."""
    found: dict[int, tuple[Input, Event]] = {}
    for input in inputs:
        limits.check()
        numbers = instantiator.numbers(input)
        laws = instantiator.laws(numbers)
        for outline in instantiator.admitted(input, numbers):
            if id(outline) not in found:
                forms = tuple(form.at(numbers) for form in outline.guards)
                event = Event(tuple(laws[i] for i in outline.samples), forms)
                found[id(outline)] = input, event
        if len(found) == len(instantiator.outlines):
            break
    return found


def _explain_state(
    state: FinalState,
    states: FinalStates,
    names: Sequence[str],
    samples: tuple[int, ...],
    place: tuple[Input, Event] | None,
    sums: tuple[str, ...],
    strategy: Strategy,
    limits: Limits,
) -> ExplainedState:
    before: Plan | None = None
    after: Plan | None = None
    obstacle: str | None = None
    input, event = place or (None, None)
    if event is None:
        obstacle = "the state does not exist for this input"
    elif any(states.samples[i].family.is_discrete for i in samples):
        obstacle = "integer noise has sums, not integrals"
    else:
        try:
            before = plan(event, Strategy.NONE, limits)
            after = _optimised(event, strategy, limits)
        except LimitReached as limit:
            limits.check()  # the time and the memory end the run, a piece limit only this state
            obstacle = limit.reason
    mentioned = sorted({*samples, *(s for form in state.reals for s in form.samples())})
    return ExplainedState(
        outputs=tuple(state.outputs),
        conditions=tuple(condition_text(condition) for condition in state.conditions),
        choices=choices_text(states, state.chosen),
        guards=tuple(guard_text(guard, names) for guard in guards_of(state.path)),
        samples=tuple(sample_text(states.samples[i], names[i]) for i in mentioned),
        numbers=tuple(
            f"{cell.name} = {form_text(form, names)}"
            for cell, form in zip(states.program.real_outputs, state.reals, strict=True)
        ),
        sums=sums,
        names=tuple(names[i] for i in samples),
        dependencies=() if event is None else order_edges(event),
        before=before,
        after=after,
        input=input,
        obstacle=obstacle,
    )


def _sums(
    event: Event,
    samples: Sequence[int],
    reals: Sequence[LinearForm],
    laws: Sequence[Distribution],
    names: Sequence[str],
) -> tuple[str, ...]:
    """Write the sums of samples that stand for the samples in them, with their laws.

    The event is the guards at an input, over positions in `samples`, those that guards mention;
    `reals` are over samples and inputs, laws and names of all samples.
    """
    numbers: dict[Symbol, Symbol] = dict(enumerate(samples))
    guards = [form.renamed(numbers.__getitem__) for form in irredundant(event.guards) or ()]
    found = [*used_together((*guards, *reals))]
    published = {sample for form in reals for sample in form.samples()}
    for own, part in connected_parts(event) or ():
        if not has_sums(part) or published.intersection(samples[k] for k in own):
            continue
        made = integer_sums.sums_in(part) if is_discrete(part) else sum_event.sums_in(part)
        local: dict[Symbol, Symbol] = {k: samples[j] for k, j in enumerate(own)}
        found += [form.renamed(local.__getitem__) for form in made]
    shown = dict.fromkeys(_with_unit(form, laws) for form in found)
    return tuple(sum_text(form, laws, names) for form in shown)


def _with_unit(form: LinearForm, laws: Sequence[Distribution]) -> LinearForm:
    """Return a multiple in plain numbers: that of integer samples stays an integer."""
    integers = all(laws[sample].family.is_discrete for sample in form.samples())
    return primitive(form) if integers else leading(form)


def _optimised(event: Event, strategy: Strategy, limits: Limits) -> Plan:
    """Plan the independent parts, over the numbering of the whole event."""
    if strategy is Strategy.NONE:
        return plan(event, strategy, limits)
    parts = connected_parts(event)
    if parts is None:
        return Add(())
    factors = tuple(_renumbered(plan(part, strategy, limits), own) for own, part in parts)
    return factors[0] if len(factors) == 1 else Multiply(factors)


def _renumbered(part: Plan, own: tuple[int, ...]) -> Plan:
    """Replace variable k by own[k] throughout."""

    def name(symbol: Symbol) -> Symbol:
        return own[symbol] if isinstance(symbol, int) else symbol

    def bound(form: LinearForm | None) -> LinearForm | None:
        return None if form is None else form.renamed(name)

    match part:
        case Integral(level, body):
            lower, upper = bound(level.lower), bound(level.upper)
            moved = replace(level, variable=own[level.variable], lower=lower, upper=upper)
            return Integral(moved, None if body is None else _renumbered(body, own))
        case Multiply(factors):
            return Multiply(tuple(_renumbered(factor, own) for factor in factors))
        case Add(terms):
            return Add(tuple(_renumbered(term, own) for term in terms))
        case _:
            assert_never(part)


def _mean(numbers: list[int]) -> Fraction:
    return Fraction(sum(numbers), len(numbers)) if numbers else Fraction(0)
