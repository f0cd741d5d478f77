"""Program x question -> the tightest guarantees: least delta, least eps_prv, curve, Rényi.

What Rényi divergences of different orders say about each other, and about rho.

D_a does not fall with a, for a pair and so for the largest over pairs. A lower bound serves all
larger orders, with the same witness; an upper bound all smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached, UserError
from dipapprox.exact.real_outputs.comparison import ExactComparison
from dipapprox.language.core import Program
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.numerics.rounding import sound_arithmetic
from dipapprox.pairs.adjacency import (
    AllPairs,
    Pair,
    PairSelection,
    count_selected,
    is_symmetric,
    select_pairs,
)
from dipapprox.pairs.boxes.together import RealPairs
from dipapprox.pairs.boxes.vertices import LEMMA, vertex_pairs
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.maxima import Maxima
from dipapprox.pairs.products.layout import select_parts
from dipapprox.pairs.products.losses import Losses
from dipapprox.pairs.products.program import ProductProgram
from dipapprox.pairs.products.search import ProductPairs
from dipapprox.pairs.products.source import ProductSource
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.search import Progress, precisions, silent
from dipapprox.privacy.options import Options
from dipapprox.privacy.possible import PossibleOutputs
from dipapprox.privacy.products.witness import ProductDetails
from dipapprox.privacy.profiles.curve import evenly, trace
from dipapprox.privacy.profiles.details import ListedDetails, PairDetails
from dipapprox.privacy.profiles.extended import INFINITE, Extended
from dipapprox.privacy.profiles.least_eps_prv import EpsPrvBounds, least_eps_prv
from dipapprox.privacy.profiles.profile_result import (
    LeastDelta,
    LeastEpsPrv,
    OrderResult,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
)
from dipapprox.privacy.profiles.question import (
    AtDelta,
    AtEpsPrv,
    AtOrders,
    OnCurve,
    Order,
    Question,
)
from dipapprox.privacy.profiles.renyi import largest_divergence
from dipapprox.privacy.published.details import PublishedDetails
from dipapprox.privacy.published.renyi import largest_published_divergence
from dipapprox.privacy.run import Run
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.sources import (
    open_probabilities,
    open_product_source,
    open_published,
    open_real_pairs,
)
from dipapprox.privacy.verdict import Witness
from dipapprox.semantics.execution import execute
from dipapprox.semantics.inputs import has_real_inputs
from dipapprox.semantics.real_inputs import execute_for_declared, with_values
from dipapprox.semantics.state import FinalStates


def clipped(results: Sequence[OrderResult]) -> list[OrderResult]:
    """Improve bounds of ascending orders by those of smaller and of larger ones.

    Raises:
        BrokenInvariant: If bounds contradict each other.
    """
    found = list(results)
    for k in range(1, len(found)):
        below, here = found[k - 1], found[k]
        low, own = below.divergence.lower, here.divergence.lower
        if low is None and own is not None:
            if here.divergence.upper is not None:
                raise BrokenInvariant("a divergence is finite, one of a smaller order infinite")
            found[k] = replace(here, divergence=INFINITE, witness=below.witness)
        elif low is not None and own is not None and low > own:
            improved = Extended(low, here.divergence.upper)
            found[k] = replace(here, divergence=improved, witness=below.witness)
    for k in range(len(found) - 2, -1, -1):
        high, here = found[k + 1].divergence.upper, found[k]
        own = here.divergence.upper
        if high is None or here.divergence.infinite or (own is not None and own <= high):
            continue
        found[k] = replace(here, divergence=Extended(here.divergence.lower, high))
    for each in found:
        low, high = each.divergence.lower, each.divergence.upper
        if low is not None and high is not None and low > high:
            raise BrokenInvariant("divergences of different orders contradict each other")
    return found


def concentrated(results: Sequence[OrderResult], symmetric: bool) -> Extended:
    """Bound sup over a > 1 of D_a / a; see `RenyiProfile`.

    Args:
        results: Of ascending orders.
        symmetric: Whether the reverse of every pair is looked at, too. Then D_inf bounds both
            directions, and D_a <= a D_inf² / 2 (Bun and Steinke 2016, proposition 3.3).
    """
    lower, upper = Fraction(0), Fraction(0)
    before = Fraction(1)
    bounded = False
    for each in results:
        found = each.divergence
        if not isinstance(each.order, str):
            if found.lower is None:
                return INFINITE
            lower = max(lower, found.lower / each.order)
        if found.upper is None:
            bounded = False
            break
        upper = max(upper, found.upper / before)
        bounded = isinstance(each.order, str)
        if isinstance(each.order, str):
            if symmetric:
                upper = min(upper, found.upper**2 / 2)
        else:
            before = each.order
    return Extended(lower, upper if bounded else None)


_RELATIVE_WIDTH = Fraction(1, 10**12)
_LEAST_WIDTH = Fraction(1, 10**30)
_WITNESS_BITS = 80
_WIDE = Fraction(1, 10**6)
"""When a point of a curve is wider than this, the reason is given."""


class Profiler:
    """Answers questions about one program at one eps; see `profile`.

    Args:
        executed: The program's final states, or those of its independent parts.
        eps: Where it runs.
        selection: Which pairs.
        options: How to compute.
        progress: Told about budgets done.

    Raises:
        UserError: If the adjacency does not suit the inputs, or a choice is no distribution.
        LimitReached: If the adjacency allows too many steps of one cell of a product.
    """

    def __init__(
        self,
        executed: FinalStates | ProductProgram,
        eps: Fraction,
        selection: PairSelection,
        options: Options,
        progress: Progress = silent,
    ) -> None:
        self._options, self._eps = options, eps
        self._selection = selection
        program = executed.program
        ladder = precisions(options.precision, options.max_precision)
        self.details: PairDetails
        self._program = program
        self._states: FinalStates | None = None
        self._published: PublishedPairs | None = None
        self._real: RealPairs | None = None
        self._source: OutputProbabilities | ProductSource | PublishedDivergences | RealPairs
        if isinstance(executed, ProductProgram):
            self._source = open_product_source(executed, eps, options)
            losses = Losses(self._source, selection, options.limits)
            pairs = count_selected(program, selection)
            together = ProductPairs(losses, None, pairs)
            self.maxima = Maxima(
                pairs, ladder, together, None, self._source, options.limits, progress
            )
            self.details = ProductDetails(losses)
            outputs, final_states = executed.outputs, executed.final_states
        elif has_real_inputs(program) and not program.real_outputs:
            remembered, real = open_real_pairs(executed, eps, options)
            self._source = self._real = real
            self.maxima = Maxima(None, ladder, real, None, remembered, options.limits, progress)
            self.details = ListedDetails(remembered, executed.outputs())
            outputs, final_states = len(executed.outputs()), len(executed.states)
        elif program.real_outputs:
            self._source = divergences = open_published(executed, eps, options)
            pairs = count_selected(program, selection)
            stream: Iterable[Pair]
            if has_real_inputs(program):
                stream = vertices = vertex_pairs(executed)
                pairs = len(vertices)
                divergences.note(LEMMA)
            else:
                stream = select_pairs(program, selection)
            selected = PublishedPairs(
                divergences,
                stream,
                pairs,
                options.limits,
                Couplings(executed, eps, options.limits) if options.compares_exactly else None,
                comparison=(ExactComparison(options.limits) if options.compares_exactly else None),
            )
            self._published = selected
            self.maxima = Maxima(
                pairs, ladder, selected, None, divergences, options.limits, progress
            )
            self.details = PublishedDetails(divergences, selected)
            outputs, final_states = len(executed.outputs()), len(executed.states)
        else:
            self._source = source = open_probabilities(executed, eps, options)
            self.maxima = Maxima.of(executed, source, selection, ladder, options.limits, progress)
            self.details = ListedDetails(self.maxima.source, executed.outputs())
            self._states = executed
            outputs, final_states = len(executed.outputs()), len(executed.states)
        self._run = Run(
            program=program.name,
            parameters=program.parameters,
            inputs=program.inputs,
            output_cells=program.published,
            scope=scope_of(program, selection),
            pairs=None if has_real_inputs(program) else self.maxima.pairs,
            outputs=outputs,
            final_states=final_states,
            precision=options.precision,
            engine=self._source.name,
            seconds=0.0,
            reason=None,
        )

    def least_delta(self, question: AtEpsPrv) -> LeastDelta:
        """Enclose the least delta for an eps_prv."""

        def tolerance(delta: Enclosure) -> Fraction:
            return question.width or max(delta.upper * _RELATIVE_WIDTH, _LEAST_WIDTH)

        published = self._published
        with nullcontext() if published is None else published.claiming(question.growth):
            found = self.maxima.sharpened(
                question.growth.bounds,
                lambda delta: delta.width <= tolerance(delta),
            )
        reached = found.delta.width <= tolerance(found.delta)
        witness = None
        if found.pair is not None and found.delta.upper > 0:
            witness = self._witness(found.pair, question.growth.bounds(_WITNESS_BITS))
        run = self._finished(found.bits, reached)
        return LeastDelta(run, self._eps, question.eps_prv, found.delta, witness)

    def least_eps_prv(self, question: AtDelta) -> LeastEpsPrv:
        """Enclose the least eps_prv for a delta."""
        found = self._least_eps_prv(question.delta, question.width)
        width = found.eps_prv.width
        witness = None
        if found.pair is not None and (found.outputs is None or found.outputs):
            # The demanding set is the same for every factor that is large enough, without end.
            factor = Factor(Fraction(1), None)
            if found.factor is not None:
                factor = Factor(found.factor, found.factor)
            witness = self._witness(found.pair, factor, found.outputs)
        run = self._finished(found.bits, width is not None and width <= question.width)
        return LeastEpsPrv(run, self._eps, question.delta, found.eps_prv, witness)

    def _least_eps_prv(self, delta: Fraction, width: Fraction) -> EpsPrvBounds:
        """Bound the least eps_prv; where numbers are too small to tell, by what is possible."""
        with nullcontext() if self._real is None else self._real.claiming(delta):
            found = least_eps_prv(self.maxima, self.details, delta, width)
        if delta or found.eps_prv.infinite or found.eps_prv.upper is not None:
            return found
        if self._states is None:
            return found
        possible = PossibleOutputs(self._states, self._eps, self._options.limits)
        for pair in select_pairs(self._program, self._selection):
            outputs = possible.only_first(pair)
            if outputs:
                return EpsPrvBounds(INFINITE, pair, outputs, None, found.bits)
        return found

    def curve(self, question: OnCurve) -> PrivacyCurve:
        """Certify the profile at points and between them."""
        envelope = trace(
            self.maxima, self.details, evenly(question.low, question.high, question.count)
        )
        first = envelope.points[0]
        witness = None
        if first.pair is not None and first.delta.upper > 0:
            witness = self._witness(first.pair, first.factor)
        widest = max(point.delta.width for point in envelope.points)
        return PrivacyCurve(self._finished(0, widest <= _WIDE), self._eps, envelope, witness)

    def renyi(self, question: AtOrders) -> RenyiProfile:
        """Enclose the largest Rényi divergences, and rho."""
        searched = [self._order(order, question.width) for order in question.orders]
        if "inf" not in question.orders and any(_unbounded(each) for each, _, _ in searched):
            # No order's divergence is larger than that of order infinity.
            searched.append(self._order("inf", question.width))
        results = clipped([each for each, _, _ in searched])[: len(question.orders)]
        reached = all(
            each.divergence.width is not None and each.divergence.width <= question.width
            for each in results
        )
        bits = max(bits for _, bits, _ in searched)
        # A search that could not climb the ladder does not speak of its precision.
        limit = next((limit for _, _, limit in searched if limit is not None), None)
        rho = concentrated(results, is_symmetric(self._program, self._selection))
        return RenyiProfile(self._finished(bits, reached, limit), self._eps, tuple(results), rho)

    def _order(self, order: Order, width: Fraction) -> tuple[OrderResult, int, str | None]:
        """Search one order; also return the most bits that were asked for, and what limited it."""
        if isinstance(order, str):
            pure = self._least_eps_prv(Fraction(0), width)
            return OrderResult(order, pure.eps_prv, self._order_witness(pure.pair)), pure.bits, None
        if self._real is not None:
            raise UserError(
                "Rényi divergences of finite orders are not known for real inputs",
                "'--renyi inf' is; so are --eps-prv, --delta and --curve",
            )
        if self._published is not None and isinstance(self._source, PublishedDivergences):
            found = largest_published_divergence(self._published, self._source, order)
        else:
            found = largest_divergence(self.maxima, order, width)
        result = OrderResult(order, found.divergence, self._order_witness(found.pair))
        return result, found.bits, found.limit

    def _order_witness(self, pair: Pair | None) -> Witness | None:
        return None if pair is None else self._witness(pair, Factor(Fraction(1), Fraction(1)))

    def _witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None = None
    ) -> Witness | None:
        try:
            return self.details.witness(pair, factor, outputs, _WITNESS_BITS)
        except LimitReached:
            return None  # what is proved stays so without a set that shows it

    def _finished(self, bits: int, reached: bool, limit: str | None = None) -> Run:
        reason = None
        if not reached:
            bits = max(bits, self._run.precision)
            obstacle = self.maxima.obstacle
            limit = limit or self.maxima.ended or f"precision limit: {bits} bits"
            if self._real is not None:
                limit = self._real.undecided() or limit
            stopped = self.maxima.ended is not None or obstacle is None
            reason = limit if stopped else f"no enclosure: {obstacle}"
            reason = f"the width asked for was not reached: {reason}"
        return replace(
            self._run,
            precision=max(bits, self._run.precision),
            engine=self._source.name,
            seconds=self._options.limits.elapsed(),
            reason=reason,
        )


def executed_for(
    program: Program, selection: PairSelection, options: Options, *, parts: bool = True
) -> FinalStates | ProductProgram:
    """Execute a program for a `Profiler`, in independent parts if these will do.

    Raises:
        UserError: If a real input's value is needed.
        LimitReached: If a limit of `options` is reached.
    """
    if has_real_inputs(program):
        if isinstance(selection, AllPairs):
            return execute_for_declared(program, options.merge, options.limits)
        program = with_values(program, selection.pairs)
    found = select_parts(program, selection, options.merge, options.limits) if parts else None
    return found or execute(program, options.merge, options.limits, real_outputs=True)


@sound_arithmetic()
def profile(
    program: Program,
    eps: Fraction,
    question: Question,
    selection: PairSelection,
    options: Options,
    progress: Progress = silent,
) -> ProfileAnswer:
    """Answer a question about the privacy profile of a program at one eps.

    Raises:
        UserError: If `eps` <= 0 or the program's adjacency does not suit its inputs.
        LimitReached: If a limit of `options` is reached.
        BrokenInvariant: If enclosures contradict each other.
    """
    if eps <= 0:
        raise UserError(f"eps must be > 0, got {eps}")
    profiler = Profiler(
        executed_for(program, selection, options, parts=not isinstance(question, AtOrders)),
        eps,
        selection,
        options,
        progress,
    )
    match question:
        case AtEpsPrv():
            return profiler.least_delta(question)
        case AtDelta():
            return profiler.least_eps_prv(question)
        case OnCurve():
            return profiler.curve(question)
        case AtOrders():
            return profiler.renyi(question)
        case _:
            assert_never(question)


def _unbounded(result: OrderResult) -> bool:
    return result.divergence.upper is None and not result.divergence.infinite
