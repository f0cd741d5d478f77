"""Gaussian events by the rank of their guards (`Gaussian rank`), whatever the samples.

    event -> polyhedron in as many dimensions as the rank -> signed cones, exactly -> orthants

A probability depends on the covariances of the guards' forms and on their means only. Rank 1 is a
closed form, ranks 2 and 3 are integrals in one variable, each two ranks more one integral more. How
much work that is, is estimated before; where it is too much for the wanted width a larger one is
enclosed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.precision import precision, to_enclosure
from dipapprox.cache import Cache
from dipapprox.events.event import Connected, Event, spelled_out
from dipapprox.limits import Limits
from dipapprox.numerics.gaussian_rank.cones import Cones, cones_of, polyhedron_of
from dipapprox.numerics.gaussian_rank.orthants import evaluations, orthant
from dipapprox.numerics.kinds import is_gaussian
from dipapprox.numerics.methods import Answers

MOST_RANK = 9
"""More are refused before anything is looked at."""

_MOST_EVALUATIONS = 2_000_000
"""Of densities, for one event: some ten microseconds each."""

_LEAST_BITS = 8
"""Narrower than 2**-this is what is tried at least."""

_ATTEMPTS = 4

_REMEMBERED = 5_000
"""About how many cones are kept, for those who ask for more bits."""


class GaussianRank:
    """The method `Gaussian rank`."""

    name = "Gaussian rank"

    def __init__(self) -> None:
        self._known: Cache[Event, Cones | NotEnclosed] = Cache(_REMEMBERED, _size)

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    @enclosing
    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure:
        if not is_gaussian(event):
            return sure(NotEnclosed("not all samples are Gaussian"))
        plain = spelled_out(event)
        cones = self._known.find(plain, lambda: _cones_of_event(plain, limits))
        return sure(_enclosed(sure(cones), bits, limits))


@enclosing
def _cones_of_event(event: Event, limits: Limits) -> Cones:
    return sure(cones_of(sure(polyhedron_of(event, MOST_RANK)), limits))


def _size(cones: Cones | NotEnclosed) -> int:
    return 1 if isinstance(cones, NotEnclosed) else 1 + len(cones.cones)


def _enclosed(cones: Cones, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
    """Evaluate with more and more digits until the width is at most 2**-bits."""
    bits = _affordable(cones, bits, limits)
    if not bits:
        many = f"{len(cones.cones)} cones of rank {cones.rank} take more than {_MOST_EVALUATIONS}"
        return NotEnclosed(f"{many} evaluations")
    own = _own_bits(cones, bits)
    found: Enclosure | NotEnclosed = NotEnclosed("not tried")
    for attempt in range(_ATTEMPTS):
        with precision(_digits(own, attempt)):
            total = arb(0)
            for cone in cones.cones:
                rows, bounds = cone.as_balls()
                total += cone.sign * orthant(rows, bounds, own, limits)
            found = to_enclosure(total)
        if isinstance(found, Enclosure):
            found = found.intersect(UNIT)
            if found.width <= Fraction(1, 2**bits):
                return found
    return found


def _affordable(cones: Cones, bits: int, limits: Limits) -> int:
    """As many bits as the work allows; 0 if none are worth it."""
    if cones.rank <= 3:
        return bits
    while bits >= _LEAST_BITS:
        own = _own_bits(cones, bits)
        work = 0.0
        with precision(_digits(own, _ATTEMPTS - 1)):
            for cone in cones.cones:
                limits.check()
                work += evaluations(cone.as_balls()[0], own, _MOST_EVALUATIONS - work)
                if work > _MOST_EVALUATIONS:
                    break
        if work <= _MOST_EVALUATIONS:
            return bits
        bits = bits * 3 // 4
    return 0


def _own_bits(cones: Cones, bits: int) -> int:
    return bits + 3 + len(cones.cones).bit_length()


def _digits(bits: int, attempt: int) -> int:
    """A multiple of 32, so that events share the nodes of rules."""
    return -(-(bits + (20 << 2 * attempt)) // 32) * 32
