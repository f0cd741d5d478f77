"""Bounds that hold but for negligible tails are dropped: then an event is often a plain order.

Let every x_i lie in an interval I_i but for a mass of at most m. If x_i <= x_j + w holds for all
x_i in I_i and x_j in I_j, the event A without this bound satisfies

    Pr[A without it] - 2 m  <=  Pr[A]  <=  Pr[A without it].

So v[a] <- v[a] - 1000, which takes a value out of the race, costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox import graphs
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.numerics.algebras.grid import cutoff_interval
from dipapprox.numerics.elimination.order_event import (
    Bound,
    DifferenceEvent,
    OrderEvent,
    Sample,
    order_event,
)
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.semantics.linear import LinearForm

_GUARD_BITS = 4

_ONE = Fraction(1)


def without_certain(
    event: DifferenceEvent, bits: int
) -> tuple[OrderEvent | DifferenceEvent, Fraction]:
    """Drop bounds, as long as the samples stay connected.

    Returns:
        What is left, and a number, at most 2**-bits, by which its probability may exceed the
        event's.
    """
    kept = bits + _GUARD_BITS + len(event.bounds).bit_length()
    ranges = [_range(sample, kept) for sample in event.samples]
    left = set(event.bounds)
    for bound in sorted(event.bounds, key=lambda each: -each[2]):
        i, j, w = bound
        if ranges[i][1] <= ranges[j][0] + w and _connected(len(ranges), left - {bound}):
            left.remove(bound)
    if len(left) == len(event.bounds):
        return event, Fraction(0)
    return _shifted(event.samples, left), (len(event.bounds) - len(left)) * Fraction(4, 2**kept)


def _shifted(samples: Sequence[Sample], bounds: Iterable[Bound]) -> OrderEvent | DifferenceEvent:
    """Shift samples again: fewer bounds may make an order."""
    guards = [LinearForm.of({i: _ONE, j: -_ONE}, -w) for i, j, w in sorted(bounds)]
    for k, sample in enumerate(samples):
        if sample.lower is not None:
            guards.append(LinearForm.of({k: -_ONE}, sample.lower))
        if sample.upper is not None:
            guards.append(LinearForm.of({k: _ONE}, -sample.upper))
    order = order_event(Event(tuple([sample.law for sample in samples]), tuple(guards)))
    if isinstance(order, NotEnclosed):
        raise BrokenInvariant("differences are no differences any more")
    return order


def lowered(found: Enclosure | NotEnclosed, excess: Fraction) -> Enclosure | NotEnclosed:
    """Return what is known of a number that is at most `excess` smaller than the enclosed one."""
    if isinstance(found, NotEnclosed) or not excess:
        return found
    return Enclosure(max(found.lower - excess, Fraction(0)), found.upper)


def _range(sample: Sample, kept: int) -> tuple[Fraction, Fraction]:
    low, high = cutoff_interval(sample.law, kept)
    return (
        low if sample.lower is None else max(low, sample.lower),
        high if sample.upper is None else min(high, sample.upper),
    )


def _connected(size: int, bounds: set[Bound]) -> bool:
    return len(graphs.components(size, [(i, j) for i, j, _ in bounds])) == 1
