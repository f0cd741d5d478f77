"""Certificates and files of proofs: what is true is confirmed, nothing false or changed is."""

import copy
import json
import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Claim, Limits, Options, Outcome, UserError
from dipapprox.errors import NoCertificate
from dipapprox.kernel.judgements import Budgets
from dipapprox.language.services import Service
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.subject import load_subject
from dipapprox.questions.certifying import certify_proof
from dipapprox.replays.words import words_of
from tests.cases import cases, check_answers, evaluated, part, refuses, text_of
from tests.kernel.edits import Path as Place
from tests.kernel.edits import places_in
from tests.replays.certified import (
    PROGRAMS,
    Fields,
    certificate,
    certified,
    check_changes_are_noticed,
    replaced,
    retold,
    signed,
)
from tests.schemas import check_schema, validator
from tests.services.examples import proof_of

Q = Fraction
HALF = Q(1, 2)
SVT = PROGRAMS / "svt_gauss.dpg"


HEAD = "input q in {0, 1}\noutput out in 0..4\nadjacent all\nout <- 0\n"
REALS = "input q[2] in real 0..1\noutput out in 0..2\nadjacent linf 1\nout <- 0\n"

TEXTS = {
    "weighed": HEAD.replace("q in {0, 1}", "q[3] in {0, 1, 2}").replace("0..4", "0..3")
    + "out <- Exp(1/2 * eps, q)\n",
    "looped": HEAD + "x <- 0\nwhile out = 0 do\n"
    "x <- choose {0 : 1/2, 1 : 1/3 + q/24, 2 : 1/6 - q/24}\n"
    "if x = 1 then out <- 1 end\nif x = 2 then\nout <- 2\nexit\nend\nend\nout <- out + 2\n",
    "whole and Gaussian": HEAD + "a <- DGauss(q, 2/eps)\nb <- DGauss(0, 1)\n"
    "if a - b >= 1 then out <- 1 end\n",
    "summed": HEAD + "a <- LapPlus(q, 1/eps)\nb <- LapPlus(0, 2/eps)\nc <- LapPlus(1, 1/eps)\n"
    "if a + b >= c + 1 then out <- 1 end\n",
    "whole and summed": HEAD + "a <- DLap(q, 1/eps)\nb <- DLap(0, 2/eps)\nc <- DLap(1, 1/eps)\n"
    "if a + b >= c + 1 then out <- 1 end\n",
    "real inputs and Gaussian": REALS + "t <- Gauss(0, 2/eps)\nr <- Gauss(q[1], 4/eps)\n"
    "if r >= t then out <- 1 else\ns <- Gauss(q[2], 4/eps)\nif s >= t then out <- 2 end end\n",
    "published": HEAD.replace("adjacent", "output y in real\nadjacent")
    + "y <- 0\nt <- Lap(0, 4)\nr <- Lap(q, 2)\nif r >= t then\nout <- 1\ny <- Lap(q, 3)\nend\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_claim_is_confirmed_where_it_holds(name) -> None:
    """At δ a little above the largest, and below it, where the claim is violated."""
    text, eps_prv = TEXTS[name], Q(1, 16)
    program = dipapprox.parse(text)
    near = dipapprox.profile(program, eps=1, eps_prv=eps_prv).delta_enclosure
    above = min(_short(near.upper) * Q(9, 8) + Q(1, 50), Q(1))
    fields = certified(text, {}, Claim(Q(1), above, eps_prv))
    assert fields["verdict"] == "DP"
    assert dipapprox.check(fields).outcome is Outcome.CONFIRMED
    below = _short(near.lower * Q(3, 4))
    assert near.lower > Q(1, 1000), "a claim that no program breaks shows nothing"
    # The same proof does not show what is false: neither of the claim nor of its steps.
    forged = replaced(fields, ("claim", "delta"), number_json(below))
    assert dipapprox.check(signed(forged)).outcome is Outcome.REFUTED
    forged["steps"][-1]["delta"] = number_json(below)
    assert dipapprox.check(signed(forged)).outcome is not Outcome.CONFIRMED
    violated = certified(text, {}, Claim(Q(1), below, eps_prv))
    assert violated["verdict"] == "Not_DP"
    assert dipapprox.check(violated).outcome is Outcome.CONFIRMED
    forged = replaced(violated, ("claim", "delta"), number_json(above))
    forged["steps"][-1]["delta"] = number_json(above)
    assert dipapprox.check(signed(forged)).outcome is not Outcome.CONFIRMED


def _short(number: Fraction) -> Fraction:
    """Proofs have no numbers of thousands of digits."""
    return Q(int(number * 10**12), 10**12)


TIGHT: list[tuple[str, dict[str, int], str, str]] = [
    ("literature/prefix_sum", {"N": 3}, "1", "1"),  # sums
    ("literature/top_k_selection", {}, "1", "1"),  # comparisons at a distance of 1000
    ("geometric_mechanism", {}, "1/2", "1/2"),  # integers
    ("literature/k_ary_randomised_response", {}, "1", "1"),  # choices
]


@pytest.mark.parametrize(("name", "values", "eps", "budget"), TIGHT)
def test_what_is_tight_is_confirmed_and_what_is_nearly_true_is_not(
    name, values, eps, budget
) -> None:
    """A budget that is 10^-220 too small: far below any bits of enclosures."""
    parameters = {key: Q(value) for key, value in values.items()}
    path = PROGRAMS / f"{name}.dpg"
    fields = certificate(path, parameters, Claim(Q(eps), Q(0), Q(budget)))
    assert fields["verdict"] == "DP"
    assert dipapprox.check(fields).outcome is Outcome.CONFIRMED
    if name == "literature/top_k_selection":
        return  # less than ε is enough
    for missing in (Q(1, 10**30), Q(1, 10**220)):
        less = str(Q(budget) - missing)
        forged = replaced(fields, ("claim", "eps_prv"), less)
        forged["steps"][-1]["eps_prv"] = less
        assert dipapprox.check(signed(forged)).outcome is Outcome.REFUTED


@cases(
    "body",
    "out <- choose {1 : q / 4, 0 : 1 - q / 4}\n",
    "p <- q\nout <- choose {1 : p / 4, 0 : 1 - p / 4}\n",
    "r <- Lap(q, 1 / eps)\nwhile q = 5 do out <- 1 end\nif r >= 2 then out <- 1 end\n",
)
def test_no_program_is_private_that_means_nothing_at_some_input(body) -> None:
    text = "input q in 0..4\noutput out in {0, 1}\nadjacent linf 1\nout <- 0\n" + body
    claim = Claim(Q(1), HALF, Q(1))
    fields = certified(text, {}, claim)
    assert fields["verdict"] == "DP"
    assert dipapprox.check(fields).outcome is Outcome.CONFIRMED
    refuses(UserError, None, certified, text.replace("0..4", "0..5"), {}, claim)
    wider = retold(fields, text.replace("0..4", "0..5"))
    wider["scope"] = wider["scope"].replace("0..4", "0..5")
    wider["machine"]["inputs"] = [["q", {"from": 0, "to": 5}]]
    result = dipapprox.check(signed(wider))
    assert result.outcome is not Outcome.CONFIRMED
    assert "step 0" in f"{result.differences} {result.reason}"


# --- what certificates need, and what has none --------------------------------------------------


def test_what_the_kernel_cannot_show_has_none() -> None:
    """Pr[o = 0] is 1/2 for q = 0, and for q = 50 about e^-1254: no proof at a smaller eps_prv."""
    text = "input q in {0, 50}\noutput o in {0, 1}\nadjacent all\n"
    text += "x <- Gauss(q, 1)\nif x > 0 then o <- 1 else o <- 0 end\n"
    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, eps=1, eps_prv=1300, delta="0.4")
    assert verdict.answer is dipapprox.Answer.DP
    refuses(NoCertificate, r"below 2\^-500 tell", dipapprox.certify, program, text, verdict)
    proved = Options(proved=True)
    verdict = dipapprox.verify(program, eps=1, eps_prv=1300, delta="0.4", options=proved)
    assert verdict.answer is dipapprox.Answer.UNKNOWN
    assert verdict.run.reason is not None and "below 2^-500 tell" in verdict.run.reason


