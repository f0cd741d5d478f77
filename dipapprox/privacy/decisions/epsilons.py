"""The epsilons that a decision is about: reading and writing intervals."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.errors import UserError
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.language.diagnosis import shorten
from dipapprox.language.values import parse_rational

_USAGE = "write LO..HI: 0..inf, 1/10..1, or one number"


def read_epsilons(text: str) -> EpsilonInterval:
    """Read "LO..HI" or one number; rational ends are included, 0 and inf never are.

    Raises:
        UserError: If it is malformed or has no epsilon > 0.
    """
    low, dots, high = text.partition("..")
    if not low.strip() or ".." in high or bool(dots) != bool(high.strip()):
        raise UserError(f"not an interval of eps: '{shorten(text)}'", _USAGE)
    lower = parse_rational(low, "the interval's lower end")
    upper: Fraction | None = lower
    if dots:
        infinite = high.strip() in ("inf", "oo", "∞")
        upper = None if infinite else parse_rational(high, "the interval's upper end")
    return closed_interval(lower, upper)


def closed_interval(lower: Fraction, upper: Fraction | None) -> EpsilonInterval:
    """Return the epsilons > 0 between two ends, both included unless 0 or infinite.

    Raises:
        UserError: If there are none.
    """
    if lower < 0:
        raise UserError(f"eps must be > 0, but the interval begins at {lower}", _USAGE)
    if upper is not None and (upper < lower or upper == 0):
        raise UserError(f"there is no eps > 0 in the interval {lower}..{upper}", _USAGE)
    return EpsilonInterval(lower, upper, lower > 0, upper is not None)


def claim_words(budget: Fraction, delta: str, epsilons: EpsilonInterval) -> str:
    """Write a claim for people: "(2 ε, 1/10)-DP for all ε > 0"."""
    multiple = "ε" if budget == 1 else f"{budget} ε"
    return f"({multiple}, {delta})-DP for {interval_words(epsilons)}"


def interval_words(epsilons: EpsilonInterval) -> str:
    """Write an interval for people."""
    lower, upper = epsilons.lower, epsilons.upper
    if epsilons.is_point:
        return f"ε = {lower}"
    if upper is None:
        return f"all ε {'>=' if epsilons.lower_included else '>'} {lower}"
    left = "[" if epsilons.lower_included else "("
    return f"all ε in {left}{lower}, {upper}{']' if epsilons.upper_included else ')'}"
