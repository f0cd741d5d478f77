"""What vertices of a graph lead to, and what leads to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

V = TypeVar("V", bound=Hashable)


def reachable(starts: Iterable[V], following: Callable[[V], Iterable[V]]) -> set[V]:
    """Return the vertices, whatever they are, that some of them lead to; these are among them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(following(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def reaching(successors: Mapping[int, Iterable[int]], ends: Iterable[int]) -> set[int]:
    """Return the vertices from which one of some ends can be reached."""
    before: dict[int, list[int]] = {}
    for vertex, heads in successors.items():
        for head in heads:
            before.setdefault(head, []).append(vertex)
    return reachable(ends, lambda vertex: before.get(vertex, ()))
