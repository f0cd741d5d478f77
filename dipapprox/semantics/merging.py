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

The last, `_unite_inputs`, is for equal guards: the sets of outcomes tell inputs apart from then on
(`state.Reading`), and are disjoint. K leaves out what is known of cells in which the K_i differ,
and is the same as before in all others. If such a cell is read again, sets are restricted to what
is learnt of it, and what no input takes is left out (`splitting`): all that is known of it stands
in the sets. So the region stays one that some input takes for all values that the sets have.

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
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from fractions import Fraction
from functools import partial

from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import bits
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, difference
from dipapprox.linear.zones import Zone, union
from dipapprox.semantics.evaluation import Knowledge
from dipapprox.semantics.order import GuardCone, Order, Points, complement, cone_of, extension_share
from dipapprox.semantics.run import (
    Execution,
    State,
    live_values,
    newest_reading,
    standing_for,
    told,
)
from dipapprox.semantics.state import Guard, InputCondition, guard_of

_FEW = 8  # states that stay apart where they differ in what is known of inputs read again
_MOST_PAIRED = 64  # larger groups of orders are merged as a whole or not at all
_Merge = Callable[[list[State]], list[State]]
"""From states in their order to those that are left of them, in the same order: the first of some
that are united is changed, and stands for all."""


def merge_states(run: Execution, states: list[State], live: int) -> list[State]:
    """Merge disjoint states that agree in outputs and `live` cells, as far as the rules go; the
    union stays the same."""
    for state in states:
        if state.settle(run.points) is None:
            raise BrokenInvariant("an infeasible state was to be merged")
    found = _merged(run, states)
    # At the end only what has been told so before: else nothing is gained.
    ends = live == run.live.at_end and not run.sets.has_readings
    if run.places and not run.spends and not ends and any(s.knowledge.allowed for s in found):
        held = {
            cell
            for _, value in live_values(run, states[0], live)
            if isinstance(value, LinearForm)
            for cell in value.inputs()
        }
        unread = run.places.keys() - _read_later(run, live) - held
        while len(found) > 1:
            united = _unite_inputs(run, unread, found)
            if len(united) == len(found) > _FEW:
                united = _unite_inputs(run, run.places.keys() - held, found)
            if len(united) == len(found):
                break
            found = _merged(run, united)
    for state in found:
        if state.path is None:
            state.take_guards(_cone(state), run.points)
    return found


def _merged(run: Execution, states: list[State]) -> list[State]:
    guards: tuple[_Merge, ...] = (
        partial(_merge_orders, run),
        partial(_drop_complements, run),
        partial(_merge_zones, run),
    )

    def alike(group: list[State]) -> list[State]:
        return _settled(group, *guards)

    def outcomes(group: list[State]) -> list[State]:
        if all(state.outcomes == group[0].outcomes for state in group):
            return group
        return _in_groups(group, _all_but_outcomes, lambda each: [_united_sets(run, each)])

    return _settled(states, lambda each: _in_groups(each, lambda s: s.outcomes, alike), outcomes)


def _settled(states: list[State], *steps: _Merge) -> list[State]:
    """Take steps until none of them leaves fewer states."""
    count = 0
    while 1 < len(states) != count:
        count = len(states)
        for step in steps:
            states = step(states)
    return states


def _in_groups(states: list[State], key: Callable[[State], Hashable], merge: _Merge) -> list[State]:
    """Merge those that have something in common."""
    groups: dict[Hashable, list[State]] = {}
    for state in states:
        groups.setdefault(key(state), []).append(state)
    left = {id(s) for group in groups.values() for s in (merge(group) if group[1:] else group)}
    return [state for state in states if id(state) in left]


