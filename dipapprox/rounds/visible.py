"""Whether what a program publishes tells the steps that it took.

The words of an automaton have a letter for each step. What is seen of a program has not: a step may
publish nothing, or several things at once. Bounds that are proved by a run that its *word*
determines, or by all runs with a word, hold for the program if one of these is true:

- *apart*: of two ways on from a state neither publishes what the other begins with. Then a run is
  the only one with what it publishes;
- *aligned*: all ways on from states that runs with the same word may be in publish equally many
  things. Then runs that publish the same have the same word. That the program ends need not count
  as one if it is never all that a step publishes: a run that goes on where another has ended after
  the same things would have to publish something more.

Orders of stored values are not looked at: what is true of all runs is true of the feasible ones.

Where neither is true, single runs may still be told (`automata.determined`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from dipapprox.automata.model import Automaton
from dipapprox.language.traversal import reachable

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
