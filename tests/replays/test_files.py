"""Files of proofs, of services too: what is none is bad input, changes are noticed."""

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
from dipapprox.cli.app import main
from dipapprox.kernel.judgements import Budgets
from dipapprox.language.services import Service
from dipapprox.proofs.subject import load_subject
from dipapprox.questions.certifying import certify_proof
from dipapprox.replays.words import words_of
from tests.cases import refuses
from tests.kernel.edits import Path as Place
from tests.kernel.edits import places_in
from tests.replays.certified import (
    PROGRAMS,
    Fields,
    certificate,
    check_changes_are_noticed,
    replaced,
    retold,
    signed,
)
from tests.schemas import check_schema, validator
from tests.services.examples import proof_of
from tests.texts import text_of
from tests.thorough import part

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


OLD = [
    "dipapprox certificate",
    "dipapprox budget certificate",
    "dipapprox composition certificate",
    "dipapprox decision certificate",
    "dipapprox real-input certificate",
    "dipapprox service certificate",
]


@pytest.mark.parametrize("name", OLD)
def test_files_of_older_versions_are_named(name) -> None:
    with pytest.raises(UserError, match="written by an older dipapprox") as caught:
        dipapprox.check({"format": name, "version": 1, "verdict": "DP"})
    assert "write it again" in caught.value.hint


def test_what_is_no_certificate_is_an_error() -> None:
    private = sample("DP")
    text = json.dumps(private)
    for bad, message in [
        ("", "not JSON"), (text[: len(text) // 2], "not JSON"), ("[]", "not a certificate"),
        ("{}", "not a certificate"), ("[" * 100_000, "JSON"), ("NaN", "malformed"),
        ('{"format":' * 10**5, "not JSON"), (f"[{'1' * 5000}]", "not JSON"),
        ("\ud800", "not JSON"), ('{"format": ["dipapprox proof"]}', "not a certificate"),
        (json.dumps({**private, "version": 3}), "version 3"),
        (json.dumps({**private, "more": 1}), "and no others"),
        (json.dumps(replaced(private, ("claim", "delta"), 0.01)), "not a number"),
        (json.dumps(replaced(private, ("claim", "delta"), "3/2")), "delta"),
        (json.dumps(replaced(private, ("claim", "eps"), 0)), "eps"),
        (text[:-1] + ', "verdict": "DP"}', "'verdict' occurs twice"),
        (text.replace('"steps": [{', '"steps": [{"rule": "x", '), "'rule' occurs twice"),
        (r'{"\ud800": 1, "\ud800": 2}', "occurs twice"),
    ]:  # fmt: skip
        with pytest.raises(UserError, match=message) as caught:
            dipapprox.check(bad if "digest" not in bad else resigned(bad))
        assert caught.value.message.isascii()


def resigned(text: str) -> str:
    """With a digest that fits, where the text is JSON without repeated fields."""
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except ValueError:
        return text
    return json.dumps(signed(content))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def test_a_field_that_comes_twice_is_found_among_many_at_once() -> None:
    text = "{" + ", ".join(f'"{k}": 0' for k in range(100_000)) + ', "99999": 1}'
    refuses(UserError, "the field '99999' occurs twice", dipapprox.check, text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1.0", "1e2", "1e999"])
def test_floating_point_numbers_are_refused(number) -> None:
    text = json.dumps(sample("DP")).replace('"version": 1', f'"version": {number}')
    refuses(UserError, f"{number} is not a number that it may have", dipapprox.check, text)


def test_objects_of_python_that_are_no_json_are_refused() -> None:
    fields = sample("DP")
    loop: dict[str, object] = {**fields}
    loop["claim"] = loop
    for bad in ({**fields, "claim": {1, 2}}, loop, {**fields, "claim": float("nan")}):
        refuses(UserError, None, dipapprox.check, bad)
    for none in (3, None, b"{}"):
        refuses(UserError, "a text or an object", dipapprox.check, none)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("place", [("computed", "python"), ("program", "name"), ("scope",)])
def test_half_a_character_is_no_text(place) -> None:
    refuses(UserError, None, dipapprox.check, json.dumps(replaced(sample("DP"), place, "\ud800")))


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
    found = certify_proof(proof, text, dipapprox.Limits())
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
    written, _ = proof.replay(dipapprox.Limits())
    assert proof.upper == 0
    assert [step["followed"] for step in written.steps] == [["given", "given"]]


@pytest.mark.parametrize("about", [{}, {"seen by": "bob"}, {"seen by": [1]}, {"users": []}])
def test_what_it_is_about_is_read_strictly(about) -> None:
    fields = replaced(service_certificate(USERS), ("about",), about)
    refuses(UserError, "malformed", outcome, fields)


def test_at_the_command_line(tmp_path, capsys) -> None:
    out = str(tmp_path / "proof.json")
    budget = str(SERVICES / "budget.dpg")
    assert main(["prove", budget, "--proved", "--certificate", out]) == 0
    assert "replayed by the kernel" in capsys.readouterr().out
    assert main(["check", out, "--explain"]) == 0
    assert "by 'couplings'" in capsys.readouterr().out
    assert main(["prove", budget, "--eps", "1", "--proved", "--certificate", out]) == 0
    capsys.readouterr()
    assert main(["check", out]) == 0
    assert "eps = 1" in capsys.readouterr().out
    assert main(["prove", budget, "--proved", "--certificate", out]) == 0
    capsys.readouterr()
    assert main(["show", budget, "--core"]) == 0
    assert "call data(d in {0, 1}), unseen" in capsys.readouterr().out
    assert main(["show", budget, "--core", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(Path(out).read_text(encoding="utf-8"))["machine"]


def test_what_is_proved_names_its_budget() -> None:
    proof = dipapprox.prove(USERS, options=Options(proved=True))
    assert proof.written is not None
    assert proof.replayed is not None
    fields = json.loads(
        certify_proof(proof, USERS.read_text(encoding="utf-8"), dipapprox.Limits()).to_json()
    )
    assert fields["claim"] == {"verdict": "DP", "budget": "3/2", "at least": "3/2"}
    assert words_of(Budgets(*[proof.lower] * 2, at_any=False)) in " ".join(
        str(dipapprox.check(json.dumps(fields))).replace("│", "").split()
    )
