"""Certificates of programs with rounds: true ones are confirmed, no number can be another."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, StreamProof, UserError
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.questions.proof_certificates import without_evidence
from dipapprox.replays.result import Outcome
from tests.checking.budgets.test_budget_certificates import (
    is_another_proof,
    numbers,
    outcome_of,
    without,
)
from tests.checking.certified import Fields, at, check_changes_are_noticed, replaced, signed
from tests.proofs.test_random_streams import Writer

PROGRAMS = Path(__file__).parent.parent.parent.parent / "programs"

EVERY_NUMBER = (
    "svt_laplace", "svt_geometric", "svt_monotone", "svt_laplace_leaky_3", "svt_laplace_leaky_6",
    "m_range_laplace",
)  # fmt: skip

CASES = [
    *((PROGRAMS / f"{name}.dpg", "N") for name in EVERY_NUMBER),
    *((path, None) for path in sorted((PROGRAMS / "streams").glob("*.dpg"))),
]


def proved(text: str, for_all: str | None = None, budget: str | None = None) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(text, for_all=for_all), budget=budget)
    assert isinstance(proof, StreamProof)
    return proof


def certified(text: str, for_all: str | None = None, budget: str | None = None) -> Fields:
    proof = proved(text, for_all, budget)
    fields = json.loads(dipapprox.certify(proof.subject, text, proof).to_json())
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize(("path", "for_all"), CASES, ids=[path.stem for path, _ in CASES])
def test_shipped_programs(path: Path, for_all: str | None) -> None:
    """Each is confirmed; no number in it can be one more or one less."""
    fields = certified(path.read_text("utf-8"), for_all)
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    assert "as in the proof" in result.shared[0]
    places = [p for part in ("evidence", "least_budget") for p in numbers(fields[part], (part,))]
    for place in random.Random(path.stem).sample(places, min(len(places), 8)):
        value = at(fields, place)
        rational = isinstance(value, str)
        unit = Fraction(1, Fraction(value).denominator) if rational else 1
        for other in (Fraction(value) + unit, Fraction(value) - unit):
            new: object = str(other) if rational else int(other)
            found = outcome_of(signed(replaced(fields, place, new)))
            if found is Outcome.CONFIRMED:
                assert is_another_proof(place), (place, new)
            else:
                assert found in (None, Outcome.REFUTED), (place, new)


@pytest.mark.parametrize("adjacency", ["linf 1", "increasing 1", "decreasing 1"])
@pytest.mark.parametrize("seed", range(60, 80))
def test_random_streams(seed: int, adjacency: str) -> None:
    """The certificates of all are confirmed; of another direction none that has no budget there."""
    text = Writer(seed).program().replace("linf 1", adjacency)
    if seed % 2:  # one of two samples of a round has no input
        text = re.sub(r"s <- (D?)Lap\(q", r"s <- \1Lap(0", text)
    proof = proved(text)
    if without_evidence(proof) is not None:
        return
    fields = json.loads(dipapprox.certify(proof.subject, text, proof).to_json())
    assert outcome_of(fields) is Outcome.CONFIRMED
    for other in {"linf 1", "increasing 1", "decreasing 1"} - {adjacency}:
        moved = text.replace(adjacency, other)
        changed = replaced(fields, ["program", "text"], moved)
        changed = replaced(changed, ["program", "sha256"], text_hash(moved))
        if outcome_of(signed(changed)) is Outcome.CONFIRMED:
            again = proved(moved)
            assert (again.has_none, again.lower) == (proof.has_none, proof.lower)


SVT = (PROGRAMS / "svt_laplace.dpg").read_text("utf-8")


def test_budgets_follow_how_much_means_may_change() -> None:
    fields = certified(SVT.replace("linf 1", "linf 1/3"), "N")
    assert fields["least_budget"] == {"lower": "1/3", "upper": "1/3"}
    assert outcome_of(fields) is Outcome.CONFIRMED
    for end in ("lower", "upper"):
        changed = replaced(fields, ["least_budget", end], "1")
        assert outcome_of(signed(changed)) in (None, Outcome.REFUTED)


def test_inputs_that_grow_only() -> None:
    fields = certified((PROGRAMS / "svt_monotone.dpg").read_text("utf-8"), "N")
    steps = fields["evidence"]["lower"]["steps"]
    place = next(k for k, step in enumerate(steps) if step[1])
    turned = replaced(fields, ["evidence", "lower", "steps", place, 1], -steps[place][1])
    assert outcome_of(signed(turned)) is Outcome.REFUTED


def test_another_program_needs_another_certificate() -> None:
    fields = certified(SVT, "N")
    program = fields["program"]
    for old, new in (
        ("Lap(T, 2", "Lap(T, 3"),
        ("Lap(q[i], 4", "Lap(q[i], 5"),
        ("linf 1", "linf 2"),
        ("linf 1", "l1 1"),
        ("exit", "skip"),
        ("for i in 1..N", "for j in 1..N"),
    ):
        assert old in SVT
        text = SVT.replace(old, new)
        changed = {**program, "text": text, "sha256": text_hash(text)}
        assert outcome_of(signed({**fields, "program": changed})) is Outcome.REFUTED, (old, new)
    for name, value in (("for_all", "T"), ("for_all", None), ("params", {})):
        changed = replaced(fields, ["program", name], value)
        assert outcome_of(signed(changed)) is Outcome.REFUTED, name
    stops = replaced(fields, ["stops"], {"kind": "hidden", "states": []})
    assert outcome_of(signed(stops)) is None


def test_nothing_can_be_left_out() -> None:
    fields = certified(SVT, "N")
    for k in range(len(fields["evidence"]["upper"]["vectors"])):
        changed = without(fields, "evidence", "upper", "vectors", k)
        assert outcome_of(changed) is Outcome.REFUTED
    for part in ("steps", "flow"):
        for k in range(len(fields["evidence"]["lower"][part])):
            changed = without(fields, "evidence", "lower", part, k)
            assert outcome_of(changed) is Outcome.REFUTED
    check_changes_are_noticed(fields, "svt", 15)


def test_claims_are_judged() -> None:
    against = certified(SVT, "N", "9/10")
    assert against["verdict"] == "Not_DP" and outcome_of(against) is Outcome.CONFIRMED
    assert outcome_of(signed(replaced(against, ["claim", "budget"], "1"))) is Outcome.REFUTED


def test_bounds_that_the_automaton_only_has_are_none() -> None:
    """Two samples read one input: the automaton's lower bound is none of the program."""
    text = SVT.replace("r <- Lap", "s <- Lap(q[i], 9 / eps)\n    r <- Lap")
    proof = proved(text, "N")
    fields = json.loads(dipapprox.certify(proof.subject, text, proof).to_json())
    assert outcome_of(fields) is Outcome.CONFIRMED
    assert fields["least_budget"]["lower"] == "0" and fields["evidence"]["lower"] is None


def test_what_has_no_certificate() -> None:
    unknown = proved((PROGRAMS / "literature" / "noisy_histogram.dpg").read_text("utf-8"), "N")
    assert unknown.answer is Answer.UNKNOWN and without_evidence(unknown) == "the answer is Unknown"
    equal = proved(SVT.replace("linf 1", "linf 0"), "N")
    assert without_evidence(equal) == "adjacent inputs are equal"
    proof = proved(SVT, "N")
    with pytest.raises(UserError, match="not that of the program"):
        dipapprox.certify(proof.subject, SVT.replace("Lap(T, 2", "Lap(T, 3"), proof)
