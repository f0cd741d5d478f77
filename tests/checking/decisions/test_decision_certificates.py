"""Certificates of decisions: true ones are confirmed, forged ones refuted."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.replays.result import Outcome
from tests.checking.certified import (
    PROGRAMS,
    Fields,
    at,
    check_changes_are_noticed,
    places,
    replaced,
    signed,
)
from tests.checking.decisions.decided import decision_certificate
from tests.cli.running import run, run_json
from tests.schemas import validator
from tests.test_decisions import ALL, Expectation

QUICK = [
    each
    for each in ALL
    if each.path.parent.name == "dipc"
    and each.answer in ("DP", "Not_DP")
    and (each.answer == "Not_DP" or each.settings["N"] in ("1", "2") or each.path.stem == "sparse")
    and each.settings.get("labels") != "2"
    and (each.path.stem != "sparse" or each.settings["c"] == "1")
]


def confirmed(fields: Fields) -> CheckResult:
    """Check a true certificate, as the text of a file."""
    validator("decision_certificate").validate(fields)
    result = check(json.dumps(fields))
    assert (result.outcome, result.differences, result.reason) == (Outcome.CONFIRMED, (), None)
    assert result.shared == ()
    validator("check").validate(json.loads(result.to_json()))
    assert "confirmed" in result._repr_html_()
    return result


def refuted(fields: Fields) -> str:
    """Check a false certificate with a digest that fits, and return what is false."""
    result = check(signed(fields))
    assert result.outcome is Outcome.REFUTED, (result.outcome, result.reason)
    validator("check").validate(json.loads(result.to_json()))
    return "; ".join(result.differences)


@pytest.mark.parametrize("expected", QUICK, ids=lambda e: f"{e.path.stem}-{e.settings}")
def test_decisions_of_the_paper_s_programs_are_confirmed(expected: Expectation) -> None:
    settings = dict(expected.settings)
    budget, delta = settings.pop("budget", "1"), settings.pop("delta", "0")
    interval = expected.interval or "0..inf"
    fields = decision_certificate(expected.path.stem, settings, budget, delta, interval)
    assert fields["verdict"] == expected.answer
    result = confirmed(fields)
    assert result.inputs > 0
    if expected.answer == "DP":
        assert result.inequalities == len(fields["evidence"]["inequalities"])
        assert result.pairs == fields["pairs"]["count"]


PAIR = {"pairs": "-1,0~0,-1"}
"""The pair for which svt4 is violated exactly below 2.0319…"""

HARD = [
    ("svt4", {"interval": "2.04..inf", **PAIR}, "factors"),
    ("svt4", {"interval": "2.04..10", **PAIR}, "factors"),
    ("svt4", {"interval": "3", **PAIR}, "point"),
    ("svt4", {"delta": "1/150", **PAIR}, "factors"),
    ("svt4", {"delta": "eps/100", **PAIR}, "derivatives at 0"),
    ("sparse", {"delta": "1/20", "budget": "1/2", "interval": "0..1"}, "factors"),
    ("sparse", {"delta": "1 - exp(-eps/2)", "budget": "1/2"}, "derivatives at 0"),
]


@pytest.mark.parametrize(
    ("name", "budget", "verdict"),
    [
        ("rand1", "12345/12343", "DP"),
        ("rand1", "1000000001/1000000000", "DP"),
        ("rand1", "999999/1000000", "Not_DP"),
        ("nmax2", "999999999/1000000000", "Not_DP"),
        ("nmax2", "1000000001/1000000000", "DP"),
    ],
)
def test_budgets_with_large_denominators_are_confirmed(
    name: str, budget: str, verdict: str
) -> None:
    fields = decision_certificate(name, {"N": "2"}, budget)
    assert fields["verdict"] == verdict
    confirmed(fields)


@pytest.mark.parametrize(("name", "question", "kind"), HARD)
def test_every_kind_of_proof_is_confirmed(name: str, question: dict[str, str], kind: str) -> None:
    fields = decision_certificate(name, **question)  # type: ignore[arg-type]  # texts; none is `settings`
    assert fields["verdict"] == "DP"
    kinds = {each["proof"]["kind"] for each in fields["evidence"]["inequalities"]}
    assert kind in kinds
    confirmed(fields)


# --- forgeries --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def private() -> Fields:
    """SVT1, N = 2: private for all ε."""
    return decision_certificate("svt1")


@pytest.fixture(scope="module")
def late() -> Fields:
    """SVT4 and one pair: private from 2.04 on, by factors and boxes."""
    return decision_certificate("svt4", interval="2.04..inf", pairs="-1,0~0,-1")


@pytest.fixture(scope="module")
def sparse() -> Fields:
    """Sparse: (ε/2, e^(-2))-private for all ε."""
    return decision_certificate("sparse", budget="1/2", delta="exp(-2)")


@pytest.fixture(scope="module")
def violated() -> Fields:
    """SVT4, N = 2: violated at ε = 1."""
    return decision_certificate("svt4")


def test_no_form_can_be_changed(private: Fields, sparse: Fields, violated: Fields) -> None:
    draw = random.Random(1)
    for fields, most in ((private, 3), (sparse, 3), (violated, 9)):
        numbers = [p for p in places(fields["evidence"]) if "form" in p or "adjacent_form" in p]
        for place in draw.sample(numbers, min(most, len(numbers))):
            value = at(fields["evidence"], place)
            other = value + 9 if isinstance(value, int) else str(Fraction(value) + Fraction(7, 13))
            refuted(replaced(fields, ("evidence", *place), other))


def test_no_inequality_can_be_dropped(private: Fields, sparse: Fields) -> None:
    inequalities = private["evidence"]["inequalities"]
    for k in range(0, len(inequalities), 11):
        rest = inequalities[:k] + inequalities[k + 1 :]
        said = refuted(replaced(private, ("evidence", "inequalities"), rest))
        assert "none is recorded for the pair" in said
    largest = max(sparse["evidence"]["inequalities"], key=lambda each: len(each["outputs"]))
    rest = [each for each in sparse["evidence"]["inequalities"] if each != largest]
    assert "none is recorded" in refuted(replaced(sparse, ("evidence", "inequalities"), rest))


def test_no_box_can_be_changed(late: Fields) -> None:
    numbers = [p for p in places(late["evidence"]) if "cover" in p]
    assert len(numbers) > 10
    for place in numbers:
        value = at(late["evidence"], place)
        if value is None:
            continue
        if value in ("constant", "monotone"):
            other: object = "crossing"
        else:
            other = -value if isinstance(value, int) else f"{value}9"
        assert "proof is wrong" in refuted(replaced(late, ("evidence", *place), other))


def test_another_claim_needs_other_evidence(private: Fields, late: Fields, sparse: Fields) -> None:
    assert "none is recorded" in refuted(replaced(private, ("claim", "budget"), "1/2"))
    assert "none is recorded" in refuted(replaced(private, ("claim", "budget"), "2"))
    # That claim follows as well, but the forms are not those of its inequalities.
    assert "not that of its pair" in refuted(replaced(private, ("claim", "delta"), "1/100"))
    assert "proof is wrong" in refuted(replaced(late, ("claim", "interval"), ["0", "inf"]))
    assert "proof is wrong" in refuted(replaced(late, ("claim", "interval"), ["2", "inf"]))
    assert "proof is wrong" in refuted(replaced(late, ("claim", "interval"), ["3", "4"]))
    assert "delta_below" in refuted(replaced(sparse, ("claim", "delta"), "1/8"))
    assert "delta_below" in refuted(replaced(sparse, ("evidence", "delta_below"), "1/7"))
    assert "none is recorded" in refuted(replaced(sparse, ("evidence", "delta_below"), "1/8"))
    assert "there are 40" in refuted(replaced(private, ("pairs", "count"), 41))


def test_every_representative_is_compared(private: Fields) -> None:
    place = ("evidence", "inequalities", 0)
    first = at(private, place)
    swapped = {**first, "input": first["adjacent"], "adjacent": first["input"]}
    assert "not that of its pair" in refuted(replaced(private, place, swapped))
    far = {**first, "input": [-1, 1], "adjacent": [1, 1]}
    assert "not among the pairs" in refuted(replaced(private, place, far))
    twice = {**first, "outputs": first["outputs"] * 2}
    assert "listed twice" in refuted(replaced(private, place, twice))


def test_a_witness_must_be_one(violated: Fields) -> None:
    def changed(name: str, value: object) -> Fields:
        return replaced(violated, ("evidence", name), value)

    evidence = violated["evidence"]
    assert "no violation" in refuted(changed("eps", "3"))
    assert "not in the interval" in refuted(replaced(violated, ("claim", "interval"), ["2", "3"]))
    assert "no violation" in refuted(replaced(violated, ("claim", "budget"), "2"))
    assert "no violation" in refuted(replaced(violated, ("claim", "delta"), "exp(-2)"))
    assert "no violation" in refuted(changed("outputs", []))
    assert "closed form" in refuted(changed("input", [0, 0]))
    assert "not among the pairs" in refuted(changed("input", [-1, 1]))
    assert "listed twice" in refuted(changed("outputs", evidence["outputs"] * 2))
    assert "the file says" in refuted(changed("lhs_enclosure", ["0.9", "1"]))
    assert "the file says" in refuted(changed("rhs_enclosure", ["0", "0.01"]))
    wide = check(signed(changed("lhs_enclosure", ["0", "1"])))
    assert wide.outcome is Outcome.NOT_CONFIRMED
    assert "too wide" in (wide.reason or "")


@pytest.mark.parametrize("which", ["private", "violated"])
def test_another_program_is_refuted_whoever_renews_its_hash(
    which: str, request: pytest.FixtureRequest
) -> None:
    fields = request.getfixturevalue(which)
    text = fields["program"]["text"]
    for old, new in (("4 *", "5 *"), ("r >= rT", "r <= rT"), ("Lap(T", "Lap(1 + T")):
        assert old in text
        other = text.replace(old, new)
        program = {**fields["program"], "text": other, "sha256": text_hash(other)}
        refuted({**fields, "program": program})
    refuted({**fields, "params": {**fields["params"], "T": "1/2"}})


@pytest.mark.parametrize("which", ["private", "violated", "sparse"])
def test_any_changed_character_is_noticed(which: str, request: pytest.FixtureRequest) -> None:
    check_changes_are_noticed(request.getfixturevalue(which), which, 30)


# --- what cannot be confirmed, or not be written ------------------------------------------------

COIN = """
input q in {0, 1}
output out in {0, 1}
adjacent all
"""


def certified(body: str, **question: str) -> CheckResult:
    """Decide, certify and check through the public functions."""
    text = COIN + body
    program = dipapprox.parse(text)
    decision = dipapprox.decide(program, **question)  # type: ignore[arg-type]  # texts; none is another argument
    return dipapprox.check(dipapprox.certify(program, text, decision).to_json())


def test_python_has_certificates_of_decisions() -> None:
    body = "x <- Lap(q, 1 / eps)\nif x >= 0 then out <- 1 else out <- 0 end\n"
    result = certified(body)
    assert result.outcome is Outcome.CONFIRMED
    assert result.answer is dipapprox.Answer.DP


def test_a_pair_that_is_listed_twice_counts_once() -> None:
    text = COIN + "x <- Lap(q, 1 / eps)\nif x >= 0 then out <- 1 else out <- 0 end\n"
    program = dipapprox.parse(text)
    twice = [((0,), (1,)), ((0,), (1,))]
    verdict = dipapprox.verify(program, eps=Fraction(1), delta=Fraction(1, 100), pairs=twice)
    for found in (dipapprox.decide(program, pairs=twice), verdict):
        result = dipapprox.check(dipapprox.certify(program, text, found, pairs=twice).to_json())
        assert (result.outcome, result.pairs) == (Outcome.CONFIRMED, 1)


REMAINDERS = "x <- DLap(q, 1 / eps)\ny <- DLap(0, 1 / eps)\n"


def test_forms_beyond_the_check_are_not_confirmed() -> None:
    body = REMAINDERS + "if 2 * x >= 3 * y then out <- 1 else out <- 0 end\n"
    result = certified(body)
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert "remainders" in (result.reason or "")


def test_a_violation_of_integer_noise_is_examined_by_its_forms() -> None:
    text = COIN + "x <- DLap(q, 1 / (2 * eps))\nif x >= 1 then out <- 1 else out <- 0 end\n"
    program = dipapprox.parse(text)
    decision = dipapprox.decide(program)
    fields = json.loads(dipapprox.certify(program, text, decision).to_json())
    assert check(fields).outcome is Outcome.CONFIRMED
    assert "no violation" in refuted(replaced(fields, ("claim", "budget"), "3"))


def test_a_violation_without_forms_is_confirmed_by_enclosures() -> None:
    body = "x <- Gauss(q, 1 / eps)\nif x >= 3 then out <- 1 else out <- 0 end\n"
    result = certified(body)
    assert (result.outcome, result.answer) == (Outcome.CONFIRMED, dipapprox.Answer.NOT_DP)


def test_weights_and_denominators_of_choices_are_examined() -> None:
    body = "out <- choose { q : 1/2 + eps/8 - eps^2/64, 1 - q : 1/2 - eps/8 + eps^2/64 }\n"
    text = COIN + body
    program = dipapprox.parse(text)
    decision = dipapprox.decide(program, budget=2, interval=(0, 4))
    assert decision.answer is dipapprox.Answer.DP
    fields = json.loads(dipapprox.certify(program, text, decision).to_json())
    assert check(fields).outcome is Outcome.CONFIRMED
    without = check(signed(replaced(fields, ("evidence", "signs"), [])))
    assert without.outcome is Outcome.NOT_CONFIRMED
    assert "weights of a choice" in (without.reason or "")


def test_options_of_weight_0_lead_nowhere() -> None:
    """1 - exp(-eps * room) is 0 where there is no room; the sampler then leaves its range."""
    path = PROGRAMS / "literature" / "truncated_geometric.dpg"
    text = path.read_text(encoding="utf-8")
    program = dipapprox.parse(text)
    decision = dipapprox.decide(program)
    assert decision.answer is dipapprox.Answer.DP
    confirmed(json.loads(dipapprox.certify(program, text, decision).to_json()))


def test_limits_end_a_check(private: Fields) -> None:
    result = check(private, Limits(seconds=1e-9))
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert "time limit" in (result.reason or "")


def test_unknown_decisions_have_no_certificate() -> None:
    program = dipapprox.parse((PROGRAMS / "svt_gauss.dpg").read_text())
    options = dipapprox.Options(limits=Limits(states=1))
    decision = dipapprox.decide(program, options=options)
    assert decision.answer is dipapprox.Answer.UNKNOWN
    with pytest.raises(UserError, match="Unknown"):
        dipapprox.certify(program, (PROGRAMS / "svt_gauss.dpg").read_text(), decision)


@pytest.mark.parametrize(("name", "status"), [("svt1", 0), ("svt4", 1)])
def test_the_command_writes_what_check_confirms(name: str, status: int, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    words = ("decide", str(PROGRAMS / "dipc" / f"{name}.dpg"), "--certificate", str(file))
    assert run(*words)[0] == status
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (0, "confirmed")
    text = run("check", str(file))[1]
    assert "for all ε > 0" in text
    file.write_text(file.read_text().replace('"budget": "1"', '"budget": "3"'))
    assert run("check", str(file))[0] == 1


def test_the_command_says_why_there_is_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    words = ("decide", str(PROGRAMS / "svt_gauss.dpg"), "--interval", "1/2..1")
    assert run(*words, "--certificate", str(file))[0] == 0
    assert "rests on enclosures" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


HALVES = """
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
MEANINGLESS = [
    (HALVES, "0", ("1/10", "1/2"), ("interval", ["1/10", "3"]), "below 0 at eps = 2"),
    (HALVES, "0", ("1/10", "1"), ("interval", ["1/10", "inf"]), "below 0 at eps"),
    (HALVES, "1/1000", ("1/10", "1"), ("delta", "1/1000 - (eps - (AT))^2"), "below 0 at eps"),
    (ENDING, "0", ("2", "3"), ("interval", ["1/2", "3"]), "not shown to end"),
]


@pytest.mark.parametrize(("text", "delta", "interval", "change", "why"), MEANINGLESS)
def test_claims_have_a_meaning_on_all_of_their_interval(
    text: str, delta: str, interval: tuple[str, str], change: tuple[str, object], why: str
) -> None:
    """What `decide` refuses to answer is not confirmed, however true the violation is."""
    program = dipapprox.parse(text)
    decision = dipapprox.decide(program, budget="1/100", delta=delta, interval=interval)
    fields = json.loads(dipapprox.certify(program, text, decision).to_json())
    assert fields["verdict"] == "Not_DP"
    assert check(fields).outcome is Outcome.CONFIRMED
    field, value = change
    if isinstance(value, str):  # the same where the violation is
        value = value.replace("AT", fields["evidence"]["eps"])
    found = check(signed(replaced(fields, ("claim", field), value)))
    assert found.outcome is not Outcome.CONFIRMED
    assert why in str((found.differences, found.reason))
    claim = {"budget": "1/100", "delta": delta, "interval": interval, field: value}
    if isinstance(value, list):
        claim["interval"] = (value[0], None if value[1] == "inf" else value[1])
    with pytest.raises(UserError):
        dipapprox.decide(program, **claim)
