"""States where paths meet or end in: merged ones out; final states, and faults of those without.

Where paths meet, states with equal outputs and live cells are merged (`join_states`).

What went wrong on a path is said with the decisions that led there, if the path can be taken at
all (`can_be_taken`). In: what a path knows about the inputs, and its guards. It can be taken if
some input meets its conditions and, at that input, the guards leave more than a null set of
samples. Inputs are tried cell by cell; a partial input is given up as soon as the conditions, or
the guards, exclude it:

    partial input -- a condition fails even at its best value      --> give up
         |      -- the guards, each at its best value, are null  --> give up
         |      -- all cells are known                           --> the path can be taken
         `-> every value of the next cell
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from operator import xor

from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.language.cells import assigned
from dipapprox.limits import check_limits, check_states
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import has_interior
from dipapprox.semantics import merging, spent_samples
from dipapprox.semantics.evaluation import Knowledge, PathFault
from dipapprox.semantics.order import cone_of, cones_of
from dipapprox.semantics.outcomes import ALWAYS
from dipapprox.semantics.run import Execution, State, Trail, standing_for
from dipapprox.semantics.state import (
    FinalState,
    FinalStates,
    Guard,
    Sample,
    Valuation,
    assigned_apart,
    guards_of,
)
from dipapprox.source import Diagnostic, Span


def join_states(
    run: Execution, states: list[State], live: int, dead: Collection[str] = ()
) -> list[State]:
    """Merge states with equal outputs and live variables as far as possible.

    The first of those that become one stands for all.

    Args:
        states: They are used up.
        live: The mask of the variables that matter, see `Liveness`.
        dead: Outputs that do not matter, for they are about to be assigned.
    """
    if len(states) < 2:
        return states
    apart = assigned_apart([state.store for state in states])
    cells = run.live.among(live, apart)
    groups: dict[tuple[int, ...], list[list[State]]] = {}
    for state in states:
        # By identity: equal values are one object.
        fingerprint = state.fingerprint_but(dead) if dead else state.fingerprint
        key = (fingerprint, *[id(state.store.get(name)) for name in cells])
        alike = groups.get(key)
        if alike is None:
            groups[key] = [[state]]
            continue
        for group in alike:
            if group[0].outputs.equals(state.outputs, dead):
                group.append(state)
                break
        else:
            alike.append([state])
    result: list[State] = []
    for alike in groups.values():
        for group in alike:
            result += _merged(run, group, live) if len(group) > 1 else group
    return result


def _merged(run: Execution, group: list[State], live: int) -> list[State]:
    if run.spends:  # then nearly all that meet are one so, and the rules take longer
        group = spent_samples.unite_spent(run, group, live)
        if len(group) == 1:
            return group
    first = group[0]
    if all(s.path is first.path and s.knowledge is first.knowledge for s in group):
        # They differ in outcomes alone, as the courses of a walk do that meet.
        outcomes = run.sets.union([state.outcomes for state in group])
        standing_for(group).outcomes = outcomes
        return [first]
    group = merging.merge_states(run, group, live)
    return group if len(group) == 1 else spent_samples.unite_spent(run, group, live)


_MOST_INPUTS = 10_000
"""Partial inputs that are tried; a path that needs more counts as one that can be taken."""


def can_be_taken(knowledge: Knowledge, guards: Iterable[Guard], check: Callable[[], None]) -> bool:
    """Return whether a path has a positive probability for some input.

    False is always proved; True may also mean that the inputs are too many to tell.

    Args:
        check: Called for every partial input; raises to stop.
    """
    conditions = [(c.form, c.strict) for c in knowledge.linear if c.form is not None]
    # Each guard as its part over samples, and its part over inputs with the constant.
    parts = [_parted(guard.form) for guard in guards]
    uses = Counter(
        cell for form in (*(f for f, _ in conditions), *(f for _, f in parts))
        for cell in form.inputs()
    )  # fmt: skip
    cells = [cell for cell, _ in uses.most_common()]
    open_sets: dict[tuple[Fraction, ...], bool] = {}

    def is_excluded(input: Knowledge) -> bool:
        for form, strict in conditions:
            least = input.range(form)[0]
            if least > 0 or (strict and least == 0):
                return True
        bests = tuple(input.range(form)[0] for _, form in parts)
        if bests not in open_sets:
            system = (LinearForm(f.terms, best) for (f, _), best in zip(parts, bests, strict=True))
            open_sets[bests] = has_interior(system)
        return not open_sets[bests]

    waiting = [(knowledge, 0)]
    for _ in range(_MOST_INPUTS):
        if not waiting:
            return False
        check()
        input, known = waiting.pop()
        if is_excluded(input):
            continue
        if known == len(cells):
            return True
        cell = cells[known]
        for value in input.values(cell):
            allowed = {**input.allowed, cell: frozenset({value})}
            waiting.append((Knowledge(input.domains, allowed, input.linear), known + 1))
    return bool(waiting)


def supports(guards: Iterable[Guard], samples: Sequence[Sample]) -> Iterator[Guard]:
    """Yield that the one-sided samples in guards lie on their side of their means."""
    mentioned = {sample for guard in guards for sample in guard.form.samples()}
    for number in sorted(mentioned):
        sample = samples[number]
        above = LinearForm.symbol(number) - sample.mean
        if -1 not in sample.family.sides:
            yield Guard((-above).normalised(), False)
        if 1 not in sample.family.sides:
            yield Guard(above.normalised(), False)


def _parted(form: LinearForm) -> tuple[LinearForm, LinearForm]:
    """Split a form into its terms over samples, and the rest."""
    samples = tuple(term for term in form.terms if isinstance(term[0], int))
    inputs = tuple(term for term in form.terms if isinstance(term[0], str))
    return LinearForm(samples, Fraction(0)), LinearForm(inputs, form.constant)


_MOST_STEPS = 3  # decisions that a message names


def describe_fault(fault: PathFault, trail: Trail | None) -> Diagnostic:
    """Return a fault as a diagnostic that names the path.

    Of the decisions, those that assign the cell at fault in one of their branches are named; if
    there are none, the last ones.
    """
    steps = [
        step
        for step in (trail.steps() if trail is not None else ())
        if not isinstance(_bisection(step), core.If)  # it only leads to another one
    ]
    relevant = [
        step
        for step in steps
        if fault.cell in (step.cells.get(name, name) for name in assigned((step.statement,)))
    ]
    named = (relevant or steps)[:_MOST_STEPS][::-1]
    return fault.diagnostic(" when " + " and ".join(map(_describe, named)) if named else "")


def _bisection(step: Trail) -> core.Statement | None:
    """Return what a step of the bisection of a function such as `floor` leads to: it has the place
    of the call, and so do the statements in its branches."""
    match step.statement:
        case core.If(condition, then, otherwise, span=span) if span == condition.span:
            block = then if step.taken else otherwise
            alone = len(block) == 1 and span is not None and block[0].span == span
            return block[0] if alone else None
        case _:
            return None


def _describe(step: Trail) -> str:
    statement = step.statement
    choice = isinstance(statement, core.Choose)
    span = statement.span if isinstance(statement, core.Choose) else statement.condition.span
    outcome = str(step.outcome).lower() if isinstance(step.outcome, bool) else str(step.outcome)
    if span is None:
        return f"{'choice' if choice else 'condition'} {step.number + 1} is {outcome}"
    match _bisection(step):
        case core.Assign(_, core.Constant(value)):
            outcome = str(value)
    verb = "gives" if choice else "is"
    return f"'{' '.join(span.text.split())}' at line {span.line} {verb} {outcome}"


_MANY_POINTS = 4096
"""An order has as many bits for a point: those of thousands of ended states are not kept."""


def finish(run: Execution, states: Iterable[State], span: Span | None) -> None:
    """Keep the states that have all outputs; `span` is the exit, None at the program's end."""
    for state in states:
        missing = [cell for cell in run.program.real_outputs if state.store.get(cell.name) is None]
        if len(state.outputs) == len(run.program.outputs) and not missing:
            run.ended.append(state)
            if state.cone is not None and len(run.points) > _MANY_POINTS:
                state.cone = None
            continue
        run.refused ^= state.share
        missing += [cell for cell in run.program.outputs if state.outputs.get(cell.name) is None]
        for cell in missing:
            message = f"output '{cell.name}' is never assigned"
            hint = f"assign '{cell.name}' on every path"
            place = span or cell.span
            _report(run, state, PathFault("value error", message, place, hint, cell.name))
    check_states(len(run.ended))


