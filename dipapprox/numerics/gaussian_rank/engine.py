"""Gaussian events by the rank of their guards (`Gaussian rank`): up to 4, whatever the samples.

    event -> polyhedron in as many dimensions as the rank -> its faces, exactly -> its measure

A probability depends on the covariances of the guards' forms and on their means only. Rank 1 is a
closed form; ranks 2 and 3 are sums of one-dimensional integrals, one for each edge; rank 4 is a sum
over facets of integrals of rank 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from flint import arb

from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, spelled_out
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.gaussian_rank.dilation import Dilation, dilated, dilation_of
from dipapprox.numerics.gaussian_rank.faces import Faces, faces_of
from dipapprox.numerics.gaussian_rank.measure import measure
from dipapprox.numerics.gaussian_rank.polyhedron import Polyhedron, polyhedron_of
from dipapprox.numerics.kinds import is_gaussian
from dipapprox.numerics.precision import precision, to_enclosure

MOST_RANK = 4
"""Each rank more multiplies the time by the number of facets and by that of a rule's nodes."""

_ATTEMPTS = 4

_REMEMBERED = 5_000
"""About how many faces of polyhedra are kept, for those who ask for more bits."""

_Shape = Faces | Dilation


class GaussianRank:
    """The method `Gaussian rank`."""

    name = "Gaussian rank"

    def __init__(self) -> None:
        self._known: Cache[Event, _Shape | NotEnclosed] = Cache(_REMEMBERED, _size)

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        if isinstance(event, Chosen) or not is_gaussian(event):
            return NotEnclosed("not all samples are Gaussian")
        plain = spelled_out(event)
        shape = self._known.find(plain, lambda: _shape_of_event(plain, limits))
        return shape if isinstance(shape, NotEnclosed) else _enclosed(shape, bits, limits)


def _shape_of_event(event: Event, limits: Limits) -> _Shape | NotEnclosed:
    polyhedron = polyhedron_of(event, MOST_RANK)
    return polyhedron if isinstance(polyhedron, NotEnclosed) else _shape(polyhedron, limits)


def _shape(polyhedron: Polyhedron, limits: Limits) -> _Shape | NotEnclosed:
    return (faces_of if polyhedron.rank <= 3 else dilation_of)(polyhedron, limits)


def _size(shape: _Shape | NotEnclosed) -> int:
    match shape:
        case NotEnclosed():
            return 1
        case Faces(edges=edges):
            return 1 + len(edges)
        case Dilation(facets=facets):
            return 1 + len(facets)
        case _:
            assert_never(shape)


def _value(shape: _Shape, bits: int, limits: Limits) -> arb | NotEnclosed:
    """Enclose the measure of a shape to about 2**-bits for each of its parts."""

    def measured(polyhedron: Polyhedron) -> arb | NotEnclosed:
        inner = _shape(polyhedron, limits)
        return inner if isinstance(inner, NotEnclosed) else _value(inner, bits, limits)

    match shape:
        case Faces():
            return measure(shape, bits, limits)
        case Dilation():
            return dilated(shape, measured, bits, limits)
        case _:
            assert_never(shape)


def _enclosed(shape: _Shape, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
    """Evaluate with more and more bits until the width is at most 2**-bits."""
    own = bits + 4 + _size(shape).bit_length()
    found: Enclosure | NotEnclosed = NotEnclosed("not tried")
    for attempt in range(_ATTEMPTS):
        with precision(_rounded_up(own + (20 << 2 * attempt))):
            ball = _value(shape, own, limits)
            found = ball if isinstance(ball, NotEnclosed) else to_enclosure(ball)
        if isinstance(found, Enclosure):
            found = found.intersect(UNIT)
            if found.width <= Fraction(1, 2**bits):
                return found
    return found


def _rounded_up(bits: int) -> int:
    """Return a multiple of 32, so that events share the nodes of rules."""
    return -(-bits // 32) * 32
