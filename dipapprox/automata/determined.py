"""Whether what is seen determines the run: then a run's probability is that of its word.

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

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, product

from dipapprox.automata.model import Automaton, Transition, is_real
from dipapprox.automata.runs import Run, run_of
from dipapprox.automata.unfolding import Unfolding, followed
from dipapprox.graphs import shortest_way
from dipapprox.language.traversal import reachable

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
