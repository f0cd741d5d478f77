"""Budgets as proofs: the machines that they are about, and potentials that the kernel replays."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from time import perf_counter

from dipapprox.automata.model import Automaton
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.replay import replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer, Replayed
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.potentials import Search
from dipapprox.proof_steps.rounds import machines_of
from dipapprox.proof_steps.verdicts import WrittenProof


def replayed(
    subject: Program | Automaton, stops_are_seen: bool, budget: Fraction, limits: Limits
) -> tuple[WrittenProof, Replayed]:
    """Return a proof that a budget serves every eps, which the kernel has replayed.

    Args:
        subject: As for `machines_of`.
        stops_are_seen: Likewise.
        budget: The budget.
        limits: Asked all the time.

    Raises:
        NoCertificate: If none can be written.
        NotProved: If the kernel does not follow.
        LimitReached: If a limit is reached.
    """
    claim: Json = {"verdict": Answer.DP.value, "budget": number_json(budget)}
    missing: NotProved | NoCertificate = NoCertificate("there is no machine")
    for machine in machines_of(subject, stops_are_seen):
        for with_joins, with_facts in product((True, False), (False, True)):
            try:
                search = Search(read_rounds(machine), budget, limits, with_facts, with_joins)
                step: Json = {"rule": "potential", "from": [], "nodes": search.nodes()}
                start = perf_counter()
                replay(machine, claim, [step], ask=limits.check)
            except (NoCertificate, NotProved) as none:
                missing = none
            else:
                seconds = perf_counter() - start
                return WrittenProof(machine, claim, (step,)), Replayed(1, seconds, 0)
    raise missing
