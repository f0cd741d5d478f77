"""Gaussian events by the rank of their guards (`Gaussian rank`): 1, 2 or 3, whatever the samples.

    event -> polyhedron in as many dimensions as the rank -> its faces, exactly -> its measure

A probability depends on the covariances of the guards' forms and on their means only. Rank 1 is a
closed form; ranks 2 and 3 are sums of one-dimensional integrals, one for each edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, spelled_out
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.gaussian_rank.faces import Faces, faces_of
from dipapprox.numerics.gaussian_rank.measure import measure
from dipapprox.numerics.gaussian_rank.polyhedron import polyhedron_of
from dipapprox.numerics.kinds import is_gaussian
from dipapprox.numerics.precision import precision, to_enclosure

MOST_RANK = 3

_ATTEMPTS = 4

_REMEMBERED = 5_000
"""About how many edges of polyhedra are kept, for those who ask for more bits."""


class GaussianRank:
    """The method `Gaussian rank`."""

    name = "Gaussian rank"

    def __init__(self) -> None:
        self._known: Cache[Event, Faces | NotEnclosed] = Cache(_REMEMBERED, _edges)

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        if isinstance(event, Chosen) or not is_gaussian(event):
            return NotEnclosed("not all samples are Gaussian")
        plain = spelled_out(event)
        faces = self._known.find(plain, lambda: _faces(plain, limits))
        return faces if isinstance(faces, NotEnclosed) else _enclosed(faces, bits, limits)


def _edges(faces: Faces | NotEnclosed) -> int:
    return 1 if isinstance(faces, NotEnclosed) else 1 + len(faces.edges)


def _faces(event: Event, limits: Limits) -> Faces | NotEnclosed:
    polyhedron = polyhedron_of(event, MOST_RANK)
    if isinstance(polyhedron, NotEnclosed):
        return polyhedron
    return faces_of(polyhedron, limits)


def _enclosed(faces: Faces, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
    """Evaluate with more and more bits until the width is at most 2**-bits."""
    own = bits + 4 + len(faces.edges).bit_length()
    found: Enclosure | NotEnclosed = NotEnclosed("not tried")
    for attempt in range(_ATTEMPTS):
        with precision(_rounded_up(own + (20 << 2 * attempt))):
            found = to_enclosure(measure(faces, own, limits))
        if isinstance(found, Enclosure):
            found = found.intersect(UNIT)
            if found.width <= Fraction(1, 2**bits):
                return found
    return found


def _rounded_up(bits: int) -> int:
    """Return a multiple of 32, so that events share the nodes of rules."""
    return -(-bits // 32) * 32
