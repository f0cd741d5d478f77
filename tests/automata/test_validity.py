"""Conditions on automata, each with its message and place, and texts of automata."""

from __future__ import annotations

import pytest

from dipapprox.automata.description import automaton_of
from dipapprox.errors import SourceError
from dipapprox.language.dipa import parse_dipa
from tests.automata import examples
from tests.automata.examples import automaton

VALID = {
    name: getattr(examples, name)
    for name in (
        "SVT", "NUM_SPARSE", "DISCLOSING", "NUM_RANGE_1", "NUM_RANGE_2", "LEAKING_CYCLE",
        "LEAKING_CYCLE_OF_THE_PAPER", "TWO_RANGE_1", "TWO_RANGE_2", "SILENT", "GAP_PV", "GAP_LP",
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "states", "transitions", "variables"),
    [
        ("SVT", 3, 3, 1), ("NUM_SPARSE", 3, 3, 1), ("DISCLOSING", 4, 5, 2),
        ("NUM_RANGE_1", 4, 4, 2), ("NUM_RANGE_2", 4, 4, 2), ("LEAKING_CYCLE", 4, 4, 2),
    ],
)  # fmt: skip
def test_sizes_of_the_published_table(
    name: str, states: int, transitions: int, variables: int
) -> None:
    found = automaton(VALID[name])
    sizes = len(found.states), len(found.transitions), len(found.variables)
    assert sizes == (states, transitions, variables)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            "(q1, 1, 0): x := insample; output oa; goto q1\n(q1, 1, 0): output oa; goto q2",
            "2:2",
            "the state 'q1' is declared twice",
        ),
        (
            "(q1, 1, 0): x := insample; output oa; goto q2\n"
            "(q2, 1, 0): if (insample < y) then output oa; goto q1",
            "2:17",
            "the variable 'y' is never assigned",
        ),
        (
            "(q1, 1, 0): x := insample; output oa; goto q2\n"
            "(q2, 1, 0): if (insample < x && insample >= x) then output oa; goto q1",
            "2:33",
            "the guard can never hold: it has insample on both sides of 'x'",
        ),
        ("(q1, 0, 0): output oa; goto q2", "1:2", "the rate of 'insample' must be positive"),
        ("(q1, -1/2, 0): output oa; goto q2", "1:2", "must be positive in 'q1', got -1/2"),
        (
            "(q1, 1, 0): output insampleprime; goto q2",
            "1:13",
            "'insampleprime' is drawn, but the state 'q1' gives it no noise",
        ),
        (
            "(q1, 1, 0, 0, 0): output insampleprime; goto q2",
            "1:2",
            "the rate of 'insampleprime' must be positive",
        ),
        (
            "(q1, 1, 0): x := insample; output oa; goto q2\n"
            "(q2:non-input, 1, 0): if (insample < x) then output oa; goto q1",
            "2:26",
            "the state 'q2' reads no input and cannot have the guard 'insample < x'",
        ),
        (
            "(q1, 1, 0): x := insample; output oa; goto q2\n"
            "(q2, 1, 0): if (insample < x) then output oa; goto q1 "
            "elseif (insample <= x) then output ob; goto q2",
            "2:62",
            "'q2' is not deterministic: 'insample < x' and 'insample < x' can hold together",
        ),
        (
            "(q1, 1, 0): if (insample < x) then output oa; goto q2\n"
            "(q2, 1, 0): x := insample; output oa; goto q1",
            "1:16",
            "'x' may be compared in 'q1' before being assigned",
        ),
    ],
)
def test_each_condition_has_its_message_and_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        automaton_of(parse_dipa(text, "f.dipa"))
    first = caught.value.render().splitlines()[0]
    assert first.startswith(f"f.dipa:{place}: "), first
    assert message in first, first


MALFORMED = """
(q1:non-input, 1/2, 0): x := insample; output obot; goto q2
(q2, 1/4, 0): if (insample < x) then output obot; goto q2
              elseif (insample >= x) then output otop; goto q3
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("insample < x)", "insample < x || insample >= x)", "unexpected '||'"),
        (") then", ") then then", "unexpected 'then'"),
        ("(insample < x)", "(insample < y && insample >= y)", "'y' is never assigned"),
        ("(q2, 1/4", "(q2:non-input, 1/4", "'q2' reads no input"),
        ("1/4, 0", "0, 0", "must be positive"),
        ("1/4, 0", "1/0, 0", "divides by 0"),
        ("1/4, 0", "1/4, 0, 1", "2 or 4 numbers"),
        ("output otop", "output insampleprime", "gives it no noise"),
        ("x := insample", "x := insampleprime", "cannot be stored"),
        (">= x", "< x", "can hold together"),
        ("(q2, 1/4", "(q1, 1/4", "declared twice"),
        ("goto q3", "", "unexpected end"),
    ],
)
def test_one_mistake_is_one_message(old: str, new: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        automaton_of(parse_dipa(MALFORMED.replace(old, new, 1)))
    assert len(caught.value.diagnostics) == 1
    assert message in str(caught.value)
