"""States at the ends of paths in; final states out, and the faults of paths that have none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import xor

from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.configuration import State, are_contradictory, cones_of
from dipapprox.semantics.diagnosis import describe_fault
from dipapprox.semantics.evaluation import PathFault
from dipapprox.semantics.feasibility import can_be_taken, supports
from dipapprox.semantics.join_points import join_states
from dipapprox.semantics.liveness import NOTHING_LIVE
from dipapprox.semantics.order import Points
from dipapprox.semantics.state import FinalState, Valuation, guards_of
from dipapprox.semantics.statements import Statements
from dipapprox.source import Diagnostic, Span

_MANY_POINTS = 4096
"""An order has as many bits for a point: those of thousands of ended states are not kept."""


class PathEnds:
    """Collects what paths end with.

    Args:
        program: The program.
        statements: Knows the samples of the run.
        points: The points of the run.
        limits: Of states.

    Attributes:
        states: The states that ended with all outputs.
        diagnostics: The faults, the first of each cell and place.
        refused: The shares of the states that ended by a fault.
    """

    def __init__(
        self, program: core.Program, statements: Statements, points: Points, limits: Limits
    ) -> None:
        self._outputs = program.outputs
        self._names = tuple(cell.name for cell in program.outputs)
        self._statements = statements
        self._points = points
        self._limits = limits
        self._known: dict[int, list[Valuation]] = {}
        self.states: list[State] = []
        self.diagnostics: dict[tuple[str, str, Span | None], Diagnostic] = {}
        self.refused = 0

    def finish(self, states: Iterable[State], span: Span | None) -> None:
        """Keep the states that have all outputs; `span` is the exit, None at the program's end."""
        for state in states:
            if len(state.outputs) == len(self._outputs):
                self.states.append(state)
                if state.cone is not None and len(self._points) > _MANY_POINTS:
                    state.cone = state.pending = None
                continue
            self.refused ^= state.share
            for cell in self._outputs:
                if state.outputs.get(cell.name) is not None:
                    continue
                message = f"output '{cell.name}' is never assigned"
                hint = f"assign '{cell.name}' on every path"
                place = span or cell.span
                self._report(state, PathFault("value error", message, place, hint, cell.name))
        self._limits.check_states(len(self.states))

    def refuse(self, state: State, fault: PathFault) -> None:
        """End a path by a fault."""
        self.refused ^= state.share
        self._report(state, fault)

    def _report(self, state: State, fault: PathFault) -> None:
        """Record the fault of a path, the first one of each cell and place.

        The path ends here: it must be recorded, or be proved to be a null set for every input.
        """
        key = (fault.cell or fault.message, fault.kind, fault.span)
        if key in self.diagnostics:
            return
        guards = guards_of(state.path)
        if are_contradictory(guards, self._points):
            return
        guards = (*guards, *supports(guards, self._statements.samples))
        if can_be_taken(state.knowledge, guards, self._limits.check):
            self.diagnostics[key] = describe_fault(fault, state.trail)

    def final_states(self, merge: bool) -> list[FinalState]:
        """Return what is left of all states at their ends.

        Args:
            merge: Whether to join states; if not, they keep their decisions, in the order of a
                depth-first execution.

        Raises:
            BrokenInvariant: If states were lost on the way: a bug.
        """
        finals = self.states
        if merge:
            self._restore_cones()
            finals = join_states(finals, NOTHING_LIVE, self._points, self._limits)
        if reduce(xor, (state.share for state in finals), self.refused):
            raise BrokenInvariant("symbolic states were lost during execution")
        found = [self._final_state(state, not merge) for state in finals]
        if not merge:
            found.sort(key=lambda state: [(n, not taken) for n, taken in state.decisions])
        return found

    def _restore_cones(self) -> None:
        """Build the cones anew of states that may have outputs in common."""
        alike: dict[int, list[State]] = {}
        for state in self.states:
            alike.setdefault(state.fingerprint, []).append(state)
        bare = [s for group in alike.values() if len(group) > 1 for s in group if s.cone is None]
        for state, cone in zip(bare, cones_of([s.path for s in bare], self._points), strict=True):
            state.cone = cone

    def _final_state(self, state: State, with_decisions: bool) -> FinalState:
        """Return what is left of a state at its end; equal outputs are one object."""
        outputs = Valuation(self._names, state.outputs)
        alike = self._known.setdefault(state.fingerprint, [])
        for known in alike:
            if known == outputs:
                outputs = known
                break
        else:
            alike.append(outputs)
        decisions: tuple[tuple[int, bool], ...] = ()
        if with_decisions and state.trail is not None:
            steps = [(step.number, step.taken) for step in state.trail.steps()]
            decisions = tuple(reversed(steps))
        knowledge = state.knowledge
        return FinalState(
            outputs, knowledge.conditions(), state.path, decisions, knowledge.choices()
        )
