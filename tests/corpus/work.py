"""How much work some questions are, in calls of functions: a time that no other process changes.

    python -m tests.corpus.work        a JSON object: the calls of each question of the work list

Each is asked in a process of its own, its modules loaded, its memories empty.
"""

import json
import os
import shlex

from tests.corpus.asking import ask
from tests.corpus.questions import drawn
from tests.corpus.running import run_all
from tests.corpus.store import HERE, Row, Words
from tests.work import calls

WORK = HERE / "work.json"

ALLOWED = 2
"""Times as many calls as before, and `SPARE` calls: more breaks the law."""

SPARE = 50_000

QUICK = 0.06


def count(words: Words) -> int:
    return calls(lambda: ask(words))


def counted(questions: list[Words]) -> dict[str, int]:
    runs = run_all(count, questions, os.cpu_count() or 1, lambda _: 60.0)
    return {shlex.join(run.question): run.answer or 0 for run in runs}


def chosen(rows: list[Row]) -> list[Words]:
    """Return a quick question or two of each command: the same ones for the same rows."""
    found: dict[str, Words] = {}
    for row in sorted(rows, key=lambda row: drawn(f"work {row.words}")):
        if QUICK / 4 < row.seconds < QUICK:
            told = row.answer.verdict is not None
            found.setdefault(f"{row.words[0]} {told}", row.words)
    return sorted(found.values())


def write_work(rows: list[Row]) -> None:
    """Count the calls of some questions and write them."""
    counts = counted(chosen(rows))
    WORK.write_text(json.dumps(dict(sorted(counts.items())), indent=0) + "\n", encoding="utf-8")


def read_work() -> dict[str, int]:
    """Return the calls of some questions, as they are stored."""
    found: dict[str, int] = json.loads(WORK.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    print(json.dumps(counted([tuple(shlex.split(line)) for line in read_work()])))
