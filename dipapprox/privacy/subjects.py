"""What a program is at one eps: who encloses its probabilities, and how its pairs are opened.

Nobody else tells programs apart: `verify`, `profile` and `calibrate` ask the `Subject` of

    real inputs, selected pairs     their values are those of the pairs: a finite program
    real inputs, finite outputs     sets of pairs                      (`pairs.boxes`)
    real inputs, real outputs       vertices of the sets, as a finite program with real outputs
    real outputs                    measures of pairs that look alike  (`pairs.published`)
    independent parts               losses of kinds of pairs           (`pairs.products`)
    anything else                   probabilities of all outputs       (`pairs.maxima`)

Its source of distributions encloses events by methods, tried in the order that the options ask for:

    sums of many alike           from the different ones, by what follows
    choices, integers            closed forms; sums for integers that are many or have none
    one comparison               closed forms of half-spaces
    sums of Laplace samples      exactly, where comparisons of sums are all there is
    comparisons, of sums too     elimination
    a guard that hardly ever holds  by Fréchet's bounds
    Gaussian samples             by the rank of the guards, as far as the work is bounded
    Laplace-type samples         exact integration, as far as the work is bounded
    sums that guards tie in a cycle   a few samples take values in turn, where that leaves the above
    everything that has a density   nested quadrature, as far as the work is bounded

What is first in the list and narrow enough is the answer. The laws of choices must be valid where
the program runs (`validity.check_choices`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import TypeAlias, assert_never

from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.events import measures
from dipapprox.events.event import Connected, Event, count_samples
from dipapprox.exact import distributions
from dipapprox.exact import methods as exact
from dipapprox.exact.choices import validity
from dipapprox.exact.real_outputs import comparison
from dipapprox.exact.signs import interval as epsilons
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.cells import is_seen_whole
from dipapprox.language.domains import has_real_inputs
from dipapprox.numerics import conditioning, parallel
from dipapprox.numerics.closed_form import (
    ClosedForm,
    GuardByGuard,
    has_closed_form,
    has_closed_guards,
)
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.gaussian_rank import orthants as gaussian_rank
from dipapprox.numerics.integers import sums
from dipapprox.numerics.methods import (
    InOrder,
    Method,
    MixtureMethod,
    Tier,
    TriedMethod,
    has_density,
    has_sums,
    is_gaussian,
    is_laplace_type,
    is_mixture,
    is_ratio,
    is_sum,
)
from dipapprox.numerics.nested import engine as nested
from dipapprox.numerics.probability import OutputProbabilities, ProbabilitySource
from dipapprox.pairs import maxima, maximum
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.boxes import together as boxes
from dipapprox.pairs.boxes import vertices
from dipapprox.pairs.divergence import ExactPairs, precisions
from dipapprox.pairs.products import layout as product_layout
from dipapprox.pairs.products import losses as product_losses
from dipapprox.pairs.products import source as product_sources
from dipapprox.pairs.published import couplings
from dipapprox.pairs.published import divergences as published
from dipapprox.pairs.published import together as published_search
from dipapprox.pairs.selections import FEW_PAIRS, AllPairs, Pair, PairSelection, inputs_of
from dipapprox.privacy import details as pair_details
from dipapprox.privacy import exact_pairs, products
from dipapprox.privacy.published import details as published_details
from dipapprox.privacy.run import Engine, Options, Setting
from dipapprox.privacy.verdict import Claim
from dipapprox.semantics import real_inputs
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates


def open_method(options: Options) -> Method:
    """Return the methods that `options` ask for as one, on as many processes."""
    if options.jobs == 1:
        return methods_in_order(options)
    return parallel.Parallel(partial(methods_in_order, options), options.jobs)


def methods_in_order(options: Options) -> InOrder:
    """List the methods that `options` ask for, in the order in which they are tried."""
    if options.engine is Engine.EXACT:
        return InOrder([TriedMethod(lambda: exact.Exact(), lambda _: True)], "exact")
    inner = partial(methods_in_order, options)
    steps = [
        TriedMethod(lambda: MixtureMethod(inner), is_mixture),
        TriedMethod(lambda: sums.IntegerSums(), _is_long_sum),
        TriedMethod(lambda: exact.Exact(), is_ratio),
        TriedMethod(lambda: sums.IntegerSums(), is_sum),
    ]
    if options.strategy is not Strategy.NONE:
        # Without optimisation the integrals are evaluated as they stand: the published shape.
        steps.append(TriedMethod(ClosedForm, has_closed_form, trivial=True))
    elimination = TriedMethod(partial(Eliminated, options.tier), has_density)
    match options.engine:
        case Engine.ELIMINATION:
            return InOrder([*steps, elimination], "elimination")
        case Engine.AUTO if options.strategy is Strategy.LEAST_NESTING:
            # Who asks for doubles only gets their widths.
            narrows = options.tier is not Tier.FLOAT64

            def slowly() -> Method:
                return nested.Nested(options.strategy, _MOST_EVALUATIONS)

            # The steps of slow methods for one event take minutes: from thirty microseconds to two
            # milliseconds each.
            last = [
                TriedMethod(
                    lambda: exact.LaplaceForms(sums_only=True),
                    lambda event: has_sums(event) and is_laplace_type(event),
                    narrows,
                ),
                elimination,
                TriedMethod(GuardByGuard, has_closed_guards, narrows),
                TriedMethod(_gaussian_rank, is_gaussian, narrows, 10_000_000),
                TriedMethod(
                    lambda: exact.LaplaceForms(sums_only=False), is_laplace_type, narrows, 500_000
                ),
                TriedMethod(partial(_conditioning, options), has_density, narrows, 1_000_000),
                TriedMethod(slowly, has_density, narrows, 5_000_000),
            ]
            return InOrder([*steps, *last], "elimination")
        case Engine.AUTO | Engine.NESTED:
            quadrature = TriedMethod(lambda: nested.Nested(options.strategy, None), has_density)
            return InOrder([*steps, quadrature], "nested")
        case _:
            assert_never(options.engine)


_MOST_EVALUATIONS = 2**24
"""Of integrands, each ten microseconds: minutes. What needs more is refused at once."""

_LONG = 6  # of more integer samples a sum is found sooner than a closed form
_LONG_TIED = 3  # the same where guards are about sums of samples, and tables are all that it takes


def _is_long_sum(event: Connected) -> bool:
    if not is_sum(event) or count_samples(event) <= _LONG_TIED:
        return False
    if count_samples(event) > _LONG:
        return True
    return isinstance(event, Event) and has_sums(event) and sums.is_a_forest(event)


def _gaussian_rank() -> Method:
    return gaussian_rank.GaussianRank()


def _conditioning(options: Options) -> Method:
    """What is left is enclosed in doubles, which take milliseconds: there are many of it."""
    tier = Tier.FLOAT64 if options.tier is Tier.AUTO else options.tier
    inner = [
        TriedMethod(ClosedForm, has_closed_form, trivial=True),
        TriedMethod(partial(Eliminated, tier), has_density),
        TriedMethod(_gaussian_rank, is_gaussian, narrows=False),
    ]
    return conditioning.Conditioned(InOrder(inner, "elimination"))


def open_probabilities(
    states: FinalStates, eps: Fraction, options: Options, method: Method | None = None
) -> OutputProbabilities:
    """Choose the engine for a program at one eps, whose choices are checked (`check_laws`); several
    programs, or epsilons, may share a `method`, that of `open_method`."""
    check_laws(states, eps, options)
    return OutputProbabilities(states, eps, method or open_method(options))


def check_laws(states: FinalStates, eps: Fraction, options: Options) -> None:
    """Check that the choices of a program are probability distributions at one eps: a `UserError`
    if one is none, `LimitReached` if that cannot be told."""
    if states.laws:
        point = epsilons.EpsilonInterval(eps, eps, True, True)
        validity.check_choices(states.laws, point)


def open_product_source(
    product: product_sources.ProductProgram, eps: Fraction, options: Options
) -> product_sources.ProductSource:
    """Choose the engine, which all parts of a product share."""
    method = open_method(options)
    parts = (open_probabilities(each, eps, options, method) for each in product.states)
    return product_sources.ProductSource(product, list(parts))


def open_published(
    states: FinalStates, eps: Fraction, options: Options, method: Method | None = None
) -> published.PublishedDivergences:
    """Do the same for a program with real outputs."""
    check_laws(states, eps, options)
    measuring = measures.Measuring(states, eps)
    method = method or open_method(options)
    return published.PublishedDivergences(measuring, method)


def open_exact_pairs(states: FinalStates, claim: Claim, options: Options) -> ExactPairs | None:
    """Open what decides pairs exactly; None if the options forbid it or nothing can."""
    if not options.compares_exactly:
        return None
    closed = all(sample.family.is_exponential for sample in states.samples)
    if claim.delta and not closed:
        return None
    eps = claim.eps
    possible = None if claim.delta else exact_pairs.PossibleOutputs(states, eps)
    source = distributions.ExactDistributions(states, eps) if closed else None
    return exact_pairs.ExactDeltas(source, claim.growth, claim.delta, possible)


Executed: TypeAlias = "FinalStates | product_sources.ProductProgram"
"""A program's final states, or those of its independent parts."""