def _united_all(
    run: Execution, unite: Callable[[list[State]], State | None], group: list[State]
) -> list[State]:
    """Unite states that have something in common: all together, else two by two."""
    whole = unite(group)
    if whole is not None:
        return [whole]
    if len(group) > _MOST_PAIRED:
        return group
    done: list[State] = []
    waiting = group[::-1]
    while waiting:
        state = waiting.pop()
        for place, other in enumerate(done):
            check_limits()
            both = unite(sorted((other, state), key=group.index))
            if both is not None:
                # The union may now fit to one that was passed before.
                del done[place]
                waiting.append(both)
                break
        else:
            done.append(state)
    return sorted(done, key=group.index)


def _united(group: Sequence[State], cone: GuardCone) -> State:
    """Let the first of some states stand for all, with the guards of a cone."""
    first = standing_for(group)
    first.cone, first.path, first.settled = cone, None, None
    return first


def _united_sets(run: Execution, group: Sequence[State]) -> State:
    outcomes = run.sets.union([state.outcomes for state in group])
    first = standing_for(group)
    first.outcomes = outcomes
    return first


def _cone(state: State) -> GuardCone:
    assert state.cone is not None
    return state.cone


def _others(state: State) -> frozenset[Guard]:
    return frozenset(_cone(state).others.values())


def _known(state: State) -> Hashable:
    return frozenset(state.knowledge.allowed.items()), state.knowledge.linear


def _all_but_outcomes(state: State) -> Hashable:
    order = _cone(state).order
    return _known(state), _others(state), order.key()


# --- inputs ---------------------------------------------------------------------------------------


def _read_later(run: Execution, live: int) -> set[str]:
    """Return the input cells that are read again."""
    read = set(run.live.among(live, run.places))
    if run.loop is not None:
        first, now = run.loop.first, run.loop.first + run.turn
        for array in run.loop.arrays:
            read.update(f"{array}[{k}]" for k in range(now + 1, first + run.loop.turns))
            if f"{array}[{first}]" in read:
                read.add(f"{array}[{now}]")
    return read


def _unite_inputs(run: Execution, free: Set[str], states: list[State]) -> list[State]:
    """Unite states that differ in outcomes, and in what is known of some inputs."""

    def key(state: State) -> Hashable:
        knowledge = state.knowledge
        linear = {cell for each in knowledge.linear if each.form for cell in each.form.inputs()}
        allowed = ((c, v) for c, v in knowledge.allowed.items() if c not in free or c in linear)
        order = _cone(state).order
        return frozenset(allowed), knowledge.linear, _others(state), order.key()

    def unite(group: list[State]) -> list[State]:
        known = [state.knowledge.allowed for state in group]
        cells = dict.fromkeys(cell for each in known for cell in each)
        columns = {cell: [each.get(cell) for each in known] for cell in cells}
        differing = {cell: column for cell, column in columns.items() if len(set(column)) > 1}
        newest = max(run.sets.largest(state.outcomes) for state in group)
        places = {run.places[cell]: cell for cell in differing}
        unread_yet = len(run.choices)
        for place in sorted(places, key=lambda each: (run.readings.get(each, unread_yet), each)):
            newest = newest_reading(run, place, newest)
            for state, values in zip(group, differing[places[place]], strict=True):
                if values is not None:
                    state.outcomes = told(run, state.outcomes, newest, place, values)
        first = _united_sets(run, group)
        allowed = {c: v for c, v in known[0].items() if c not in differing}
        first.knowledge = Knowledge(first.knowledge.domains, allowed, first.knowledge.linear)
        return [first]

    return _in_groups(states, key, unite)


# --- orders ------------------------------------------------------------------------------------


def _merge_orders(run: Execution, states: list[State]) -> list[State]:
    """Merge states that differ in their orders only."""

    def unite(group: list[State]) -> State | None:
        order = _union([_cone(state).order for state in group], run.points)
        return None if order is None else _united(group, GuardCone(order, _cone(group[0]).others))

    return _in_groups(states, lambda s: (_known(s), _others(s)), partial(_united_all, run, unite))


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
    shares = Counter[Fraction]()  # most are alike, and sums of fractions slow
    for order in orders:
        share = extension_share(order)
        if share is None:
            return None
        shares[share] += 1
    total = sum((count * share for share, count in shares.items()), Fraction(0))
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


