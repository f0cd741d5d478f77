"""Least budgets of automata and of programs with rounds, and checks of their certificates.

Published: DiPAut (CCS 2023), Tables 1 to 3: 1.4 GHz quad-core Intel Core i5, mean of 6 runs, about
0.22 s of start-up included; ours begin with the automaton, or the program, and end with the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bench.rows import NAME, Figure, Row, Rows, Table, at_most, of, taken, within
from bench.timing import NoAnswer, Patience, Ratio, Run, side_by_side
from dipapprox.automata.analysis import analyse
from dipapprox.automata.benchmarks import (
    all_pairs_text,
    min_max_text,
    range_text,
    sparse_vector_text,
)
from dipapprox.automata.model import Automaton, automaton_of
from dipapprox.automata.unfolding import stopping_states
from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.experiments.tables.table import plan
from dipapprox.language.core import Program
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG, parse_program, read_text
from dipapprox.limits import Limits, limited
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.endless_proof import AutomatonProof, Stops, StreamProof
from dipapprox.proofs.prove_automaton import prove_automaton, prove_rounds
from dipapprox.questions.certifying import certify_proof
from dipapprox.replays.check import check
from dipapprox.replays.result import Outcome

PROVED, READ, CHECKED = "prove", "prove, its text read", "check"


@dataclass(frozen=True, slots=True)
class AutomatonCase:
    """An automaton, most seconds that a proof is meant to take, and what the published tool took.

    Attributes:
        text: In `.dipa`, or `.dpg` for programs.
        goal: Seconds; None for none.
        published: Seconds; None if it was not measured.
        for_all: The parameter of a program that is any number; "" for streams, None for automata.
        parameters: The values of others.
    """

    name: str
    text: str
    goal: float | None = None
    published: float | None = None
    for_all: str | None = None
    parameters: Mapping[str, Fraction] = field(default_factory=dict)

    def program(self) -> Program:
        """Read the text of a program."""
        parsed = parse_program(self.text, DPG, self.name)
        return elaborate(parsed, self.parameters, self.name, for_all=self.for_all or None)


_FOR_ALL = (
    "svt_laplace", "svt_laplace_ge", "svt_geometric", "svt_monotone", "svt_laplace_leaky_3",
    "svt_laplace_leaky_4", "svt_laplace_leaky_6", "m_range_laplace", "k_min_max_laplace",
    "dipc/sparse", "literature/sparse_vector", "literature/sparse_vector_fresh_threshold",
    "literature/sparse_vector_without_limit",
)  # fmt: skip

_SMALL = {
    "SVT": 0.238,
    "NUM-SPARSE": 0.249,
    "DC-EXAMPLE": 0.237,
    "NUM-RANGE-1": 0.234,
    "NUM-RANGE-2": 0.231,
    "LC-EXAMPLE": 0.231,
    "TWO-RANGE-1": 0.239,
    "TWO-RANGE-2": 0.277,
}


def automata() -> tuple[AutomatonCase, ...]:
    """Return what is measured."""
    texts = plan().automata
    return (
        *(AutomatonCase(name, texts[name].text, 0.01, known) for name, known in _SMALL.items()),
        AutomatonCase("1-RANGE", range_text(1), 0.01, 0.227),
        AutomatonCase("2-MIN-MAX", min_max_text(2), 0.01, 0.220),
        AutomatonCase("10-MIN-MAX", min_max_text(10), None, 0.230),
        AutomatonCase("200-MIN-MAX", min_max_text(200), 0.25, 0.643),
        AutomatonCase("5-RANGE, 10 values at once", range_text(5), 1.0, 0.258),
        AutomatonCase("80-RANGE", range_text(80), 0.5, 506.33),
        AutomatonCase("all pairs of 5", all_pairs_text(5), 3.0),
        AutomatonCase("sparse vector, 100 positives", sparse_vector_text(100), 0.1),
        AutomatonCase("GAP-PV", texts["GAP-PV"].text),
        *programs(),
    )


def programs() -> Iterator[AutomatonCase]:
    """Yield the programs: those for every N, and streams; then many positive answers."""
    many = {"c": Fraction(100)}
    for name in _FOR_ALL:
        text = read_text(BUNDLED / f"{name}.dpg")
        yield AutomatonCase(f"{name}, every N", text, 0.1, for_all="N")
        if name == "literature/sparse_vector":
            yield AutomatonCase(f"{name}, every N, c = 100", text, 0.1, None, "N", many)
    for path in sorted((BUNDLED / "streams").glob("*.dpg")):
        text = read_text(path)
        yield AutomatonCase(path.stem, text, 0.1, for_all="")
        if path.stem == "sparse_stream":
            yield AutomatonCase(f"{path.stem}, c = 100", text, 0.1, None, "", many)


def measure_automaton(case: AutomatonCase, programs: Path, patience: Patience) -> Row:
    """Measure a proof, and the check of its certificate."""
    subject = _subject(case)
    proof = _proof(subject)
    upper = "none" if proof.has_none else str(proof.upper)
    bounds = upper if proof.is_exact or proof.upper is None else f"{proof.lower} … {upper}"

    def prove(cap: float) -> None:
        with limited(Limits(seconds=cap)):
            if isinstance(subject, Automaton):
                found = analyse(subject)
                reason = found.reason if found.upper is None else None
            else:
                answer = _proof(subject)
                reason = answer.reason if answer.answer is Answer.UNKNOWN else None
        if reason is not None:
            raise NoAnswer(reason)

    def prove_text(cap: float) -> None:
        with limited(Limits(seconds=cap)):
            read = _subject(case)
            if isinstance(read, Automaton):
                analyse(read)
                stopping_states(read)
            else:
                _proof(read)

    def examine(cap: float) -> None:
        result = check(certificate, Limits(seconds=cap))
        if result.outcome is not Outcome.CONFIRMED:
            raise NoAnswer(result.outcome.value)

    contestants: dict[str, Run] = {PROVED: prove, READ: prove_text}
    with suppress(UserError):
        certificate = certify_proof(proof, case.text).to_json()
        contestants[CHECKED] = examine
    timings = side_by_side(contestants, patience)
    return Row(case, {"bounds": bounds, "timings": timings, "published": case.published})


def _subject(case: AutomatonCase) -> Automaton | Program:
    if case.for_all is not None:
        return case.program()
    return replace(automaton_of(parse_dipa(case.text)), name=case.name)


def _proof(subject: Automaton | Program) -> AutomatonProof | StreamProof:
    if isinstance(subject, Automaton):
        return prove_automaton(subject, None, Stops.HIDDEN)
    return prove_rounds(subject, None)


def _times(row: Row) -> Ratio | None:
    """How many times longer the check took than the proof, from the text."""
    return row.times(CHECKED, READ)


def _figures(rows: Rows) -> list[Figure]:
    figures = []
    for row in rows:
        goal = row.case.goal
        figures += within(row.name, row.timing(PROVED), goal, "least budget in ")
        figures += at_most(row.name, _times(row), 1, "checking no longer than proving")
    return figures


AUTOMATA = Table(
    "automaton",
    """## Least budgets of automata

For every ε, inputs of every length, all real numbers. "check" is that of the certificate, from
the text: "times" compares it with a proof from the text. Published seconds: DiPAut (CCS 2023),
Tables 1 to 3, on a quad-core laptop, about 0.22 s of start-up included; it finds a budget, not
the least.""",
    (
        *(NAME, ("least D", of("bounds")), *taken(PROVED), ("text read", of("timings", READ))),
        *(*taken(CHECKED), ("times", _times)),
        ("published, s", lambda row: str(row.case.published or "")),
    ),
    _figures,
)
