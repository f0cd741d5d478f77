"""Integers and choices exactly, everything else by an engine: no engine integrates sums.

event -> a choice, or discrete Laplace samples only -> closed form -> balls, any width
      |
      otherwise -> the engine
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.events.event import Chosen, Connected
from dipapprox.limits import Limits
from dipapprox.numerics.continuous import is_discrete
from dipapprox.numerics.delegation import Delegating
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed

if TYPE_CHECKING:
    from dipapprox.exact import method as exact
else:
    exact = Deferred("dipapprox.exact.method")


class DiscreteFirst(Delegating):
    """A method that answers choices and events of integers itself and leaves the rest to another.

    The laws of choices must be valid where the program runs (`validity.check_choices`).

    Args:
        method: For all other events.
    """

    @cached_property
    def _exact(self) -> exact.Exact:
        return exact.Exact()

    @property
    def name(self) -> str:
        """The words of what has answered; the other method's as long as nothing has."""
        if not self._answered:
            return self._method.name
        return f"{self._exact.name} + {self._method.name}" if self._asked else self._exact.name

    def _own(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed | None:
        if not isinstance(event, Chosen) and not is_discrete(event):
            return None
        limits.check()
        return self._exact.enclose(event, bits, limits)
