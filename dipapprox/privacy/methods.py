"""Options in, the method that they ask for out: which ways to enclose events, in which order.

    choices, integers            closed forms; sums for the integers that have none
    one comparison               closed forms of half-spaces
    comparisons of two samples   elimination
    Gaussian samples             by the rank of the guards, up to 4
    Laplace-type samples         exact integration, as far as the work is bounded
    everything that has a density   nested quadrature

What is first in the list and narrow enough is the answer. The laws of choices must be valid where
the program runs (`validity.check_choices`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_never

from dipapprox.deferred import Deferred
from dipapprox.events.event import Connected
from dipapprox.integrals.strategy import Strategy
from dipapprox.numerics.closed_form import ClosedForms, is_half_space
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.refinement import Tier
from dipapprox.numerics.kinds import (
    has_density,
    is_gaussian,
    is_laplace_type,
    is_ratio,
    is_sum,
)
from dipapprox.numerics.methods import InOrder, Method, Step
from dipapprox.privacy.options import Engine, Options

if TYPE_CHECKING:
    from dipapprox.exact import methods as exact
    from dipapprox.numerics import parallel
    from dipapprox.numerics.gaussian_rank import engine as gaussian_rank
    from dipapprox.numerics.integers import sums
    from dipapprox.numerics.nested import engine as nested
else:
    exact = Deferred("dipapprox.exact.methods")
    nested = Deferred("dipapprox.numerics.nested.engine")
    parallel = Deferred("dipapprox.numerics.parallel")
    gaussian_rank = Deferred("dipapprox.numerics.gaussian_rank.engine")
    sums = Deferred("dipapprox.numerics.integers.sums")


def open_method(options: Options) -> Method:
    """Return the methods that `options` ask for as one, on as many processes."""
    if options.jobs == 1:
        return methods_in_order(options)
    return parallel.Parallel(partial(methods_in_order, options), options.jobs)


def methods_in_order(options: Options) -> InOrder:
    """List the methods that `options` ask for, in the order in which they are tried."""
    if options.engine is Engine.EXACT:
        return InOrder([Step(_exact, _is_any)], "exact")
    steps = [Step(_exact, is_ratio), Step(_sums, is_sum)]
    if options.strategy is not Strategy.NONE:
        # Without optimisation the integrals are evaluated as they stand: the published shape.
        steps.append(Step(ClosedForms, is_half_space, trivial=True))
    elimination = Step(partial(Eliminated, options.tier), has_density)
    quadrature = partial(_nested, options.strategy)
    match options.engine:
        case Engine.ELIMINATION:
            return InOrder([*steps, elimination], "elimination")
        case Engine.AUTO if options.strategy is Strategy.LEAST_NESTING:
            # Who asks for doubles only gets their widths.
            narrows = options.tier is not Tier.FLOAT64
            rank = Step(_gaussian_rank, is_gaussian, narrows, slow=True)
            integration = Step(_bounded_integration, is_laplace_type, narrows, slow=True)
            slowly = Step(quadrature, has_density, narrows, slow=True)
            return InOrder([*steps, elimination, rank, integration, slowly], "elimination")
        case Engine.AUTO | Engine.NESTED:
            return InOrder([*steps, Step(quadrature, has_density)], "nested")
        case _:
            assert_never(options.engine)


def _is_any(event: Connected) -> bool:
    return True


def _exact() -> Method:
    return exact.Exact()


def _sums() -> Method:
    return sums.IntegerSums()


def _nested(strategy: Strategy) -> Method:
    return nested.Nested(strategy)


def _gaussian_rank() -> Method:
    return gaussian_rank.GaussianRank()


def _bounded_integration() -> Method:
    return exact.BoundedIntegration()
