"""Files of proofs that `decide` writes: true ones are confirmed, others are not."""

import json
from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options
from dipapprox.language.load import load
from dipapprox.replays.digest import digest, text_hash
from dipapprox.replays.result import Outcome, Replay
from tests.cli.running import run, run_json
from tests.schemas import validator
from tests.texts import text_of

PROGRAMS = Path(__file__).parent.parent.parent / "programs"
Fields = dict[str, Any]


def certified(text: str, **asked: Any) -> Fields:
    """Decide, and return the file."""
    program = dipapprox.parse(text)
    found = dipapprox.decide(program, **asked)
    fields = json.loads(dipapprox.certify(program, text, found, **_pairs(asked)).to_json())
    assert isinstance(fields, dict)
    return fields


def _pairs(asked: dict[str, Any]) -> dict[str, Any]:
    return {"pairs": asked["pairs"]} if "pairs" in asked else {}


def checked(fields: Fields) -> Replay:
    """Check a file with a digest that fits."""
    whole = {key: value for key, value in fields.items() if key != "digest"}
    found = dipapprox.check(json.dumps({**whole, "digest": digest(whole)}))
    assert isinstance(found, Replay)
    validator("check").validate(json.loads(found.to_json()))
    return found


def with_claim(fields: Fields, field: str, value: Any) -> Fields:
    """The file with another claim, also in the step that concludes it."""
    last = {**fields["steps"][-1], field: value}
    steps = [*fields["steps"][:-1], last]
    return {**fields, "claim": {**fields["claim"], field: value}, "steps": steps}


@pytest.mark.parametrize(("name", "status"), [("svt1", 0), ("svt4", 1)])
def test_the_command_writes_what_check_confirms(name: str, status: int, tmp_path: Path) -> None:
    file, again = tmp_path / "out.json", tmp_path / "again.json"
    words = ("decide", str(PROGRAMS / "dipc" / f"{name}.dpg"), "--certificate")
    assert run(*words, str(file))[0] == status
    code, fields = run_json(*words, str(again), "--proved")
    assert (code, fields["proved"]["steps"]) == (status, 2 + status)
    validator("decide").validate(fields)
    assert json.loads(file.read_text())["steps"] == json.loads(again.read_text())["steps"]
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (0, "confirmed")
    assert "0 < eps" in run("check", str(file), "--explain")[1]
    file.write_text(file.read_text().replace('"eps_prv": ["eps"]', '"eps_prv": 3'))
    assert run("check", str(file))[0] == 1


def test_the_command_says_why_there_is_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    words = ("decide", str(PROGRAMS / "svt_gauss.dpg"), "--interval", "1/2..1")
    assert run(*words, "--certificate", str(file))[0] == 0
    assert "no closed form of Gauss noise" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    code, fields = run_json(*words, "--proved")
    assert (code, fields["verdict"], fields["reason"]) == (3, "Unknown", "no-proof")
    validator("decide").validate(fields)


VERIFIED = [
    ("svt_laplace", {"delta": 0}, Answer.DP, True),
    ("svt_laplace", {"delta": 0, "eps_prv": "eps/3"}, Answer.NOT_DP, True),
    ("svt_laplace", {"delta": "exp(-1) - 1/5", "eps_prv": "eps * 2 / 3"}, Answer.DP, True),
    ("svt_gauss", {"delta": "1/10"}, Answer.DP, True),
    ("svt_gauss", {"delta": "1/5", "eps_prv": "eps^2"}, Answer.UNKNOWN, False),
    ("numbers/truncated_gauss", {"delta": "1/9", "eps_prv": "3*eps"}, Answer.DP, True),
    ("svt_gauss_leaky_1", {"delta": 0, "eps_prv": "eps/9"}, Answer.NOT_DP, True),
]


