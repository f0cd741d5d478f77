"""Symbolic execution: core program → final states, inputs symbolic (DiPApprox section 4.2).

Without merging these are the paper's states: every path over real comparisons, infeasible ones
included. With merging, infeasible states are dropped and states are joined where paths meet again
with equal live cells, so that programs with exponentially many paths stay small. Both are exact
up to null sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from operator import xor
from typing import assert_never

from dipapprox.errors import BrokenInvariant, SourceError
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.configuration import Cone, State, Trail, are_contradictory
from dipapprox.semantics.diagnosis import describe_fault
from dipapprox.semantics.evaluation import Evaluator, NeedsValue, PathFault
from dipapprox.semantics.feasibility import can_be_taken
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.liveness import live_cells
from dipapprox.semantics.merging import Region, merge_regions
from dipapprox.semantics.order import Points
from dipapprox.semantics.splitting import Split, Splitter, split_on_input
from dipapprox.semantics.state import FinalState, FinalStates, Sample, guards_of
from dipapprox.source import Diagnostic, Span


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
            range; all such places, each with one path that leads there. The path has a positive
            probability for some input row, unless `can_be_taken` has too many rows to tell.
        LimitReached: If a budget runs out.
        BrokenInvariant: If states were lost on the way: a bug.
    """
    run = _Run(program, merge, limits)
    survivors = run.block(program.body, [run.start()])
    run.finish(survivors, None)
    if run.diagnostics:
        raise SourceError(sorted(run.diagnostics.values(), key=_place))
    return FinalStates(program, tuple(run.samples.values()), tuple(run.final_states()), merge)


def _place(diagnostic: Diagnostic) -> tuple[int, str]:
    span = diagnostic.span
    return (span.start if span is not None else -1), diagnostic.message


