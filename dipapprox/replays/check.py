"""A certificate of any kind, judged: the text of a file, or its JSON object.

No field may be there twice, and no floating-point number. Of a proof about a program the text is
elaborated again, and has to mean the machine that the file has. Files of proofs about a pipeline:

    {"format": "dipapprox composition proof", "version": 1,
     "programs": [null | {"program": {"name": …, "language": …, "text": …, "sha256": …},
                          "params": {…}, "widened": {…}}, …],
     "pipeline": …, "verdict": …, "proofs": [{"claim": …, "steps": […]}, …], "computed": {…},
     "digest": "sha256:…"}

`programs` has one entry for every run: the program whose machine it is, or null. Of an interval
both ends have a proof; the verdict is then "DP". `kernel.compositions` says what pipeline and
claims are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

from dipapprox.errors import NoCertificate, UserError, shorten
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.reading import as_list, as_name, as_number, as_record, as_word
from dipapprox.kernel.replay import has, read_claim
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals, Widening, domain_text, parse_rational, read_domain
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, DPG, parse_program
from dipapprox.limits import Limits, limited
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.scope import scope_of
from dipapprox.proof_steps.machines import program_json, value_json
from dipapprox.replays import budgets
from dipapprox.replays.result import (
    FORMAT,
    PIPELINE_FORMAT,
    Replay,
    Said,
    judged,
    program_of,
    text_hash,
)

_FIELDS = (
    *("format", "version", "program", "params", "widened", "scope", "verdict"),
    *("machine", "claim", "steps", "computed", "digest"),
)

_BUDGET_FIELDS = tuple("about" if name == "widened" else name for name in _FIELDS)
"""Of proofs of budgets (`budgets`)."""

_PIPELINE_FIELDS = (
    *("format", "version", "programs", "pipeline", "verdict"),
    *("proofs", "computed", "digest"),
)


def _said(content: Mapping[str, Any]) -> Said:
    scope, claim = content["scope"], content["claim"]
    if not isinstance(scope, str) or not scope.isprintable():
        raise BadProof("the scope is no line of text")
    verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
    if not isinstance(claim, dict) or claim.get("verdict") != verdict:
        raise BadProof("the verdict is not that of the claim")
    return Said(
        program=program_of(content["program"])["name"],
        parameters=_parameters_of(content["params"]),
        scope=scope,
        verdict=verdict,
        machine=content["machine"],
        proofs=((claim, content["steps"]),),
        has_texts=True,
        differences=partial(_differences, content),
    )


def _differences(content: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """What is false: that the text means the machine, or the scope."""
    program, parameters = content["program"], _parameters_of(content["params"])
    if has(content["claim"], "budget"):
        if text_hash(program["text"]) != program["sha256"]:
            return [_CHANGED_TEXT], None
        differences = budgets.differences(content, parameters)
        return differences, None if differences else budgets.caveat(content)
    found = _meant_by(program, parameters, content["widened"])
    if isinstance(found, str):
        return [found], None
    read, machine = found
    if machine != _remembering(content["machine"]):
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


def _values(program: Program, row: Sequence[object]) -> tuple[Value, ...]:
    """Return the values of the input cells that a row of a claim has, which was read before."""
    return tuple(
        as_number(written, "a value")
        if isinstance(cell.domain, AllReals)
        else next(value for value in cell.domain if value_json(value) == written)
        for cell, written in zip(program.inputs, row, strict=True)
    )


# --- pipelines ------------------------------------------------------------------------------------


def _pipeline_said(content: Mapping[str, Any]) -> Said:
    verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
    proofs = [
        as_record(each, "a proof", ("claim", "steps"))
        for each in as_list(content["proofs"], "the proofs")
    ]
    claims = [each["claim"] for each in proofs]
    verdicts = [each.get("verdict") for each in claims if isinstance(each, dict)]
    if not proofs or verdict != ("DP" if "DP" in verdicts else "Not_DP"):
        raise BadProof("the verdict is not that of the claims")
    return Said(
        program="the pipeline",
        parameters={},
        scope=_pipeline_scope(content["pipeline"]),
        verdict=verdict,
        machine=content["pipeline"],
        proofs=[(each["claim"], each["steps"]) for each in proofs],
        has_texts=any(each is not None for each in as_list(content["programs"], "the programs")),
        differences=partial(_pipeline_differences, content),
    )


def _pipeline_differences(content: Mapping[str, Any]) -> tuple[list[str], None]:
    """What is false: that texts mean their machines."""
    pipeline = as_record(content["pipeline"], "a pipeline", ("adjacency", "runs"))
    runs = [
        as_record(each, "a run", ("what", "subsample", "times"))
        for each in as_list(pipeline["runs"], "runs")
    ]
    programs = as_list(content["programs"], "the programs", len(runs))
    for number, (run, recorded) in enumerate(zip(runs, programs, strict=True)):
        what = run["what"]
        if (recorded is None) != (not isinstance(what, dict) or "machine" not in what):
            raise BadProof("a program without a machine, or a machine without a program")
        if recorded is None:
            continue
        own = as_record(recorded, "a program", ("program", "params", "widened"))
        program, parameters = program_of(own["program"]), _parameters_of(own["params"])
        found = _meant_by(program, parameters, own["widened"])
        if isinstance(found, str):
            return [f"programs[{number}].{found}"], None
        if found[1] != _remembering(what["machine"]):
            return [f"pipeline.runs[{number}]: it is not what the program's text means"], None
    return [], None


def _pipeline_scope(pipeline: object) -> str:
    """What a pipeline runs, in words."""
    found = []
    runs = pipeline.get("runs") if isinstance(pipeline, dict) else None
    for number, run in enumerate(runs if isinstance(runs, list) else []):
        what = run.get("what") if isinstance(run, dict) else None
        if not isinstance(what, dict):
            continue
        name = what.get("mechanism", "a program")
        given = ", ".join(
            f"{key} {what[key]}" for key in what if key not in ("mechanism", "machine")
        )
        rate = "" if run.get("subsample") is None else f" on samples of rate {run['subsample']}"
        found.append(f"run {number} is {run.get('times')} times {name}({given}){rate}")
    adjacency = pipeline.get("adjacency") if isinstance(pipeline, dict) else None
    return shorten(f"{adjacency}: {'; '.join(found)}", 500)


# --- what texts mean ------------------------------------------------------------------------------


_CHANGED_TEXT = "program.sha256: it is not that of the text"


def _parameters_of(params: object) -> dict[str, Fraction]:
    if not isinstance(params, dict) or not all(isinstance(v, str) for v in params.values()):
        raise BadProof("parameters are texts of numbers")
    return {as_name(name, "a parameter"): parse_rational(v, name) for name, v in params.items()}


def _meant_by(
    program: Mapping[str, str], parameters: Mapping[str, Fraction], widened: object
) -> tuple[Program, object] | str:
    """Return what a text means, and its machine; or what is wrong with it."""
    if text_hash(program["text"]) != program["sha256"]:
        return _CHANGED_TEXT
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


def _remembering(machine: object) -> object:
    """Return a machine that forgets nothing; whoever reads what is forgotten has no proof."""
    match machine:
        case {"body": list() as body, **rest}:
            return {**rest, "body": _remembered(body)}
        case _:
            return machine


def _remembered(block: Sequence[object]) -> list[object]:
    found: list[object] = []
    for statement in block:
        match statement:
            case ["forget", *_]:
                pass
            case [("if" | "while" | "repeat"), part, *blocks]:
                inner = [_remembered(each) if isinstance(each, list) else each for each in blocks]
                found.append([statement[0], part, *inner])
            case _:
                found.append(statement)
    return found


# --- files ----------------------------------------------------------------------------------------


_LARGEST_FILE = 2**28
_OLD = re.compile("dipapprox ([a-z-]+ )?certificate")  # formats before proofs


def read_json(text: str) -> object:
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.lineno}:{error.colno}: {error.msg.lower()}",
            "is the file complete, and one that --certificate wrote?",
        ) from None
    except (RecursionError, ValueError):
        raise UserError("the certificate is not JSON that can be read") from None
    return content


def text_of(content: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(content))
    except (TypeError, ValueError, RecursionError):
        raise UserError("the certificate is not JSON that can be read") from None


def _without_repetitions(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise UserError(f"the certificate is malformed: the field {shorten(twice)!a} occurs twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise UserError(f"the certificate is malformed: {text[:40]} is not a number that it may have")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_no_number, parse_constant=_no_number
)


def check(
    certificate: str | Mapping[str, object],
    limits: Limits | None = None,
    *,
    explained: bool = False,
) -> Replay:
    """Check a certificate: replay its proofs, and compare what its texts mean.

    Args:
        certificate: The text of the file, or its JSON object.
        explained: Whether people see every step of a proof.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    if not isinstance(certificate, str | Mapping):
        hint = "check(path.read_text()) checks a file"
        message = f"certificate must be a text or an object, got {type(certificate).__name__}"
        raise UserError(message, hint)
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise UserError(f"limits must be Limits, got {type(limits).__name__}")
    text = certificate if isinstance(certificate, str) else text_of(certificate)
    with limited(limits):
        return check_content(read_json(text), explained)


def check_content(content: object, explained: bool) -> Replay:
    """Judge what was read as JSON; see `check`."""
    known = f'"{FORMAT}" or "{PIPELINE_FORMAT}"'
    if not isinstance(content, dict):
        raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
    name = content.get("format")
    if name == FORMAT:
        fields = _BUDGET_FIELDS if has(content.get("claim"), "budget") else _FIELDS
        return judged(content, fields, _said, explained)
    if name == PIPELINE_FORMAT:
        return judged(content, _PIPELINE_FIELDS, _pipeline_said, explained)
    if isinstance(name, str) and _OLD.fullmatch(name):
        raise UserError(
            f"this is a '{name}', written by an older dipapprox",
            "certificates are proofs now: write it again",
        )
    raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
