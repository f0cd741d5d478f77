"""What the tests ask, recorded while they run: a plugin, and what becomes of its records.

    pytest -p tests.corpus.recording tests         each process writes a file into RECORDS
    python -m tests.corpus.recording               files and texts -> programs/ and asked.txt

Programs of tests are texts in strings, put together in many ways: reading them off where they are
parsed finds them all. What is recorded besides are command lines, with the files that they name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.corpus.asking import ROOT
from tests.corpus.questions import ASKED, TEXTS, repository

RECORDS = Path(tempfile.gettempdir()) / "dipapprox-corpus-records"

READERS = {
    ("dipapprox.language.parser", "parse"): "dpg",
    ("dipapprox.language.dip", "parse_dip"): "dip",
    ("dipapprox.language.dipa", "parse_dipa"): "dipa",
}
"""The functions that read texts, with what these are called."""

ASKING = ("verify", "profile", "calibrate", "decide", "prove", "compose", "probability")

_DROPPED = ("--certificate", "--report", "--plot", "--draw", "--jobs", "--timeout", "--max-memory")
"""Flags that change no answer, or how long is waited for one; each has a value."""

_REFUSED = ("--families", "--implements", "--help", "-h", "--csv")

_LARGEST = 8_000
"""Characters of a text."""

_OF_ONE_TEST = 2
"""So many texts of one test function: those that it draws are alike."""

_SYNTAX = ("test_parser", "test_messages", "test_golden_errors", "test_highlighting")
"""Tests whose texts are about syntax only."""


def pytest_configure(config: Any) -> None:
    """Begin to record, before the tests are imported."""
    RECORDS.mkdir(exist_ok=True)
    file = (RECORDS / f"{os.getpid()}.jsonl").open("w", encoding="utf-8")

    def note(**record: Any) -> None:
        record["test"] = os.environ.get("PYTEST_CURRENT_TEST", "")
        file.write(json.dumps(record, default=str) + "\n")
        file.flush()

    for (module, name), kind in READERS.items():
        home = import_module(module)
        setattr(home, name, _noting(getattr(home, name), kind, note))
    parser = import_module("dipapprox.cli.command").Parser
    before = parser.parse_known_args

    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        if self.prog == "dipapprox" and args:
            words = [str(word) for word in args]
            note(words=words, files=dict(_files(words)))
        return before(self, args, namespace)

    parser.parse_known_args = parse_known_args


def _noting(read: Callable[..., Any], kind: str, note: Callable[..., None]) -> Callable[..., Any]:
    @wraps(read)
    def reading(text: str, *args: Any, **keywords: Any) -> Any:
        program = read(text, *args, **keywords)
        note(text=text, kind=kind)
        return program

    return reading


def _files(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that words name, with what they hold."""
    for word in words:
        name = re.sub(r"\.py:\w+$", ".py", word)
        try:
            if Path(name).is_file() and Path(name).stat().st_size <= _LARGEST:
                yield name, Path(name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue


def collect(records: Sequence[dict[str, Any]]) -> None:
    """Write what is new among records: texts into `TEXTS`, command lines into `ASKED`."""
    known: dict[str, str] = {}
    for path in sorted(TEXTS.rglob("*.*")):
        known[_gist(path.read_text(encoding="utf-8"))] = str(path.relative_to(ROOT))
    for file in repository():
        name = re.sub(r"\.py:\w+$", ".py", file)
        known[_gist((ROOT / name).read_text(encoding="utf-8"))] = name
    lines = set(ASKED.read_text(encoding="utf-8").splitlines())
    for record in records:
        if "words" in record:
            line = _line(record["words"], record["files"], known)
            if line is not None:
                lines.add(line)
    counts = Counter[str]()
    for record in records:
        test = record["test"].partition("[")[0].partition(" (")[0]
        if "text" not in record or not test or len(record["text"]) > _LARGEST:
            continue
        file = Path(test.partition("::")[0])
        gist = _gist(record["text"])
        if gist in known or counts[test] == _OF_ONE_TEST or file.stem in _SYNTAX:
            continue
        counts[test] += 1
        name = file.stem.removeprefix("test_")
        known[gist] = _write(file.parent.name, name, record["kind"], record["text"])
    ASKED.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


def _line(words: Sequence[str], files: dict[str, str], known: dict[str, str]) -> str | None:
    """Return a command line as the corpus asks it; None where it is not for it."""
    if words[0] not in ASKING or any(word.partition("=")[0] in _REFUSED for word in words):
        return None
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, _ = word.partition("=")
        if flag in _DROPPED:
            if not equals:
                next(rest, None)
        elif word != "--json":
            kept.append(_placed(word, files, known))
    # What is named and is no file any more was one in the test's folder.
    named = [word for word in kept if re.search(r"\.(dpg|dip|dipa|toml|py)(:\w+)?$", word)]
    if any(not (ROOT / re.sub(r":\w+$", "", word)).exists() for word in named):
        return None
    return None if any("/tmp/" in word for word in kept) else shlex.join(kept)


def _placed(word: str, files: dict[str, str], known: dict[str, str]) -> str:
    """Return a word; a file's is the name of the copy that is kept."""
    name = re.sub(r":\w+$", "", word)
    text = files.get(name)
    if text is None:
        return word
    path = Path(name)
    if path.suffix == ".toml":
        for program in set(re.findall(r'program = "([\w/.-]+)"', text)):
            found = [each for each in repository() if each.endswith(f"/{program}")]
            if found:
                text = text.replace(f'"{program}"', f'"../../../../{found[0]}"')
    gist = _gist(text)
    if gist not in known:
        known[gist] = _write("asked", path.stem, path.suffix.removeprefix("."), text)
    return known[gist] + word[len(name) :]


def _write(folder: str, name: str, kind: str, text: str) -> str:
    """Write a text under a name of its own; return that, from the root."""
    place = TEXTS / folder
    place.mkdir(parents=True, exist_ok=True)
    number = 1
    while (path := place / f"{name}-{number}.{kind}").exists():
        number += 1
    path.write_text(text.strip("\n") + "\n", encoding="utf-8")
    return str(path.relative_to(ROOT))


def _gist(text: str) -> str:
    """Return a text without its comments and without its layout."""
    return " ".join(re.sub(r"#.*", "", text).split())


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    found = [
        json.loads(line)
        for file in sorted(given.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    collect(found)