# --- differences with offsets ---------------------------------------------------------------------


def _merge_zones(run: Execution, states: list[State]) -> list[State]:
    """Merge states whose guards are differences, some with offsets."""
    zones: dict[int, Zone | None] = {}

    def zone_of(state: State) -> Zone | None:
        found = [difference(guard_of(each).form) for each in _cone(state).guards(run.points)]
        known = [each for each in found if each is not None]
        return Zone.of(known) if len(known) == len(found) else None

    def unite(group: list[State]) -> State | None:
        own = [zone for state in group if (zone := zones[id(state)]) is not None]
        both = union(own) if len(own) == len(group) else None
        if both is None:
            return None
        zones[id(group[0])] = both
        return _united(group, cone_of([Guard(form, False) for form in both.forms()], run.points)[0])

    def merge(group: list[State]) -> list[State]:
        if len(group) > _MOST_PAIRED or not any(_cone(state).others for state in group):
            return group
        zones.update((id(state), zone_of(state)) for state in group)
        return _united_all(run, unite, group)

    return _in_groups(states, _known, merge)


# --- complements ----------------------------------------------------------------------------------

_Literal = Guard | InputCondition | str


def _drop_complements(run: Execution, states: list[State]) -> list[State]:
    """Join states that differ in one condition only, until no two are left that do."""
    done: dict[Hashable, State] = {}  # by everything but one condition, and that condition
    alive: dict[int, State] = {}
    waiting = states[::-1]
    while waiting:
        check_limits()
        state = waiting.pop()
        wanted = ((each, done.get(key)) for each, _, key in _conditions(state))
        found = next(((each, other) for each, other in wanted if other is not None), None)
        if found is not None:
            for _, key, _ in _conditions(found[1]):
                done.pop(key, None)
            del alive[id(found[1])]
            waiting.append(_joined(sorted((state, found[1]), key=states.index), state, *found))
            continue
        alive[id(state)] = state
        done.update((key, state) for _, key, _ in _conditions(state))
    return [state for state in states if id(state) in alive]


def _conditions(state: State) -> Iterator[tuple[_Literal, Hashable, Hashable]]:
    """Yield conditions (a cell for its values), each with a key of it and all others, and with the
    key of a state that differs in it."""
    linear, order, others = state.knowledge.linear, _cone(state).order.key(), _others(state)
    allowed = frozenset(state.knowledge.allowed.items())
    for guard in _cone(state).others.values():
        rest = order, others - {guard}, allowed, linear
        yield guard, (rest, guard), (rest, complement(guard))
    for each in sorted(linear, key=repr):  # in an order that is not of hashes
        assert each.form is not None
        opposite = InputCondition(form=-each.form, strict=not each.strict)
        inner = order, others, allowed, linear - {each}
        yield each, (inner, each), (inner, opposite)
    for cell, values in state.knowledge.allowed.items():
        key = (order, others, allowed - {(cell, values)}, linear), cell
        yield cell, key, key


def _joined(group: Sequence[State], state: State, literal: _Literal, partner: State) -> State:
    """Unite two states that differ in one condition of one of them."""
    knowledge, cone = state.knowledge, _cone(state)
    domains, allowed, linear = knowledge.domains, dict(knowledge.allowed), knowledge.linear
    if isinstance(literal, Guard):
        others = {t: g for t, g in cone.others.items() if g is not literal}
        return _united(group, GuardCone(cone.order, others))
    if isinstance(literal, str):
        values = allowed.pop(literal) | partner.knowledge.allowed[literal]
        if len(values) < len(domains[literal]):
            allowed[literal] = values
    else:
        linear = linear - {literal}
    first = standing_for(group)
    first.knowledge = Knowledge(domains, allowed, linear)
    return first