@pytest.mark.parametrize(("name", "claim", "answer", "proved"), VERIFIED)
def test_verdicts_on_intervals_are_replayed(
    name: str, claim: dict[str, Any], answer: Answer, proved: bool, tmp_path: Path
) -> None:
    path = PROGRAMS / f"{name}.dpg"
    program, text = load(path, {}), path.read_text(encoding="utf-8")
    found = dipapprox.verify(program, eps="1/4..1/2", options=Options(proved=True), **claim)
    assert (found.answer, found.replayed is not None) == (answer, proved)
    fields = json.loads(found.to_json())
    validator("verify_interval").validate(fields)
    assert ("proved" in fields) is proved
    if proved:
        result = dipapprox.check(dipapprox.certify(program, text, found).to_json())
        assert result.outcome is Outcome.CONFIRMED
    else:
        assert "no closed form of Gauss noise" in str(found.reason)
    words = [f"--{key.replace('_', '-')}={value}" for key, value in claim.items()]
    file = tmp_path / "out.json"
    places = ("verify", str(path), "--eps", "1/4..1/2", *words, "--proved", "--certificate")
    assert run(*places, str(file))[0] == {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: 3}[answer]
    assert file.exists() is proved


@pytest.mark.parametrize("name", ["svt1", "svt4"])
def test_another_program_is_refuted_whoever_renews_its_hash(name: str) -> None:
    fields = certified(text_of(f"dipc/{name}"))
    assert checked(fields).outcome is Outcome.CONFIRMED
    text = fields["program"]["text"]
    for old, new in (("4 *", "5 *"), ("r >= rT", "r <= rT"), ("Lap(T", "Lap(1 + T")):
        assert old in text
        other = text.replace(old, new)
        program = {**fields["program"], "text": other, "sha256": text_hash(other)}
        assert checked({**fields, "program": program}).outcome is Outcome.REFUTED
    assert (
        checked({**fields, "params": {**fields["params"], "T": "1/2"}}).outcome is Outcome.REFUTED
    )


COINS = """
input q in 0..1
input p in 0..1
output out in 0..1
adjacent linf 1
out <- choose {0 : 1/2 + (1 - 2*q) * eps / (8 - 6*p), 1 : 1/2 - (1 - 2*q) * eps / (8 - 6*p)}
"""
ENDING = """
input q in 0..1
output out in 0..1
adjacent all
s <- 0
while s = 0 do
    s <- choose {1 : (eps - 1) * (eps - 1) / 100, 0 : 1 - (eps - 1) * (eps - 1) / 100}
end
out <- choose {q : exp(eps) / (1 + exp(eps)), 1 - q : 1 / (1 + exp(eps))}
"""
FALLING: Any = ["+", "1/1000", ["*", -1, ["*", ["+", ["eps"], -9], ["+", ["eps"], -9]]]]
MEANINGLESS: list[tuple[str, str, tuple[str, str], str, Any]] = [
    (COINS, "0", ("1/10", "1/2"), "eps", {"from": "1/10", "to": 3}),
    (COINS, "0", ("1/10", "1"), "eps", {"from": "1/10", "to": None}),
    (COINS, "1/1000", ("1/10", "1"), "delta", FALLING),
    (COINS, "0", ("1/10", "1"), "eps_prv", ["*", -1, ["eps"]]),
    (ENDING, "0", ("2", "3"), "eps", {"from": "1/2", "to": 3}),
]


@pytest.mark.parametrize(("text", "delta", "interval", "field", "value"), MEANINGLESS)
def test_claims_have_a_meaning_on_all_of_their_interval(
    text: str, delta: str, interval: tuple[str, str], field: str, value: Any
) -> None:
    """What `decide` refuses to answer is not confirmed, however true the violation is."""
    fields = certified(text, budget="1/100", delta=delta, interval=interval)
    assert (fields["verdict"], checked(fields).outcome) == ("Not_DP", Outcome.CONFIRMED)
    changed = with_claim(fields, field, value)
    assert checked(changed).outcome is not Outcome.CONFIRMED
    if field == "eps":
        # Also if the run says so.
        steps = [
            {**step, "eps": value} if isinstance(step.get("eps"), dict) else step
            for step in changed["steps"]
        ]
        assert checked({**changed, "steps": steps}).outcome is not Outcome.CONFIRMED
