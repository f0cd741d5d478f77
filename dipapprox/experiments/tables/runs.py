"""Running what the tables need, each question once: many tables share rows.

Times are those of one run, from parsed arguments to the answer, as `--json` reports them.
"""

from __future__ import annotations

from fractions import Fraction

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
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.selection import select
from dipapprox.privacy.verifier import verify
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton
from dipapprox.semantics.execution import execute
from dipapprox.semantics.structure import Structure, measure_structure

REFUSED = "refused"
"""The answer about what is no automaton of which the theorems speak."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with parameters.

    Attributes:
        file: Below the folder of bundled programs, without the extension.
        parameters: By name.
        domain: Replaces the domain of every input cell; None: as the program says.
    """

    file: str
    parameters: tuple[tuple[str, Fraction], ...]
    domain: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, slots=True)
class AboutAutomaton:
    """A question about an automaton: its least budget."""

    text: str
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: DP, Not_DP or Unknown, why if it is unknown, and the time in seconds."""

    answer: str
    reason: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a subject at one eps."""

    subject: Subject
    eps: Fraction
    budget: Fraction
    delta: Fraction
    pairs: str
    engine: Engine = Engine.AUTO
    strategy: Strategy = Strategy.LEAST_NESTING
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class AllEpsilons:
    """A question about a subject at all epsilons of an interval."""

    subject: Subject
    budget: Fraction = Fraction(1)
    delta: str = "0"
    interval: str = "0..inf"
    pairs: str = "all"
    seconds: float = 120.0


class Runs:
    """Answers questions and remembers the answers."""

    def __init__(self) -> None:
        self._programs: dict[Subject, Program] = {}
        self._verified: dict[Question, Found] = {}
        self._decided: dict[AllEpsilons, tuple[Found, Decision]] = {}
        self._proved: dict[AboutAutomaton, tuple[Found, AutomatonProof | None]] = {}
        self._structures: dict[Subject, Structure] = {}

    def program(self, subject: Subject) -> Program:
        """Load a program."""
        if subject not in self._programs:
            found = load(BUNDLED / f"{subject.file}.dpg", dict(subject.parameters))
            if subject.domain is not None:
                cells = tuple(replace(cell, domain=subject.domain) for cell in found.inputs)
                found = replace(found, inputs=cells)
            self._programs[subject] = found
        return self._programs[subject]

    def verify(self, question: Question) -> Found:
        """Verify a claim at one eps."""
        if question not in self._verified:
            program = self.program(question.subject)
            claim = Claim(question.eps, question.delta, question.budget)
            options = Options(
                engine=question.engine,
                strategy=question.strategy,
                merge=question.strategy is not Strategy.NONE,
                limits=Limits(seconds=question.seconds),
            )
            verdict = verify(program, claim, select(question.pairs, program), options)
            self._verified[question] = Found(verdict.answer.value, verdict.reason, verdict.seconds)
        return self._verified[question]

    def decide(self, question: AllEpsilons) -> tuple[Found, Decision]:
        """Decide a claim for all epsilons."""
        if question not in self._decided:
            program = self.program(question.subject)
            asked = DecisionQuestion(
                budget=question.budget,
                delta=read_delta(question.delta),
                epsilons=read_epsilons(question.interval),
            )
            options = Options(limits=Limits(seconds=question.seconds))
            decision = decide(program, asked, select(question.pairs, program), options)
            found = Found(
                decision.answer.value, decision.reason or decision.note or None, decision.seconds
            )
            self._decided[question] = found, decision
        return self._decided[question]

    def prove(self, question: AboutAutomaton) -> tuple[Found, AutomatonProof | None]:
        """Bound an automaton's least budget; no proof of one that is refused."""
        if question not in self._proved:
            try:
                named = NamedAutomaton("automaton", automaton_of(parse_dipa(question.text)))
            except SourceError as error:
                return Found(REFUSED, error.message, 0.0), None
            proof = prove_automaton(named, None, Stops.HIDDEN, Limits(seconds=question.seconds))
            self._proved[question] = Found(proof.answer.value, proof.reason, proof.seconds), proof
        return self._proved[question]

    def structure(self, subject: Subject) -> Structure:
        """Measure the final states as the tables count them: none merged."""
        if subject not in self._structures:
            states = execute(self.program(subject), merge=False, limits=Limits(seconds=120))
            self._structures[subject] = measure_structure(states)
        return self._structures[subject]
