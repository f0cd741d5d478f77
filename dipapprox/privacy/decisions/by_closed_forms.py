"""A claim of `verify` by closed forms alone: what settles it where enclosures do not tell.

In: final states, and a claim at one ε or on an interval, as formulas. Out: whether it holds, if
what `decide` knows tells: budgets t ε, and δ of its class (`delta`). Any other claim is implied by
one of these, on every part of an interval (`at_least`).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Nonnegative
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.formula import names_of, parse_formula
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import at_most, check_limits
from dipapprox.numerics.formula_values import Undefined
from dipapprox.numerics.simplest import simplest
from dipapprox.pairs.published import together as published_search
from dipapprox.pairs.selections import Pair, one_by_one
from dipapprox.privacy import subjects
from dipapprox.privacy.decisions.decision import DecisionQuestion
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.decisions.search import DecisionSearch
from dipapprox.privacy.decisions.signs import Signs, check_delta
from dipapprox.privacy.exact_pairs import Functions, Obstacle
from dipapprox.privacy.intervals.verdict import BITS, FormulaClaim
from dipapprox.privacy.run import Setting
from dipapprox.semantics.state import FinalStates

_NEARLY = 1 - Fraction(1, 2**20)
_STEPS = 50_000  # most that is given to closed forms, where they are the last resort


class Settled(Record):
    """What closed forms say of a claim: at which ε, and by which pair, it is violated; or that it
    holds."""

    eps: Fraction | None = None
    pair: Pair | None = None


def settle(
    states: FinalStates, claim: FormulaClaim, lower: Fraction, upper: Fraction, setting: Setting
) -> Settled | None:
    """Decide a claim for every ε in [lower, upper] by closed forms; None if they do not tell.

    A short share of the limits is used up at most.
    """
    question = _question(claim, EpsilonInterval(lower, upper, True, True))
    if question is None:
        return None
    if states.program.real_outputs:
        return _of_shifts(states, question, setting)
    signs = Signs(question.interval)
    functions = Functions(ExactDistributions(states, None), question.factor)
    search = DecisionSearch(question, signs, functions)
    try:
        with at_most(_STEPS):
            check_delta(question.delta, signs)
            search.run(one_by_one(setting.pairs()))
    except (Obstacle, UserError):
        return None
    except LimitReached:
        check_limits()
        return None
    found = search.violation
    if found is not None:
        return Settled(found.eps, found.divergence.pair)
    return None if search.undecided else Settled()


def at_least(claim: FormulaClaim, lower: Fraction, upper: Fraction) -> FormulaClaim | None:
    """Return a claim that closed forms may settle, and that implies this one on [lower, upper].

    That is the claim itself, if it is of their class; else t ε <= eps_prv, and a δ below. Between
    two ε a function f with f'' <= C is nowhere further below its chord than C w² / 8, for the width
    w, and a chord over ε is monotone: so f / ε is at least what it is at one end, less C w² / 8 ε.
    Both eps_prv and delta are >= 0 there; None if the formulas have no bounds on the interval.
    """
    epsilons = EpsilonInterval(lower, upper, True, True)
    if lower == upper or _question(claim, epsilons) is not None:
        return claim
    try:
        eps_prv, delta = claim.over(lower, upper)
    except Undefined:
        return None
    most = eps_prv.value.lower / upper
    if eps_prv.slopes is not None:
        bend = max(eps_prv.slopes[1].upper, Fraction(0)) * (upper - lower) ** 2 / (8 * lower)
        most = max(most, min(claim.at(eps, BITS)[0].lower / eps for eps in (lower, upper)) - bend)
    most = max(most, Fraction(0))
    budget = f"{simplest(most * _NEARLY, most)} * eps"
    found = replace(claim, eps_prv=parse_formula(budget, "eps_prv", ["eps"]), eps_prv_text=budget)
    if _question(found, epsilons) is None:
        least = str(max(delta.value.lower, Fraction(0)))
        found = replace(found, delta=parse_formula(least, "delta", ["eps"]), delta_text=least)
    return found


def _of_shifts(states: FinalStates, question: DecisionQuestion, setting: Setting) -> Settled | None:
    """Prove a claim about one published Laplace number; None if that does not tell.

    With t the largest shift in scales and L the budget, the least δ is 1 - e^((L - t)/2), or 0
    (`composition.shifted_noise`); with scales a/ε both are multiples of ε.
    """
    epsilons = question.interval
    eps, delta = epsilons.lower, question.delta
    if epsilons.is_point:
        delta = delta.at_point(eps)
    elif any(sample.scale.power != -1 for sample in states.samples):
        return None
    listed = list(islice(setting.pairs(), published_search.MOST_PAIRS + 1))
    if delta.exact is None or len(listed) > published_search.MOST_PAIRS:
        return None
    divergences = subjects.open_published(states, eps, setting.options)
    shifts = published_search.PublishedPairs(divergences, lambda: listed, len(listed)).shifts()
    if shifts is None or any(each.family is not LAPLACE for each, _ in shifts):
        return None
    largest = max((each.shift for each, _ in shifts), default=Fraction(0)) / eps
    rate = min(question.budget - largest, Fraction(0)) / 2
    least = ExponentialRatio.constant(1) - ExponentialRatio(
        ExponentialPolynomial.monomial(1, rate=rate)
    )
    signs = Signs(epsilons)
    try:
        with at_most(_STEPS):
            check_delta(delta, signs)
            enough = signs.is_nonnegative(signs.numerator(delta.exact - least))
    except UserError:
        return None
    except LimitReached:
        check_limits()
        return None
    return Settled() if isinstance(enough, Nonnegative) else None


def _question(claim: FormulaClaim, epsilons: EpsilonInterval) -> DecisionQuestion | None:
    """Ask the same of closed forms; None if the claim is not of their class."""
    try:
        budget = _budget(claim, epsilons)
        if budget is None:
            return None
        return DecisionQuestion(budget, read_delta(claim.delta_text), epsilons)
    except UserError:
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
