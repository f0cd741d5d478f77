"""A certificate of any kind, judged: the text of a file, or its JSON object.

No field may be there twice, and no floating-point number. Of a proof about a program the text is
elaborated again (`meaning`); proofs about a pipeline: `pipelines`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from dipapprox.errors import UserError, shorten
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.reading import as_number, as_word
from dipapprox.kernel.replay import has, read_claim
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits, limited
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.scope import scope_of
from dipapprox.proof_steps.machines import value_json
from dipapprox.replays import budgets, pipelines
from dipapprox.replays.meaning import CHANGED_TEXT, meant_by, parameters_of, remembering
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
        differences=partial(_differences, content),
    )


def _differences(content: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """What is false: that the text means the machine, or the scope."""
    program, parameters = content["program"], parameters_of(content["params"])
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


def _values(program: Program, row: Sequence[object]) -> tuple[Value, ...]:
    """Return the values of the input cells that a row of a claim has, which was read before."""
    return tuple(
        as_number(written, "a value")
        if isinstance(cell.domain, AllReals)
        else next(value for value in cell.domain if value_json(value) == written)
        for cell, written in zip(program.inputs, row, strict=True)
    )


_LARGEST_FILE = 2**28


def read_json(text: str) -> object:
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.lineno}:{error.colno}: {error.msg.lower()}",
            "is the file complete?",
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


OLD = (
    "dipapprox certificate",
    "dipapprox budget certificate",
    "dipapprox composition certificate",
    "dipapprox decision certificate",
    "dipapprox real-input certificate",
    "dipapprox service certificate",
)
"""Formats before proofs."""


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
        return judged(content, pipelines.FIELDS, pipelines.said, explained)
    if name in OLD:
        raise UserError(
            f"this is a '{name}', written by an older dipapprox",
            "certificates are proofs now: write it again",
        )
    raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
