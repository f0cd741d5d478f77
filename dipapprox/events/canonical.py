"""A normal form for events: the same for events that differ by names, a shift, a unit or a sign.

The probability of a connected event does not change when its samples are renumbered, all shifted
by one number, all divided by one positive number (integers excepted), or all negated. `canonical`
undoes these, so that equal events are computed once. The normal form is a complete event, not a
hash: two events with equal normal forms have equal probabilities whatever the labelling procedure
did; an imperfect labelling could only miss a repetition.

Trees of comparisons and bands (stars, chains: nearly all events) are labelled by sorting subtrees
(Aho, Hopcroft and Ullman), most others by refining colours, what this leaves open by BLISS.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox import graphs
from dipapprox.events.event import Connected, Event
from dipapprox.events.standardisation import LawKey, Standardisation, law_key, standardise
from dipapprox.events.stars import as_star, normal_star
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.polyhedra import difference

Key = tuple[object, ...]
"""Nested tuples of integers and strings of one shape: ordered, but in no meaningful order."""


def canonical(event: Event) -> Connected:
    """Return the normal form of a connected event with the same probability.

    Stars are spelled as `Star`. Of all others, the least mean is 0 and the greatest scale 1
    (integers keep their scales); of the event and its mirror image the one that sorts first is
    taken; samples and guards are in canonical order.
    """
    star = as_star(event)
    if star is not None:
        return normal_star(star)
    keys = [law_key(law) for law in event.samples]
    laws = frozenset(keys)
    upright, mirrored = standardise(laws, 1), standardise(laws, -1)
    lower, upper = _sides(event)
    # What can be said of an event without labels: laws and how often they are on which side.
    first = sorted(zip([upright.keys[key] for key in keys], lower, upper, strict=True))
    second = sorted(zip([mirrored.keys[key] for key in keys], upper, lower, strict=True))
    if first != second:  # the common case: one look at the samples tells which sorts first
        return _labelled(event, keys, upright if first < second else mirrored)
    images = _labelled(event, keys, upright), _labelled(event, keys, mirrored)
    return min(images, key=_description)


def _sides(event: Event) -> tuple[list[int], list[int]]:
    """Count for every sample in how many guards its coefficient is negative, and positive."""
    negative, positive = [0] * len(event.samples), [0] * len(event.samples)
    for guard in event.guards:
        for sample, coefficient in guard.terms:
            assert isinstance(sample, int)
            (positive if coefficient.numerator > 0 else negative)[sample] += 1
    return negative, positive


def _labelled(event: Event, keys: Sequence[LawKey], standardised: Standardisation) -> Event:
    """Substitute, renumber the samples and sort the guards canonically."""
    guards = [standardised.guard(guard) for guard in event.guards]
    colours = [standardised.keys[key] for key in keys]
    order = _tree_order(colours, guards) or _graph_order(colours, guards)
    label: dict[Symbol, int] = {sample: k for k, sample in enumerate(order)}
    renumbered = []
    for guard in guards:
        # Labels differ, so sorting never compares coefficients.
        terms = tuple(sorted([(label[s], c) for s, c in guard.terms]))
        renumbered.append(LinearForm(terms, guard.constant).normalised())
    renumbered.sort(key=_guard_key)
    return Event(tuple([standardised.laws[keys[s]] for s in order]), tuple(renumbered))


def _number(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


def _guard_key(guard: LinearForm) -> Key:
    return tuple([(s, *_number(c)) for s, c in guard.terms]), _number(guard.constant)


def _description(event: Event) -> Key:
    return tuple(map(law_key, event.samples)), tuple(map(_guard_key, event.guards))


# --- trees ----------------------------------------------------------------------------------------

Neighbours = list[list[tuple[int, Key]]]


def _tree_order(laws: Sequence[LawKey], guards: Sequence[LinearForm]) -> list[int] | None:
    """Order the samples of a tree of differences; None if the event is not such a tree.

    Guards that bound one sample by a constant are part of that sample's colour; those between the
    same two samples are one edge.
    """
    size = len(laws)
    neighbours: Neighbours = [[] for _ in range(size)]
    bounds: dict[int, list[Key]] = {}
    links: dict[tuple[int, int], list[Key]] = {}
    for guard in guards:
        found = difference(guard)
        if found is None:
            return None
        u, v, weight = found
        if u < 0 or v < 0:
            bounds.setdefault(max(u, v), []).append((u < 0, *_number(weight)))
            continue
        number = _number(weight)
        links.setdefault((u, v), []).append((0, *number))
        links.setdefault((v, u), []).append((1, *number))
    if len(links) != 2 * (size - 1):
        return None  # connected, hence not a tree
    for (u, v), edges in links.items():
        neighbours[u].append((v, tuple(sorted(edges))))
    colours: list[Key] = [
        (law, tuple(sorted(bounds.get(sample, ())))) for sample, law in enumerate(laws)
    ]
    rooted = [_rooted(colours, neighbours, root) for root in _centres(neighbours)]
    return min(rooted, key=lambda found: found[0])[1]


def _centres(neighbours: Neighbours) -> list[int]:
    """Return the one or two middle vertices of a tree, by taking leaves off in rounds."""
    degree = [len(each) for each in neighbours]
    remaining = len(degree)
    leaves = [v for v, d in enumerate(degree) if d <= 1]
    while remaining > 2:
        remaining -= len(leaves)
        inner = []
        for leaf in leaves:
            for neighbour, _ in neighbours[leaf]:
                degree[neighbour] -= 1
                if degree[neighbour] == 1:
                    inner.append(neighbour)
        leaves = inner
    return leaves


def _rooted(colours: Sequence[Key], neighbours: Neighbours, root: int) -> tuple[Key, list[int]]:
    """Return the key of a rooted tree and its vertices, subtrees sorted by key.

    Keys are flat, so that comparing them needs no deep recursion: a subtree's key is its size,
    its edge and colour, then the keys of its sorted subtrees one after the other.
    """
    parent: dict[int, tuple[int, Key]] = {root: (-1, ())}
    top_down = [root]
    for vertex in top_down:
        for neighbour, edge in neighbours[vertex]:
            if neighbour != parent[vertex][0]:
                parent[neighbour] = (vertex, edge)
                top_down.append(neighbour)
    below: dict[int, list[tuple[Key, list[int]]]] = {}
    for vertex in reversed(top_down):
        subtrees = sorted(below.pop(vertex, ()))
        above, edge = parent[vertex]
        size = 1 + sum(len(order) for _, order in subtrees)
        key: Key = (size, edge, colours[vertex], *(part for sub, _ in subtrees for part in sub))
        order = [vertex, *(v for _, found in subtrees for v in found)]
        if above < 0:
            return key, order
        below.setdefault(above, []).append((key, order))
    raise AssertionError("a tree has a root")


# --- everything else ------------------------------------------------------------------------------


def _graph_order(laws: Sequence[LawKey], guards: Sequence[LinearForm]) -> list[int]:
    """Order the samples by what distinguishes them, or else by a canonical labelling.

    The incidence graph's vertices: samples, coloured by law; guards, coloured by constant; one for
    each occurrence of a sample in a guard, coloured by its coefficient and joined to both.
    """
    terms: list[list[tuple[int, tuple[int, int]]]] = []
    constants: list[tuple[int, int]] = []
    for guard in guards:
        scale = max(abs(c) for _, c in guard.terms)
        terms.append([(int(s), _number(c / scale)) for s, c in guard.terms])
        constants.append(_number(guard.constant / scale))
    order = _refined_order(laws, terms, constants)
    if order is not None:
        return order
    colours: list[Key] = [(0, law) for law in laws]
    edges = []
    for occurrences, constant in zip(terms, constants, strict=True):
        vertex = len(colours)
        colours.append((1, constant))
        for sample, coefficient in occurrences:
            edges += [(sample, len(colours)), (len(colours), vertex)]
            colours.append((2, coefficient))
    ranks = {colour: rank for rank, colour in enumerate(sorted(set(colours)))}
    labels = graphs.canonical_labels(len(colours), edges, [ranks[c] for c in colours])
    return sorted(range(len(laws)), key=labels.__getitem__)


def _refined_order(
    laws: Sequence[LawKey],
    terms: Sequence[Sequence[tuple[int, tuple[int, int]]]],
    constants: Sequence[tuple[int, int]],
) -> list[int] | None:
    """Order the samples by refining colours: by those of the guards, these by those of samples.

    None if samples of one colour are left that are not alike in all guards: others can be swapped.
    """
    columns: list[list[tuple[int, tuple[int, int]]]] = [[] for _ in laws]
    for place, occurrences in enumerate(terms):
        for sample, coefficient in occurrences:
            columns[sample].append((place, coefficient))
    samples, rows = _ranked(laws), _ranked(constants)
    while True:
        count = max(samples), max(rows)
        rows = _ranked(
            [
                (rows[k], tuple(sorted([(c, samples[s]) for s, c in own])))
                for k, own in enumerate(terms)
            ]
        )
        samples = _ranked(
            [
                (samples[s], tuple(sorted([(c, rows[k]) for k, c in own])))
                for s, own in enumerate(columns)
            ]
        )
        if (max(samples), max(rows)) == count:
            break
    kinds = {(colour, tuple(column)) for colour, column in zip(samples, columns, strict=True)}
    if len(kinds) > max(samples) + 1:
        return None
    return sorted(range(len(laws)), key=samples.__getitem__)


def _ranked(colours: Sequence[Key]) -> list[int]:
    ranks = {colour: rank for rank, colour in enumerate(sorted(set(colours)))}
    return [ranks[colour] for colour in colours]
