"""The Python interface of certificates: an answer in, the record that `check` can check out."""

from __future__ import annotations

from typing import Any

from dipapprox.automata.model import Automaton
from dipapprox.digits import exact_text
from dipapprox.errors import UserError, shorten
from dipapprox.language.core import Program
from dipapprox.language.load import DIPA, DPG
from dipapprox.language.services import Service
from dipapprox.limits import limited
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.description import Certificate, ProgramText
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Verdict
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.endless_proof import AutomatonProof, StreamProof
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import proved_subject, with_proof
from dipapprox.questions import kinds
from dipapprox.questions.interface import AnyProgram, Pairs, explained, known_options, known_program
from dipapprox.replays.budgets import meant
from dipapprox.replays.files import certify_answer, recorded_proof
from dipapprox.replays.result import text_fields
from dipapprox.services.service_proof import ServiceProof

Certifiable = AutomatonProof | RealProof | StreamProof | ServiceProof
_SUBJECTS = {AutomatonProof: "automaton", StreamProof: "subject", ServiceProof: "service"}
"""What `certify` is given again."""


def certify_proof(proof: BudgetAnswer, text: str) -> Certificate:
    """Record what was proved of an automaton, program or service with this text: its proof, which
    the kernel replays first if it has not."""
    answer = with_proof(proof)
    written = answer.written
    if written is None:
        raise UserError("the kernel has replayed no proof")
    language = DIPA if isinstance(answer, AutomatonProof) else DPG
    program, about = text_fields(answer.program, language, text), _about(answer)
    _, machines, scope = meant(about, program, answer.parameters, written.claim)
    if written.machine not in machines:
        raise UserError("the text is not that of which this was proved")
    params = {each: exact_text(value) for each, value in answer.parameters.items()}
    described = {"program": program, "params": params, "about": about}
    return recorded_proof(described, scope, answer.answer, written)


def _about(answer: BudgetAnswer) -> dict[str, Any]:
    if isinstance(answer, ServiceProof):
        return {"seen by": sorted(answer.subject.users)}
    subject, seen = proved_subject(answer)
    rounds = subject.rounds if isinstance(subject, Program) else None
    return {"for all": None if rounds is None else rounds.parameter, "stops are seen": seen}


@explained("certify(program, text, verdict)")
def certify(
    program: AnyProgram | Automaton | Service,
    text: str,
    verdict: Verdict | IntervalVerdict | Decision | Certifiable,
    *,
    pairs: Pairs = "all",
    options: Options | None = None,
) -> Certificate:
    """Record a verdict, a decision or a proof, so that `check` can check it.

    Args:
        program: What was verified, or the automaton, or the service.
        text: The `.dpg` (or `.dipa`) text that it was read from.
        verdict: The result of `verify`, `decide` or `prove`.
        pairs: As given there.
        options: As given there.

    Raises:
        UserError: If there is nothing to record, or `text` is not the program's.
        LimitReached: If a limit of `options` is reached.
    """
    if not isinstance(text, str):
        raise UserError(f"text must be the program's text, got {shorten(repr(text))}")
    if isinstance(verdict, Certifiable):
        for kind, what in _SUBJECTS.items():
            if isinstance(verdict, kind) and program != getattr(verdict, what):
                raise UserError(f"program must be the {what} of the proof: proof.{what}")
        with limited(known_options(options).limits):
            return certify_proof(verdict, text)
    if not isinstance(verdict, Verdict | IntervalVerdict | Decision):
        raise UserError(
            f"verdict must be what `verify`, `decide` or `prove` gave, not {verdict!r:.60}"
        )
    claimed = verdict.claim.delta if isinstance(verdict, Verdict) else None
    known = known_program(program, reals=True, delta=claimed)
    selection = kinds.pairs(pairs, "pairs").select(known)
    setting = Setting(known, selection, known_options(options))
    with limited(setting.options.limits):
        return certify_answer(setting, ProgramText(known.name, DPG, text), verdict)
