"""`verify` with intervals of eps and formulas: output, exit status, messages, progress."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dipapprox.language.core import Input
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.questions.kinds import is_formula
from tests.cli.running import run_json
from tests.schemas import check_schema

pytestmark = pytest.mark.usefixtures("files")


def test_unknown_with_what_remains() -> None:
    status, fields = run_json("verify", "svt.dpg", "--eps", "1..2", "--delta", "0",
                              "--timeout", "1e-9")  # fmt: skip
    assert (status, fields["verdict"]) == (3, "Unknown")
    assert fields["remaining"] == [["1", "2"]]
    assert "time limit" in fields["reason"]
    check_schema("verify_interval", fields)


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
