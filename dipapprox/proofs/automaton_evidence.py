"""What proves a bound of an automaton's budget, step by step, for people and as JSON fields."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.automata.analysis import RunBound
from dipapprox.automata.candidates import Candidate
from dipapprox.automata.families import cycles_of, gain_of_round, repeated
from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.rays import RunRay
from dipapprox.automata.runs import Run, Segment
from dipapprox.automata.structures import (
    DisclosingCycle,
    LeakingCycle,
    LeakingPair,
    Structure,
    ViolatingPath,
)
from dipapprox.automata.words import HalfLine, Letters, NearZero, Seen, SeenSymbol, WordBound
from dipapprox.digits import exact_text
from dipapprox.privacy.description import Table

Evidence = RunBound | WordBound | Structure

_MOST_ROWS = 20
"""Steps of a run, in its table."""


def transitions_of(evidence: Evidence) -> frozenset[int]:
    """Return the transitions that evidence is about: a tight run, or what a structure is made of.

    Empty for two inputs and a word, which may fit several runs.
    """
    match evidence:
        case RunBound(candidate=candidate):
            return frozenset(candidate.run)
        case WordBound():
            return frozenset()
        case LeakingPair(path=path) | ViolatingPath(path=path):
            return frozenset(evidence.run[place] for place in (*_in_cycles(evidence), *path))
        case LeakingCycle() | DisclosingCycle():
            return frozenset(evidence.run[place] for place in _in_cycles(evidence))
        case _:
            assert_never(evidence)


def _in_cycles(structure: Structure) -> tuple[int, ...]:
    return tuple(place for cycle in cycles_of(structure) for place in range(cycle.start, cycle.end))


# --- JSON ---------------------------------------------------------------------------------------


def evidence_fields(automaton: Automaton, evidence: Evidence) -> dict[str, object]:
    """Return the fields of evidence in JSON."""
    match evidence:
        case RunBound(candidate=candidate):
            costs = costs_of_steps(automaton, candidate)
            steps = zip(candidate.run, candidate.changes, candidate.cost.shift, costs, strict=True)
            return {
                "kind": "run",
                "steps": [
                    {
                        **_step_fields(automaton, index),
                        "change": change,
                        "shift": shift,
                        "cost": exact_text(cost),
                    }
                    for index, change, shift, cost in steps
                ],
                "budget": exact_text(evidence.value),
            }
        case WordBound(again=again):
            return {
                "kind": "word",
                "first": _letters(evidence.first),
                "second": _letters(evidence.second),
                "word": [seen_text(seen) for seen in evidence.word],
                "again": None if again is None else list(again),
                "budget": exact_text(evidence.value),
            }
        case LeakingCycle() | DisclosingCycle() | LeakingPair() | ViolatingPath():
            _, changes = repeated(automaton, evidence, 1)
            steps_once = zip(evidence.run, changes, strict=True)
            return {
                "kind": evidence.code,
                "steps": [
                    {**_step_fields(automaton, index), "change": change}
                    for index, change in steps_once
                ],
                "cycles": [[cycle.start, cycle.end] for cycle in cycles_of(evidence)],
                "gain_of_round": exact_text(gain_of_round(automaton, evidence)),
            }
        case _:
            assert_never(evidence)


def _step_fields(automaton: Automaton, index: int) -> dict[str, object]:
    transition = automaton.transitions[index]
    return {
        "line": _line(automaton, index),
        "from": automaton.states[transition.source].name,
        "to": automaton.states[transition.target].name,
        "guard": automaton.guard_text(transition),
        "output": output_text(automaton, index),
        "stored": list(automaton.names(transition.assigned)),
        "reads": automaton.reads(transition),
    }


def _letters(letters: Letters) -> list[str | None]:
    return [None if letter is None else exact_text(letter) for letter in letters]


# --- words and tables ---------------------------------------------------------------------------


def costs_of_steps(automaton: Automaton, candidate: Candidate) -> tuple[Fraction, ...]:
    """Return what each step of a run costs: rate · |shift - change|, and what a fresh sample pays.

    They add up to the cost of the run.
    """
    costs = []
    steps = zip(candidate.run, candidate.changes, candidate.cost.shift, strict=True)
    for index, change, shift in steps:
        transition = automaton.transitions[index]
        moved = automaton.rate(transition) * abs(shift - change)
        costs.append(moved + automaton.fresh_cost(transition) * abs(change))
    return tuple(costs)


def structure_text(automaton: Automaton, structure: Structure) -> str:
    """Say in a sentence what a structure is, in the names and lines of the file."""
    first, *others = (_place(automaton, structure.run, cycle) for cycle in cycles_of(structure))
    match structure:
        case LeakingCycle(variable=variable):
            name = automaton.variables[variable]
            return (
                f"leaking cycle (LC): the cycle {first} stores '{name}' and compares it, again "
                "and again"
            )
        case DisclosingCycle():
            return f"disclosing cycle (DC): the cycle {first} shows samples of its inputs"
        case LeakingPair(below=below, above=above):
            low, high = (first, *others) if below.start < above.start else (*others, first)
            return (
                f"leaking pair (LP): all samples of the cycle {low} are known to be smaller than "
                f"those of the cycle {high}"
            )
        case ViolatingPath(path=path, shown_first=shown_first):
            shown = path[0] if shown_first else path[-1]
            side = "below" if shown_first else "above"
            return (
                "privacy violating path (PV): the sample shown "
                f"{_place(automaton, structure.run, Segment(shown, shown + 1))} bounds all samples "
                f"of the cycle {first} from {side}"
            )
        case _:
            assert_never(structure)


def _place(automaton: Automaton, run: Run, part: Segment) -> str:
    lines = sorted({_line(automaton, index) or 0 for index in run[part.start : part.end]} - {0})
    if lines:
        noun = "line" if len(lines) == 1 else "lines"
        return f"on {noun} {', '.join(map(str, lines))}"
    states = (automaton.transitions[run[place]].source for place in range(part.start, part.end))
    return f"through {', '.join(automaton.states[state].name for state in states)}"


def ray_fields(ray: RunRay | None) -> dict[str, object] | None:
    """Return the fields of two inputs, and of what is seen, in JSON."""
    if ray is None:
        return None
    return {
        "first": _letters(ray.first),
        "second": _letters(ray.second),
        "word": [seen_text(seen) for seen in ray.word],
    }


def evidence_table(automaton: Automaton, evidence: Evidence, ray: RunRay | None = None) -> Table:
    """Lay evidence out: a step, or a letter, a row; a run with inputs on its ray."""
    match evidence:
        case RunBound(candidate=candidate):
            return _run_table(automaton, candidate, ray)
        case WordBound():
            return _word_table(evidence)
        case LeakingCycle() | DisclosingCycle() | LeakingPair() | ViolatingPath():
            return _structure_table(automaton, evidence)
        case _:
            assert_never(evidence)


def _run_table(automaton: Automaton, candidate: Candidate, ray: RunRay | None) -> Table:
    costs = costs_of_steps(automaton, candidate)
    rows = [
        (
            *_step_cells(automaton, index),
            _input_cell(automaton, candidate, ray, place),
            str(candidate.cost.shift[place]),
            f"{costs[place]} ε",
        )
        for place, index in enumerate(candidate.run)
    ]
    title = "Tight run: the cheapest shift of its samples for these changes of inputs"
    columns = "line", "step", "guard", "shows", "input", "shift", "cost"
    return Table(title, columns, _shortened(rows, len(columns)), (0, 4, 5, 6))


def _input_cell(automaton: Automaton, candidate: Candidate, ray: RunRay | None, place: int) -> str:
    """Write how an input changes: "2 → 1" on the ray, else by how much."""
    if ray is None or ray.first[place] is None:
        return _signed(automaton, candidate.run[place], candidate.changes[place])
    return f"{ray.first[place]} → {ray.second[place]}"


def ray_table(ray: RunRay, rounds: int) -> Table:
    """Lay the inputs of some rounds out."""
    rows = _seen_rows(ray)
    columns = "first input", "second input", "seen"
    title = f"Inputs of {rounds} rounds, for which as much is lost as ε grows"
    return Table(title, columns, _shortened(rows, len(columns)), (0, 1))


def _structure_table(automaton: Automaton, structure: Structure) -> Table:
    inside = set(_in_cycles(structure))
    rows = [
        (
            *_step_cells(automaton, index),
            ", ".join(automaton.names(automaton.transitions[index].assigned)),
            "again and again" if place in inside else "once",
        )
        for place, index in enumerate(structure.run)
    ]
    columns = "line", "step", "guard", "shows", "stores", "taken"
    return Table("A run with it", columns, _shortened(rows, len(columns)), (0,))


def _word_table(bound: WordBound) -> Table:
    rows = _seen_rows(bound)
    title = "As ε grows, this word becomes less and less likely for the first inputs"
    columns: tuple[str, ...] = "first input", "second input", "seen"
    if bound.again is not None:
        start, end = bound.again
        columns = *columns, "taken"
        taken = ["again and again" if start <= k < end else "once" for k in range(len(rows))]
        rows = [(*row, each) for row, each in zip(rows, taken, strict=True)]
    return Table(title, columns, _shortened(rows, len(columns)), (0, 1))


def _seen_rows(known: WordBound | RunRay) -> list[tuple[str, ...]]:
    return [
        (*("" if letter is None else exact_text(letter) for letter in pair), seen_text(seen))
        for *pair, seen in zip(known.first, known.second, known.word, strict=True)
    ]


def _shortened(rows: Sequence[tuple[str, ...]], width: int) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= _MOST_ROWS:
        return tuple(rows)
    more = ("", f"… {len(rows) - _MOST_ROWS} more", *[""] * (width - 2))
    return (*rows[:_MOST_ROWS], more)


def _step_cells(automaton: Automaton, index: int) -> tuple[str, str, str, str]:
    transition = automaton.transitions[index]
    states = automaton.states
    step = f"{states[transition.source].name} → {states[transition.target].name}"
    guard = automaton.guard_text(transition) if transition.used else ""
    return str(_line(automaton, index) or ""), step, guard, output_text(automaton, index)


def _signed(automaton: Automaton, index: int, change: int) -> str:
    return (
        f"{change:+d}" if change else "0" if automaton.reads(automaton.transitions[index]) else ""
    )


def output_text(automaton: Automaton, index: int) -> str:
    """Write what a transition shows."""
    output = automaton.transitions[index].output
    return output.value if isinstance(output, OutputSample) else output


def seen_text(seen: Seen) -> str:
    """Write what is seen of an output."""
    match seen:
        case SeenSymbol(name=name):
            return name
        case NearZero():
            return "a number close to 0"
        case HalfLine(end=end, upwards=upwards):
            return f"a number {'>' if upwards else '<'} {exact_text(end)}"
        case _:
            assert_never(seen)


def _line(automaton: Automaton, index: int) -> int | None:
    span = automaton.transitions[index].span
    return None if span is None else span.line
