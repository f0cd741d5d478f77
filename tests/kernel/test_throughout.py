"""What `decide` decides is replayed, in files too, and nothing false is."""

import json
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options, Outcome, Replay, UserError
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.judgements import Private, Violated
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.replay import apply, replay
from dipapprox.kernel.signs import Epsilons
from dipapprox.language.load import load
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.throughout import GoalThroughout, replayed_throughout
from dipapprox.replays.result import digest, text_hash
from kernel.forgeries import judged, several, single_changes, spread
from kernel.machines import RUN, finite, private
from kernel.small import program_of
from kernel.throughout import ASKED, TURNING, Asked, proofs
from tests.cases import THOROUGH, part, refuses, text_of
from tests.cli.running import run, run_json
from tests.schemas import validator

LONGEST = 5_000
"""Characters of a proof that is changed in every place."""


@pytest.mark.parametrize("name", ASKED)
def test_what_is_decided_is_replayed(name) -> None:
    asked = ASKED[name]
    assert asked.decision().answer.value == asked.answer
    found = replay(*proofs()[name])
    kind = Private if asked.answer == "DP" else Violated
    assert isinstance(found, kind)


@pytest.mark.parametrize("name", part(["rappor_one_time", "laplace_parallel"], 2))
def test_violations_of_many_independent_parts_are_replayed(name) -> None:
    """Of a million outputs, nobody goes through all."""
    program = load(Path(f"programs/literature/{name}.dpg"), {})
    found = dipapprox.decide(program, options=Options(proved=True))
    assert found.answer is Answer.NOT_DP and found.run.reason is None


def test_changes_are_noticed_or_make_no_difference() -> None:
    honest = proofs().items()
    short = ((name, proof) for name, proof in honest if len(json.dumps(proof)) <= LONGEST)
    counts = judged(spread(short, 487))
    assert counts["refused"] > 40
    assert counts["true"] + counts["undecided"] > 2
    assert judged(islice(several(honest, 31), 100 if THOROUGH else 50))["refused"] > 20


def test_numbers_of_a_violation_are_held_against_its_premises() -> None:
    """The claim and the last step say something else than the steps before."""
    wrong: list[tuple[str, Any]] = []
    nothing: dict[str, Any] = {"inputs": [], "outputs": [], "body": []}
    for name, (machine, claim, steps) in proofs().items():
        if steps[-1]["rule"] == "violated somewhere":
            changes = list(single_changes((nothing, claim, steps)))
            for _, said, forged in part(changes, 2):
                if said != claim and forged != steps and forged[:-1] == steps[:-1]:
                    wrong.append((name, (machine, said, forged)))
    assert judged(wrong)["refused"] > 50


def test_a_violation_somewhere_is_one_somewhere_wider() -> None:
    """Its numbers are formulas, and a formula may be told of the one eps of a point."""
    halved = ["*", "1/2", ["eps"]]
    body = [
        ["draw", ["cell", "x"], "Lap", ["cell", "q"], [1, -1]],
        ["if", ["<", ["cell", "x"], 0], [["set", ["cell", "o"], 0]], [["set", ["cell", "o"], 1]]],
    ]
    machine = finite(body, inputs=[["q", [0, 5]]])
    run = RUN | {"inputs": [[0], [5]]}
    violation = {"rule": "violation", "from": [-1], "eps_prv": "1/2", "delta": "1/10"}
    violation |= {"input": [0], "adjacent": [5], "outputs": [[0]]}
    somewhere = {"rule": "violated somewhere", "from": [-2], "eps_prv": halved, "delta": "1/10"}
    wider = {"from": "1/2", "to": 2}
    steps = [run, violation, {**somewhere, "eps": 1}]
    claim = {"verdict": "Not_DP", "eps": wider, "eps_prv": halved, "delta": "1/10", "pairs": None}
    replay(machine, claim, [*steps, {**somewhere, "from": [-3], "eps": wider}])
    more = {**somewhere, "from": [-3], "eps": wider, "eps_prv": ["eps"]}
    refuses(Refuted, "less than", replay, machine, claim, [*steps, more])