# --- Files of proofs, of services too: what is none is bad input, changes are noticed -------------

KINDS = ("DP", "Not_DP")


@cache
def sample(verdict: str) -> Fields:
    """SVT-Gauss, N = 2: the largest δ at ε_prv = 1/10 is 0.0239…"""
    delta = Fraction(1, 40 if verdict == "DP" else 50)
    claim = Claim(Fraction(1, 2), delta, Fraction(1, 10))
    return certificate(PROGRAMS / "svt_gauss.dpg", {}, claim)


@pytest.mark.parametrize("verdict", KINDS)
def test_any_changed_character_is_noticed(verdict) -> None:
    check_changes_are_noticed(sample(verdict), verdict, 150)


def leaves(fields: Fields) -> list[tuple[Place, Any]]:
    """All numbers and strings, each with its place."""
    return [each for each in places_in(fields) if not isinstance(each[1], dict | list)]


LONG = f"1{'0' * 4400}1/1{'0' * 4401}"


def test_numbers_of_more_digits_than_python_writes_are_judged() -> None:
    fields = sample("DP")
    judged = 0
    for place, value in part(leaves(fields), 2):
        if place[-1] in ("sha256", "digest", "text") or isinstance(value, bool):
            continue
        forged = signed(replaced(fields, place, LONG))
        try:
            result = dipapprox.check(forged, Limits(seconds=5))
        except UserError:
            continue
        judged += 1
        for text in (result.to_json(), str(result), repr(result), result._repr_html_()):
            assert text
    assert judged


