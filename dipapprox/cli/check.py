"""`dipapprox check`: is a certificate true?"""

from __future__ import annotations

import argparse
from typing import Any

from dipapprox.cli import command, review
from dipapprox.cli.command import Status
from dipapprox.cli.output import Output, check_report
from dipapprox.language.load import read_text
from dipapprox.privacy.description import ProgramText
from dipapprox.questions.arguments import LIMITING
from dipapprox.replays.check import check_content, read_json
from dipapprox.replays.result import Outcome

EXIT_STATUS = {Outcome.CONFIRMED: 0, Outcome.REFUTED: 1, Outcome.NOT_CONFIRMED: Status.UNKNOWN}
_LARGEST_FILE = 2**28


def add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=command.path, metavar="CERT", help="a certificate (JSON)")
    help = "show every step of a proof, from the claim down, with its theorem"
    parser.add_argument("--explain", action="store_true", help=help)
    command.add_arguments(parser, LIMITING)
    command.add_output(parser)
    command.add_report(parser)


def run(words: argparse.Namespace, out: Output) -> int:
    if words.report is not None:
        check_report(words.report)
    content = read_json(read_text(words.file, _LARGEST_FILE))
    found = check_content(content, words.explain)
    out.show_answer(found, json=words.json)
    if words.report is not None and isinstance(content, dict):
        review.write(words.report, found, _listings(content), words.file, content["digest"])
    return EXIT_STATUS[found.outcome]


def _listings(content: dict[str, Any]) -> list[ProgramText]:
    if "program" in content:
        texts = [content["program"]]
    else:
        texts = [each["program"] for each in content["programs"] if each is not None]
    return list(
        dict.fromkeys(ProgramText(each["name"], each["language"], each["text"]) for each in texts)
    )