CLAIMED: list[tuple[str, str, Any]] = [
    ("named values, kept", "eps_prv", ["*", "1/2", ["eps"]]),
    ("named values, kept", "eps_prv", "1/2"),
    ("one-sided, kept", "delta", ["+", "999/1000", ["*", -1, ["exp", ["*", -1, ["eps"]]]]]),
    ("one-sided, kept", "delta", 0),
    ("signs that change", "delta", "1/2"),
    ("signs that change", "eps", {"from": 0, "to": None}),
    ("in proportion", "eps", {"from": 0, "to": 2}),
    ("a coin, then noise", "eps", {"from": "1/4", "to": 2}),
    ("integers", "eps_prv", ["*", "1/8", ["eps"]]),
    ("a loop", "eps_prv", ["*", "1/4", ["eps"]]),
    ("an irrational bound", "eps", {"from": 0, "to": None}),
    ("one-sided, broken", "eps", {"from": 1000, "to": 1001}),
    ("signs that change, broken", "delta", "3/4"),
    ("integers, broken", "eps_prv", ["*", 2, ["eps"]]),
    ("integers, broken", "eps_prv", 5),
]  # fmt: skip
"""False claims, or claims about which the steps say nothing."""


@pytest.mark.parametrize(("name", "field", "new"), CLAIMED)
def test_other_claims_are_not_concluded(name, field, new) -> None:
    machine, claim, steps = proofs()[name]
    refuses(NotProved, None, replay, machine, {**claim, field: new}, steps)
    with pytest.raises(NotProved):
        replay(machine, {**claim, field: new}, [*steps[:-1], {**steps[-1], field: new}])
    changed = [{**step, field: new} if field in step else step for step in steps]
    refuses(NotProved, None, replay, machine, {**claim, field: new}, changed)


def test_a_constant_eps_prv_is_bounded_from_below() -> None:
    """(1/2, 0) on [1/8, 1/2] is attained at its end; a hair more is enough."""
    setting = Setting(program_of(ASKED["named values, kept"].text), AllPairs(), Options())
    on = Epsilons(Fraction(1, 8), Fraction(1, 2))
    for eps_prv in ("1/2", "501/1000"):
        goals = [GoalThroughout(on, eps_prv, 0, None)]
        if eps_prv == "1/2":
            refuses(NotProved, None, replayed_throughout, setting, goals)
        else:
            assert replayed_throughout(setting, goals).steps == 2


def test_weights_that_are_no_probabilities_somewhere_are_refused() -> None:
    machine, _, _ = proofs()["signs that change"]
    assert "eps / 4" in TURNING
    for to in ("201/100", None):
        step = RUN | {"bits": None, "eps": {"from": 0, "to": to}}
        refuses(NotProved, None, apply, Proof(read_machine(machine), None), {}, step)
    refuses(UserError, None, Asked(TURNING, "DP", interval="0..3").decision)


CHOICE = """
input q in {0, 1}
output out in {0, 1}
adjacent all
a <- choose {0 : 1, 1 : 0}
out <- choose {WEIGHTS}
"""
TINY = "1/1" + "0" * 300
WEIGHTS = [
    f"0 : 1/2, 1 : 1/2 + {TINY}",
    f"0 : 1/2, 1 : 1/2 - {TINY}",
    f"0 : 1 + {TINY}, 1 : -{TINY}",
    "0 : 1/2 * (eps - 1) / (eps - 1), 1 : 1/2",
    "0 : 1/2 + 0 / (eps - 1), 1 : 1/2",
    "0 : 1/2 + (eps - 1) / 10 ^ 100, 1 : 1/2",
    "0 : 1/4, 1 : 1/4",
]
HALVES = "0 : 1/2, 1 : 1/2"


def fair(weights: str, delta: Any, interval: tuple[Any, Any]) -> object:
    """Replay that a program whose inputs do nothing is private."""
    run = RUN | {"eps": {"from": interval[0], "to": interval[1]}, "bits": None}
    machine = machine_json(program_of(CHOICE.replace("WEIGHTS", weights)))
    return replay(*private(machine, run, ["eps"], delta))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_what_is_no_distribution_somewhere_is_not_confirmed(weights) -> None:
    for interval in ((0, None), ("1/2", 1), (1, 1), (1, 2)):
        if "10 ^" in weights and interval == (1, 1):
            continue  # it is one at eps = 1
        refuses(NotProved, None, fair, weights, 0, interval)
        assert isinstance(fair(HALVES, 0, interval), Private)


