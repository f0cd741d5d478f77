"""Certificates of coarser cells: the check makes the same ones, and no number can be another."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.limits import Limits
from dipapprox.proofs.automaton_certificate import certify_budget, without_evidence
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.replays.result import Outcome
from tests.automata import examples
from tests.automata.running_extremes import random_text
from tests.automata.test_cells import UNSEEN_TEST
from tests.checking.budgets.proved import budget_certificate, proved
from tests.checking.budgets.test_budget_certificates import is_another_proof, numbers, outcome_of
from tests.checking.certified import Fields, at, replaced, signed

SEARCHED = """\
(q0, 1/2, 0): x := insample; output oi; goto q1
(q1, 1/3, 0): if (insample < x) then output oc; goto q2
    elseif (insample >= x) then output od; goto q2
(q2, 1/2, 0): if (insample < x) then output oa; goto q2
    elseif (insample >= x) then x := insample; output oa; goto q2
"""
"""2/3; joined vectors show no more than 1."""


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_random_automata(seed: int) -> None:
    text = random_text(seed)
    proof = proved(text, stops=Stops.VISIBLE if seed % 2 else Stops.HIDDEN)
    if without_evidence(proof) is not None:
        return
    result = check(json.loads(certify_budget(proof, text, Limits()).to_json()))
    assert result.outcome is Outcome.CONFIRMED, (text, result.differences)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (examples.k_min_max(3), "joined cell vectors"),
        (UNSEEN_TEST, "joined cell vectors"),
        (SEARCHED, "cell vectors"),
    ],
    ids=["3-min-max", "a comparison that is not seen", "searched"],
)
def test_no_number_of_cells_can_be_one_more_or_one_less(text: str, kind: str) -> None:
    fields = budget_certificate(text)
    assert at(fields, ("evidence", "upper", "kind")) == kind
    assert check(fields).outcome is Outcome.CONFIRMED
    places = [p for part in ("evidence", "least_budget") for p in numbers(fields[part], (part,))]
    for place in random.Random(kind).sample(places, min(len(places), 24)):
        value = at(fields, place)
        rational = isinstance(value, str)
        unit = Fraction(1, Fraction(value).denominator) if rational else 1
        for other in (Fraction(value) + unit, Fraction(value) - unit):
            new: object = str(other) if rational else int(other)
            found = outcome_of(signed(replaced(fields, place, new)))
            assert found is not Outcome.CONFIRMED or is_another_proof(place), (place, new)


def _about(fields: Fields, text: str) -> Fields:
    changed = replaced(fields, ("program", "text"), text)
    return signed(replaced(changed, ("program", "sha256"), text_hash(text)))


def test_what_is_seen_is_no_joint_step() -> None:
    fields = budget_certificate(UNSEEN_TEST)
    for old, new in (
        ("(insample >= x) then output or; goto q2", "(insample >= x) then output os; goto q2"),
        ("(insample >= x) then output or; goto q2", "(insample >= x) then output or; goto q1"),
        ("(q1, 1/2", "(q1, 1/3"),
        ("(q2, 1/4", "(q2, 1/5"),
    ):
        text = str(at(fields, ("program", "text")))
        assert text.count(old) == 1
        assert check(_about(fields, text.replace(old, new))).outcome is not Outcome.CONFIRMED


def test_a_running_value_that_is_stored_on_the_wrong_side_is_none() -> None:
    text = examples.k_min_max(2)
    fields = budget_certificate(text)
    assert at(fields, ("evidence", "upper", "kind")) == "joined cell vectors"
    swapped = text.replace("max := insample; output", "min := insample; output", 1)
    assert swapped != text
    assert check(_about(fields, swapped)).outcome is Outcome.REFUTED
