"""Do a claimed δ and the random choices of a program make sense for every ε of an interval?"""

from __future__ import annotations

from typing import assert_never

from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, Undecided
from dipapprox.language.formula import mentions_epsilon
from dipapprox.limits import Limits
from dipapprox.privacy.decisions.delta import Delta
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.semantics.state import FinalStates


def check_delta(delta: Delta, signs: Signs) -> None:
    """Make sure that a δ that varies with ε is defined and >= 0 on the interval.

    Raises:
        UserError: If it is not.
        LimitReached: If that cannot be told.
    """
    if not mentions_epsilon(delta.formula):
        return
    for low, high in delta.brackets():
        signs.require_no_zero(low, "delta")
        if isinstance(signs.is_nonnegative(signs.numerator(low)), Nonnegative):
            return
        found = signs.is_nonnegative(signs.numerator(high))
        match found:
            case Negative(eps):
                raise UserError(f"delta must be >= 0, but '{delta.text}' is negative at {eps}")
            case Undecided(reason):
                raise LimitReached(reason)
            case Nonnegative():
                pass
            case _:
                assert_never(found)
    raise LimitReached(f"tight-delta: '{delta.text}' is about 0 somewhere, or below")


def check_program(states: FinalStates, interval: EpsilonInterval, limits: Limits) -> None:
    """Make sure that all choices of a program are probability distributions on the interval.

    Raises:
        UserError: If one is not.
        LimitReached: If that cannot be told.
    """
    try:
        check_choices(states.laws, interval, limits)
    except UserError as error:
        hint = f"{error.hint}; ask about fewer eps with --interval, for example 0..1"
        raise UserError(error.message, hint) from None
