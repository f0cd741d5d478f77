"""The entries of the seams: made from the programs of the corpus, compared with what is stored.

    program, ε, input  ->  outcomes  ->  their events  ->  masses of outputs  ->  pairs of measures

Outcomes must be the same in their normal form, or have outputs of the same masses; enclosures must
meet.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import dipapprox
from tests.corpus.answers import meets, width
from tests.corpus.asking import ROOT
from tests.corpus.law import MOST_WIDER, Finding, Kind
from tests.corpus.questions import TEXTS, drawn, files_in, repository
from tests.corpus.running import run_all
from tests.corpus.seams import divergences, events, outcomes
from tests.corpus.store import read_lines, write_lines

HERE = Path(__file__).parent
OUTCOMES, EVENTS, DIVERGENCES = (
    HERE / f"{name}.jsonl" for name in ("outcomes", "events", "divergences")
)

Entry = dict[str, Any]

EPSILONS = ("1/2", "1", "3")
BUDGETS = ("0", "1/4", "1", "3")

MOST_OUTCOMES = 12
MOST_ENTRIES = {"outcomes": 400, "events": 500, "divergences": 300}

LONGEST = 2.0
"""Calibrated seconds for an entry."""

_BATCH = 30
"""So many entries are compared in one process."""

SPARE = Fraction(1, 2**36)
"""An enclosure may be this much wider, too."""


@dataclass(frozen=True)
class Asked:
    """What a seam is asked: its name, and the entry as JSON, with or without an answer."""

    seam: str
    text: str


def asked(seam: str, entry: Entry) -> Asked:
    """Return what a seam is asked again: an entry's answer is found anew."""
    return Asked(seam, json.dumps(entry))


def answer(asked: Asked) -> Entry | None:
    """Return an entry with its answer; None where there is none."""
    entry: Entry = json.loads(asked.text)
    match asked.seam:
        case "outcomes":
            program = dipapprox.parse(ROOT / entry["file"])
            row = _row(program, entry["input"])
            try:
                found = outcomes.adapted(program, Fraction(entry["eps"]), row)
            except (dipapprox.UserError, dipapprox.LimitReached):
                return None
            return json.loads(json.dumps({**entry, "outcomes": found}))
        case "events":
            ends = events.adapted(entry["event"])
            return None if ends is None else {**entry, "ends": ends}
        case "divergences":
            ends = divergences.adapted(entry["first"], entry["second"], entry["eps_prv"])
            return {**entry, "ends": ends}
        case unknown:
            raise ValueError(unknown)


def _row(program: dipapprox.Program, texts: Sequence[str]) -> tuple[Any, ...]:
    """Return the input that the texts of its values stand for."""
    return tuple(
        next(value for value in cell.domain if str(value) == text)
        for cell, text in zip(program.inputs, texts, strict=True)
    )


def compare(seam: str, old: Entry, new: Entry | None) -> list[Finding]:
    """Compare an entry with what it is now."""
    if new is None:
        return [Finding(Kind.LOST, "no answer any more")]
    if seam == "outcomes":
        return _compare_outcomes(old["outcomes"], new["outcomes"])
    ends, now = tuple(old["ends"]), tuple(new["ends"])
    words = f"[{', '.join(ends)}] became [{', '.join(now)}]"
    if not meets(ends, now):
        return [Finding(Kind.APART, words)]
    if width(now) > MOST_WIDER * width(ends) + SPARE:
        return [Finding(Kind.WIDER, words)]
    return []


def _compare_outcomes(old: list[Entry], new: list[Entry]) -> list[Finding]:
    if old == new:
        return []
    before, now = outcomes.masses(old), outcomes.masses(new)
    if before is None or now is None:
        return [Finding(Kind.CHANGED, "outcomes are others, and have no masses to compare")]
    nothing = Fraction(0), Fraction(0)
    for output in before.keys() | now.keys():
        low, high = before.get(output, nothing)
        lower, upper = now.get(output, nothing)
        if lower > high or low > upper:
            return [Finding(Kind.APART, f"the mass of output {output} is another")]
    return []


