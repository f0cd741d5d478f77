"""Comparisons of samples that matter no more become outcomes of choices: programs that count.

    c <- 0
    for i in 1..N do r <- Lap(q[i], 1 / eps); if r >= x then c <- c + 1 end end

has 2^N paths, and N + 1 of them are left if those with equal counts are one. Their guards differ,
and no rule of `merging` helps: their union is no set of guards. But a sample r[i] is *spent* when
no variable that still matters holds it: no guard to come is about it. If the path has one guard
only about it, with constants or one other sample x, then that guard is an outcome of its own: given
x, all such guards are independent, as random choices are. So paths with equal live variables, equal
knowledge of the inputs and equal other guards are one path, with the union of their sets of
outcomes (`outcomes`).

It is right for these reasons.

- A spent sample is in one comparison only, in the whole run: the same two sides
  (`Execution.spent`), and what spent samples are compared with is not spent (`Execution.unspent`).
  So given the samples that are not spent, the comparisons are independent, and a path is the
  conjunction of its other guards, which mention none of its spent samples, with its set.
- The sets are disjoint. A combination of outcomes has a positive probability wherever the other
  guards have: spent samples have all numbers, or all integers, as values. So it is of one path.
- A guard and its complement are the two outcomes, ties being null sets, or none between integers.

Nothing is done before a number of paths stay apart where they meet: guards are what more can be
said about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from dipapprox.errors import BrokenInvariant
from dipapprox.laws.family import BOTH_SIDES, Family
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.order import GuardCone
from dipapprox.semantics.run import Execution, State, live_values, standing_for
from dipapprox.semantics.state import Constraint, Guard, LoneGuard, guard_of, samples_of

_MANY = 40
"""So many states that meet and stay apart are too many; then all that meet are dealt with."""

_Outcomes = tuple[tuple[int, Guard], ...]  # spent samples, ascending, with the guards about them


def unite_spent(run: Execution, states: list[State], live: int) -> list[State]:
    """Unite states that differ in comparisons of spent samples only; they meet with equal outputs
    and live variables, and were not merged otherwise."""
    counts = run.counts and not run.sets.has_readings
    if not counts or len(states) < (2 if run.spends else _MANY):
        return states
    values = (value for _, value in live_values(run, states[0], live))
    held = {s for value in values if isinstance(value, LinearForm) for s in value.samples()}
    families = [sample.family for sample in run.samples.values()]
    groups: dict[Hashable, list[tuple[State, list[Constraint], _Outcomes]]] = {}
    for state in states:
        base, outcomes = _parted(state, run, held, families)
        knowledge = state.knowledge
        known = frozenset(knowledge.allowed.items()), knowledge.linear
        key = known, frozenset(map(guard_of, base))
        groups.setdefault(key, []).append((state, base, outcomes))
    result: list[State] = []
    for group in groups.values():
        sets = _sets(run, group) if len(group) > 1 else None
        if sets is None:
            result += [state for state, _, _ in group]
            continue
        run.spends = True
        first = standing_for([state for state, _, _ in group])
        first.outcomes, cone = run.sets.union(sets), GuardCone()
        for guard in group[0][1]:
            cone = cone.assume(guard, run.points)
        first.take_guards(cone, run.points)
        result.append(first)
    return result


def _parted(
    state: State, run: Execution, held: set[int], families: list[Family]
) -> tuple[list[Constraint], _Outcomes]:
    """Part the guards of a state from those about spent samples."""
    cone = state.settle(run.points)
    if cone is None:
        raise BrokenInvariant("an infeasible state was to be united with others")
    guards = list(cone.guards(run.points))
    uses = Counter(sample for guard in guards for sample in samples_of(guard))
    base: list[Constraint] = []
    outcomes: list[tuple[int, Guard]] = []
    for guard in guards:
        samples = samples_of(guard)
        spent = [s for s in samples if s not in held and s not in run.unspent and uses[s] == 1]
        if spent and len(samples) <= 2 and families[max(spent)].sides == BOTH_SIDES:
            outcomes.append((max(spent), guard_of(guard)))
        else:
            base.append(guard)
    return base, tuple(sorted(outcomes, key=lambda outcome: outcome[0]))


def _sets(
    run: Execution, group: Iterable[tuple[State, list[Constraint], _Outcomes]]
) -> list[int] | None:
    """Return the sets of outcomes of states; None if some comparison is not independent."""
    found = []
    for state, _, outcomes in group:
        own = state.outcomes
        for sample, guard in outcomes:
            number = _number(run, sample, guard)
            if number is None or number <= run.sets.largest(own):
                return None
            holds = run.comparisons[number].guard.form == guard.form
            own = run.sets.split(own, number, 2)[0 if holds else 1]
        found.append(own)
    return found


def _number(run: Execution, sample: int, guard: Guard) -> int | None:
    """Return the number of a comparison; None if its samples are in others that it is not."""
    others = set(guard.form.samples()) - {sample}
    number = run.spent.get(sample)
    if number is not None:
        form = run.comparisons[number].guard.form
        return number if guard.form in (form, -form) else None
    if sample in run.unspent or not others.isdisjoint(run.spent):
        return None
    if guard.form.coefficient(sample) < 0:
        guard = Guard(-guard.form, not guard.strict)  # all alike: the sample is the smaller side
    run.spent[sample] = len(run.comparisons)
    run.unspent |= others
    run.comparisons.append(LoneGuard(guard, sample))
    return run.spent[sample]
