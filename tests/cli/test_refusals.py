"""Command lines that are refused: all that is said on stderr, nothing on stdout, exit status 2.

The first line of a question is the command line; files that it needs follow, each below `= name`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from dipapprox.cli import app
from tests.golden_text import check_refusals
from tests.services.examples import DATA, HEAD, ONCE

TEXTS = {
    "noise.toml": '[[run]]\nmechanism = "gaussian"\nsigma = 4\ntimes = 10\n',
    "pipeline.toml": '[[run]]\nmechanism = "gaussian"\nsigma = 4\nsubsample = 0.1\ntimes = 20\n'
    '[[run]]\nprogram = "svt.dpg"\neps = "1/2"\ntimes = 3\n',
    "service.dpg": HEAD + DATA + ONCE,
    "p.dpg": "param N = 1\ninput q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
    "r <- Lap(q, N / eps)\nif r >= 1 then out <- 1 end\n",
}
"""Files that many questions are about, besides those of all tests of commands."""

ROOT = Path(__file__).parents[2]
COPIED = (
    ROOT / "programs" / "automata" / "svt.dipa",
    ROOT / "programs" / "streams" / "numeric_sparse_stream.dpg",
    ROOT / "examples" / "mechanisms.py",
)


@pytest.mark.parametrize("kind", ["commands", "questions", "proofs", "sweeps"])
def test_what_is_wrong_is_said(kind: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for copied in COPIED:
        shutil.copy(copied, files)
    for name, text in TEXTS.items():
        (files / name).write_text(text, encoding="utf-8")

    def said(asked: str) -> str:
        line, _, texts = asked.partition("\n")
        own = re.findall(r"^= (.*)\n((?:(?!= ).*\n?)*)", texts, re.MULTILINE)
        for name, text in own:
            (files / name).write_text(text, encoding="utf-8")
        status = app.main(shlex.split(line))
        for name, _ in own:
            (files / name).unlink()
        out, err = capsys.readouterr()
        assert (status, out) == (2, ""), asked
        return err

    check_refusals(kind, said)