def compare_all(jobs: int, only: str = "") -> Iterator[tuple[str, list[Finding]]]:
    """Ask all entries again; yield what they are called, and what was found."""
    stored = {Asked(seam, json.dumps(entry)): entry for seam, entry in read_all()}
    asked = [each for each in stored if only in each.text]
    batches = [tuple(asked[k : k + _BATCH]) for k in range(0, len(asked), _BATCH)]
    for run in run_all(_answers, batches, jobs, lambda _: _BATCH * LONGEST):
        answers = run.answer or [None] * len(run.question)
        for each, new in zip(run.question, answers, strict=True):
            yield name_of(each.seam, stored[each]), compare(each.seam, stored[each], new)


def _answers(batch: tuple[Asked, ...]) -> list[Entry | None]:
    return [answer(each) for each in batch]


def read_all() -> list[tuple[str, Entry]]:
    """Return all entries, each with its seam."""
    files = (OUTCOMES, EVENTS, DIVERGENCES)
    return [(path.stem, entry) for path in files for entry in read_lines(path)]


def name_of(seam: str, entry: Entry) -> str:
    """Return an entry's question on a line."""
    told = {name: value for name, value in entry.items() if name not in ("outcomes", "ends")}
    return f"{seam}: {json.dumps(told, ensure_ascii=False)}"


def write_all(jobs: int) -> None:
    made = _answered(jobs, "outcomes", _programs())
    made = [entry for entry in made if 1 < len(entry["outcomes"]) <= MOST_OUTCOMES]
    write_lines(OUTCOMES, made)
    distinct = {
        json.dumps({"event": outcome["event"]}): None
        for entry in made
        for outcome in entry["outcomes"]
        if outcome["event"]["laws"]
    }
    found = _answered(jobs, "events", map(json.loads, distinct))
    write_lines(EVENTS, found)
    write_lines(DIVERGENCES, _answered(jobs, "divergences", _measures(made)))


def _answered(jobs: int, seam: str, entries: Iterator[Entry]) -> list[Entry]:
    """Answer entries, as many as are stored; those without an answer are left out."""
    asked = sorted(
        (Asked(seam, json.dumps(entry)) for entry in entries), key=lambda e: drawn(e.text)
    )
    asked = asked[: 3 * MOST_ENTRIES[seam]]
    runs = [
        run for run in run_all(answer, asked, jobs, lambda _: LONGEST) if run.answer is not None
    ]
    runs.sort(key=lambda run: drawn(run.question.text))
    return [run.answer for run in runs[: MOST_ENTRIES[seam]] if run.answer is not None]


def _programs() -> Iterator[Entry]:
    """Yield programs at their first and last inputs, at an ε each."""
    for file in (*repository(), *files_in(TEXTS)):
        try:
            program = dipapprox.parse(ROOT / file)
            if not isinstance(program, dipapprox.Program):
                continue  # its scales are known once a claim is
            cells = [cell.domain for cell in program.inputs]
            rows = [[str(domain[k]) for domain in cells] for k in (0, -1)]
        except (dipapprox.UserError, dipapprox.LimitReached):
            continue
        eps = EPSILONS[int(drawn(file) * len(EPSILONS))]
        for row in rows if rows[0] != rows[1] else rows[:1]:
            yield {"file": file, "eps": eps, "input": row}


def _measures(made: list[Entry]) -> Iterator[Entry]:
    """Yield the measures of the first and the last input of programs, as pairs."""
    rows: dict[str, list[Entry]] = {}
    for entry in made:
        rows.setdefault(entry["file"], []).append(entry)
    for entries in rows.values():
        if len(entries) == 2 and not any(o["reals"] for e in entries for o in e["outcomes"]):
            both = [outcomes.masses(entry["outcomes"]) for entry in entries]
            first, second = both
            if first is None or second is None:
                continue
            order = sorted(first.keys() | second.keys())
            tables = [[_ends(each.get(o)) for o in order] for each in (first, second)]
            for budget, (p, q) in product(BUDGETS, (tables, tables[::-1])):
                yield {"first": p, "second": q, "eps_prv": budget}


def _ends(bounds: tuple[Fraction, Fraction] | None) -> tuple[str, str]:
    return events.printed(*bounds) if bounds is not None else ("0", "0")
