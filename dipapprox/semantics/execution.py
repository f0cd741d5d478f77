"""Symbolic execution: core program → final states, inputs symbolic (DiPApprox section 4.2).

Without merging these are the paper's states: every path over real comparisons, infeasible ones
included. With merging, infeasible states are dropped and states are joined where paths meet again
with equal live cells, so that programs with exponentially many paths stay small. Both are exact
up to null sets, and exact for integer samples (`integers`).

Random choices split a state into one for each outcome; loops are unrolled or, with random choices
in them, Markov `chains`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, reduce
from operator import xor
from typing import assert_never

from dipapprox.distributions import ChoiceLaw, FiniteLaw
from dipapprox.errors import BrokenInvariant, LimitReached, SourceError
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.chains import Chains
from dipapprox.semantics.configuration import Cone, State, Trail, cone_of
from dipapprox.semantics.endings import Endings
from dipapprox.semantics.evaluation import Evaluator, NeedsValue, PathFault
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.joining import join_states
from dipapprox.semantics.liveness import live_cells
from dipapprox.semantics.loops import Situation, choices_in, draw_fault, endless, situation
from dipapprox.semantics.order import Points
from dipapprox.semantics.splitting import Split, Splitter, split_on_input
from dipapprox.semantics.state import FinalState, FinalStates, guards_of
from dipapprox.semantics.statements import Numbering, Statements
from dipapprox.source import Diagnostic


def execute(program: core.Program, merge: bool, limits: Limits) -> FinalStates:
    """Execute a program on symbolic inputs.

    Args:
        program: A closed core program.
        merge: Whether to drop infeasible states and join states (exact up to null sets); if not,
            the result has the paper's states, with their decisions.
        limits: Budget of time, memory and states.

    Returns:
        The final states; for every input row they are disjoint and of total probability 1. States
        with equal outputs share the same tuple object.

    Raises:
        SourceError: If some path reads or ends with an unassigned cell, leaves a domain or an index
            range, has a meaningless weight or never ends; all such places, each with one path that
            leads there. The path has a positive probability for some input row, unless
            `can_be_taken` has too many rows to tell or its guards hold for no integer samples.
        LimitReached: If a budget runs out.
        BrokenInvariant: If states were lost on the way: a bug.
    """
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
        run.endings.finish(survivors, None)
    except LimitReached as reached:
        raise LimitReached(f"{reached.reason}, before all final states were found") from reached
    if run.endings.diagnostics:
        raise SourceError(sorted(run.endings.diagnostics.values(), key=_place))
    states = tuple(run.final_states())
    made = run.statements
    return FinalStates(program, made.samples, states, merge, made.choices, made.laws)


def _place(diagnostic: Diagnostic) -> tuple[int, str]:
    span = diagnostic.span
    return (span.start if span is not None else -1), diagnostic.message


class _Run:
    """One execution: the tables that its states share."""

    def __init__(self, program: core.Program, merge: bool, limits: Limits) -> None:
        self.merge = merge
        self.limits = limits
        domains = {cell.name: cell.domain for cell in program.inputs}
        self.knowledge = Knowledge(domains, {}, frozenset())
        self.points = Points(self.knowledge)
        self.evaluator = Evaluator(program.inputs)
        self.statements = Statements(program, self.evaluator, domains)
        self.endings = Endings(program, self.statements, self.points, limits)
        integers = self.statements.integers
        self.splitter = Splitter(self.evaluator, self.points, integers, self.endings.refuse)
        self.live = live_cells(program)
        parts = (self.statements, self.evaluator, self.points, self.live, limits)
        self.number = Numbering().number
        self.chains = Chains(*parts, self.number, self.endings.refuse)
        self.rounds = 0

    def start(self) -> State:
        return State({}, {}, self.knowledge, Cone() if self.merge else None)

    # --- statements -----------------------------------------------------------------------------

    def block(self, block: core.Block, states: list[State]) -> list[State]:
        """Run a block from every state; return the states that reach its end."""
        for statement in block:
            if not states:
                break
            self.limits.check()
            match statement:
                case core.Assign():
                    states = self.each(states, partial(self.statements.assign, statement))
                case core.Draw():
                    states = self.each(states, partial(self.statements.draw, statement))
                case core.Choose():
                    states = self.each(states, partial(self.choose, statement))
                case core.If():
                    states = self.branch(statement, states)
                case core.While():
                    states = self.loop(statement, states)
                case core.Exit():
                    self.endings.finish(states, statement.span)
                    states = []
                case _:
                    assert_never(statement)
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
                self.endings.refuse(state, fault)
        return result

    def check_states(self, count: int) -> None:
        self.limits.check_states(count + len(self.endings.states))

    # --- random choices -------------------------------------------------------------------------

    def choose(self, statement: core.Choose, state: State) -> list[State]:
        name = self.statements.target(state, statement.target)
        weighed = self.statements.weighed(statement, name, state)
        law = FiniteLaw(tuple(weighed.values()))
        parts = self.split_on_choice(state, law, statement.site, name)
        result = []
        for outcome, (part, value) in enumerate(zip(parts, weighed, strict=True)):
            if len(parts) > 1:
                number = self.number(statement, outcome)
                part.trail = Trail(part.trail, statement, number, value)
            try:
                self.statements.put(part, name, value, statement.span)
            except PathFault as fault:
                self.endings.refuse(part, fault)
            else:
                result.append(part)
        self.check_states(len(result))
        return result

    def split_on_choice(self, state: State, law: ChoiceLaw, site: int, label: str) -> list[State]:
        """Split a state, which is used up, into one for each outcome."""
        count = len(law.weights if isinstance(law, FiniteLaw) else law.outcomes)
        if count == 1:
            return [state]
        cell = self.statements.choice(law, site, label)
        parts = [*(state.fork() for _ in range(count - 1)), state]
        for part, outcome in zip(parts, state.knowledge.values(cell), strict=True):
            known = part.knowledge.restrict(cell, frozenset({outcome}))
            if known is None:
                raise BrokenInvariant("a choice was made twice on a path")
            part.knowledge = known
        return parts

    # --- branches -------------------------------------------------------------------------------

    def branch(self, statement: core.If, states: list[State]) -> list[State]:
        held, failed = list[State](), list[State]()
        for state in states:
            more_held, more_failed = self.decide(statement, state)
            held += more_held
            failed += more_failed
            self.limits.check()
            self.check_states(len(held) + len(failed))
        result = self.block(statement.then, held) + self.block(statement.otherwise, failed)
        return self.join(statement, result)

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

    def join(self, statement: core.If | core.While, states: list[State]) -> list[State]:
        """Merge states after a statement where its branches meet."""
        live = self.live.after.get(id(statement))
        if not self.merge or live is None or len(states) < 2:
            return states
        cells = sorted(live)
        return join_states(
            states,
            lambda state: tuple(map(id, map(state.store.get, cells))),
            self.points,
            self.limits,
        )

    # --- loops ----------------------------------------------------------------------------------

    def loop(self, statement: core.While, states: list[State]) -> list[State]:
        fault = draw_fault(statement)
        if fault is not None:
            for state in states:
                self.endings.refuse(state, fault)
            return []
        first = next(choices_in(statement), None)
        result = []
        for state in states:
            if first is None:
                result += self.unroll(statement, state)
            else:
                result += self.chain(statement, first, state)
            self.check_states(len(result))
        return self.join(statement, result)

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
                self.endings.refuse(state, endless(statement))
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

    def chain(self, statement: core.While, first: core.Choose, state: State) -> list[State]:
        """Run a loop with random choices, of which `first` is one: all are one choice."""
        pruned = state.cone is not None
        if not pruned:
            state.cone = cone_of(guards_of(state.path), self.points)
        left = list[State]()
        for settled, chain in self.chains.explore(statement, state):
            self.statements.require_law(chain.law, first.site, "while")
            parts = self.split_on_choice(settled, chain.law, first.site, "while")
            for outcome, (part, ending) in enumerate(zip(parts, chain.endings, strict=True)):
                if len(parts) > 1:
                    number = self.number(statement, outcome + 1)
                    part.trail = Trail(part.trail, statement, number, True)
                part.take_values(ending.state)
                if not pruned:
                    part.cone = part.pending = None
                if ending.by_exit:
                    self.endings.finish([part], ending.span)
                else:
                    left.append(part)
            self.check_states(len(left))
        return left

    # --- ends of paths --------------------------------------------------------------------------

    def final_states(self) -> list[FinalState]:
        finals = self.endings.states
        if self.merge:
            finals = join_states(finals, lambda state: (), self.points, self.limits)
        if reduce(xor, (state.share for state in finals), self.endings.refused):
            raise BrokenInvariant("symbolic states were lost during execution")
        states = [self.endings.final_state(state, not self.merge) for state in finals]
        if not self.merge:
            # Lexicographic in the decisions: the order of a depth-first execution.
            states.sort(key=lambda state: [(n, not taken) for n, taken in state.decisions])
        return states
