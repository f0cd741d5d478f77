"""`dipapprox examples` and `dipapprox new`: programs to start from."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from dipapprox.cli.output import show, write
from dipapprox.errors import UserError
from dipapprox.highlighting import DpgLexer
from dipapprox.language.diagnosis import did_you_mean

PROGRAMS = Path(__file__).parent.parent / "programs"
TEMPLATES = Path(__file__).parent.parent / "templates"

_EXAMPLES = """examples:
  dipapprox examples                          what there is
  dipapprox examples svt_gauss                print one
  dipapprox examples svt_gauss --copy .       a copy to work with
"""

_NEW = """examples:
  dipapprox new my_mechanism                  a sparse vector mechanism to change
  dipapprox new my_argmax --template noisy-max
"""


@dataclass(frozen=True, slots=True)
class ExamplesCommand:
    """The command line, read."""

    name: str | None
    copy: Path | None


@dataclass(frozen=True, slots=True)
class NewCommand:
    """The command line, read."""

    path: Path
    template: str


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands to the parser."""
    parser = commands.add_parser(
        "examples",
        help="show the programs that come with dipapprox",
        description="List the programs that come with dipapprox, print one, or copy it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a program of the list")
    parser.add_argument("--copy", metavar="FOLDER", help="copy it there instead")
    parser.set_defaults(read=_read_examples, run=_run_examples)
    parser = commands.add_parser(
        "new",
        help="write a program to start from",
        description="Write a commented program to start from: NAME.dpg.",
        epilog=_NEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", metavar="NAME", help="of the file, with or without .dpg")
    parser.add_argument(
        "--template",
        choices=sorted(path.stem for path in TEMPLATES.glob("*.dpg")),
        default="svt",
        help="what to start from (default: %(default)s)",
    )
    parser.set_defaults(read=_read_new, run=_run_new)


def _read_examples(words: argparse.Namespace) -> ExamplesCommand:
    if words.copy is not None and words.name is None:
        raise UserError("--copy needs the NAME of a program", "dipapprox examples lists them")
    return ExamplesCommand(words.name, None if words.copy is None else Path(words.copy))


def _read_new(words: argparse.Namespace) -> NewCommand:
    path = Path(words.name if words.name.endswith(".dpg") else f"{words.name}.dpg")
    if not re.fullmatch(r"[\w-]+", path.stem):
        raise UserError(f"'{path.stem}' is no name for a program", "letters, digits, _ and -")
    return NewCommand(path, words.template)


def _run_examples(command: ExamplesCommand, console: Console) -> int:
    if command.name is None:
        table = Table("name", "what it is", box=None, pad_edge=False)
        for path in _programs():
            table.add_row(_name(path), _title(path))
        show(console, table)
        return 0
    path = _find(command.name)
    text = path.read_text(encoding="utf-8")
    if command.copy is not None:
        _write_new(command.copy / path.name, text, console)
    elif console.is_terminal:
        show(console, Syntax(text, DpgLexer(), background_color="default"))
    else:
        write(console, text)
    return 0


def _run_new(command: NewCommand, console: Console) -> int:
    text = (TEMPLATES / f"{command.template}.dpg").read_text(encoding="utf-8")
    _write_new(command.path, text, console)
    write(console, f"try: dipapprox verify {command.path} --eps 1 --eps-prv 1 --delta 1e-5\n")
    return 0


def _programs() -> Iterator[Path]:
    yield from sorted(PROGRAMS.rglob("*.dpg"), key=lambda path: (path.parent, path.name))


def _name(path: Path) -> str:
    return path.relative_to(PROGRAMS).with_suffix("").as_posix()


def _title(path: Path) -> str:
    """The first line of the program's header."""
    with path.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip()


def _find(name: str) -> Path:
    known = {_name(path): path for path in _programs()}
    wanted = name.removesuffix(".dpg")
    if wanted not in known:
        hint = did_you_mean(wanted, known, "dipapprox examples lists them")
        raise UserError(f"there is no example '{name}'", hint)
    return known[wanted]


def _write_new(path: Path, text: str, console: Console) -> None:
    """Write a file that must not exist yet."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"'{path}' exists already", "choose another name") from None
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from None
    write(console, f"wrote {path}\n")
