"""What tests are made of: tables, texts in files, golden text, and what is asked in part.

Golden text is what is asked, and all that is said: `DIPAPPROX_GOLDEN=write pytest …` writes it
anew, and the diff is read. What was refused and is accepted now is not written, unless
`DIPAPPROX_ACCEPTED` is a part of what is asked. A file has entries

    what is asked, in one line or several
    -----
    what is said
    =====

`make test` asks a part of long tables and few examples of laws, `make thorough` all of them.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings

from dipapprox.errors import UserError

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
FOLDERS = (TESTS.parent / "programs", TESTS / "corpus" / "programs")
_SAID, _END = "\n-----\n", "=====\n"
_REFUSAL = re.compile(
    r"^\s*(?:(?:None|False)$|refuted|Not_DP|NotEnclosed|perhaps|false |(?!OK|None|DP)[A-Z]\w+: )"
    r"|\b(?:error|limit): |\b(?:Unknown|refused|status [23])\b",
    re.M,
)
Each = TypeVar("Each")

HOPELESS = 600
"""Seconds after which a process is given up that would never end, on however busy a machine."""

THOROUGH = os.environ.get("DIPAPPROX_TESTS") == "thorough"
"""Whether everything is asked."""

EXAMPLES = 200 if THOROUGH else 10
"""Of each law of Hypothesis that does not say how many it needs."""


def cases(names: str, *rows: object, ids: Any = None) -> pytest.MarkDecorator:
    """Ask a test once for each row: of values, in the order of their names, or of one value."""
    return pytest.mark.parametrize(names, rows, ids=ids)


def refuses(
    kind: Any, why: str | None, action: Callable[..., object], *given: Any, **named: Any
) -> None:
    """Want an error of a kind, with words that match, from an action on what it is given."""
    with pytest.raises(kind, match=why):
        action(*given, **named)


def text_of(name: str) -> str:
    """Read programs/<name>.dpg, or tests/corpus/programs/<name>.dpg; with an ending, that file."""
    file = name if Path(name).suffix else f"{name}.dpg"
    paths = (folder / file for folder in FOLDERS)
    return next(path for path in paths if path.exists()).read_text(encoding="utf-8")


def template_of(name: str) -> str:
    """Read what programs are made of: tests/templates/<name>.txt."""
    return (TESTS / "templates" / f"{name}.txt").read_text(encoding="utf-8")


def texts_in(folder: str) -> dict[str, str]:
    """Read all programs of a folder of tests/corpus/programs, by their names."""
    return {
        path.stem: text_of(f"{folder}/{path.stem}")
        for path in sorted(FOLDERS[1].glob(f"{folder}/*.dpg"))
    }


def examples(few: int) -> settings:
    """Return settings of a law whose examples are dear: few, or ten times as many."""
    return settings(max_examples=10 * few if THOROUGH else few)


def part(table: Sequence[Each], every: int) -> Sequence[Each]:
    """Return the rows 0, every, 2 · every, … of a table; all of them where everything is asked."""
    return table if THOROUGH else table[::every]


def check_answers(name: str, ask: Callable[[str], str]) -> None:
    """Ask everything that a file asks; what fails is named with what is said now.

    Args:
        name: Of the file.
        ask: Returns what is said, in whole lines.
    """
    path = GOLDEN / f"{name}.txt"
    *entries, rest = path.read_text(encoding="utf-8").split(_END)
    assert entries and not rest
    wanted = {asked: said for asked, _, said in (each.partition(_SAID) for each in entries)}
    assert len(wanted) == len(entries), "nothing is asked twice"
    now = {asked: ask(asked) for asked in wanted}
    if os.environ.get("DIPAPPROX_GOLDEN") == "write":
        named = os.environ.get("DIPAPPROX_ACCEPTED")
        assert [
            asked
            for asked, said in wanted.items()
            if len(_REFUSAL.findall(said)) > len(_REFUSAL.findall(now[asked]))
            if not named or named not in asked
        ] == [], "refused before: a false acceptance is no new wording"
        path.write_text("".join(f"{a}{_SAID}{now[a]}{_END}" for a in now), encoding="utf-8")
        return
    assert {asked: said for asked, said in now.items() if said != wanted[asked]} == {}


def complaint(read: Callable[[str], object]) -> Callable[[str], str]:
    """Return what is said of texts that cannot be read, and what becomes of others, if words."""

    def said(text: str) -> str:
        try:
            found = read(text)
        except UserError as error:
            return f"{error.render()}\n"
        return found if isinstance(found, str) else "accepted\n"

    return said


def evaluated(names: Mapping[str, object], *refusals: type[Exception]) -> Callable[[str], str]:
    """Return what an expression of some names is, or which of some errors it ends in, and why."""

    def said(asked: str) -> str:
        try:
            return f"{eval(asked, dict(names))}\n"
        except refusals as error:
            return f"{type(error).__name__}: {error}\n"

    return said
