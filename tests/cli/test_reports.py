"""Reports for people: golden text, names that are no markup, notebooks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.cli.output import show
from dipapprox.cli.report import report
from dipapprox.language.core import Cell
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.run import Run
from dipapprox.privacy.scope import AnswerScope
from dipapprox.privacy.verdict import Answer, Verdict, Witness, WitnessRow
from tests.cli.running import run
from tests.golden_text import check_golden

BIT = (Fraction(0), Fraction(1))
INPUTS = tuple(Cell(f"q[{i}]", "q", i, BIT) for i in (1, 2))
OUTPUTS = (
    *(Cell(f"out[{i}]", "out", i, BIT) for i in (1, 2)),
    Cell("tag", "tag", None, ("a", "b")),
)


def between(lower: str, upper: str) -> Enclosure:
    return Enclosure(Fraction(lower), Fraction(upper))


WITNESS = Witness(
    (Fraction(0), Fraction(1)),
    (Fraction(1), Fraction(0)),
    (
        WitnessRow(
            (Fraction(0), Fraction(1), "a"),
            between("0.24041047251514", "0.24041047251515"),
            between("0.19590011877045", "0.19590011877046"),
        ),
        WitnessRow(
            (Fraction(1), Fraction(0), "b"), Enclosure.exact(Fraction(1, 2)), Enclosure.exact(0)
        ),
    ),
    between("0.02390735840246", "0.02390735840247"),
)


def verdict(answer: Answer, reason: str | None = None, witness: Witness | None = None) -> Verdict:
    return Verdict(
        run=Run(
            program="svt_gauss",
            parameters={"N": Fraction(2), "s": Fraction(4, 3)},
            inputs=INPUTS,
            output_cells=OUTPUTS,
            scope=AnswerScope("q[1..2] in {0, 1}", "adjacent linf 1", False, None),
            pairs=12,
            outputs=3,
            final_states=1,
            precision=40,
            engine="nested",
            seconds=0.04,
            reason=reason,
        ),
        claim=Claim(Fraction(1, 2), Fraction(239, 10000), Fraction(1, 10)),
        answer=answer,
        delta_enclosure=between("0.02390735840246", "0.02390735840247"),
        witness=witness,
    )


def rendered(renderable: RenderableType) -> str:
    out = StringIO()
    show(Console(file=out, width=100, color_system=None), renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("form", ["text", "latex", "dot"])
def test_explanation(form: str) -> None:
    status, text = run("explain", "svt.dpg", "--no-merge", "--format", form)
    assert status == 0
    check_golden(f"explain_{form}", text)


def test_names_are_not_markup() -> None:
    plain = verdict(Answer.DP)
    strange = replace(plain, run=replace(plain.run, program="[bold]x[/bold] :smile:"))
    assert "[bold]x[/bold] :smile:" in rendered(report(strange.describe()))


def test_html_for_notebooks() -> None:
    html = verdict(Answer.NOT_DP, "a < b", WITNESS)._repr_html_()
    assert html.startswith("<div><p><b>Not_DP</b> svt_gauss: the claim is violated</p><table>")
    assert "a &lt; b" in html
    assert "q = (0, 1)" in html
