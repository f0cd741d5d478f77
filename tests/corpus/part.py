"""The part of the corpus that `make test` asks: few questions, which enter nearly all functions.

    python -m tests.corpus.part      ask everything and write `part.txt`: as long as `make corpus`

The next question is the one that enters most functions that none before it has entered, by the
second; a kind of question or answer of which none is taken gives its quickest.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from types import FrameType

import dipapprox
from tests.corpus.asking import ask
from tests.corpus.running import run_all
from tests.corpus.store import HERE, Row, Words, read_rows

PART = HERE / "part.txt"

SECONDS = 5.0
"""Of all that are taken."""

OF_ANY = 0.03
"""What a question costs besides its seconds."""

Functions = frozenset[tuple[str, str]]
"""Files and qualified names."""


def entered(words: Words) -> Functions:
    """Ask a question; return the functions of the package that it enters."""
    codes = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        ask(words)
    finally:
        sys.setprofile(None)
    (package,) = dipapprox.__path__
    return frozenset(
        (code.co_filename.removeprefix(package), code.co_qualname)
        for code in codes
        if code.co_filename.startswith(package)
    )


def cover(seconds: Mapping[Words, float], functions: Mapping[Words, Functions]) -> list[Words]:
    """Return few questions that enter many functions, within `SECONDS`."""
    left = set[tuple[str, str]]().union(*functions.values())
    found: list[Words] = []
    spent = 0.0

    def worth(words: Words) -> float:
        return len(functions[words] & left) / (seconds[words] + OF_ANY)

    waiting = [(-worth(words), words) for words in functions]
    heapify(waiting)
    while waiting and spent < SECONDS:
        before, words = heappop(waiting)
        # What is left only shrinks: a question is never worth more than it was.
        now = -worth(words)
        if before < now < 0:
            heappush(waiting, (now, words))
        elif now < 0:
            found.append(words)
            left -= functions[words]
            spent += seconds[words]
    return sorted(found)


def read_part(rows: list[Row]) -> dict[str, list[Row]]:
    taken = {tuple(shlex.split(line)) for line in PART.read_text(encoding="utf-8").splitlines()}
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.seconds):
        if row.words in taken or row.stratum not in found:
            found.setdefault(row.stratum, []).append(row)
    return found


if __name__ == "__main__":
    known = {row.words: row.seconds for row in read_rows()}
    asked = run_all(entered, list(known), os.cpu_count() or 1, lambda words: 20 * known[words] + 20)
    functions = {run.question: run.answer for run in asked if run.answer is not None}
    PART.write_text("".join(shlex.join(words) + "\n" for words in cover(known, functions)))
