"""Program x claim -> verdict: the pipeline from end to end, with every failure an answer."""

from __future__ import annotations

from dipapprox.errors import BrokenInvariant, EarlyEnd
from dipapprox.language.core import Program
from dipapprox.limits import rare_collections
from dipapprox.numerics.arithmetic import sound_arithmetic
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.conclusion import Conclusion, conclude
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.pairs.adjacency import PairSelection, count_selected
from dipapprox.privacy.pairs.roads import check_pairs
from dipapprox.privacy.pairs.scope import scope_of
from dipapprox.privacy.search import Progress, Search, precisions, silent
from dipapprox.privacy.sources import RememberedRows, open_exact_pairs, open_probabilities
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates


@rare_collections()
@sound_arithmetic()
def verify(
    program: Program,
    claim: Claim,
    selection: PairSelection,
    options: Options,
    progress: Progress = silent,
) -> Verdict:
    """Decide whether `program` satisfies `claim` for the selected pairs of inputs.

    DP and Not_DP are proved. A limit, an interrupt (Ctrl-C) or a broken invariant gives Unknown
    with what is known by then; nothing but errors of the user propagates.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
    """
    total = count_selected(program, selection)
    states: FinalStates | None = None
    search: Search | None = None
    probabilities: OutputProbabilities | None = None
    bug: str | None = None
    try:
        with EarlyEnd() as end:
            states = execute(program, options.merge, options.limits)
            probabilities = open_probabilities(states, claim.epsilon, options)
            search = Search(
                RememberedRows(probabilities),
                claim.delta,
                claim.growth,
                precisions(options.precision, options.max_precision),
                options.limits,
                exact=open_exact_pairs(states, claim, options),
            )
            check_pairs(search, states, selection, total, probabilities, progress)
    except BrokenInvariant as broken:
        bug = f"internal invariant failed: {broken} (a bug, please report)"
    outputs = () if states is None else states.outputs()
    if bug is not None or search is None:
        conclusion = Conclusion(Answer.UNKNOWN, bug or end.reason, None, None)
    else:
        conclusion = conclude(search, outputs, total, end.reason)
    return Verdict(
        program=program.name,
        parameters=program.parameters,
        claim=claim,
        inputs=program.inputs,
        output_cells=program.outputs,
        scope=scope_of(program, selection),
        answer=conclusion.answer,
        reason=conclusion.reason,
        pairs=0 if search is None else search.checked,
        outputs=len(outputs),
        final_states=0 if states is None else len(states.states),
        delta_enclosure=conclusion.delta_enclosure,
        witness=conclusion.witness,
        precision=search.bits if search is not None and search.bits else options.precision,
        engine=_engine(options, probabilities, search),
        seconds=options.limits.elapsed(),
        interrupted=end.interrupted and conclusion.answer is Answer.UNKNOWN,
    )


def _engine(
    options: Options, probabilities: OutputProbabilities | None, search: Search | None
) -> str:
    """Say what computed: the engine, and closed forms if they decided some pair."""
    if probabilities is None:
        return options.engine.value
    name, exact = probabilities.name, Engine.EXACT.value
    exactly = search is not None and search.exactly > 0
    return f"{name} + {exact}" if exactly and exact not in name.split(" + ") else name
