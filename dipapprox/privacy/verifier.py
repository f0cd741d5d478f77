"""Program x claim -> verdict: the pipeline from end to end, with every failure an answer.

few pairs of few outputs   one by one on the ladder of precisions (`pairs.search`)
many pairs                 whatever is quickest (`pairs.many_pairs`)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import replace
from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant, EarlyEnd
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import limited, rare_collections
from dipapprox.numerics.bulk import BulkSource, ProbabilitySource
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.progress import Progress, silent
from dipapprox.pairs.search import ExactPairs, Search, precisions
from dipapprox.pairs.selections import AllPairs, Pair, PairSelection, inputs_of, one_by_one
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.conclusion import Conclusion, Describe, conclude
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.run import run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.sources import (
    open_exact_pairs,
    open_probabilities,
    open_product_source,
    open_published,
    open_real_pairs,
)
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import is_seen_whole
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.exact.real_outputs import comparison
    from dipapprox.pairs import many_pairs, maximum
    from dipapprox.pairs.boxes import together as real_pairs
    from dipapprox.pairs.boxes import vertices
    from dipapprox.pairs.products import layout as product_layout
    from dipapprox.pairs.products import losses as product_losses
    from dipapprox.pairs.products import search as product_search
    from dipapprox.pairs.products.program import ProductProgram
    from dipapprox.pairs.published import couplings
    from dipapprox.pairs.published import together as published_search
    from dipapprox.privacy.products import exact as exact_products
    from dipapprox.privacy.products import witness as product_witnesses
    from dipapprox.privacy.published import details as published_details
    from dipapprox.semantics import real_inputs
else:
    many_pairs = Deferred("dipapprox.pairs.many_pairs")
    maximum = Deferred("dipapprox.pairs.maximum")
    vertices = Deferred("dipapprox.pairs.boxes.vertices")
    comparison = Deferred("dipapprox.exact.real_outputs.comparison")
    couplings = Deferred("dipapprox.pairs.published.couplings")
    published_search = Deferred("dipapprox.pairs.published.together")
    published_details = Deferred("dipapprox.privacy.published.details")
    exact_products = Deferred("dipapprox.privacy.products.exact")
    real_inputs = Deferred("dipapprox.semantics.real_inputs")
    product_layout = Deferred("dipapprox.pairs.products.layout")
    product_losses = Deferred("dipapprox.pairs.products.losses")
    product_search = Deferred("dipapprox.pairs.products.search")
    product_witnesses = Deferred("dipapprox.privacy.products.witness")

_FEW_OUTPUTS = 200
"""A pair with more of them is summed in doubles before it is summed exactly."""


def check_pairs(
    search: Search,
    states: FinalStates,
    selection: PairSelection,
    total: int | None,
    bulk: BulkSource,
    progress: Progress,
) -> None:
    """Check all selected pairs the cheapest way.

    Args:
        search: Fresh; afterwards it holds what was found.
        states: Final states.
        selection: Which pairs.
        total: Their number, if known.
        bulk: Gives many probabilities at once.
        progress: Told about pairs, or about pairs of counters where those are what costs time.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
        LimitReached: If a limit is reached.
        BrokenInvariant: If enclosures contradict each other, or some pairs were left out.
    """
    if total is not None and total <= FEW_PAIRS and len(states.outputs) <= _FEW_OUTPUTS:
        pairs = likely_first(states.program, selection, total)
        search.run(one_by_one(pairs), total, progress)
    else:
        many_pairs.check_many(search, states, selection, total, bulk, progress)
    if search.violation is None and total is not None and search.checked != total:
        # Counted by another route than they are made.
        raise BrokenInvariant(f"{search.checked} pairs were checked, but there are {total}")


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
    run = _Run(claim, selection, options, total)
    bug: str | None = None
    try:
        with EarlyEnd() as end, limited(options.limits):
            run.check(program, progress)
    except BrokenInvariant as broken:
        bug = f"internal invariant failed: {broken} (a bug, please report)"
    search = run.search
    if bug is not None:
        conclusion = Conclusion(Answer.UNKNOWN, bug, None, None)
    else:
        conclusion = run.conclude(end.reason)
    return Verdict(
        run=run_of(
            program,
            scope_of(program, selection),
            pairs=_pairs(run),
            outputs=run.number_of_outputs,
            final_states=run.final_states,
            precision=search.bits if search is not None and search.bits else options.precision,
            engine=_engine(options, run),
            seconds=options.limits.elapsed(),
            reason=conclusion.reason,
        ),
        claim=claim,
        answer=conclusion.answer,
        delta_enclosure=conclusion.delta_enclosure,
        witness=conclusion.witness,
        interrupted=end.interrupted and conclusion.answer is Answer.UNKNOWN,
    )


class _Run:
    """One verification; what is set is valid whenever it ends."""

    def __init__(
        self, claim: Claim, selection: PairSelection, options: Options, total: int | None
    ) -> None:
        self.claim = claim
        self.selection = selection
        self.options = options
        self.total = total
        self.search: Search | None = None
        self.source: ProbabilitySource | None = None
        self.describe: Describe | None = None
        self.outputs: Sequence[Sequence[Value]] = ()
        self.number_of_outputs = self.final_states = 0
        self.real_pairs: real_pairs.RealPairs | None = None
        self.everywhere = False
        self.lemma: str | None = None

    def conclude(self, stopped: str | None) -> Conclusion:
        """Turn what was found into an answer."""
        if self.search is None:
            return Conclusion(Answer.UNKNOWN, stopped, None, None)
        real = self.real_pairs
        if real is not None:
            real.cover(self.search)
        found = conclude(self.search, self.outputs, self.total, stopped, self.describe)
        if real is None or found.answer is not Answer.UNKNOWN:
            return found
        reasons = dict.fromkeys(filter(None, (stopped, real.undecided())))
        return replace(found, reason="; ".join(reasons))

    def check(self, program: Program, progress: Progress) -> None:
        """Execute the program, in parts or as a whole, and check its pairs."""
        if has_real_inputs(program):
            if isinstance(self.selection, AllPairs):
                self.check_real_inputs(program)
                return
            program = real_inputs.with_values(program, self.selection.pairs)
        if program.real_outputs:
            self.check_published(program)
            return
        options = self.options
        if not is_seen_whole(program):
            product = product_layout.select_parts(
                program, self.selection, options.merge, options.limits
            )
            if product is not None:
                self.check_product(product)
                return
        inputs = inputs_of(self.selection)
        states = execute(program, options.merge, options.limits, compared=True, inputs=inputs)
        self.outputs, self.final_states = states.outputs, len(states.states)
        self.number_of_outputs = len(self.outputs)
        source = self.source = open_probabilities(states, self.claim.eps, options)
        search = self.opened(source, open_exact_pairs(states, self.claim, options))
        check_pairs(search, states, self.selection, self.total, source, progress)

    def check_product(self, product: ProductProgram) -> None:
        """Check the pairs of independent parts."""
        self.number_of_outputs, self.final_states = product.outputs, product.final_states
        source = self.source = open_product_source(product, self.claim.eps, self.options)
        losses = product_losses.Losses(source, self.selection, self.options.limits)
        self.describe = lambda attempt, certain: product_witnesses.product_witness(
            losses, attempt, self.claim.delta if certain else None
        )
        exact = exact_products.open_exact_product(product, self.claim.eps, self.options)
        limits = self.options.limits
        pairs = (
            None if exact is None else exact_products.ExactProductPairs(exact, self.claim, limits)
        )
        search = self.opened(source, pairs)
        together = product_search.ProductPairs(losses, exact, self.total, self.claim.delta)
        maximum.search_together(search, together, self.total or 0)

    def check_real_inputs(self, program: Program) -> None:
        """Check all pairs of real inputs at once."""
        options = self.options
        states = real_inputs.execute_for_declared(program, options.merge, options.limits)
        self.everywhere = True
        self.number_of_outputs, self.final_states = len(states.outputs), len(states.states)
        if program.real_outputs:
            pairs = vertices.vertex_pairs(states)
            self.check_published_pairs(states, pairs, len(pairs))
            if self.source is not None:
                self.lemma = vertices.LEMMA
            return
        self.outputs = states.outputs
        self.source, real = open_real_pairs(states, self.claim.eps, options, shorten=True)
        self.real_pairs = real
        search = self.opened(self.source, None)
        with real.claiming(self.claim.delta):
            maximum.search_together(search, real, 1)

    def check_published(self, program: Program) -> None:
        """Check the pairs of a program with real outputs."""
        merge, limits, inputs = self.options.merge, self.options.limits, inputs_of(self.selection)
        states = execute(program, merge, limits, real_outputs=True, inputs=inputs)
        self.check_published_pairs(states, select_pairs(program, self.selection), self.total)

    def check_published_pairs(
        self, states: FinalStates, pairs: Iterable[Pair], total: int | None
    ) -> None:
        """Check some pairs of a program with real outputs."""
        options, limits = self.options, self.options.limits
        self.number_of_outputs, self.final_states = len(states.outputs), len(states.states)
        divergences = open_published(states, self.claim.eps, options)
        self.source = divergences
        details = published_details.PublishedDetails(divergences, claimed=self.claim.delta)
        self.describe = details.describe
        exact = options.compares_exactly
        selected = published_search.PublishedPairs(
            divergences,
            pairs,
            total,
            limits,
            couplings.Couplings(states, self.claim.eps, limits) if exact else None,
            self.claim.growth,
            comparison.ExactComparison(limits) if exact and not self.claim.delta else None,
        )
        maximum.search_together(self.opened(divergences, None), selected, total or 0)

    def opened(self, source: ProbabilitySource, exact: ExactPairs | None) -> Search:
        """Open the search that all strategies end in."""
        options = self.options
        ladder = precisions(options.precision, options.max_precision)
        self.search = Search(
            source, self.claim.delta, self.claim.growth, ladder, options.limits, exact=exact
        )
        return self.search


def _pairs(run: _Run) -> int | None:
    """How many pairs were looked at; None where they were infinitely many."""
    if run.everywhere:
        return None
    return 0 if run.search is None else run.search.checked


def _engine(options: Options, run: _Run) -> str:
    """Say what computed: the engine, and closed forms if they decided some pair."""
    source, search = run.source, run.search
    if source is None:
        return options.engine.value
    if run.real_pairs is not None:
        return run.real_pairs.name
    if run.lemma is not None:
        return f"{source.name} + {run.lemma}"
    name, exact = source.name, Engine.EXACT.value
    exactly = search is not None and search.exactly > 0
    return f"{name} + {exact}" if exactly and exact not in name.split(" + ") else name
