"""`dipapprox examples`: the programs that come with dipapprox.

`dipapprox new`: a program to start from.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rich.syntax import Syntax
from rich.table import Table

from dipapprox.bundled import bundled_programs
from dipapprox.cli import command
from dipapprox.cli.output import Output
from dipapprox.errors import UserError, did_you_mean
from dipapprox.highlighting import DpgLexer
from dipapprox.language.load import DIPA, DPG


def add_examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a program of the list")
    parser.add_argument("--copy", type=command.path, metavar="FOLDER", help="copy it there instead")


def run_examples(words: argparse.Namespace, out: Output) -> int:
    if words.name is None:
        if words.copy is not None:
            raise UserError("--copy needs the NAME of a program", "dipapprox examples lists them")
        table = Table("name", "what it is", box=None, pad_edge=False)
        for name, path in bundled_programs().items():
            table.add_row(name, _title(path))
        out.show(table)
        return 0
    path = _find(words.name)
    text = path.read_text(encoding="utf-8")
    if words.copy is not None:
        out.write_new(words.copy / path.name, text)
    elif out.console.is_terminal:
        out.show(Syntax(text, DpgLexer(), background_color="default"))
    else:
        out.write(text)
    return 0


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip()


def _find(name: str) -> Path:
    known = bundled_programs()
    wanted = name.removesuffix(f".{DPG}").removesuffix(f".{DIPA}")
    if wanted not in known:
        alike = next((each for each in known if each.endswith(f"/{wanted}")), None)
        hint = did_you_mean(alike or wanted, known, "dipapprox examples lists them")
        raise UserError(f"there is no example '{name}'", hint)
    return known[wanted]


TEMPLATES = Path(__file__).parent.parent / "templates"


def add_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the file, with or without its ending")
    parser.add_argument(
        "--template",
        choices=sorted(path.stem for path in TEMPLATES.iterdir() if path.is_file()),
        default="svt",
        metavar="TEMPLATE",
        help="what to start from, a name in the list below (default: %(default)s)",
    )


def run_new(words: argparse.Namespace, out: Output) -> int:
    (template,) = TEMPLATES.glob(f"{words.template}.*")
    ending = template.suffix
    path = Path(words.name if words.name.endswith(ending) else f"{words.name}{ending}")
    if not re.fullmatch(r"[\w-]+", path.stem):
        raise UserError(f"'{path.stem}' is no name for a program", "use letters, digits, _ and -")
    text = template.read_text(encoding="utf-8")
    out.write_new(path, text.replace(f"FILE{ending}", str(path)))
    out.write(f"try: dipapprox test {path}\n")
    return 0
