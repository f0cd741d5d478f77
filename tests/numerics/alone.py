"""One event: a batch of its own."""

from dipapprox import Enclosure, Limits, NotEnclosed
from dipapprox.events.event import Connected
from dipapprox.numerics.methods import Method


def alone(method: Method, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
    (found,) = method.enclose((event,), bits, limits)
    return found
