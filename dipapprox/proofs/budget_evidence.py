"""What certificates of budgets record: families of vectors, flows along runs, words, structures.

In: an analysis of an automaton. Out: the parts of the JSON object that `certificates.budgets`
defines. The family of cost vectors is searched for again below the upper bound: costs above it need
not be told apart, which leaves fewer vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.automata.analysis import Analysis, CellBound, RunBound, WeightBound
from dipapprox.automata.candidates import Candidate
from dipapprox.automata.families import cycles_of
from dipapprox.automata.model import Automaton, is_real
from dipapprox.automata.optimum import CaseFamilies, ClosedFamily, search
from dipapprox.automata.runs import Segment
from dipapprox.automata.structures import Structure
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.words import HalfLine, NearZero, Seen, Symbol, WordBound
from dipapprox.certificates.budgets import (
    BudgetEvidence,
    CellFamily,
    FlowArc,
    JoinedCells,
    Node,
    Part,
    RecordedRun,
    RecordedStructure,
    RecordedWord,
    RunStep,
    SeenBeyond,
    SeenNearZero,
    SeenStop,
    SeenSymbol,
    VectorFamily,
    VectorPair,
    WordLetter,
)
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from dipapprox.privacy.certificate import MOST_ENTRIES
from dipapprox.privacy.verdict import Answer


def lack_of_evidence(answer: Answer, analysis: Analysis) -> str | None:
    """Say why there is no evidence that could be recorded; None if there is some."""
    if answer is Answer.UNKNOWN:
        return "the answer is Unknown"
    if answer is Answer.DP and isinstance(analysis.upper, WeightBound):
        return "the upper bound is a weight, not a family of cost vectors"
    if answer is Answer.DP and isinstance(analysis.upper, CaseFamilies):
        return "the upper bound is proved by cases, not by one family of cost vectors"
    if analysis.unbounded and analysis.structure is None:
        return "a run costs more than every budget could, but shows no structure"
    return None


def evidence_of(
    analysis: Analysis,
    *,
    private: bool,
    has_lower: bool,
    unbounded: bool,
    stop: str | None,
    limits: Limits,
) -> BudgetEvidence:
    """Record what proves the bounds of an automaton's budget.

    Args:
        analysis: Of the automaton.
        private: Whether its upper bound is stated.
        has_lower: Whether its lower bound is.
        unbounded: Whether it is stated that there is no budget.
        stop: The symbol for visible stops; None where there are none.
        limits: For the search for vectors.

    Raises:
        LimitReached: If `limits` run out, or the evidence is too large.
    """
    structure = analysis.structure if unbounded else None
    return BudgetEvidence(
        upper=_upper(analysis, limits) if private else None,
        lower=_lower(analysis, stop) if has_lower else None,
        structure=None if structure is None else _structure(structure),
    )


# --- at most ------------------------------------------------------------------------------------


def _upper(analysis: Analysis, limits: Limits) -> VectorFamily | CellFamily | JoinedCells:
    quotient, upper = analysis.quotient, analysis.upper
    if quotient is None or upper is None:
        raise LimitReached("there was no room for the graph")
    if not isinstance(upper, CellBound):
        return VectorFamily(**_family(quotient.graph, upper.value, limits))
    graph, family = upper.cells.graph, upper.family
    if isinstance(family, ClosedFamily):
        return CellFamily(**_family(graph, upper.value, limits))
    nodes = tuple(_nodes(graph, family.live, ((),) * len(family.live)))
    return JoinedCells(unit=family.unit, nodes=nodes, vectors=family.vectors)


def _family(graph: Unfolding, upper: Fraction, limits: Limits) -> dict[str, Any]:
    """Search for cost vectors below a bound, which is a budget."""
    found = search(graph, upper, limits)
    family = found.family
    if family is None or family.value != upper:
        raise LimitReached(found.reason or "the search found other vectors")
    entries = sum(2 * len(member.lower) for member in family.derivation)
    if entries > MOST_ENTRIES:
        raise LimitReached(f"cost vectors of {entries} entries")
    return {
        "unit": family.unit,
        "nodes": tuple(_nodes(graph, family.live, family.pins)),
        "vectors": tuple([VectorPair(m.node, m.lower, m.upper) for m in family.derivation]),
    }


def _nodes(
    graph: Unfolding,
    live: Sequence[tuple[int, ...]],
    pins: Sequence[tuple[tuple[int, int], ...]],
) -> Iterator[Node]:
    names = graph.automaton.variables
    for node, leaving in enumerate(graph.leaving):
        edges = [graph.edges[index] for index in leaving]
        yield Node(
            free=tuple([names[x] for x in live[node]]),
            pinned={names[x]: shift for x, shift in pins[node]},  # type: ignore[misc]  # whole
            steps=tuple([(edge.transition, edge.target) for edge in edges]),
        )


# --- at least -----------------------------------------------------------------------------------


def _lower(analysis: Analysis, stop: str | None) -> RecordedRun | RecordedWord | None:
    match analysis.lower:
        case RunBound(candidate=candidate) if candidate.cost.value:
            return _run(analysis.automaton, candidate)
        case WordBound() as bound if bound.value > 0:
            return _word(bound, stop)
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


def _word(bound: WordBound, stop: str | None) -> RecordedWord:
    letters = [
        WordLetter(first=first, second=second, seen=_seen(seen, stop))
        for first, second, seen in zip(bound.first, bound.second, bound.word, strict=True)
    ]
    return RecordedWord(letters=tuple(letters))


def _seen(seen: Seen, stop: str | None) -> SeenSymbol | SeenNearZero | SeenBeyond | SeenStop:
    match seen:
        case Symbol(name=name):
            return SeenStop() if name == stop else SeenSymbol(name=name)
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
