"""The reference engine: probabilities of events by nested ball quadrature (`nested`).

In: an `Event`. Out: an `Enclosure` of its probability, by way of a `Plan` (DiPApprox section 6).
It handles any linear guards, is the oracle of the other engines and the baseline of speed.

    event -> plan (`integrals.optimizer`) -> enclosure (`plans`)

Both are loaded when the first event arrives: few need this engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.events.event import Connected, spelled_out
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.kinds import as_continuous

if TYPE_CHECKING:
    from dipapprox.integrals import optimizer
    from dipapprox.numerics.nested import plans
else:
    optimizer = Deferred("dipapprox.integrals.optimizer")
    plans = Deferred("dipapprox.numerics.nested.plans")


class Nested:
    """The method `nested`.

    Args:
        strategy: How the integration order is chosen.
    """

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    @property
    def name(self) -> str:
        """The word in reports."""
        return "nested"

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one, nests share nothing; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        continuous = as_continuous(event)
        if isinstance(continuous, NotEnclosed):
            return continuous
        plain = spelled_out(continuous)
        found = optimizer.plan(plain, self.strategy, limits)
        literal = self.strategy is Strategy.NONE
        return plans.enclose_plan(plain, found, bits, limits, literal=literal)
