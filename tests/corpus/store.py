"""The data: one line of JSON a question, sorted, so that a change of answers is a readable diff."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.corpus.answers import Answer

HERE = Path(__file__).parent
ANSWERS = HERE / "answers.jsonl"

MOST_ENDS = 16
"""Of thousands of probabilities some will do."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A question with its answer.

    Attributes:
        words: What was asked.
        answer: What was answered.
        seconds: What it took, in calibrated seconds of processor time.
    """

    words: Words
    answer: Answer
    seconds: float

    @property
    def stratum(self) -> str:
        """What kind of question and answer it is: "verify DP", "python profile 0"."""
        command = " ".join(self.words[:2]) if self.words[0] == "python" else self.words[0]
        return f"{command} {self.answer.verdict or self.answer.status}"


def read_rows() -> list[Row]:
    rows = []
    for fields in read_lines(ANSWERS):
        line, seconds = fields.pop("ask"), fields.pop("s")
        words = tuple(shlex.split(line) if "'" in line else line.split())
        rows.append(Row(words, Answer.from_dict(fields), seconds))
    return rows


def write_rows(rows: Iterable[Row]) -> None:
    """Write all questions and answers, of one answer at most `MOST_ENDS` enclosures."""
    lines = (
        {"ask": shlex.join(row.words), **_told(row.answer), "s": round(row.seconds, 2)}
        for row in rows
    )
    write_lines(ANSWERS, lines)


def _told(answer: Answer) -> dict[str, Any]:
    step = max(1, len(answer.ends) // MOST_ENDS)
    ends = dict(list(answer.ends.items())[::step])
    return replace(answer, ends=ends).to_dict()


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write a file of JSON Lines, sorted."""
    texts = sorted(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines
    )
    path.write_text("".join(texts), encoding="utf-8")
