"""One event: a batch of its own."""

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Method


def alone(method: Method, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
    """Enclose Pr[event]."""
    (found,) = method.enclose((event,), bits, limits)
    return found
