"""Certificates of budgets are written: what was proved of an automaton, and all a check needs.

In: a proof and the automaton's text. Out: the JSON object that `certificates.budgets` defines. The
family of cost vectors is searched for again below the upper bound: costs above it need not be told
apart, which leaves fewer vectors. Unknown has no certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dipapprox.automata.analysis import RunBound, WeightBound
from dipapprox.automata.candidates import Candidate
from dipapprox.automata.description import automaton_of
from dipapprox.automata.families import cycles_of
from dipapprox.automata.model import Automaton, is_real
from dipapprox.automata.optimum import ClosedFamily, search
from dipapprox.automata.runs import Segment
from dipapprox.automata.stops import stopping_states
from dipapprox.automata.structures import Structure
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.words import HalfLine, NearZero, Seen, Symbol, WordBound
from dipapprox.certificates.budgets import (
    FORMAT,
    VERSION,
    Branch,
    BudgetClaimed,
    BudgetEvidence,
    CertificateAgainstBudget,
    CertificateOfBudget,
    FlowArc,
    HiddenStops,
    Node,
    Part,
    RecordedAutomaton,
    RecordedRun,
    RecordedStructure,
    RecordedWord,
    RunStep,
    SeenBeyond,
    SeenNearZero,
    SeenSymbol,
    StatedBounds,
    VectorFamily,
    VectorPair,
    VisibleStops,
    WordLetter,
)
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.statement import Computed
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from dipapprox.privacy.certificate import MOST_ENTRIES, Certificate, versions
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops


def certify_budget(proof: AutomatonProof, text: str, limits: Limits) -> Certificate:
    """Record what was proved of an automaton.

    Args:
        proof: The answer.
        text: The automaton's text.
        limits: For the search for vectors.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is not the automaton's.
        LimitReached: If `limits` run out, or the evidence is too large.
    """
    missing = without_evidence(proof)
    if missing is not None:
        raise UserError(f"no certificate: {missing}")
    if automaton_of(parse_dipa(text, proof.program)) != proof.automaton:
        raise UserError("the text is not that of the automaton of which this was proved")
    analysis = proof.analysis
    private = proof.answer is Answer.DP
    structure = analysis.structure if analysis.unbounded else None
    stated: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": RecordedAutomaton(
            name=proof.program, language="dipa", text=text, sha256=text_hash(text)
        ),
        "stops": _stops(proof, limits),
        "claim": BudgetClaimed(budget=proof.budget),
        "least_budget": StatedBounds(lower=proof.lower, upper=proof.upper if private else None),
        "evidence": BudgetEvidence(
            upper=_family(proof, limits) if private else None,
            lower=_lower(proof),
            structure=None if structure is None else _structure(structure),
        ),
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if private:
        return Certificate.of(CertificateOfBudget(**stated, verdict="DP"))
    return Certificate.of(CertificateAgainstBudget(**stated, verdict="Not_DP"))


def without_evidence(proof: AutomatonProof) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    analysis = proof.analysis
    if proof.answer is Answer.UNKNOWN:
        return "the answer is Unknown"
    if proof.answer is Answer.DP and isinstance(analysis.upper, WeightBound):
        return "the upper bound is a weight, not a family of cost vectors"
    if analysis.unbounded and analysis.structure is None:
        return "a run costs more than every budget could, but shows no structure"
    return None


def _stops(proof: AutomatonProof, limits: Limits) -> HiddenStops | VisibleStops:
    automaton, total = proof.automaton, proof.analysis.automaton
    if proof.stops is Stops.HIDDEN:
        states = stopping_states(automaton, limits) if proof.stopping else ()
        return HiddenStops(states=tuple([automaton.states[state].name for state in states]))
    branches = [
        Branch(
            state=total.states[added.source].name,
            at_least=total.names(added.above),
            less=total.names(added.below),
        )
        for added in total.transitions[len(automaton.transitions) :]
    ]
    return VisibleStops(branches=tuple(branches))


# --- at most ------------------------------------------------------------------------------------


def _family(proof: AutomatonProof, limits: Limits) -> VectorFamily:
    quotient, upper = proof.analysis.quotient, proof.upper
    if quotient is None or upper is None:
        raise LimitReached("there was no room for the graph")
    found = search(quotient.graph, upper, limits)
    if found.family is None or found.family.value != upper:
        raise LimitReached(found.reason or "the search found other vectors")
    entries = sum(2 * len(member.lower) for member in found.family.derivation)
    if entries > MOST_ENTRIES:
        raise LimitReached(f"cost vectors of {entries} entries")
    return VectorFamily(
        unit=found.family.unit,
        nodes=tuple(_nodes(quotient.graph, found.family)),
        vectors=tuple([VectorPair(m.node, m.lower, m.upper) for m in found.family.derivation]),
    )


def _nodes(graph: Unfolding, family: ClosedFamily) -> Iterator[Node]:
    names = graph.automaton.variables
    for node, leaving in enumerate(graph.leaving):
        edges = [graph.edges[index] for index in leaving]
        yield Node(
            free=tuple([names[x] for x in family.live[node]]),
            pinned={names[x]: shift for x, shift in family.pins[node]},  # type: ignore[misc]  # whole
            steps=tuple([(edge.transition, edge.target) for edge in edges]),
        )


# --- at least -----------------------------------------------------------------------------------


def _lower(proof: AutomatonProof) -> RecordedRun | RecordedWord | None:
    match proof.analysis.lower:
        case RunBound(candidate=candidate) if candidate.cost.value:
            return _run(proof.analysis.automaton, candidate)
        case WordBound() as bound if bound.value > 0:
            return _word(bound)
        case _:
            return None


def _run(automaton: Automaton, candidate: Candidate) -> RecordedRun:
    """Record a run; inputs of which the flows need no change have none."""
    cost = candidate.cost
    gains = [[Fraction(0), Fraction(0)] for _ in candidate.run]
    flow = []
    for (below, above), *amounts in zip(cost.arcs, cost.lower, cost.upper, strict=True):
        for level, amount in enumerate(amounts):
            gains[above][level] += amount
            gains[below][level] -= amount
        if any(amounts):
            flow.append(FlowArc(below, above, *amounts))
    steps = []
    for index, change, gained in zip(candidate.run, candidate.changes, gains, strict=True):
        transition = automaton.transitions[index]
        shown = is_real(transition.output) and automaton.reads(transition)
        needed = change if shown else int(gained[1] > 0) - int(gained[0] < 0)
        steps.append(RunStep(index, needed, *gained))  # type: ignore[arg-type]  # two gains
    return RecordedRun(steps=tuple(steps), flow=tuple(flow))


def _word(bound: WordBound) -> RecordedWord:
    letters = [
        WordLetter(first=first, second=second, seen=_seen(seen))
        for first, second, seen in zip(bound.first, bound.second, bound.word, strict=True)
    ]
    return RecordedWord(letters=tuple(letters))


def _seen(seen: Seen) -> SeenSymbol | SeenNearZero | SeenBeyond:
    match seen:
        case Symbol(name=name):
            return SeenSymbol(name=name)
        case NearZero():
            return SeenNearZero()
        case HalfLine(end=end, upwards=upwards):
            return SeenBeyond(end=end, direction=1 if upwards else -1)


# --- no budget ----------------------------------------------------------------------------------


def _structure(structure: Structure) -> RecordedStructure:
    parts = []
    position = 0
    for cycle in (*cycles_of(structure), Segment(len(structure.run), len(structure.run))):
        if position < cycle.start:
            parts.append(Part(steps=structure.run[position : cycle.start], repeated=False))
        if cycle.start < cycle.end:
            parts.append(Part(steps=structure.run[cycle.start : cycle.end], repeated=True))
        position = cycle.end
    return RecordedStructure(kind=structure.code, parts=tuple(parts))  # type: ignore[arg-type]  # LC, LP, …
