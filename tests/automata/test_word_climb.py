"""Words beside those of dear runs: bounds that climbing finds are those of the words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.automata.unfolding import augment, quotient
from dipapprox.automata.word_climb import climbed_words
from dipapprox.automata.words import word_bound
from dipapprox.limits import Limits
from tests.automata.random_automata import random_automaton


@pytest.mark.parametrize(
    ("seed", "least"),
    [
        # The words of single runs prove 2/3 and 6.
        (443, "3/2"),
        (727, "9"),
    ],
)
def test_changed_words_lose_more_than_those_of_dear_runs(seed: int, least: str) -> None:
    variables = 1 + seed % 3
    automaton = random_automaton(
        seed, variables, variables + 1 + seed % 3, shown=0.2, distinct=False
    )
    graph = quotient(augment(automaton, Limits()), Limits()).graph
    (*_, found) = climbed_words(graph, None, Limits())
    assert found.value >= Fraction(least)
    again = word_bound(
        augment(automaton, Limits()), found.first, found.second, found.word, Limits()
    )
    assert again == found
    pairs = zip(found.first, found.second, strict=True)
    for first, second in pairs:
        if first is not None and second is not None:
            assert abs(second - first) <= 1
        else:
            assert first is second
