"""The file of a proof about a program, judged: its text is elaborated again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dipapprox.deferred import Deferred
from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.reading import as_name, as_number, as_word
from dipapprox.kernel.replay import has, read_claim
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals, Widening, domain_text
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, DPG, parse_program
from dipapprox.language.values import parse_rational, read_domain
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.scope import scope_of
from dipapprox.proof_steps.machines import program_json, value_json
from dipapprox.replays.digest import text_hash
from dipapprox.replays.judged import FileKind, Said, judged, program_of
from dipapprox.replays.result import VERSION, Replay

if TYPE_CHECKING:
    from dipapprox.replays import budgets
else:
    budgets = Deferred("dipapprox.replays.budgets")

_FIELDS = (
    *("format", "version", "program", "params", "widened", "scope", "verdict"),
    *("machine", "claim", "steps", "computed", "digest"),
)

_BUDGET_FIELDS = tuple("about" if name == "widened" else name for name in _FIELDS)
"""Of proofs of budgets (`budgets`)."""

CHANGED_TEXT = "program.sha256: it is not that of the text"


def check_proof(content: Mapping[str, object], limits: Limits, explained: bool = False) -> Replay:
    """Judge the JSON object of a file with the "format" of proofs; see `judged`."""
    fields = _BUDGET_FIELDS if has(content.get("claim"), "budget") else _FIELDS
    return judged(content, FileKind(fields, VERSION, _said, _differences), limits, explained)


def _said(content: Mapping[str, Any]) -> Said:
    scope, claim = content["scope"], content["claim"]
    if not isinstance(scope, str) or not scope.isprintable():
        raise BadProof("the scope is no line of text")
    verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
    if not isinstance(claim, dict) or claim.get("verdict") != verdict:
        raise BadProof("the verdict is not that of the claim")
    return Said(
        program=program_of(content["program"])["name"],
        parameters=parameters_of(content["params"]),
        scope=scope,
        verdict=verdict,
        machine=content["machine"],
        proofs=((claim, content["steps"]),),
        has_texts=True,
    )


def _differences(content: Mapping[str, Any], said: Said) -> tuple[list[str], str | None]:
    """What is false: that the text means the machine, or the scope."""
    program, parameters = content["program"], said.parameters
    if has(content["claim"], "budget"):
        if text_hash(program["text"]) != program["sha256"]:
            return [CHANGED_TEXT], None
        differences = budgets.differences(content, parameters)
        return differences, None if differences else budgets.caveat(content)
    found = meant_by(program, parameters, content["widened"])
    if isinstance(found, str):
        return [found], None
    read, machine = found
    if machine != remembering(content["machine"]):
        return ["machine: it is not what the program's text means"], None
    scope = scope_of(read, _selection(content, read))
    if scope.text != content["scope"]:
        return [f"scope: the proof is {scope.text}"], None
    return [], scope.caveat


def _selection(content: Mapping[str, Any], program: Program) -> PairSelection:
    """Return the pairs that the claim lists, as values of the program."""
    if read_claim(content["claim"], read_machine(content["machine"]))[1].pairs is None:
        return AllPairs()
    pairs = content["claim"]["pairs"]
    return OrderedPairs(tuple((_values(program, u), _values(program, v)) for u, v in pairs))


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


def _values(program: Program, row: Sequence[object]) -> tuple[Value, ...]:
    """Return the values of the input cells that a row of a claim has, which was read before."""
    return tuple(
        as_number(written, "a value")
        if isinstance(cell.domain, AllReals)
        else next(value for value in cell.domain if value_json(value) == written)
        for cell, written in zip(program.inputs, row, strict=True)
    )
