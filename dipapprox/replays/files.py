"""The file of a proof: a program's text, the machine that it means, a claim, and steps.

    {"format": "dipapprox proof", "version": 1,
     "program": {"name": …, "language": …, "text": …, "sha256": …}, "params": {…}, "widened": {…},
     "scope": …, "verdict": …, "machine": …, "claim": …, "steps": […], "computed": {…},
     "digest": "sha256:…"}

`kernel.machine` and `kernel.replay` say what machine, claim and steps are. The rest
is for people, and for the comparison of text and machine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TypeVar

from dipapprox import version
from dipapprox.data_classes import replace
from dipapprox.digits import exact_text
from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.errors import NotProved
from dipapprox.language.core import Program
from dipapprox.language.domains import Widening, domain_text
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import Source, parse_program
from dipapprox.privacy.compositions import pipeline as pipelines
from dipapprox.privacy.compositions.pipeline import ProgramAt
from dipapprox.privacy.decisions import decision as decisions
from dipapprox.privacy.description import Certificate, ProgramText
from dipapprox.privacy.intervals import verdict as claims
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.proof_steps import composed_ends, throughout
from dipapprox.proof_steps.verdicts import WrittenProof, goal_of, replayed
from dipapprox.replays.result import FORMAT, PIPELINE_FORMAT, VERSION, digest, text_fields

Found = TypeVar("Found", bound="Verdict | claims.IntervalVerdict | decisions.Decision")


def with_proof(setting: Setting, found: Found) -> Found:
    """Return an answer with a proof that the kernel has replayed, if it has none yet."""
    if found.answer is Answer.UNKNOWN:
        raise NoCertificate("the answer is Unknown")
    if found.replayed is not None:
        return found
    try:
        match found:
            case Verdict():
                own = replayed(setting, goal_of(found))
            case _:
                own = throughout.replayed_throughout(setting, throughout.goals_of(found))
    except NotProved as obstacle:
        raise NoCertificate(f"the kernel has no proof: {obstacle}") from None
    return replace(found, replayed=own)


def certify_answer(
    setting: Setting,
    source: ProgramText | Source,
    found: Verdict | claims.IntervalVerdict | decisions.Decision,
) -> Certificate:
    """Record an answer: its proof, which the kernel replays first if it has not."""
    described = program_fields(setting.program, source)
    own = with_proof(setting, found).replayed
    assert own is not None and isinstance(own.proof, WrittenProof)
    scope = scope_of(setting.program, setting.selection).text
    return recorded_proof(described, scope, found.answer, own.proof, found.engine)


def certify_composition(answer: pipelines.ComposedAnswer, options: Options) -> Certificate:
    """Record an answer about a pipeline, and its proofs, which the kernel replays first."""
    answer = composed_ends.with_proofs(answer, options)
    programs: list[object] = []
    for run in answer.pipeline.runs:
        what = run.what
        if not isinstance(what, ProgramAt):
            programs.append(None)
            continue
        if what.text is None:
            raise NoCertificate(f"the text of '{run.name}' is not known: name its file")
        programs.append(program_fields(what.program, what.text))
    said = [{"claim": proof.claim, "steps": list(proof.steps)} for proof in answer.proofs]
    broken = answer.answer is Answer.NOT_DP
    kept = any(proof.kept for proof in answer.proofs)
    fields: dict[str, object] = {
        "format": PIPELINE_FORMAT,
        "version": VERSION,
        "programs": programs,
        "pipeline": answer.proofs[0].pipeline,
        "verdict": Answer.DP.value if kept and not broken else Answer.NOT_DP.value,
        "proofs": said,
    }
    return recorded(fields)


def recorded_proof(
    about: Mapping[str, object],
    scope: str,
    answer: Answer,
    proof: WrittenProof,
    engine: str = "exact",
) -> Certificate:
    """Return a certificate of one proof; `about` says what text it is about."""
    fields = {"format": FORMAT, "version": VERSION, **about, "scope": scope}
    said = {"verdict": answer.value, "machine": proof.machine, "claim": proof.claim}
    return recorded({**fields, **said, "steps": list(proof.steps)}, engine)


def recorded(fields: dict[str, object], engine: str = "exact") -> Certificate:
    """Return a certificate of all else that it says, and the engine that found the answer."""
    python = ".".join(map(str, sys.version_info[:3]))
    computed = {"engine": engine, "python": python, "dipapprox": version.VERSION}
    fields = {**fields, "computed": computed}
    return Certificate({**fields, "digest": digest(fields)})


def program_fields(program: Program, source: ProgramText | Source) -> dict[str, object]:
    """Return the fields of a program: its text, which may have been read, parameters, domains."""
    if isinstance(source, Source):
        read = source.program
    else:
        read = parse_program(source.text, source.language, source.name)
    widened = {c.variable: c.domain for c in program.inputs if c.variable in program.declared}
    parameters = dict(program.parameters)
    found = elaborate(read, parameters, program.name, Widening(named=widened), irrational=True)
    if found != program:
        raise UserError("the program's text is not that of the program that was verified")
    return {
        "program": text_fields(source.name, source.language, source.text),
        "params": {name: exact_text(value) for name, value in program.parameters.items()},
        "widened": {name: domain_text(domain) for name, domain in widened.items()},
    }
