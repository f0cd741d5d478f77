"""Certificates for real inputs: true ones are confirmed, what is confirmed is true."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Limits, Options, RealProof, UserError
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.claims import BudgetClaim
from dipapprox.questions.proof_certificates import without_evidence
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, at, check_changes_are_noticed, places, replaced, signed

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

HEAD = "input q[2] in real\noutput out in 0..2\nadjacent {}\nout <- 0\n"

TEXTS = {
    "noise shared by inputs": HEAD.format("linf 1")
    + "t <- Lap(0, 2/eps)\nr <- Lap(q[1], 4/eps)\ns <- Lap(q[2], 4/eps)\n"
    "if r >= t and s < t then out <- 1 elif r < t then out <- 2 end\n",
    "one input changes": HEAD.format("l1 1")
    + "r <- Lap(q[1], 2/eps)\ns <- Lap(q[2], 3/eps)\nif r >= s then out <- 1 end\n",
    "one side": HEAD.format("increasing 1/2")
    + "r <- LapPlus(q[1], 2/eps)\ns <- LapPlus(q[2], 2/eps)\nif r >= s then out <- 1 end\n",
    "impossible": HEAD.format("linf 1") + "r <- LapPlus(q[1], 2/eps)\nif r < 0 then out <- 1 end\n",
    "integers": HEAD.format("linf 2")
    + "z <- DLap(q[1], 2/eps)\ny <- DLap(0, 1/eps)\nif z > y then out <- 1 end\n",
    "Gaussian": HEAD.format("linf 1")
    + "r <- Gauss(q[1], 1/eps)\nt <- Lap(0, 1/eps)\nif r >= t then out <- 1 end\n",
    "bounded": HEAD.format("linf 3").replace("real", "real 0..1")
    + "r <- Lap(q[1] + q[2], 1/eps)\nif r >= 0 then out <- 1 end\n",
    "a number": "input q[2] in real\noutput out in 0..1\noutput y in real\nadjacent linf 1\n"
    "t <- Lap(0, 2/eps)\nr <- Lap(q[1], 4/eps)\nout <- 0\n"
    "if r >= t then\nout <- 1\ny <- Lap(q[2] - q[1], 3/eps)\nelse\ny <- 7\nend\n",
    "atoms": "input q in real\noutput y in real\nadjacent linf 1\n"
    "r <- Lap(q, 2/eps)\nif r < 0 then y <- 0 elif r > 1 then y <- 1 else y <- r end\n",
    "one number shown twice": "input q in real\noutput y in real\noutput z in real\n"
    "adjacent linf 1\nr <- Lap(q, 2/eps)\ny <- r\nz <- 2 * r + q\n",
    "any amount": HEAD.format("l0 1")
    + "r <- Lap(q[1], 2/eps)\ns <- Lap(q[2], 3/eps)\nif r >= s then out <- 1 end\n",
    "anybody": HEAD.format("all") + "r <- Lap(q[1], 2/eps)\nif r >= 0 then out <- 1 end\n",
    "any amount between bounds": HEAD.format("l0 1").replace("real", "real -1..2")
    + "r <- Lap(q[1] + q[2], 1/eps)\nif r >= 0 then out <- 1 end\n",
    "a number between bounds": "input q in real 0..1\noutput y in real\nadjacent linf 1\n"
    "r <- Lap(q, 1/eps)\nif r < 0 then y <- 0 else y <- r end\n",
    "impossible between bounds": HEAD.format("linf 1").replace("real", "real 0..10")
    + "r <- LapPlus(q[1], 1/eps)\nif r < 5 then out <- 1 end\n",
    "a run beyond the bounds": HEAD.format("l1 1").replace("real", "real 0..1/2")
    + "r <- LapMinus(q[1], 2/eps)\nif r <= 0 then out <- 1 elif r > 1 then out <- 1 end\n",
    "small eps": HEAD.format("linf 1").replace("real", "real 0..1")
    + "r <- Lap(q[1], 1/eps)\nif r >= 1/2 then out <- 1 end\n",
    "a factor at small eps": HEAD.format("linf 1").replace("real", "real 1..2")
    + "r <- Lap(0, 1/eps)\nif r >= 0 and r < q[1] then out <- 1 end\n",
    "a choice and small eps": HEAD.format("decreasing 1")
    + "c <- choose {0: 1/3, 1: 2/3}\nt <- Lap(-1, 1/eps)\nr <- Lap(q[1] + c, 1/eps)\n"
    "if r >= t and t >= 0 then out <- 1 end\n",
    "Gaussian between bounds": HEAD.format("linf 1").replace("real", "real 0..1")
    + "r <- Gauss(q[1], 1/eps)\ns <- Lap(q[2], 1/eps)\n"
    "if r < 0 then out <- 1 elif s > r then out <- 2 end\n",
    "integers between bounds": HEAD.format("linf 1").replace("real", "real 0..3")
    + "r <- DLap(q[1], 1/eps)\ns <- DLap(q[2], 2/eps)\n"
    "if r < s then out <- 1 elif r > 2 then out <- 2 end\n",
    "tells": "input q in real\noutput y in real\nadjacent linf 1\n"
    "r <- Lap(q, 1/eps)\nif r < 0 then y <- q else y <- r end\n",
    "choices": HEAD.format("linf 1")
    + "c <- choose {0: exp(eps) / (1 + exp(eps)), 1: 1 / (1 + exp(eps))}\n"
    "r <- Lap(q[1], 2/eps)\ns <- Lap(q[2], 3/eps)\nif r >= 0 then\n"
    "d <- choose {1: 1/2, 2: 1/2}\nif c = 1 and s < r then out <- d end\nend\n",
    "choices between bounds": HEAD.format("linf 1").replace("real", "real 0..1")
    + "c <- choose {0: 1/3, 1: 2/3}\nr <- Lap(q[1], 2/eps)\ns <- Lap(q[2], 3/eps)\n"
    "if c = 1 and r >= 0 then out <- 1 elif s < r then out <- 2 end\n",
    "parts": "input q[2] in real\noutput out[2] in 0..1\nadjacent linf 1\n"
    "r <- Lap(q[1], 2/eps)\nout[1] <- 0\nif r >= 0 then out[1] <- 1 end\n"
    "s <- Lap(q[1] + q[2], 3/eps)\nout[2] <- 0\nif s >= 0 then out[2] <- 1 end\n",
}


MAY_DIFFER = {
    *("guards", "shift", "shifts", "flows", "start", "origin", "target"),
    *("noise", "first", "second", "state"),
}
"""Numbers of proofs, of which others prove the same."""


def proved(text: str, budget: str | None = None) -> RealProof:
    program = dipapprox.parse(text)
    limits = Options(limits=Limits(states=20_000))
    proof = dipapprox.prove(program, reals=True, budget=budget, options=limits)
    assert isinstance(proof, RealProof)
    return proof


def certified(text: str, budget: str | None = None) -> Fields:
    proof = proved(text, budget)
    fields = json.loads(dipapprox.certify(dipapprox.parse(text), text, proof).to_json())
    assert isinstance(fields, dict)
    return fields


def outcome_of(fields: Fields) -> Outcome | None:
    try:
        return check(fields).outcome
    except UserError:
        return None


@pytest.mark.parametrize(
    ("name", "lower", "upper"),
    [
        ("svt_laplace", "1/2", "1/2"),
        ("noisy_max_laplace", "1", "1"),
        ("k_min_max_laplace", "1/2", "1/2"),
        ("svt_geometric", "1/2", "1/2"),
        ("svt_monotone", "1/2", "1/2"),
        ("svt_laplace_leaky_5", None, None),
        ("svt_gauss", None, None),
        ("literature/noisy_max_exponential", "1", "1"),
        ("literature/laplace_parallel", "20", "20"),
        ("dipc/hist1_linf", "2", "2"),
        ("numbers/noisy_max_with_value", "3/2", "3/2"),
        ("numbers/numeric_sparse_vector", "7/4", "7/4"),
        ("numbers/smart_sums", "2", "2"),
        ("numbers/clamped_laplace", "1", "1"),
        ("numbers/truncated_gauss", None, None),
    ],
)
def test_shipped_programs(name: str, lower: str | None, upper: str | None) -> None:
    fields = certified((PROGRAMS / f"{name}.dpg").read_text("utf-8"))
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    assert fields["least_budget"] == (None if lower is None else {"lower": lower, "upper": upper})
    for end, bound in (("lower", lower), ("upper", upper)):
        if bound is not None:
            for other in (Fraction(bound) / 2, Fraction(bound) * 2):
                changed = replaced(fields, ["least_budget", end], str(other))
                assert outcome_of(signed(changed)) in (None, Outcome.REFUTED)
    if lower is None:
        stated = {"lower": "0", "upper": None}
        assert outcome_of(signed(replaced(fields, ["least_budget"], stated))) is None


@pytest.mark.parametrize("name", TEXTS)
def test_a_changed_number_is_refuted_or_another_proof(name: str) -> None:
    """Another proof states the same bounds: other shifts of states that are not the dearest."""
    fields = certified(TEXTS[name])
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.differences
    found = [
        place
        for part in ("evidence", "places", "vanishing")
        for place in places(fields[part], (part,))
        if at(fields, place) is not None
    ]
    draw = random.Random(name)
    refuted = 0
    for place in draw.sample(found, min(len(found), 25)):
        value = at(fields, place)
        for step in (1, -1):
            new = value + step if isinstance(value, int) else str(Fraction(value) + step)
            outcome = outcome_of(signed(replaced(fields, place, new)))
            assert outcome is not Outcome.NOT_CONFIRMED or "integers" in name
            refuted += outcome is not Outcome.CONFIRMED
            if outcome is Outcome.CONFIRMED:
                assert MAY_DIFFER & {*place}
    assert refuted > 5
    check_changes_are_noticed(fields, name, 5)


TOKEN = re.compile(r"(?<=[ /(<=>])\d+(?!\])|(?<= )[<>]=?(?= )|linf|l1|increasing|LapPlus|Lap\b")
WORDS = ["0", "1", "2", "3", "<", ">=", "linf", "l1", "increasing", "decreasing", "Lap", "LapPlus",
         "LapMinus", "Gauss"]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_what_is_confirmed_is_true(seed: int) -> None:
    draw = random.Random(seed)
    text = TEXTS[draw.choice(sorted(TEXTS))]
    fields = certified(text)
    for _ in range(12):
        token = draw.choice(list(TOKEN.finditer(text)))
        other = text[: token.start()] + draw.choice(WORDS) + text[token.end() :]
        program = {**fields["program"], "text": other, "sha256": text_hash(other)}
        changed = {**fields, "program": program}
        if draw.random() < 0.3:
            changed["radius"] = draw.choice(["1", "2", "1/2", "3"])
        try:
            result = check(signed(changed))
        except UserError:
            continue
        if result.outcome is Outcome.CONFIRMED:
            claim, found = result.claim, proved(other)
            assert isinstance(claim, BudgetClaim)
            if claim.unbounded:
                assert found.has_none, other
            else:
                assert found.upper is None or claim.lower <= found.upper, other
                assert claim.upper is None or claim.upper >= found.lower, other
                assert not found.has_none or claim.upper is None, other


def test_states_must_be_what_the_program_does() -> None:
    fields = certified(TEXTS["noise shared by inputs"])
    (part,) = fields["evidence"]
    for number in range(len(part["outputs"])):
        fewer = [each for k, each in enumerate(part["outputs"]) if k != number]
        changed = replaced(fields, ["evidence", 0, "outputs"], fewer)
        assert outcome_of(signed(changed)) is Outcome.REFUTED
        twice = [*part["outputs"], part["outputs"][number]]
        changed = replaced(fields, ["evidence", 0, "outputs"], twice)
        assert outcome_of(signed(changed)) is Outcome.REFUTED
        states = part["outputs"][number]["states"]
        for place in range(len(states[0]["guards"])):
            guards = [each for k, each in enumerate(states[0]["guards"]) if k != place]
            where = ["evidence", 0, "outputs", number, "states", 0, "guards"]
            assert outcome_of(signed(replaced(fields, where, guards))) is not Outcome.CONFIRMED


def test_claims_are_judged() -> None:
    text = TEXTS["noise shared by inputs"]
    against = certified(text, "1/4")
    assert against["verdict"] == "Not_DP" and outcome_of(against) is Outcome.CONFIRMED
    assert outcome_of(signed(replaced(against, ["claim", "budget"], "9"))) is None
    assert outcome_of(certified(text, "9")) is Outcome.CONFIRMED


def test_inputs_that_are_compared_without_noise_are_not_followed() -> None:
    fields = certified(TEXTS["one input changes"])
    text = TEXTS["one input changes"] + "if q[1] = q[2] then out <- 2 end\n"
    program = {**fields["program"], "text": text, "sha256": text_hash(text)}
    result = check(signed({**fields, "program": program}))
    assert result.outcome is Outcome.NOT_CONFIRMED and "without noise" in str(result.reason)


def test_what_has_no_certificate() -> None:
    response = (PROGRAMS / "literature" / "randomised_response.dpg").read_text("utf-8")
    assert without_evidence(proved(response)) == "the answer is Unknown"
    text = TEXTS["one input changes"]
    with pytest.raises(UserError, match="not that of the program"):
        other = text.replace("3/eps", "5/eps")
        dipapprox.certify(dipapprox.parse(text), other, proved(text))
    result = check(certified(text), Limits(seconds=0))
    assert result.outcome is Outcome.NOT_CONFIRMED


CHOICES = (
    HEAD.format("linf 1") + "c <- choose {{0: {}, 1: {}}}\nr <- Lap(q[1], 1/eps)\n"
    "s <- Lap(q[2], 2/eps)\nif c = 0 then\nif r >= 0 then out <- 1 end\nelse\n"
    "if s >= r then out <- 1 end\nend\n"
)


def test_choices_are_followed_case_by_case() -> None:
    fields = certified(CHOICES.format("1/3", "2/3"))
    (part,) = fields["evidence"]
    assert len(part["cases"]) == 2
    where = ["evidence", 0, "cases"]
    for cases in (part["cases"][:1], [*part["cases"], part["cases"][0]], part["cases"][::-1]):
        assert outcome_of(signed(replaced(fields, where, cases))) is Outcome.REFUTED
    for number, output in enumerate(part["outputs"]):
        for place in range(len(output["states"])):
            states = [each for k, each in enumerate(output["states"]) if k != place]
            changed = replaced(fields, ["evidence", 0, "outputs", number, "states"], states)
            assert outcome_of(signed(changed)) in (None, Outcome.REFUTED)
    # Options of weight 0 do not come about; weights must be a law for every eps.
    assert len(certified(CHOICES.format("0", "1"))["evidence"][0]["cases"]) == 1
    for first, second in (("1/3", "1/3"), ("4/3", "-1/3"), ("eps", "1 - eps")):
        text = CHOICES.format(first, second)
        program = {**fields["program"], "text": text, "sha256": text_hash(text)}
        result = check(signed({**fields, "program": program}))
        assert result.outcome is Outcome.NOT_CONFIRMED


@pytest.mark.parametrize("place", ["first", "second"])
def test_two_inputs_at_small_eps_are_adjacent_inputs_and_lose_what_is_said(place: str) -> None:
    fields = certified(TEXTS["small eps"])
    assert fields["least_budget"] == {"lower": "1", "upper": "1"}
    for value in ("-1", "1/2", "2"):
        changed = replaced(fields, ["vanishing", place, 0], value)
        assert outcome_of(signed(changed)) is Outcome.REFUTED
    assert outcome_of(signed(replaced(fields, ["vanishing", place], []))) is Outcome.REFUTED
    first, second = (fields["vanishing"][each] for each in ("first", "second"))
    turned = {**fields["vanishing"], "first": second, "second": first}
    assert outcome_of(signed({**fields, "vanishing": turned})) is Outcome.REFUTED
    (loss,) = fields["vanishing"]["losses"]
    for wrong in ({**loss, "output": [7]}, {**loss, "loss": None}, {**loss, "part": 1}):
        changed = replaced(fields, ["vanishing", "losses"], [wrong])
        assert outcome_of(signed(changed)) in (None, Outcome.REFUTED)
    twice = replaced(fields, ["vanishing", "losses"], [loss, loss])
    assert outcome_of(signed(twice)) is Outcome.REFUTED


@pytest.mark.parametrize("place", ["first", "second"])
def test_two_inputs_lie_between_the_bounds_and_are_adjacent(place: str) -> None:
    for name in ("a number between bounds", "integers between bounds"):
        fields = certified(TEXTS[name])
        for value in ("-1", "4", "1/2", "100"):
            changed = replaced(fields, ["places", place, 0], value)
            assert outcome_of(signed(changed)) is Outcome.REFUTED
        assert outcome_of(signed(replaced(fields, ["places", place], []))) is Outcome.REFUTED
    # The same inputs are none of a program with other bounds, or another adjacency.
    fields = certified(TEXTS["a number between bounds"])
    text = TEXTS["a number between bounds"]
    for old, new in (("0..1", "0..1/2"), ("linf 1", "linf 1/2"), ("linf 1", "decreasing 1")):
        other = text.replace(old, new)
        program = {**fields["program"], "text": other, "sha256": text_hash(other)}
        radius = {"radius": "1/2"} if "1/2" in new else {}
        changed = {**fields, "program": program, **radius}
        if new == "decreasing 1" and place == "first":
            changed["places"] = {**fields["places"], "first": ["0"], "second": ["1"]}
        assert outcome_of(signed(changed)) is not Outcome.CONFIRMED


def test_vectors_have_a_number_for_each_input() -> None:
    fields = certified(TEXTS["noise shared by inputs"])
    (part,) = fields["evidence"]
    number = next(k for k, output in enumerate(part["outputs"]) if output["ray"] is not None)
    for name in ("start", "origin", "target", "flows"):
        where = ["evidence", 0, "outputs", number, "ray", name]
        value = at(fields, where)
        for other in (value[:-1], [*value, value[0]], []):
            assert outcome_of(signed(replaced(fields, where, other))) is Outcome.REFUTED
    where = ["evidence", 0, "outputs", number, "states", 0, "shifts", 0, 0]
    box = at(fields, where)
    for other in (box[:-1], [*box, box[0]]):
        assert outcome_of(signed(replaced(fields, where, other))) is Outcome.REFUTED


def test_an_output_that_comes_twice_is_refuted() -> None:
    """A ray of some states of an output says nothing of the output."""
    fields = certified(
        HEAD.format("linf 1") + "r <- Lap(q[1], 2/eps)\ns <- Lap(q[2], 2/eps)\n"
        "if r >= 0 then out <- 1 elif s >= 0 then out <- 1 end\n"
    )
    (part,) = fields["evidence"]
    several = next(each for each in part["outputs"] if len(each["states"]) > 1)
    several["ray"] = None
    assert outcome_of(signed(fields)) is not None
    rest = dict(several, states=several["states"][1:])
    several["states"] = several["states"][:1]
    part["outputs"].append(rest)
    result = check(signed(fields))
    assert result.outcome is Outcome.REFUTED
    assert "an output comes twice" in str(result.describe())


@pytest.mark.parametrize("domain", [" 1..2", " 0..1/2", " 0..5"])
def test_what_is_impossible_within_the_bounds_costs_nothing(domain: str) -> None:
    """LapPlus(q) is never below q >= 0: the output is a constant."""
    text = (
        f"input q in real{domain}\noutput out in {{0, 1}}\nadjacent linf 1\n"
        "x <- LapPlus(q, 1/eps)\nif x >= 0 then out <- 1 else out <- 0 end\n"
    )
    proof = dipapprox.prove(dipapprox.parse(text))
    assert (proof.answer, proof.lower, proof.upper) == (dipapprox.Answer.DP, 0, 0)
    certificate = dipapprox.certify(dipapprox.parse(text), text, proof)
    assert check(json.loads(certificate.to_json())).outcome is Outcome.CONFIRMED
    # Within other bounds it is false.
    wider = text.replace(f"real{domain}", "real -1..2")
    fields = json.loads(certificate.to_json())
    fields["program"] |= {"text": wider, "sha256": text_hash(wider)}
    assert check(signed(fields)).outcome is not Outcome.CONFIRMED
