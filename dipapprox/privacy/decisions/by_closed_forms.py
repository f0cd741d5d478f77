"""A claim of `verify` by closed forms alone: what settles it where enclosures do not tell.

In: final states, and a claim at one ε or on an interval, as formulas. Out: whether it holds, if
what `decide` knows tells: budgets t ε, and δ of its class (`delta`).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached, SourceError, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.language.formula import names_of
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import Pair
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.decisions.divergences import (
    Count,
    Functions,
    Obstacle,
    exponential_factor,
)
from dipapprox.privacy.decisions.pattern_divergences import (
    PatternDivergences,
    worst_divergences,
)
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.search import DecisionSearch
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.privacy.decisions.validity import check_delta
from dipapprox.privacy.intervals.formula_claim import BITS, FormulaClaim
from dipapprox.semantics.state import FinalStates

_SECONDS = 20.0
"""Most that is given to closed forms, where they are the last resort."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What closed forms say of a claim.

    Attributes:
        eps: Where it is violated; None if it holds.
        pair: That violates it; None if it holds.
    """

    eps: Fraction | None = None
    pair: Pair | None = None


def settle(
    states: FinalStates,
    claim: FormulaClaim,
    lower: Fraction,
    upper: Fraction,
    pairs: Iterable[Pair],
    limits: Limits,
) -> Settled | None:
    """Decide a claim for every ε in [lower, upper] by closed forms; None if they do not tell.

    Args:
        states: The final states.
        claim: As formulas.
        lower: The least ε, > 0.
        upper: The greatest, maybe the same.
        pairs: Of inputs.
        limits: A short share of them is used up at most.

    Raises:
        LimitReached: If nothing is left of the limits.
    """
    question = _question(claim, EpsilonInterval(lower, upper, True, True))
    if question is None or states.program.real_outputs:
        return None
    own = limits.ending_within(_SECONDS)
    signs = Signs(question.epsilons, own)
    source = ExactDistributions(states, None, own)
    functions = Functions(source, exponential_factor(question.budget))
    search = DecisionSearch(question, signs)
    patterns = PatternDivergences(functions, signs, own)
    try:
        check_delta(question.delta, signs)
        search.run(worst_divergences(patterns, pairs, Count(), pure=question.delta.is_zero))
    except (Obstacle, UserError, SourceError):
        return None
    except LimitReached:
        limits.check()
        return None
    found = search.violation
    if found is not None:
        return Settled(found.eps, found.divergence.pair)
    return None if search.undecided else Settled()


def _question(claim: FormulaClaim, epsilons: EpsilonInterval) -> DecisionQuestion | None:
    """Ask the same of closed forms; None if the claim is not of their class."""
    try:
        budget = _budget(claim, epsilons)
        if budget is None:
            return None
        return DecisionQuestion(budget, read_delta(claim.delta_text), epsilons)
    except (UserError, SourceError):
        return None


def _budget(claim: FormulaClaim, epsilons: EpsilonInterval) -> Fraction | None:
    """Return t, if eps_prv is t ε."""
    if epsilons.is_point:
        eps_prv, _ = claim.at(epsilons.lower, BITS)
        return None if eps_prv.width else eps_prv.lower / epsilons.lower
    if "delta" in names_of(claim.eps_prv):
        return None
    ratio = as_ratio(claim.eps_prv)
    match ratio.numerator.terms, ratio.denominator:
        case (), ():
            return Fraction(0)
        case (((1, rate), factor),), () if not rate:
            return factor
        case _:
            return None
