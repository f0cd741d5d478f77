"""The file of a proof about a pipeline, judged.

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
from typing import Any

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import NO_MEMORY, LimitReached, UserError, shorten
from dipapprox.kernel.budget import asking
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.judgements import Judgement
from dipapprox.kernel.reading import as_list, as_name, as_record, as_word
from dipapprox.kernel.replay import replay
from dipapprox.limits import Limits
from dipapprox.replays.check import meant_by, parameters_of, remembering, step_of
from dipapprox.replays.digest import digest, text_hash
from dipapprox.replays.result import PIPELINE_VERSION, Outcome, Replay, ReplayedStep

FIELDS = (
    "format",
    "version",
    "programs",
    "pipeline",
    "verdict",
    "proofs",
    "computed",
    "digest",
)

_PROGRAM = ("name", "language", "text", "sha256")


def check_pipeline(
    content: Mapping[str, object], limits: Limits, explained: bool = False
) -> Replay:
    """Judge the JSON object of a file; see `check_proof`.

    Raises:
        UserError: If it is malformed.
    """
    try:
        return _Check(as_record(dict(content), "a proof", FIELDS), limits).judge(explained)
    except BadProof as bad:
        raise UserError(f"the proof is malformed: {bad}") from None
    except UnicodeEncodeError:
        raise UserError("the proof is malformed: a text is not Unicode") from None
    except RecursionError:
        raise UserError("the proof is malformed: too deep") from None


@dataclass(slots=True)
class _Check:
    """A check under way."""

    content: Mapping[str, Any]
    limits: Limits
    steps: list[ReplayedStep] = field(default_factory=list)
    concluded: list[str] = field(default_factory=list)
    elaborated: bool = False

    def judge(self, explained: bool) -> Replay:
        content = self.content
        if content["version"] != PIPELINE_VERSION or isinstance(content["version"], bool):
            version = shorten(str(content["version"]))
            raise BadProof(f"version {version}; this dipapprox reads {PIPELINE_VERSION}")
        verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
        proofs = [
            as_record(each, "a proof", ("claim", "steps"))
            for each in as_list(content["proofs"], "the proofs")
        ]
        verdicts = [
            each["claim"].get("verdict") for each in proofs if isinstance(each["claim"], dict)
        ]
        if not proofs or verdict != ("DP" if "DP" in verdicts else "Not_DP"):
            raise BadProof("the verdict is not that of the claims")
        differences: list[str] = []
        reason = None
        try:
            differences = self._differences()
            if not differences:
                self.elaborated = any(each is not None for each in content["programs"])
                for each in proofs:
                    self._replay(each)
        except Refuted as refuted:
            differences = [f"step {len(self.steps)}: {refuted}"]
        except BadProof:
            raise
        except NotProved as obstacle:
            reason = f"step {len(self.steps)}: {obstacle}"
        except LimitReached as limit:
            reason = limit.reason
        except MemoryError:
            reason = NO_MEMORY
        outcome = Outcome.CONFIRMED if reason is None else Outcome.NOT_CONFIRMED
        return Replay(
            outcome=Outcome.REFUTED if differences else outcome,
            differences=tuple(differences),
            reason=reason,
            program="the pipeline",
            parameters={},
            scope=_scope(content["pipeline"]),
            verdict=verdict,
            elaborated=self.elaborated,
            steps=tuple(self.steps),
            explained=explained,
            seconds=self.limits.elapsed(),
            concluded=tuple(self.concluded),
        )

    def _replay(self, proof: Mapping[str, Any]) -> None:
        steps, before = as_list(proof["steps"], "the steps"), len(self.steps)

        def note(number: int, judgement: Judgement) -> None:
            self.steps.append(step_of(steps[number], judgement, before))

        with asking(self.limits.check):
            found = replay(self.content["pipeline"], proof["claim"], steps, note)
        self.concluded.append(str(found))

    def _differences(self) -> list[str]:
        """What is false without any step: the digests, and that texts mean their machines."""
        content = self.content
        if digest(content) != content["digest"]:
            return ["digest: the file has changed since it was written"]
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
            program = as_record(own["program"], "the program", _PROGRAM)
            if not all(isinstance(program[name], str) for name in program):
                raise BadProof("the program's fields are texts")
            as_name(program["name"], "the program")
            if text_hash(program["text"]) != program["sha256"]:
                return [f"programs[{number}].sha256: it is not that of the text"]
            found = meant_by(program, parameters_of(own["params"]), own["widened"])
            if isinstance(found, str):
                return [f"programs[{number}].{found}"]
            if found[1] != remembering(what["machine"]):
                return [f"pipeline.runs[{number}]: it is not what the program's text means"]
        return []


def _scope(pipeline: object) -> str:
    """What a pipeline runs, in words."""
    said = []
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
        said.append(f"run {number} is {run.get('times')} times {name}({given}){rate}")
    adjacency = pipeline.get("adjacency") if isinstance(pipeline, dict) else None
    return shorten(f"{adjacency}: {'; '.join(said)}", 500)
