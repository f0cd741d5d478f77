"""Command lines, and all that is said: of what is refused on stderr, with the exit status 2.

The first line of a question is the command line; files that it needs follow, each below `= name`.
"""

import re
import shlex
import shutil
from pathlib import Path

from dipapprox.cli import app
from tests.cases import cases
from tests.golden_text import check_answers
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
    *(ROOT / "programs" / "automata" / f"{n}.dipa" for n in ("svt", "range")),
    ROOT / "programs" / "streams" / "numeric_sparse_stream.dpg",
    ROOT / "examples" / "mechanisms.py",
)

_SECONDS = re.compile(r"< 1 ms|\d[\d.]*(?:e-\d+)? s\b *|(?<=\"seconds\": )[\d.e-]+")


@cases("kind", "shown", "refused_commands", "refused_questions", "refused_proofs", "refused_sweeps")
def test_what_is_said_is_what_was_said(kind, files, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
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
        if (status, out) == (2, ""):
            return err
        return f"{_SECONDS.sub('… s', out)}{err}status {status}\n"

    check_answers(kind, said)
