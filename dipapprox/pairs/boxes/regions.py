"""Pairs together with outputs that are taken, or left: in such a region all signs are known.

delta_{u,u'} = max over sets S of outputs of f_S(u, u') = P_S(u) - E P_S(u'). So the largest delta
of all is the largest over S of the largest f_S, and for each S another part of the pairs counts. No
output, or all of them, gain nothing, as E >= 1.

**Lemma (sets of outputs).** Let P_o never fall as input i rises, for every o in S: then P_S does
not. Let P_o never rise for every o outside S: then P_S = 1 - Σ P_o does not fall, either. The same
the other way round. Let P_S never fall as u_i rises: then f_S never falls as u_i rises, or as u'_i
falls. So it is largest on edges and corners where neither is possible (`cells`). Where distances
have a budget, u'_i > u_i can be moved to u_i, which needs less of it: one side of u_i = u'_i is
enough.

Guards tell how the P_o move (`movement`): in the sparse vector technique, and for the largest of
noisy numbers, every S has all signs. Then u - u' is fixed, but at the ends of ranges, and half of
the unknowns are gone. Where a sign is not known, nothing is done to that input.

**Symmetric inputs.** If exchanging two real inputs, in u and u' alike, permutes the outputs
(`events.symmetry`), then it turns f_S into f_π(S); adjacencies do not tell inputs apart. So of the
sets of outputs that become each other one is enough.

**Translations.** If every guard stays what it is when all real inputs move by the same number, then
so does delta_{u,u'} when those of u and u' do, and u - u' stays. So every pair can be moved down,
without changing delta, until some u_i or u'_i is at its lower end: the sets where one is hold all
values of delta. Sets of adjacent pairs contain what they are moved to: they are bounded by the
ranges of inputs and by differences. Where differences are as free as the ranges, corners tell as
much, and that is not done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from dipapprox.data_classes import Record, replace
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.pairs.boxes.bounds import SetChoice, Taken
from dipapprox.pairs.boxes.cells import (
    PairSet,
    Polygon,
    X,
    Y,
    cut,
    extent,
    faces,
    real_places,
    rectangle,
    sides,
)
from dipapprox.pairs.boxes.models import OutputModels
from dipapprox.pairs.boxes.movement import DerivativeSigns
from dipapprox.semantics.state import FinalStates

TRANSLATIONS = "translations"
SYMMETRY = "symmetric inputs"
MONOTONE = "monotone guards"
OUTPUTS = "sets of outputs"
LIMITS = "limits at infinity"  # the words in reports
LEMMAS = frozenset({TRANSLATIONS, SYMMETRY, OUTPUTS})
"""Those that are used where they are asked for."""


class PairRegion(Record, eq=False):
    """Sets of pairs, and the outputs that are taken or left there in any case."""

    sets: tuple[PairSet, ...]
    choice: SetChoice


def regions_of(
    states: FinalStates, roots: Sequence[PairSet], models: OutputModels, lemmas: frozenset[str]
) -> tuple[list[PairRegion], list[str]]:
    """Leave out pairs that others stand for, and say by which lemmas; `roots` hold all pairs."""
    # Translations tell nothing where no inputs of u and u' are kept closer than their ranges.
    moves = models.still and TRANSLATIONS in lemmas
    moves = moves and any(
        root.is_bound or polygon != rectangle(*extent(polygon, X))
        for root in roots
        for polygon in root.polygons
    )
    used = [MONOTONE] * models.monotone + [TRANSLATIONS] * moves
    if OUTPUTS in lemmas:
        alike = _exchanges(states) if SYMMETRY in lemmas else []
        found = _divided(roots, models.signs, alike, moves)
        if found:  # else some pair is to be looked at
            return found, used + [SYMMETRY] * bool(alike) + [OUTPUTS]
    # Nothing is taken or left before its sign is known.
    none = np.zeros(models.outputs, dtype=np.bool_)
    return [PairRegion(tuple(lowest(roots) if moves else roots), SetChoice(none, none))], used


def lowest(roots: Sequence[PairSet]) -> list[PairSet]:
    """Return the parts of sets of pairs where some real input that moves is at its lower end."""
    found: dict[PairSet, None] = {}
    for root in roots:
        moving = [axis for axis, polygon in enumerate(root.polygons) if len(polygon) > 1]
        if not moving:
            found[root] = None
        for axis in moving:
            polygon = root.polygons[axis]
            for coordinate in (X, Y):
                face, *_ = cut(polygon, coordinate, extent(polygon, coordinate)[0])
                polygons = (*root.polygons[:axis], face, *root.polygons[axis + 1 :])
                found[replace(root, polygons=polygons)] = None
    return list(found)


def _exchanges(states: FinalStates) -> list[tuple[int, ...]]:
    """Return exchanges of two real inputs of which all others are made: what outputs become."""
    symmetry, places = CellSymmetry(states), real_places(states.program.inputs)
    found = []
    for number, place in enumerate(places):
        for other in places[:number]:
            swap = symmetry.swap(other, place)
            if swap is not None and all(swap.matched):
                found.append(swap.partners)
                break
    return found


_MOST_REGIONS = 1100  # sets of outputs times sets of pairs


def _divided(
    roots: Sequence[PairSet],
    signs: DerivativeSigns,
    exchanges: Sequence[Sequence[int]],
    moves: bool,
) -> list[PairRegion] | None:
    """Return regions, one for each set of outputs that may be best; None if they are too many, or
    nothing is known of some input.

    Args:
        roots: Sets that hold all pairs; what `exchanges` make of each is among them, too.
        exchanges: What each output becomes where two real inputs are exchanged.
        moves: Whether delta stays when all inputs of u and u' are moved, and that leaves out some
            pairs (see the module).
    """
    outputs = len(signs.rising)
    if outputs > 30 or len(roots) * 2**outputs > _MOST_REGIONS:
        return None
    if outputs > 2 * signs.rising.shape[1] + 2 and not exchanges:
        return None  # few inputs are cut sooner than many sets of outputs are gone through
    if not (signs.rising | signs.falling).any(axis=0).all():
        return None
    return [
        PairRegion(tuple(_shortened(roots, signs.of(taken), moves)), SetChoice(taken, ~taken))
        for taken in _sets_of_outputs(outputs, exchanges)
    ]


def _shortened(roots: Sequence[PairSet], signs: Sequence[int], moves: bool) -> list[PairSet]:
    """Return where f_S is largest."""
    sets = [part for root in roots for part in _on_faces(root, signs)]
    if not moves:
        return sets
    every = [polygon for each in sets for polygon in each.polygons]
    if all(len(own) == 2 and len({x - y for x, y in own}) == 1 for own in every):
        # A move leaves these sets, which are diagonal, only where an input is at its lower end.
        return lowest(sets)
    return [part for root in lowest(roots) for part in _on_faces(root, signs)]


def _on_faces(root: PairSet, signs: Sequence[int]) -> Iterator[PairSet]:
    """Yield the parts of a set where no move that makes f_S larger is possible."""
    signed = zip(root.polygons, signs, strict=True)
    options: Iterable[Sequence[Polygon]]
    if root.is_bound:
        options = ([sides(each)[sign > 0] if sign else each] for each, sign in signed)
    else:
        options = (faces(each, ((sign, 0), (0, -sign)) if sign else ()) for each, sign in signed)
    return (replace(root, polygons=polygons) for polygons in product(*options))


def _sets_of_outputs(outputs: int, exchanges: Sequence[Sequence[int]]) -> Iterator[Taken]:
    """Yield sets of outputs, neither empty nor of all, of which every one is an image of one."""
    seen: set[int] = set()
    for number in range(1, 2**outputs - 1):
        if number in seen:
            continue
        waiting = [number]
        for each in waiting:  # which grows
            for partners in exchanges:
                image = sum(1 << partners[o] for o in range(outputs) if each >> o & 1)
                if image not in seen:
                    seen.add(image)
                    waiting.append(image)
        yield np.array([bool(number >> o & 1) for o in range(outputs)])
