"""A bounded memory for what takes longer to find than to keep: key in, value out if it is known."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _one(value: object) -> int:
    return 1


class Cache(Generic[K, V]):
    """What was used last, by key; threads may share it: at worst they forget something early.

    There are two generations. When the young one has taken half of the room, it becomes the old
    one, and what nobody has asked for since the last time is forgotten.

    Args:
        capacity: About how much all values may cost together: a single value may cost more.
        cost: Of a value; each costs 1 if nothing else is said.
        least: So many of the last values stay, whatever they cost.
    """

    __slots__ = ("_capacity", "_cost", "_least", "_old", "_taken", "_young")

    def __init__(self, capacity: int, cost: Callable[[V], int] = _one, *, least: int = 1) -> None:
        self._capacity = capacity
        self._cost = cost
        self._least = least
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._taken = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if it is not known, or not any more."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> V:
        """Remember a value, which is not None, and return it."""
        young = self._young
        if key not in young:
            self._taken += self._cost(value)
        young[key] = value
        if 2 * self._taken > self._capacity and len(young) >= self._least:
            self._old, self._young, self._taken = young, {}, 0
        return value

    def find(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, made now if it is not known.

        Threads do not wait while one of them makes a value: two may make the same.
        """
        found = self.get(key)
        return self.put(key, make()) if found is None else found

    def clear(self) -> None:
        """Forget everything; not while another thread asks: what it asks for may come back."""
        self._old, self._young, self._taken = {}, {}, 0
