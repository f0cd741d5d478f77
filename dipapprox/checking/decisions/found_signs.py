"""Signs on an interval of functions that no file records.

Their proofs are those of the exact engine; they are examined as recorded ones are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.sign_evidence import proof_of
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.decisions.quotients import Canonical, as_function
from dipapprox.checking.decisions.signs import sign_at
from dipapprox.checking.partial_result import PartialResult
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, Undecided, is_nonnegative
from dipapprox.privacy.decisions.epsilons import closed_interval


class FoundSigns(KnownSigns):
    """Signs on an interval; what is not known of a function is looked for."""

    def shows(self, function: Canonical) -> bool:
        """Whether a function is >= 0 on the interval; False also where that is not found.

        Raises:
            UserError: If it is below 0 somewhere.
            LimitReached: If the limits run out.
        """
        below = self._learn(function)
        if below is not None:
            raise UserError(f"a probability or delta is below 0 at eps = {brief_text(below)}")
        return super().shows(function)

    def compare(self, function: Canonical) -> bool | None:
        """Whether a function is >= 0 on the interval; None where that is not found.

        Raises:
            LimitReached: If the limits run out.
        """
        if self._learn(function) is not None:
            return False
        return True if super().shows(function) or super()._is_positive(function) else None

    def _is_positive(self, function: Canonical) -> bool:
        self._learn(function)
        return super()._is_positive(function)

    def _learn(self, function: Canonical) -> Fraction | None:
        """Look for a proof, and examine it; or return an ε at which the function is below 0."""
        if super().shows(function) or super()._is_positive(function):
            return None
        form = as_function(function)
        epsilons = closed_interval(self.interval.lower, self.interval.upper)
        found = is_nonnegative(form, epsilons, self.limits)
        match found:
            case Negative(eps):
                return eps if sign_at(form, eps, self.limits) < 0 else None
            case Nonnegative():
                self.learn(form, proof_of(found.evidence), "", PartialResult())
            case Undecided():
                pass
            case _:
                assert_never(found)
        return None
