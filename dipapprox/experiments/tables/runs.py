"""Running what the tables need, each question once: many tables share rows.

Times are those of one run, from parsed arguments to the answer, as `--json` reports them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

from dipapprox.automata.description import automaton_of
from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import SourceError
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Program
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion, read_epsilons
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.selection import select
from dipapprox.privacy.verifier import verify
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton
from dipapprox.semantics.execution import execute
from dipapprox.semantics.structure import Structure, measure_structure

REFUSED = "refused"
"""The answer about what is no automaton of which the theorems speak."""


class RerunSubject(NamedTuple):
    """A program with parameters, by its `file` below the folder of bundled programs, without the
    extension; a domain replaces that of every input cell."""

    file: str
    parameters: tuple[tuple[str, Fraction], ...]
    domain: tuple[Fraction, ...] | None = None
    pairs: str = "all"


@dataclass(frozen=True, slots=True)
class RerunAnswer:
    """An answer: DP, Not_DP or Unknown, why if it is unknown, and the time in seconds."""

    answer: str
    reason: str | None
    seconds: float


@cache
def _program(subject: RerunSubject) -> Program:
    found = load(BUNDLED / f"{subject.file}.dpg", dict(subject.parameters))
    if subject.domain is None:
        return found
    inputs = tuple(replace(cell, domain=subject.domain) for cell in found.inputs)
    return replace(found, inputs=inputs)


@cache
def verified(
    subject: RerunSubject, claim: Claim, engine: Engine, strategy: Strategy, seconds: float
) -> RerunAnswer:
    """Verify a claim at one eps."""
    program = _program(subject)
    merge, limits = strategy is not Strategy.NONE, Limits(seconds=seconds)
    options = Options(engine=engine, strategy=strategy, merge=merge, limits=limits)
    verdict = verify(Setting(program, select(subject.pairs, program), options), claim)
    return RerunAnswer(verdict.answer.value, verdict.reason, verdict.seconds)


@cache
def decided(
    subject: RerunSubject, budget: Fraction, delta: str, interval: str, seconds: float
) -> tuple[RerunAnswer, Decision]:
    """Decide a claim for all epsilons of an interval."""
    program = _program(subject)
    epsilons = read_epsilons(interval)
    asked = DecisionQuestion(budget=budget, delta=read_delta(delta), epsilons=epsilons)
    options = Options(limits=Limits(seconds=seconds))
    decision = decide(Setting(program, select(subject.pairs, program), options), asked)
    reason = decision.reason or decision.note or None
    return RerunAnswer(decision.answer.value, reason, decision.seconds), decision


@cache
def proved(text: str, seconds: float) -> tuple[RerunAnswer, AutomatonProof | None]:
    """Bound the least budget of an automaton; no proof of one that is refused."""
    try:
        named = NamedAutomaton("automaton", automaton_of(parse_dipa(text)))
    except SourceError as error:
        return RerunAnswer(REFUSED, error.message, 0.0), None
    proof = prove_automaton(named, None, Stops.HIDDEN, Limits(seconds=seconds))
    return RerunAnswer(proof.answer.value, proof.reason, proof.seconds), proof


@cache
def structure(subject: RerunSubject) -> Structure:
    """Measure the final states as the tables count them: none merged."""
    return measure_structure(execute(_program(subject), merge=False, limits=Limits(seconds=120)))
