"""Pipelines whose answers are what the kernel confirms of them, and the files of their proofs."""

from __future__ import annotations

from dipapprox.errors import NoCertificate, UserError
from dipapprox.privacy.certificate import Certificate
from dipapprox.privacy.compositions.compose import DEFAULT_WIDTH, Composed, Number
from dipapprox.privacy.compositions.pipeline import ProgramAt
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.composed_ends import proved_composition, with_proofs
from dipapprox.replays.files import program_fields, recorded
from dipapprox.replays.result import PIPELINE_FORMAT, PIPELINE_VERSION


def certify_composition(answer: ComposedAnswer, options: Options) -> Certificate:
    """Record an answer about a pipeline, and its proofs, which the kernel replays first."""
    answer = with_proofs(answer, options)
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
        "version": PIPELINE_VERSION,
        "programs": programs,
        "pipeline": answer.proofs[0].pipeline,
        "verdict": Answer.DP.value if kept and not broken else Answer.NOT_DP.value,
        "proofs": said,
    }
    return recorded(fields)


class ProvedComposed(Composed):
    """A pipeline whose answers are what the kernel confirms of them.

    Limits of the options are asked while the kernel works, too.
    """

    def epsilon(self, delta: Number, width: Number = DEFAULT_WIDTH) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().epsilon(delta, width), self._options)

    def delta(self, eps_prv: Number, width: Number | None = None) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().delta(eps_prv, width), self._options)

    def verify(self, eps_prv: Number, delta: Number) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().verify(eps_prv, delta), self._options)

    def curve(
        self, low: Number, high: Number, points: int, width: Number = DEFAULT_WIDTH / 1000
    ) -> ComposedAnswer:
        """Refuse it."""
        raise UserError("'proved' asks for a claim, the least delta or the least eps_prv")
