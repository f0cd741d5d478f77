"""What there is to say about a program's final states, as data: guards, dependencies, integrals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Event
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import connected_parts, law_of, leading, primitive, used_together
from dipapprox.integrals.integral import Add, Integral, Multiply, Plan, form_text, nesting
from dipapprox.integrals.optimizer import order_edges, plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input, Value
from dipapprox.laws.distribution import Distribution, count_outcomes
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.elimination import plan_text, sum_event
from dipapprox.numerics.integers import sums as integer_sums
from dipapprox.numerics.methods import has_sums, is_discrete
from dipapprox.numerics.powers import root_below
from dipapprox.privacy.description import values_text
from dipapprox.semantics.outcomes import (
    ALWAYS,
    NEVER,
    UNION,
    as_conjunction,
    largest_choices,
    reachable,
)
from dipapprox.semantics.state import (
    Choice,
    FinalState,
    FinalStates,
    InputCondition,
    Reading,
    Sample,
    guards_of,
)
from dipapprox.semantics.structure import measure_structure


def sample_names(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Name samples after their variables; several of one variable are numbered: r[1], r[2]."""
    times = Counter(sample.label for sample in samples)
    seen: Counter[str] = Counter()
    names = []
    for label in (sample.label for sample in samples):
        seen[label] += 1
        if times[label] == 1:
            names.append(label)
        elif label.endswith("]"):
            names.append(f"{label[:-1]},{seen[label]}]")
        else:
            names.append(f"{label}[{seen[label]}]")
    return tuple(names)


def condition_text(condition: InputCondition) -> str:
    if condition.values is not None:
        values = sorted(condition.values, key=lambda v: (isinstance(v, str), v))
        return f"{condition.cell} in {{{values_text(values)[1:-1]}}}"
    assert condition.form is not None
    return comparison_text(condition.form, condition.strict, ())


def choices_text(states: FinalStates, chosen: int) -> tuple[str, ...]:
    """Write which outcomes of choices a state needs: "out[1] outcome 1 of 3", one by one; if more
    is needed to say it: "9 of 32 combinations of outcomes of 'coin'"."""
    single = as_conjunction(states.sets, chosen)
    if single is None:
        return (_combinations(states, chosen),)
    found = []
    for number, outcomes in reversed(single):
        choice = _choice(states, number)
        numbers = ", ".join(str(outcome + 1) for outcome in sorted(outcomes))
        found.append(f"{choice.label} outcome {numbers} of {count_outcomes(choice.law)}")
    return tuple(found)


