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

from collections.abc import Sequence
from itertools import combinations

from dipapprox.automata.model import Automaton

Seen = tuple[str | None, ...]
"""What one step publishes, in its order; None for a number that noise may be."""

END = "exit"
"""What is published, last, when the program ends; no name of a program is a keyword."""


def with_numbers(seen: Sequence[Seen]) -> list[Seen]:
    """Return what steps publish where noise may be any integer: numbers may be noise, too."""
    if not any(None in each for each in seen):
        return list(seen)
    return [tuple([None if _is_whole(name) else name for name in each]) for each in seen]


def _is_whole(name: str | None) -> bool:
    return name is not None and name.lstrip("-").isdigit()


def tells_steps(automaton: Automaton, seen: Sequence[Seen]) -> bool:
    """Whether words and what is published determine each other, in one of the two ways.

    Args:
        automaton: Of a program.
        seen: What each of its transitions publishes.
    """
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
    pairs = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        one, other = waiting.pop()
        # A run that has ended publishes nothing more; that it has is published.
        if lengths[one] != lengths[other]:
            return False
        for left in leaving[one]:
            for right in leaving[other]:
                targets = automaton.transitions[left].target, automaton.transitions[right].target
                if seen[left] == seen[right] and targets not in pairs:
                    pairs.add(targets)
                    waiting.append(targets)
    return True
