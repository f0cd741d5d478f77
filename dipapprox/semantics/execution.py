"""Symbolic execution: core program → final states, inputs symbolic (DiPApprox section 4.2).

Without merging these are the paper's states: every path over real comparisons, infeasible ones
included. With merging, infeasible states are dropped and states are joined where paths meet again
with equal live cells, or before a branch that overwrites all they differ in, so that programs with
exponentially many paths stay small. Both are exact up to null sets, and exact for integer samples
(`integers`).

Random choices split a state into one for each outcome, and states that differ in what was chosen
alone are joined before the next choice: a state stands for a set of outcomes (`outcomes`), and its
weight is what theirs add up to. A loop that chooses is a Markov chain and becomes one choice
(`chains`). Other loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, assert_never

from dipapprox.deferred import Deferred
from dipapprox.errors import LimitReached, SourceError
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.cells import Use, use_of
from dipapprox.semantics.configuration import Cone, State, Trail, cone_of
from dipapprox.semantics.evaluation import Evaluator, NeedsValue, PathFault
from dipapprox.semantics.guard_lines import GuardLines
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.liveness import CellSet, live_cells
from dipapprox.semantics.loops import Situation, choices_in, draw_fault, endless, situation
from dipapprox.semantics.order import Points
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.path_ends import PathEnds, join_states
from dipapprox.semantics.selections import Selection, candidates, selections_in, ties_apart
from dipapprox.semantics.splitting import Split, Splitter, split_on_input
from dipapprox.semantics.state import Extreme, FinalStates, Store, guards_of, refusal_of_reals
from dipapprox.semantics.statements import Numbering, Statements
from dipapprox.semantics.turns import Turns, uniform_loops
from dipapprox.source import Diagnostic

if TYPE_CHECKING:
    from dipapprox.semantics import chains
else:
    chains = Deferred("dipapprox.semantics.chains")


def execute(
    program: core.Program, merge: bool, limits: Limits, *, real_outputs: bool = False
) -> FinalStates:
    """Execute a program on symbolic inputs.

    Args:
        program: A closed core program.
        merge: Whether to drop infeasible states and join states (exact up to null sets); if not,
            the result has the paper's states, with their decisions.
        limits: Of time, memory and states.
        real_outputs: Whether the caller looks at `FinalState.reals`, too. Who does not would take
            what a program publishes for less than it is.

    Returns:
        The final states; for every input they are disjoint and of total probability 1. States
        with equal outputs share the same tuple object.

    Raises:
        UserError: If the program has real outputs, and the caller does not look at them.
        SourceError: If scales are irrational; if some path reads or ends with an unassigned cell,
            leaves a domain or an index range, has a meaningless weight or never ends; all such
            places, each with one path that leads there. The path has a positive probability for
            some input, unless `can_be_taken` has too many inputs to tell or its guards hold for no
            integer samples.
        LimitReached: If a limit is reached.
        BrokenInvariant: If states were lost on the way: a bug.
    """
    if program.real_outputs and not real_outputs:
        raise refusal_of_reals(program)
    program.check_rational_scales()
    shared = _shared.get()
    if shared is None:
        return _execute(program, merge, limits)
    key = id(program), merge, limits.states  # the states keep their program, and so its id
    states = shared.pop(key, None)
    if states is None:
        states = _execute(program, merge, limits)
    shared[key] = states
    if len(shared) > _MOST_SHARED:
        del shared[next(iter(shared))]
    return states


@contextmanager
def shared_executions() -> Iterator[None]:
    """Let executions of the same program object share their final states, the last few."""
    before = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(before)


_MOST_SHARED = 4

_shared: ContextVar[dict[tuple[int, bool, int], FinalStates] | None]
_shared = ContextVar("shared", default=None)
"""The states of the last executions, the latest last."""


def _execute(program: core.Program, merge: bool, limits: Limits) -> FinalStates:
    run = _Run(program, merge, limits)
    try:
        survivors = run.block(program.body, [run.start()])
        run.ends.finish(survivors, None)
    except LimitReached as reached:
        raise LimitReached(f"{reached.reason}, before all final states were found") from reached
    if run.ends.diagnostics:
        raise SourceError(sorted(run.ends.diagnostics.values(), key=_place))
    states = tuple(run.ends.final_states(merge))
    made = run.statements
    sets = tuple(run.outcomes.nodes)
    return FinalStates(
        program, made.samples, states, merge, made.choices, sets, made.laws, run.lines
    )


def _place(diagnostic: Diagnostic) -> tuple[int, str]:
    span = diagnostic.span
    return (span.start if span is not None else -1), diagnostic.message


class _Run:
    """One execution: the tables that its states share."""

    def __init__(self, program: core.Program, merge: bool, limits: Limits) -> None:
        self.program = program
        self.merge = merge
        self.limits = limits
        domains = {cell.name: cell.domain for cell in program.inputs}
        self.knowledge = Knowledge(domains, {}, frozenset())
        self.points = Points(self.knowledge)
        self.evaluator = Evaluator(program.inputs)
        self.outcomes = OutcomeSets()
        self.statements = Statements(program, self.evaluator, self.outcomes)
        self.live = live_cells(program)
        self.ends = PathEnds(
            program, self.statements, self.points, self.outcomes, self.live.at_end, limits
        )
        integers = self.statements.integers
        self.lines = GuardLines(self.statements.drawn)
        self.splitter = Splitter(
            self.evaluator, self.points, integers, self.lines, self.ends.refuse
        )
        self.number = Numbering().number
        self.chains: chains.Chains | None = None  # made for the first loop that chooses
        self.rounds = 0
        self.outputs = frozenset(cell.name for cell in program.outputs)
        self.reals = frozenset(cell.name for cell in program.real_outputs)
        self.uses: dict[int, Use] = {}  # by the identity of a block
        self.selections: dict[int, dict[int, Selection]] = {}  # likewise

    def start(self) -> State:
        return State(Store(), Store(), self.knowledge, Cone() if self.merge else None)

    # --- statements -----------------------------------------------------------------------------

    def block(self, block: core.Block, states: list[State]) -> list[State]:
        """Run a block from every state; return the states that reach its end."""
        selections = self.selections_in(block)
        loops = uniform_loops(block, selections, self.live) if self.merge else {}
        place = 0
        while place < len(block) and states:
            self.limits.check()
            if place in loops:
                states = self.turns(block, loops[place], states)
                place += loops[place].size * loops[place].turns
                continue
            selected = self.select(selections[place], states) if place in selections else None
            if selected is not None:
                states, place = selected, place + len(selections[place].branches)
                continue
            states = self.step(block[place], states)
            place += 1
        return states

    def step(self, statement: core.Statement, states: list[State]) -> list[State]:
        """Run a statement from every state; return the states that go on."""
        match statement:
            case core.Assign():
                return self.each(states, partial(self.statements.assign, statement))
            case core.Draw():
                return self.each(states, partial(self.statements.draw, statement))
            case core.Choose():
                states = self.join(self.live.before[id(statement)], states)
                return self.each(states, partial(self.choose, statement))
            case core.If():
                return self.branch(statement, states)
            case core.While():
                return self.loop(statement, states)
            case core.Exit():
                self.ends.finish(states, statement.span)
                return []
            case _:
                assert_never(statement)

    def turns(self, block: core.Block, loop: core.UniformLoop, states: list[State]) -> list[State]:
        """Run a uniform loop: a turn is executed once for all that begin in the same way."""
        parts = (self.statements, self.evaluator, self.points, self.ends, self.lines, self.live)
        turns = Turns(self.program, block, loop, *parts)
        turn = 0
        while states and (turn := turns.repeated(turn, states, self.limits.check)) < loop.turns:
            self.live.fill(block, loop, turn)
            for statement in loop.turn(block, turn):
                self.limits.check()
                states = self.step(statement, states)
            turn += 1
        self.check_states(len(states))
        return states

    def each(self, states: list[State], step: Callable[[State], list[State]]) -> list[State]:
        """Apply a step to every state, splitting those where an input has to be known."""
        result: list[State] = []
        waiting = states[::-1]
        while waiting:
            state = waiting.pop()
            try:
                result += step(state)
            except NeedsValue as need:
                waiting += split_on_input(state, need.cell)[::-1]
                self.check_states(len(waiting) + len(result))
            except PathFault as fault:
                self.ends.refuse(state, fault)
        return result

    def check_states(self, count: int) -> None:
        self.limits.check_states(count + len(self.ends.states))

    # --- random choices -------------------------------------------------------------------------

    def choose(self, statement: core.Choose, state: State) -> list[State]:
        name = self.statements.target(state, statement.target)
        law, values = self.statements.weighed(statement, name, state)
        parts = self.statements.outcomes(state, law, statement.site, name)
        result = []
        for outcome, (part, value) in enumerate(zip(parts, values, strict=True)):
            if len(parts) > 1:
                number = self.number(statement, outcome)
                part.trail = Trail(part.trail, statement, number, value)
            try:
                self.statements.put(part, name, value, statement.span)
            except PathFault as fault:
                self.ends.refuse(part, fault)
            else:
                result.append(part)
        self.check_states(len(result))
        return result

    # --- branches -------------------------------------------------------------------------------

    def branch(self, statement: core.If, states: list[State]) -> list[State]:
        held, failed = list[State](), list[State]()
        for state in states:
            more_held, more_failed = self.decide(statement, state)
            held += more_held
            failed += more_failed
            self.limits.check()
            self.check_states(len(held) + len(failed))
        live = self.live.after.get(id(statement))
        held = self.meet(live, statement.then, held)
        failed = self.meet(live, statement.otherwise, failed)
        result = self.block(statement.then, held) + self.block(statement.otherwise, failed)
        return self.join(live, result)

    def meet(self, live: CellSet | None, block: core.Block, states: list[State]) -> list[State]:
        """Merge states that differ in what a block overwrites: it runs once for all of them.

        Args:
            live: What is live after the block; None if states do not meet there.
            block: It follows.
            states: They are used up.
        """
        if not self.merge or live is None or not block or len(states) < 2:
            return states
        use = self.uses.get(id(block))
        if use is None:
            use = self.uses[id(block)] = use_of(block)
        dead = use.overwrites - use.reads - self.reals
        if use.exits or not dead:
            return states
        needed = live.changed(use.reads, dead)
        return self.joined(states, needed, dead & self.outputs)

    def selections_in(self, block: core.Block) -> dict[int, Selection]:
        """Return the selections of a block, found once; none if states are not merged."""
        found = self.selections.get(id(block))
        if found is None:
            found = self.selections[id(block)] = selections_in(block) if self.merge else {}
        return found

    def select(self, selection: Selection, states: list[State]) -> list[State] | None:
        """Run a selection at once, the last candidate first.

        Returns:
            The states after it; None if one of the states, all of which are as they were, has
            candidates that are no different samples of one kind, or knows something of them.
        """
        values: list[list[LinearForm]] = []
        integers = self.statements.integers
        for state in states:
            found = candidates(selection, state, self.evaluator, self.points, integers)
            if found is None:
                return None
            values.append(found)
        result: list[State] = []
        for state, found in zip(states, values, strict=True):
            result += self.selected(selection, state, found)
            self.limits.check()
            self.check_states(len(result))
        return self.join(self.live.after.get(id(selection.branches[-1])), result)

    def selected(
        self, selection: Selection, state: State, values: list[LinearForm]
    ) -> Iterator[State]:
        """Split a state, which is used up, by which of the candidates is the best."""
        samples = [sample for value in values if (sample := value.sole_sample) is not None]
        group, mask = tuple(sorted(samples)), self.points.mask(samples)
        self.lines.note_group(group, selection.branches[0].condition.span)
        trail, cone = state.trail, state.cone
        assert cone is not None
        for place in reversed(range(len(values))):
            part = state if place == 0 else state.fork()
            if samples[place] in self.statements.integers:
                for guard in ties_apart(selection, values, place):
                    part.add_guard(guard)
            else:
                extreme = Extreme(samples[place], group, selection.largest)
                part.cone = cone.with_extreme(extreme, mask, self.points)
                part.add_extreme(extreme)
                part.settled = part.path
            branch = selection.branches[place - 1]
            part.trail = Trail(trail, branch, self.number(branch), place > 0)
            try:
                for assignment in selection.taken(place - 1) if place else ():
                    self.statements.assign(assignment, part)
            except PathFault as fault:
                self.ends.refuse(part, fault)
            else:
                yield part

    def decide(self, statement: core.If | core.While, state: State) -> Split:
        number = self.number(statement)
        path, knowledge, trail = state.path, state.knowledge, state.trail
        held, failed = self.splitter.split(state, statement.condition)
        if len(held) + len(failed) == 1:
            (single,) = held or failed
            if single.path is path and single.knowledge is knowledge:
                return held, failed  # constant on this path: no decision
        for part in held:
            part.trail = Trail(trail, statement, number, True)
        for part in failed:
            part.trail = Trail(trail, statement, number, False)
        return held, failed

    def join(self, live: CellSet | None, states: list[State]) -> list[State]:
        """Merge states where paths meet: with equal live cells; not if these are None."""
        if not self.merge or live is None:
            return states
        return self.joined(states, live, frozenset())

    def joined(
        self, states: list[State], live: Container[str], dead: Collection[str]
    ) -> list[State]:
        return join_states(states, live, self.points, self.outcomes, self.limits, dead)

    # --- loops ----------------------------------------------------------------------------------

    def loop(self, statement: core.While, states: list[State]) -> list[State]:
        fault = draw_fault(statement)
        if fault is not None:
            for state in states:
                self.ends.refuse(state, fault)
            return []
        result = []
        for state in states:
            if next(choices_in(statement), None) is not None:
                result += self.chain(statement, state)
            else:
                result += self.unroll(statement, state)
            self.check_states(len(result))
        return self.join(self.live.after[id(statement)], result)

    def unroll(self, statement: core.While, state: State) -> list[State]:
        """Run a loop without random choices.

        A state that comes back to a situation it was in stays in the loop: inputs and samples are
        what they were, and nothing else is left to chance.
        """
        live = self.live.before[id(statement)]
        left = list[State]()
        waiting = [(state, set[Situation]())]
        while waiting:
            state, seen = waiting.pop()
            here = situation(state, live)
            if here in seen:
                self.ends.refuse(state, endless(statement))
                continue
            seen.add(here)
            self.rounds += 1
            if self.rounds > self.limits.states:
                raise LimitReached(f"loop limit: more than {self.limits.states} rounds of loops")
            held, failed = self.decide(statement, state)
            left += failed
            again = self.block(statement.body, held)
            waiting += [(part, seen if k == 0 else set(seen)) for k, part in enumerate(again)]
            self.check_states(len(left) + len(waiting))
        return left

    def chain(self, loop: core.While, state: State) -> list[State]:
        """Run a loop with random choices in it: all are one choice."""
        pruned = state.cone is not None
        if not pruned:
            state.cone = cone_of(guards_of(state.path), self.points)
            state.settled = state.path
        left = list[State]()
        if self.chains is None:
            parts = (self.statements, self.evaluator, self.points, self.live, self.limits)
            self.chains = chains.Chains(*parts, self.number, self.lines, self.ends.refuse)
        for settled, chain in self.chains.explore(loop, state):
            if not pruned:
                settled.cone = None
            left += self.taken(loop, settled, chain)
            self.check_states(len(left))
        return left

    def taken(self, loop: core.While, state: State, chain: chains.Chain) -> list[State]:
        """Split a state, which is used up, into the ways in which a loop is left."""
        site = next(choices_in(loop)).site
        self.statements.require_law(chain.law, site, "while")
        parts = self.statements.outcomes(state, chain.law, site, "while")
        left = list[State]()
        for outcome, (part, end) in enumerate(zip(parts, chain.ends, strict=True)):
            if len(parts) > 1:
                part.trail = Trail(part.trail, loop, self.number(loop, outcome + 1), True)
            part.take_values(end.state)
            if end.by_exit:
                self.ends.finish([part], end.span)
            else:
                left.append(part)
        return left
