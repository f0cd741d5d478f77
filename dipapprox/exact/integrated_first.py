"""Exact integration where it pays: Laplace-type events before they go to nested quadrature.

event -> all laws of Laplace type -> integration over polyhedra --- done ----> balls, any width
      |                                  |
      otherwise -> the engine <----------+ too much work, or less was too much before
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.distributions import Family
from dipapprox.events.event import Chosen, Connected, Event, spelled_out
from dipapprox.limits import Limits
from dipapprox.numerics.delegation import Delegating
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

if TYPE_CHECKING:
    from dipapprox import exponentials
    from dipapprox.exact.laplace import polyhedra
    from dipapprox.exact.signs import values
else:
    exponentials = Deferred("dipapprox.exponentials")
    polyhedra = Deferred("dipapprox.exact.laplace.polyhedra")
    values = Deferred("dipapprox.exact.signs.values")

_FAMILIES = {Family.LAPLACE, Family.EXPONENTIAL, Family.REFLECTED_EXPONENTIAL}

_NAME = "exact"

_SHALLOW = 3
"""Quadrature nests of so many samples end within seconds; deeper ones rarely end."""

_PIECES = 2_000
"""Most pieces of shallow events: a few seconds of work. Deeper ones may have all there may be."""

_REMEMBERED = 10_000
"""Most events whose closed forms are kept."""


class IntegratedFirst(Delegating):
    """A method that integrates Laplace-type events exactly and leaves the rest to another.

    It remembers closed forms: more bits cost an evaluation only.

    Args:
        method: For all other events, and those that would take too much work.
    """

    def __init__(self, method: Method) -> None:
        super().__init__(method)
        self._forms: dict[Event, exponentials.ExponentialPolynomial] = {}
        self._failures: list[tuple[int, int]] = []  # samples, guards

    @property
    def name(self) -> str:
        """The words of what has answered; the other method's as long as nothing has."""
        if not self._answered:
            return self._method.name
        return f"{_NAME} + {self._method.name}" if self._asked else _NAME

    def _own(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed | None:
        if isinstance(event, Chosen):
            return None
        form = self._form(spelled_out(event), limits)
        if form is None:
            return None
        found = values.enclose_at(form, Fraction(1), bits, limits)
        return None if isinstance(found, NotEnclosed) else found.intersect(UNIT, _NAME)

    def _form(self, event: Event, limits: Limits) -> exponentials.ExponentialPolynomial | None:
        """Return the closed form as a function of ε', to be taken at 1; None if there is none."""
        if not all(law.family in _FAMILIES for law in event.samples):
            return None
        known = self._forms.get(event)
        if known is not None:
            return known
        size = len(event.samples), len(event.guards)
        if any(size[0] >= samples and size[1] >= guards for samples, guards in self._failures):
            return None
        pieces = _PIECES if size[0] <= _SHALLOW else limits.pieces
        form = polyhedra.integrate(event, replace(limits, pieces=min(pieces, limits.pieces)))
        if isinstance(form, NotEnclosed):
            self._failures.append(size)
            return None
        if len(self._forms) >= _REMEMBERED:
            self._forms.clear()
        self._forms[event] = form
        return form
