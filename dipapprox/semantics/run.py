"""One execution: its paths in progress, and what they share: tables that grow as it goes on.

States are mutable and owned by one path: a split forks them first. Everything they refer to is
immutable or persistent and shared.

Functions that execute statements, evaluate expressions, split and end paths take an `Execution`
first. Equal values, forms and laws are one object in it: they are compared by identity from then
on.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from operator import xor
from random import getrandbits

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.language.cells import Liveness, Use
from dipapprox.language.domains import AllReals
from dipapprox.laws.distribution import ChoiceLaw, FiniteLaw
from dipapprox.limits import check_states
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import (
    Forms,
    Knowledge,
    NeedsValue,
    PathFault,
    StoredValue,
    constant,
    over_inputs,
)
from dipapprox.semantics.order import GuardCone, Points, complement, steps_since, taken_in
from dipapprox.semantics.outcomes import ALWAYS, OutcomeSets
from dipapprox.semantics.state import (
    Choice,
    Constraint,
    Extreme,
    GuardLines,
    LoneGuard,
    Path,
    Reading,
    Sample,
    Store,
    Valuation,
)
from dipapprox.source import Diagnostic, Span

SHARE_BITS = 64


class Trail(Record, frozen=False, eq=False):
    """A persistent list of the decisions of a path, newest first; never changed."""

    parent: Trail | None
    statement: core.If | core.While | core.Choose
    number: int  # of the statement or, for random choices, of the statement and the outcome
    # Whether the condition held; for choices what came out, for people.
    outcome: bool | core.Value | LinearForm
    # What some cells in the statement stand for, in the turn of a loop.
    cells: Mapping[str, str] = field(default_factory=dict)

    @property
    def taken(self) -> bool:
        """Whether the branch with this number was taken."""
        return self.outcome is not False

    def steps(self) -> Iterator[Trail]:
        """Yield the decisions, newest first."""
        node: Trail | None = self
        while node is not None:
            yield node
            node = node.parent


class State(Record, frozen=False, eq=False):
    store: Store[StoredValue]  # values of the variables assigned so far; inputs are not in it
    # Values of the output cells assigned so far; equal values are one object.
    outputs: Store[core.Value]
    knowledge: Knowledge  # what the path knows about the inputs
    # The guards up to `settled`, when infeasible states are pruned; None to keep all.
    cone: GuardCone | None
    # What of the path is in the cone: many states end before it is needed.
    settled: Path | None = None
    path: Path | None = None  # the guards as they were assumed
    trail: Trail | None = None
    outcomes: int = ALWAYS  # what random choices gave, see `OutcomeSets`
    # Equal for equal outputs, and rarely for others: the sum of the products of two hashes, of cell
    # and value. (Where states differ in one cell each, exclusive ors of hashes of pairs are equal
    # far too often.)
    fingerprint: int = 0
    # A number such that those of all states of a run are 0 under exclusive or, ended ones included:
    # a state that is dropped by mistake is noticed.
    share: int = 0

    def set_output(self, name: str, value: core.Value) -> None:
        """Assign an output cell. `value` must be the one object that stands for equal values."""
        before = self.outputs.get(name)
        change = id(value) if before is None else id(value) - id(before)
        self.fingerprint += hash(name) * change
        self.outputs[name] = value

    def fingerprint_but(self, names: Iterable[str]) -> int:
        found = self.fingerprint
        for name in names:
            value = self.outputs.get(name)
            if value is not None:
                found -= hash(name) * id(value)
        return found

    def fork(self) -> State:
        """Return a copy that may be changed independently; it takes a part of the share."""
        share = getrandbits(SHARE_BITS)
        self.share ^= share
        return self.copy(share)

    def copy(self, share: int = 0) -> State:
        """Return a copy that may be changed independently; without a share it only tries things."""
        return replace(self, store=self.store.fork(), outputs=self.outputs.fork(), share=share)

    def take_values(self, other: State) -> None:
        self.store, self.outputs = other.store.fork(), other.outputs.fork()
        self.fingerprint = other.fingerprint

    def read(self, forms: Forms, name: str, span: Span | None) -> StoredValue:
        """Return the value of a cell, which the first turn of a loop may call by another name.

        Raises:
            NeedsValue: If it is an input that the path has to know first.
            PathFault: If it has none on this path.
        """
        name = forms.cells.get(name, name)
        stored = self.store.get(name)
        if stored is not None:
            return stored
        output = self.outputs.get(name)
        if output is not None:
            return constant(forms, output)
        if name not in forms.inputs:
            message = f"'{name}' is read before it is assigned"
            hint = f"assign '{name}' on every path that leads here"
            raise PathFault("value error", message, span, hint, name)
        form = forms.inputs[name]
        if form is not None:
            return form
        value = self.knowledge.sole(name)
        if value is None:
            raise NeedsValue(name)
        return constant(forms, value)

    def known(self, form: LinearForm, span: Span | None) -> Fraction:
        """Return the number that a form over inputs is.

        Raises:
            NeedsValue: If an input has to be known first.
            PathFault: If there are samples in the form.
        """
        for cell in over_inputs(form, span).inputs():
            if self.knowledge.sole(cell) is None:
                raise NeedsValue(cell)
        return self.knowledge.instantiate(form).constant

    def product(self, left: LinearForm, right: LinearForm, span: Span | None) -> LinearForm:
        """Return the product of two forms with symbols, of which the path knows one.

        Raises:
            NeedsValue: If an input has to be known first.
            PathFault: If there are samples in both.
        """
        left, right = (self.knowledge.instantiate(form) for form in (left, right))
        if left.is_constant:
            return right.scaled(left.constant)
        if right.is_constant:
            return left.scaled(right.constant)
        if left.samples() and right.samples():
            raise PathFault("type error", "product of two reals", span)
        # Not affine: one factor has to be a number, the one with fewer inputs if both may be.
        factors = [form for form in (left, right) if not form.samples()]
        raise NeedsValue(min(factors, key=lambda form: len(form.terms)).inputs()[0])

    def settle(self, points: Points) -> GuardCone | None:
        """Take the whole path into the cone, and return it."""
        if self.cone is not None and self.path is not self.settled:
            for step in steps_since(self.path, self.settled):
                self.cone = taken_in(self.cone, step, points)
            self.settled = self.path
        return self.cone

    def add_guard(self, guard: Constraint) -> None:
        length = 1 if self.path is None else self.path.length + 1
        self.path = Path(self.path, guard, length)

    def add_extreme(self, extreme: Extreme) -> None:
        length = 0 if self.path is None else self.path.length
        self.path = Path(self.path, extreme, length + len(extreme.group) - 1)

    def take_guards(self, cone: GuardCone, points: Points) -> None:
        """Have the guards of a cone, and no others."""
        self.cone, self.path = cone, None
        for guard in cone.guards(points):
            self.add_guard(guard)
        self.settled = self.path


def standing_for(group: Sequence[State]) -> State:
    """Return the first of some states, which are used up: it stands for all."""
    group[0].share = reduce(xor, (state.share for state in group))
    return group[0]


def split_on_guard(
    state: State, guard: Constraint, points: Points
) -> tuple[list[State], list[State]]:
    """Split a state into the part where a guard holds and the part where it does not.

    The state is used up. With a cone, a part that is null is left out and the other part needs no
    new guard; without, both parts are always there.
    """
    cone = state.settle(points)
    verdict = None if cone is None else cone.decides(guard, points)
    if verdict is not None:
        return ([state], []) if verdict else ([], [state])
    negative = state.fork()
    for part, added in ((state, guard), (negative, complement(guard))):
        part.add_guard(added)
    return [state], [negative]


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
    program: core.Program
    merge: bool  # whether infeasible states are dropped and states joined
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
    program: core.Program, merge: bool, looked_at: Sequence[core.Input] | None
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


def check_count(run: Execution, count: int) -> None:
    """Raise `LimitReached` if so many states in progress, and those that ended, are too many."""
    check_states(count + len(run.ended))


def _symbolic(cell: str, domain: tuple[core.Value, ...]) -> LinearForm | None:
    """The form that an input is, or None if some of its values have names."""
    if isinstance(domain, AllReals):
        return LinearForm.symbol(cell)
    if not all(isinstance(value, Fraction) for value in domain):
        return None
    if len(domain) == 1 and isinstance(domain[0], Fraction):
        return LinearForm.constant_form(domain[0])
    return LinearForm.symbol(cell)