class Subject(Record, frozen=False):
    """A program at one eps, with its selected pairs."""

    source: ProbabilitySource  # distributions of single inputs
    # The pairs: how these are bounded, and compared with a claim. None for a claim about few pairs
    # of few outputs, which are checked one by one.
    pairs: maximum.Together | None
    details: Callable[[], pair_details.PairDetails]  # answers about single pairs, for whoever asks
    engine: Callable[[], str]  # what computed, in words; they grow
    # What decides single pairs of a claim; None if nothing does, or nothing is claimed.
    exact: ExactPairs | None = None
    # The same pairs where outputs are real, and where inputs alone are.
    published: published_search.PublishedPairs | None = None
    boxes: boxes.RealPairs | None = None


def executed_for(setting: Setting, *, parts: bool = True) -> Executed:
    """Execute a program for its `Subject`, in independent parts if these will do; a `UserError` if
    a real input's value is needed."""
    program, selection, merge = setting.program, setting.selection, setting.options.merge
    if setting.is_real:
        if isinstance(selection, AllPairs):
            return real_inputs.execute_for_declared(program, merge)
        program = real_inputs.with_values(program, selection.pairs)
    if parts and not is_seen_whole(program):
        found = product_layout.select_parts(program, selection, merge)
        if found is not None:
            return found
    return execute(
        program,
        merge,
        real_outputs=True,
        compared=not program.real_outputs,
        inputs=inputs_of(selection),
    )


