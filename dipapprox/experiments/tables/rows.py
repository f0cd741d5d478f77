"""Tables: printed rows, and our answers to them, as cells.

["ε", "text", COLUMN]                       as it is printed
["published", "printed", COLUMN]            likewise; "–" if nothing is
["states", "structure", MEASURE, COLUMN]    of the final states, beside the printed one
["all ε", "verdict", ANSWER, COLUMN]        beside the printed one, if there is a column;
["N - 1", "verdict", ANSWER, "= DP"]        or beside the one that must come out
["s", "seconds", ANSWER, TEXT]              our time, or the text if there is no answer
["published s", "time", COLUMNS]            a printed time, or the sum of some: "t1_s + t2_s"
["ratio", "ratio", ANSWER, COLUMNS]         how many times faster than that
["inequalities", "inequalities", ANSWER]    how many were decided, and how many distinct ones
["pair", "pair", COLUMN, COLUMN]            printed inputs
["ours", "violation", ANSWER]               a pair and an eps that violate the claim
["nodes", "nodes", ANSWER]                  of the automaton, unfolded and merged
["structure", "bad", ANSWER, COLUMN]        which one leaves no budget, beside the printed one
["weight", "weight", ANSWER, COLUMN]        the paper's weight, beside the printed one
["least D", "budget", ANSWER, COLUMN]       what is known of the least budget, beside the printed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from dipapprox.automata.benchmarks import FAMILIES
from dipapprox.automata.model import automaton_of
from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import Record, replace
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, SourceError
from dipapprox.experiments.tables.table import (
    ColumnLayout,
    Notes,
    PaperTable,
    Plan,
    Printed,
    ProgramPlan,
    RowQuestion,
    TableGrid,
    TablePlan,
    printed_rows,
)
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Program
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.load import load
from dipapprox.limits import Limits, limited
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Decision, DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.run import Engine, Options, Setting
from dipapprox.privacy.scope import select
from dipapprox.privacy.verdict import Claim
from dipapprox.privacy.verifier import verify
from dipapprox.proofs.endless_proof import AutomatonProof, Stops
from dipapprox.proofs.prove_automaton import prove_automaton
from dipapprox.semantics.execution import execute
from dipapprox.semantics.structure import Structure, measure_structure

REFUSED = "refused"  # the answer about what is no automaton of which the theorems speak


class RerunSubject(NamedTuple):
    """A program with parameters, by its `file` below the folder of bundled programs, without the
    extension; a domain replaces that of every input cell."""

    file: str
    parameters: tuple[tuple[str, Fraction], ...]
    domain: tuple[Fraction, ...] | None = None
    pairs: str = "all"


class RerunAnswer(Record):
    """An answer: DP, Not_DP or Unknown, why if it is unknown, and the time in seconds."""

    answer: str
    reason: str | None
    seconds: float
    decision: Decision | None = None  # what it is of, if all epsilons were asked about
    proof: AutomatonProof | None = None  # or an automaton that is not refused


@cache
def _program(subject: RerunSubject) -> Program:
    found = load(BUNDLED / f"{subject.file}.dpg", dict(subject.parameters))
    if subject.domain is None:
        return found
    inputs = tuple(replace(cell, domain=subject.domain) for cell in found.inputs)
    return replace(found, inputs=inputs)


@cache
def verified(
    subject: RerunSubject, claim: Claim, engine: Engine, strategy: Strategy, seconds: float
) -> RerunAnswer:
    program = _program(subject)
    options = Options(engine=engine, strategy=strategy, merge=strategy is not Strategy.NONE)
    with limited(Limits(seconds=seconds)):
        verdict = verify(Setting(program, select(subject.pairs, program), options), claim)
    return RerunAnswer(verdict.answer.value, verdict.reason, verdict.seconds)


@cache
def decided(
    subject: RerunSubject, budget: Fraction, delta: str, interval: str, seconds: float
) -> RerunAnswer:
    program = _program(subject)
    epsilons = read_epsilons(interval)
    asked = DecisionQuestion(budget=budget, delta=read_delta(delta), interval=epsilons)
    setting = Setting(program, select(subject.pairs, program), Options())
    with limited(Limits(seconds=seconds)):
        decision = decide(setting, asked)
    reason = decision.reason or decision.note or None
    return RerunAnswer(decision.answer.value, reason, decision.seconds, decision)


@cache
def proved(text: str, seconds: float) -> RerunAnswer:
    try:
        automaton = automaton_of(parse_dipa(text))
    except SourceError as error:
        return RerunAnswer(REFUSED, error.message, 0.0)
    with limited(Limits(seconds=seconds)):
        proof = prove_automaton(automaton, None, Stops.HIDDEN)
    return RerunAnswer(proof.answer.value, proof.reason, proof.seconds, None, proof)


@cache
def structure(subject: RerunSubject) -> Structure:
    """Measure the final states as the tables count them: none merged."""
    with limited(Limits(seconds=120)):
        return measure_structure(execute(_program(subject), merge=False))


_LOST = {"T.O": "timeout", "O.M": "out of memory"}
"""What stands in the place of a time when the published tool had no answer."""

_NOTHING = "–"


def make_tables(
    plan: Plan,
    tables: Sequence[TablePlan],
    *,
    quick: bool,
    progress: Callable[[int, int | None], None],
) -> Iterator[PaperTable]:
    """Make tables, perhaps only rows that take little time; those that several have in common are
    run once. `progress` is told how many are done, and how many there are."""
    for done, table in enumerate(tables):
        progress(done, len(tables))
        yield _make(plan, table, quick)


def _make(plan: Plan, table: TablePlan, quick: bool) -> PaperTable:
    notes, layout = Notes(), plan.layouts[table.layout]
    rows: list[Printed] = list(printed_rows(table.figures))
    nothing = dict.fromkeys(rows[0], "")
    for added in table.added:
        after = added["after"]
        names = [row[layout.program] for row in rows]
        rows.insert(names.index(after) + 1 if after else len(rows), nothing | added)
    if layout.grid is not None:
        steps = table.quick["every"] if quick else 1
        heads, cells = _gridded(_Cells(plan, table, layout, notes), layout.grid, rows, steps)
        return notes.table(table.name, table.title, heads, cells)
    if quick:
        rows = [row for row in rows if _is_quick(row, table.quick)]
    made = [_Cells(plan, table, layout, notes).row(row) for row in rows]
    return notes.table(table.name, table.title, tuple(c[0] for c in layout.columns), made)


def _is_quick(row: Printed, most: Mapping[str, int]) -> bool:
    values = ((_total(row, columns), bound) for columns, bound in most.items())
    return all(value is not None and value <= bound for value, bound in values)


class _Cells(Record):
    plan: Plan
    table: TablePlan
    layout: ColumnLayout
    notes: Notes

    def row(self, row: Printed) -> tuple[str, ...]:
        """Return the cells of a row; `BrokenInvariant` if two answers to one question contradict
        each other."""
        cells = tuple(self._cell(row, *column) for column in self.layout.columns)
        known: dict[tuple[str, str, int], str] = {}
        for asked in self.layout.answers.values():
            found = self.answer(row, asked)
            if found is not None and found.answer != "Unknown":
                question = asked.ask, asked.pairs, asked.queries
                if known.setdefault(question, found.answer) != found.answer:
                    raise BrokenInvariant(f"{self._where(row)}: engines contradict each other")
        return cells

    def _cell(self, row: Printed, heading: str, kind: str, *needs: str) -> str:
        notes = (n.text for n in self.plan.notes if n.is_at(self.table.name, heading, row))
        note = next(notes, None)
        where = f"{self._where(row)}, {heading}"
        match kind, *needs:
            case "text", column:
                return self.notes.mark(row[column], note)
            case "printed", column:
                return row[column] or _NOTHING
            case "structure", measure, column:
                found_structure = structure(self.subject(row))
                ours = _as_printed(getattr(found_structure, measure), row[column])
                return self.notes.compare(ours, row[column], note, where)
            case "time", columns:
                return _time(row, columns) or _NOTHING
            case "pair", first, second:
                return f"[{row[first]}] ~ [{row[second]}]"
        name, *more = needs
        found = self.answer(row, self.layout.answers[name])
        if found is None:
            return _NOTHING
        match kind:
            case "verdict":
                return self.notes.compare(found.answer, _expected(row, *more), note, where)
            case "seconds":
                lost = more and found.answer == "Unknown"
                return more[0] if lost else seconds_cell(found)
            case "ratio":
                return ratio_cell(row, more[0], found)
            case "inequalities" if found.decision is not None:
                return f"{found.decision.inequalities} ({found.decision.distinct})"
            case "violation":
                return _violation(found.decision)
            case "nodes" | "bad" | "weight" | "budget":
                if found.proof is None:
                    return found.answer if kind == "nodes" else _NOTHING
                ours = _of_proof(found.proof, kind)
                printed = row[more[0]] if more else ""
                return self.notes.compare(ours, printed or ours, note, where)
            case _:
                raise ValueError(f"no such column: {[heading, kind, *needs]}")

    def answer(self, row: Printed, asked: RowQuestion) -> RerunAnswer | None:
        """Answer a question about a row; nothing if its program would have no query."""
        if asked.ask == "prove":
            if row.get("family"):
                text = FAMILIES[row["family"]](int(row["size"]))
            else:
                text = row.get("automaton") or self.plan.automata[row[self.layout.program]].text
            return proved(text, asked.seconds)
        queries = int(row["n"]) + asked.queries
        if queries < 1:
            return None
        program = self._program(row)
        subject = self.subject(row, queries)._replace(pairs=_pairs(asked.pairs, row, program))
        if asked.ask == "decide":
            budget = Fraction(asked.budget)
            return decided(subject, budget, row["delta"], program.interval, asked.seconds)
        eps, budget, delta = (_value(row, each) for each in (asked.eps, "eps_prv", "delta"))
        claim = Claim(eps, delta, budget)
        return verified(subject, claim, asked.engine, asked.strategy, asked.seconds)

    def subject(self, row: Printed, queries: int | None = None) -> RerunSubject:
        program = self._program(row)
        parameters = {"N": row["n"] if queries is None else str(queries)}
        parameters |= {name: text.format_map(row) for name, text in program.parameters.items()}
        exact = tuple((name, Fraction(text)) for name, text in parameters.items())
        domain = self.layout.domain
        values = None if domain is None else tuple(map(Fraction, domain))
        return RerunSubject(program.file, exact, values)

    def _program(self, row: Printed) -> ProgramPlan:
        name = row[self.layout.program]
        programs = self.plan.programs
        return programs.get(f"{name}, {row.get('seq')}") or programs[name]

    def _where(self, row: Printed) -> str:
        size = f" N = {row['n']}" if "n" in row else ""
        return f"{row[self.layout.program]}{size}"


def _gridded(
    cells: _Cells, grid: TableGrid, rows: Sequence[Printed], steps: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows of a table over two columns, every so many rows of it."""
    asked = cells.layout.answers[grid.cell]
    found: dict[str, dict[str, str]] = {}
    chosen = list(dict.fromkeys(row[grid.down] for row in rows))[::steps]
    for row in rows:
        if row[grid.down] in chosen:
            ours = cells.answer(row, asked)
            shown = "" if ours is None else f"{ours.answer} {seconds_cell(ours)}"
            line = found.setdefault(row[grid.down], {})
            line[row[grid.across]] = f"{shown} ({row[grid.time]})"
    across = list(dict.fromkeys(row[grid.across] for row in rows))
    heads = grid.head, *(f"{grid.heads}{value}" for value in across)
    return heads, [(down, *(line[value] for value in across)) for down, line in found.items()]


