"""What makes an automaton one of which the theorems speak; each condition with its own message.

- the rate of every noise that is drawn is positive (with rate 0 there is no density);
- determinism: two guards of one state exclude each other, which for conjunctions of atoms means
  that some variable lies above in one and below in the other;
- a state that reads no input has at most one transition, without a guard;
- initialisation: on every path from the initial state a variable is assigned before a guard
  mentions it.

Not conditions, but facts about a valid automaton: output distinction (`determined`) and
states whose guards do not cover all cases (`gaps`), where stopping is an event that no output
word shows: a budget says nothing about *when* the automaton stops there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from dipapprox.automata.model import Automaton, OutputSample, Transition
from dipapprox.errors import Diagnosis
from dipapprox.language.traversal import reachable


def check(automaton: Automaton) -> None:
    """Raise `SourceError` with every violation of the conditions, each at its state or
    transition."""
    problems = Diagnosis()
    for state, leaving in zip(automaton.states, automaton.leaving(), strict=True):
        transitions = [automaton.transitions[index] for index in leaving]
        _check_noise(automaton, state.name, transitions, problems)
        if not state.reads:
            _check_silent(automaton, state.name, transitions, problems)
        else:
            _check_determinism(automaton, state.name, transitions, problems)
    _check_initialisation(automaton, problems)
    problems.finish()


def _check_noise(
    automaton: Automaton, name: str, transitions: Sequence[Transition], problems: Diagnosis
) -> None:
    if not transitions:
        return
    state = automaton.states[transitions[0].source]
    drawn = [("insample", state.compared)]
    showing = [t for t in transitions if t.output is OutputSample.FRESH]
    if showing:
        drawn.append(("insampleprime", state.fresh))
    for sample, noise in drawn:
        if noise is None:
            place = showing[0].span if showing else state.span
            message = f"'{sample}' is drawn, but the state '{name}' gives it no noise"
            hint = "write (state, rate, mean, rate', mean')"
            problems.report("value error", message, place, hint)
        elif noise.rate <= 0:
            message = f"the rate of '{sample}' must be positive in '{name}', got {noise.rate}"
            problems.report("value error", message, state.span)


def _check_silent(
    automaton: Automaton, name: str, transitions: Sequence[Transition], problems: Diagnosis
) -> None:
    for transition in transitions:
        if transition.used:
            guard = automaton.guard_text(transition)
            message = f"the state '{name}' reads no input and cannot have the guard '{guard}'"
            hint = f"only states that read an input compare: drop ':non-input' of '{name}'"
            problems.report("value error", message, transition.span, hint)
            return  # one message for a state that should read
    for transition in transitions[1:]:
        message = f"the state '{name}' reads no input and has more than one transition"
        problems.report("value error", message, transition.span)


def _check_determinism(
    automaton: Automaton, name: str, transitions: Sequence[Transition], problems: Diagnosis
) -> None:
    for first, second in combinations(transitions, 2):
        if not (first.above | second.above) & (first.below | second.below):
            one, other = automaton.guard_text(first), automaton.guard_text(second)
            message = f"'{name}' is not deterministic: '{one}' and '{other}' can hold together"
            hint = "branches have no priorities: some variable must be above in one guard and "
            problems.report("value error", message, second.span, hint + "below in the other")


def _check_initialisation(automaton: Automaton, problems: Diagnosis) -> None:
    """Forward must-analysis; reports each use of a variable that some path leaves unassigned."""
    everything = (1 << len(automaton.variables)) - 1
    assigned = [everything] * len(automaton.states)
    assigned[0] = 0
    leaving = automaton.leaving()
    reached = {0}
    waiting = [0]
    while waiting:
        state = waiting.pop()
        for index in leaving[state]:
            transition = automaton.transitions[index]
            after = assigned[transition.target] & (assigned[state] | transition.assigned)
            if after != assigned[transition.target] or transition.target not in reached:
                assigned[transition.target] = after
                reached.add(transition.target)
                waiting.append(transition.target)
    for transition in automaton.transitions:
        unset = transition.used & ~assigned[transition.source]
        if unset and transition.source in reached:
            names = ", ".join(f"'{name}'" for name in automaton.names(unset))
            place = automaton.states[transition.source].name
            message = f"{names} may be compared in '{place}' before being assigned"
            hint = "assign it on every path from the first state"
            problems.report("value error", message, transition.span, hint)


def gaps(automaton: Automaton) -> tuple[int, ...]:
    """Return the reachable states whose guards leave a case out.

    Orders of the stored values that no run produces are not told apart: `stops.stopping_states`
    has the states in which it can really happen that no guard holds.
    """
    leaving = [[automaton.transitions[k] for k in row] for row in automaton.leaving()]
    reached = reachable([0], lambda state: (step.target for step in leaving[state]))
    open_ = (s for s in reached if leaving[s] and next(uncovered(leaving[s]), None) is not None)
    return tuple(sorted(open_))


def uncovered(
    guards: Sequence[Transition], above: int = 0, below: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield disjoint guards, as pairs (above, below), for all cases that `guards` leave out.

    These exclude each other. Cases, first that of a sample at least `above` and less than `below`,
    are split at a variable that a guard compares, until no guard is left or one holds throughout.
    """
    left = [g for g in guards if not (g.above & below or g.below & above)]
    if not left:
        yield above, below
        return
    # The guard that is nearest to being decided.
    first = min(left, key=lambda g: (g.used & ~(above | below)).bit_count())
    undecided = first.used & ~(above | below)
    if undecided:
        variable = undecided & -undecided
        yield from uncovered(left, above | variable, below)
        yield from uncovered(left, above, below | variable)
