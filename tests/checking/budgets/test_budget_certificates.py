"""Certificates of budgets: true ones are confirmed, and no number in them can be another."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.automata.description import text_of
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.dipa_printer import print_dipa
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.automaton_certificate import certify_budget, without_evidence
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.replays.result import Outcome
from tests.automata import examples
from tests.automata.random_automata import random_automaton
from tests.checking.budgets.proved import budget_certificate, proved
from tests.checking.certified import Fields, at, check_changes_are_noticed, replaced, signed

_MIXED = """
(q0:non-input, 1/2, 0): x := insample, y := insample; output oa; goto q1
(q1, 1/3, 0, 2, 1): if (insample >= x) then y := insample; output insampleprime; goto q2
              elseif (insample < x) then output oa; goto q1
(q2, 1/4, 0): if (insample < y && insample < x) then output ob; goto q3
              elseif (insample >= y && insample < x) then output insample; goto q3
"""

PRIVATE = {
    "svt": examples.SVT,
    "num sparse": examples.NUM_SPARSE,
    "num range": examples.NUM_RANGE_2,
    "two range": examples.TWO_RANGE_2,
    "gap": examples.GAP_PV,
    "1-range": examples.m_range(1),
    "8-range, pinned": examples.m_range(8),
    "2-min-max": examples.k_min_max(2),
    "4-min-max, a word": examples.k_min_max(4),
    "sparse vector": examples.sparse_vector(3),
    "chain": examples.chain("1/3", True, "<1", ">=3/2*", "<3/2"),
    "mixed": _MIXED,
}

NOT_PRIVATE = {
    "DC": examples.DISCLOSING,
    "PV": examples.NUM_RANGE_1,
    "LC": examples.LEAKING_CYCLE,
    "LC of the paper": examples.LEAKING_CYCLE_OF_THE_PAPER,
    "LP": examples.TWO_RANGE_1,
    "LP, all pairs": examples.all_pairs(3),
}

_LARGE = "gap", "8-range, pinned", "4-min-max, a word"

SMALL = {
    **{name: text for name, text in PRIVATE.items() if name not in _LARGE},
    **NOT_PRIVATE,
}


def outcome_of(fields: Fields) -> Outcome | None:
    """None: it is no certificate."""
    try:
        return check(fields).outcome
    except UserError:
        return None


CASES = [
    (name, stops)
    for name in PRIVATE
    for stops in Stops
    if stops is Stops.HIDDEN or name not in _LARGE
]


@pytest.mark.parametrize(("name", "stops"), CASES)
def test_budgets_are_confirmed_and_less_is_refuted(name: str, stops: Stops) -> None:
    fields = budget_certificate(PRIVATE[name], stops=stops)
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    assert fields["verdict"] == "DP"
    bounds, unit = fields["least_budget"], Fraction(fields["evidence"]["upper"]["unit"])
    for changed in (
        {**bounds, "upper": str(Fraction(bounds["upper"]) - unit)},
        {**bounds, "upper": str(Fraction(bounds["upper"]) + unit)},
        {**bounds, "lower": str(Fraction(bounds["lower"]) + unit)},
        {**bounds, "lower": str(Fraction(bounds["lower"]) - unit)},
    ):
        found = outcome_of(signed(replaced(fields, ["least_budget"], changed)))
        assert found in (None, Outcome.REFUTED)


@pytest.mark.parametrize("stops", Stops)
@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_structures_are_confirmed(name: str, stops: Stops) -> None:
    fields = budget_certificate(NOT_PRIVATE[name], stops=stops)
    assert fields["verdict"] == "Not_DP"
    assert fields["evidence"]["structure"]["kind"] == name[:2]
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    assert "no budget" in str(result.describe())
    for other in {"LC", "LP", "DC", "PV"} - {name[:2]}:
        changed = replaced(fields, ["evidence", "structure", "kind"], other)
        assert outcome_of(signed(changed)) is Outcome.REFUTED


def numbers(item: object, where: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    """The places of all numbers."""
    match item:
        case dict():
            return [p for name, inner in item.items() for p in numbers(inner, (*where, name))]
        case list():
            return [p for k, inner in enumerate(item) for p in numbers(inner, (*where, k))]
        case bool() | None:
            return []
        case int():
            return [where]
        case str():
            try:
                Fraction(item)
            except ValueError:
                return []
            return [where]
        case _:
            raise AssertionError(item)


def is_another_proof(place: tuple[str | int, ...]) -> bool:
    match place:
        case "evidence", "structure", "parts", *_:
            return True
        case "evidence", "lower", "steps", _, 0:
            return True
        case "evidence", "lower", "letters", _, "first" | "second":
            return True
        case _:
            return False


@pytest.mark.parametrize("name", SMALL)
def test_no_number_can_be_one_more_or_one_less(name: str) -> None:
    """Exceptions are other proofs: a structure or run with other steps, a word of other inputs."""
    fields = budget_certificate(SMALL[name])
    tried = 0
    places = [p for part in ("evidence", "least_budget") for p in numbers(fields[part], (part,))]
    for place in random.Random(name).sample(places, min(len(places), 60)):
        value = at(fields, place)
        rational = isinstance(value, str)
        unit = Fraction(1, Fraction(value).denominator) if rational else 1
        for other in (Fraction(value) + unit, Fraction(value) - unit):
            new: object = str(other) if rational else int(other)
            changed = signed(replaced(fields, place, new))
            tried += 1
            found = outcome_of(changed)
            if found is Outcome.CONFIRMED:
                assert is_another_proof(place), (place, new)
            else:
                assert found in (None, Outcome.REFUTED), (place, new)
    assert tried > 10


def test_claims_are_judged() -> None:
    fields = budget_certificate(examples.SVT, Fraction(3, 2))
    assert outcome_of(fields) is Outcome.CONFIRMED
    less = signed(replaced(fields, ["claim", "budget"], "1"))
    assert outcome_of(less) is Outcome.REFUTED
    against = budget_certificate(examples.SVT, Fraction(1))
    assert against["verdict"] == "Not_DP"
    assert outcome_of(against) is Outcome.CONFIRMED
    for claim in ("5/4", "2"):
        more = signed(replaced(against, ["claim", "budget"], claim))
        assert outcome_of(more) is Outcome.REFUTED
    assert outcome_of(signed(replaced(against, ["claim", "budget"], None))) is None
    assert outcome_of(signed(replaced(against, ["verdict"], "DP"))) is None
    word = budget_certificate(examples.k_min_max(4), Fraction(1, 2))
    assert word["evidence"]["lower"]["kind"] == "word"
    assert outcome_of(word) is Outcome.CONFIRMED


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_random_automata(seed: int, distinct: bool) -> None:
    found = random_automaton(seed, 2, 4, distinct=distinct)
    text = print_dipa(text_of(found))
    stops = Stops.VISIBLE if seed % 2 else Stops.HIDDEN
    proof = proved(text, stops=stops)
    if without_evidence(proof) is not None:
        return
    fields = json.loads(certify_budget(proof, text, Limits()).to_json())
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    assert result.answer is proof.answer


@pytest.mark.parametrize("seed", [234, 315, 379])
def test_a_word_may_end_with_a_visible_stop(seed: int) -> None:
    found = random_automaton(seed, 2, distinct=False)
    fields = budget_certificate(print_dipa(text_of(found)), stops=Stops.VISIBLE)
    assert outcome_of(fields) is Outcome.CONFIRMED
    letters = fields["evidence"]["lower"]["letters"]
    assert letters[-1]["seen"] == {"kind": "stop"}
    place = ["evidence", "lower", "letters", len(letters) - 1, "seen"]
    symbol = {"kind": "symbol", "name": "ostop"}
    assert outcome_of(signed(replaced(fields, place, symbol))) is Outcome.REFUTED


def test_another_automaton_needs_another_certificate() -> None:
    fields = budget_certificate(examples.SVT)
    for old, new in (
        ("1/2, 0", "1/3, 0"),
        ("1/4, 0", "1/5, 0"),
        ("insample < x", "insample >= x"),
        ("obot; goto q2", "obot; goto q4"),
        ("output otop", "output insample"),
        ("goto q3", "goto q2"),
        ("q1:non-input", "q1"),
    ):
        text = examples.SVT.replace(old, new)
        program = {**fields["program"], "text": text, "sha256": text_hash(text)}
        assert outcome_of(signed({**fields, "program": program})) is Outcome.REFUTED, (old, new)


def test_stops_are_looked_at() -> None:
    hidden = budget_certificate(examples.NUM_RANGE_2)
    assert hidden["stops"] == {"kind": "hidden", "states": ["q3"]}
    result = check(hidden)
    assert "may stop in q3" in str(result.to_dict()["caveat"])
    for states in ([], ["q3", "q3"], ["q2", "q3"]):
        changed = signed(replaced(hidden, ["stops", "states"], states))
        assert outcome_of(changed) is Outcome.REFUTED
    visible = budget_certificate(examples.NUM_RANGE_2, stops=Stops.VISIBLE)
    assert check(visible).to_dict()["caveat"] is None
    branches = visible["stops"]["branches"]
    for other in (
        branches[:-1],
        branches + branches[:1],
        [{**branches[0], "state": "q9"}, *branches[1:]],
        [{**branches[0], "less": ["none"]}, *branches[1:]],
    ):
        changed = signed(replaced(visible, ["stops", "branches"], other))
        assert outcome_of(changed) is Outcome.REFUTED


def without(fields: Fields, *place: Any) -> Fields:
    changed = copy.deepcopy(fields)
    del at(changed, place[:-1])[place[-1]]
    return signed(changed)


def test_nothing_can_be_left_out() -> None:
    fields = budget_certificate(examples.TWO_RANGE_2)
    upper, lower = fields["evidence"]["upper"], fields["evidence"]["lower"]
    for k in range(len(upper["vectors"])):
        assert outcome_of(without(fields, "evidence", "upper", "vectors", k)) is Outcome.REFUTED
    for node, each in enumerate(upper["nodes"]):
        for step in range(len(each["steps"])):
            place = "evidence", "upper", "nodes", node, "steps", step
            assert outcome_of(without(fields, *place)) is Outcome.REFUTED
    for part in ("steps", "flow"):
        for k in range(len(lower[part])):
            changed = without(fields, "evidence", "lower", part, k)
            assert outcome_of(changed) is Outcome.REFUTED


def test_changes_of_the_file_are_noticed() -> None:
    for name in ("1-range", "4-min-max, a word"):
        check_changes_are_noticed(budget_certificate(PRIVATE[name]), name, 60)


def test_what_has_no_certificate() -> None:
    silent = proved(examples.SILENT)
    assert silent.answer is Answer.UNKNOWN
    with pytest.raises(UserError, match="Unknown"):
        certify_budget(silent, examples.SILENT, Limits())
    with pytest.raises(UserError, match="not that of the automaton"):
        certify_budget(proved(examples.SVT), examples.NUM_SPARSE, Limits())
    with pytest.raises(LimitReached):
        certify_budget(proved(examples.SVT), examples.SVT, Limits(seconds=0))


def test_limits_end_a_check() -> None:
    fields = budget_certificate(examples.TWO_RANGE_2)
    for limits in (Limits(seconds=0), Limits(states=1)):
        result: CheckResult = check(fields, limits)
        assert result.outcome is Outcome.NOT_CONFIRMED
        assert result.reason
