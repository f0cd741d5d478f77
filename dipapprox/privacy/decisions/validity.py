"""Do a claimed δ and the random choices of a program make sense for every ε of an interval?"""

from __future__ import annotations

from typing import assert_never

from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, Undecided
from dipapprox.limits import Limits
from dipapprox.privacy.decisions.delta import Delta, mentions_epsilon
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.semantics.state import FinalStates


def check_delta(delta: Delta, signs: Signs) -> None:
    """Make sure that a δ that varies with ε is defined and >= 0 on the interval.

    Raises:
        UserError: If it is not.
        LimitReached: If that cannot be told.
    """
    if delta.exact is None or not mentions_epsilon(delta.formula):
        return
    signs.require_no_zero(delta.exact, "delta")
    found = signs.is_nonnegative(signs.numerator(delta.exact))
    match found:
        case Negative(epsilon):
            raise UserError(f"delta must be >= 0, but '{delta.text}' is negative at {epsilon}")
        case Undecided(reason):
            raise LimitReached(reason)
        case Nonnegative():
            return
        case _:
            assert_never(found)


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
