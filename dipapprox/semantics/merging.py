"""Merging of disjoint sets of guards whose union is again one set of guards, up to null sets.

Four rules, applied until none helps:

    G ∪ {c}, G ∪ {not c}  ->  G          for conditions on inputs and guards that are no comparison
    S_1, …, S_n           ->  ⋂ S_i      for closed orders, if the shares of all total orders that
                                         the S_i have add up to the share of their intersection
    S, T                  ->  S ∪ T      for systems of differences with offsets, where that is one
    G × O_1, …, G × O_n   ->  G × ⋃ O_i  for sets O_i of outcomes of choices
    K_1 × O_1, …, K_n × O_n  ->  K × ⋃ (K_i ∩ O_i)  for conditions K_i on inputs, K the hull

The third is `zones.union`. The first three are for equal sets of outcomes: then what two
regions have not in common is told by their guards. The fourth is for equal guards and conditions:
then the O_i are disjoint.

The last, `unite_inputs`, is for equal guards and for inputs that are not read any more: the sets
of outcomes tell them apart from then on (`state.Reading`), and are disjoint. K leaves out what is
known of cells in which the K_i differ, and is the same as before in all others; as nothing is asked
of the former later, the region stays one that some input takes for all values of the latter.

The second is exact. Let F be the fixed points that occur, with the relation K "known below", and
call every placement of samples and fixed points on a line that obeys K possible; whether or not
some input places the fixed points so.

- The S_i are disjoint as sets of possible placements, up to ties. Two states were told apart by a
  guard and its complement, so their closed orders have a pair and its reverse, at the latest after
  closing under K; an order that contradicts itself was dropped.
- K is transitive: f K g says f <= g at all inputs, by ranges or by equal terms, and <= is. So K is
  the restriction to F of the same relation on any larger set of fixed points. Every total order of
  the points in play that obeys K extends to all points that were ever in play, as every linear
  extension of a part of a partial order does: the S_i stay disjoint when only the points of F and
  their samples are looked at.
- Up to ties, every total order that obeys K is one cell. Each S_i and their intersection C are sets
  of cells, S_i inside C; so the S_i fill C exactly if the numbers of cells add up.
- At an input where fixed points coincide, f = g with f K g, nothing changes: no guard between a
  sample and f or g changes outside a null set when the fixed points are moved apart a little along
  some total order that obeys K.
- What is kept of C are its guards, the covers with a sample in them. `_without_idle_points` sees to
  it that together with K they generate C again: guards and cone are the same set.

Outcomes may be those of comparisons of spent samples (`spent_samples`). Then the rules hold as they
are: guards G of a state mention no sample of its own outcomes O, now or later, and these samples
have full support, whatever the others are. If G_A ∩ O and G_B ∩ O are disjoint up to null sets, so
are G_A and G_B: at nearly all points in both, O has a positive probability given the point. And
⋃ (G_i ∩ O) = (⋃ G_i) ∩ O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import xor
from typing import TypeVar

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.linear.form import difference
from dipapprox.linear.zones import Zone, union
from dipapprox.semantics.configuration import GuardCone, cone_of
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.order import Order, Points, bits, complement, extension_share, nested_hooks
from dipapprox.semantics.outcomes import OutcomeSets
from dipapprox.semantics.state import Guard, InputCondition, guard_of

_MOST_PAIRED = 64  # larger groups of orders are merged as a whole or not at all
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A set of inputs, samples and outcomes of choices."""

    knowledge: Knowledge
    cone: GuardCone
    outcomes: int
    member: int  # the place of the first state it came from
    share: int  # the shares of all states it came from, see `State`
    merged: bool = False


def merge_regions(
    regions: Sequence[Region], points: Points, sets: OutcomeSets, limits: Limits
) -> list[Region]:
    """Merge pairwise disjoint regions as far as the rules go; the union stays the same."""
    current = list(regions)
    while len(current) > 1:
        count = len(current)
        current = _in_groups(
            current,
            lambda region: region.outcomes,
            lambda group: _merge_alike(group, points, limits),
        )
        if any(region.outcomes != current[0].outcomes for region in current):
            current = _in_groups(current, _all_but_outcomes, lambda group: [_united(group, sets)])
        if len(current) == count:
            break
    return sorted(current, key=lambda region: region.member)


def unite_inputs(
    regions: Sequence[Region],
    unread: Collection[str],
    told: Callable[[Mapping[str, Sequence[frozenset[Value] | None]], Sequence[int]], list[int]],
    sets: OutcomeSets,
) -> list[Region]:
    """Join regions that differ in outcomes, and in what is known of inputs not read any more.

    Args:
        regions: Pairwise disjoint.
        unread: The input cells that are not read any more.
        told: From the values that some cells may have in regions, and the regions' sets of
            outcomes, to the sets of outcomes for inputs with such values.
        sets: Those of the run.
    """

    def key(region: Region) -> Hashable:
        knowledge, cone = region.knowledge, region.cone
        linear = {cell for each in knowledge.linear if each.form for cell in each.form.inputs()}
        allowed = ((c, v) for c, v in knowledge.allowed.items() if c not in unread or c in linear)
        others = frozenset(cone.others.values())
        return frozenset(allowed), knowledge.linear, others, cone.order.key()

    return _in_groups(regions, key, lambda group: [_united_inputs(group, told, sets)])


