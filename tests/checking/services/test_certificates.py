"""Certificates of services: true ones are confirmed, false ones refuted."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import dipapprox
from dipapprox.bundled import BUNDLED
from dipapprox.certificates.digest import digest
from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.replays.result import Outcome
from dipapprox.services.certificate import certify_service, without_evidence
from dipapprox.services.service_proof import prove_service
from tests.cli.running import run, run_json
from tests.schemas import check_schema
from tests.services.examples import COIN, DATA, HEAD, ONCE, service_of
from tests.services.strategies import services

TWICE = (HEAD + DATA + ONCE).replace("state done in bool <- false", "state left in 0..2 <- 2")
TWICE = TWICE.replace("if done then", "if left = 0 then").replace(
    "done <- true", "left <- left - 1"
)
FOR_EVER = (HEAD + DATA + ONCE).replace("done <- true", "skip")
STORED = (
    "adjacent replace\nstate n in 0..1 <- 0\noutput reply in {0, 1}\non data d in {0, 1} do\n"
    "n <- choose {d : exp(eps)/(1 + exp(eps)), 1 - d : 1/(1 + exp(eps))}\nend\n"
    "on query ask do reply <- n end\n"
)
"""What is stored was chosen by the data: both runs may have stored either."""
OPEN = (HEAD + COIN).replace("0..1 <- 0", "0..1 <- 1", 1) + ONCE
"""A coin that nobody sees decides whether data is kept."""
THRESHOLD = (HEAD + DATA + ONCE).replace(
    "reply <- clamp(DLap(n, 1 / eps), 0, 1)",
    "z <- Lap(n, 2 / eps)\nif z >= 3/4 then reply <- 1 else reply <- 0 end",
)
"""How likely replies are is no power of e^eps times how likely they are in the other run."""
THRESHOLD_FOR_EVER = THRESHOLD.replace("done <- true", "skip")
ONE_SIDED = (HEAD + DATA + ONCE).replace("if done then", "if done or n = 0 then")


def certificate(text: str, *users: str, budget: Fraction | None = None) -> dict[str, Any]:
    """Prove, certify, and return the certificate as a file would have it."""
    proof = prove_service(service_of(text), budget, users, Limits())
    assert without_evidence(proof) is None
    fields = json.loads(certify_service(proof, text).to_json())
    assert isinstance(fields, dict)
    return fields


def signed(fields: dict[str, Any]) -> dict[str, Any]:
    """Give a changed certificate the digest of what it is now."""
    fields["digest"] = digest(fields)
    return fields


@pytest.mark.parametrize(
    "text",
    [TWICE, FOR_EVER, ONE_SIDED, "adjacent replace\n" + TWICE, HEAD + DATA + ONCE,
     HEAD + COIN + ONCE, "adjacent replace\n" + HEAD + COIN + ONCE, STORED, OPEN,
     THRESHOLD, THRESHOLD_FOR_EVER],
)  # fmt: skip
def test_true_certificates_are_confirmed(text: str) -> None:
    fields = certificate(text)
    check_schema("service_certificate", fields)
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.reason
    assert result.describe()


def _lower_value(fields: dict[str, Any]) -> None:
    for pair in fields["evidence"]["pairs"]:
        if Fraction(pair[2]):
            pair[2] = str(Fraction(pair[2]) / 2)


def _drop_pair(fields: dict[str, Any]) -> None:
    del fields["evidence"]["pairs"][0]


def _lower_bounds(fields: dict[str, Any]) -> None:
    fields["least_budget"] = {"lower": "1", "upper": "1"}


def _raise_lower(fields: dict[str, Any]) -> None:
    fields["least_budget"]["lower"] = "3/2"
    fields["least_budget"]["upper"] = "2"
    fields["evidence"]["calls"].pop()


def _other_reply(fields: dict[str, Any]) -> None:
    fields["evidence"]["calls"][-1]["reply"] = [0]


def _other_value(fields: dict[str, Any]) -> None:
    fields["evidence"]["pairs"][0][0][0] = 7


def _other_query(fields: dict[str, Any]) -> None:
    fields["evidence"]["calls"][-1]["first"]["name"] = "asked"


def _two_differences(fields: dict[str, Any]) -> None:
    fields["evidence"]["calls"].insert(0, fields["evidence"]["calls"][0])


def _other_user(fields: dict[str, Any]) -> None:
    fields["examiner"] = ["mallory"]


@pytest.mark.parametrize(
    "change",
    [_lower_value, _drop_pair, _lower_bounds, _raise_lower, _other_reply, _other_value,
     _other_query, _two_differences, _other_user],
)  # fmt: skip
def test_false_certificates_are_refuted(change: Callable[[dict[str, Any]], None]) -> None:
    fields = copy.deepcopy(certificate(TWICE))
    change(fields)
    assert check(signed(fields)).outcome is Outcome.REFUTED


def test_a_false_gain_and_a_false_one_sided_reply_are_refuted() -> None:
    fields = certificate(FOR_EVER)
    fields["evidence"]["repeated"]["gain"] = "2"
    assert check(signed(fields)).outcome is Outcome.REFUTED
    fields = certificate(ONE_SIDED)
    fields["evidence"]["calls"][-1]["reply"] = ["stop"]
    assert check(signed(fields)).outcome is Outcome.REFUTED
    fields = certificate(TWICE)
    fields["program"]["text"] += "# changed\n"
    assert check(signed(fields)).outcome is Outcome.REFUTED


def test_values_too_small_for_hidden_coins_are_refuted() -> None:
    for text in (HEAD + COIN + ONCE, OPEN):
        fields = certificate(text)
        _lower_value(fields)
        assert check(signed(fields)).outcome is Outcome.REFUTED
    fields = certificate(STORED)
    fields["least_budget"] = {"lower": "1/2", "upper": "1/2"}
    assert check(signed(fields)).outcome is Outcome.REFUTED


def test_false_ones_about_other_quotients_are_refuted() -> None:
    fields = certificate(THRESHOLD)
    assert fields["evidence"]["pairs"]
    _lower_value(fields)
    assert check(signed(fields)).outcome is Outcome.REFUTED
    fields = certificate(THRESHOLD_FOR_EVER)
    repeated = fields["evidence"]["repeated"]
    assert repeated["gain"] is None and Fraction(repeated["eps"]) > 0
    result = check(fields)
    assert isinstance(result, CheckResult) and "serves every" in str(result.describe())
    replies = {event["reply"][0] for event in repeated["events"]}
    for event in repeated["events"]:
        event["reply"] = [1 - reply for reply in replies if reply in (0, 1)]
    assert check(signed(fields)).outcome is Outcome.REFUTED


def test_malformed_ones_are_errors_of_the_user() -> None:
    fields = certificate(TWICE)
    del fields["evidence"]["pairs"]
    with pytest.raises(UserError, match="malformed"):
        check(signed(fields))
    fields = certificate(FOR_EVER)
    for changes in ({"gain": "0"}, {"gain": None}, {"eps": "1"}, {"gain": None, "eps": "0"}):
        changed = copy.deepcopy(fields)
        changed["evidence"]["repeated"] |= changes
        with pytest.raises(UserError, match="malformed"):
            check(signed(changed))


def test_what_has_no_certificate_says_why(tmp_path: Path) -> None:
    proof = prove_service(service_of(HEAD + DATA + ONCE), None, (), Limits(), Fraction(1))
    assert without_evidence(proof) == "the answer is about one ε"
    slots = str(BUNDLED / "services" / "slots.dpg")
    out = tmp_path / "slots.json"
    assert run("prove", slots, "--eps", "1", "--certificate", str(out))[0] == 0
    assert not out.exists()
    assert run("prove", slots, "--certificate", str(out))[0] == 0
    assert run("check", str(out))[0] == 0


def test_python_certifies_what_it_proves() -> None:
    path = BUNDLED / "services" / "cache.dpg"
    text = path.read_text(encoding="utf-8")
    proof = dipapprox.prove(path, examiner=())
    assert isinstance(proof, dipapprox.ServiceProof)
    certificate = dipapprox.certify(proof.service, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
    with pytest.raises(UserError, match=r"proof\.service"):
        dipapprox.certify(service_of(TWICE), text, proof)


def test_the_command_writes_what_check_confirms(tmp_path: Path) -> None:
    users = str(BUNDLED / "services" / "users.dpg")
    out = str(tmp_path / "users.json")
    assert run("prove", users, "--examiner", "bob", "--certificate", out)[0] == 0
    status, fields = run_json("check", out)
    assert status == 0
    assert fields["least_budget"] == {"lower": "1/2", "upper": "1/2"}
    check_schema("check", fields)


@settings(max_examples=15, deadline=None)
@given(services())
def test_certificates_of_random_services_are_confirmed(text: str) -> None:
    proof = prove_service(service_of(text), None, (), Limits())
    if without_evidence(proof) is not None:
        return
    result: CheckResult = check(certify_service(proof, text).to_json())
    assert result.outcome is Outcome.CONFIRMED, result.reason
