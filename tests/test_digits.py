"""Numbers of any length become text, and back, without Python's limit and without changing it."""

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Claim
from dipapprox.arithmetic.enclosure import Enclosure, outward, rational
from dipapprox.digits import brief_text, exact_text, read_digits
from dipapprox.errors import UserError
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.values import parse_rational
from dipapprox.replays.any_file import check
from dipapprox.replays.result import Outcome
from tests.cli.running import run, run_json
from tests.replays.certified import certificate
from tests.schemas import check_schema

Q = Fraction
LARGE, LARGER = 10**990 + 7, 10**998 + 9


@given(st.integers(0, 12_000), st.integers(-2, 2), st.booleans())
def test_digits_are_those_of_python(bits: int, near: int, decimal: bool) -> None:
    value = (10 ** (bits * 3 // 10) if decimal else 1 << bits) + near
    text = exact_text(value)
    assert ("-" if value < 0 else "") + text.lstrip("-") == text
    assert read_digits(text.lstrip("-")) == abs(value)
    if len(text) < 4000:
        assert text == str(value)
    assert exact_text(Q(value, 2)) == exact_text(Q(value, 2).numerator) + (
        "" if value % 2 == 0 else "/2"
    )


def test_texts_of_huge_numbers() -> None:
    limit = sys.get_int_max_str_digits()
    huge = Q(10**9000 + 1, 3**9000)
    numerator, denominator = exact_text(huge).split("/")
    assert (read_digits(numerator), read_digits(denominator)) == (huge.numerator, huge.denominator)
    assert rational(huge).endswith("…e4705")
    low, high = outward(Enclosure(huge, huge + 1))
    assert low < high
    assert repr(Enclosure(huge, huge)).count("Fraction(") == 2
    form = ExponentialPolynomial.constant(Q(1, 2))
    assert eval(repr(form)) == form
    assert len(repr(ExponentialPolynomial.constant(huge))) > 9000
    assert parse_rational("1e" + "0" * 5000 + "3", "x") == 1000
    assert parse_rational("-1e-" + "0" * 5000 + "3", "x") == Q(-1, 1000)
    for text in ("1" * 5000, "0." + "1" * 5000, "1/" + "3" * 5000):
        with pytest.raises(UserError, match="x is too long or too extreme"):
            parse_rational(text, "x")
    with pytest.raises(UserError, match="eps is too long"):
        dipapprox.profile(dipapprox.parse(SUMS), eps=Q(10**5000), eps_prv=Q(1))
    assert sys.get_int_max_str_digits() == limit


SUMS = f"""
input q in {{0, 1}}
output out in {{0, 1, 2}}
adjacent all
x <- Lap(q * {LARGE}/{LARGER}, {LARGE}/({LARGER}*eps))
y <- Lap(q, {LARGER}/({LARGE}*eps))
w <- LapPlus(q, {LARGE + 2}/({LARGER - 2}*eps))
out <- 0
if x + y >= {LARGER}/{LARGE}*q then out <- 1 elif x >= w then out <- 2 end
"""


@pytest.fixture(name="path")
def sums(tmp_path: Path) -> Path:
    path = tmp_path / "sums.dpg"
    path.write_text(SUMS, encoding="utf-8")
    return path


def test_answers_about_huge_numbers_are_written(path: Path) -> None:
    program = dipapprox.parse(SUMS)
    for eps in (Q(1), Q(1, LARGE)):
        verdict = dipapprox.verify(program, eps=eps, delta=Q(1, 10))
        assert json.loads(verdict.to_json())["eps"] == exact_text(eps)
        assert "Verdict(" in repr(verdict)
    status, fields = run_json("explain", str(path), "--closed-form")
    check_schema("closed_form", fields)
    assert status in (0, 3)
    terms = [t for each in fields["closed_forms"] for o in each["outputs"] for t in o["terms"]]
    assert max(len(c) for _, _, c in terms) > 4300
    for words in (("--closed-form", "--format", "latex"), ("--eps", "1/9")):
        status, text = run("explain", str(path), *words)
        assert status in (0, 3) and text


def test_certificates_about_tiny_probabilities_are_read(tmp_path: Path) -> None:
    """The ends of their enclosures have thousands of places."""
    path = tmp_path / "tail.dpg"
    path.write_text(TAIL, encoding="utf-8")
    fields = certificate(path, {}, Claim(Q(1), Q(0)))
    assert check(json.dumps(fields)).outcome is Outcome.CONFIRMED
    with pytest.raises(UserError, match="not JSON that can be read"):
        check('{"format": ' + "1" * 5000 + "}")


TAIL = """
input q in {0, 8000}
output out in {0, 1}
adjacent all
x <- DLap(q, 1 / eps)
out <- 0
if x >= 8000 then out <- 1 end
"""
"""Pr[out = 1] is about e^-8000, or above 1/2."""


def test_long_numbers_are_written_briefly_for_people() -> None:
    assert brief_text(Fraction(-3, 2)) == "-3/2"
    assert brief_text(10**59) == str(10**59)
    assert brief_text(Fraction(-3, 2 * 10**400)) == "-1.5e-400"
    assert brief_text(3 * 10**400) == "3e400"
    assert brief_text(Fraction(1, 3**200)) == f"1/{3**200}"
    assert brief_text(7**999) == str(7**999)
    assert brief_text(10**5000 + 1) == f"1{'0' * 39}… (5001 characters)"
    assert (brief_text("name"), brief_text(None)) == ("name", "nothing")
