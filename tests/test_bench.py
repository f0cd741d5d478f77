"""The benchmark harness on made-up contestants and clocks; nothing here depends on a real time."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.automata import CHECKED, PROVED, READ, AutomatonCase
from bench.cases import Batch, Case, Chain, certified
from bench.commands import CHECKED as CHECKED_FILE
from bench.commands import COMMANDS, FOUND, Asked, command_row, proved_commands
from bench.commands import PROVED as PROVED_TOO
from bench.comparison import (
    AFRESH,
    CERTIFIED,
    ELIMINATION,
    FOUR_UNMERGED,
    LITERAL,
    NESTED,
    PLAIN,
    PREPARED,
)
from bench.growth import ALONE, InFamily, growth_row, measure
from bench.plain import Prepared
from bench.polyhedra import ENCLOSED, SCIPY, polyhedra
from bench.real_outputs import published_numbers
from bench.replays import PROOFS, measure_proof, proof_cases
from bench.report import page, write_records
from bench.rows import Row, Standing, milliseconds
from bench.suite import TABLES, figures, full, quick
from bench.sweeping import SweptCases, Whole
from bench.timing import Outcome, Patience, Ratio, Timing, ratio, side_by_side
from dipapprox.errors import LimitReached
from tests.cases import cases, check_answers, part

PROGRAMS = Path(__file__).parent.parent / "programs"
ONCE = Patience(runs=1, seconds=1.0, cap=60.0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contestant(self, name: str, times: Iterator[float]):
        def run(cap: float) -> None:
            self.order.append(name)
            taken = next(times)
            self.now += min(taken, cap)
            if taken > cap:
                raise LimitReached("time limit")

        return run


def answered(*seconds: float) -> Timing:
    return Timing(Outcome.ANSWERED, seconds)


def test_a_run_over_the_cap_ends_a_contestant_and_gives_lower_bounds() -> None:
    clock = Clock()
    runs = {
        "fast": clock.contestant("fast", iter((1.0, 1.0))),
        "slow": clock.contestant("slow", iter((2.0, 100.0))),
    }
    found = side_by_side(runs, Patience(runs=2, seconds=50.0, cap=20.0), clock)
    assert found["slow"] == Timing(Outcome.CAPPED, (2.0, 20.0))
    assert milliseconds(found["slow"]) == "> 20000"
    bound = ratio(found["slow"], found["fast"])
    assert bound == Ratio(20.0, at_least=True)
    assert str(bound) == "> 20"
    assert ratio(found["fast"], found["slow"]) is None


def made_up(literal: Timing) -> dict[str, list[Row]]:
    engines = {ELIMINATION: answered(0.01, 0.02, 0.03), NESTED: answered(0.5), LITERAL: literal}
    ratios = {name: ratio(engines[name], engines[ELIMINATION]) for name in (NESTED, LITERAL)}
    tiers = {CERTIFIED: answered(0.006), AFRESH: answered(0.03)}
    tiers |= {PLAIN: answered(0.003), PREPARED: answered(0.002)}
    tier = {"events": 7, "timings": tiers, "ratio": Ratio(2.0), "ratio_afresh": Ratio(10.0)}
    beside = {"timings": {ENCLOSED: answered(0.002), SCIPY: answered(0.02)}}
    slow = {PROVED: answered(0.04), READ: answered(0.05)}
    quick = {PROVED: answered(0.004), READ: answered(0.006), CHECKED: answered(0.003)}
    return {
        "engines": [Row(FOUR_UNMERGED, {"n": 4, "timings": engines, "ratios": ratios})],
        "certified and plain": [
            Row(SimpleNamespace(name="tier"), tier | {"width": 1e-13, "distance": 1e-15})
        ],
        "by rank and scipy": [
            Row(
                SimpleNamespace(name="cones", goal=None),
                {"events": 3, **beside, "ratio": Ratio(10.0), "distance": 1e-7},
            )
        ],
        "published numbers and scipy": [
            Row(
                published_numbers()[0],
                {**beside, "ratio": Ratio(0.1), "width": 1e-13, "distance": 1e-9},
            )
        ],
        "automaton": [
            Row(
                AutomatonCase(name, "", 0.01, known),
                {"bounds": b, "timings": t, "published": known},
            )
            for name, known, b, t in (("SVT", 0.238, "5/4", quick), ("slow", None, "none", slow))
        ],
        "alone": [
            growth_row(InFamily("svt", Case("svt_gauss", n)), answered(seconds), 80, 90)
            for n, seconds in ((5, 0.01), (25, 0.03))
        ],
        "command": [
            Row(
                Whole(1), {"timing": answered(0.4), "memory_mib": 160, "starts": {"--version": 0.5}}
            )
        ],
        "sweep": [
            Row(SweptCases(40), {"seconds": 24.0, "processor_seconds": 30.0, "bare_seconds": 20.0})
        ],
    }


TIMES = {
    "30 s": answered(30.0),
    "15 s": answered(15.0),
    "over a cap of 30 s": Timing(Outcome.CAPPED, (30.0,)),
    "over a cap of 15 s": Timing(Outcome.CAPPED, (15.0,)),
}


def with_proofs(results: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Whole commands and proofs besides: times that are exact in binary, and sizes of files."""

    def command(words: str, proved: float, checked: float | None, size: int) -> Row:
        rows = {FOUND: answered(1.0), PROVED_TOO: answered(proved)}
        rows |= {} if checked is None else {CHECKED_FILE: answered(checked)}
        return command_row(Asked(tuple(words.split())), rows, size)

    def proof(replayed: float, size: int) -> Row:
        times = {"replaying": Ratio(replayed), "writing": Ratio(0.5), "bytes": size}
        return Row(proof_cases()[0], times)

    return {
        **results,
        "proof of a command": [
            command("verify a", 1.25, 0.5, 10),
            command("verify b", 3.0, 3.5, 4_000_000),
            command("verify c", 1.25, 0.75, 30),
            command("profile a", 1.5, None, 0),
        ],
        "proof": [proof(0.5, 10), proof(0.75, 6_000_000), proof(4.0, 20)],
    }