def refuse(run: Execution, state: State, fault: PathFault) -> None:
    run.refused ^= state.share
    _report(run, state, fault)


def _report(run: Execution, state: State, fault: PathFault) -> None:
    """Record the fault of a path, the first one of each cell and place.

    The path ends here: it must be recorded, or be proved to be a null set for every input.
    """
    key = (fault.cell or fault.message, fault.kind, fault.span)
    if key in run.diagnostics:
        return
    guards = guards_of(state.path)
    if cone_of(guards, run.points)[1]:  # a null set
        return
    guards = (*guards, *supports(guards, tuple(run.samples.values())))
    if can_be_taken(state.knowledge, guards, check_limits):
        run.diagnostics[key] = describe_fault(fault, state.trail)


def final_states(run: Execution) -> FinalStates:
    """Return what is left of all states at their ends.

    They are joined if states merge; if not, they keep their decisions, in the order of a
    depth-first execution.
    """
    finals = run.ended
    if run.merge:
        _restore_cones(run)
        finals = join_states(run, finals, run.live.at_end)
    if reduce(xor, (state.share for state in finals), run.refused):
        raise BrokenInvariant("symbolic states were lost during execution")
    found = [_final_state(run, state) for state in finals]
    if not run.merge:
        found.sort(key=lambda state: [(n, not taken) for n, taken in state.decisions])
    return FinalStates(
        run.program,
        tuple(run.samples.values()),
        tuple(found),
        # By identity: hashing a thousand fractions for each of a thousand states is slow.
        tuple({id(state.outputs): state.outputs for state in found}.values()),
        run.merge,
        tuple(run.choices),
        tuple(run.sets.nodes),
        tuple(run.laws.values()),
        run.lines,
        tuple(run.comparisons) if run.spends else (),
    )


