"""The cookbook's tables: every row is computed. UPDATE_DOCS=1 writes what was found."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import dipapprox
from dipapprox.digits import exact_text

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "cookbook.md"

_ROW = re.compile(r"^\| \[.+\]\(\.\./(programs/.+\.dpg)\) \|(.+)\| (.+) \|$", re.MULTILINE)
ROWS = {
    row[1]: (row[0], [cell.strip() for cell in row[2].split("|")], row[3])
    for row in _ROW.finditer(PAGE.read_text(encoding="utf-8"))
}
"""Whole row, inner cells, last cell, by program."""


def least_budget(path: Path, every: str) -> str:
    if every:
        proof = dipapprox.prove(dipapprox.parse(path, for_all=every.removeprefix("every ")))
    else:
        proof = dipapprox.prove(dipapprox.parse(path), reals=True)
    if proof.answer is dipapprox.Answer.NOT_DP:
        return "none"
    if proof.is_exact:
        return exact_text(proof.lower)
    assert proof.upper is not None
    return f"{exact_text(proof.lower)} to {exact_text(proof.upper)}"


def least_eps_prv(path: Path, eps: str, delta: str) -> str:
    found = dipapprox.profile(dipapprox.parse(path), eps=eps, delta=delta)
    assert isinstance(found, dipapprox.LeastEpsPrv)
    return f"{float(found.eps_prv_enclosure):.6f}"


@pytest.mark.parametrize("program", ROWS)
def test_what_a_mechanism_costs(program: str) -> None:
    row, inner, last = ROWS[program]
    if len(inner) == 2:
        found = least_budget(ROOT / program, inner[0])
    else:
        found = least_eps_prv(ROOT / program, inner[0], inner[1])
    if os.environ.get("UPDATE_DOCS"):
        text = PAGE.read_text(encoding="utf-8")
        fresh = f"{row.removesuffix(f'{last} |')}{found} |"
        PAGE.write_text(text.replace(row, fresh), encoding="utf-8")
    assert last == found


def test_there_are_as_many_as_the_page_says() -> None:
    assert len(ROWS) > 40
