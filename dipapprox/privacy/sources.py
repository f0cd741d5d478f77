"""Final states and options in, sources of output distributions out.

A source encloses events by methods, tried in the order that the options ask for:

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

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, assert_never

from dipapprox.deferred import Deferred
from dipapprox.events import measures
from dipapprox.events.event import Connected, Event, count_samples
from dipapprox.integrals.integral import Strategy
from dipapprox.numerics import conditioning, parallel
from dipapprox.numerics.closed_form import (
    CLOSED_FORM,
    GUARD_BY_GUARD,
    has_half_spaces,
    is_half_space,
)
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import (
    Tier,
    has_density,
    has_sums,
    is_gaussian,
    is_laplace_type,
    is_mixture,
    is_ratio,
    is_sum,
)
from dipapprox.numerics.methods import InOrder, Method, MixtureMethod, TriedMethod
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.search import ExactPairs
from dipapprox.privacy import exact_pairs
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.verdict import Claim
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.exact import methods as exact
    from dipapprox.exact.choices import validity
    from dipapprox.exact.signs import interval as epsilons
    from dipapprox.numerics.gaussian_rank import orthants as gaussian_rank
    from dipapprox.numerics.integers import sums
    from dipapprox.numerics.nested import engine as nested
    from dipapprox.pairs.products import source as product_sources
    from dipapprox.pairs.products.source import ProductProgram
    from dipapprox.pairs.published import divergences as published
else:
    published = Deferred("dipapprox.pairs.published.divergences")
    product_sources = Deferred("dipapprox.pairs.products.source")
    epsilons = Deferred("dipapprox.exact.signs.interval")
    validity = Deferred("dipapprox.exact.choices.validity")
    exact = Deferred("dipapprox.exact.methods")
    nested = Deferred("dipapprox.numerics.nested.engine")
    gaussian_rank = Deferred("dipapprox.numerics.gaussian_rank.orthants")
    sums = Deferred("dipapprox.numerics.integers.sums")


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
        steps.append(TriedMethod(lambda: CLOSED_FORM, is_half_space, trivial=True))
    elimination = TriedMethod(partial(Eliminated, options.tier), has_density)
    match options.engine:
        case Engine.ELIMINATION:
            return InOrder([*steps, elimination], "elimination")
        case Engine.AUTO if options.strategy is Strategy.LEAST_NESTING:
            # Who asks for doubles only gets their widths.
            narrows = options.tier is not Tier.FLOAT64
            most = _MOST_STEPS

            def slowly() -> Method:
                return nested.Nested(options.strategy, _MOST_EVALUATIONS)

            last = [
                TriedMethod(lambda: exact.LaplaceSums(), _is_laplace_sum, narrows),
                elimination,
                TriedMethod(lambda: GUARD_BY_GUARD, has_half_spaces, narrows),
                TriedMethod(_gaussian_rank, is_gaussian, narrows, most["rank"]),
                TriedMethod(
                    lambda: exact.BoundedIntegration(),
                    is_laplace_type,
                    narrows,
                    most["integration"],
                ),
                TriedMethod(
                    partial(_conditioning, options), has_density, narrows, most["separators"]
                ),
                TriedMethod(slowly, has_density, narrows, most["nested"]),
            ]
            return InOrder([*steps, *last], "elimination")
        case Engine.AUTO | Engine.NESTED:
            quadrature = TriedMethod(lambda: nested.Nested(options.strategy, None), has_density)
            return InOrder([*steps, quadrature], "nested")
        case _:
            assert_never(options.engine)


_MOST_EVALUATIONS = 2**24
"""Of integrands, each ten microseconds: minutes. What needs more is refused at once."""

_MOST_STEPS = {
    "rank": 10_000_000,
    "integration": 500_000,
    "separators": 1_000_000,
    "nested": 5_000_000,
}
"""Of slow methods for one event: minutes, of steps from thirty microseconds to two milliseconds."""

_LONG = 6  # of more integer samples a sum is found sooner than a closed form
_LONG_TIED = 3  # the same where guards are about sums of samples, and tables are all that it takes


def _is_long_sum(event: Connected) -> bool:
    if not is_sum(event) or count_samples(event) <= _LONG_TIED:
        return False
    if count_samples(event) > _LONG:
        return True
    return isinstance(event, Event) and has_sums(event) and sums.is_a_forest(event)


def _is_laplace_sum(event: Connected) -> bool:
    return has_sums(event) and is_laplace_type(event)


def _gaussian_rank() -> Method:
    return gaussian_rank.GaussianRank()


def _conditioning(options: Options) -> Method:
    """What is left is enclosed in doubles, which take milliseconds: there are many of it."""
    tier = Tier.FLOAT64 if options.tier is Tier.AUTO else options.tier
    inner = [
        TriedMethod(lambda: CLOSED_FORM, is_half_space, trivial=True),
        TriedMethod(partial(Eliminated, tier), has_density),
        TriedMethod(_gaussian_rank, is_gaussian, narrows=False),
    ]
    return conditioning.Conditioned(InOrder(inner, "elimination"))


def open_probabilities(
    states: FinalStates, eps: Fraction, options: Options, method: Method | None = None
) -> OutputProbabilities:
    """Choose the engine for a program at one eps.

    Args:
        method: That of `open_method`, where several programs share one.

    Raises:
        UserError: If some choice of the program is no probability distribution at `eps`.
        LimitReached: If that cannot be told.
    """
    check_laws(states, eps, options)
    return OutputProbabilities(states, eps, method or open_method(options), options.limits)


def check_laws(states: FinalStates, eps: Fraction, options: Options) -> None:
    """Check that the choices of a program are probability distributions at one eps.

    Raises:
        UserError: If one is none.
        LimitReached: If that cannot be told.
    """
    if states.laws:
        point = epsilons.EpsilonInterval(eps, eps, True, True)
        validity.check_choices(states.laws, point, options.limits)


def open_product_source(
    product: ProductProgram, eps: Fraction, options: Options
) -> product_sources.ProductSource:
    """Choose the engine, which all parts of a product share."""
    method = open_method(options)
    parts = (open_probabilities(each, eps, options, method) for each in product.states)
    return product_sources.ProductSource(product, list(parts))


def open_published(
    states: FinalStates, eps: Fraction, options: Options, method: Method | None = None
) -> published.PublishedDivergences:
    """Choose the engine for a program with real outputs.

    Args:
        method: That of `open_method`, where several epsilons share one.
    """
    check_laws(states, eps, options)
    measuring = measures.Measuring(states, eps)
    method = method or open_method(options)
    return published.PublishedDivergences(measuring, method, options.limits)


def open_exact_pairs(states: FinalStates, claim: Claim, options: Options) -> ExactPairs | None:
    """Open what decides pairs exactly; None if the options forbid it or nothing can."""
    if not options.compares_exactly:
        return None
    closed = all(sample.family.is_exponential for sample in states.samples)
    if claim.delta and not closed:
        return None
    return exact_pairs.ExactClaim(states, claim, options.limits, has_forms=closed)
