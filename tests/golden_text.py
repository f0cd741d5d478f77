"""Golden text: what is asked, and all that is said.

`DIPAPPROX_GOLDEN=write pytest …` writes it anew: read the diff. A file has entries

    what is asked, in one line or several
    -----
    what is said
    =====
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from dipapprox.errors import UserError

GOLDEN = Path(__file__).parent / "golden"

_SAID, _END = "\n-----\n", "=====\n"


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
