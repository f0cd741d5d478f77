"""`dipapprox new`: a program to start from."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from dipapprox.cli.output import Output
from dipapprox.errors import UserError

TEMPLATES = Path(__file__).parent.parent / "templates"


def add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the file, with or without its ending")
    parser.add_argument(
        "--template",
        choices=sorted(path.stem for path in TEMPLATES.iterdir() if path.is_file()),
        default="svt",
        metavar="TEMPLATE",
        help="what to start from, a name in the list below (default: %(default)s)",
    )


def run(words: argparse.Namespace, out: Output) -> int:
    (template,) = TEMPLATES.glob(f"{words.template}.*")
    ending = template.suffix
    path = Path(words.name if words.name.endswith(ending) else f"{words.name}{ending}")
    if not re.fullmatch(r"[\w-]+", path.stem):
        raise UserError(f"'{path.stem}' is no name for a program", "use letters, digits, _ and -")
    text = template.read_text(encoding="utf-8")
    out.write_new(path, text.replace(f"FILE{ending}", str(path)))
    out.write(f"try: dipapprox test {path}\n")
    return 0
