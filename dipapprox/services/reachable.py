"""The states that calls lead to, and who sees the calls."""

from __future__ import annotations

from math import inf

from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.services.model import Call, CallOutcome, State
from dipapprox.services.system import System


@dataclass(frozen=True, slots=True)
class Examiner:
    """Whose queries and replies are seen; None: all of them."""

    users: frozenset[str] | None = None

    def sees(self, system: System, call: Call) -> bool:
        """Whether a call and its reply are seen."""
        return system.service.handlers[call.handler].is_seen_by(self.users or ())


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a state was first come to.

    Attributes:
        state: Before.
        call: That led there.
        outcome: By which it did.
    """

    state: State
    call: Call
    outcome: CallOutcome


def reachable_states(
    system: System, limits: Limits, most: float = inf
) -> dict[State, Arrival | None]:
    """Return the states that calls lead to, each with how it was first come to.

    Args:
        system: Of a service.
        limits: Of time, memory and states.
        most: States that are enough.

    Raises:
        LimitReached: If there are too many.
    """
    begin = system.number(system.initial)
    found: dict[int, Arrival | None] = {begin: None}
    waiting = [begin]
    for number in waiting:
        if len(found) > most:
            break
        limits.check()
        state = system.states[number]
        for place, call in enumerate(system.calls):
            outcomes, targets, _ = system.moves(number, place)
            for outcome, target in zip(outcomes, targets, strict=True):
                if target not in found:
                    found[target] = Arrival(state, call, outcome)
                    waiting.append(target)
        limits.check_states(len(found))
    return {system.states[number]: arrival for number, arrival in found.items()}
