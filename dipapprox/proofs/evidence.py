"""What proves a bound for inputs of any length, step by step, for people and as JSON fields.

A program is an automaton whose steps have words of their own; of an automaton they are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import assert_never

from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import RunCost
from dipapprox.automata.structures import BadStructure, gain_of_round, repeated
from dipapprox.automata.words import HalfLine, NearZero, Seen, SeenSymbol, WordBound
from dipapprox.digits import exact_text
from dipapprox.privacy.description import Table
from dipapprox.rounds.compiled import SILENT, Compiled, Words

Evidence = RunCost | WordBound | BadStructure
_MOST_ROWS = 20
_MOST_INPUTS = 12


def in_own_words(automaton: Automaton) -> Compiled:
    words = []
    for step in automaton.transitions:
        source, target = automaton.states[step.source].name, automaton.states[step.target].name
        line = None if step.span is None else step.span.line
        guard = automaton.guard_text(step) if step.used else ""
        shown = step.output.value if isinstance(step.output, OutputSample) else step.output
        words.append(Words(line, f"{source} → {target}", guard, shown))
    return Compiled(automaton, tuple(words), (), Fraction(1), (), 0, integers=False, tells=True)


def transitions_of(evidence: Evidence) -> frozenset[int]:
    """Return the transitions that evidence is about: a tight run, or what a structure is made of.

    Empty for two inputs and a word, which may fit several runs.
    """
    match evidence:
        case RunCost():
            return frozenset(evidence.run)
        case WordBound():
            return frozenset()
        case BadStructure():
            places = *_in_cycles(evidence), *evidence.path
            return frozenset(evidence.run[place] for place in places)
        case _:
            assert_never(evidence)


def _in_cycles(structure: BadStructure) -> frozenset[int]:
    return frozenset(k for cycle in structure.cycles for k in cycle)


# --- JSON ---------------------------------------------------------------------------------------


def evidence_fields(compiled: Compiled, evidence: Evidence) -> dict[str, object]:
    """Return the fields of evidence in JSON; changes and shifts are multiples of the radius."""
    skipped = compiled.numbers
    match evidence:
        case RunCost():
            costs = costs_of_steps(compiled.automaton, evidence)
            steps = zip(evidence.run, evidence.changes, evidence.shift, costs, strict=True)
            fields = [
                {**_fields(compiled, index), "change": change, "shift": shift,
                 "cost": exact_text(cost * compiled.factor)}
                for index, change, shift, cost in steps
            ]  # fmt: skip
            budget = exact_text(evidence.value * compiled.factor)
            return {"kind": "run", "steps": fields[skipped:], "budget": budget}
        case WordBound(again=again):
            return {
                "kind": "word",
                **_word_fields(evidence),
                "again": None if again is None else list(again),
                "budget": exact_text(evidence.value),
            }
        case BadStructure():
            _, changes = repeated(compiled.automaton, evidence, 1)
            once = zip(evidence.run, changes, strict=True)
            fields = [{**_fields(compiled, index), "change": change} for index, change in once]
            gain = gain_of_round(compiled.automaton, evidence) * compiled.factor
            return {
                "kind": evidence.code,
                "steps": fields[skipped:],
                "cycles": [
                    [cycle.start - skipped, cycle.stop - skipped] for cycle in evidence.cycles
                ],
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


def ray_fields(ray: WordBound | None) -> dict[str, object] | None:
    """Return the fields of two inputs, and of what is seen, in JSON."""
    return None if ray is None else _word_fields(ray)


def _word_fields(known: WordBound) -> dict[str, object]:
    letters = ([each.first for each in known.word], [each.second for each in known.word])
    first, second = ([None if q is None else exact_text(q) for q in own] for own in letters)
    return {"first": first, "second": second, "word": [seen_text(s.seen) for s in known.word]}


# --- words and tables ---------------------------------------------------------------------------


def costs_of_steps(automaton: Automaton, known: RunCost) -> tuple[Fraction, ...]:
    """Return what each step of a run costs: rate · |shift - change|, and what a fresh sample pays.

    They add up to the cost of the run.
    """
    costs = []
    steps = zip(known.run, known.changes, known.shift, strict=True)
    for index, change, shift in steps:
        transition = automaton.transitions[index]
        moved = automaton.rate(transition) * abs(shift - change)
        costs.append(moved + automaton.fresh_cost(transition) * abs(change))
    return tuple(costs)


def structure_text(compiled: Compiled, structure: BadStructure) -> str:
    """Say in a sentence what a structure is."""
    places = {cycle: _place(compiled, structure, cycle) for cycle in structure.cycles}
    first, below, above = next(iter(places.values())), structure.below, structure.above
    if structure.variable is not None:
        name = compiled.automaton.variables[structure.variable]
        return f"leaking cycle (LC): '{name}' is stored and compared, again and again, {first}"
    if structure.code == "DC":
        return f"disclosing cycle (DC): samples of inputs are published again and again, {first}"
    if below is not None and above is not None:
        return (
            f"leaking pair (LP): all samples {places[below]} are known to be smaller than all "
            f"samples {places[above]}"
        )
    shown, side = (structure.path[0], "below") if below is None else (structure.path[-1], "above")
    what = _shown_text(compiled, structure, shown)
    return f"privacy violating path (PV): {what} bounds all samples {first} from {side}"


def _place(compiled: Compiled, structure: BadStructure, part: range) -> str:
    """Say where a cycle is: lines, and how its samples compare."""
    parts = []
    for each in dict.fromkeys(compiled.words[k] for k in structure.run[part.start : part.stop]):
        place = each.statement if each.line is None else f"line {each.line}"
        if place:
            parts.append(f"{place} ({each.guard})" if each.guard else place)
    return f"of {', '.join(parts)}" if parts else "of a cycle"


def _shown_text(compiled: Compiled, structure: BadStructure, place: int) -> str:
    words = compiled.words[structure.run[place]]
    if place < compiled.numbers:
        transition = compiled.automaton.transitions[structure.run[place]]
        (name,) = compiled.automaton.names(transition.assigned)
        return f"the number {name}"
    where = words.statement if words.line is None else f"line {words.line}"
    return f"the sample that {where} publishes"


_STEP = "line", "step, and how it compares", "publishes", "input"
_SEEN: tuple[str, ...] = "first input", "second input", "seen"


def evidence_table(compiled: Compiled, evidence: Evidence, ray: WordBound | None = None) -> Table:
    """Lay evidence out: steps, or letters; a run with inputs on its ray, if there is one."""
    cells: list[tuple[str | Fraction, ...]] = []
    columns: tuple[str, ...]
    match evidence:
        case RunCost():
            costs = costs_of_steps(compiled.automaton, evidence)
            for place, index in enumerate(evidence.run):
                read = _signed(compiled, index, evidence.changes[place])
                if ray is not None and ray.word[place].first is not None:
                    read = f"{ray.word[place].first} → {ray.word[place].second}"
                shift = str(evidence.shift[place]) if compiled.words[index].statement else ""
                cells.append((read, shift, costs[place] * compiled.factor))
            factor = compiled.factor
            unit = "" if factor == 1 else f"; changes and shifts in units of {factor}"
            title = "Tight run, and its coupling: the sample of the second run is that of the first"
            columns, rows = (*_STEP, "shift", "cost"), _rows(compiled, evidence.run, cells)
            return Table(f"{title} + shift{unit}", columns, rows, (0, 3, 4, 5))
        case WordBound(again=again):
            listed, columns = _seen_rows(evidence), _SEEN
            title = "As ε grows, this word becomes less and less likely for the first inputs"
            if again is not None:
                columns, (start, end) = (*columns, "taken"), again
                listed = [
                    (*row, "again and again" if start <= k < end else "once")
                    for k, row in enumerate(listed)
                ]
            return Table(title, columns, _shortened(listed, len(columns)), (0, 1))
        case BadStructure(run=run):
            _, changes = repeated(compiled.automaton, evidence, 1)
            inside = _in_cycles(evidence)
            for place, (index, change) in enumerate(zip(run, changes, strict=True)):
                taken = "again and again" if place in inside else "once"
                cells.append((_signed(compiled, index, change), taken))
            columns = *_STEP, "taken"
            return Table("A run with it", columns, _rows(compiled, run, cells), (0, 3))
        case _:
            assert_never(evidence)


def _rows(
    compiled: Compiled, run: Sequence[int], cells: Sequence[tuple[str | Fraction, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Return rows of steps: each draw once, and below it how its samples compare.

    Equal steps are in one row; costs add up there.

    Args:
        cells: What is said of each of them.
    """
    rows = list[tuple[str, ...]]()
    last: tuple[int | None, str] = None, ""
    steps = list(zip(run, cells, strict=True))[compiled.numbers :]
    for (index, own), same in groupby(steps):
        words, times = compiled.words[index], len(list(same))
        line, what = str(words.line or ""), words.statement
        if words.guard:
            if (words.line, words.statement) != last:
                rows.append((line, what, *[""] * (1 + len(own))))
            line, what = "", f"  {words.guard}"
        if times > 1:
            what += f" ({times} times)"
        said = (
            each if isinstance(each, str) else f"{exact_text(times * each)} ε" if each else "free"
            for each in own
        )
        rows.append((line, what, words.shown, *said))
        last = words.line, words.statement
    return _shortened(rows, 3 + len(cells[0]))


def ray_table(ray: WordBound, rounds: int) -> Table:
    """Lay the inputs of some rounds out."""
    title = f"Inputs of {rounds} rounds, for which as much is lost as ε grows"
    return Table(title, _SEEN, _shortened(_seen_rows(ray), len(_SEEN)), (0, 1))


def _seen_rows(known: WordBound) -> list[tuple[str, ...]]:
    return [
        (*("" if q is None else exact_text(q) for q in (s.first, s.second)), seen_text(s.seen))
        for s in known.word
    ]


def _shortened(rows: Sequence[tuple[str, ...]], width: int) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= _MOST_ROWS:
        return tuple(rows)
    more = ("", f"… {len(rows) - _MOST_ROWS} more", *[""] * (width - 2))
    return (*rows[:_MOST_ROWS], more)


def inputs_text(compiled: Compiled, run: Iterable[int], changes: Iterable[int]) -> str | None:
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


def _signed(compiled: Compiled, index: int, change: int) -> str:
    """Write how the input of a step changes; "" where none is read."""
    if not compiled.automaton.reads(compiled.automaton.transitions[index]):
        return ""
    return f"{change:+d}" if change else "0"


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