def open_subject(
    setting: Setting, executed: Executed, eps: Fraction, claim: Claim | None = None
) -> Subject:
    """Open the selected pairs of a program, for a claim that is to be decided, or for bounds."""
    if not isinstance(executed, FinalStates):
        subject = _open_product(setting, executed, eps, claim)
    elif executed.program.real_outputs:
        subject = _open_published(setting, executed, eps, claim)
    else:
        subject = _open_finite(setting, executed, eps, claim)
    options, pairs = setting.options, subject.pairs
    if pairs is not None:
        pairs.ladder = precisions(options.precision, options.max_precision)
        pairs.progress = setting.progress
    return subject


def _open_finite(
    setting: Setting, executed: FinalStates, eps: Fraction, claim: Claim | None
) -> Subject:
    options = setting.options
    source = open_probabilities(executed, eps, options)

    def details() -> pair_details.PairDetails:
        return pair_details.ListedDetails(source, executed.outputs)

    if has_real_inputs(executed.program):
        patient = claim is None
        real = boxes.RealPairs(executed, eps, source, patient=patient)
        return Subject(source, real, details, lambda: real.name, boxes=real)
    total = count_selected(executed.program, setting.selection)
    exact = None if claim is None else open_exact_pairs(executed, claim, options)
    pairs = None
    few = total is not None and total <= FEW_PAIRS and len(executed.outputs) <= _FEW_OUTPUTS
    if claim is None or not few:
        pairs = maxima.ListedPairs(executed, setting.selection, total, source)
    return Subject(source, pairs, details, lambda: source.name, exact)


_FEW_OUTPUTS = 200  # a pair with more of them is summed in doubles before it is summed exactly


def _open_product(
    setting: Setting, product: product_sources.ProductProgram, eps: Fraction, claim: Claim | None
) -> Subject:
    options, selection = setting.options, setting.selection
    total = count_selected(product.program, selection)
    source = open_product_source(product, eps, options)
    losses = product_losses.Losses(source, selection)
    exact = None if claim is None else products.open_exact_product(product, claim, options)
    harmless = Fraction(1) if claim is None else claim.delta
    pairs = product_losses.ProductPairs(losses, exact, total, harmless)
    return Subject(
        source, pairs, lambda: products.ProductDetails(losses), lambda: source.name, exact
    )


def _between(
    states: FinalStates, selection: PairSelection, divergences: published.PublishedDivergences
) -> list[Pair]:
    """Return pairs that stand for more than are gone through."""
    try:
        if not isinstance(selection, AllPairs):
            raise LimitReached("pair limit: pairs that are listed stand for themselves")
        found = vertices.pairs_between(states)
    except LimitReached as reached:
        raise LimitReached(published_search.MANY_PAIRS) from reached
    divergences.note(vertices.LEMMA)
    return found


def _open_published(
    setting: Setting, states: FinalStates, eps: Fraction, claim: Claim | None
) -> Subject:
    options, selection = setting.options, setting.selection
    divergences = open_published(states, eps, options)
    exactly = options.compares_exactly
    pairs: Callable[[], Iterable[Pair]]
    total: int | None
    if has_real_inputs(states.program):
        corners = vertices.vertex_pairs(states)
        pairs, total = lambda: corners, len(corners)
        divergences.note(vertices.LEMMA)
    else:
        total = count_selected(states.program, selection)
        pairs = partial(select_pairs, states.program, selection)
        if total is None or total > published_search.MOST_PAIRS:
            pairs = partial(_between, states, selection, divergences)
    compared = exactly and (claim is None or not claim.delta)
    together = published_search.PublishedPairs(
        divergences,
        pairs,
        total,
        couplings.Couplings(states, eps) if exactly else None,
        None if claim is None else claim.growth,
        comparison.ExactComparison(divergences.masses.of) if compared else None,
    )
    delta = None if claim is None else claim.delta
    return Subject(
        divergences,
        together,
        lambda: published_details.PublishedDetails(divergences, together, delta),
        lambda: divergences.name,
        published=together,
    )
