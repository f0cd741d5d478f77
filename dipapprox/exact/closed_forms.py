"""Events of every kind in, exact probabilities as functions of a formal eps out.

In: connected events (`events.event.Connected`) whose scales s stand for s / ε'. Out: ratios of
exponential polynomials in ε'. Continuous events go to `engine`, discrete ones to `discrete`,
choices to `choices`.
"""

from __future__ import annotations

from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, Star
from dipapprox.exact.choices.probability import chosen_probability
from dipapprox.exact.integers.discrete import discrete_probability
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.kinds import is_discrete

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
            case Event() | Star():
                if is_discrete(event):
                    return discrete_probability(event, limits)
                found = self._integrals.closed_form(event, limits)
                return found if isinstance(found, NotEnclosed) else ExponentialRatio(found)
            case _:
                assert_never(event)
