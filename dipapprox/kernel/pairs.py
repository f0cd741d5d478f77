"""Pairs of inputs: which are adjacent, each ordered pair once."""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.kernel.adjacency import Input, Number, Range, Value, change_of
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.machine import Machine

MOST_NEAR = 5_000_000
"""Most pairs of values of one cell that may change into each other."""


def adjacent_pairs(machine: Machine) -> Iterator[tuple[Input, Input]]:
    """Yield every ordered pair of different adjacent inputs once.

    Every pair that is yielded is adjacent by `Adjacency.holds`; none is left out, as every cell of
    the second input runs through all values whose own change the norm admits.
    """
    adjacency = machine.adjacency
    if adjacency.norm == "pairs":
        yield from ((u, v) for u, v in sorted(adjacency.pairs, key=repr) if u != v)
        return
    domains = _listed(machine)
    near = [_near(machine, domain) for domain in domains]
    for first in all_inputs(machine):
        for second in _neighbours(machine, near, first):
            if adjacency.holds(first, second):
                yield first, second


def all_inputs(machine: Machine) -> Iterator[Input]:
    """Yield every input once."""
    pending: list[Input] = [()]
    domains = _listed(machine)
    while pending:
        start = pending.pop()
        if len(start) == len(domains):
            yield start
        else:
            pending += [(*start, value) for value in reversed(domains[len(start)])]


def _listed(machine: Machine) -> list[tuple[Value, ...]]:
    found = [domain for _, domain in machine.inputs if not isinstance(domain, Range)]
    if len(found) < len(machine.inputs):
        raise Refused("inputs are real numbers: nobody goes through them one by one")
    return found


def _near(machine: Machine, domain: tuple[Value, ...]) -> dict[Value, list[tuple[Value, Number]]]:
    """The values that a value may change to, with what the change costs of the radius.

    l1: its size. l0: 1 for any change. Other norms: nothing, if each change is small enough.
    """
    norm, radius = machine.adjacency.norm, machine.adjacency.radius
    found: dict[Value, list[tuple[Value, Number]]] = {}
    entries = 0
    for before in domain:
        near: list[tuple[Value, Number]] = []
        spend(2 * len(domain))
        for after in domain:
            if norm == "all":
                near.append((after, 0))
                continue
            if norm == "l0":
                near.append((after, int(before != after)))
                continue
            change = change_of(before, after)
            size = max(change, -change)
            if size > radius:
                continue
            if (norm == "increasing" and change < 0) or (norm == "decreasing" and change > 0):
                continue
            near.append((after, size if norm == "l1" else 0))
        entries += len(near)
        if entries > MOST_NEAR:
            raise Refused(f"more than {MOST_NEAR} values that are near each other")
        found[before] = near
    return found


def _neighbours(
    machine: Machine, near: list[dict[Value, list[tuple[Value, Number]]]], first: Input
) -> Iterator[Input]:
    """The inputs whose changes, cell by cell, stay within the radius."""
    radius = machine.adjacency.radius
    pending: list[tuple[Input, Number]] = [((), 0)]
    while pending:
        start, spent = pending.pop()
        if len(start) == len(first):
            yield start
            continue
        for value, cost in near[len(start)][first[len(start)]]:
            if spent + cost <= radius or not cost:
                pending.append(((*start, value), spent + cost))
