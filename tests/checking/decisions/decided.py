"""Certificates of decisions about the programs of the DiPC paper."""

from __future__ import annotations

import json

from dipapprox.language.load import load, read_text
from dipapprox.language.values import parse_rational
from dipapprox.privacy.certificate import ProgramText
from dipapprox.privacy.decisions.certificate import certify_decision
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.options import Options
from dipapprox.privacy.selection import select
from tests.checking.certified import PROGRAMS, Fields


def decision_certificate(
    name: str,
    settings: dict[str, str] | None = None,
    budget: str = "1",
    delta: str = "0",
    interval: str = "0..inf",
    pairs: str = "all",
) -> Fields:
    """Decide, certify, and return the certificate as a file would have it."""
    path = PROGRAMS / "dipc" / f"{name}.dpg"
    parameters = {key: parse_rational(text, key) for key, text in (settings or {}).items()}
    program = load(path, parameters)
    selection, options = select(pairs, program), Options()
    question = DecisionQuestion(
        parse_rational(budget, "budget"), read_delta(delta), read_epsilons(interval)
    )
    decision = decide(program, question, selection, options)
    source = ProgramText(path.stem, "dpg", read_text(path))
    found = json.loads(certify_decision(program, source, decision, selection, options).to_json())
    assert isinstance(found, dict)
    return found
