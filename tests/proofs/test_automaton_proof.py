"""Answers about automata: what shipped ones promise, claims on both sides of a bound, evidence."""

import json
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Limits, Options, UserError
from dipapprox.automata.benchmarks import range_text, sparse_vector_text
from dipapprox.automata.structures import holds
from dipapprox.proofs import prove_automaton
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.proofs.replayed import with_proof
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import random_automaton
from tests.schemas import check_schema, validator
from tests.thorough import part


@pytest.mark.parametrize(("text", "least"), [(range_text(8), 1), (sparse_vector_text(20), 1)])
def test_large_automata_have_short_proofs_of_their_least_budget(text: str, least: int) -> None:
    """All shifts of 16 values would be 43 million; 20 positives share all that came before."""
    named = prove_automaton.NamedAutomaton("large", automaton(text))
    found = prove_automaton.prove_automaton(named, None, Stops.HIDDEN, Limits())
    proved = with_proof(found, Limits())
    assert proved.lower == proved.upper == least
    claim = {"verdict": "DP", "budget": least, "at least": least}
    assert proved.written.claim == claim
    assert len(json.dumps(proved.written.steps)) < 60_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (examples.DISCLOSING, "DC"),
        (examples.NUM_RANGE_1, "PV"),
        (examples.LEAKING_CYCLE, "LC"),
        (examples.TWO_RANGE_1, "LP"),
    ],
)
def test_structures_are_said_in_words_and_drawn(text: str, code: str) -> None:
    proof = dipapprox.prove(automaton(text))
    structure = proof.analysis.structure
    assert structure is not None and holds(proof.automaton, structure)
    assert (proof.answer, proof.evidence) == (Answer.NOT_DP, structure)
    facts = dict(proof.describe().facts)
    assert f"({code})" in facts["structure"] and " line" in facts["structure"]
    assert facts["least budget"] == "none"
    fields = proof.to_dict()
    assert fields["structures"] == [code]
    assert fields["least_budget"] == {"lower": str(proof.lower), "upper": None, "exact": False}
    assert 0 < proof.to_dot().count("color=red, fontcolor=red") <= len(set(structure.run))
    needed = [each.budget for each in proof.rounds]
    assert needed == sorted(needed) and needed[-1] > needed[0]


STOPS = """
(q0:non-input, 1/2, 0): x := insample; output oi; goto q1
(q1, 1/4, 0): if (insample < x) then output obot; goto q1
"""
"""It stops as soon as a sample is above: what is seen then costs."""


@pytest.mark.parametrize("distinct", [True, False])
def test_what_is_seen_never_makes_a_budget_smaller(distinct: bool) -> None:
    """Random automata: bounds with stops unseen and seen fit together, and suit the schema."""
    schema = validator("prove")
    answers = set()
    for seed in part(range(40), 4):
        text = random_automaton(seed, distinct=distinct)
        hidden, visible = (dipapprox.prove(text, stops=each) for each in ("hidden", "visible"))
        if visible.upper is not None:
            assert hidden.answer is not Answer.NOT_DP
            assert hidden.lower <= visible.upper
        for proof in (hidden, visible):
            schema.validate(proof.to_dict())
            assert proof.describe().label == proof.answer.value
            assert proof.to_dot().startswith("digraph")
            answers.add(proof.answer)
    assert answers >= {Answer.DP, Answer.NOT_DP}


def test_limits_end_in_unknown_with_what_is_known() -> None:
    proof = dipapprox.prove(automaton(examples.SVT), options=Options(limits=Limits(seconds=0)))
    assert proof.answer is Answer.UNKNOWN
    assert proof.reason == "time limit: 0 s"
    assert not proof.interrupted
    check_schema("prove", proof.to_dict())
    few = dipapprox.prove(
        automaton(examples.k_min_max(4)), options=Options(limits=Limits(states=3))
    )
    assert few.answer is Answer.UNKNOWN
    assert few.reason is not None and few.reason.startswith("path limit")


@pytest.mark.parametrize("stops", ["hidden", "visible"])
def test_ctrl_c_ends_in_unknown(stops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    place = "dipapprox.proofs.prove_automaton.with_visible_stops"
    monkeypatch.setattr("dipapprox.automata.analysis.augment", stopped)
    if stops == "visible":
        monkeypatch.setattr(place, stopped)
    proof = dipapprox.prove(automaton(STOPS), stops=stops)
    assert (proof.answer, proof.interrupted) == (Answer.UNKNOWN, True)
    assert (proof.lower, proof.upper) == (0, None)
    check_schema("prove", proof.to_dict())


def test_strangers_are_named() -> None:
    with pytest.raises(
        UserError, match=r"program must be a Program or the name of a file, got int"
    ):
        dipapprox.prove(5)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(UserError, match=r"there is no file 'nowhere.dipa'"):
        dipapprox.prove("nowhere.dipa")
    with pytest.raises(UserError, match=r"there is no file 'svt.dpg'"):
        dipapprox.prove("svt.dpg")
    with pytest.raises(UserError, match="stops: unknown value 'seen'"):
        dipapprox.prove(automaton(examples.SVT), stops="seen")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(UserError, match="is neither true nor false"):
        bool(dipapprox.prove(automaton(examples.SVT)))
