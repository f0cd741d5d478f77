"""Searches by cases: runs whose shifts are not the pinned ones, each kind by itself."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from dipapprox.automata.model import Automaton
from dipapprox.automata.optimum import search
from dipapprox.automata.stops import with_visible_stops
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.automata.validity import check
from dipapprox.automata.weights import fallback_weight
from dipapprox.errors import SourceError
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.examples import automaton
from tests.thorough import part

RATES = Fraction(1, 4), Fraction(1, 2), Fraction(1)


def mutant(seed: int) -> Automaton | None:
    """Ranges of two or three streams with other noise, guards and targets; None if not valid."""
    chance = random.Random(seed)
    found = automaton(examples.m_range(2 + seed % 2))
    states = [
        replace(s, compared=s.compared and replace(s.compared, rate=chance.choice(RATES)))
        for s in found.states
    ]
    transitions = []
    for each in found.transitions:
        if each.used and chance.random() < 0.15:
            continue
        if each.used and chance.random() < 0.25:
            bit = 1 << chance.choice([x for x in range(8) if each.used >> x & 1])
            each = replace(each, above=each.above ^ bit, below=each.below ^ bit)
        if each.used and chance.random() < 0.1:
            each = replace(each, target=chance.randrange(len(states)))
        transitions.append(each)
    changed = replace(found, states=tuple(states), transitions=tuple(transitions))
    try:
        total = with_visible_stops(changed)
        check(total)
    except SourceError:
        return None
    return total


def test_cases_never_give_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    by_cases = tight = 0
    for seed in part(range(80), 2):
        found = mutant(seed)
        if found is None:
            continue
        graph = quotient(augment(found, Limits()), Limits()).graph
        cap = fallback_weight(graph).value
        free = search(graph, cap, Limits())
        with monkeypatch.context() as patch:
            patch.setattr("dipapprox.automata.optimum.MOST_LIVE", 2)
            patch.setattr("dipapprox.automata.optimum._LEFT_FREE", 0)
            cases = search(graph, cap, Limits()).family
        if cases is not None and cases.cases > 1:
            assert free.family is not None
            assert free.family.value <= cases.value
            by_cases += 1
            tight += free.family.value == cases.value
    assert by_cases >= 3 and tight >= 3
