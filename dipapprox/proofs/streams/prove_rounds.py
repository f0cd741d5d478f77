"""The least budget of a program for any number of rounds, as an answer, with or without a claim."""

from __future__ import annotations

import time
from fractions import Fraction

from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.errors import EarlyEnd
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.proofs.automaton_proof import Round
from dipapprox.proofs.prove_automaton import rounds_needed, rounds_of
from dipapprox.proofs.streams.stream_proof import StreamProof, is_unbounded
from dipapprox.proofs.streams.told import as_seen
from dipapprox.rounds.compiled import Compiled, compile_program


def prove_rounds(program: Program, budget: Fraction | None, limits: Limits) -> StreamProof:
    """Find the least D for which a program is (D·eps, 0)-private for any number of rounds.

    Args:
        program: With rounds.
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        limits: Points of the program and nodes of graphs count as states; where they end, bounds
            known by then stand.

    Raises:
        SourceError: If no theorem speaks of the program; the place says why.
    """
    begun = time.monotonic()
    compiled: Compiled | None = None
    analysis: Analysis | None = None
    rounds: tuple[Round, ...] = ()
    beyond: int | None = None
    with EarlyEnd() as end:
        compiled = compile_program(program, limits)
        with_words = compiled.is_plain and compiled.tells
        analysis = as_seen(compiled, analyse(compiled.automaton, limits, with_words=with_words))
    unbounded = is_unbounded(compiled, analysis)
    if unbounded and compiled is not None and analysis is not None:
        factor = compiled.factor
        claimed = None if budget is None else budget / factor
        needed, beyond = rounds_needed(analysis, claimed, limits)
        rounds = tuple(Round(number, cost * factor) for number, cost in needed)
        if compiled.is_plain:
            # The automaton's inputs and samples are the program's: so is what they lose.
            rounds = rounds_of(analysis, needed, limits)
    return StreamProof(
        subject=program,
        budget=budget,
        compiled=compiled,
        analysis=analysis,
        ended=end.reason or "",
        rounds=rounds,
        beyond=beyond,
        seconds=time.monotonic() - begun,
    )
