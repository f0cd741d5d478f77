"""Results as JSON lines: one object for each thing measured, everything that was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.figures import judge
from bench.published import published
from bench.suite import Results
from bench.timing import Ratio, Timing

Record = dict[str, object]


def records(results: Results, machine: Mapping[str, str]) -> Iterator[Record]:
    """Yield a record of the machine, then one for every measurement and every figure."""
    yield {"kind": "machine", **machine}
    for case, comparison in results.compared:
        yield {
            "kind": "engines",
            "case": comparison.name,
            "n": case.n,
            "timings": _timings(comparison.timings),
            "ratios": {name: _ratio(found) for name, found in comparison.ratios().items()},
        }
    for batch in results.batches:
        yield {
            "kind": "certified and plain",
            "case": batch.name,
            "events": batch.events,
            "timings": _timings(batch.timings),
            "ratio": _ratio(batch.ratio()),
            "ratio_afresh": _ratio(batch.ratio_afresh()),
            "width": batch.width,
            "distance": batch.distance,
        }
    for polyhedra in results.polyhedra:
        yield {
            "kind": "by rank and scipy",
            "case": polyhedra.name,
            "events": polyhedra.events,
            "timings": _timings(polyhedra.timings),
            "ratio": _ratio(polyhedra.ratio()),
            "distance": polyhedra.distance,
        }
    for published_case in results.published:
        yield {
            "kind": "published numbers and scipy",
            "case": published_case.case.name,
            "timings": _timings(published_case.timings),
            "ratio": _ratio(published_case.ratio()),
            "width": published_case.width,
            "distance": published_case.distance,
        }
    for family, case, growth in results.alone:
        known = published(case)
        yield {
            "kind": "alone",
            "family": family,
            "case": growth.name,
            "n": case.n,
            "timing": _timing(growth.timing),
            "memory_mib": growth.memory,
            "idle_memory_mib": growth.idle,
            "published": None if known is None else known.printed,
            "published_repeated": None if known is None else known.repeated,
        }
    for each in results.automata:
        yield {
            "kind": "automaton",
            "case": each.case.name,
            "bounds": each.bounds,
            "timings": _timings(each.timings),
            "published": each.case.published,
        }
    for real in results.real_inputs:
        yield {"kind": "real inputs", "case": real.case.name, "timings": _timings(real.timings)}
    for proof in results.proofs:
        yield {
            "kind": "proof",
            "case": proof.name,
            "timings": _timings(proof.timings),
            "replaying": _ratio(proof.replaying()),
            "writing": _ratio(proof.writing()),
            "bytes": proof.size,
        }
    for command_case in results.commands:
        yield {
            "kind": "proof of a command",
            "case": command_case.name,
            "timings": _timings(command_case.timings),
            "proving": command_case.proving(),
            "checking": _ratio(command_case.checking()),
            "bytes": command_case.size,
        }
    for served in results.services:
        yield {
            "kind": "service",
            "case": served.case.name,
            "bounds": served.bounds,
            "pairs": served.pairs,
            "timing": _timing(served.timing),
        }
    for runs in results.compositions:
        yield {
            "kind": "composition",
            "case": runs.case.name,
            "interval": runs.interval,
            "step": runs.step,
            "timing": _timing(runs.timing),
            "dp_accounting": None if runs.other is None else _timing(runs.other),
        }
    if results.command is not None:
        yield {
            "kind": "command",
            "timing": _timing(results.command.timing),
            "memory_mib": results.command.memory,
            "starts": dict(results.command.starts),
        }
    if results.swept is not None:
        yield {
            "kind": "sweep",
            "case": results.swept.name,
            "seconds": results.swept.seconds,
            "processor_seconds": results.swept.processor,
            "bare_seconds": results.swept.bare,
        }
    for figure in judge(results):
        yield {
            "kind": "figure",
            "case": figure.name,
            "goal": figure.goal,
            "found": figure.found,
            "standing": figure.standing.value,
        }


def write_records(results: Results, machine: Mapping[str, str], path: Path) -> None:
    """Write the records to a file."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records(results, machine)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _timing(timing: Timing) -> Record:
    return {
        "outcome": timing.outcome.value,
        "reason": timing.reason or None,
        "median": timing.median,
        "seconds": list(timing.seconds),
    }


def _timings(timings: Mapping[str, Timing]) -> dict[str, Record]:
    return {name: _timing(timing) for name, timing in timings.items()}


def _ratio(found: Ratio | None) -> Record | None:
    return None if found is None else {"times": found.value, "at_least": found.at_least}
