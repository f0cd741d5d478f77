"""Visible stops cover what guards leave out, exactly once; drawings say what the automaton says."""

from __future__ import annotations

from itertools import product

import pytest

from dipapprox.automata.analysis import analyse
from dipapprox.automata.drawing import to_dot
from dipapprox.automata.stops import with_visible_stops
from dipapprox.automata.validity import check, gaps
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import random_automaton
from tests.thorough import part


@pytest.mark.parametrize("seed", part(range(40), 4))
def test_with_stops_exactly_one_guard_holds(seed: int) -> None:
    found = random_automaton(seed, variables=3, states=5)
    total = with_visible_stops(found)
    check(total)
    assert gaps(total) == ()
    assert total.transitions[: len(found.transitions)] == found.transitions
    leaving = total.leaving()
    for state in gaps(found):
        for signs in product((0, 1), repeat=3):
            over = sum(sign << place for place, sign in enumerate(signs))
            holding = [
                index
                for index in leaving[state]
                if not total.transitions[index].above & ~over
                and not total.transitions[index].below & over
            ]
            assert len(holding) == 1


def test_an_automaton_without_gaps_stays_as_it_is() -> None:
    svt = automaton(examples.SVT)
    assert with_visible_stops(svt) is svt


TWO_WAYS = """
(q0, 1, 0): x := insample; output oi; goto q1
(q1, 1, 0): if (insample >= x) then output oa; goto q2
            elseif (insample < x) then output ob; goto q3
(q2, 1, 0): if (insample >= x) then output oa; goto q2
(q3, 1, 0): if (insample < x) then output ob; goto q3
"""


def test_seen_stops_may_cost_more() -> None:
    """The coupling paper's Proposition 4.28: 2 without, 4 with stops that are seen."""
    hidden = automaton(TWO_WAYS)
    seen = with_visible_stops(hidden)
    assert len(seen.transitions) == len(hidden.transitions) + 2
    assert analyse(hidden, Limits()).lower_bound == 2
    found = analyse(seen, Limits())
    assert found.is_exact
    assert found.lower_bound == 4


def test_drawings_mark_transitions_and_escape_names() -> None:
    found = automaton(examples.NUM_SPARSE)
    text = to_dot(found, marked=(1,), title='a "b"')
    lines = text.splitlines()
    assert lines[0] == 'digraph "a \\"b\\"" {'
    assert lines[-1] == "}"
    assert '  s0 [shape=box, label="q1\\ninsample ~ Lap(0, rate 1/4 ε)"];' in lines
    assert (
        '  s1 -> s1 [label="insample < x\\nshow obot", color=red, fontcolor=red, penwidth=2];'
        in lines
    )
    assert '  s1 -> s2 [label="insample >= x\\nshow insampleprime"];' in lines
    assert '  s2 [shape=doublecircle, label="q3"];' in lines
    assert '  s0 -> s1 [label="show oin\\nx := insample"];' in lines
