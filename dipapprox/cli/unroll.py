"""`dipapprox unroll`: one sequence of calls of a service, as a program for the other commands."""

from __future__ import annotations

import argparse

from dipapprox.cli import command
from dipapprox.cli.asking import add_file, add_parameters, parameters_of
from dipapprox.cli.output import Output, write_whole
from dipapprox.errors import UserError
from dipapprox.language.load import read_source
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service, is_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.questions import arguments
from dipapprox.services.service_proof import users_of

_OUT = "--out"


def add_words(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "a service (.dpg)")
    parser.add_argument("calls", metavar="CALLS", help="'data 1, sum', with commas between them")
    add_parameters(parser)
    help = "show what these users see only (default: everything)"
    parser.add_argument("--examiner", metavar="USERS", default="", help=help)
    help = "write a file instead of to standard output"
    parser.add_argument(_OUT, type=command.path, metavar="FILE", help=help)


def run(words: argparse.Namespace, out: Output) -> int:
    seen = arguments.names(words.examiner, "--examiner")
    source = read_source(words.file, parameters_of(words))
    program = source.program
    if not is_service(program):
        raise UserError(f"'{words.file}' is no service", "it has no handlers, 'on data … do'")
    service = elaborate_service(program, source.parameters, source.name)
    calls = read_calls(words.calls, service)
    users = users_of(service, seen) or None
    title = f"# {words.file.name}, the calls: {' '.join(words.calls.split())}\n"
    text = title + print_program(unroll(program, service, calls, users))
    if words.out is None:
        out.write(text)
    else:
        write_whole(words.out, text, _OUT)
    return 0
