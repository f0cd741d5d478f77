"""The benchmark harness on made-up contestants and clocks; nothing here depends on a real time."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bench import commands
from bench.automata import (
    CHECKED,
    PROVED,
    READ,
    AutomatonCase,
    Budgeted,
    automata,
    measure_automaton,
)
from bench.cases import Batch, Case, Chain, certified
from bench.commands import CommandMeasured
from bench.comparison import (
    AFRESH,
    CERTIFIED,
    ELIMINATION,
    LITERAL,
    NESTED,
    PLAIN,
    PREPARED,
    Comparison,
    TierComparison,
    compare_tier,
)
from bench.compositions import many_runs, measure_runs
from bench.figures import Standing, judge
from bench.growth import Command, Growth, measure
from bench.plain_events import Prepared
from bench.polyhedra import ENCLOSED, SCIPY, Polyhedra, PolyhedraComparison, compare_polyhedra
from bench.real_inputs import measure_real, real_cases
from bench.real_outputs import PublishedComparison, compare_published, published_numbers
from bench.records import write_records
from bench.replays import FOUND, REPLAYED, WRITTEN, ProofMeasured, measure_proof, proof_cases
from bench.report import milliseconds, page
from bench.services import measure_service, servers
from bench.suite import FOUR_UNMERGED, FULL, QUICK, Results
from bench.sweeping import Swept
from bench.timing import Outcome, Patience, Ratio, Timing, ratio, side_by_side
from dipapprox.errors import LimitReached
from tests.cases import cases, check_answers

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


def made_up(literal: Timing) -> Results:
    timings = {ELIMINATION: answered(0.01, 0.02, 0.03), NESTED: answered(0.5), LITERAL: literal}
    tiers = {CERTIFIED: answered(0.006), AFRESH: answered(0.03)}
    tiers |= {PLAIN: answered(0.003), PREPARED: answered(0.002)}
    rows = {ENCLOSED: answered(0.002), SCIPY: answered(0.02)}
    return Results(
        compared=[(FOUR_UNMERGED, Comparison(FOUR_UNMERGED.name, timings))],
        batches=[TierComparison("tier", 7, tiers, 1e-13, 1e-15)],
        polyhedra=[PolyhedraComparison("cones", 3, rows, 1e-7)],
        published=[PublishedComparison(published_numbers()[0], rows, 1e-13, 1e-9)],
        automata=[
            Budgeted(
                AutomatonCase("SVT", "", 0.01, 0.238),
                "5/4",
                {PROVED: answered(0.004), READ: answered(0.006), CHECKED: answered(0.003)},
            ),
            Budgeted(
                AutomatonCase("slow", "", 0.01),
                "none",
                {PROVED: answered(0.04), READ: answered(0.05)},
            ),
        ],
        alone=[
            ("svt", case, Growth(case.name, answered(seconds), 80, 90))
            for case, seconds in ((Case("svt_gauss", 5), 0.01), (Case("svt_gauss", 25), 0.03))
        ],
        command=Command(("verify",), answered(0.4), 160, {"--version": 0.5}),
        swept=Swept(2000, 2, 24.0, 30.0, 20.0),
    )


TIMES = {
    "30 s": answered(30.0),
    "15 s": answered(15.0),
    "over a cap of 30 s": Timing(Outcome.CAPPED, (30.0,)),
    "over a cap of 15 s": Timing(Outcome.CAPPED, (15.0,)),
}


def with_proofs(results: Results) -> Results:
    """Whole commands and proofs besides: times that are exact in binary, and sizes of files."""

    def command(words: str, proved: float, checked: float | None, size: int) -> CommandMeasured:
        rows = {commands.FOUND: answered(1.0), commands.PROVED: answered(proved)}
        rows |= {} if checked is None else {commands.CHECKED: answered(checked)}
        return CommandMeasured(tuple(words.split()), rows, size)

    def proof(replayed: float, size: int) -> ProofMeasured:
        rows = {FOUND: answered(1.0), WRITTEN: answered(0.5), REPLAYED: answered(replayed)}
        return ProofMeasured(proof_cases()[0], rows, size)

    return replace(
        results,
        commands=[
            command("verify a", 1.25, 0.5, 10),
            command("verify b", 3.0, 3.5, 4_000_000),
            command("verify c", 1.25, 0.75, 30),
            command("profile a", 1.5, None, 0),
        ],
        proofs=[proof(0.5, 10), proof(0.75, 6_000_000), proof(4.0, 20)],
    )


def test_figures_say_what_was_reached() -> None:
    """Of the literal nest of integrals; of everything, where it took 30 s."""

    def told(literal: str) -> str:
        figures = judge(with_proofs(made_up(TIMES[literal])))
        first = [each for each in figures if each.name == FOUR_UNMERGED.name]
        known = [each for each in figures if each.standing is not Standing.UNKNOWN]
        lines = [
            f"{each.name} | {each.goal} | {each.found} | {each.standing.value}"
            for each in (known if literal == "30 s" else first)
        ]
        return "\n".join([*lines, ""])

    check_answers("bench_figures", told)


def test_every_measured_figure_is_measured_by_the_full_suite() -> None:
    alone = {case.name for cases in FULL.alone.values() for case in cases}
    wanted = {figure.name for figure in judge(Results())} - {FOUR_UNMERGED.name}
    assert len(wanted) > 30 and wanted <= alone
    assert FOUR_UNMERGED in FULL.compared and FOUR_UNMERGED in QUICK.compared


def test_records_and_page_tell_everything(tmp_path) -> None:
    results = made_up(Timing(Outcome.CAPPED, (30.0,)))
    write_records(results, {"processor": "made up"}, tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    kinds = [record["kind"] for record in found]
    assert kinds[:4] == ["machine", "engines", "certified and plain", "by rank and scipy"]
    assert kinds[4] == "published numbers and scipy"
    assert kinds[5:9] == ["alone", "alone", "automaton", "automaton"]
    assert kinds[9:11] == ["command", "sweep"]
    assert found[0]["processor"] == "made up"
    assert found[1]["timings"][LITERAL]["outcome"] == "over the cap"
    assert found[1]["ratios"][LITERAL] == {"times": 1500.0, "at_least": True}
    assert (found[6]["published"], found[6]["published_repeated"]) == (441.3, 402.0)
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
MEASURED: dict[str, Callable[[], Any]] = {
    "batches": lambda: compare_tier(Batch(Case("svt_gauss", 3)), PROGRAMS, ONCE),
    "polyhedra": lambda: compare_polyhedra(Polyhedra(3, 2), ONCE),
    "published": lambda: compare_published(published_numbers()[0], ONCE),
    "automata": lambda: measure_automaton(automata()[0], ONCE),
    "real_inputs": lambda: measure_real(real_cases()[0], PROGRAMS, ONCE),
    "proofs": lambda: measure_proof(next(c for c in proof_cases() if c.room < 0), PROGRAMS, ONCE),
    "commands": lambda: commands.measure_proved_command(WORDS, PROGRAMS, ONCE),
    "services": lambda: measure_service(servers()[0], ONCE),
    "compositions": lambda: measure_runs(many_runs()[0], ONCE),
}


@pytest.mark.parametrize("kind", MEASURED)
def test_a_row_of_each_table_is_measured_and_shown(kind) -> None:
    found = MEASURED[kind]()
    timings = found.timings.values() if hasattr(found, "timings") else [found.timing]
    assert {timing.outcome for timing in timings} == {Outcome.ANSWERED}
    assert getattr(found, "distance", 0) < 1e-3 and getattr(found, "width", 0) < 2.0**-30
    name = (found if hasattr(found, "name") else found.case).name
    assert f"| {name} |" in page(Results(**{kind: [found]}), {}, None, [])


def test_a_verification_without_time_is_over_the_cap() -> None:
    found = measure(Case("k_min_max_gauss", 12), PROGRAMS, Patience(1, 1.0, 0.0))
    assert found.timing.outcome is Outcome.CAPPED


def test_a_verdict_without_a_proof_is_a_figure_that_is_missed() -> None:
    false = replace(proof_cases()[0], delta=Fraction(0), eps_prv=Fraction(1, 100))
    found = measure_proof(false, PROGRAMS, ONCE)
    assert {timing.outcome for timing in found.timings.values()} == {Outcome.FAILED}
    figure = judge(Results(proofs=[found]))[-1]
    assert (figure.name, figure.standing) == (false.name, Standing.MISSED)
    assert figure.found == "Not_DP"


def test_whole_commands_are_what_headers_claim_and_what_is_asked_of_all() -> None:
    found = commands.proved_commands(PROGRAMS)
    assert len(set(found)) == len(found) > len(commands.proved_commands(PROGRAMS, 4)) > 90
    assert {words[0] for words in found} == set(commands.COMMANDS)
    assert ("decide", "dipc/rand2.dpg", "-p", "N=1", "--interval", "0..1") in found
    assert any(words[0] == "prove" and words[2:] == ("--for-all", "N") for words in found)
    for words in found:
        claim = [word for flag in ("-p", "--eps") for word in words if flag in words]
        assert (PROGRAMS / words[1]).exists() and (claim or words[0] in ("decide", "prove"))


def test_a_command_that_fails_is_no_figure() -> None:
    words = ("verify", "svt_laplace.dpg", "--eps", "0", "--delta", "0")
    found = commands.measure_proved_command(words, PROGRAMS, ONCE)
    assert {timing.outcome for timing in found.timings.values()} == {Outcome.FAILED}
    assert "eps" in found.timings[commands.FOUND].reason
    assert judge(Results(commands=[found])) == judge(Results())
