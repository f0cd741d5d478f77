"""Pairs of inputs: which are adjacent, each ordered pair once."""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.kernel.adjacency import Adjacency, Input, Number, Range, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.machine import Machine

MOST_NEAR = 5_000_000
"""Most pairs of values of one cell that may change into each other."""


def adjacent_pairs(machine: Machine) -> Iterator[tuple[Input, Input]]:
    """Yield every ordered pair of different adjacent inputs once.

    None is left out: every cell of the second input runs through all values with a price, as long
    as the prices so far are allowed; they are >= 0.
    """
    adjacency = machine.adjacency
    if adjacency.norm == "pairs":
        yield from ((u, v) for u, v in sorted(adjacency.pairs, key=repr) if u != v)
        return
    near = [_near(adjacency, domain) for domain in _listed(machine)]
    for first in all_inputs(machine):
        pending: list[tuple[Input, Number]] = [((), 0)]
        while pending:
            start, spent = pending.pop()
            if len(start) < len(first):
                for value, price in near[len(start)][first[len(start)]]:
                    if adjacency.allows(spent + price):
                        pending.append(((*start, value), spent + price))
            elif start != first:
                yield first, start


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


def _near(
    adjacency: Adjacency, domain: tuple[Value, ...]
) -> dict[Value, list[tuple[Value, Number]]]:
    """The values that each value may change to, with the price of the change."""
    found: dict[Value, list[tuple[Value, Number]]] = {}
    entries = 0
    for before in domain:
        spend(2 * len(domain))
        prices = [(after, adjacency.price(before, after)) for after in domain]
        found[before] = [
            (after, price)
            for after, price in prices
            if price is not None and adjacency.allows(price)
        ]
        entries += len(found[before])
        if entries > MOST_NEAR:
            raise Refused(f"more than {MOST_NEAR} values that are near each other")
    return found
