"""Which questions are asked: of every program of the repository all that make sense, of the texts
of tests a share, and the command lines that documents and tests have been seen to ask.

    programs/, templates, examples/, tests/corpus/programs/  ->  kind  ->  questions of its kind
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

_FINITE = """
verify FILE --eps 1/2 --delta 0
verify FILE --eps 1 --eps-prv 1/10 --delta 1/100
verify FILE --eps 1 --eps-prv 3 --delta 1/20
verify FILE --eps 2 --eps-prv log(3) --delta 1/50
verify FILE --eps 1 --eps-prv 2 --delta 1e-5
verify FILE --eps 1 --delta 1/100 --pairs single
verify FILE --eps 1 --eps-prv 1/2 --delta 1/10 --engine nested
verify FILE --eps 1 --eps-prv 1/2 --delta 1/10 --tier balls
verify FILE --eps 1 --eps-prv 1/2 --delta 1/10 --no-merge
verify FILE --eps 1/2..1 --eps-prv 2*eps --delta 1/100
verify FILE --eps 1..3/2 --eps-prv eps/4 --delta 1/20
profile FILE --eps 1 --delta 0
profile FILE --eps 1/2 --delta 1/100
profile FILE --eps 2 --delta 1e-6
profile FILE --eps 1 --eps-prv 1/2
profile FILE --eps 1 --eps-prv 1/10
profile FILE --eps 1 --eps-prv 0 --pairs single
profile FILE --eps 1 --curve 0:1:3
profile FILE --eps 1 --renyi 1,2,inf
calibrate FILE --eps-prv 1 --delta 1/100 --width 1e-2
calibrate FILE --eps-prv 1/2 --delta 0 --width 1e-2
decide FILE
decide FILE --budget 1/2
decide FILE --budget 2 --delta exp(-2) --least-delta
decide FILE --interval 1/2..2 --budget 1/2 --violations
prove FILE --reals
prove FILE --reals --budget 1/2
prove FILE
compose FILE --eps 1/2 --times 3 --delta 1/1000
compose FILE --eps 1 --times 2 --eps-prv 1
compose FILE --eps 1/2 --times 4 --eps-prv 3 --delta 1/100
compose FILE --eps 1/2 --times 5 --subsample 1/10 --delta 1/1000
probability FILE --eps 1 --input FIRST
probability FILE --eps 1/2 --input LAST --relative-width 1e-9
"""

_COUNTED = """
prove FILE --for-all N
prove FILE --for-all N --budget 1
"""

_STREAM = """
prove FILE
prove FILE --budget 1
prove FILE --budget 1/2
prove FILE --stops visible
verify FILE --rounds 2 --values 0..1 --eps 1 --delta 0
verify FILE --rounds 3 --values {0,1} --eps 1/2 --eps-prv 1/10 --delta 1/100
profile FILE --rounds 2 --values -1..1 --eps 1 --delta 0
profile FILE --rounds 2 --values 0..1 --eps 1 --eps-prv 1/2
decide FILE --rounds 2 --values 0..1
decide FILE --rounds 2 --values 0..1 --budget 1/2
"""

_SERVICE = """
prove FILE
prove FILE --budget 1
prove FILE --budget 1/2
prove FILE --budget 4
prove FILE --eps 1
prove FILE --eps 1/2 --budget 1
"""

_AUTOMATON = """
prove FILE
prove FILE --budget 1
prove FILE --budget 1/2
prove FILE --stops visible
prove FILE --budget 2 --stops visible
"""

_CALLS = """
verify FILE eps=1/2 delta=0
verify FILE eps=1 eps_prv=1/10 delta=1/100
verify FILE eps=1/2..1 delta=1/10
profile FILE eps=1 delta=1/100
profile FILE eps=1 eps_prv=1/2
calibrate FILE eps_prv=1 delta=1/100 width=1e-2
decide FILE
decide FILE budget=1/2
prove FILE reals=yes
probability FILE eps=1 input=FIRST
"""

_PIPELINE = """
compose FILE --delta 1e-5
compose FILE --delta 0
compose FILE --eps-prv 1
compose FILE --eps-prv 2 --delta 1e-6
compose FILE --eps-prv 1/2 --delta 1e-3
compose FILE --curve 0:2:3
"""


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
        calls = [f"{PYTHON} {line}" for line in _CALLS.split("\n") if line]
        return [line for line in _FINITE.split("\n") if line] + calls
    text = re.sub(r"#.*", "", (ROOT / file).read_text(encoding="utf-8"))
    kind = Path(path).suffix
    if kind in (".dipa", ".toml"):
        lines = _AUTOMATON if kind == ".dipa" else _PIPELINE
    elif re.search(r"^stream\b", text, re.MULTILINE):
        lines = _STREAM
    elif re.search(r"^on (data|query|call)\b", text, re.MULTILINE):
        lines = _SERVICE
    else:
        lines = _FINITE + (_COUNTED if re.search(r"^param N\b", text, re.MULTILINE) else "")
    return [line for line in lines.split("\n") if line]


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
