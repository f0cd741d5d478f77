"""The Python interface of certificates: an answer in, the record that `check` can check out."""

from __future__ import annotations

from dipapprox.automata.model import Automaton
from dipapprox.errors import UserError, shorten
from dipapprox.language.load import DPG
from dipapprox.language.services import Service
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Verdict
from dipapprox.proofs.automaton_proof import AutomatonProof, StreamProof
from dipapprox.proofs.real_proof import RealProof
from dipapprox.questions import kinds
from dipapprox.questions.calls import explained
from dipapprox.questions.interface import AnyProgram, Pairs, known_options, known_program
from dipapprox.questions.proof_certificates import Certifiable, certify_proof
from dipapprox.replays.files import certify_answer
from dipapprox.services.service_proof import ServiceProof


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
    if isinstance(verdict, RealProof):
        return certify_proof(verdict, text, known_options(options).limits)
    if isinstance(verdict, Certifiable):
        match verdict:
            case AutomatonProof(automaton=proved):
                what = "automaton"
            case StreamProof(subject=proved):
                what = "subject"
            case ServiceProof(service=proved):
                what = "service"
        if program != proved:
            raise UserError(f"program must be the {what} of the proof: proof.{what}")
        return certify_proof(verdict, text, known_options(options).limits)
    if not isinstance(verdict, Verdict | IntervalVerdict | Decision):
        raise UserError(
            f"verdict must be what `verify`, `decide` or `prove` gave, not {verdict!r:.60}"
        )
    claimed = verdict.claim.delta if isinstance(verdict, Verdict) else None
    known = known_program(program, reals=True, delta=claimed)
    selection = kinds.pairs(pairs, "pairs").select(known)
    setting = Setting(known, selection, known_options(options))
    return certify_answer(setting, ProgramText(known.name, DPG, text), verdict)
