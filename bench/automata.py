"""Least budgets of automata, and checks of their certificates, beside the published tool.

Published: DiPAut (CCS 2023), Tables 1 to 3: 1.4 GHz quad-core Intel Core i5, mean of 6 runs, about
0.22 s of start-up included; ours begin with the automaton and end with the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.timing import NoAnswer, Patience, Ratio, Run, Timing, ratio, side_by_side
from dipapprox.automata.analysis import analyse
from dipapprox.automata.benchmarks import (
    all_pairs_text,
    min_max_text,
    range_text,
    sparse_vector_text,
)
from dipapprox.automata.description import automaton_of
from dipapprox.automata.stops import stopping_states
from dipapprox.checking.check import check
from dipapprox.checking.result import Outcome
from dipapprox.errors import UserError
from dipapprox.experiments.tables.plan import plan
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from dipapprox.proofs.automaton_certificate import certify_budget
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton

PROVED, READ, CHECKED = "prove", "prove, its text read", "check"


@dataclass(frozen=True, slots=True)
class AutomatonCase:
    """An automaton, most seconds that a proof is meant to take, and what the published tool took.

    Attributes:
        text: In `.dipa`.
        goal: Seconds; None for none.
        published: Seconds; None if it was not measured.
    """

    name: str
    text: str
    goal: float | None = None
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Budgeted:
    """What was measured of an automaton.

    Attributes:
        bounds: Of the least budget, for people.
        timings: PROVED, READ, and CHECKED if there is a certificate.
    """

    case: AutomatonCase
    bounds: str
    timings: Mapping[str, Timing]

    def ratio(self) -> Ratio | None:
        """Return how many times longer the check took than the proof."""
        checked = self.timings.get(CHECKED)
        return None if checked is None else ratio(checked, self.timings[READ])


_SMALL = {
    "SVT": 0.238,
    "NUM-SPARSE": 0.249,
    "DC-EXAMPLE": 0.237,
    "NUM-RANGE-1": 0.234,
    "NUM-RANGE-2": 0.231,
    "LC-EXAMPLE": 0.231,
    "TWO-RANGE-1": 0.239,
    "TWO-RANGE-2": 0.277,
}


def automata() -> tuple[AutomatonCase, ...]:
    """Return what is measured."""
    texts = plan().automata
    return (
        *(AutomatonCase(name, texts[name].text, 0.01, known) for name, known in _SMALL.items()),
        AutomatonCase("1-RANGE", range_text(1), 0.01, 0.227),
        AutomatonCase("2-MIN-MAX", min_max_text(2), 0.01, 0.220),
        AutomatonCase("10-MIN-MAX", min_max_text(10), None, 0.230),
        AutomatonCase("200-MIN-MAX", min_max_text(200), 0.25, 0.643),
        AutomatonCase("5-RANGE, 10 values at once", range_text(5), 1.0, 0.258),
        AutomatonCase("80-RANGE", range_text(80), 0.5, 506.33),
        AutomatonCase("all pairs of 5", all_pairs_text(5), 3.0),
        AutomatonCase("sparse vector, 100 positives", sparse_vector_text(100), 0.1),
        AutomatonCase("GAP-PV", texts["GAP-PV"].text),
    )


def measure_automaton(case: AutomatonCase, patience: Patience) -> Budgeted:
    """Measure a proof, and the check of its certificate."""
    named = NamedAutomaton(case.name, automaton_of(parse_dipa(case.text)))
    proof = prove_automaton(named, None, Stops.HIDDEN, Limits())
    upper = "none" if proof.analysis.unbounded else str(proof.upper)
    bounds = upper if proof.is_exact or proof.upper is None else f"{proof.lower} … {upper}"

    def prove(cap: float) -> None:
        found = analyse(named.automaton, Limits(seconds=cap))
        if found.reason is not None and found.upper is None:
            raise NoAnswer(found.reason)

    def prove_text(cap: float) -> None:
        limits = Limits(seconds=cap)
        automaton = automaton_of(parse_dipa(case.text))
        analyse(automaton, limits)
        stopping_states(automaton, limits)

    contestants: dict[str, Run] = {PROVED: prove, READ: prove_text}
    try:
        certificate = certify_budget(proof, case.text, Limits()).to_json()
    except UserError:
        return Budgeted(case, bounds, side_by_side(contestants, patience))

    def examine(cap: float) -> None:
        result = check(certificate, Limits(seconds=cap))
        if result.outcome is not Outcome.CONFIRMED:
            raise NoAnswer(result.outcome.value)

    return Budgeted(case, bounds, side_by_side({**contestants, CHECKED: examine}, patience))
