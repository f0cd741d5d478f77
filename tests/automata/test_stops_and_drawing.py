"""Visible stops cover what guards leave out, exactly once; drawings say what the automaton says."""

from __future__ import annotations

from dipapprox.automata.analysis import analyse
from dipapprox.automata.stops import with_visible_stops
from dipapprox.limits import Limits
from tests.automata.examples import automaton

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
