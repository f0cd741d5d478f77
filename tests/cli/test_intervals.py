"""`verify` with intervals of eps and formulas: output, exit status, messages, progress."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pytest

from dipapprox.language.core import Input
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.questions.kinds import is_formula
from tests.cli.running import run, run_json
from tests.schemas import check_schema

pytestmark = pytest.mark.usefixtures("files")


def test_unknown_with_what_remains() -> None:
    status, fields = run_json("verify", "svt.dpg", "--eps", "1..2", "--delta", "0",
                              "--timeout", "1e-9")  # fmt: skip
    assert (status, fields["verdict"]) == (3, "Unknown")
    assert fields["remaining"] == [["1", "2"]]
    assert "time limit" in fields["reason"]
    check_schema("verify_interval", fields)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--eps 1..1/2 --delta 0", "is reversed: 1..1/2\nhint: write 1/2..1"),
        ("--eps 1..1 --delta 0", "has one point only: 1..1\nhint: write 1\n"),
        ("--eps 0..1 --delta 0", "eps must be > 0"),
        ("--eps -1..1 --delta 0", "eps must be > 0"),
        ("--eps ..1 --delta 0", "an interval LO..HI"),
        ("--eps 1.. --delta 0", "an interval LO..HI"),
        ("--eps 1..2..3 --delta 0", "an interval LO..HI"),
        ("--eps a..b --delta 0", "eps must be a number, got 'a'"),
        ("--eps 1..2 --delta 2", "delta must be in [0, 1], got 2"),
        ("--eps 1..2 --delta 0 --eps-prv -1", "--eps-prv must be >= 0, got -1"),
        ("--eps 1..2 --delta 0 --eps-prv eps-3/2", "'eps-3/2' is -0.5 at eps = 1"),
        ("--eps 1..2 --delta delta/2", "--delta:1:1: name error: unknown name 'delta'"),
        ("--eps 1..2 --delta 0 --eps-prv 2*epsi", "did you mean 'eps'?"),
        ("--eps 1 --delta 0 --eps-prv '2*(eps'", "--eps-prv:1:7: syntax error"),
        ("--eps 1 --delta 0 --eps-prv 1/(eps-1)", "division by zero, at eps = 1"),
        ("--eps 1 --delta 0 --eps-prv 1-2*eps", "eps_prv must be >= 0"),
        ("--eps 1 --delta 0 --eps-prv 'log(1/delta)'", "division by zero"),
        ("--eps 1..2 --delta 0 --eps-prv 'log(2-eps)'", "not positive, at eps = 2"),
    ],
)
def test_a_clean_message(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify", "svt.dpg", *shlex.split(words)) == (2, "")
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_an_interrupt_says_what_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    original = OutputProbabilities.table
    calls = iter(range(100))

    def table(self: OutputProbabilities, inputs: Sequence[Input], bits: int) -> Bounds:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return original(self, inputs, bits)

    monkeypatch.setattr(OutputProbabilities, "table", table)
    status, fields = run_json("verify", "svt.dpg", "--eps", "0.1..3", "--eps-prv", "0.45*eps",
                              "--delta", "0")  # fmt: skip
    assert (status, fields["reason"]) == (130, "interrupted")
    assert fields["remaining"] == [["1/10", "3"]]


@pytest.mark.parametrize("text", ["1", "-1", "1e-6", "2E+3", "1/10", ".5", "x", "nan", "-0.1"])
def test_numbers_are_no_formulas(text: str) -> None:
    assert not is_formula(text)


@pytest.mark.parametrize("text", ["eps", "1+1", "2*3", "1e-6-1", "(1)", "log(2)", "-eps", "2^2"])
def test_formulas_are_no_numbers(text: str) -> None:
    assert is_formula(text)