VALUES: list[Any] = [
    None, True, 0, 1, -1, 10**30, "", "0", "1/2", "-1/2", "0.5", "1e-3", "01", " 1", "1\n", "inf",
    "DP", "Not_DP", "linf", [], [[]], ["0", "1"], [0, 0], {}, {"rule": "distributions"},
]  # fmt: skip


@pytest.mark.parametrize("verdict", KINDS)
def test_whatever_is_judged_suits_the_schema_and_no_forgery_is_confirmed(verdict) -> None:
    """One thing is another, is missing, or is one too many; the digest is renewed."""
    fields, schema = sample(verdict), validator("certificate")
    schema.validate(fields)
    draw = random.Random(verdict)
    outcomes = set()
    for _ in part(range(200), 2):
        changed = copy.deepcopy(fields)
        place, _ = draw.choice(leaves(fields))
        place = place[: draw.randint(1, len(place))]
        inner, last = dict(places_in(changed))[place[:-1]], place[-1]
        match draw.choice(["replace", "replace", "remove", "add"]):
            case "remove":
                del inner[last]
            case "add" if isinstance(inner, list):
                inner.append(inner[last])
            case "add":
                inner[f"{last}x"] = inner[last]
            case _:
                inner[last] = draw.choice(VALUES)
        try:
            result = dipapprox.check(signed(changed), Limits(seconds=5))
        except UserError:
            continue
        outcomes.add(result.outcome)
        if result.outcome is Outcome.CONFIRMED:
            if changed["computed"] == fields["computed"]:  # nobody reads it
                schema.validate(signed(changed))
            for name in ("eps_prv", "delta"):
                stated, said = fields["claim"].get(name), changed["claim"].get(name)
                if isinstance(stated, str | int) and isinstance(said, str | int):
                    # What is claimed may be weaker than what is proved.
                    more = Fraction(said) - Fraction(stated)
                    if more >= 0 if verdict == "DP" else more <= 0:
                        changed["claim"][name] = stated
            assert _meaning(changed) == _meaning(fields)
    assert Outcome.REFUTED in outcomes


def _meaning(fields: Fields) -> Any:
    """All that a proof states; how it is shown, and by whom, is another matter."""
    program = {name: fields["program"][name] for name in ("language", "text")}
    machine = {**fields["machine"]}
    if "body" in machine:
        # What is forgotten changes no run.
        machine["body"] = [each for each in machine["body"] if each[0] != "forget"]
    return program, fields["params"], machine, fields["claim"], fields["verdict"]


def test_what_is_forgotten_and_read_has_no_proof() -> None:
    """Texts do not say what is forgotten: the kernel notices cells that hold nothing."""
    fields = sample("DP")
    body = fields["machine"]["body"]
    kept = [each for each in body if each[0] != "forget"]
    assert len(kept) < len(body)
    found = dipapprox.check(signed(replaced(fields, ("machine", "body"), kept)))
    assert found.outcome is Outcome.CONFIRMED
    for place in range(1, len(body)):
        early = [*body[:place], ["forget", ["rT", "out[1]"]], *body[place:]]
        found = dipapprox.check(signed(replaced(fields, ("machine", "body"), early)))
        assert found.outcome is not Outcome.CONFIRMED
    named = replaced(fields, ("machine", "inputs"), [*fields["machine"]["inputs"], ["forget", [0]]])
    assert dipapprox.check(signed(named)).outcome is Outcome.REFUTED


# --- Files of proofs of services: confirmed as they are written, refuted about anything else ------

SERVICES = Path(__file__).parent.parent.parent / "programs" / "services"
SHIPPED = sorted(SERVICES.glob("*.dpg"))
USERS = SERVICES / "users.dpg"


def service_certificate(path: Path, users: str = "", **parameters: int) -> Fields:
    text = path.read_text(encoding="utf-8")
    values = {name: Fraction(value) for name, value in parameters.items()}
    service = load_subject(path, values)
    assert isinstance(service, Service)
    proof = dipapprox.prove(service, examiner=users)
    found = certify_proof(proof, text)
    fields = json.loads(found.to_json())
    check_schema("certificate", fields)
    return dict(fields)


def outcome(fields: Fields) -> Outcome:
    return dipapprox.check(json.dumps(signed(fields))).outcome


