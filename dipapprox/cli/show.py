"""`dipapprox show`: a program as `.dpg` text, or the machine that it means.

Words of machines are those of `.dpg` where there are some. In a `repeat` arrays may move on by one
element a turn; `forget` lets cells hold nothing, as nobody reads them any more.

`dipapprox unroll`: one sequence of calls of a service, as a program for the other commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from rich.syntax import Syntax

from dipapprox.cli import command
from dipapprox.cli.asking import add_file, add_parameters, parameters_of, warn_unused
from dipapprox.cli.output import Output, write_whole
from dipapprox.errors import NoCertificate, UserError
from dipapprox.highlighting import DpgLexer
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.services import read_service
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, Source, read_source
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service, is_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.proof_steps import liveness, machines, services
from dipapprox.proof_steps.machines import read_by
from dipapprox.questions import kinds
from dipapprox.replays.words import tree_text, value_text
from dipapprox.services.service_proof import users_of


def add_show(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "a mechanism in Python (module.py:name), or a program (.dpg, .dip)")
    add_parameters(parser)
    help = "the machine that it means, which proofs are about"
    parser.add_argument("--core", action="store_true", help=help)
    command.add_output(parser)


def run_show(words: argparse.Namespace, out: Output) -> int:
    if words.json and not words.core:
        raise UserError("--json needs --core", "a program's text is no JSON object")
    source = read_source(words.file, parameters_of(words))
    if words.core:
        return _show_machine(source, words.json, out)
    text = print_program(source.program) if source.language == DIP else source.text
    if out.console.is_terminal:
        out.show(Syntax(text, DpgLexer(), background_color="default"))
    else:
        out.write(text)
    return 0


def _machine(source: Source) -> dict[str, machines.Json]:
    if is_service(source.program):
        service = elaborate_service(source.program, source.parameters, source.name)
        return services.service_json(service, ())
    program = elaborate(source.program, source.parameters, source.name, irrational=True)
    if program.rounds is None:
        return liveness.machine_json(program)
    machine = machines.rounds_json(program)
    read_by(read_rounds, machine)
    return machine


def _show_machine(source: Source, json: bool, out: Output) -> int:
    try:
        machine = _machine(source)
        warn_unused(source)
    except NoCertificate as none:
        raise UserError(f"the kernel has no machine for it: {none.missing}") from None
    if json:
        out.show_json(dict(machine))
    else:
        out.write(machine_text(machine))
    return 0


# --- machines in words ---------------------------------------------------------------------------

_INDENT = "    "


def machine_text(json: Any) -> str:
    """Write a machine: with rounds, without, or a service."""
    if "calls" in json:
        return _service_text(json)
    if "round" in json:
        return _rounds_text(json)
    read_machine(json)
    lines = [f"input {_cell(each)}" for each in json["inputs"]]
    lines += [f"output {_cell(each)}" for each in json["outputs"]]
    lines += [f"output {name} in real" for name in json["reals"]]
    lines += [f"adjacent {_adjacency(json['adjacency'])}", "", *_block(json["body"], "")]
    return "".join(f"{line}\n" for line in lines)


def _rounds_text(json: Any) -> str:
    read_rounds(json)
    kind, shown = "integer" if json["whole"] else "real", json["published"]
    lines = [f"input {_cell(each, kind)}" for each in json["inputs"]]
    lines += [f"adjacent {_adjacency(json['adjacency'])}"]
    moments = {"whenever": "whenever it is set", "first": "after the body", "each": "every round"}
    for field, moment in moments.items():
        lines += [f"publishes {name} {moment}" for name in shown[field]]
    lines += ["publishes that it ends"] * shown["ends"]
    if shown["padding"] is not None:
        lines += [f"publishes {_tuple(shown['padding'])} every round after its end, instead"]
    lines += ["", *_block(json["body"], "")]
    if json["round"] is not None:
        lines += ["round", *_block(json["round"], _INDENT), "end"]
    return "".join(f"{line}\n" for line in lines)


def _service_text(json: Any) -> str:
    read_service(json)
    lines = [f"state {name} <- {value_text(value)}" for name, value in json["cells"]]
    lines += [f"output {_cell(each, 'any')}" for each in json["replies"]]
    lines += [f"adjacent {json['change']}"]
    for call in json["calls"]:
        arguments = ", ".join(map(_cell, call["arguments"]))
        seen = "seen" if call["seen"] else "unseen"
        lines += ["", f"call {call['name']}({arguments}), {seen}", *_block(call["body"], _INDENT)]
        lines += ["end"]
    return "".join(f"{line}\n" for line in lines)


def _cell(json: Any, kind: str = "real") -> str:
    name, domain = json
    match domain:
        case {"from": low, "to": high}:
            return f"{name} in {low}..{high}"
        case {"low": None, "high": None}:
            return f"{name} in {kind}"
        case {"low": low, "high": high}:
            ends = ("" if end is None else str(end) for end in (low, high))
            return f"{name} in {kind} {'..'.join(ends)}"
    return f"{name} in {{{_tuple(domain)[1:-1]}}}"


def _tuple(values: Sequence[Any]) -> str:
    return f"({', '.join(map(value_text, values))})"


def _adjacency(json: Any) -> str:
    match json:
        case {"norm": norm, "radius": radius}:
            return f"{norm} {radius}"
        case {"norm": norm}:
            return str(norm)
    pairs = "; ".join(" ~ ".join(map(_tuple, each)) for each in json["pairs"])
    return f"{{{pairs}}}" + (" in this order only" if json["one way"] else "")


def _block(json: Sequence[Any], indent: str) -> Iterator[str]:
    for statement in json:
        yield from _statement(statement, indent)


def _statement(json: Any, indent: str) -> Iterator[str]:
    inner = indent + _INDENT
    match json:
        case "set", target, value:
            yield f"{indent}{tree_text(target)} <- {tree_text(value)}"
        case "draw", target, family, mean, scale:
            yield f"{indent}{tree_text(target)} <- {family}({tree_text(mean)}, {_scale(*scale)})"
        case "if", condition, then, otherwise:
            yield f"{indent}if {tree_text(condition)} then"
            yield from _block(then, inner)
            if otherwise:
                yield f"{indent}else"
                yield from _block(otherwise, inner)
            yield f"{indent}end"
        case ("exit",):
            yield f"{indent}exit"
        case "choose", target, options, proportional:
            how = " in proportion" if proportional else ""
            yield f"{indent}{tree_text(target)} <- choose{how}"
            for value, weight in options:
                yield f"{inner}{tree_text(value)} with {tree_text(weight)}"
            yield f"{indent}end"
        case "while", condition, body:
            yield f"{indent}while {tree_text(condition)} do"
            yield from _block(body, inner)
            yield f"{indent}end"
        case "repeat", turns, body:
            yield f"{indent}repeat {turns} times"
            yield from _block(body, inner)
            yield f"{indent}end"
        case "forget", names:
            yield f"{indent}forget {', '.join(names)}"


def _scale(coefficient: Any, power: int) -> str:
    if not power:
        return str(coefficient)
    by = "/" if power < 0 else "*"
    return f"{coefficient} {by} eps" + (f"^{abs(power)}" if abs(power) > 1 else "")


_OUT = "--out"


def add_unroll(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "a service (.dpg)")
    parser.add_argument("calls", metavar="CALLS", help="'data 1, sum', with commas between them")
    add_parameters(parser)
    help = "show what these users see only (default: everything)"
    parser.add_argument("--examiner", metavar="USERS", default="", help=help)
    help = "write a file instead of to standard output"
    parser.add_argument(_OUT, type=command.path, metavar="FILE", help=help)


def run_unroll(words: argparse.Namespace, out: Output) -> int:
    seen = kinds.names(words.examiner, "--examiner")
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