def _united_inputs(
    group: Sequence[Region],
    told: Callable[[Mapping[str, Sequence[frozenset[Value] | None]], Sequence[int]], list[int]],
    sets: OutcomeSets,
) -> Region:
    known = [region.knowledge.allowed for region in group]
    cells = dict.fromkeys(cell for each in known for cell in each)
    columns = {cell: [each.get(cell) for each in known] for cell in cells}
    differing = {cell: column for cell, column in columns.items() if len(set(column)) > 1}
    own = told(differing, [region.outcomes for region in group])
    first = min(group, key=lambda region: region.member)
    kept = {c: v for c, v in first.knowledge.allowed.items() if c not in differing}
    knowledge = Knowledge(first.knowledge.domains, kept, first.knowledge.linear)
    outcomes = sets.union(own)
    return replace(first, knowledge=knowledge, outcomes=outcomes, share=_share(group), merged=True)


def _in_groups(
    regions: Iterable[Region],
    key: Callable[[Region], Hashable],
    merge: Callable[[list[Region]], list[Region]],
) -> list[Region]:
    """Merge those that have something in common."""
    groups: dict[Hashable, list[Region]] = {}
    for region in regions:
        groups.setdefault(key(region), []).append(region)
    return [
        merged
        for group in groups.values()
        for merged in (merge(group) if len(group) > 1 else group)
    ]


def _united_all(
    group: list[R], unite: Callable[[Sequence[R]], R | None], limits: Limits
) -> list[R]:
    """Unite regions that have something in common: all together, else two by two."""
    whole = unite(group)
    if whole is not None:
        return [whole]
    if len(group) > _MOST_PAIRED:
        return group
    done: list[R] = []
    waiting = group[::-1]
    while waiting:
        region = waiting.pop()
        for place, other in enumerate(done):
            limits.check()
            both = unite((other, region))
            if both is not None:
                # The union may now fit to one that was passed before.
                del done[place]
                waiting.append(both)
                break
        else:
            done.append(region)
    return done


def _merge_alike(regions: list[Region], points: Points, limits: Limits) -> list[Region]:
    """Merge regions with equal sets of outcomes."""
    while len(regions) > 1:
        count = len(regions)
        regions = _drop_complements(_merge_orders(regions, points, limits), limits)
        regions = _merge_zones(regions, points, limits)
        if len(regions) == count:
            break
    return regions


# --- orders ------------------------------------------------------------------------------------


def _merge_orders(regions: list[Region], points: Points, limits: Limits) -> list[Region]:
    """Merge regions that differ in their orders only."""

    def key(region: Region) -> Hashable:
        return _knowledge_key(region.knowledge), frozenset(region.cone.others.values())

    def unite(group: Sequence[Region]) -> Region | None:
        order = _union([region.cone.order for region in group], points)
        if order is None:
            return None
        cone = GuardCone(order, group[0].cone.others)
        return replace(group[0], cone=cone, share=_share(group), merged=True)

    return _in_groups(regions, key, lambda group: _united_all(group, unite, limits))


def _union(orders: Sequence[Order], points: Points) -> Order | None:
    """Return the order whose cone is the union of disjoint cones, up to a null set, or None."""
    fixed = 0
    for order in orders:
        fixed |= order.fixed
    if fixed:
        # Shares compare only among orders of the same fixed points: disjointness may rest on what
        # is known about these, as for r < 0 and r > 1.
        orders = [order.with_fixed(fixed, points) for order in orders]
    common = orders[0]
    for order in orders[1:]:
        common = common.common(order)
    result = _without_idle_points(common, points) if fixed else common
    whole = extension_share(common) if result is not None else None
    if whole is None:
        return None
    total = Fraction(0)
    hooks = Counter(map(nested_hooks, orders))  # most shares are alike, and sums of fractions slow
    for order in orders if hooks.pop(None, 0) else ():
        if nested_hooks(order) is None:
            share = extension_share(order)
            if share is None:
                return None
            total += share
    total += sum((Fraction(count, each) for each, count in hooks.items() if each), Fraction(0))
    return result if total == whole else None


def _without_idle_points(order: Order, points: Points) -> Order | None:
    """Build an order anew from its comparisons with samples; None if they do not generate it."""
    rebuilt = Order()
    for large, mask in order.covers().items():
        for small in bits(mask):
            if not points.fixed >> small & points.fixed >> large & 1:
                verdict = rebuilt.decides((small, large), points)
                if verdict is False:
                    raise BrokenInvariant("covers of an order contradict each other")
                if verdict is None:
                    rebuilt = rebuilt.assume((small, large), points)
    return rebuilt if rebuilt.with_fixed(order.fixed, points) == order else None


def _share(regions: Iterable[Region]) -> int:
    return reduce(xor, (region.share for region in regions))


# --- differences with offsets ---------------------------------------------------------------------


