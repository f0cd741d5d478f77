"""Certificates about some pairs only, or about wider domains: what they say, and forged ones."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.privacy.claim import Claim
from dipapprox.replays.result import Outcome
from tests.checking.certified import PROGRAMS, Fields, certificate, replaced, signed
from tests.cli.running import run, run_json

SVT = PROGRAMS / "svt_gauss.dpg"
CLAIM = Claim(Fraction(1, 2), Fraction(1, 100), Fraction(31, 25))
HARMLESS = {"selection": "listed", "count": 1, "list": [[[0, 0], [0, 0]]]}


@pytest.fixture(scope="module")
def private() -> Fields:
    """SVT-Gauss, N = 2, all pairs: DP."""
    return certificate(SVT, {}, CLAIM)


def test_no_pairs_make_no_certificate(private: Fields) -> None:
    none = {"selection": "listed", "count": 0, "list": []}
    with pytest.raises(UserError, match=r"\$\.pairs\.list: expected a list of length >= 1"):
        check(signed(replaced(private, ("pairs",), none)))


def test_harmless_pairs_are_named(private: Fields, tmp_path: Path) -> None:
    # Not true of all pairs: the forger restricts the verdict to a pair that tells nothing.
    forged = replaced(private, ("pairs",), HARMLESS)
    forged = replaced(forged, ("claim", "eps_prv"), "0")
    input = next(each for each in forged["evidence"]["inputs"] if each["input"] == [0, 0])
    forged = replaced(forged, ("evidence", "inputs"), [input])
    result = check(signed(forged))
    assert result.outcome is Outcome.REFUTED
    (difference,) = result.differences
    assert difference == "scope: the certificate is for the pair (0, 0) ~ (0, 0)"
    said = signed(replaced(forged, ("scope",), "for the pair (0, 0) ~ (0, 0)"))
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(said))
    status, text = run("check", str(path))
    assert status == 0
    assert "the certificate for the pair (0, 0) ~ (0, 0) is confirmed" in text
    assert "DP for the pair (0, 0) ~ (0, 0): (ε_prv, δ) = (0, 1/100)" in text
    _, fields = run_json("check", str(path))
    assert fields["scope"]["selection"] == "listed"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("scope",), "for inputs q[1..2] in -5..5, adjacent linf 1"),
        (("caveat",), "there is more to it"),
        (("widened",), {"q": "{0, 1}"}),
        (("widened",), {"q": "-2..2"}),
        (("widened",), {"q": "{1, 2}"}),
        (("widened",), {"r": "-5..5"}),
    ],
)
def test_what_it_is_about_is_checked(
    private: Fields, place: tuple[str, ...], value: object
) -> None:
    assert check(signed(replaced(private, place, value))).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("widened",), {"q": "-5 .. 5"}),
        (("widened",), {"q": "{}"}),
        (("widened",), {"q": 5}),
        (("widened",), []),
        (("scope",), None),
        (("scope",), ""),
        (("caveat",), 0),
    ],
)
def test_what_it_is_about_is_well_formed(
    private: Fields, place: tuple[str, ...], value: object
) -> None:
    with pytest.raises(UserError, match="malformed"):
        check(signed(replaced(private, place, value)))


@pytest.mark.parametrize(("delta", "status"), [("0.2", 0), ("0.1", 1)])
@pytest.mark.parametrize("command", ["verify", "decide"])
def test_certificates_of_wider_domains_are_confirmed(
    command: str, delta: str, status: int, tmp_path: Path
) -> None:
    program = tmp_path / "count.dpg"
    program.write_text(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent linf 1\n"
        "x <- Lap(q, 1 / eps)\nout <- 0\nif x >= 2 then out <- 1 end\n"
    )
    path = tmp_path / "certificate.json"
    at = {"verify": ("--eps", "1", "--eps-prv", "1/2"), "decide": ("--budget", "1/2")}[command]
    words = (command, str(program), *at, "--delta", delta, "--certificate", str(path))
    if command == "decide":
        words = (*words, "--interval", "1..1")
    assert run(*words)[0] == 0  # 0.072… is enough for {0, 1}, 0.197… is needed for 1 ~ 2
    path.unlink()
    found, fields = run_json(*words, "--widen", "q=-1..3")
    assert (found, fields["scope"]["text"]) == (
        status, "for inputs q in -1..3 (widened from {0, 1}), adjacent linf 1",
    )  # fmt: skip
    assert run("check", str(path))[0] == 0
