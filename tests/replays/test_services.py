"""Files of proofs of services: confirmed as they are written, refuted about anything else."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Options, Outcome, UserError
from dipapprox.cli.app import main
from dipapprox.kernel.judgements import Budgets
from dipapprox.language.services import Service
from dipapprox.proofs.subject import load_subject
from dipapprox.questions.certifying import certify_proof
from dipapprox.replays.words import words_of
from tests.cases import refuses
from tests.replays.certified import Fields, replaced, retold, signed
from tests.schemas import check_schema
from tests.services.examples import proof_of
from tests.texts import text_of
from tests.thorough import part

SERVICES = Path(__file__).parent.parent.parent / "programs" / "services"
SHIPPED = sorted(SERVICES.glob("*.dpg"))
USERS = SERVICES / "users.dpg"


def certificate(path: Path, users: str = "", **parameters: int) -> Fields:
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
    fields = certificate(path)
    assert fields["about"] == {"seen by": []}
    assert outcome(fields) is Outcome.CONFIRMED
    said = str(dipapprox.check(json.dumps(fields), explained=True))
    assert "every sequence of calls" in said
    assert "as everybody may see it" in said
    assert (
        "at eps = 1 is Pr" if fields["claim"]["budget"] is None else "every eps > 0, any"
    ) in said


def test_files_are_about_one_text_and_those_who_see_it() -> None:
    fields = certificate(USERS, "bob")
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
    fields = replaced(certificate(USERS), ("about",), about)
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