def _restore_cones(run: Execution) -> None:
    """Build the cones anew of states that may have outputs in common."""
    alike: dict[int, list[State]] = {}
    for state in run.ended:
        alike.setdefault(state.fingerprint, []).append(state)
    bare = [s for group in alike.values() if len(group) > 1 for s in group if s.cone is None]
    for state, cone in zip(bare, cones_of([s.path for s in bare], run.points), strict=True):
        state.cone, state.settled = cone, state.path


def _final_state(run: Execution, state: State) -> FinalState:
    """Return what is left of a state at its end; equal outputs are one object."""
    outputs = Valuation(run.names, state.outputs)
    alike = run.valuations.setdefault(state.fingerprint, [])
    for known in alike:
        if known == outputs:
            outputs = known
            break
    else:
        alike.append(outputs)
    decisions: tuple[tuple[int, bool], ...] = ()
    if not run.merge and state.trail is not None:
        steps = [(step.number, step.taken) for step in state.trail.steps()]
        decisions = tuple(reversed(steps))
    conditions = state.knowledge.conditions()
    reals = tuple(_real(state, cell) for cell in run.program.real_outputs)
    chosen, compared = (ALWAYS, state.outcomes) if run.spends else (state.outcomes, ALWAYS)
    return FinalState(outputs, conditions, state.path, decisions, chosen, reals, compared)


def _real(state: State, cell: core.Cell) -> LinearForm:
    form = state.store.get(cell.name)
    if not isinstance(form, LinearForm):
        raise BrokenInvariant(f"the output '{cell.name}' of a final state is no number")
    return form
