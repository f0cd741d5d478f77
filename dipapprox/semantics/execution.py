"""Symbolic execution: core program → final states, inputs symbolic (DiPApprox section 4.2).

Without merging these are the paper's states: every path over real comparisons, infeasible ones
included. With merging, infeasible states are dropped and states are joined where paths meet again
with equal live cells, or before a branch that overwrites all they differ in, so that programs with
exponentially many paths stay small. Both are exact up to null sets, and exact for integer samples
(`splitting`).

Random choices split a state into one for each outcome, and states that differ in what was chosen
alone are joined before the next choice: a state stands for a set of outcomes (`outcomes`), and its
weight is what theirs add up to. A loop that chooses is a Markov chain and becomes one choice
(`chains`). The turns of a loop of equal turns are executed once for all that begin alike (`turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, assert_never

from dipapprox.cache import Cache
from dipapprox.errors import BrokenInvariant, LimitReached, SourceError
from dipapprox.language import core, domains
from dipapprox.language.cells import statements_in, use_of
from dipapprox.limits import check_limits, current
from dipapprox.linear.form import LinearForm
from dipapprox.semantics import chains, splitting, statements, turns
from dipapprox.semantics.evaluation import NeedsValue, PathFault, evaluate
from dipapprox.semantics.path_ends import final_states, finish, join_states, refuse
from dipapprox.semantics.run import (
    Execution,
    Selection,
    State,
    Trail,
    check_count,
    first_states,
    new_run,
    number_of,
)
from dipapprox.semantics.splitting import decide
from dipapprox.semantics.state import Extreme, FinalStates, refusal_of_reals
from dipapprox.source import Diagnostic

L = TypeVar("L", core.Assign, core.Draw, core.Choose)


def execute(
    program: core.Program,
    merge: bool,
    *,
    real_outputs: bool = False,
    compared: bool = False,
    inputs: Sequence[core.Input] | None = None,
) -> FinalStates:
    """Execute a program on symbolic inputs.

    Args:
        merge: Whether to drop infeasible states and join states (exact up to null sets); if not,
            the result has the paper's states, with their decisions.
        real_outputs: Whether the caller looks at `FinalState.reals`, too. Who does not would take
            what a program publishes for less than it is.
        compared: Whether the caller looks at `FinalState.compared`, and at readings of inputs in
            `FinalState.chosen`, likewise: states may be fewer.
        inputs: Those that the caller looks at, all different; None for all of the program. What
            the program does at others is not followed, faults included.

    Returns:
        The final states; for every input that is looked at they are disjoint and of total
        probability 1. States with equal outputs share the same tuple object.

    Raises:
        UserError: If the program has real outputs, and the caller does not look at them.
        SourceError: If scales are irrational; if some path reads or ends with an unassigned cell,
            leaves a domain or an index range, has a meaningless weight or never ends; all such
            places, each with one path that leads there. The path has a positive probability for
            some input, unless `can_be_taken` has too many inputs to tell or its guards hold for no
            integer samples.
    """
    if program.real_outputs and not real_outputs:
        raise refusal_of_reals(program)
    program.check_rational_scales()
    asked = None if inputs is None else tuple(inputs)
    shared = _shared.get()
    if shared is None:
        return _execute(program, merge, compared, asked)
    # The states keep their program, and so its id.
    key = id(program), merge, current().states, compared, asked
    return shared.find(key, lambda: _execute(program, merge, compared, asked))


@contextmanager
def shared_executions() -> Iterator[None]:
    """Let executions of the same program object share their final states, the last few."""
    before = _shared.set(Cache(6))
    try:
        yield
    finally:
        _shared.reset(before)


_shared: ContextVar[Cache[Hashable, FinalStates] | None] = ContextVar("shared", default=None)
"""The states of the last four executions, at least."""


def _execute(
    program: core.Program, merge: bool, compared: bool, inputs: Sequence[core.Input] | None
) -> FinalStates:
    run = new_run(program, merge, inputs)
    fewer = compared and merge and not program.real_outputs
    chooses = next(statements.choices_in(program.body), None) is not None
    run.counts = fewer and not chooses
    if fewer and not domains.has_real_inputs(program):
        run.places = {cell.name: place for place, cell in enumerate(program.inputs)}
    start = first_states(run, inputs if run.places and chooses else None)
    try:
        ends_of(run, start)
    except LimitReached as reached:
        raise LimitReached(f"{reached.reason}, before all final states were found") from reached
    if run.diagnostics:
        raise SourceError(sorted(run.diagnostics.values(), key=_place))
    return final_states(run)


def ends_of(run: Execution, states: list[State]) -> list[State]:
    """Run the program of an execution from some states; return the states that it ends in."""
    finish(run, _block(run, run.program.body, states), None)
    return run.ended


def _place(diagnostic: Diagnostic) -> tuple[int, str]:
    span = diagnostic.span
    return (span.start if span is not None else -1), diagnostic.message


# --- statements -----------------------------------------------------------------------------------


def _block(run: Execution, block: core.Body, states: list[State]) -> list[State]:
    """Run a block from every state; return the states that reach its end."""
    selections = run.selections.get(id(block))
    if selections is None:
        selections = run.selections[id(block)] = splitting.selections_in(block) if run.merge else {}
    place = 0
    while place < len(block) and states:
        check_limits()
        selected = _select(run, selections[place], states) if place in selections else None
        if selected is not None:
            states, place = selected, place + len(selections[place].branches)
            continue
        states = _statement(run, block[place], states)
        place += 1
    return states


def _statement(
    run: Execution, statement: core.Statement | core.Repeat, states: list[State]
) -> list[State]:
    """Run a statement from every state; return the states that go on."""
    match statement:
        case core.Assign():
            return _each(run, states, statements.assign, statement)
        case core.Draw():
            return _each(run, states, statements.draw, statement)
        case core.Choose():
            states = _join(run, run.live.before[id(statement)], states)
            return _each(run, states, _choose, statement)
        case core.If():
            return _branch(run, statement, states)
        case core.While():
            return _loop(run, statement, states)
        case core.Repeat():
            return _repeat(run, statement, states)
        case core.Exit():
            finish(run, states, statement.span)
            return []
        case _:
            assert_never(statement)


def _repeat(run: Execution, loop: core.Repeat, states: list[State]) -> list[State]:
    """Run the turns of a loop: each once for all that begin in the same way."""
    known, turn = turns.RepeatedTurns(run, loop), 0
    while states and (turn := known.skip(turn, states)) < loop.turns:
        with turns.in_turn(run, loop, turn):
            states = _block(run, loop.body, states)
        turn += 1
    check_count(run, len(states))
    return states


_Step = Callable[[Execution, L, State], list[State]]


def _each(run: Execution, states: list[State], step: _Step[L], statement: L) -> list[State]:
    """Apply a step to every state, splitting those where an input has to be known."""
    result: list[State] = []
    waiting = states[::-1]
    while waiting:
        state = waiting.pop()
        try:
            result += step(run, statement, state)
        except NeedsValue as need:
            waiting += splitting.split_on_input(run, state, need.cell)[::-1]
            check_count(run, len(waiting) + len(result))
        except PathFault as fault:
            refuse(run, state, fault)
    return result


# --- random choices -------------------------------------------------------------------------------


def _choose(run: Execution, statement: core.Choose, state: State) -> list[State]:
    name = statements.target_name(run, state, statement.target)
    law, values = statements.weighed(run, statement, name, state)
    parts = statements.split_by_outcome(run, state, law, statement.site, name)
    result = []
    for outcome, (part, value) in enumerate(zip(parts, values, strict=True)):
        if len(parts) > 1:
            number = number_of(run, statement, outcome)
            part.trail = Trail(part.trail, statement, number, value)
        try:
            statements.assign_value(run, part, name, value, statement.span)
        except PathFault as fault:
            refuse(run, part, fault)
        else:
            result.append(part)
    check_count(run, len(result))
    return result


# --- branches ----------------------------------------------------------------------------------


def _branch(run: Execution, statement: core.If, states: list[State]) -> list[State]:
    held, failed = list[State](), list[State]()
    for state in states:
        more_held, more_failed = decide(run, statement, state)
        held += more_held
        failed += more_failed
        check_limits()
        check_count(run, len(held) + len(failed))
    live = run.live.after.get(id(statement))
    held = _meet(run, live, statement.then, held)
    failed = _meet(run, live, statement.otherwise, failed)
    result = _block(run, statement.then, held) + _block(run, statement.otherwise, failed)
    return _join(run, live, result)


def _meet(run: Execution, live: int | None, block: core.Block, states: list[State]) -> list[State]:
    """Merge states that differ in what a block overwrites: it runs once for all of them; not if
    what is live after it is None."""
    if not run.merge or live is None or not block or len(states) < 2:
        return states
    use = run.uses.get(id(block))
    if use is None:
        use = run.uses[id(block)] = use_of(block)
    dead = use.overwrites - use.reads - run.reals
    if use.exits or not dead:
        return states
    needed = (live | run.live.mask(use.reads)) & ~run.live.mask(dead)
    outputs = {run.cells.get(name, name) for name in dead & run.outputs.keys()}
    return join_states(run, states, needed, outputs)


def _select(run: Execution, selection: Selection, states: list[State]) -> list[State] | None:
    """Run a selection at once, the last candidate first.

    Returns:
        The states after it; None if one of the states, all of which are as they were, has
        candidates that are no different samples of one kind, or knows something of them.
    """
    values: list[list[LinearForm]] = []
    for state in states:
        found = _candidates(run, selection, state)
        if found is None:
            return None
        values.append(found)
    result: list[State] = []
    for state, found in zip(states, values, strict=True):
        result += _selected(run, selection, state, found)
        check_limits()
        check_count(run, len(result))
    return _join(run, run.live.after.get(id(selection.branches[-1])), result)


def _candidates(run: Execution, selection: Selection, state: State) -> list[LinearForm] | None:
    """Return the values of the candidates, the best so far first, if they can be selected."""
    values = [state.store.get(selection.best)]
    try:
        values += [evaluate(run, candidate, state) for candidate in selection.candidates]
    except (NeedsValue, PathFault):
        return None
    return splitting.selectable(values, state, run.points, run.integers)


def _selected(
    run: Execution, selection: Selection, state: State, values: list[LinearForm]
) -> Iterator[State]:
    """Split a state, which is used up, by which of the candidates is the best."""
    samples = [sample for value in values if (sample := value.sole_sample) is not None]
    group, mask = tuple(sorted(samples)), run.points.mask(samples)
    run.lines.note_group(group, selection.branches[0].condition.span)
    trail, cone = state.trail, state.cone
    assert cone is not None
    for place in reversed(range(len(values))):
        part = state if place == 0 else state.fork()
        if samples[place] in run.integers:
            for guard in splitting.ties_apart(selection, values, place):
                part.add_guard(guard)
        else:
            extreme = Extreme(samples[place], group, selection.largest)
            part.cone = cone.with_extreme(extreme, mask, run.points)
            part.add_extreme(extreme)
            part.settled = part.path
        branch = selection.branches[place - 1]
        part.trail = Trail(trail, branch, number_of(run, branch), place > 0, run.cells)
        try:
            for assignment in selection.taken(place - 1) if place else ():
                statements.assign(run, assignment, part)
        except PathFault as fault:
            refuse(run, part, fault)
        else:
            yield part


def _join(run: Execution, live: int | None, states: list[State]) -> list[State]:
    """Merge states where paths meet: with equal live cells; not if these are None."""
    if not run.merge or live is None:
        return states
    return join_states(run, states, live)


# --- loops -------------------------------------------------------------------------------------


def _loop(run: Execution, statement: core.While, states: list[State]) -> list[State]:
    # Nothing bounds the number of samples then, and privacy is undecidable (DiPC paper, section
    # 2.3, "bounded assignments"): no text of a program does it.
    if any(isinstance(each, core.Draw) for each in statements_in((statement,))):
        raise BrokenInvariant("a sample is drawn in a while loop")
    chooses = next(statements.choices_in((statement,)), None) is not None
    left = (chains.leave if chooses else _unroll)(run, statement, states)
    return _join(run, run.live.after[id(statement)], left)


def _unroll(run: Execution, statement: core.While, states: list[State]) -> list[State]:
    """Run a loop without random choices, round by round; states meet where rounds begin.

    Where rounds are more than situations, states have come back to one that they were in, and stay
    in the loop: inputs and samples are what they were, and nothing else is left to chance.
    """
    live = run.live.before[id(statement)]
    left, seen, rounds = list[State](), set[statements.Situation](), 0
    while states:
        states = _join(run, live, states)
        seen.update(statements.situation(run, state, live) for state in states)
        rounds += 1
        if rounds > len(seen):
            for state in states:
                refuse(run, state, statements.endless(statement))
            break
        run.rounds += len(states)
        if run.rounds > current().states:
            raise LimitReached(f"loop limit: more than {current().states} rounds of loops")
        again = list[State]()
        for state in states:
            held, failed = decide(run, statement, state)
            again += held
            left += failed
        states = _block(run, statement.body, again)
        check_count(run, len(left) + len(states))
    return left
