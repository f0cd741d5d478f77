"""Does a claimed δ make sense for every ε of an interval?"""

from __future__ import annotations

from typing import assert_never

from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.nonnegative import Negative, Nonnegative, Undecided
from dipapprox.privacy.decisions.delta import Delta, mentions_epsilon
from dipapprox.privacy.decisions.signs import Signs


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
