"""DiP automata: finite control, stored Laplace samples, one comparison of samples a step.

The model of Chadha, Sistla, Viswanathan and Bhusal, *Deciding Differential Privacy of Online
Algorithms with Multiple Variables* (CCS 2023), section 3. In a state one draws `insample` and,
independently, `insample'`, both Laplace, at an input state with the input added to their means;
one takes the transition whose guard compares `insample` with the stored values as required, emits
its output and stores `insample` in the variables that it assigns. Rates are multiplied by ε: the
scale of `Lap(d)` is 1 / (d·ε). Ties have probability 0, so `>` and `>=` are the same.

The coupling paper's automata with one threshold are those with one variable.

Sets of variables are bit masks over `Automaton.variables`; all numbers are exact.

What makes an automaton one of which the theorems speak; each condition with its own message.

- the rate of every noise that is drawn is positive (with rate 0 there is no density);
- determinism: two guards of one state exclude each other, which for conjunctions of atoms means
  that some variable lies above in one and below in the other;
- a state that reads no input has at most one transition, without a guard;
- initialisation: on every path from the initial state a variable is assigned before a guard
  mentions it.

Not conditions, but facts about a valid automaton: output distinction (`runs`) and
states whose guards do not cover all cases (`gaps`), where stopping is an event that no output
word shows: a budget says nothing about *when* the automaton stops there.

Models are read from texts, names as indices and masks, and drawn as graphs in DOT.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from dipapprox.bundled import shown_name
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import Diagnosis, check_visible, did_you_mean
from dipapprox.graphs import bits
from dipapprox.language.dipa import AutomatonNoise, AutomatonText, parse_dipa
from dipapprox.language.load import read_text
from dipapprox.language.traversal import reachable
from dipapprox.source import Located, Span


class OutputSample(Enum):
    """A real output: the sample that guards compare, or the fresh one."""

    COMPARED = "insample"
    FRESH = "insampleprime"


Output = str | OutputSample  # a symbol, or a sample


def is_real(output: Output) -> bool:
    """Whether an output is a real number; which sample it is cannot be seen."""
    return isinstance(output, OutputSample)


class ControlState(Located):
    name: str
    reads: bool
    # Noise of `insample`; None only where nothing is drawn, at a halting state.
    compared: AutomatonNoise | None
    fresh: AutomatonNoise | None = None  # noise of `insample'`; None if it is not used


class Transition(Located):
    """One step; guards speak of the values before it."""

    source: int
    above: int  # mask of the variables x with `insample >= x` in the guard
    below: int  # mask of the variables x with `insample < x` in the guard
    target: int
    output: Output
    assigned: int  # mask of the variables that become `insample`

    @property
    def used(self) -> int:
        return self.above | self.below


class Automaton(Record):
    """An automaton; `check` says whether the theory speaks of it."""

    variables: tuple[str, ...]  # bit i of a mask is variable i
    states: tuple[ControlState, ...]  # the first one is initial
    transitions: tuple[Transition, ...]  # those of one state in order of the text
    # The ends of the interval in which changes of inputs lie: costs are convex in them. Words are
    # about 1 and -1, whatever these are; weights and the graphs of structures bound all of them.
    changes: tuple[int, ...] = (1, -1)
    name: str = field(default="automaton", compare=False)  # what answers call it

    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each state, the indices of its transitions."""
        found: list[list[int]] = [[] for _ in self.states]
        for index, transition in enumerate(self.transitions):
            found[transition.source].append(index)
        return tuple(map(tuple, found))

    def names(self, mask: int) -> tuple[str, ...]:
        return tuple(self.variables[i] for i in bits(mask))

    def guard_text(self, transition: Transition) -> str:
        """Return a guard as it is written in `.dipa` files; "true" if it is empty."""
        atoms = [f"insample >= {name}" for name in self.names(transition.above)]
        atoms += [f"insample < {name}" for name in self.names(transition.below)]
        return " && ".join(atoms) or "true"

    def reads(self, transition: Transition) -> bool:
        return self.states[transition.source].reads

    def ends(self, transition: Transition) -> tuple[int, int]:
        """Return the least and the most by which the input of a transition may change."""
        return (min(self.changes), max(self.changes)) if self.reads(transition) else (0, 0)

    def rate(self, transition: Transition) -> Fraction:
        """Return the rate of the compared sample of a transition."""
        noise = self.states[transition.source].compared
        if noise is None:
            raise ValueError("a state with transitions has noise")
        return noise.rate

    def fresh_cost(self, transition: Transition) -> Fraction:
        """Return what a change of the input by 1 costs at the fresh sample: 0 if it is not seen."""
        state = self.states[transition.source]
        if transition.output is not OutputSample.FRESH or not state.reads or state.fresh is None:
            return Fraction(0)
        return state.fresh.rate


def check(automaton: Automaton) -> None:
    """Raise `SourceError` with every violation of the conditions, each at its state or
    transition."""
    problems = Diagnosis()
    for state, leaving in zip(automaton.states, automaton.leaving(), strict=True):
        for problem in _violations(automaton, state, [automaton.transitions[k] for k in leaving]):
            problems.report("value error", *problem)
    _check_initialisation(automaton, problems)
    problems.finish()


