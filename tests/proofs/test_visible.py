"""Whether what is published tells the steps: against all short runs."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dipapprox.automata.model import Automaton, ControlState, LaplaceNoise, Transition
from dipapprox.rounds.visible import END, Seen, tells_steps
from tests.thorough import part


def random_graph(seed: int) -> tuple[Automaton, list[Seen]]:
    """A graph with words for its edges; the last state is the end."""
    chance = random.Random(seed)
    count = chance.randint(2, 4)
    noise = LaplaceNoise(Fraction(1))
    states = tuple(ControlState(f"q{k}", True, noise) for k in range(count))
    transitions, seen = [], list[Seen]()
    for source in range(count - 1):
        for _ in range(chance.randint(1, 3)):
            target = chance.randrange(count)
            shown = tuple(chance.choice("ab") for _ in range(chance.choice((0, 1, 1, 1, 2))))
            if target == count - 1:
                shown += (END,)
            word = f"{source}{len(transitions)}"
            transitions.append(Transition(source, 0, 0, target, word, 0))
            seen.append(shown)
    return Automaton((), states, tuple(transitions)), seen


def runs(automaton: Automaton, length: int) -> list[tuple[int, ...]]:
    """All runs of so many steps, or fewer that have ended."""
    leaving = automaton.leaving()
    found: list[tuple[int, ...]] = [()]
    for _ in range(length):
        longer: list[tuple[int, ...]] = []
        for run in found:
            state = automaton.transitions[run[-1]].target if run else 0
            after = [(*run, index) for index in leaving[state]]
            longer += after or [run]
        found = longer
    return found


def published(run: tuple[int, ...], seen: list[Seen]) -> Seen:
    return tuple(each for index in run for each in seen[index])


@pytest.mark.parametrize("seed", part(range(300), 6))
def test_runs_that_publish_the_same_are_found(seed: int) -> None:
    """If steps are told, ended runs that publish the same took steps that look alike."""
    automaton, seen = random_graph(seed)
    if not tells_steps(automaton, seen):
        return
    words: dict[Seen, set[tuple[Seen, ...]]] = {}
    for run in runs(automaton, 7):
        if run and seen[run[-1]][-1:] == (END,):
            words.setdefault(published(run, seen), set()).add(tuple(seen[k] for k in run))
    assert all(len(alike) == 1 for alike in words.values())
