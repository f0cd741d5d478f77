"""Certificates of programs that publish numbers: true ones are confirmed, no number may change."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import Limits, UserError
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, at, places, replaced, signed
from tests.schemas import check_schema

SPARSE = (
    "input q in 0..1\noutput out in 0..1\noutput y in real\nadjacent linf 1\nout <- 0\ny <- 0\n"
    "t <- Lap(0, 4)\nr <- Lap(q, 2)\nif r >= t then\n out <- 1\n y <- Lap(q, 3)\nend\n"
)
GAUSS = "input q in 0..2\noutput y in real\nadjacent linf 1\ny <- Gauss(q, 2)\n"
GAP = (
    "input q in 0..1\noutput out in 0..1\noutput y in real\nadjacent linf 1\n"
    "a <- Lap(q, 2)\nb <- Lap(0, 3)\nif a < b then\n out <- 0\n y <- b - a\n"
    "else\n out <- 1\n y <- a - b\nend\n"
)
TWO = (
    "input q in 0..1\noutput y[2] in real\nadjacent linf 1\n"
    "a <- Lap(0, 2)\ny[1] <- a\ny[2] <- a + Lap(q, 2)\n"
)


RELATED = (
    "input q in {0, 1}\noutput out in {0, 1}\noutput y in real\noutput w in real\n"
    "output c in real\nadjacent all\nout <- 0\nc <- 3\nr <- Lap(-1*q, 1 / eps)\n"
    "if r >= 1/2 then\n y <- 1/2*Lap(1/2, 1 / eps) + 1\n if r >= 3/2 then c <- 4 end\n"
    "else\n y <- 1/2*r\nend\nw <- r\n"
)

# A stability histogram: one number is there on a path only, the other one tells nothing apart.
STABLE = (
    "input n in 0..1\noutput y[2] in real\nadjacent l1 1\ny[1] <- 0\ny[2] <- Lap(0, 1/eps)\n"
    "if n > 0 then\n r <- Lap(n, 1/eps)\n if r > 3 then y[1] <- r end\nend\n"
)


def certified(text: str, eps_prv: str, delta: str) -> Fields:
    program = dipapprox.parse(text)
    claim = {"eps": 1, "eps_prv": Fraction(eps_prv), "delta": Fraction(delta)}
    found = dipapprox.verify(program, **claim)
    assert found.answer is dipapprox.Answer.DP
    fields = json.loads(dipapprox.certify(program, text, found).to_json())
    assert isinstance(fields, dict)
    return fields


def outcome_of(fields: Fields) -> Outcome | None:
    """None: it is malformed."""
    try:
        return check(fields).outcome
    except UserError:
        return None


@pytest.mark.parametrize(
    ("text", "eps_prv", "delta"),
    [
        (SPARSE, "1/4", "1/4"),
        (GAUSS, "1/2", "1/5"),
        (TWO, "1/4", "1/5"),
        (SPARSE, "5/4", "0"),
        (STABLE, "1", "1/10"),
    ],
)
def test_what_is_true_is_confirmed_and_numbers_that_change_are_refuted(
    text: str, eps_prv: str, delta: str
) -> None:
    fields = certified(text, eps_prv, delta)
    check_schema("certificate", fields)
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, (result.differences, result.reason)
    assert fields["evidence"]["kind"] == "divergences"
    stated = [p for p in places(fields["evidence"], ("evidence",)) if p[1] != "kind"]
    for place in random.Random(text).sample(stated, min(len(stated), 4)):
        value: Any = at(fields, place)
        if value is None or place[-2] == "intervals":
            continue
        if place[-2] in ("delta_enclosure", "probability", "adjacent_probability"):
            # Both ends, so that it stays an interval.
            low, high = (Fraction(end) for end in at(fields, place[:-1]))
            moved = [str(min(end + Fraction(1, 10**9), Fraction(1))) for end in (low, high)]
            changed = replaced(fields, place[:-1], moved)
        else:
            changed = replaced(fields, place, value + 1 if isinstance(value, int) else "9")
        assert outcome_of(signed(changed)) in (None, Outcome.REFUTED), place
    low, high = (Fraction(end) for end in fields["delta_enclosure"])
    for moved in (low + Fraction(1, 10**9), low - Fraction(1, 10**9)):
        if moved > 0:
            forged = [str(moved), str(moved)]
            assert outcome_of(signed({**fields, "delta_enclosure": forged})) is Outcome.REFUTED
    count = fields["pairs"]["count"]
    assert outcome_of(signed(replaced(fields, ["pairs", "count"], count + 1))) is Outcome.REFUTED
    if low:
        below = str(low - Fraction(1, 10**9))
        assert outcome_of(signed(replaced(fields, ["claim", "delta"], below))) is Outcome.REFUTED


def test_differences_of_samples_are_confirmed() -> None:
    result = check(certified(GAP, "1/4", "1/5"))
    assert result.outcome is Outcome.CONFIRMED, (result.differences, result.reason)


def test_paths_with_the_same_finite_outputs_differ_by_how_their_numbers_depend() -> None:
    fields = certified(RELATED, "1/2", "1/4")
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, (result.differences, result.reason)
    check_schema("certificate", fields)
    rows = [
        (("evidence", "pairs", j, "outcomes", k), row)
        for j, pair in enumerate(fields["evidence"]["pairs"])
        for k, row in enumerate(pair["outcomes"])
    ]
    # With r < 1/2, w is 2 y; else another sample.
    kinds = [[None, None, ["4", []]], [None, ["0", [[0, "2"]]], ["3", []]]]
    kinds += [[None, None, ["3", []]]]
    assert {str(row["relations"]) for _, row in rows} == {str(kind) for kind in kinds}
    for place, row in rows:
        # Nothing tells which set is meant, or no outcome is like that.
        for other in ([], [None, ["1", [[0, "2"]]], row["relations"][2]]):
            changed = signed(replaced(fields, (*place, "relations"), other))
            alone = not other and row["relations"] == kinds[0]
            assert outcome_of(changed) is (Outcome.CONFIRMED if alone else Outcome.NOT_CONFIRMED)
        for malformed in ([None], [None, ["0", [[-1, "2"]]], None]):
            assert outcome_of(signed(replaced(fields, (*place, "relations"), malformed))) is None
        moved = [str(Fraction(end) + Fraction(1, 10**9)) for end in row["probability"]]
        changed = signed(replaced(fields, (*place, "probability"), moved))
        assert outcome_of(changed) is Outcome.REFUTED


def test_other_intervals_have_other_masses() -> None:
    fields = certified(SPARSE, "1/4", "1/4")
    pairs = fields["evidence"]["pairs"]
    found = [
        ("evidence", "pairs", j, "outcomes", k, "intervals", 0)
        for j, pair in enumerate(pairs)
        for k, outcome in enumerate(pair["outcomes"])
        if outcome["intervals"]
    ]
    assert found
    for place in found:
        low, high = at(fields, place)
        other = [None, "100"] if low is None and high != "100" else ["-100", high]
        assert outcome_of(signed(replaced(fields, place, other))) is Outcome.REFUTED
    malformed = [["1", "1"], ["2", "1"], [None]]
    for interval in malformed:
        assert outcome_of(signed(replaced(fields, found[0], interval))) is None


def test_other_programs_are_refuted() -> None:
    fields = certified(SPARSE, "1/4", "1/5")
    for old, new in (("Lap(q, 3)", "Lap(q, 2)"), ("Lap(0, 4)", "Lap(0, 5)"), ("0..1", "0..2")):
        text = SPARSE.replace(old, new, 1)
        assert text != SPARSE
        program = {**fields["program"], "text": text, "sha256": text_hash(text)}
        assert outcome_of(signed({**fields, "program": program})) is Outcome.REFUTED, new
    finite = "input q in 0..1\noutput y in 0..1\nadjacent linf 1\ny <- q\n"
    program = {**fields["program"], "text": finite, "sha256": text_hash(finite)}
    assert outcome_of(signed({**fields, "program": program})) is Outcome.REFUTED


def test_a_claim_that_does_not_hold_is_refuted() -> None:
    fields = certified(SPARSE, "5/4", "0")
    assert fields["delta_enclosure"] == ["0", "0"]
    for eps_prv, outcome in (("1/5", Outcome.REFUTED), ("2", Outcome.CONFIRMED)):
        changed = replaced(fields, ["claim", "eps_prv"], eps_prv)
        assert outcome_of(signed(changed)) is outcome


def test_limits_confirm_nothing() -> None:
    fields = certified(GAUSS, "1/2", "1/5")
    assert check(fields, Limits(seconds=0)).outcome is Outcome.NOT_CONFIRMED


def test_violations_that_no_interval_shows_are_shown_by_the_divergence() -> None:
    text = GAUSS.replace("output y", "output y[2]").replace("y <- Gauss(q, 2)\n", "") + (
        "y[1] <- Gauss(q, 2)\ny[2] <- y[1] + Gauss(q, 3)\n"
    )
    program = dipapprox.parse(text)
    found = dipapprox.verify(program, eps=1, eps_prv=Fraction(1, 2), delta=Fraction(1, 50))
    assert found.answer is dipapprox.Answer.NOT_DP
    fields = json.loads(dipapprox.certify(program, text, found).to_json())
    assert fields["evidence"]["kind"] == "divergence"
    check_schema("certificate", fields)
    assert check(fields).outcome is Outcome.CONFIRMED
    low, high = (Fraction(end) for end in fields["evidence"]["delta_enclosure"])
    changes: list[tuple[list[str | int], object]] = [
        (["claim", "delta"], str(high + Fraction(1, 10**9))),
        (["claim", "eps_prv"], "3"),
        (["evidence", "input"], [2]),
        (["evidence", "adjacent"], fields["evidence"]["input"]),
        (["evidence", "delta_enclosure"], [str(high + Fraction(1, 10**9)), "1"]),
        (["delta_enclosure"], [str(low / 2), str(low / 2)]),
    ]
    for place, value in changes:
        told = outcome_of(signed(replaced(fields, place, value)))
        mirrored = place[-1] == "input" and value == [2]
        assert told is Outcome.REFUTED or mirrored, place


def test_what_the_check_cannot_follow_is_not_confirmed() -> None:
    """Two numbers that tell the inputs apart together, and a margin that no enclosure shows."""
    text = TWO.replace("a <- Lap(0, 2)", "a <- Lap(q, 2)").replace("a + Lap", "Lap")
    fields = certified(text, "1", "0")
    assert check(fields).outcome is Outcome.CONFIRMED
    changed = signed(replaced(fields, ["claim", "eps_prv"], "99/100"))
    assert outcome_of(changed) in (Outcome.NOT_CONFIRMED, Outcome.REFUTED)
