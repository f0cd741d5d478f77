"""Exact simplification of events: what is implied goes, what is impossible shows, parts separate.

In: an `Event` with any linear guards. Out: `Impossible`, or independent connected factors whose
guards are irredundant and, where that costs nothing, plain comparisons (`rewriting`). The
probability of the event is the product of the probabilities of the factors, exactly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox import graphs
from dipapprox.cache import Cache
from dipapprox.events.event import Event, Impossible, Independent, Reduced
from dipapprox.events.rewriting import as_comparisons
from dipapprox.events.supports import is_possible
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.polyhedra import Difference, difference, has_interior, implies


def reduce(event: Event) -> Reduced:
    """Simplify an event without changing its probability.

    Returns:
        `Impossible` exactly if the event has probability 0; otherwise its independent factors in
        order of their least sample. A factor's samples are renumbered from 0. Only guards of
        integers that are no bounds of samples and differences may have probability 0 unnoticed.
    """
    parts = connected_parts(event)
    if parts is None or not all(is_possible(part) for _, part in parts):
        return Impossible()
    return Independent(tuple(as_comparisons(part) for _, part in parts))


def irredundant(guards: Iterable[LinearForm]) -> tuple[LinearForm, ...] | None:
    """Drop the guards that the others imply; None if they hold together with probability 0.

    A guard is form <= 0. The kept guards are `normalised()` and in their first order.
    """
    forms = tuple(guard.normalised() for guard in guards)
    if _is_forest_of_differences(forms):
        return forms
    tightest: dict[tuple[tuple[Symbol, Fraction], ...], Fraction] = {}
    for form in forms:
        known = tightest.get(form.terms)
        if known is None or known < form.constant:
            tightest[form.terms] = form.constant
    forms = tuple(LinearForm(terms, constant) for terms, constant in tightest.items())
    differences = [d for d in map(difference, forms) if d is not None]
    if len(differences) < len(forms):
        return _irredundant_linear(forms)
    if not has_interior(forms):
        return None
    dropped = _shortcuts(differences)
    return tuple(form for k, form in enumerate(forms) if k not in dropped)


def connected_parts(event: Event) -> tuple[tuple[tuple[int, ...], Event], ...] | None:
    """Split an event into irredundant connected events, with the samples as they were.

    Returns:
        For each part the samples it is about, ascending, and the event over them, renumbered from
        0 in this order; None if the event has probability 0. Samples that no guard needs are in
        no part.
    """
    guards = irredundant(event.guards)
    if guards is None:
        return None
    found = connected_samples(len(event.samples), guards)
    return tuple((samples, _restricted(event, samples, forms)) for samples, forms in found)


def connected_samples(
    size: int, guards: Sequence[LinearForm]
) -> list[tuple[tuple[int, ...], list[LinearForm]]]:
    """Group samples that guards connect: (ascending samples, their guards), at least one each."""
    edges = []
    for guard in guards:
        samples = guard.samples()
        edges += [(samples[0], other) for other in samples[1:]]
    if guards and len(edges) == len(guards) == size - 1 and _is_forest(edges):
        return [(tuple(range(size)), list(guards))]  # a tree: the common case, at once
    parts = graphs.components(size, edges)
    home = {sample: k for k, part in enumerate(parts) for sample in part}
    grouped: list[list[LinearForm]] = [[] for _ in parts]
    for guard in guards:
        grouped[home[guard.samples()[0]]].append(guard)
    return [(part, forms) for part, forms in zip(parts, grouped, strict=True) if forms]


def _restricted(event: Event, samples: Sequence[int], guards: Iterable[LinearForm]) -> Event:
    """Keep `samples`, renumbered in this order, and `guards`, which mention no others."""
    if len(samples) == len(event.samples):
        return Event(event.samples, tuple(guards))
    local: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(samples)}
    return Event(
        tuple(event.samples[sample] for sample in samples),
        tuple(guard.renamed(local.__getitem__) for guard in guards),
    )


def _is_forest_of_differences(forms: Sequence[LinearForm]) -> bool:
    """Whether all forms are differences without undirected cycle (0 being a vertex, too).

    Then no bound is implied by others and all can hold: there is nothing to do.
    """
    differences = [d for d in map(difference, forms) if d is not None]
    return len(differences) == len(forms) and _is_forest([(u, v) for u, v, _ in differences])


def _is_forest(edges: Iterable[tuple[int, int]]) -> bool:
    """Whether there is no undirected cycle."""
    above: dict[int, int] = {}

    def root(vertex: int) -> int:
        while (parent := above.get(vertex, vertex)) != vertex:
            above[vertex] = above.get(parent, parent)
            vertex = parent
        return vertex

    for u, v in edges:
        a, b = root(u), root(v)
        if a == b:
            return False
        above[a] = b
    return True


def _shortcuts(differences: Sequence[Difference]) -> set[int]:
    """Return the positions of the bounds that a chain of other bounds implies.

    x[v] < x[u] + w is implied if another path from u to v has weight <= w. As no cycle has weight
    <= 0 (checked before) and parallel bounds are gone, all of them can be dropped at once: two
    bounds cannot need each other.
    """
    outgoing: dict[int, list[tuple[int, Fraction]]] = {}
    incoming: dict[int, list[tuple[int, Fraction]]] = {}
    for u, v, weight in differences:
        outgoing.setdefault(u, []).append((v, weight))
        incoming.setdefault(v, []).append((u, weight))
    implied: set[int] = set()
    distances: dict[int, dict[int, Fraction]] = {}
    for position, (u, v, weight) in enumerate(differences):
        if len(outgoing[u]) == 1 or len(incoming[v]) == 1:
            continue  # every path from u to v uses this bound
        if u not in distances:
            distances[u] = _distances(outgoing, u)
        reached = distances[u]
        if any(k != u and k in reached and reached[k] + w <= weight for k, w in incoming[v]):
            implied.add(position)
    return implied


def _distances(outgoing: dict[int, list[tuple[int, Fraction]]], start: int) -> dict[int, Fraction]:
    """Return the weights of the lightest paths from `start`; all cycles are positive."""
    distance = {start: Fraction(0)}
    queue = deque([start])
    queued = {start}
    while queue:
        vertex = queue.popleft()
        queued.discard(vertex)
        for head, weight in outgoing.get(vertex, ()):
            length = distance[vertex] + weight
            if head not in distance or length < distance[head]:
                distance[head] = length
                if head not in queued:
                    queued.add(head)
                    queue.append(head)
    return distance


_systems: Cache[tuple[LinearForm, ...], tuple[LinearForm, ...]] = Cache(2_000)
"""Irredundant systems by system: inputs change laws, and guards rarely. Empty: impossible."""


def _irredundant_linear(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...] | None:
    """The general case: one linear program for each guard."""
    return _systems.find(forms, lambda: _without_implied(forms)) or None


def _without_implied(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...]:
    if not has_interior(forms):
        return ()
    kept = list(forms)
    for form in forms:
        others = [other for other in kept if other is not form]
        if implies(others, form):
            kept = others
    return tuple(kept)