def _value(row: Printed, column: str) -> Fraction:
    """A printed number; the name of another column stands for what is there."""
    printed = row[column]
    return Fraction(row.get(printed, printed))


def _pairs(text: str, row: Printed, program: ProgramPlan) -> str:
    n = int(row["n"])
    values = {"zeros": " ".join("0" * n), "ones": " ".join("1" * n), **row}
    spelled = {
        name: ",".join(program.words.get(word, word) for word in value.split())
        for name, value in values.items()
    }
    return text.format_map(spelled)


def _expected(row: Printed, column: str = "") -> str:
    return column.removeprefix("= ") if column.startswith("= ") else row.get(column, "")


def _total(row: Printed, columns: str) -> Fraction | None:
    """The sum of printed numbers; None if one is lost or not printed."""
    printed = [row[column] for column in columns.split(" + ")]
    if any(value in _LOST or not value for value in printed):
        return None
    return sum(map(Fraction, printed), Fraction(0))


def _time(row: Printed, columns: str) -> str:
    if "+" not in columns:
        return _LOST.get(row[columns], row[columns])
    total = _total(row, columns)
    return "" if total is None else str(total)


def seconds_cell(found: RerunAnswer) -> str:
    """Our time in seconds, or why there is no answer."""
    return f"{found.seconds:.3g}" if found.answer != "Unknown" else f"({found.reason})"


