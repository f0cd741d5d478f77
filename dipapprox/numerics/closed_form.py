"""Closed forms before any quadrature: half-spaces of Gaussians, single Laplace samples.

A guard that is alone in its event and compares only Gaussians is one Gaussian comparison,

    Pr[Σ c_i x_i + w <= 0] = Φ(-(w + Σ c_i μ_i) / √(Σ c_i² σ_i²)) = erfc(z / √2) / 2,

z² rational even where the deviation is not. A single Laplace sample beyond a bound has an
exponential as its probability. Any precision costs microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dipapprox.distributions import Family
from dipapprox.events.event import Connected, Event
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.method import Method
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ATTEMPTS = 4


class ClosedForms:
    """A method that answers what it can in closed form and leaves the rest to another.

    Args:
        method: For all other events; the reports name it, unless it was never asked.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._answered = False
        self._asked = False

    @property
    def name(self) -> str:
        """The word in reports: what has answered."""
        return "closed form" if self._answered and not self._asked else self._method.name

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(
        self, events: Sequence[Connected], bits: int, limits: Limits
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        found: dict[int, Enclosure | NotEnclosed] = {}
        rest: list[int] = []
        for place, event in enumerate(events):
            closed = enclose_closed_form(event, bits)
            if closed is None:
                rest.append(place)
            else:
                found[place] = closed
                self._answered = True
        if rest:
            self._asked = True
            others = self._method.enclose_many([events[k] for k in rest], bits, limits)
            found.update(zip(rest, others, strict=True))
        return [found[place] for place in range(len(events))]


def enclose_closed_form(event: Connected, bits: int) -> Enclosure | None:
    """Enclose Pr[event] to 2**-bits if it has a closed form; None if it has none here."""
    if not isinstance(event, Event) or len(event.guards) != 1:
        return None
    (guard,) = event.guards
    families = {law.family for law in event.samples}
    if families != {Family.GAUSSIAN} and len(event.samples) > 1:
        return None
    offset, variance = guard.constant, Fraction(0)
    for sample, coefficient in guard.terms:
        assert isinstance(sample, int)
        law = event.samples[sample]
        offset += coefficient * law.mean
        variance += (coefficient * law.scale) ** 2
    # Σ c_i x_i - its mean, over its deviation (for Laplace: over its scale), is at most -z.
    square = offset * offset / variance
    for attempt in range(_ATTEMPTS):
        with precision(bits + 32 << attempt):
            if families == {Family.GAUSSIAN}:
                tail = (to_ball(square / 2).sqrt()).erfc() / 2
            else:
                tail = (-to_ball(square).sqrt()).exp() / 2
            found = to_enclosure(tail if offset >= 0 else arb(1) - tail)
        if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
            return found.intersect(UNIT)
    return None
