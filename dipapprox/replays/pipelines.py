"""Files of proofs about a pipeline.

    {"format": "dipapprox composition proof", "version": 1,
     "programs": [null | {"program": {"name": …, "language": …, "text": …, "sha256": …},
                          "params": {…}, "widened": {…}}, …],
     "pipeline": …, "verdict": …, "proofs": [{"claim": …, "steps": […]}, …], "computed": {…},
     "digest": "sha256:…"}

`programs` has one entry for every run: the program whose machine it is, or null. Of an interval
both ends have a proof; the verdict is then "DP". `kernel.compositions` says what pipeline and
claims are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dipapprox.errors import shorten
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.reading import as_list, as_record, as_word
from dipapprox.replays.meaning import meant_by, parameters_of, remembering
from dipapprox.replays.result import Said, program_of

FIELDS = (
    *("format", "version", "programs", "pipeline", "verdict"),
    *("proofs", "computed", "digest"),
)


def said(content: Mapping[str, Any]) -> Said:
    verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
    proofs = [
        as_record(each, "a proof", ("claim", "steps"))
        for each in as_list(content["proofs"], "the proofs")
    ]
    claims = [each["claim"] for each in proofs]
    verdicts = [each.get("verdict") for each in claims if isinstance(each, dict)]
    if not proofs or verdict != ("DP" if "DP" in verdicts else "Not_DP"):
        raise BadProof("the verdict is not that of the claims")
    return Said(
        program="the pipeline",
        parameters={},
        scope=_scope(content["pipeline"]),
        verdict=verdict,
        machine=content["pipeline"],
        proofs=[(each["claim"], each["steps"]) for each in proofs],
        has_texts=any(each is not None for each in as_list(content["programs"], "the programs")),
        differences=partial(_differences, content),
    )


def _differences(content: Mapping[str, Any]) -> tuple[list[str], None]:
    """What is false: that texts mean their machines."""
    pipeline = as_record(content["pipeline"], "a pipeline", ("adjacency", "runs"))
    runs = [
        as_record(each, "a run", ("what", "subsample", "times"))
        for each in as_list(pipeline["runs"], "runs")
    ]
    programs = as_list(content["programs"], "the programs", len(runs))
    for number, (run, recorded) in enumerate(zip(runs, programs, strict=True)):
        what = run["what"]
        if (recorded is None) != (not isinstance(what, dict) or "machine" not in what):
            raise BadProof("a program without a machine, or a machine without a program")
        if recorded is None:
            continue
        own = as_record(recorded, "a program", ("program", "params", "widened"))
        program, parameters = program_of(own["program"]), parameters_of(own["params"])
        found = meant_by(program, parameters, own["widened"])
        if isinstance(found, str):
            return [f"programs[{number}].{found}"], None
        if found[1] != remembering(what["machine"]):
            return [f"pipeline.runs[{number}]: it is not what the program's text means"], None
    return [], None


def _scope(pipeline: object) -> str:
    """What a pipeline runs, in words."""
    found = []
    runs = pipeline.get("runs") if isinstance(pipeline, dict) else None
    for number, run in enumerate(runs if isinstance(runs, list) else []):
        what = run.get("what") if isinstance(run, dict) else None
        if not isinstance(what, dict):
            continue
        name = what.get("mechanism", "a program")
        given = ", ".join(
            f"{key} {what[key]}" for key in what if key not in ("mechanism", "machine")
        )
        rate = "" if run.get("subsample") is None else f" on samples of rate {run['subsample']}"
        found.append(f"run {number} is {run.get('times')} times {name}({given}){rate}")
    adjacency = pipeline.get("adjacency") if isinstance(pipeline, dict) else None
    return shorten(f"{adjacency}: {'; '.join(found)}", 500)