def ratio_cell(row: Printed, columns: str, found: RerunAnswer) -> str:
    """How many times faster than the published time; machines differ."""
    seconds = _total(row, columns)
    if found.answer == "Unknown":
        return _NOTHING
    if seconds is None:
        return "answered" if row.get(columns) in _LOST else _NOTHING
    ratio = float(seconds) / found.seconds
    return f"{float(f'{ratio:.2g}'):,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def _as_printed(value: int | Fraction, printed: str) -> str:
    """Round to as many decimals as are printed, to one if none are; halves to even."""
    if isinstance(value, int):
        return str(value)
    decimals = len(printed.partition(".")[2]) if printed else 1
    return f"{float(round(value, decimals)):.{decimals}f}"


def _of_proof(proof: AutomatonProof, kind: str) -> str:
    analysis = proof.analysis
    match kind:
        case "nodes":
            quotient = analysis.quotient
            return _NOTHING if quotient is None else str(len(quotient.graph.states))
        case "bad":
            return _NOTHING if analysis.structure is None else analysis.structure.code
        case "weight":
            return _NOTHING if analysis.published is None else exact_text(analysis.published)
        case _:
            if analysis.unbounded:
                return "none"
            if proof.is_exact:
                return exact_text(proof.lower)
            upper = "?" if proof.upper is None else exact_text(proof.upper)
            return f"{exact_text(proof.lower)} … {upper}"


def _violation(decision: Decision | None) -> str:
    witness = None if decision is None else decision.violation
    if witness is None:
        return _NOTHING
    first, second = (" ".join(map(str, values)) for values in (witness.input, witness.adjacent))
    return f"[{first}] ~ [{second}] at ε = {witness.eps}"