@pytest.mark.parametrize("path", part(SHIPPED, 2), ids=lambda path: path.stem)
def test_files_of_services_are_confirmed(path) -> None:
    fields = service_certificate(path)
    assert fields["about"] == {"seen by": []}
    assert outcome(fields) is Outcome.CONFIRMED
    said = str(dipapprox.check(json.dumps(fields), explained=True))
    assert "every sequence of calls" in said
    assert "as everybody may see it" in said
    assert (
        "at eps = 1 is Pr" if fields["claim"]["budget"] is None else "every eps > 0, any"
    ) in said


def test_files_are_about_one_text_and_those_who_see_it() -> None:
    fields = service_certificate(USERS, "bob")
    text = fields["program"]["text"]
    assert outcome(fields) is Outcome.CONFIRMED
    assert fields["scope"].endswith("as bob may see it")
    changes: list[Fields] = [
        retold(fields, text.replace("2 / eps", "1 / eps")),
        retold(fields, text.replace("state n in 0..1 <- 0", "state n in 0..1 <- 1")),
        retold(fields, text.replace("adjacent insert", "adjacent replace")),
        retold(fields, text.replace("seen by bob", "seen by alice")),
        retold(fields, "input q in {0, 1}\noutput o in {0, 1}\no <- q\n"),
        replaced(fields, ("about", "seen by"), []),
        replaced(fields, ("about", "seen by"), ["alice"]),
        replaced(fields, ("about", "seen by"), ["bob", "carol"]),
        replaced(fields, ("about", "seen by"), ["bob", "bob"]),
        replaced(fields, ("scope",), "for every eps > 0"),
        replaced(fields, ("params",), {"t": "1"}),
        replaced(fields, ("machine", "calls", 2, "seen"), False),
        replaced(fields, ("claim", "budget"), "1/4"),
        replaced(fields, ("claim", "at least"), 1),
    ]
    for changed in changes:
        assert outcome(changed) is Outcome.REFUTED


def test_choices_are_matched_by_the_means_of_the_noise() -> None:
    """Two coins in one run, one in the other: what the reply is about tells them apart."""
    text = text_of("replays/services-1")
    proof = proof_of(text)
    written = proof.replay().proof
    assert proof.upper == 0 and isinstance(written, WrittenProof)
    assert [step["followed"] for step in written.steps] == [["given", "given"]]


@pytest.mark.parametrize("about", [{}, {"seen by": "bob"}, {"seen by": [1]}, {"users": []}])
def test_what_it_is_about_is_read_strictly(about) -> None:
    fields = replaced(service_certificate(USERS), ("about",), about)
    refuses(UserError, "malformed", outcome, fields)


def test_what_is_proved_names_its_budget() -> None:
    proof = dipapprox.prove(USERS, options=Options(proved=True))
    assert proof.written is not None
    assert proof.replayed is not None
    fields = json.loads(certify_proof(proof, USERS.read_text(encoding="utf-8")).to_json())
    assert fields["claim"] == {"verdict": "DP", "budget": "3/2", "at least": "3/2"}
    assert words_of(Budgets(*[proof.lower] * 2, at_any=False)) in " ".join(
        str(dipapprox.check(json.dumps(fields))).replace("│", "").split()
    )


# --- What is judged, and what is none: expressions, and what is said of each ----------------------

TEXT = text_of("replays/certificates-text")
OTHER = certificate(SVT, {}, Claim(HALF, Q(1, 100), Q(31, 25)))
RUNS = [{"mechanism": "gaussian", "sigma": 1, "subsample": "1/10", "times": 2}]


@cache
def proof(pairs: str = "all") -> dict[str, Any]:
    program, options = dipapprox.parse(TEXT), Options(proved=True)
    verdict = dipapprox.verify(program, eps=1, delta="1/10", pairs=pairs, options=options)
    found = dipapprox.certify(program, TEXT, verdict, pairs=pairs, options=options)
    return dict(json.loads(found.to_json()))


def judged(content: dict[str, Any]) -> str:
    """What becomes of a file with a digest that fits."""
    found = dipapprox.check(signed(content))
    return "; ".join([found.outcome.value, *found.differences])


def certify(text: str, **limits: Any) -> Any:
    """Certify a verdict about a shipped program, with a text."""
    program = dipapprox.parse(SVT.read_text())
    verdict = dipapprox.verify(program, eps=HALF, delta=HALF, options=Options(**limits))
    return dipapprox.certify(program, text, verdict)


def pipeline_outcome(runs: Any, asked: str, *numbers: str) -> str:
    """What becomes of a certificate of an answer without `proved`."""
    pipeline = dipapprox.compose(runs)
    answer = getattr(pipeline, asked)(*numbers)
    assert answer.replayed is None
    return dipapprox.check(pipeline.certify(answer).to_json()).outcome.value


def test_what_certificates_are_about_is_compared() -> None:
    check_answers("certificates_judged", evaluated(globals(), UserError, NoCertificate))