class _Run:
    """One execution: the tables that its states share."""

    def __init__(self, program: core.Program, merge: bool, limits: Limits) -> None:
        self.program = program
        self.merge = merge
        self.limits = limits
        self.knowledge = Knowledge.of(program.inputs)
        self.points = Points(self.knowledge)
        self.evaluator = Evaluator(program.inputs)
        self.splitter = Splitter(self.evaluator, self.points, self.refuse)
        self.samples: dict[tuple[object, ...], Sample] = {}
        self.drawn: dict[tuple[object, ...], LinearForm] = {}
        self.finals: list[State] = []
        self.outputs: dict[int, list[tuple[core.Value, ...]]] = {}
        self.diagnostics: dict[tuple[str, str, Span | None], Diagnostic] = {}
        self.domains = {cell.name: {v: v for v in cell.domain} for cell in program.outputs}
        self.output_cells = tuple(self.domains)
        self.live = live_cells(program) if merge else {}
        self.numbers: dict[int, int] = {}
        self.ended = 0  # the shares of the states that ended by a fault

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
                    states = self.each(states, partial(self.assign, statement))
                case core.Draw():
                    states = self.each(states, partial(self.draw, statement))
                case core.If():
                    states = self.branch(statement, states)
                case core.Exit():
                    self.finish(states, statement.span)
                    states = []
                case _:
                    assert_never(statement)
        return states

    def each(self, states: list[State], step: Callable[[State], None]) -> list[State]:
        """Apply a step to every state, splitting those where an input has to be known."""
        result: list[State] = []
        waiting = states[::-1]
        while waiting:
            state = waiting.pop()
            try:
                step(state)
            except NeedsValue as need:
                waiting += split_on_input(state, need.cell)[::-1]
                self.limits.check_states(len(waiting) + len(result) + len(self.finals))
            except PathFault as fault:
                self.refuse(state, fault)
            else:
                result.append(state)
        return result

    def assign(self, statement: core.Assign, state: State) -> None:
        name = self.target(state, statement.target)
        domain = self.domains.get(name)
        if domain is None:
            state.store[name] = self.evaluator.evaluate(statement.value, state)
            return
        value = self.evaluator.concrete(statement.value, state)
        found = domain.get(value)
        if found is None:
            raise PathFault(
                "value error",
                f"'{name}' gets {value}, which is not in its domain",
                statement.span,
                f"allowed are {', '.join(map(str, domain))}",
                name,
            )
        state.set_output(name, found)

    def draw(self, statement: core.Draw, state: State) -> None:
        name = self.target(state, statement.target)
        mean = self.evaluator.mean(statement.mean, state)
        # By identity, which is equality for what an evaluator returns: forms hash slowly.
        key = (statement.site, statement.family, id(mean), statement.scale)
        symbol = self.drawn.get(key)
        if symbol is None:
            self.samples[key] = Sample(
                statement.family, mean, statement.scale, statement.site, name
            )
            symbol = self.evaluator.shared(LinearForm.symbol(len(self.drawn)))
            self.drawn[key] = symbol
        state.store[name] = symbol

    def target(self, state: State, target: core.Variable | core.Element) -> str:
        if isinstance(target, core.Variable):
            return target.name
        return self.evaluator.element(target, state)

    # --- branches -------------------------------------------------------------------------------

    def branch(self, statement: core.If, states: list[State]) -> list[State]:
        number = self.numbers.setdefault(id(statement), len(self.numbers))
        held, failed = list[State](), list[State]()
        for state in states:
            more_held, more_failed = self.decide(statement, number, state)
            held += more_held
            failed += more_failed
            self.limits.check()
            self.limits.check_states(len(held) + len(failed) + len(self.finals))
        result = self.block(statement.then, held) + self.block(statement.otherwise, failed)
        live = self.live.get(id(statement))
        if live is None or len(result) < 2:
            return result
        cells = sorted(live)
        return self.join(result, lambda state: tuple(map(id, map(state.store.get, cells))))

    def decide(self, statement: core.If, number: int, state: State) -> Split:
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

    def join(self, states: list[State], key: Callable[[State], tuple[int, ...]]) -> list[State]:
        """Merge states with equal outputs and keys as far as possible; the first stands for all."""
        groups: dict[tuple[int, tuple[int, ...]], list[list[State]]] = {}
        for state in states:
            alike = groups.setdefault((state.fingerprint, key(state)), [])
            for group in alike:
                if group[0].outputs == state.outputs:
                    group.append(state)
                    break
            else:
                alike.append([state])
        result: list[State] = []
        for alike in groups.values():
            for group in alike:
                result += self.merged(group) if len(group) > 1 else group
        return result

    def merged(self, group: list[State]) -> list[State]:
        regions = []
        for place, state in enumerate(group):
            cone = state.settle(self.points)
            assert cone is not None, "states are merged only where infeasible ones are pruned"
            regions.append(Region(state.knowledge, cone, place, state.share))
        result = []
        for region in merge_regions(regions, self.points, self.limits):
            state = group[region.member]
            state.share = region.share
            if region.merged:
                state.knowledge, state.cone, state.path = region.knowledge, region.cone, None
                for guard in region.cone.guards(self.points):
                    state.add_guard(guard)
            result.append(state)
        return result

    # --- ends of paths --------------------------------------------------------------------------

    def finish(self, states: Iterable[State], span: Span | None) -> None:
        """Keep the states that have all outputs; `span` is the exit, None at the program's end."""
        for state in states:
            if len(state.outputs) == len(self.output_cells):
                self.finals.append(state)
                continue
            self.ended ^= state.share
            for cell in self.program.outputs:
                if cell.name in state.outputs:
                    continue
                message = f"output '{cell.name}' is never assigned"
                hint = f"assign '{cell.name}' on every path"
                place = span or cell.span
                self.report(state, PathFault("value error", message, place, hint, cell.name))
        self.limits.check_states(len(self.finals))

    def refuse(self, state: State, fault: PathFault) -> None:
        """End a path by a fault."""
        self.ended ^= state.share
        self.report(state, fault)

    def report(self, state: State, fault: PathFault) -> None:
        """Record the fault of a path, the first one of each cell and place.

        The path ends here: it must be recorded, or be proved to be a null set for every input.
        """
        key = (fault.cell or fault.message, fault.kind, fault.span)
        if key in self.diagnostics:
            return
        guards = guards_of(state.path)
        if are_contradictory(guards, self.points):
            return
        if can_be_taken(state.knowledge, guards, self.limits.check):
            self.diagnostics[key] = describe_fault(fault, state.trail)

    def final_states(self) -> Iterable[FinalState]:
        finals = self.finals
        if self.merge:
            finals = self.join(finals, lambda state: ())
        if reduce(xor, (state.share for state in finals), self.ended):
            raise BrokenInvariant("symbolic states were lost during execution")
        states = [self.final_state(state) for state in finals]
        if not self.merge:
            # Lexicographic in the decisions: the order of a depth-first execution.
            states.sort(key=lambda state: [(n, not taken) for n, taken in state.decisions])
        return states

    def final_state(self, state: State) -> FinalState:
        outputs = tuple(map(state.outputs.__getitem__, self.output_cells))
        alike = self.outputs.setdefault(state.fingerprint, [])
        for known in alike:
            if known == outputs:
                outputs = known
                break
        else:
            alike.append(outputs)
        decisions: tuple[tuple[int, bool], ...] = ()
        if not self.merge and state.trail is not None:
            steps = [(step.number, step.taken) for step in state.trail.steps()]
            decisions = tuple(reversed(steps))
        return FinalState(outputs, state.knowledge.conditions(), state.path, decisions)
