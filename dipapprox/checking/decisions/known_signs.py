"""What is known of signs on an interval: recorded functions whose proofs were examined."""

from __future__ import annotations

from dipapprox.certificates.proofs import Proof
from dipapprox.checking.chances import Chance
from dipapprox.checking.claims import Interval
from dipapprox.checking.decisions.covers import Refuted
from dipapprox.checking.decisions.quotients import (
    Canonical,
    Quotient,
    as_function,
    canonical,
    constant,
)
from dipapprox.checking.decisions.signs import grows_from_zero, is_positive, sign_at
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import divisors, total_weight, weight_form
from dipapprox.data_classes import dataclass, field
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits


@dataclass(slots=True)
class KnownSigns:
    """Functions that are >= 0 on an interval.

    Attributes:
        interval: The epsilons.
        limits: Asked throughout.
    """

    interval: Interval
    limits: Limits
    _positive: dict[Canonical, bool] = field(default_factory=dict)

    def learn(
        self, form: ExponentialPolynomial, proof: Proof, where: str, partial: PartialResult
    ) -> None:
        """Examine a recorded function that is said to be >= 0."""
        function = canonical(form)
        try:
            positive = is_positive(function, proof, self.interval, self.limits)
        except Refuted as false:
            partial.differ(where, f"its proof is wrong: {false}")
        except Stuck as obstacle:
            partial.reason = partial.reason or f"{where}: {obstacle}"
        else:
            self._positive[function] = positive or self._positive.get(function, False)

    def shows(self, function: Canonical) -> bool:
        """Whether a function is recorded as >= 0, or has no negative term."""
        return function in self._positive or all(c > 0 for _, _, c in function)

    def same_sign(self, quotient: Quotient) -> Canonical:
        """Return the numerator, with the quotient's sign at every ε.

        Args:
            quotient: Its denominator is known to have no zero in the interval.
        """
        sign = 1
        if quotient.bottom.as_constant() is None:
            sign = sign_at(quotient.bottom, self.interval.inner_point, self.limits)
        return canonical(quotient.top.scaled(sign))

    def require_divisor(self, quotient: Quotient, what: str) -> None:
        """Make sure that nothing is divided by 0: `quotient` has one sign on the interval.

        Raises:
            Stuck: If that is not shown.
        """
        for function in (quotient.top, quotient.bottom):
            if not any(self._is_positive(canonical(f)) for f in (function, -function)):
                raise Stuck(f"it is not shown that {what} is not 0 for some eps")

    def require_choice(self, chance: Chance) -> None:
        """Make sure that a choice is a probability distribution for every ε of the interval.

        Raises:
            Stuck: If that is not shown.
        """
        for weight in chance.weights:
            for divisor in divisors(weight):
                self.require_divisor(divisor, "a denominator of a choice")
            function = self.same_sign(weight_form(weight))
            if not self.shows(function) and not grows_from_zero(function, self.limits):
                raise Stuck("it is not shown that the weights of a choice are >= 0")
        if chance.proportional:
            self.require_divisor(total_weight(chance), "the sum of the weights of a choice")
        elif total_weight(chance) != constant(1):
            raise Stuck("the probabilities of a choice do not add up to 1")

    def surely_happens(self, chance: Chance) -> bool:
        """Whether an outcome of a lawful choice has a probability > 0 on all of the interval."""
        return self._is_positive(self.same_sign(weight_form(chance.weights[chance.outcome])))

    def _is_positive(self, function: Canonical) -> bool:
        if self._positive.get(function) or grows_from_zero(function, self.limits):
            return True
        if not self.interval.is_point:
            return False
        return sign_at(as_function(function), self.interval.lower, self.limits) > 0
