"""What proves a bound of a program's budget for any number of rounds, in the program's words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import assert_never

from dipapprox.automata.analysis import RunBound
from dipapprox.automata.candidates import Candidate
from dipapprox.automata.families import cycles_of, gain_of_round, repeated
from dipapprox.automata.runs import Segment
from dipapprox.automata.structures import (
    DisclosingCycle,
    LeakingCycle,
    LeakingPair,
    Structure,
    ViolatingPath,
)
from dipapprox.automata.words import WordBound
from dipapprox.digits import exact_text
from dipapprox.privacy.description import Table
from dipapprox.proofs.automaton_evidence import Evidence, costs_of_steps
from dipapprox.proofs.automaton_evidence import evidence_fields as automaton_fields
from dipapprox.rounds.compiled import SILENT, Compiled

_MOST_ROWS = 20
_MOST_INPUTS = 12


def evidence_fields(compiled: Compiled, evidence: Evidence) -> dict[str, object]:
    """Return the fields of evidence in JSON; changes and shifts are multiples of the radius."""
    match evidence:
        case RunBound(candidate=candidate):
            costs = costs_of_steps(compiled.automaton, candidate)
            steps = zip(candidate.run, candidate.changes, candidate.cost.shift, costs, strict=True)
            fields = [
                {**_fields(compiled, index), "change": change, "shift": shift,
                 "cost": exact_text(cost * compiled.factor)}
                for index, change, shift, cost in steps
            ]  # fmt: skip
            return {
                "kind": "run",
                "steps": fields[compiled.numbers :],
                "budget": exact_text(evidence.value * compiled.factor),
            }
        case WordBound():
            return automaton_fields(compiled.automaton, evidence)
        case LeakingCycle() | DisclosingCycle() | LeakingPair() | ViolatingPath():
            _, changes = repeated(compiled.automaton, evidence, 1)
            steps_once = zip(evidence.run, changes, strict=True)
            fields = [
                {**_fields(compiled, index), "change": change} for index, change in steps_once
            ]
            cycles = cycles_of(evidence)
            gain = gain_of_round(compiled.automaton, evidence) * compiled.factor
            skipped = compiled.numbers
            return {
                "kind": evidence.code,
                "steps": fields[skipped:],
                "cycles": [[cycle.start - skipped, cycle.end - skipped] for cycle in cycles],
                "gain_of_round": exact_text(gain),
            }
        case _:
            assert_never(evidence)


def _fields(compiled: Compiled, index: int) -> dict[str, object]:
    automaton, words = compiled.automaton, compiled.words[index]
    transition = automaton.transitions[index]
    return {
        "line": words.line,
        "from": automaton.states[transition.source].name,
        "to": automaton.states[transition.target].name,
        "guard": words.guard or "true",
        "output": words.shown or SILENT,
        "stored": list(automaton.names(transition.assigned)),
        "reads": automaton.reads(transition),
    }


# --- words and tables -----------------------------------------------------------------------------


def structure_text(compiled: Compiled, structure: Structure) -> str:
    """Say in a sentence what a structure is, in the words of the program."""
    first, *others = (_place(compiled, structure, cycle) for cycle in cycles_of(structure))
    match structure:
        case LeakingCycle(variable=variable):
            name = compiled.automaton.variables[variable]
            return f"leaking cycle (LC): '{name}' is stored and compared, again and again, {first}"
        case DisclosingCycle():
            return (
                f"disclosing cycle (DC): samples of inputs are published again and again, {first}"
            )
        case LeakingPair(below=below, above=above):
            low, high = (first, *others) if below.start < above.start else (*others, first)
            return (
                f"leaking pair (LP): all samples {low} are known to be smaller than all samples "
                f"{high}"
            )
        case ViolatingPath(path=path, shown_first=shown_first):
            shown = path[0] if shown_first else path[-1]
            side = "below" if shown_first else "above"
            what = _shown_text(compiled, structure, shown)
            return f"privacy violating path (PV): {what} bounds all samples {first} from {side}"
        case _:
            assert_never(structure)


def _place(compiled: Compiled, structure: Structure, part: Segment) -> str:
    """Say where a cycle is: lines, and how its samples compare."""
    words = [compiled.words[index] for index in structure.run[part.start : part.end]]
    parts = []
    for each in dict.fromkeys(words):
        if each.line is not None:
            guard = f" ({each.guard})" if each.guard else ""
            parts.append(f"line {each.line}{guard}")
    return f"of {', '.join(parts)}" if parts else "of a cycle"


def _shown_text(compiled: Compiled, structure: Structure, place: int) -> str:
    if place < compiled.numbers:
        transition = compiled.automaton.transitions[structure.run[place]]
        (name,) = compiled.automaton.names(transition.assigned)
        return f"the number {name}"
    words = compiled.words[structure.run[place]]
    return f"the sample that line {words.line} publishes"


def run_table(compiled: Compiled, candidate: Candidate) -> Table:
    """Lay out a run with the cheapest shift of its samples; equal steps in one row."""
    costs = costs_of_steps(compiled.automaton, candidate)
    steps = list(zip(candidate.run, candidate.changes, candidate.cost.shift, costs, strict=True))[
        compiled.numbers :
    ]
    table = _Steps(compiled)
    for (index, change, shift, cost), same in groupby(steps):
        times = len(list(same))
        total = f"{exact_text(times * cost * compiled.factor)} ε" if cost else "free"
        drawn = compiled.words[index].statement
        table.add(index, times, change, str(shift) if drawn else "", total)
    columns = "line", "sample, and how it compares", "publishes", "input", "shift", "cost"
    unit = "" if compiled.factor == 1 else f"; changes and shifts in units of {compiled.factor}"
    title = "Tight run, and its coupling: the sample of the second run is that of the first + shift"
    return Table(title + unit, columns, table.shortened(len(columns)), (0, 3, 4, 5))


def structure_table(compiled: Compiled, structure: Structure) -> Table:
    """Lay out a run with a structure."""
    _, changes = repeated(compiled.automaton, structure, 1)
    inside = {place for cycle in cycles_of(structure) for place in range(cycle.start, cycle.end)}
    table = _Steps(compiled)
    for place, index in enumerate(structure.run):
        if place >= compiled.numbers:
            table.add(index, 1, changes[place], "again and again" if place in inside else "once")
    columns = "line", "sample, and how it compares", "publishes", "input", "taken"
    return Table("A run with it", columns, table.shortened(len(columns)), (0, 3))


class _Steps:
    """Rows of a table of steps: each draw once, and below it how its samples compare."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._rows: list[tuple[str, ...]] = []
        self._last: tuple[int | None, str] = None, ""

    def add(self, index: int, times: int, change: int, *more: str) -> None:
        """Add a step that is taken some times."""
        words, automaton = self._compiled.words[index], self._compiled.automaton
        draw = words.line, words.statement
        line, what = str(words.line or ""), words.statement
        if words.guard:
            if draw != self._last:
                self._rows.append((line, what, *[""] * (2 + len(more))))
            line, what = "", f"  {words.guard}"
        if times > 1:
            what += f" ({times} times)"
        read = _signed(change) if automaton.reads(automaton.transitions[index]) else ""
        self._rows.append((line, what, words.shown, read, *more))
        self._last = draw

    def shortened(self, width: int) -> tuple[tuple[str, ...], ...]:
        """Return the rows, or the first ones."""
        rows = self._rows
        if len(rows) <= _MOST_ROWS:
            return tuple(rows)
        return (*rows[:_MOST_ROWS], ("", f"… {len(rows) - _MOST_ROWS} more", *[""] * (width - 2)))


def inputs_text(compiled: Compiled, run: Sequence[int], changes: Sequence[int]) -> str | None:
    """Say on which inputs a run loses what its shifts cost; None if it reads none.

    The first run has the change of inputs the other way round: its word is the less likely one.
    """
    automaton = compiled.automaton
    step = [
        exact_text(-change * compiled.factor)
        for index, change in zip(run, changes, strict=True)
        if automaton.reads(automaton.transitions[index])
    ]
    if not step:
        return None
    shown = step if len(step) <= _MOST_INPUTS else [*step[: _MOST_INPUTS - 1], "…"]
    vector = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
    return f"Tight as t grows: inputs t·{vector} against (t + 1)·{vector}"


def _signed(change: int) -> str:
    return f"{change:+d}" if change else "0"
