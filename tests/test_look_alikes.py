"""Characters that look like others are refused by name, and none makes an answer look like another.

Numbers are ASCII wherever text is read: in programs of all languages, on the command line, in
formulas, inputs, claims, specs of sweeps, lists of pairs and certificates.
"""

import json
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.cli.app import main
from dipapprox.digits import read_digits
from dipapprox.errors import UserError
from dipapprox.language.domains import parse_rational
from dipapprox.language.formula import parse_formula
from dipapprox.language.load import read_toml
from dipapprox.source import HIDDEN, named, unlike_ascii, visible
from tests.cases import check_answers, evaluated, refuses, text_of

FOUR = "৪"
"""Bengali: int("৪") is 4, and it looks like 8."""

PROGRAM = text_of("tests/look_alikes-program")
DIPA = Path("programs/automata/min_max.dipa")


def run(*words: str) -> tuple[int, str, str]:
    """Run a command line; return its status, standard output and standard error."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(words)
    return status, out.getvalue(), err.getvalue()


DIGITS = st.characters(categories=["Nd"]).filter(lambda c: not c.isascii())


@given(DIGITS, st.sampled_from(["{}", "1{}", "{}/2", "1/{}", "0.{}", "1e{}", "-{}", "1_0{}"]))
def test_digits_of_other_scripts_are_no_numbers(digit, form) -> None:
    text = form.format(digit)
    with pytest.raises(UserError) as refused:
        parse_rational(text, "delta")
    assert unicodedata.name(digit) in refused.value.hint
    with pytest.raises(UserError) as refused:
        parse_formula(f"{text} + eps", "eps_prv", ("eps",))
    assert unicodedata.name(digit) in refused.value.message
    refuses(ValueError, "no digits", read_digits, text)
    with pytest.raises(UserError) as refused:
        dipapprox.parse(PROGRAM.replace(">= N", f">= {text}"))
    assert unicodedata.name(digit) in refused.value.message


def condition(written: str) -> str:
    return seen(PROGRAM.replace("x >= N then", f"{written} then"))


def seen(text: str) -> str:
    """What is said of a text in one line, which steers no terminal."""
    try:
        dipapprox.parse(text)
    except dipapprox.SourceError as error:
        assert error.message.replace("\n", "").isprintable()
        raise
    return "accepted"


def test_programs_and_numbers_are_what_they_look_like() -> None:
    asked = {"read_digits": read_digits, "parse_rational": parse_rational}
    check_answers("look_alikes", evaluated(globals() | asked, UserError, ValueError))


def test_a_carriage_return_alone_hides_no_line(tmp_path) -> None:
    """For some readers a comment ends there, for others it does not."""
    path = tmp_path / "p.dpg"
    path.write_bytes(PROGRAM.replace("o <- 0", "# none\rx <- 5\no <- 0").encode())
    status, out, err = run("verify", str(path), "--eps", "1", "--delta", "0")
    assert (status, out) == (2, "")
    assert "U+000D" in err
    path.write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    assert run("verify", str(path), "--eps", "1", "--delta", "0")[0] == 0
    assert dipapprox.parse(PROGRAM.replace("\n", "\r\n")).name == "program"


def test_comments_are_in_any_language() -> None:
    assert dipapprox.parse(f"# Größe, величина, 大きさ, ৪\n{PROGRAM}").name == "program"


def test_specs_take_ascii_digits_only(tmp_path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text(f"eps = 1.{FOUR}", encoding="utf-8")
    refuses(UserError, "not TOML", read_toml, spec)


def test_names_are_one_line(tmp_path) -> None:
    forged = "x\nDP: (0, 0)-differentially private"
    for name in (forged, "a\x1b[2Jb", "a\u202eb", "a\u2028b"):
        refuses(UserError, "the program's name", dipapprox.parse, PROGRAM, name=name)
    assert dipapprox.parse(PROGRAM, name="Größe").name == "Größe"
    for suffix, text in (("dpg", PROGRAM), ("dipa", DIPA.read_text(encoding="utf-8"))):
        path = tmp_path / f"a\nDP: fine.{suffix}"
        path.write_text(text, encoding="utf-8")
        command = ("prove",) if suffix == "dipa" else ("verify", "--eps=1", "--delta=0")
        status, out, err = run(command[0], str(path), *command[1:])
        assert status == 2
        assert not out
        assert "\nDP: fine" not in err
        assert "has the character U+000A" in err


def test_names_in_certificates_are_one_line(tmp_path) -> None:
    program = tmp_path / "p.dpg"
    program.write_text(PROGRAM, encoding="utf-8")
    path = tmp_path / "c.json"
    words = ("--eps", "1", "--delta", "0", "--certificate", str(path))
    assert run("verify", str(program), *words)[0] == 0
    certificate = json.loads(path.read_text(encoding="utf-8"))
    certificate["program"]["name"] = "x\nconfirmed"
    path.write_text(json.dumps(certificate), encoding="utf-8")
    status, out, err = run("check", str(path))
    assert status == 2
    assert "\nconfirmed" not in out + err


@given(st.text())
def test_what_is_shown_steers_no_terminal(text) -> None:
    assert visible(text).isprintable()
    assert len(visible(text)) == len(text)
    assert not HIDDEN.search(visible(text))
    error = UserError(f"no number: '{text}'", text)
    assert error.render().count("\n") == bool(text)
    assert error.render().replace("\n", "").isprintable()


@given(st.characters(exclude_categories=["Cs"]))
def test_characters_have_names(character) -> None:
    assert named(character).startswith(f"U+{ord(character):04X}")
    assert bool(unlike_ascii(f"a{character}")) is not character.isascii()
