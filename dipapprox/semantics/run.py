"""What the paths of one execution share: its tables, which grow as it goes on.

Functions that execute statements, evaluate expressions, split and end paths take an `Execution`
first. Equal values, forms and laws are one object in it: they are compared by identity from then
on.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.language.cells import Liveness, Use
from dipapprox.language.domains import AllReals
from dipapprox.laws.distribution import ChoiceLaw, FiniteLaw
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.configuration import GuardCone, State
from dipapprox.semantics.evaluation import Forms, StoredValue
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.order import Points
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.state import (
    Choice,
    GuardLines,
    LoneGuard,
    Reading,
    Sample,
    Store,
    Valuation,
)
from dipapprox.source import Diagnostic, Span


class Weighing(Record, eq=False):
    """A choice with its weights worked out."""

    written: FiniteLaw  # the weights as they are written, but for those that are the zero function
    law: FiniteLaw  # of the values that can come out, each once
    places: tuple[int, ...]  # for each outcome of `law` the first option with its value


class Selection(Record, eq=False):
    """A run of branches that selects one of several candidates."""

    best: str  # the variable that holds the best so far, before the first branch as well
    # What it is compared with, one expression for each branch.
    candidates: tuple[core.Expression, ...]
    # The branches; all assign the same variables, and constants to all but `best`.
    branches: tuple[core.If, ...]
    largest: bool  # whether the largest is the best
    # For each branch whether its candidate must be better, and not only as good.
    strict: tuple[bool, ...]

    def taken(self, branch: int) -> Iterator[core.Assign]:
        """Yield what is assigned if the candidate of a branch is the best."""
        return (each for each in self.branches[branch].then if isinstance(each, core.Assign))


class Execution(Forms, frozen=False, eq=False):
    """One execution of a program."""

    program: core.Program
    merge: bool  # whether infeasible states are dropped and states joined
    limits: Limits
    knowledge: Knowledge
    points: Points
    live: Liveness  # which cells matter where
    # The values of each finite output, as the one object that stands for each.
    outputs: dict[str, Mapping[core.Value, core.Value]]
    names: tuple[str, ...]  # of the finite outputs
    reals: frozenset[str]
    lines: GuardLines
    drawn_on: list[int | None]  # the line that each sample is drawn on
    sets: OutcomeSets = field(default_factory=OutcomeSets)
    # In the order of their numbers, by what makes draws the same.
    samples: dict[Hashable, Sample] = field(default_factory=dict)
    # The form that each of them is, likewise.
    drawn: dict[Hashable, LinearForm] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)  # the samples that are integers
    choices: list[Choice | Reading] = field(default_factory=list)  # by number
    choice_numbers: dict[tuple[int, int], int] = field(default_factory=dict)  # by site and law
    # What must be a probability law, by site and law.
    laws: dict[tuple[int, int], Choice] = field(default_factory=dict)
    # The one object that stands for equal laws.
    shared_laws: dict[ChoiceLaw, ChoiceLaw] = field(default_factory=dict)
    the_laws: dict[int, ChoiceLaw] = field(default_factory=dict)  # these objects, by identity
    # For a choice in the text the number of its weights, and the expressions in them.
    weights: dict[int, tuple[int, tuple[core.Expression, ...]]] = field(default_factory=dict)
    weight_numbers: dict[tuple[core.Weight, ...], int] = field(default_factory=dict)  # by weights
    # By such a number, the values of the expressions, and which options are alike.
    weighings: dict[Hashable, Weighing] = field(default_factory=dict)
    # The laws and values of choices that no state changes, likewise.
    fixed_choices: dict[int, tuple[core.Choose, Weighing, tuple[core.Value | LinearForm, ...]]] = (
        field(default_factory=dict)
    )
    chooses_forms: bool = False  # whether choices may come out as forms, for no outputs
    # Of what decides where paths part: statements, by identity, outcomes and turns.
    numbers: dict[tuple[int, int, int], int] = field(default_factory=dict)
    uses: dict[int, Use] = field(default_factory=dict)  # what blocks do with cells, by identity
    # The selections in blocks, likewise.
    selections: dict[int, dict[int, Selection]] = field(default_factory=dict)
    loop: core.Repeat | None = None  # the equal turns of which one is run now, if any
    turn: int = 0  # that one; 0 if none is run
    sites: int = 0  # what is added to the sites of its draws
    rounds: int = 0  # rounds of while loops so far
    explored: int = 0  # situations in loops that choose so far
    ended: list[State] = field(default_factory=list)  # the states that ended with all outputs
    # Of the outputs of final states, by fingerprint.
    valuations: dict[int, list[Valuation]] = field(default_factory=dict)
    # The faults, the first of each cell and place.
    diagnostics: dict[tuple[str, str, Span | None], Diagnostic] = field(default_factory=dict)
    refused: int = 0  # the shares of the states that ended by a fault
    # Of the input cells, by name, if sets of outcomes may have readings of them.
    places: Mapping[str, int] = field(default_factory=dict)
    # The newest one of each cell, by its place.
    readings: dict[int, int] = field(default_factory=dict)
    # Whether comparisons of spent samples may become outcomes, see `spent_samples`.
    counts: bool = False
    spends: bool = False  # whether some have
    # These, by the number of their choice.
    comparisons: list[LoneGuard] = field(default_factory=list)
    spent: dict[int, int] = field(default_factory=dict)  # their samples, with these numbers
    unspent: set[int] = field(default_factory=set)  # what these are compared with


def new_run(
    program: core.Program, merge: bool, limits: Limits, looked_at: Sequence[core.Input] | None
) -> Execution:
    """Return a run that has done nothing yet, for some inputs only; None: for all."""
    known = {cell.name: cell.domain for cell in program.inputs}
    if looked_at is not None:
        for place, cell in enumerate(program.inputs):
            own = {input[place] for input in looked_at}
            known[cell.name] = tuple([value for value in cell.domain if value in own])
            if len(known[cell.name]) < len(own):
                raise BrokenInvariant(f"'{cell.name}' is looked at outside its domain")
    knowledge = Knowledge(known, {}, frozenset())
    inputs = {name: _symbolic(name, domain) for name, domain in known.items()}
    # The cells of an array have one domain.
    domains = {id(cell.domain): cell.domain for cell in program.outputs}
    values = {number: {v: v for v in domain} for number, domain in domains.items()}
    drawn_on: list[int | None] = []
    return Execution(
        program,
        merge,
        limits,
        knowledge,
        Points(knowledge),
        Liveness.of(program),
        {cell.name: values[id(cell.domain)] for cell in program.outputs},
        tuple(cell.name for cell in program.outputs),
        frozenset(cell.name for cell in program.real_outputs),
        GuardLines(drawn_on),
        drawn_on,
        inputs=inputs,
        forms={form: form for form in inputs.values() if form is not None},
    )


def first_states(run: Execution, inputs: Sequence[core.Input] | None) -> list[State]:
    """Return the states at the start of the program.

    Args:
        inputs: Those that may be followed one by one, which a few are where all that have their
            values are more; None for one state for all.
    """
    first = State(Store(), Store(), run.knowledge, GuardCone() if run.merge else None)
    cells, known = run.program.inputs, run.knowledge.domains
    if inputs is None or len(inputs) > min(_FEW, prod(map(len, known.values())) - 1):
        return [first]
    run.places = {}
    several = [(place, cell.name) for place, cell in enumerate(cells) if len(known[cell.name]) > 1]
    run.inputs = {**run.inputs, **{name: None for _, name in several}}
    states = [first, *(first.fork() for _ in inputs[1:])]
    for state, input in zip(states, inputs, strict=True):
        allowed = {name: frozenset({input[place]}) for place, name in several}
        state.knowledge = Knowledge(known, allowed, frozenset())
    return states


_FEW = 256  # inputs that are followed one by one


def newest_reading(run: Execution, place: int, known: int) -> int:
    """Return a reading of a cell, by its place, that is newer than a choice."""
    number = run.readings.get(place, -1)
    if number <= known:
        number = run.readings[place] = len(run.choices)
        run.choices.append(Reading(place))
    return number


def told(
    run: Execution, outcomes: int, reading: int, place: int, values: Container[core.Value]
) -> int:
    """Restrict a set of outcomes to inputs in which a cell has one of some values."""
    domain = run.program.inputs[place].domain
    kept = [number for number, value in enumerate(domain) if value in values]
    return run.sets.told(outcomes, reading, place, kept, len(domain))


def live_values(run: Execution, state: State, live: int) -> Iterator[tuple[str, StoredValue]]:
    """Yield the variables of a state that are in a mask, with their values."""
    stored = dict(state.store.items())
    return ((name, stored[name]) for name in run.live.among(live, stored))


def number_of(run: Execution, statement: core.Statement, outcome: int = 0) -> int:
    """Number what decides where paths part: a statement, and its outcome."""
    return run.numbers.setdefault((id(statement), outcome, run.turn), len(run.numbers))


def check_states(run: Execution, count: int) -> None:
    """Raise `LimitReached` if so many states in progress, and those that ended, are too many."""
    run.limits.check_states(count + len(run.ended))


def _symbolic(cell: str, domain: tuple[core.Value, ...]) -> LinearForm | None:
    """The form that an input is, or None if some of its values have names."""
    if isinstance(domain, AllReals):
        return LinearForm.symbol(cell)
    if not all(isinstance(value, Fraction) for value in domain):
        return None
    if len(domain) == 1 and isinstance(domain[0], Fraction):
        return LinearForm.constant_form(domain[0])
    return LinearForm.symbol(cell)
