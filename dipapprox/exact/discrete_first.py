"""Integers and choices by closed forms or sums, everything else by an engine.

event -> a choice, or discrete Laplace samples only -> closed form -> balls, any width
      |                                                     | too long
      |                                                     v
      other integer samples only ------------------------> sums (`numerics.integers`), any width
      |
      otherwise -> the engine: none integrates sums
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.events.event import Chosen, Connected
from dipapprox.limits import Limits
from dipapprox.numerics.continuous import has_closed_form, is_discrete
from dipapprox.numerics.delegation import Delegating
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

if TYPE_CHECKING:
    from dipapprox.exact import method as exact
    from dipapprox.numerics.integers import sums
else:
    exact = Deferred("dipapprox.exact.method")
    sums = Deferred("dipapprox.numerics.integers.sums")


class DiscreteFirst(Delegating):
    """A method that answers choices and events of integers itself and leaves the rest to another.

    The laws of choices must be valid where the program runs (`validity.check_choices`).

    Args:
        method: For all other events.
    """

    def __init__(self, method: Method) -> None:
        super().__init__(method)
        self._used: dict[str, None] = {}  # an ordered set

    @cached_property
    def _exact(self) -> exact.Exact:
        return exact.Exact()

    @cached_property
    def _sums(self) -> sums.IntegerSums:
        return sums.IntegerSums()

    @property
    def name(self) -> str:
        """The words of what has answered; the other method's as long as nothing has."""
        other = [self._method.name] if self._asked or not self._used else []
        return " + ".join([*self._used, *other])

    def _own(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed | None:
        if not isinstance(event, Chosen) and not is_discrete(event):
            return None
        limits.check()
        if isinstance(event, Chosen) or has_closed_form(event):
            found = self._exact.enclose(event, bits, limits)
            if isinstance(event, Chosen) or isinstance(found, Enclosure):
                self._used[self._exact.name] = None
                return found
        self._used[self._sums.name] = None
        return self._sums.enclose(event, bits, limits)
