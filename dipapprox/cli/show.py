"""`dipapprox show`: a program as `.dpg` text, or the machine that it means."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rich.syntax import Syntax

from dipapprox.cli import flags
from dipapprox.cli.asking import add_file, add_parameters, parameters_of, warn_unused
from dipapprox.cli.output import show, show_json, write
from dipapprox.errors import NoCertificate, UserError
from dipapprox.highlighting import DpgLexer
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, Source, read_source
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service, is_service
from dipapprox.proof_steps import liveness, rounds, services
from dipapprox.replays import words as machines

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.proof_steps.machines import Json

DESCRIPTION = "Print a program as .dpg text: a mechanism in Python, a .dip or a .dpg file."

EXAMPLES = """examples:
  dipapprox show mechanisms.py:svt                  the program that a Python function is
  dipapprox show mechanisms.py:svt -p N=5 > svt5.dpg
  dipapprox show svt_gauss.dpg                      a file, as it is; .dip files as .dpg
  dipapprox show svt_gauss.dpg --core               the machine that proofs are about
  dipapprox show svt_gauss.dpg --core --json        the same, as proofs have it

A Python file is read, and never run.

exit status: 0 done, 2 bad input or usage, 130 interrupted
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "a mechanism in Python (module.py:name), or a program (.dpg, .dip)")
    add_parameters(parser)
    help = "the machine that it means, which proofs are about"
    parser.add_argument("--core", action="store_true", help=help)
    flags.add_output(parser)


def run(words: argparse.Namespace, console: Console) -> int:
    if words.json and not words.core:
        raise UserError("--json needs --core", "a program's text is no JSON object")
    source = read_source(words.file, parameters_of(words))
    if words.core:
        return _show_machine(source, words.json, console)
    text = print_program(source.program) if source.language == DIP else source.text
    if console.is_terminal:
        show(console, Syntax(text, DpgLexer(), background_color="default"))
    else:
        write(console, text)
    return 0


def _machine(source: Source) -> dict[str, Json]:
    if is_service(source.program):
        service = elaborate_service(source.program, source.parameters, source.name)
        return services.service_json(service, ())
    program = elaborate(source.program, source.parameters, source.name, irrational=True)
    if program.rounds is None:
        return liveness.machine_json(program)
    return rounds.rounds_json(program)


def _show_machine(source: Source, json: bool, console: Console) -> int:
    try:
        machine = _machine(source)
        warn_unused(source)
    except NoCertificate as none:
        raise UserError(f"the kernel has no machine for it: {none.missing}") from None
    if json:
        show_json(console, dict(machine))
    else:
        write(console, machines.machine_text(machine))
    return 0
