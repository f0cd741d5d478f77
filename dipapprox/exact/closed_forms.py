"""Events of every kind in, exact probabilities as functions of a formal eps out.

In: connected events (`events.event.Connected`) whose scales s stand for s / ε'. Out: ratios of
exponential polynomials in ε'. Continuous events go to `laplace.engine`, choices to
`choices`, linear systems of discrete Laplace samples to `integers.elimination`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.exact.integers.elimination import discrete_probability
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import is_discrete


def ratio_sum(ratios: Sequence[ExponentialRatio]) -> ExponentialRatio:
    """Add up any number of ratios, those with equal denominators first."""
    grouped: dict[tuple[tuple[ExponentialPolynomial, int], ...], list[ExponentialPolynomial]] = {}
    for ratio in ratios:
        grouped.setdefault(ratio.denominator, []).append(ratio.numerator)
    total: ExponentialRatio | None = None
    for denominator, numerators in grouped.items():
        numerator = numerators[0] if len(numerators) == 1 else exponential_sum(numerators)
        part = ExponentialRatio.of(numerator, dict(denominator))
        total = part if total is None else total + part
    return ExponentialRatio.constant(0) if total is None else total


_REMEMBERED = 20_000
"""Most events whose closed forms are kept."""


class EventForms:
    """The closed forms of events, each computed once; similar events share work."""

    def __init__(self) -> None:
        self._integrals = LaplaceIntegrals()
        self._known: Cache[Connected, ExponentialRatio | NotEnclosed] = Cache(_REMEMBERED)

    def closed_form_of(self, event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed:
        """Return Pr[event] as a function of ε' > 0, or why there is no closed form.

        Raises:
            LimitReached: If the time or the memory runs out.
        """
        return self._known.find(event, lambda: self._closed_form(event, limits))

    def _closed_form(self, event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed:
        match event:
            case Chosen():
                return chosen_probability(event, limits)
            case Mixture():
                return self._sum(event, limits)
            case Event() | Star():
                if is_discrete(event):
                    return discrete_probability(event, limits)
                found = self._integrals.closed_form(event, limits)
                return found if isinstance(found, NotEnclosed) else ExponentialRatio(found)
            case _:
                assert_never(event)

    def _sum(self, mixture: Mixture, limits: Limits) -> ExponentialRatio | NotEnclosed:
        summands = []
        for count, events in mixture.terms:
            product = ExponentialRatio.constant(count)
            for event, power in events:
                form = self.closed_form_of(event, limits)
                if isinstance(form, NotEnclosed):
                    return form
                for _ in range(power):
                    product = product * form
            summands.append(product)
        return ratio_sum(summands)
