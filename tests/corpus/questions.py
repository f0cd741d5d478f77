"""Which questions are asked: of every program of the repository all that make sense, of the texts
of tests a share, and the command lines that documents and tests have been seen to ask.

    programs/, templates, examples/, tests/corpus/programs/  ->  kind  ->  its part of kinds.txt
    asked.txt                                                ->  as they stand
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import dipapprox
from tests.corpus.asking import PYTHON, ROOT

HERE = Path(__file__).parent
ASKED = HERE / "asked.txt"
SLOW = HERE / "slow.txt"
TEXTS = HERE / "programs"

Words = tuple[str, ...]

OF_REPOSITORY = 0.42
"""The share of all questions that a program of the repository is asked: another one each."""

OF_TEXTS = 0.07
"""The share that a text of the tests is asked."""

OF_CALLS = 0.35
"""The share of calls in Python: only functions are asked about by them."""

OF_FEW = 3
"""Where a kind has few questions, so many times the share."""

KINDS = {
    name: lines.splitlines()
    for name, lines in re.findall(
        r"^\[(\w+)\]\n((?:.+\n)+)", (HERE / "kinds.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
}
"""The questions of each kind of program."""


def questions() -> list[Words]:
    """Return all questions, each once, sorted."""
    found = {tuple(shlex.split(line)) for line in ASKED.read_text(encoding="utf-8").splitlines()}
    for file in repository():
        found |= set(_questions_of(file, OF_REPOSITORY))
    for file in files_in(TEXTS):
        found |= set(_questions_of(file, OF_TEXTS))
    return sorted(found)


def slow() -> list[Words]:
    """Return the few questions that may take long."""
    return [tuple(shlex.split(line)) for line in SLOW.read_text(encoding="utf-8").splitlines()]


def is_kept(words: Words, share: float) -> bool:
    """Whether bad input is kept: what was asked, and a share of others."""
    line = shlex.join(words)
    return line in ASKED.read_text(encoding="utf-8").splitlines() or drawn(line) < share


def repository() -> list[str]:
    """Return the programs of the repository, as `files_in` names them."""
    return files_in(*(ROOT / name for name in ("programs", "dipapprox/templates", "examples")))


def files_in(*folders: Path) -> list[str]:
    """Return the programs in folders, from the root, functions as `file.py:name`."""
    files = []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix in (".dpg", ".dipa", ".dip", ".toml"):
            files.append(name)
        elif path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            functions = re.findall(r"^@mechanism.*?^def (\w+)", text, re.MULTILINE | re.DOTALL)
            files += [f"{name}:{function}" for function in functions]
    return files


def _questions_of(file: str, share: float) -> Iterator[Words]:
    """Draw a share of the questions about a file, at least one."""
    lines = sorted(_lines_of(file), key=lambda line: drawn(f"{file} {line}"))
    if len(lines) <= 12:
        share *= OF_FEW
    for place, line in enumerate(lines):
        own = OF_CALLS if line.startswith(PYTHON) else share
        if not place or drawn(f"{file} {line}") < own:
            words = _row(file, tuple(file if word == "FILE" else word for word in line.split()))
            if words is not None:
                yield words


def _lines_of(file: str) -> list[str]:
    """Choose the questions by what a file says that it is."""
    path, _, function = file.partition(".py:")
    if function:
        return KINDS["finite"] + [f"{PYTHON} {line}" for line in KINDS["calls"]]
    text = re.sub(r"#.*", "", (ROOT / file).read_text(encoding="utf-8"))
    kind = Path(path).suffix
    if kind in (".dipa", ".toml"):
        return KINDS["automaton" if kind == ".dipa" else "pipeline"]
    if re.search(r"^stream\b", text, re.MULTILINE):
        return KINDS["stream"]
    if re.search(r"^on (data|query|call)\b", text, re.MULTILINE):
        return KINDS["service"]
    counted = re.search(r"^param N\b", text, re.MULTILINE)
    return KINDS["finite"] + (KINDS["counted"] if counted else [])


def drawn(text: str) -> float:
    """Return a number in [0, 1) that depends on a text alone: the same choice in every run."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _row(file: str, words: Words) -> Words | None:
    """Put the first or the last input into a question; None where the inputs have no such one."""
    place = {"FIRST": 0, "LAST": -1}
    wanted = [word.rpartition("=")[2] for word in words]
    if not set(wanted) & set(place):
        return words
    try:
        cells = dipapprox.parse(Path(ROOT / file)).inputs
        rows = {name: ",".join(str(cell.domain[k]) for cell in cells) for name, k in place.items()}
    except dipapprox.UserError:
        return None
    return tuple(
        f"{word[: -len(last)]}{rows[last]}" if last in rows else word
        for word, last in zip(words, wanted, strict=True)
    )