def test_figures_say_what_was_reached() -> None:
    """Of the literal nest of integrals; of everything, where it took 30 s."""

    def told(literal: str) -> str:
        all_of = figures(with_proofs(made_up(TIMES[literal])))
        first = [each for each in all_of if each.name == FOUR_UNMERGED.name]
        known = [each for each in all_of if each.standing is not Standing.UNKNOWN]
        lines = [
            f"{each.name} | {each.goal} | {each.found} | {each.standing.value}"
            for each in (known if literal == "30 s" else first)
        ]
        return "\n".join([*lines, ""])

    check_answers("bench_figures", told)


def test_every_measured_figure_is_measured_by_the_full_suite() -> None:
    everything, some = full(PROGRAMS), quick(PROGRAMS)
    assert set(everything) == set(TABLES) == {*some, "proof of a command"}
    alone = {case.name for case in everything[ALONE.kind][1]}
    wanted = {figure.name for figure in figures({})} - {FOUR_UNMERGED.name}
    assert len(wanted) > 30 and wanted <= alone
    assert all(FOUR_UNMERGED in suite["engines"][1] for suite in (everything, some))


def test_records_and_page_tell_everything(tmp_path) -> None:
    results = made_up(Timing(Outcome.CAPPED, (30.0,)))
    write_records(results, {"processor": "made up"}, tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    kinds = [record["kind"] for record in found]
    assert kinds[:4] == ["machine", "engines", "certified and plain", "by rank and scipy"]
    assert kinds[4:7] == ["published numbers and scipy", "automaton", "automaton"]
    assert kinds[7:11] == ["alone", "alone", "command", "sweep"]
    assert found[0]["processor"] == "made up"
    assert found[1]["timings"][LITERAL]["outcome"] == "over the cap"
    assert found[1]["ratios"][LITERAL] == {"times": 1500.0, "at_least": True}
    assert (found[8]["published"], found[8]["published_repeated"]) == (441.3, 402.0)
    text = page(results, {"processor": "made up"}, "plot.svg", ["take care"])
    row = f"| {FOUR_UNMERGED.name} | 20 (3) | 500 (1) | 25 | > 30000 | > 1500 |"
    assert row in text.splitlines()
    assert "| tier | 7 | 6 (1) | 30 (1) | 3 (1) | 2 (1) | 2 | 10 | 1.0e-13 | 1.0e-15 |" in text
    assert "| cones | 2 (1) | 20 (1) | 10 | 1.0e-07 |" in text
    assert "| 2 (1) | 20 (1) | 0.1 | 1.0e-13 | 1.0e-09 |" in text
    assert "![time against N](plot.svg)" in text and "take care" in text
    assert "- processor: made up" in text
    assert "| times | 1.5 |" in text.splitlines()


@cases(
    "batch",
    Batch(Case("svt_mix1", 3)),
    Batch(Case("svt_laplace", 2), all_inputs=True),
    Batch(Case("noisy_max_gauss", 4, merge=False)),
    Batch(Chain(6)),
    ids=lambda batch: batch.name,
)
def test_plain_numpy_computes_the_same_probabilities(batch) -> None:
    events = batch.events(PROGRAMS)
    enclosures = certified(events)
    assert len(enclosures) == len(events) > 0
    for enclosure, value in zip(enclosures, Prepared(events).evaluate().tolist(), strict=True):
        assert abs(Fraction(value) - enclosure.lower) < Fraction(1, 10**12)


WORDS = ("verify", "svt_laplace.dpg", "-p", "N=2", "--eps", "1/2", "--delta", "1/100")
MEASURED: dict[str, Any] = {
    "engines": Case("svt_gauss", 2),
    "certified and plain": Batch(Case("svt_gauss", 3)),
    "by rank and scipy": polyhedra(3, 2),
    "proof": next(case for case in proof_cases() if case.room < 0),
    "proof of a command": Asked(WORDS),
    **{
        kind: full(PROGRAMS)[kind][1][0]
        for kind in (
            *("published numbers and scipy", "automaton", "real inputs", "service"),
            "composition",
        )
    },
}


@pytest.mark.parametrize("kind", part(list(MEASURED), 2))
def test_a_row_of_each_table_is_measured_and_shown(kind) -> None:
    row = TABLES[kind][1](MEASURED[kind], PROGRAMS, ONCE)
    timings = row.found["timings"].values() if "timings" in row.found else [row.found["timing"]]
    assert {timing.outcome for timing in timings} == {Outcome.ANSWERED}
    assert row.found.get("distance", 0) < 1e-3 and row.found.get("width", 0) < 2.0**-30
    assert f"| {row.name} |" in page({kind: [row]}, {}, None, [])


def test_a_verification_without_time_is_over_the_cap() -> None:
    found = measure(InFamily("", Case("k_min_max_gauss", 12)), PROGRAMS, Patience(1, 1.0, 0.0))
    assert found.found["timing"].outcome is Outcome.CAPPED


def test_a_verdict_without_a_proof_is_a_figure_that_is_missed() -> None:
    false = replace(proof_cases()[0], delta=Fraction(0), eps_prv=Fraction(1, 100))
    found = measure_proof(false, PROGRAMS, ONCE)
    assert {timing.outcome for timing in found.found["timings"].values()} == {Outcome.FAILED}
    (figure,) = PROOFS.figures([found])
    assert (figure.name, figure.standing) == (false.name, Standing.MISSED)
    assert figure.found == "Not_DP"


def test_whole_commands_are_what_headers_claim_and_what_is_asked_of_all() -> None:
    found = [asked.words for asked in proved_commands(PROGRAMS)]
    assert len(set(found)) == len(found) > len(proved_commands(PROGRAMS, 4)) > 90
    assert {words[0] for words in found} == set(COMMANDS)
    assert ("decide", "dipc/rand2.dpg", "-p", "N=1", "--interval", "0..1") in found
    assert any(words[0] == "prove" and words[2:] == ("--for-all", "N") for words in found)
    for words in found:
        claim = [word for flag in ("-p", "--eps") for word in words if flag in words]
        assert (PROGRAMS / words[1]).exists() and (claim or words[0] in ("decide", "prove"))


def test_a_command_that_fails_is_no_figure() -> None:
    asked = Asked(("verify", "svt_laplace.dpg", "--eps", "0", "--delta", "0"))
    table, measured = TABLES["proof of a command"]
    found = measured(asked, PROGRAMS, ONCE)
    timings = found.found["timings"]
    assert {timing.outcome for timing in timings.values()} == {Outcome.FAILED}
    assert "eps" in timings[FOUND].reason
    assert table.figures([found]) == []
