"""What the text of a program means, told again: its machine, which a file has beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.reading import as_name, as_word
from dipapprox.language.core import Program
from dipapprox.language.domains import Widening, domain_text, parse_rational, read_domain
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, DPG, parse_program
from dipapprox.proof_steps.machines import program_json
from dipapprox.replays.result import text_hash

CHANGED_TEXT = "program.sha256: it is not that of the text"


def parameters_of(params: object) -> dict[str, Fraction]:
    if not isinstance(params, dict) or not all(isinstance(v, str) for v in params.values()):
        raise BadProof("parameters are texts of numbers")
    return {as_name(name, "a parameter"): parse_rational(v, name) for name, v in params.items()}


def meant_by(
    program: Mapping[str, str], parameters: Mapping[str, Fraction], widened: object
) -> tuple[Program, object] | str:
    """Return what a text means, and its machine; or what is wrong with it."""
    if text_hash(program["text"]) != program["sha256"]:
        return CHANGED_TEXT
    language = as_word(program["language"], "the language", (DPG, DIP))
    wider = _widening(widened)
    try:
        parsed = parse_program(program["text"], language, program["name"])
        read = elaborate(parsed, parameters, program["name"], wider)
        machine = program_json(read)
    except NoCertificate as none:
        return f"program.text: {none.message}"
    except UserError as error:
        return f"program.text: it is not a program: {error.message}"
    if dict(read.parameters) != dict(parameters):
        return "params: they are not those of the program"
    return read, machine


def _widening(widened: object) -> Widening:
    """Read wider domains, by the names of inputs."""
    if not isinstance(widened, dict) or not all(isinstance(v, str) for v in widened.values()):
        raise BadProof("wider domains are texts")
    found = {}
    for name, text in widened.items():
        try:
            found[name] = domain = read_domain(text, name)
        except UserError:
            raise BadProof(f".widened.{name:.40}: expected a domain") from None
        if domain_text(domain) != text:
            raise BadProof(f".widened.{name:.40}: expected {domain_text(domain, 8)}")
    return Widening(named=found)


def remembering(machine: object) -> object:
    """Return a machine that forgets nothing; whoever reads what is forgotten has no proof."""
    match machine:
        case {"body": list() as body, **rest}:
            return {**rest, "body": _remembering(body)}
        case _:
            return machine


def _remembering(block: Sequence[object]) -> list[object]:
    found: list[object] = []
    for statement in block:
        match statement:
            case ["forget", *_]:
                pass
            case [("if" | "while" | "repeat"), part, *blocks]:
                inner = [_remembering(each) if isinstance(each, list) else each for each in blocks]
                found.append([statement[0], part, *inner])
            case _:
                found.append(statement)
    return found
