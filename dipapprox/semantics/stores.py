"""Values of cells that fork cheaply: copies share what was assigned before they parted.

The assignments are kept in layers, newest first, that no one changes once they are shared; a layer
is at least twice as large as the one above it. So a path that forks after each of n assignments
costs O(n log n) in time and memory, all its copies included, and a look-up O(log n).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Generic, TypeVar

V = TypeVar("V", bound=object)

_Layers = tuple[dict[str, V], ...]


_FEW = 4
"""So many cells are compared one by one."""


class Store(Generic[V]):
    """A mapping from names of cells to values; nothing is ever unassigned, and None is no value."""

    __slots__ = ("_count", "_layers", "_own")

    def __init__(self, values: dict[str, V] | None = None) -> None:
        self._own: dict[str, V] = {} if values is None else values
        self._layers: _Layers[V] = ()
        self._count = len(self._own)

    def __len__(self) -> int:
        return self._count

    def get(self, name: str) -> V | None:
        """Return the value of a cell; None if it has none."""
        found = self._own.get(name)
        if found is None:
            for layer in self._layers:
                found = layer.get(name)
                if found is not None:
                    return found
        return found

    def __setitem__(self, name: str, value: V) -> None:
        if self.get(name) is None:
            self._count += 1
        self._own[name] = value

    def fork(self) -> Store[V]:
        """Return a copy that may be changed independently."""
        if self._own:
            newest, layers = self._own, self._layers
            while layers and len(layers[0]) <= 2 * len(newest):
                newest, layers = {**layers[0], **newest}, layers[1:]
            self._own, self._layers = {}, (newest, *layers)
        copy: Store[V] = Store()
        copy._layers, copy._count = self._layers, self._count
        return copy

    def restricted(self, names: Container[str]) -> Store[V]:
        """Return a copy with some of the cells only."""
        return Store({name: value for name, value in self.items() if name in names})

    def items(self) -> Iterator[tuple[str, V]]:
        """Yield the cells that have a value, in no meaningful order."""
        seen = set[str]()
        for layer in (self._own, *self._layers):
            for name, value in layer.items():
                if name not in seen:
                    seen.add(name)
                    yield name, value

    def equals(self, other: Store[V], but: Container[str] = ()) -> bool:
        """Whether the same cells have equal values; only what is not shared is looked at.

        Args:
            other: To be compared with.
            but: Cells that may differ, or have no value in one of the two.
        """
        if self._layers is other._layers and not self._own and not other._own:
            return True
        if not but and self._count != other._count:
            return False
        if max(self._count, other._count) <= _FEW:
            names = {name for store in (self, other) for name, _ in store.items()}
        else:
            names = assigned_apart((self, other))
        return all(name in but or self.get(name) == other.get(name) for name in names)


def assigned_apart(stores: Sequence[Store[V]]) -> set[str]:
    """Return the names of all cells, at least, whose values may differ between copies."""
    layers = {id(layer): layer for store in stores for layer in store._layers}
    holders = Counter([id(layer) for store in stores for layer in store._layers])
    names = set[str]()
    for store in stores:
        names.update(store._own)
    for number, count in holders.items():
        if count < len(stores):
            names.update(layers[number])
    return names