def _merge_zones(regions: list[Region], points: Points, limits: Limits) -> list[Region]:
    """Merge regions whose guards are differences, some with offsets."""

    def unite(group: Sequence[tuple[Region, Zone | None]]) -> tuple[Region, Zone | None] | None:
        zones = [zone for _, zone in group if zone is not None]
        both = union(zones) if len(zones) == len(group) else None
        if both is None:
            return None
        return _with_zone([region for region, _ in group], both, points), both

    def merge(group: list[Region]) -> list[Region]:
        if len(group) > _MOST_PAIRED or not any(region.cone.others for region in group):
            return group
        zones = [(region, _zone(region, points)) for region in group]
        return [region for region, _ in _united_all(zones, unite, limits)]

    return _in_groups(regions, lambda region: _knowledge_key(region.knowledge), merge)


def _zone(region: Region, points: Points) -> Zone | None:
    """What the guards say, if they are differences."""
    differences = []
    for each in region.cone.guards(points):
        guard = guard_of(each)
        found = difference(guard.form)
        if found is None:
            return None
        differences.append(found)
    return Zone.of(differences)


def _with_zone(regions: Sequence[Region], zone: Zone, points: Points) -> Region:
    cone, _ = cone_of([Guard(form, False) for form in zone.forms()], points)
    member = min(region.member for region in regions)
    share = _share(regions)
    return replace(regions[0], cone=cone, member=member, share=share, merged=True)


# --- complements -------------------------------------------------------------------------------


def _drop_complements(regions: list[Region], limits: Limits) -> list[Region]:
    """Join regions that differ in one condition only, until no two are left that do."""
    done: dict[Hashable, Region] = {}  # by everything but one condition, and that condition
    alive: dict[int, Region] = {}
    keys: dict[int, list[Hashable]] = {}
    waiting = list(regions[::-1])
    while waiting:
        limits.check()
        region = waiting.pop()
        joined = None
        for wanted, joined_region in _partners(region, done):
            joined = joined_region
            partner = done[wanted]
            for key in keys.pop(id(partner)):
                done.pop(key, None)
            del alive[id(partner)]
            break
        if joined is not None:
            waiting.append(joined)
            continue
        alive[id(region)] = region
        keys[id(region)] = [key for key, _ in _own_keys(region)]
        done.update(dict.fromkeys(keys[id(region)], region))
    return list(alive.values())


_Literal = Guard | InputCondition | str


def _own_keys(region: Region) -> Iterable[tuple[Hashable, _Literal]]:
    """Yield what a region says besides one literal, with that literal (a cell for its values)."""
    knowledge, order = region.knowledge, region.cone.order.key()
    others = frozenset(region.cone.others.values())
    allowed = frozenset(knowledge.allowed.items())
    for guard in others:
        yield (order, others - {guard}, allowed, knowledge.linear, guard), guard
    for condition in knowledge.linear:
        yield (order, others, allowed, knowledge.linear - {condition}, condition), condition
    for cell, values in knowledge.allowed.items():
        yield (order, others, allowed - {(cell, values)}, knowledge.linear, cell), cell


def _partners(region: Region, done: dict[Hashable, Region]) -> Iterable[tuple[Hashable, Region]]:
    for key, literal in _own_keys(region):
        assert isinstance(key, tuple)
        if isinstance(literal, str):
            wanted: Hashable = key
        elif isinstance(literal, Guard):
            wanted = (*key[:-1], complement(literal))
        else:
            assert literal.form is not None
            negated = InputCondition(form=-literal.form, strict=not literal.strict)
            wanted = (*key[:-1], negated)
        partner = done.get(wanted)
        if partner is not None:
            yield wanted, _joined(region, partner, literal)


def _joined(region: Region, partner: Region, literal: _Literal) -> Region:
    knowledge, cone = region.knowledge, region.cone
    if isinstance(literal, Guard):
        others = {t: g for t, g in cone.others.items() if g is not literal}
        cone = GuardCone(cone.order, others)
    elif isinstance(literal, str):
        allowed = dict(knowledge.allowed)
        values = allowed.pop(literal) | partner.knowledge.allowed[literal]
        if len(values) < len(knowledge.domains[literal]):
            allowed[literal] = values
        knowledge = Knowledge(knowledge.domains, allowed, knowledge.linear)
    else:
        knowledge = Knowledge(knowledge.domains, knowledge.allowed, knowledge.linear - {literal})
    member = min(region.member, partner.member)
    share = region.share ^ partner.share
    return Region(knowledge, cone, region.outcomes, member, share, True)


# --- outcomes ----------------------------------------------------------------------------------


def _all_but_outcomes(region: Region) -> Hashable:
    cone = region.cone
    others = frozenset(cone.others.values()) if cone.others else None
    order = cone.order.key() if cone.order.below else None
    return _knowledge_key(region.knowledge), others, order


def _united(group: Sequence[Region], sets: OutcomeSets) -> Region:
    first = min(group, key=lambda region: region.member)
    outcomes = sets.union(region.outcomes for region in group)
    return replace(first, outcomes=outcomes, share=_share(group), merged=True)


def _knowledge_key(knowledge: Knowledge) -> Hashable:
    return frozenset(knowledge.allowed.items()), knowledge.linear
