"""Final states and options in, sources of output distributions out; a memory for inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.numerics.methods import Method
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.products.program import ProductProgram
from dipapprox.pairs.products.source import ProductSource
from dipapprox.pairs.remembered import RememberedInputs
from dipapprox.pairs.search import ExactPairs, ProbabilitySource
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.methods import open_method
from dipapprox.privacy.options import Options
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.exact import distributions
    from dipapprox.exact.choices import validity
    from dipapprox.privacy import exact_pairs, possible
else:
    distributions = Deferred("dipapprox.exact.distributions")
    exact_pairs = Deferred("dipapprox.privacy.exact_pairs")
    possible = Deferred("dipapprox.privacy.possible")
    validity = Deferred("dipapprox.exact.choices.validity")


def open_probabilities(
    states: FinalStates, eps: Fraction, options: Options, method: Method | None = None
) -> OutputProbabilities:
    """Choose the engine for a program at one eps.

    Args:
        states: The program's final states.
        eps: Where it runs.
        options: Ask for an engine.
        method: That of `open_method`, where several programs share one.

    Raises:
        UserError: If some choice of the program is no probability distribution at `eps`.
        LimitReached: If that cannot be told.
    """
    if states.laws:
        point = EpsilonInterval(eps, eps, True, True)
        validity.check_choices(states.laws, point, options.limits)
    return OutputProbabilities(states, eps, method or open_method(options), options.limits)


def open_source(states: FinalStates, eps: Fraction, options: Options) -> ProbabilitySource:
    """Choose the engine, and remember inputs."""
    return RememberedInputs(open_probabilities(states, eps, options))


def open_product_source(product: ProductProgram, eps: Fraction, options: Options) -> ProductSource:
    """Choose the engine, which all parts of a product share.

    Raises:
        UserError: If a choice is no probability distribution at `eps`.
        LimitReached: If that cannot be told.
    """
    method = open_method(options)
    parts = (open_probabilities(each, eps, options, method) for each in product.states)
    return ProductSource(product, [RememberedInputs(part) for part in parts])


def open_exact_pairs(states: FinalStates, claim: Claim, options: Options) -> ExactPairs | None:
    """Open what decides pairs exactly; None if the options forbid it or nothing can."""
    if not options.compares_exactly:
        return None
    deciders: list[ExactPairs] = []
    if not claim.delta:
        outputs = possible.PossibleOutputs(states, claim.eps, options.limits)
        deciders.append(possible.PureViolations(outputs, claim.growth))
    if not any(sample.family.is_gaussian for sample in states.samples):
        source = distributions.ExactDistributions(states, claim.eps, options.limits)
        deciders.append(exact_pairs.ExactDeltas(source, claim.growth, claim.delta, options.limits))
    return possible.FirstThat(*deciders) if deciders else None