def _violations(
    automaton: Automaton, state: ControlState, transitions: Sequence[Transition]
) -> Iterator[tuple[str, Span | None, str]]:
    """Yield what is wrong with a state, where, and how to mend it."""
    name = state.name
    showing = [t for t in transitions if t.output is OutputSample.FRESH]
    drawn = [("insample", state.compared)] * bool(transitions)
    for sample, noise in (*drawn, *[("insampleprime", state.fresh)] * bool(showing)):
        if noise is None:
            place = showing[0].span if showing else state.span
            message = f"'{sample}' is drawn, but the state '{name}' gives it no noise"
            yield message, place, "write (state, rate, mean, rate', mean')"
        elif noise.rate <= 0:
            message = f"the rate of '{sample}' must be positive in '{name}', got {noise.rate}"
            yield message, state.span, ""
    if not state.reads:
        for transition in (t for t in transitions if t.used):
            guard = automaton.guard_text(transition)
            message = f"the state '{name}' reads no input and cannot have the guard '{guard}'"
            hint = f"only states that read an input compare: drop ':non-input' of '{name}'"
            yield message, transition.span, hint
            return  # one message for a state that should read
        for transition in transitions[1:]:
            message = f"the state '{name}' reads no input and has more than one transition"
            yield message, transition.span, ""
        return
    for first, second in combinations(transitions, 2):
        if not (first.above | second.above) & (first.below | second.below):
            one, other = automaton.guard_text(first), automaton.guard_text(second)
            message = f"'{name}' is not deterministic: '{one}' and '{other}' can hold together"
            hint = "branches have no priorities: some variable must be above in one guard and "
            yield message, second.span, hint + "below in the other"


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

    Orders of the stored values that no run produces are not told apart: `unfolding.stopping_states`
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


# --- from texts ----------------------------------------------------------------------------------

_SAMPLES = {sample.value: sample for sample in OutputSample}


def load_automaton(path: Path) -> Automaton:
    """Read a `.dipa` file and check the automaton; the file's stem becomes its name."""
    check_visible(path.stem, "the automaton's name")
    return replace(automaton_of(parse_dipa(read_text(path), shown_name(path))), name=path.stem)


def automaton_of(text: AutomatonText) -> Automaton:
    """Build the automaton that a text describes, and check that it is one.

    A state that is only gone to stops there. Declaring a state twice, assigning a variable nowhere,
    and what `check` finds raise `SourceError`, with all that is wrong.
    """
    problems = Diagnosis()
    states: dict[str, ControlState] = {}
    for location in text:
        if location.name in states:
            message = f"the state '{location.name}' is declared twice"
            hint = "give all its transitions in one block, joined by 'elseif'"
            problems.report("name error", message, location.span, hint)
        fresh = location.insample_prime
        states[location.name] = ControlState(
            location.name, location.reads, location.insample, fresh, span=location.span
        )
    steps = [(location, step) for location in text for step in location.steps]
    for _, step in steps:
        end = ControlState(step.target, False, None, span=step.target_span)
        states.setdefault(step.target, end)
    numbers = {name: index for index, name in enumerate(states)}
    variables = {name: None for _, step in steps for name in step.assigned}
    masks = {name: 1 << index for index, name in enumerate(variables)}
    transitions = []
    unknown = set[str]()
    for location, step in steps:
        masked = {True: 0, False: 0}
        for atom in step.guard:
            if atom.variable in unknown:
                continue
            if atom.variable not in masks:
                unknown.add(atom.variable)
                message = f"the variable '{atom.variable}' is never assigned"
                hint = did_you_mean(atom.variable, masks)
                problems.report("name error", message, atom.span, hint)
                continue
            if masked[not atom.at_least] & masks[atom.variable]:
                message = "the guard can never hold: it has insample on both sides of "
                message += f"'{atom.variable}'"
                problems.report("value error", message, atom.span)
            masked[atom.at_least] |= masks.get(atom.variable, 0)
        assigned = sum(masks[name] for name in step.assigned)
        output: Output = _SAMPLES.get(step.output, step.output)
        transitions.append(
            Transition(
                numbers[location.name],
                masked[True],
                masked[False],
                numbers[step.target],
                output,
                assigned,
                span=step.span,
            )
        )
    problems.finish()
    automaton = Automaton(tuple(variables), tuple(states.values()), tuple(transitions))
    check(automaton)
    return automaton


# --- As a graph in the DOT language ---------------------------------------------------------------


def to_dot(automaton: Automaton, marked: Collection[int] = (), title: str = "automaton") -> str:
    """Return the text of a directed graph.

    States that read an input are ellipses, others boxes, halting ones double circles; an edge says
    the guard, the output and what is stored.

    Args:
        marked: Indices of transitions to draw in red: those of a bad structure, or of a tight run.
    """
    lines = [f"digraph {_quoted(title)} {{", "  rankdir=LR;", '  start [shape=point, label=""];']
    stopping = [not leaving for leaving in automaton.leaving()]
    for number, (state, stops) in enumerate(zip(automaton.states, stopping, strict=True)):
        shape = "doublecircle" if stops else "ellipse" if state.reads else "box"
        lines.append(f"  s{number} [shape={shape}, label={_quoted(_state_text(state, stops))}];")
    lines.append("  start -> s0;")
    for number, transition in enumerate(automaton.transitions):
        look = ", color=red, fontcolor=red, penwidth=2" if number in marked else ""
        label = _quoted(_step_text(automaton, transition))
        lines.append(f"  s{transition.source} -> s{transition.target} [label={label}{look}];")
    return "\n".join([*lines, "}", ""])


def _state_text(state: ControlState, stops: bool) -> str:
    lines = [state.name]
    if not stops:
        for noise, name in ((state.compared, "insample"), (state.fresh, "insample'")):
            if noise is not None:
                mean = f"input + {noise.mean}" if state.reads else str(noise.mean)
                lines.append(f"{name} ~ Lap({mean}, rate {noise.rate} ε)")
    return "\n".join(lines)


def _step_text(automaton: Automaton, transition: Transition) -> str:
    output = transition.output
    lines = [] if not transition.used else [automaton.guard_text(transition)]
    lines.append(f"show {output.value if isinstance(output, OutputSample) else output}")
    lines += [f"{name} := insample" for name in automaton.names(transition.assigned)]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
