"""The least budget of a program for any number of rounds, as an answer, with or without a claim."""

from __future__ import annotations

import time
from contextlib import suppress
from fractions import Fraction

from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.automata.model import Automaton
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, EarlyEnd, NoCertificate, UserError
from dipapprox.kernel.errors import NotProved
from dipapprox.language.core import Program
from dipapprox.language.finite_rounds import some_rounds
from dipapprox.limits import Limits, limited
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.budgets import BudgetBounds, replayed
from dipapprox.proof_steps.serving import quiet_budget
from dipapprox.proofs.automaton_proof import FewRounds, StreamProof
from dipapprox.proofs.endless_proof import is_unbounded
from dipapprox.proofs.evidence import in_own_words
from dipapprox.proofs.prove_automaton import MOST_STEPS, comes_again, going_round
from dipapprox.proofs.prove_real import prove_real
from dipapprox.rounds.compiled import compile_program

TURNS = (1, 2, 3)
"""Numbers of rounds that are written out."""


def prove_rounds(program: Program, budget: Fraction | None, limits: Limits) -> StreamProof:
    """Find the least D for which a program is (D·eps, 0)-private for any number of rounds.

    Args:
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        limits: Points of the program and nodes of graphs count as states; where they end, bounds
            known by then stand.

    Raises:
        SourceError: If no theorem speaks of the program; the place says why.
    """
    begun = time.monotonic()
    compiled = in_own_words(Automaton((), (), ()))
    with EarlyEnd() as end, limited(limits):
        compiled = compile_program(program, limits)
        with_words = compiled.is_plain and compiled.tells
        looks = None if compiled.tells else compiled.seen
        analysis = analyse(compiled.automaton, limits, with_words=with_words, looks=looks)
    if end.reason:
        analysis = Analysis(compiled.automaton, reason=end.reason)
    rounds, beyond = going_round(compiled, analysis, budget, limits)
    proof = StreamProof(
        subject=program,
        budget=budget,
        compiled=compiled,
        analysis=analysis,
        few=None,
        quiet=None,
        again=None,
        rounds=rounds,
        beyond=beyond,
        seconds=time.monotonic() - begun,
    )
    if is_unbounded(compiled, analysis) or proof.is_exact or end.reason:
        return proof
    proof = replace(proof, quiet=_quiet(proof, limits))
    again = comes_again(program, True, limits) if proof.upper is None else None
    # Steps that are told need no comparing of runs.
    few = None if again is not None or compiled.tells else _few_rounds(program, proof, limits)
    return replace(proof, few=few, again=again, seconds=time.monotonic() - begun)


def _quiet(proof: StreamProof, limits: Limits) -> Fraction | None:
    """Return a budget that serves as what is published tells little; None if none less is found."""
    subject, own = proof.subject, limits.within(MOST_STEPS)
    with EarlyEnd(), limited(limits), suppress(NoCertificate, NotProved):
        budget = quiet_budget(subject, proof.upper, own)
        if budget is not None:
            replayed(subject, True, BudgetBounds(budget, None, None), own)
            return budget
    return None


MOST_STATES = 300
"""Of rounds that are written out."""


def _few_rounds(program: Program, proof: StreamProof, limits: Limits) -> FewRounds | None:
    """Return rounds that, written out, need more than is known; None if none do.

    What is published does not tell the steps of such a program, but all runs that publish the same
    in so many rounds are compared.
    """
    best: FewRounds | None = None
    with EarlyEnd(), limited(limits):
        for turns in TURNS:
            try:
                written = some_rounds(program, turns)
            except UserError:
                break
            states = min(limits.states, MOST_STATES)
            found = prove_real(written, replace(limits, states=states))
            if found.answer is Answer.NOT_DP:
                continue  # for each number of rounds there may be a reason of its own
            if found.lower > max(proof.lower, Fraction(0) if best is None else best.lower):
                best = FewRounds(turns, found.lower)
    if best is not None and proof.upper is not None and best.lower > proof.upper:
        raise BrokenInvariant("some rounds need more than all of them")
    return best
