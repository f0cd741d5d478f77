"""The four bad structures; an automaton without them is *well-formed* (paper, Definitions 7 to 11).

A *cycle* is a part C of a run that ends in the control state where it begins. It is non-leaking if
no variable is both assigned and compared in it.

- leaking cycle: C assigns and compares a variable, and can be repeated for ever;
- disclosing cycle: a cycle that can be repeated for ever and shows a sample of a state that reads
  an input;
- leaking pair: two disjoint non-leaking cycles, and samples of the first lie below samples of the
  second: a path k₁ … k_m of the dependency graph from the first into the second cycle, with
  k₂ < k₁ and k_{m-1} < k_m;
- privacy violating path: a sample that is shown bounds samples of a non-leaking cycle, from below
  (a path from the shown position into the cycle with k_{m-1} < k_m) or from above (a path from the
  cycle with k₂ < k₁ to the shown position).

Why each of them leaves no finite budget. Shift the samples of the second run by s against those of
the first: s must not fall along edges i → j (s_i >= s_j) and be 0 where the sample is shown; the
price is Σ d_j |s_j - Δ_j|, with Δ the change of the inputs (see `runs.py`). *Repetition*: in a
non-leaking cycle C of a feasible run the variables that C compares are assigned before C. Repeat C
L times: folding the copies maps edges to edges, so the run stays feasible; mapping positions of C
to their last copy keeps every edge; and an edge that a guard of C creates is there for every copy.

- Disclosing: every copy has s = 0; with Δ = 1 it costs the rate of the sample that is shown (the
  fresh one costs its own rate, by its interval).
- Violating path from below: every copy of k_m has s <= 0, because the shown sample has s = 0; it
  reads an input, because it has a guard; with Δ = 1 it costs at least d(k_m). From above: mirror.
- Pair: every copy of k₁ is below every copy of k_m; take Δ = -1 on the former, +1 on the latter,
  and the largest s on copies of k_m. If it is at most 0, each of those costs at least d(k_m); if it
  is positive, each copy of k₁ has a larger s and costs at least d(k₁).
- Leaking cycle: with i the last assignment of x before its use at j, one copy further if need be,
  the copies of (i, j) give L - 1 edges. For `insample >= x` they are s_i >= s_j; with Δ_j = 1 and
  Δ_i = -1 (or 0 if i reads no input) each pair costs at least min(d_i, d_j); if i = j it is a
  chain, and alternating signs cost 2·d_i for every second edge. For `insample < x`: mirror.

So budgets grow linearly with L. That a run's budget is approached by real inputs is Theorem B in
`runs.py`; that well-formed automata have a finite budget is proved in `weights.py`.

Runs that go round the cycles of a bad structure more and more often, and what they cost.

The changes of the inputs are those of the proofs in `structures.py`; each further round adds at
least `gain_of_round` to the least budget of the run.

Where inputs change in one direction only, or a step that compares reads none, the ends of the
interval of its changes take the place of 1 and -1. The proofs hold if something is left of them: of
a leaking pair whose upper samples change by a and whose lower ones by b < a, each copy above costs
d(k_m)·(a - c) and each below d(k₁)·(c - b), c the largest shift above, together at least a - b
times the lesser rate; so do the pairs of a leaking cycle. Of a violating path 1 has to be allowed,
or -1. Else the structure costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from dipapprox.automata.model import Automaton, OutputSample, is_real
from dipapprox.automata.runs import (
    Changes,
    Run,
    RunCost,
    closing_walk,
    dependencies,
    orders,
    run_cost,
    run_of,
    walk_to,
)
from dipapprox.automata.unfolding import Unfolding
from dipapprox.data_classes import Record
from dipapprox.graphs import bits
from dipapprox.limits import check_limits


class BadStructure(Record):
    """A bad structure of a run: samples that lie between others, in cycles that are repeated.

    A leaking pair has two cycles, a violating path has one and a position that shows `insample`. A
    disclosing cycle is the cycle `above` and the position in it that shows a sample of an input, a
    leaking cycle the cycle `above` alone, which assigns and compares a variable.
    """

    run: Run
    # Through the dependency graph, from `below` into `above`.
    path: tuple[int, ...]
    below: range | None  # the cycle in which the path begins; None: it does at what is shown
    above: range | None  # the cycle in which it ends
    variable: int | None = None  # of a leaking cycle

    @property
    def code(self) -> str:
        """What kind it is: "LC", "DC", "LP" or "PV"."""
        if self.variable is not None:
            return "LC"
        if len(self.path) == 1:
            return "DC"
        return "PV" if self.below is None or self.above is None else "LP"

    @property
    def cycles(self) -> tuple[range, ...]:
        """The cycles, in order of their places."""
        found = [each for each in (self.below, self.above) if each is not None]
        return tuple(sorted(found, key=lambda each: each.start))


def leaking_cycles(whole: Unfolding) -> Iterator[BadStructure]:
    """Yield leaking cycles, if there are any: one for each pair of steps that makes one.

    In the augmented automaton every cycle can be repeated for ever, and a cycle that can becomes
    one of it after repetition. So there is one iff some strongly connected component has an edge
    that assigns a variable and an edge that compares it.
    """
    assigning: dict[tuple[int, int], list[int]] = {}  # (component, variable) to edges
    internal = [edge for edge in range(len(whole.edges)) if whole.is_internal(edge)]
    for edge in internal:
        component = whole.components[whole.edges[edge].source]
        for variable in bits(whole.transition(edge).assigned):
            assigning.setdefault((component, variable), []).append(edge)
    for edge in internal:
        component = whole.components[whole.edges[edge].source]
        for variable in bits(whole.transition(edge).used):
            for first in assigning.get((component, variable), ()):
                edges = [first] if first == edge else [first, edge]
                run, cycle = _with_cycle(whole, edges)
                yield BadStructure(run, (), None, cycle, variable)


def disclosing_cycle(whole: Unfolding) -> BadStructure | None:
    """Return a disclosing cycle, if there is one: an edge of a component that shows a sample of an
    input. Cycles of the augmented automaton can be repeated for ever.
    """
    automaton = whole.automaton
    for edge in range(len(whole.edges)):
        transition = whole.transition(edge)
        seen = is_real(transition.output) and automaton.reads(transition)
        if seen and whole.is_internal(edge):
            run, cycle = _with_cycle(whole, [edge])
            return BadStructure(run, (cycle.start,), None, cycle)
    return None


def _with_cycle(whole: Unfolding, edges: list[int]) -> tuple[Run, range]:
    prefix = walk_to(whole, whole.edges[edges[0]].source)
    walk = prefix + closing_walk(whole, edges)
    return run_of(whole, walk), range(len(prefix), len(walk))


def holds(automaton: Automaton, structure: BadStructure) -> bool:
    """Whether a structure is one, by its definition, looked at without any graph of the automaton.

    A cycle that stores what it compares must moreover leave what is known of the order of the
    values as it was: then it can be repeated for ever.
    """
    run = structure.run
    steps = [automaton.transitions[index] for index in run]
    reached = 0, *(step.target for step in steps)
    states = orders(automaton, run)
    if states is None or any(s.source != here for s, here in zip(steps, reached, strict=False)):
        return False
    cycles, path = structure.cycles, structure.path
    for each in cycles:
        if not 0 <= each.start < each.stop <= len(run):
            return False
        if steps[each.start].source != steps[each.stop - 1].target:
            return False
    if structure.code in ("LC", "DC"):
        (cycle,) = cycles
        assigned, used = _effects(automaton, run, cycle)
        repeats = states[cycle.start] == states[cycle.stop]
        if structure.variable is not None:
            return repeats and bool((assigned & used) >> structure.variable & 1)
        shown = automaton.transitions[run[path[0]]]
        seen = is_real(shown.output) and automaton.reads(shown)
        return seen and path[0] in cycle and (repeats or not assigned & used)
    shows = [automaton.transitions[t].output is OutputSample.COMPARED for t in run]
    below, above = structure.below, structure.above
    return (
        len(path) > len(cycles) > 0
        and all(one.stop <= other.start for one, other in pairwise(cycles))
        and not any(
            used & assigned for used, assigned in (_effects(automaton, run, c) for c in cycles)
        )
        and {*pairwise(path)} <= {*dependencies(automaton, run)}
        and (shows[path[0]] if below is None else path[0] in below and path[1] < path[0])
        and (shows[path[-1]] if above is None else path[-1] in above and path[-2] < path[-1])
    )


def _effects(automaton: Automaton, run: Run, cycle: range) -> tuple[int, int]:
    assigned = used = 0
    for index in run[cycle.start : cycle.stop]:
        assigned |= automaton.transitions[index].assigned
        used |= automaton.transitions[index].used
    return assigned, used


def repeated(automaton: Automaton, structure: BadStructure, rounds: int) -> tuple[Run, Changes]:
    """Return the run that goes round every cycle `rounds` >= 1 times, and the changes of its
    inputs."""
    copies: list[tuple[int, int]] = []  # place in the structure's run, number of the copy
    position = 0
    for cycle in (*structure.cycles, range(len(structure.run), len(structure.run))):
        copies += [(place, 0) for place in range(position, cycle.start)]
        for number in range(rounds):
            copies += [(place, number) for place in cycle]
        position = cycle.stop
    run = [structure.run[place] for place, _ in copies]
    if structure.variable is not None:
        return tuple(run), _along_chain(automaton, tuple(run), structure, rounds)
    ends = [automaton.ends(automaton.transitions[index]) for index in structure.run]
    signs: dict[int, int] = {}
    if structure.below is not None:
        signs[structure.path[0]] = ends[structure.path[0]][0]
    if structure.above is not None:
        least, most = ends[structure.path[-1]]
        signs[structure.path[-1]] = most or (least if structure.code == "DC" else 0)
    return tuple(run), tuple(signs.get(place, 0) for place, _ in copies)


def _along_chain(automaton: Automaton, run: Run, structure: BadStructure, rounds: int) -> Changes:
    """Return changes for the pairs (last assignment, use) of the variable in the copies: uses of
    one sign, all copies of one transition of the cycle; a chain alternates."""
    cycle, bit, offset, _ = _use(automaton, structure)
    start, length = cycle.start, cycle.stop - cycle.start
    changes = [0] * len(run)
    paired = set[int]()
    last = -1
    for place, index in enumerate(run[: start + rounds * length]):
        transition = automaton.transitions[index]
        if place >= start and (place - start) % length == offset and last >= start:
            above = int(bool(transition.above & bit))
            if last not in paired:
                changes[place] = automaton.ends(transition)[above]
                changes[last] = automaton.ends(automaton.transitions[run[last]])[1 - above]
                paired |= {last, place}
        if transition.assigned & bit:
            last = place
    return tuple(changes)


def _use(automaton: Automaton, structure: BadStructure) -> tuple[range, int, int, Fraction]:
    """Return the cycle, the mask of the variable, the place in the cycle, from its start, that
    compares it, and what that gains: the first one that gains something, if there is one."""
    (cycle,), bit = structure.cycles, 1 << (structure.variable or 0)
    inside = [automaton.transitions[t] for t in structure.run[cycle.start : cycle.stop]]
    lesser = min(automaton.rate(t) for t in inside if (t.used | t.assigned) & bit)
    uses = list[tuple[int, Fraction]]()
    for place, use in enumerate(inside):
        if not use.used & bit:
            continue
        since = enumerate((*inside[place:], *inside[:place]))
        after, stored = [(k, t) for k, t in since if t.assigned & bit][-1]
        low, high = (stored, use) if use.above & bit else (use, stored)
        apart = automaton.ends(high)[1] - automaton.ends(low)[0]
        # In a chain every second link is paid for.
        gain = lesser * min(Fraction(1), apart if after else Fraction(apart, 2))
        if gain:
            return cycle, bit, place, gain
        uses.append((place, gain))
    return cycle, bit, *uses[0]


def cost_of_rounds(automaton: Automaton, structure: BadStructure, rounds: int) -> RunCost:
    """Return the run that `repeated` gives, with what it costs."""
    return run_cost(automaton, *repeated(automaton, structure, rounds))


def gain_of_round(automaton: Automaton, structure: BadStructure) -> Fraction:
    """Return what each further round adds at least, in the long run.

    Positive, or 0 where inputs do not change in a way that costs something.
    """
    if structure.variable is not None:
        return _use(automaton, structure)[-1]
    low, high = (automaton.transitions[structure.run[structure.path[k]]] for k in (0, -1))
    if structure.code == "DC":
        shown = high.output is OutputSample.FRESH
        return automaton.fresh_cost(high) if shown else automaton.rate(high)
    # What is shown is not shifted, as if any shift were too dear.
    both = (low, structure.below), (high, structure.above)
    rate = min(automaton.rate(each) for each, cycle in both if cycle is not None)
    least = 0 if structure.below is None else automaton.ends(low)[0]
    most = 0 if structure.above is None else automaton.ends(high)[1]
    return rate * min(1, most - least)


MOST_ROUNDS = 4096


def rounds_beyond(automaton: Automaton, structure: BadStructure, budget: Fraction) -> int | None:
    """Return the fewest rounds that cost more than a budget; None if `MOST_ROUNDS` do not.

    Found by doubling and halving: more rounds never cost less, because the longer run has the
    shorter one's positions among its own.
    """

    def cost(times: int) -> Fraction:
        check_limits()
        return cost_of_rounds(automaton, structure, times).value

    most = 1
    while cost(most) <= budget:
        if most >= MOST_ROUNDS:
            return None
        most *= 2
    # Half of them cost too little.
    return bisect_right(range(most), budget, most // 2 + 1, most, key=cost)
