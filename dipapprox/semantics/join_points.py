"""States that meet at a join point in; out, merged where outputs and live cells are equal."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.semantics.configuration import State
from dipapprox.semantics.order import Points
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.stores import assigned_apart

if TYPE_CHECKING:
    from dipapprox.semantics import merging
else:
    merging = Deferred("dipapprox.semantics.merging")


def join_states(
    states: list[State],
    live: Container[str],
    points: Points,
    sets: OutcomeSets,
    limits: Limits,
    dead: Collection[str] = (),
) -> list[State]:
    """Merge states with equal outputs and `live` variables as far as possible.

    The first of those that become one stands for all.

    Args:
        states: They are used up.
        live: The variables that matter.
        points: The points of the run.
        sets: The sets of outcomes of the run.
        limits: Of time.
        dead: Outputs that do not matter, for they are about to be assigned.
    """
    if len(states) < 2:
        return states
    apart = assigned_apart([state.store for state in states])
    cells = [name for name in apart if name in live]
    groups: dict[tuple[int, ...], list[list[State]]] = {}
    for state in states:
        # By identity: equal values are one object.
        fingerprint = state.fingerprint_but(dead) if dead else state.fingerprint
        key = (fingerprint, *[id(state.store.get(name)) for name in cells])
        alike = groups.get(key)
        if alike is None:
            groups[key] = [[state]]
            continue
        for group in alike:
            if group[0].outputs.equals(state.outputs, dead):
                group.append(state)
                break
        else:
            alike.append([state])
    result: list[State] = []
    for alike in groups.values():
        for group in alike:
            result += _merged(group, points, sets, limits) if len(group) > 1 else group
    return result


def _merged(group: list[State], points: Points, sets: OutcomeSets, limits: Limits) -> list[State]:
    regions = []
    for place, state in enumerate(group):
        cone = state.settle(points)
        if cone is None:
            raise BrokenInvariant("an infeasible state was to be merged")
        regions.append(merging.Region(state.knowledge, cone, state.outcomes, place, state.share))
    result = []
    for region in merging.merge_regions(regions, points, sets, limits):
        state = group[region.member]
        state.share = region.share
        if region.merged:
            state.knowledge, state.outcomes = region.knowledge, region.outcomes
            if region.cone is not state.cone:
                state.cone, state.path = region.cone, None
                for guard in region.cone.guards(points):
                    state.add_guard(guard)
                state.settled = state.path
        result.append(state)
    return result
