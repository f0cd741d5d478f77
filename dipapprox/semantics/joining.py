"""Join points: states that meet with equal outputs and live cells become as few as possible."""

from __future__ import annotations

from collections.abc import Callable

from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.semantics.configuration import State
from dipapprox.semantics.merging import Region, merge_regions
from dipapprox.semantics.order import Points


def join_states(
    states: list[State],
    key: Callable[[State], tuple[int, ...]],
    points: Points,
    limits: Limits,
) -> list[State]:
    """Merge states with equal outputs and keys as far as possible; the first stands for all."""
    groups: dict[tuple[int, tuple[int, ...]], list[list[State]]] = {}
    for state in states:
        alike = groups.setdefault((state.fingerprint, key(state)), [])
        for group in alike:
            if group[0].outputs == state.outputs:
                group.append(state)
                break
        else:
            alike.append([state])
    result: list[State] = []
    for alike in groups.values():
        for group in alike:
            result += _merged(group, points, limits) if len(group) > 1 else group
    return result


def _merged(group: list[State], points: Points, limits: Limits) -> list[State]:
    regions = []
    for place, state in enumerate(group):
        cone = state.settle(points)
        if cone is None:
            raise BrokenInvariant("an infeasible state was to be merged")
        regions.append(Region(state.knowledge, cone, place, state.share))
    result = []
    for region in merge_regions(regions, points, limits):
        state = group[region.member]
        state.share = region.share
        if region.merged:
            state.knowledge, state.cone, state.path = region.knowledge, region.cone, None
            for guard in region.cone.guards(points):
                state.add_guard(guard)
        result.append(state)
    return result
