"""The file of a proof: a program's text, the machine that it means, a claim, and steps.

    {"format": "dipapprox proof", "version": 1,
     "program": {"name": …, "language": …, "text": …, "sha256": …}, "params": {…}, "widened": {…},
     "scope": …, "verdict": …, "machine": …, "claim": …, "steps": […], "computed": {…},
     "digest": "sha256:…"}

`kernel.machine`, `kernel.replay` and `kernel.rules` say what machine, claim and steps are. The rest
is for people, and for the comparison of text and machine.
"""

from __future__ import annotations

from dipapprox.certificates.digest import digest
from dipapprox.digits import exact_text
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.language.core import Program
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy.certificate import (
    Certificate,
    ProgramText,
    certify,
    recorded_program,
    versions,
)
from dipapprox.privacy.compositions import certificate as composed
from dipapprox.privacy.compositions.pipeline import ProgramAt
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.proof_steps.decisions import goals_of, replayed_throughout
from dipapprox.proof_steps.verdicts import WrittenProof, goal_of, written
from dipapprox.replays.result import FORMAT, PIPELINE_FORMAT, PIPELINE_VERSION, VERSION


def certify_verdict(
    program: Program,
    source: ProgramText,
    verdict: Verdict,
    selection: PairSelection,
    options: Options,
) -> Certificate:
    """Record a verdict: its proof, if the kernel has replayed it.

    Args:
        program: What was verified.
        source: Its text.
        verdict: The result.
        selection: The pairs that were selected.
        options: Those of the verification.

    Raises:
        UserError: If the verdict is Unknown, `source` is not the text of `program`, or there is no
            certificate for it.
        LimitReached: If a limit of `options` is reached.
    """
    if verdict.replayed is None:
        return certify(program, source, verdict, selection, options)
    proof = written(program, goal_of(verdict), selection, verdict.replayed.bits)
    return _file(program, source, selection, verdict, proof)


def certify_throughout(
    program: Program,
    source: ProgramText,
    found: Decision | IntervalVerdict,
    selection: PairSelection,
    options: Options,
) -> Certificate:
    """Record an answer about all ε of an interval: its proof, which the kernel replays first.

    Args:
        program: What was asked about.
        source: Its text.
        found: The answer.
        selection: The pairs that were selected.
        options: Those of the answer.

    Raises:
        UserError: If the answer is Unknown, `source` is not the text of `program`, or there is no
            certificate for it.
        LimitReached: If a limit of `options` is reached.
    """
    if found.answer is Answer.UNKNOWN:
        raise NoCertificate("the answer is Unknown")
    replayed = found.replayed
    if replayed is None:
        limits = options.limits
        try:
            replayed = replayed_throughout(program, goals_of(found), selection, limits)
        except NotProved as obstacle:
            raise NoCertificate(f"the kernel has no proof: {obstacle}") from None
    assert isinstance(replayed.proof, WrittenProof)
    return _file(program, source, selection, found, replayed.proof)


def _file(
    program: Program,
    source: ProgramText,
    selection: PairSelection,
    found: Verdict | Decision | IntervalVerdict,
    proof: WrittenProof,
) -> Certificate:
    fields: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        **_program_fields(program, source),
        "scope": scope_of(program, selection).text,
        "verdict": found.answer.value,
        "machine": proof.machine,
        "claim": proof.claim,
        "steps": list(proof.steps),
        "computed": {"engine": found.engine, **versions()},
    }
    return Certificate({**fields, "digest": digest(fields)})


def certify_composition(answer: ComposedAnswer, options: Options) -> Certificate:
    """Record an answer about a pipeline: its proofs, if the kernel has replayed some.

    Args:
        answer: A claim, or an interval.
        options: Those of the answer.

    Raises:
        UserError: If there is no evidence that could be recorded.
        LimitReached: If a limit of `options` is reached.
    """
    if not answer.proofs:
        return composed.certify_composition(answer, options)
    programs: list[object] = []
    for run in answer.pipeline.runs:
        what = run.what
        if not isinstance(what, ProgramAt):
            programs.append(None)
            continue
        if what.text is None:
            raise NoCertificate(f"the text of '{run.name}' is not known: name its file")
        programs.append(_program_fields(what.program, what.text))
    said = [{"claim": proof.claim, "steps": list(proof.steps)} for proof in answer.proofs]
    broken = answer.answer is Answer.NOT_DP
    kept = any(proof.kept for proof in answer.proofs)
    fields: dict[str, object] = {
        "format": PIPELINE_FORMAT,
        "version": PIPELINE_VERSION,
        "programs": programs,
        "pipeline": answer.proofs[0].pipeline,
        "verdict": Answer.DP.value if kept and not broken else Answer.NOT_DP.value,
        "proofs": said,
        "computed": {"engine": "exact", **versions()},
    }
    return Certificate({**fields, "digest": digest(fields)})


def _program_fields(program: Program, source: ProgramText) -> dict[str, object]:
    recorded = recorded_program(program, source)
    return {
        "program": {
            "name": source.name,
            "language": source.language,
            "text": source.text,
            "sha256": recorded["program"].sha256,
        },
        "params": {name: exact_text(value) for name, value in program.parameters.items()},
        "widened": recorded["widened"],
    }
