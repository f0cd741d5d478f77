"""Files of proofs of budgets: certificates of what `prove` answers, of each kind."""

from __future__ import annotations

from typing import Any

from dipapprox.automata.model import Automaton
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import DIPA, DPG
from dipapprox.limits import Limits, limited
from dipapprox.privacy.certificate import Certificate
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proof_steps.services import service_json
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops, StreamProof
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import with_proof
from dipapprox.replays.budgets import scope_text, service_of, service_scope, subject_of
from dipapprox.replays.digest import text_fields
from dipapprox.replays.files import recorded
from dipapprox.replays.result import FORMAT, VERSION
from dipapprox.services.service_proof import ServiceProof


def certify_replayed(answer: BudgetAnswer, text: str) -> Certificate:
    """Record the proof of an answer that the kernel has replayed.

    Raises:
        UserError: If there is none, or the text is not that of which this was proved.
    """
    written = answer.written
    if written is None:
        raise UserError("the kernel has replayed no proof")
    machine = written.machine
    about, machines, scope = _meant(answer, text, written)
    if machine not in machines:
        raise UserError("the text is not that of which this was proved")
    language = DIPA if isinstance(answer, AutomatonProof) else DPG
    fields: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": text_fields(answer.program, language, text),
        "params": {each: exact_text(value) for each, value in answer.parameters.items()},
        "about": about,
        "scope": scope,
        "verdict": answer.answer.value,
        "machine": machine,
        "claim": written.claim,
        "steps": list(written.steps),
    }
    return recorded(fields)


def _meant(
    answer: BudgetAnswer, text: str, written: WrittenProof
) -> tuple[dict[str, Any], list[Any], str]:
    """Return what a proof is about, the machines that the text may mean then, and the scope."""
    machine: Any = written.machine
    name, parameters = answer.program, answer.parameters
    if isinstance(answer, ServiceProof):
        users = sorted(answer.subject.users)
        service = service_of(text, name, parameters)
        return {"seen by": users}, [service_json(service, users)], service_scope(machine, users)
    subject, seen = _subject_of(answer)
    rounds = subject.rounds if isinstance(subject, Program) else None
    for_all = None if rounds is None else rounds.parameter
    language = DPG if isinstance(subject, Program) else DIPA
    found = subject_of(text, language, name, parameters, for_all)
    about = {"for all": for_all, "stops are seen": seen}
    return about, list(machines_of(found, seen, written.claim)), scope_text(machine)


def _subject_of(answer: BudgetAnswer) -> tuple[Program | Automaton, bool]:
    """Return what an answer is about, and whether it is seen that an automaton stops."""
    match answer:
        case AutomatonProof(automaton=automaton, stops=stops):
            return automaton, stops is Stops.VISIBLE
        case StreamProof(subject=subject):
            return subject, True
        case RealProof(proof=found):
            return found.program, True
        case _:
            raise UserError("the kernel has no rules for it")


Certifiable = AutomatonProof | RealProof | StreamProof | ServiceProof


def certify_proof(proof: Certifiable, text: str, limits: Limits) -> Certificate:
    """Record what was proved: its proof, which the kernel replays first if it has not.

    Args:
        proof: The answer.
        text: Of the automaton, program or service.
        limits: Asked while the proof is written and replayed.

    Raises:
        UserError: If the kernel confirms no proof, or `text` is another one's.
        LimitReached: If `limits` run out.
    """
    with limited(limits):
        return certify_replayed(with_proof(proof, limits), text)
