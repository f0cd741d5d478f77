"""Runs: walks from the initial state, their dependency graphs, and closed parts of them.

A run is a tuple of indices of transitions. Its dependency graph (paper, Definition 8) has the
positions as vertices and an edge i → j where a guard says that the sample of i is below the sample
of j: for `insample < x` at position p from p to the last position before p that assigned x, for
`insample >= x` from there to p. The run is feasible iff the graph has no cycle.

The least budget of one run: the cheapest admissible shift of its samples, exactly.

Let ρ be a feasible run; I the positions that read an input, E those that show `insample`, E' those
that read an input and show `insample'`; d_j, d'_j the rates. Inputs are adjacent if they differ by
at most 1 at every position; Δ, in [-1, 1] on I and 0 elsewhere, is the second minus the first.

    K      shifts s with s_i >= s_j for every edge i → j of the dependency graph, s_j = 0 on E
    W(Δ)   min over s in K of Σ d_j |s_j - Δ_j|,  plus Σ over E' of d'_j |Δ_j|
    D*(ρ)  max of W over Δ; D* = sup of D*(ρ) over all feasible runs

W is convex (a minimum over part of the variables of a jointly convex function), so the maximum is
at Δ = ±1 on I.

**Theorem A** (budget). For every ε > 0 and every output word the probability of ρ grows at most
by the factor e^{W(Δ)·ε} from the first input to the second; so the automaton is (D*·ε, 0)-private.
*Proof.* The probability is an integral over P, the vectors of samples that respect the edges and
lie in the shown intervals, of the product of densities f_j(z_j - mean_j); the factors of the
intervals of insample' stay outside and change by at most e^{d'_j ε |Δ_j|}, and only on E'. Take s
in K. If z is in P, so is z - s: along i → j the difference z_j - z_i grows by s_i - s_j >= 0, and
on E nothing moves. By the triangle inequality f_j(z_j - mean_j - Δ_j) is at most
e^{d_j ε |Δ_j - s_j|} f_j(z_j - s_j - mean_j). Multiply, integrate, substitute z - s. For the
automaton add over the runs that fit the word and the positions that read: the same for both
inputs. ∎

**Theorem B** (nothing less, at any ε). For every single ε > 0, D*(ρ)·ε is the supremum of the
log-ratio of the probabilities of ρ over adjacent inputs and words.
*Proof.* Show the values of E in (0, η) and, on E', the half lines beyond the second mean in the
direction of Δ: these give exactly e^{d'_j ε}. Let φ(m) be minus the logarithm of the integral over
P with means m on I. P is convex, the integrand log-concave in (z, m), so φ is convex (Prékopa).
Substituting z = t·y, φ(t·w)/t → ε·V(w) with V(w) = min of Σ d_j |z_j - w_j| over the closed cone
{z_i <= z_j along edges, z = 0 on E} (Laplace's principle; the cone has inner points because the
graph has no cycle, fixed means and η vanish in the limit). That cone is -K, so V(w) = W(-w)
without its E' part, and V is a maximum of finitely many linear functions. Let Δ attain D*(ρ),
let λ be a vertex of the dual polytope with <λ, Δ> = V(-Δ), and w a point where V has the single
gradient -λ. Gradients of the convex functions φ(t·)/t converge to ε·∇V near w (Rockafellar,
Theorem 25.7), so φ(t·w) - φ(t·w + Δ) → ε·<λ, Δ> as t → ∞: the log-ratio of the inputs with means
t·w and t·w + Δ. With Theorem A this is the supremum. ∎

If an output word fits only one run, its probability is that of the run. So where outputs determine
the run, D*·ε is the least budget at every ε; elsewhere W(Δ) of a run that its word determines is
still a lower bound.

**Two cuts.** For Δ in {-1, 0, 1} write |s - Δ| as the integral over levels θ in (-1, 1) of
|1[s > θ] - 1[Δ > θ]|: below 0 and above 0 only the sets {s > θ} matter, so W >= W_u + W_v with

    W_u  least cost of u in {0, 1}, u_i >= u_j along edges, u = 1 on E; j pays d_j if u_j is not 1
         (Δ_j >= 0) or not 0 (Δ_j = -1)
    W_v  the same with v = 0 on E, and v_j preferred 1 where Δ_j = 1, else 0,

and equality, because (max(u, v), min(u, v)) costs no more than (u, v), and then s = u + v - 1 is
in K. Each is a least cut, and its greatest flow proves the lower bound: with λ_j what comes in less
what goes out of j along the edges, 0 <= λ_j <= d_j where 1 is preferred and -d_j <= λ_j <= 0 where
0 is, Σ λ_j u_j <= 0 for admissible u, so u costs at least what the positions that prefer 0 absorb;
for v, at least what those that prefer 1 produce (those in E do as they like).

**Words.** Where what is seen determines the run, its probability is that of its word.

All prefixes of runs count, so two runs with the same inputs' places and the same outputs exist iff
at some reachable node two feasible steps look alike: at the first place where the runs differ.
Which of the two samples a real output is cannot be seen.

An automaton shows a letter at each step; a program that is one may show several things at once, or
nothing. So other runs that have shown the same are followed one by one: where they are, and what
they, or the run itself, have shown more. A run that no other one follows, and a few steps more may
tell it from others, has the probability of seeing something that begins as it does.

Whether what a program publishes tells the steps that it took. Bounds that are proved by a run that
its *word* determines, or by all runs with a word, hold for the program if one of these is true:

- *apart*: of two ways on from a state neither publishes what the other begins with. Then a run is
  the only one with what it publishes;
- *aligned*: all ways on from states that runs with the same word may be in publish equally many
  things. Then runs that publish the same have the same word. That the program ends need not count
  as one if it is never all that a step publishes: a run that goes on where another has ended after
  the same things would have to publish something more.

Orders of stored values are not looked at: what is true of all runs is true of the feasible ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import lcm

from dipapprox.automata.model import Automaton, OutputSample, Transition, is_real
from dipapprox.automata.unfolding import Unfolding, ValueOrder, followed, unordered
from dipapprox.data_classes import Record
from dipapprox.flows import Flow, maximum_flow
from dipapprox.graphs import bits, shortest_way
from dipapprox.language.traversal import reachable

Run = tuple[int, ...]
Arc = tuple[int, int]  # two positions: the sample of the first is below the sample of the second


def dependencies(automaton: Automaton, run: Run) -> tuple[Arc, ...]:
    """Return the edges of the dependency graph, in order of the positions that create them."""
    last: dict[int, int] = {}
    arcs = []
    for position, index in enumerate(run):
        transition = automaton.transitions[index]
        arcs += [(last[x], position) for x in bits(transition.above) if x in last]
        arcs += [(position, last[x]) for x in bits(transition.below) if x in last]
        last.update((x, position) for x in bits(transition.assigned))
    return tuple(dict.fromkeys(arcs))


def orders(automaton: Automaton, run: Run) -> tuple[ValueOrder, ...] | None:
    """Return what is known of the order of the values before, between and after the steps; None if
    the run is not feasible."""
    order: ValueOrder | None = unordered(len(automaton.variables))
    found = [unordered(len(automaton.variables))]
    for index in run:
        transition = automaton.transitions[index]
        order = found[-1].after(transition.above, transition.below, transition.assigned)
        if order is None:
            return None
        found.append(order)
    return tuple(found)


def shortest_walk(
    graph: Unfolding, start: int, is_goal: Callable[[int], bool], component: int | None = None
) -> tuple[int, ...] | None:
    """Return the edges of a shortest walk from a node to a goal, in a component if one is given;
    None if there is none."""

    def leaving(node: int) -> Iterator[tuple[int, int]]:
        for edge in graph.leaving[node]:
            target = graph.edges[edge].target
            if component in (None, graph.components[target]):
                yield edge, target

    found = shortest_way([start], leaving, is_goal)
    return None if found is None else tuple(found[1])


def closing_walk(graph: Unfolding, edges: Sequence[int]) -> tuple[int, ...]:
    """Return a closed walk through some edges of one component, which begins with the first."""
    component = graph.components[graph.edges[edges[0]].source]
    walk: list[int] = []
    following = (*edges[1:], edges[0])
    for edge, after in zip(edges, following, strict=True):
        goal = graph.edges[after].source
        rest = shortest_walk(graph, graph.edges[edge].target, goal.__eq__, component)
        if rest is None:
            raise ValueError("the edges do not lie in one component")
        walk += [edge, *rest]
    return tuple(walk)


def walk_to(graph: Unfolding, node: int) -> tuple[int, ...]:
    walk = shortest_walk(graph, 0, lambda reached: reached == node)
    if walk is None:
        raise ValueError("every node is reachable")
    return walk


def run_of(graph: Unfolding, walk: Sequence[int]) -> Run:
    return tuple(graph.edges[edge].transition for edge in walk)


Changes = tuple[int, ...]
"""Second input minus first at every position: 1, 0 or -1 where a run reads an input, else 0."""


class RunCost(Record):
    """W(Δ) of a run, and a shift of that cost; a lower bound at every ε if its word is its own."""

    run: Run
    changes: Changes  # δ
    value: Fraction  # the cost in units of ε
    shift: tuple[int, ...]  # an optimal s, in {-1, 0, 1} at every position


def run_cost(automaton: Automaton, run: Run, changes: Changes) -> RunCost:
    """Return the least cost of a shift for a feasible run and one change of its inputs."""
    transitions = [automaton.transitions[index] for index in run]
    rates = [automaton.rate(t) for t in transitions]
    shown = [t.output is OutputSample.COMPARED for t in transitions]
    scale = lcm(*(rate.denominator for rate in rates))
    whole = [int(rate * scale) for rate in rates]
    arcs = dependencies(automaton, run)
    likes_one = [change >= 0 for change in changes]
    lower = least_cut(arcs, whole, likes_one, shown, forced=True)
    likes_one = [change > 0 for change in changes]
    upper = least_cut(arcs, whole, likes_one, shown, forced=False)
    fixed = Fraction(0)
    for transition, rate, change, seen in zip(transitions, rates, changes, shown, strict=True):
        fixed += automaton.fresh_cost(transition) * abs(change)
        fixed += rate * abs(change) if seen else 0
    shift = tuple(
        0 if seen else lower.reached[k] + upper.reached[k] - 1 for k, seen in enumerate(shown)
    )
    return RunCost(run, changes, Fraction(lower.value + upper.value, scale) + fixed, shift)


def least_cut(
    arcs: Sequence[Arc],
    rates: Sequence[int],
    likes_one: Sequence[bool],
    shown: Sequence[bool],
    *,
    forced: bool,
) -> Flow:
    """Cut the positions into 1 (the source's side) and 0; the shown ones are on the forced side.

    No arc leads from 0 to 1; a position on the side that it does not like pays its rate.
    """
    size = len(rates)
    source, sink = size, size + 1
    # An edge i → j forbids u_j = 1 with u_i = 0: an unbounded arc from j to i.
    network: list[tuple[int, int, int | None]] = [(head, tail, None) for tail, head in arcs]
    for j, (rate, one, seen) in enumerate(zip(rates, likes_one, shown, strict=True)):
        if seen:
            network.append((source, j, None) if forced else (j, sink, None))
        else:
            network.append((source, j, rate) if one else (j, sink, rate))
    return maximum_flow(size + 2, network, source, sink)


Looks = Sequence[tuple[Hashable, ...]]  # what each transition shows, in its order
_Other = tuple[int, tuple[Hashable, ...]]
"""Where another run may be that has shown the same, and what it has shown more."""


def outputs_distinguish(automaton: Automaton) -> bool:
    """Whether two transitions of a state never look alike (the paper's output distinction): then an
    output word fits one run."""
    steps = automaton.transitions
    return _are_apart(map(steps.__getitem__, row) for row in automaton.leaving())


def outputs_determine_runs(graph: Unfolding) -> bool:
    """Whether every word fits at most one feasible run; the graph may be a quotient."""
    return _are_apart(map(graph.transition, row) for row in graph.leaving)


def _are_apart(rows: Iterable[Iterable[Transition]]) -> bool:
    looks = ([*map(_look, row)] for row in rows)
    return all(len({*row}) == len(row) for row in looks)


def _look(transition: Transition) -> tuple[str, ...]:
    return () if is_real(transition.output) else (str(transition.output),)


def looks_of(automaton: Automaton) -> Looks:
    """Return what the transitions of an automaton show: a letter each."""
    return [((automaton.reads(each), _look(each)),) for each in automaton.transitions]


def is_determined(whole: Unfolding, looks: Looks, run: Run, repeated: Sequence[range] = ()) -> bool:
    """Whether no other feasible run shows the same, however often some segments are repeated.

    Args:
        run: A feasible run.
        repeated: Disjoint segments of it, ascending. If one of them does not lead back to its
            node of the augmented automaton, the answer is no.

    Returns:
        Whether other runs that show the same may be nowhere after all of it: exactly so without
        repetition; with it, for any numbers of copies at once.
    """
    walk = followed(whole, run, lambda edge: whole.edges[edge].transition)
    others: frozenset[_Other] = frozenset()
    position = 0
    for segment in repeated:
        start = 0 if not segment.start else whole.edges[walk[segment.start - 1]].target
        if start != whole.edges[walk[segment.stop - 1]].target:
            return False
        others = _along(whole, looks, walk[position : segment.start], others)
        inside = walk[segment.start : segment.stop]
        while not (after := _along(whole, looks, inside, others)) <= others:
            others |= after
        position = segment.stop
    return not _along(whole, looks, walk[position:], others)


_MOST_SETS = 500
_Place = tuple[int, frozenset[_Other]]


def determined_extension(whole: Unfolding, looks: Looks, run: Run) -> Run | None:
    """Return a run that begins with `run` and is determined; None if none is near.

    A longer run never costs less, so its bound is at least as good.
    """
    walk = followed(whole, run, lambda edge: whole.edges[edge].transition)
    node = whole.edges[walk[-1]].target if walk else 0
    looked_at = iter(range(_MOST_SETS))

    def leaving(place: _Place) -> Iterator[tuple[int, _Place]]:
        node, others = place
        for edge in whole.leaving[node] if next(looked_at, None) is not None else ():
            yield edge, (whole.edges[edge].target, _along(whole, looks, (edge,), others))

    start = node, _along(whole, looks, walk, frozenset())
    found = shortest_way([start], leaving, lambda place: not place[1])
    return None if found is None else (*run, *run_of(whole, found[1]))


def _along(
    whole: Unfolding, looks: Looks, walk: Sequence[int], others: frozenset[_Other]
) -> frozenset[_Other]:
    """Return where runs that show what a walk, of edges, shows, but are another, may be at its end;
    `others` are where they may be at its beginning."""
    for taken in walk:
        node, own = whole.edges[taken].source, looks[whole.edges[taken].transition]
        apart = (edge for edge in whole.leaving[node] if edge != taken)
        aside = ((whole.edges[k].target, looks[whole.edges[k].transition]) for k in apart)
        others = _caught_up(whole, looks, own, (*others, *aside))
    return others


def _caught_up(
    whole: Unfolding, looks: Looks, own: tuple[Hashable, ...], others: Iterable[_Other]
) -> frozenset[_Other]:
    """Return where other runs may be when they have shown what one step shows, `own`, too."""
    found = set[_Other]()
    waiting = [(node, shown, own) for node, shown in others]
    known = set(waiting)
    for node, shown, wanted in waiting:  # which grows
        common = min(len(shown), len(wanted))
        if shown[:common] != wanted[:common]:
            continue
        if common == len(wanted):
            found.add((node, shown[common:]))
            continue
        for edge in (whole.edges[k] for k in whole.leaving[node]):
            step = edge.target, looks[edge.transition], wanted[common:]
            if step not in known:
                known.add(step)
                waiting.append(step)
    return frozenset(found)


# --- programs ------------------------------------------------------------------------------------

Seen = tuple[str | None, ...]
"""What one step publishes, in its order; None for a number that noise may be."""

END = "exit"  # what is published, last, when the program ends; no name of a program is a keyword


def with_numbers(seen: Sequence[Seen]) -> list[Seen]:
    """Return what steps publish where noise may be any integer: numbers may be noise, too."""
    if not any(None in each for each in seen):
        return list(seen)
    return [tuple([None if _is_whole(name) else name for name in each]) for each in seen]


def _is_whole(name: str | None) -> bool:
    return name is not None and name.lstrip("-").isdigit()


def tells_steps(automaton: Automaton, seen: Sequence[Seen]) -> bool:
    """Whether words and what transitions publish determine each other, in one of the two ways."""
    apart = all(
        seen[one][: len(seen[other])] != seen[other][: len(seen[one])]
        for leaving in automaton.leaving()
        for one, other in combinations(leaving, 2)
    )
    return apart or _are_aligned(automaton, seen)


def _are_aligned(automaton: Automaton, seen: Sequence[Seen]) -> bool:
    leaving = automaton.leaving()
    counts = int((END,) in seen)
    lengths = []
    for indices in leaving:
        found = {len(seen[k]) - (seen[k][-1:] == (END,) and not counts) for k in indices}
        if len(found) > 1:
            return False
        lengths.append(next(iter(found), None))

    def alike(states: tuple[int, int]) -> Iterator[tuple[int, int]]:
        for one, other in product(*(leaving[state] for state in states)):
            if seen[one] == seen[other]:
                yield automaton.transitions[one].target, automaton.transitions[other].target

    # A run that has ended publishes nothing more; that it has is published.
    return all(lengths[one] == lengths[other] for one, other in reachable([(0, 0)], alike))