def _combinations(states: FinalStates, chosen: int) -> str:
    """Count the combinations of outcomes in a set, of the choices that it mentions."""
    nodes = reachable(states.sets, (chosen,))
    mentioned = sorted({states.sets[k][0] for k in nodes} - {UNION, UNION - 1})
    before = {UNION: 1}  # combinations of the choices up to one
    for number, previous in zip(mentioned, (UNION, *mentioned), strict=False):
        before[number] = before[previous] * count_outcomes(_choice(states, number).law)
    largest = largest_choices(states.sets)
    known = {NEVER: 0, ALWAYS: 1}
    for node in nodes:
        head, _, children = states.sets[node]
        if head == UNION:
            own = before[largest[node]]
            known[node] = sum(known[k] * (own // before[largest[k]]) for k in children)
        elif head >= 0:
            own = before[head] // count_outcomes(_choice(states, head).law)
            known[node] = sum(known[k] * (own // before[largest[k]]) for k in children)
    labels = dict.fromkeys(_choice(states, number).label for number in mentioned)
    few = [f"'{label}'" for label in labels][:_SHOWN]
    more = [f"{len(labels) - _SHOWN} more"] if len(labels) > _SHOWN else []
    total = before[mentioned[-1]]
    return f"{known[chosen]} of {total} combinations of outcomes of {', '.join(few + more)}"


def _choice(states: FinalStates, number: int) -> Choice:
    found = states.choices[number]
    if isinstance(found, Reading):
        raise BrokenInvariant("final states whose choices depend on the input have no text")
    return found


_SHOWN = 6  # most variables in a text about choices


def comparison_text(form: LinearForm, strict: bool, names: Sequence[str]) -> str:
    """Write form <= 0 (or < 0) with every term on the side where it is positive."""
    left = LinearForm(tuple(t for t in form.terms if t[1] > 0), max(form.constant, Fraction(0)))
    relation = "<" if strict else "<="
    return f"{form_text(left, names)} {relation} {form_text(left - form, names)}"


def _law_text(sample: Sample) -> str:
    """Write a law: "Gauss(0, 2/eps)"."""
    coefficient, power = sample.scale.coefficient, sample.scale.power
    by = {0: "", -1: "/eps"}.get(power, f" * eps^{power}")
    return f"{sample.family.name}({form_text(sample.mean, ())}, {coefficient}{by})"


def sum_text(form: LinearForm, laws: Sequence[Distribution], names: Sequence[str]) -> str:
    """Write a sum of samples with its law at one eps: "x + 2*y ~ Gauss(1, sqrt(5))".

    What has a closed form is one law (`events.sums`); other laws stand one by one, multiples of
    integer samples as multiples.
    """
    law = law_of(form, laws)
    terms = []
    if law.variance:
        root = root_below(law.variance, 1)
        scale = str(root) if root * root == law.variance else f"sqrt({law.variance})"
        terms.append(f"Gauss({law.mean}, {scale})")
    for factor, term in law.terms:
        times = "" if factor == 1 else f"{factor}*"
        terms.append(f"{times}{term.family.name}({term.mean}, {term.scale})")
    return f"{form_text(form, names)} ~ {' + '.join(terms)}"


class ExplainedState(Record):
    """One final state, in words; integrals are those at the explanation's eps and input."""

    outputs: tuple[Value, ...]
    conditions: tuple[str, ...]  # comparisons of inputs under which the state exists
    # The outcomes of random choices that the state needs; the integrals leave them out.
    choices: tuple[str, ...]
    guards: tuple[str, ...]  # comparisons of samples
    samples: tuple[str, ...]  # "rT ~ Gauss(0, 2/eps)" for every sample in the guards
    numbers: tuple[str, ...]  # what its real outputs are: "y = r + 1"
    # "x + 2*y ~ Lap(0, 1) + Lap(1, 4)" for every sum of samples that are used only together, in
    # guards and real outputs, and for those that the guards reduce to.
    sums: tuple[str, ...]
    names: tuple[str, ...]  # the samples' names; plans and dependencies refer to them by index
    # (larger, smaller) for guards that compare two samples.
    dependencies: tuple[tuple[int, int], ...]
    before: Plan | None  # the literal integral; None if `obstacle` says why
    after: Plan | None  # the optimised integral
    elimination: tuple[str, ...]  # the plan that is evaluated where doubles or balls are asked
    # The input that the integrals are for: the first of the candidates for which the state exists;
    # None if there is none.
    input: Input | None
    obstacle: str | None

    @property
    def depth(self) -> int:
        return 0 if self.after is None else nesting(self.after)

    @property
    def depth_unoptimised(self) -> int:
        """Nested integrals of the literal integral: one for each sample."""
        return len(self.names)


class Explanation(Record):
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
    states: FinalStates, eps: Fraction, inputs: Iterable[Input], strategy: Strategy
) -> Explanation:
    """Explain all final states, with the integrals at one eps, for the first of `inputs` for which
    each exists."""
    names = sample_names(states.samples)
    instantiator = Instantiator(states, eps)
    events = _first_events(instantiator, inputs)
    details = []
    for state, outline in zip(states.states, instantiator.outlines, strict=True):
        check_limits()
        place = events.get(id(outline))
        sums: tuple[str, ...] = ()
        if place is not None:
            laws = instantiator.laws(instantiator.numbers(place[0]))
            sums = _sums(place[1], outline.samples, state.reals, laws, names)
        details.append(_explain_state(state, states, names, outline.samples, place, sums, strategy))
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
    instantiator: Instantiator, inputs: Iterable[Input]
) -> dict[int, tuple[Input, Event]]:
    """Find for each outline, by identity, the first input for which it exists, and its event."""
    found: dict[int, tuple[Input, Event]] = {}
    for input in inputs:
        check_limits()
        numbers = instantiator.numbers(input)
        laws = instantiator.laws(numbers)
        for outline in map(instantiator.outline, instantiator.admitted(input, numbers)):
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
) -> ExplainedState:
    before: Plan | None = None
    after: Plan | None = None
    obstacle: str | None = None
    eliminated: tuple[str, ...] = ()
    input, event = place or (None, None)
    if event is None:
        obstacle = "the state does not exist for this input"
    elif any(states.samples[i].family.is_discrete for i in samples):
        obstacle = "integer noise has sums, not integrals"
    else:
        try:
            before = plan(event, Strategy.NONE)
            after = _optimised(event, strategy)
            eliminated = plan_text.plan_lines(event)
        except LimitReached as limit:
            check_limits()  # the time and the memory end the run, a piece limit only this state
            obstacle = limit.reason
    mentioned = sorted({*samples, *(s for form in state.reals for s in form.samples())})
    return ExplainedState(
        outputs=tuple(state.outputs),
        conditions=tuple(condition_text(condition) for condition in state.conditions),
        choices=choices_text(states, state.chosen),
        guards=tuple(
            comparison_text(guard.form, guard.strict, names) for guard in guards_of(state.path)
        ),
        samples=tuple(f"{names[i]} ~ {_law_text(states.samples[i])}" for i in mentioned),
        numbers=tuple(
            f"{cell.name} = {form_text(form, names)}"
            for cell, form in zip(states.program.real_outputs, state.reals, strict=True)
        ),
        sums=sums,
        names=tuple(names[i] for i in samples),
        dependencies=() if event is None else order_edges(event),
        before=before,
        after=after,
        elimination=eliminated,
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
    shown: dict[LinearForm, None] = {}
    for form in found:  # in plain numbers: a multiple of integer samples stays an integer
        integers = all(laws[sample].family.is_discrete for sample in form.samples())
        shown[primitive(form) if integers else leading(form)] = None
    return tuple(sum_text(form, laws, names) for form in shown)


def _optimised(event: Event, strategy: Strategy) -> Plan:
    """Plan the independent parts, over the numbering of the whole event."""
    if strategy is Strategy.NONE:
        return plan(event, strategy)
    parts = connected_parts(event)
    if parts is None:
        return Add(())
    factors = tuple(_renumbered(plan(part, strategy), own) for own, part in parts)
    return factors[0] if len(factors) == 1 else Multiply(factors)


def _renumbered(part: Plan, own: tuple[int, ...]) -> Plan:
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