HOLES = [
    "(D)*(eps-1)/(eps-1)", "(D)*((eps-1)/(eps-1))", "(D)/((eps-1)/(eps-1))",
    "(D)+0/(eps-1)", "(D)+0*(eps-1)^-1", "(D)*exp(0*(eps-1)/(eps-1))",
    "(D)*(exp(eps)-exp(2*eps)/exp(eps)+1)^0/(eps-1)*(eps-1)", "0*(eps-1)/(eps-1)",
]  # fmt: skip


def weight(text: str) -> Any:
    """The first weight of a choice, as machines have it."""
    body: Any = machine_json(program_of(CHOICE.replace("WEIGHTS", f"0 : {text}, 1 : 1/2")))["body"]
    return [each[2][0][1] for each in body if each[0] == "choose"][1]


def test_a_delta_is_defined_on_the_whole_interval() -> None:
    for delta in ("0", "exp(-eps)", "1/(1 + eps)", "exp(-eps)/(1 + exp(-eps))", "(1 + eps)^-1"):
        given = weight(delta)
        assert isinstance(fair(HALVES, given, (0, None)), Private), delta
    for hole in HOLES:
        for inside in ("exp(-eps)", "1/2", "0"):
            given = weight(hole.replace("D", inside))
            for interval in ((0, None), (1, 1)):
                refuses(NotProved, None, fair, HALVES, given, interval)


# --- Files of proofs that `decide` writes ---------------------------------------------------------

PROGRAMS = Path(__file__).parent.parent.parent / "programs"
Fields = dict[str, Any]


def certified(text: str, **asked: Any) -> Fields:
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
    validator("check").validate(json.loads(found.to_json()))
    return found


def with_claim(fields: Fields, field: str, value: Any) -> Fields:
    """The file with another claim, also in the step that concludes it."""
    last = {**fields["steps"][-1], field: value}
    steps = [*fields["steps"][:-1], last]
    return {**fields, "claim": {**fields["claim"], field: value}, "steps": steps}


@pytest.mark.parametrize(("name", "status"), [("svt1", 0), ("svt4", 1)])
def test_the_command_writes_what_check_confirms(name, status, tmp_path) -> None:
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


def test_the_command_says_why_there_is_no_certificate(tmp_path, capsys) -> None:
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
    ("svt_gauss", {"delta": "1/5", "eps_prv": "eps^2"}, Answer.DP, True),
    ("numbers/truncated_gauss", {"delta": "1/9", "eps_prv": "3*eps"}, Answer.DP, True),
    ("svt_gauss_leaky_1", {"delta": 0, "eps_prv": "eps/9"}, Answer.NOT_DP, True),
]


@pytest.mark.parametrize(("name", "claim", "answer", "proved"), part(VERIFIED, 2))
def test_verdicts_on_intervals_are_replayed(name, claim, answer, proved, tmp_path) -> None:
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
    if (name, claim, answer, proved) not in part(VERIFIED, 3):  # the command says the same
        return
    words = [f"--{key.replace('_', '-')}={value}" for key, value in claim.items()]
    file = tmp_path / "out.json"
    places = ("verify", str(path), "--eps", "1/4..1/2", *words, "--proved", "--certificate")
    assert run(*places, str(file))[0] == {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: 3}[answer]
    assert file.exists() is proved


@pytest.mark.parametrize("name", ["svt1", "svt4"])
def test_another_program_is_refuted_whoever_renews_its_hash(name) -> None:
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


COINS = text_of("kernel/throughout-coins")
FALLING: Any = ["+", "1/1000", ["*", -1, ["*", ["+", ["eps"], -9], ["+", ["eps"], -9]]]]
MEANINGLESS: list[tuple[str, str, tuple[str, str], str, Any]] = [
    (COINS, "0", ("1/10", "1/2"), "eps", {"from": "1/10", "to": 3}),
    (COINS, "0", ("1/10", "1"), "eps", {"from": "1/10", "to": None}),
    (COINS, "1/1000", ("1/10", "1"), "delta", FALLING),
    (COINS, "0", ("1/10", "1"), "eps_prv", ["*", -1, ["eps"]]),
    (text_of("kernel/throughout-ending"), "0", ("2", "3"), "eps", {"from": "1/2", "to": 3}),
]


@pytest.mark.parametrize(("text", "delta", "interval", "field", "value"), MEANINGLESS)
def test_claims_have_a_meaning_on_all_of_their_interval(
    text, delta, interval, field, value
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
