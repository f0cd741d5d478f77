"""The notebook and the cookbook show what is computed. UPDATE_DOCS=1 writes what was found."""

import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import dipapprox
from dipapprox.digits import exact_text
from tests.cases import HOPELESS, part

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "dipapprox.ipynb"

_PICTURES = ("image/svg+xml", "image/png")


def execute(notebook: Any) -> Any:
    """Run all cells in a fresh kernel; what only that run has is dropped."""
    # The date of pictures: without it every refresh would change them.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": "0"}
    client = NotebookClient(notebook, timeout=HOPELESS, kernel_name="python3")
    done = client.execute(cwd=str(ROOT), env=environment)
    for cell in done.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "text/html" in output.get("data", ()):  # the same again, with times
                output.data = {"text/html": output.data["text/html"]}
    done.metadata.language_info = {"name": "python"}
    return done


def shown(notebook: Any) -> list[list[Any]]:
    """The outputs of every code cell, as far as they are the same on every machine."""
    return [
        [comparable(output) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def comparable(output: Any) -> Any:
    """An output's text without times and markup; of pictures only that they are there."""
    if output.output_type == "stream":
        return output.name, output.text
    data = output.data
    if any(kind in data for kind in _PICTURES):
        return "a picture"
    text = data["text/html"] if "text/html" in data else data["text/plain"]
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    return re.sub(r"\d+(\.\d+)? s\b", "… s", unescape(re.sub(r"<[^>]+>", " ", text)))


def test_the_notebook_shows_what_it_computes() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    before = shown(stored)
    done = execute(stored)
    if os.environ.get("UPDATE_DOCS"):
        nbformat.write(done, NOTEBOOK)
        before = shown(done)
    assert shown(done) == before
    numbers = [cell.execution_count for cell in done.cells if cell.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_notebook_shows_all_there_is_to_show() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    outputs = [output for cell in shown(notebook) for output in cell]
    texts = "\n".join(str(output) for output in outputs)
    assert "a picture" in outputs
    assert " DP " in texts and " Not_DP " in texts
    source = notebook.cells[2].outputs[0].data["text/html"]
    assert 'class="highlight"' in source and '<span class="kd">input</span>' in source
    assert "least ε_prv" in texts
    assert "stderr" not in texts, "no warnings"


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
    return f"{float(found.eps_prv_enclosure):.6f}"


@pytest.mark.parametrize("program", part(list(ROWS), 2))
def test_what_a_mechanism_costs(program) -> None:
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
