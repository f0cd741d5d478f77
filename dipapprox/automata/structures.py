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
price is Σ d_j |s_j - Δ_j|, with Δ the change of the inputs (see `shifts.py`). *Repetition*: in a
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
`shifts.py`; that well-formed automata have a finite budget is proved in `weights.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dipapprox.automata.model import Automaton, OutputSample, is_real, members
from dipapprox.automata.runs import (
    Arc,
    Run,
    Segment,
    closing_walk,
    dependencies,
    is_walk,
    orders,
    run_of,
    walk_to,
)
from dipapprox.automata.unfolding import Unfolding
from dipapprox.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class LeakingCycle:
    """`variable` is assigned and compared in the cycle, which can be repeated for ever."""

    run: Run
    cycle: Segment
    variable: int
    code = "LC"


@dataclass(frozen=True, slots=True)
class DisclosingCycle:
    """`position`, in the cycle, shows a sample of a state that reads an input."""

    run: Run
    cycle: Segment
    position: int
    code = "DC"


@dataclass(frozen=True, slots=True)
class LeakingPair:
    """`path` leads through the dependency graph from the cycle `below` into the cycle `above`."""

    run: Run
    below: Segment
    above: Segment
    path: tuple[int, ...]
    code = "LP"


@dataclass(frozen=True, slots=True)
class ViolatingPath:
    """`path` joins a position that shows insample, the lower end if `shown_first`, and the
    cycle."""

    run: Run
    cycle: Segment
    path: tuple[int, ...]
    shown_first: bool
    code = "PV"


Structure = LeakingCycle | DisclosingCycle | LeakingPair | ViolatingPath


def leaking_cycles(whole: Unfolding) -> Iterator[LeakingCycle]:
    """Yield leaking cycles, if there are any: one for each pair of steps that makes one.

    In the augmented automaton every cycle can be repeated for ever, and a cycle that can becomes
    one of it after repetition. So there is one iff some strongly connected component has an edge
    that assigns a variable and an edge that compares it.
    """
    assigning: dict[tuple[int, int], list[int]] = {}  # (component, variable) to edges
    internal = [edge for edge in range(len(whole.edges)) if whole.is_internal(edge)]
    for edge in internal:
        component = whole.components[whole.edges[edge].source]
        for variable in members(whole.transition(edge).assigned):
            assigning.setdefault((component, variable), []).append(edge)
    for edge in internal:
        component = whole.components[whole.edges[edge].source]
        for variable in members(whole.transition(edge).used):
            for first in assigning.get((component, variable), ()):
                edges = [first] if first == edge else [first, edge]
                yield LeakingCycle(*_with_cycle(whole, edges), variable)


def disclosing_cycle(whole: Unfolding) -> DisclosingCycle | None:
    """Return a disclosing cycle, if there is one: an edge of a component that shows a sample of an
    input. Cycles of the augmented automaton can be repeated for ever.
    """
    automaton = whole.automaton
    for edge in range(len(whole.edges)):
        transition = whole.transition(edge)
        seen = is_real(transition.output) and automaton.reads(transition)
        if seen and whole.is_internal(edge):
            run, cycle = _with_cycle(whole, [edge])
            return DisclosingCycle(run, cycle, cycle.start)
    return None


def _with_cycle(whole: Unfolding, edges: list[int]) -> tuple[Run, Segment]:
    prefix = walk_to(whole, whole.edges[edges[0]].source)
    walk = prefix + closing_walk(whole, edges)
    return run_of(whole, walk), Segment(len(prefix), len(walk))


def holds(automaton: Automaton, structure: Structure) -> bool:
    """Whether a structure is one, by its definition, looked at without any graph of the automaton.

    A cycle that stores what it compares must moreover leave what is known of the order of the
    values as it was: then it can be repeated for ever.
    """
    run = structure.run
    states = orders(automaton, run)
    if not is_walk(automaton, run) or states is None:
        return False
    arcs = frozenset(dependencies(automaton, run))
    match structure:
        case LeakingCycle(cycle=cycle, variable=variable):
            assigned, used = _effects(automaton, run, cycle)
            repeats = cycle.end <= len(run) and states[cycle.start] == states[cycle.end]
            leaks = bool((assigned & used) >> variable & 1)
            return _is_cycle(automaton, run, cycle) and repeats and leaks
        case DisclosingCycle(cycle=cycle, position=position):
            shown = automaton.transitions[run[position]]
            seen = is_real(shown.output) and automaton.reads(shown)
            repeats = _is_quiet(automaton, run, cycle) or (
                _is_cycle(automaton, run, cycle) and states[cycle.start] == states[cycle.end]
            )
            return repeats and position in cycle and seen
        case LeakingPair(below=below, above=above, path=path):
            disjoint = below.end <= above.start or above.end <= below.start
            cycles = _is_quiet(automaton, run, below) and _is_quiet(automaton, run, above)
            ends = len(path) >= 3 and path[0] in below and path[-1] in above
            turns = path[1] < path[0] and path[-2] < path[-1]
            return disjoint and cycles and ends and turns and _is_path(arcs, path)
        case ViolatingPath(cycle=cycle, path=path, shown_first=shown_first):
            if len(path) < 2 or not _is_quiet(automaton, run, cycle) or not _is_path(arcs, path):
                return False
            shown = automaton.transitions[run[path[0] if shown_first else path[-1]]]
            if shown_first:
                turns = path[-1] in cycle and path[-2] < path[-1]
            else:
                turns = path[0] in cycle and path[1] < path[0]
            return shown.output is OutputSample.COMPARED and turns


def _is_path(arcs: frozenset[Arc], path: tuple[int, ...]) -> bool:
    return all(arc in arcs for arc in pairwise(path))


def _effects(automaton: Automaton, run: Run, cycle: Segment) -> tuple[int, int]:
    assigned = used = 0
    for index in run[cycle.start : cycle.end]:
        assigned |= automaton.transitions[index].assigned
        used |= automaton.transitions[index].used
    return assigned, used


def _is_cycle(automaton: Automaton, run: Run, cycle: Segment) -> bool:
    if not 0 <= cycle.start < cycle.end <= len(run):
        return False
    first, last = run[cycle.start], run[cycle.end - 1]
    return automaton.transitions[first].source == automaton.transitions[last].target


def _is_quiet(automaton: Automaton, run: Run, cycle: Segment) -> bool:
    """Whether a segment is a non-leaking cycle."""
    assigned, used = _effects(automaton, run, cycle)
    return _is_cycle(automaton, run, cycle) and not assigned & used
