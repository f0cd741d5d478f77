"""A certificate at one ε is about a program that means something at every input."""

from __future__ import annotations

import json

import pytest

import dipapprox
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult
from dipapprox.errors import UserError
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, signed

HEAD = "input q in 0..4\noutput out in {0, 1}\nadjacent linf 1\n"
DIRECTLY = "out <- choose {1 : q / 4, 0 : 1 - q / 4}\n"
LATER = "p <- q\nout <- choose {1 : p / 4, 0 : 1 - p / 4}\n"
GUARDED = "out <- 0\nif q < 5 then out <- choose {1 : q / 4, 0 : 1 - q / 4} end\n"
LOOP = "r <- Lap(q, 1 / eps)\nwhile q = 5 do out <- 1 end\nout <- 0\nif r >= 2 then out <- 1 end\n"


def fields_of(text: str, eps_prv: str, pairs: str) -> Fields:
    program = dipapprox.parse(text)
    found = dipapprox.verify(program, eps="1", eps_prv=eps_prv, delta="0", pairs=pairs)
    fields = json.loads(dipapprox.certify(program, text, found, pairs=pairs).to_json())
    assert isinstance(fields, dict)
    return fields


def wider(fields: Fields) -> CheckResult:
    """Check a certificate about the same pair, or pairs, of a program with one input more."""
    changed = json.loads(json.dumps(fields).replace("0..4", "0..5"))
    changed["program"]["sha256"] = text_hash(changed["program"]["text"])
    result = check(json.dumps(signed(changed)))
    assert isinstance(result, CheckResult)
    return result


@pytest.mark.parametrize("body", [DIRECTLY, LATER, LOOP])
@pytest.mark.parametrize(("eps_prv", "pairs"), [("1/10", "all"), ("1/10", "1~2"), ("2", "1~2")])
def test_no_verdict_is_confirmed_that_verify_calls_bad_input(
    body: str, eps_prv: str, pairs: str
) -> None:
    fields = fields_of(HEAD + body, eps_prv, pairs)
    assert check(json.dumps(fields)).outcome is Outcome.CONFIRMED
    with pytest.raises(UserError):
        fields_of((HEAD + body).replace("0..4", "0..5"), eps_prv, pairs)
    result = wider(fields)
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert result.reason is not None and "for the input (5): " in result.reason


def test_what_is_never_chosen_need_be_no_distribution() -> None:
    fields = fields_of(HEAD + GUARDED, "1/10", "all")
    assert wider(fields).outcome is Outcome.CONFIRMED
    fields_of((HEAD + GUARDED).replace("0..4", "0..5"), "1/10", "all")


def test_choices_of_inputs_are_looked_at_without_their_paths() -> None:
    """2^20 inputs could not be followed one by one."""
    text = (
        "input q[20] in {0, 1}\noutput out in {0, 1}\nadjacent l0 1\n"
        "out <- choose {1 : 1/4 + q[1] / 2, 0 : 3/4 - q[1] / 2}\n"
    )
    pairs = f"{','.join('0' * 20)}~1,{','.join('0' * 19)}"
    for eps_prv in ("1", "2"):
        fields = fields_of(text, eps_prv, pairs)
        assert check(json.dumps(fields)).outcome is Outcome.CONFIRMED
