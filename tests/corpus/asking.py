"""A question is a command line, or a call in Python; its answer is read from the JSON of both.

    ("verify", "programs/svt_gauss.dpg", "--eps", "1/2", "--delta", "1/100")
    ("python", "verify", "examples/mechanisms.py:svt", "eps=1/2", "delta=1/100")

This module alone knows how the public interfaces are called. Files are named from the root of the
repository.
"""

import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import dipapprox
from dipapprox.cli.app import main
from tests.corpus.answers import Answer, read_answer
from tests.schemas import schema_of, suit

ROOT = Path(__file__).parent.parent.parent

PYTHON = "python"
"""The first word of questions in Python."""

_STATUS = {"DP": 0, "Not_DP": 1, "Unknown": 3}


def ask(words: tuple[str, ...]) -> Answer:
    """Ask a question in this process, from the root of the repository."""
    os.environ["COLUMNS"] = "100"
    with chdir(ROOT):
        if words[0] == PYTHON:
            return _call(*words[1:])
        out, errors = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            status = int(main([*words, "--json"]))
        answer = read_answer(status, out.getvalue(), errors.getvalue())
        return suiting(words[0], answer, out.getvalue())


def _call(name: str, file: str, *given: str) -> Answer:
    """Call a function of the library about a program in a file, with words as arguments."""
    keywords: dict[str, Any] = dict(word.split("=", 1) for word in given)
    try:
        found: Any = getattr(dipapprox, name)(dipapprox.parse(Path(file)), **keywords)
    except dipapprox.UserError as error:
        return read_answer(2, "", str(error))
    text = found.to_json()
    answer = read_answer(0, text)
    status = 0 if answer.verdict is None else _STATUS[answer.verdict]
    return suiting(name, read_answer(status, text), text)


def suiting(command: str, answer: Answer, text: str) -> Answer:
    """Return an answer whose text suits its schema, if there is one."""
    if text:
        fields = json.loads(text)
        suit(schema_of(command, fields), fields)
    return answer
