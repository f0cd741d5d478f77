"""Certificate files: JSON text to a `Record`, everything checked that needs no computation.

What is not a certificate of this version is a `UserError` (exit status 2); whether a well-formed
one is true is for `check` to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeVar

from dipapprox.errors import UserError
from dipapprox.language.load import DIP, DPG
from dipapprox.language.values import parse_rational
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.certificate import FORMAT, VERSION, ProgramText
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.verdict import Answer

T = TypeVar("T")

PlainRow = tuple[int | str, ...]
"""A row as the file has it; names and numbers are told apart by the cells' domains later."""

_LARGEST_FILE = 2**28
_LARGEST_NUMBER = 10_000


@dataclass(frozen=True, slots=True)
class RecordedDistributions:
    """Evidence of DP: for each row the index of each output's enclosure."""

    outputs: tuple[PlainRow, ...]
    probabilities: tuple[Enclosure, ...]
    rows: tuple[tuple[PlainRow, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Evidence of DP too large to be recorded: only the number of rows."""

    rows: int


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """One output of a witness."""

    output: PlainRow
    probability: Enclosure
    adjacent_probability: Enclosure


@dataclass(frozen=True, slots=True)
class RecordedWitness:
    """Evidence of Not_DP."""

    input: PlainRow
    adjacent: PlainRow
    outputs: tuple[RecordedOutput, ...]
    delta: Enclosure


Evidence = RecordedDistributions | Summary | RecordedWitness


@dataclass(frozen=True, slots=True)
class Record:
    """A certificate, read.

    Attributes:
        fields: The JSON object, for the digest.
        pairs: The listed pairs; None: every adjacent pair.
        count: Number of pairs checked, if recorded.
        precision: Bits that were asked for.
    """

    fields: Mapping[str, object]
    program: ProgramText
    sha256: str
    parameters: Mapping[str, Fraction]
    claim: Claim
    pairs: tuple[tuple[PlainRow, PlainRow], ...] | None
    count: int | None
    answer: Answer
    delta: Enclosure
    evidence: Evidence
    engine: str
    precision: int
    digest: str


def read(text: str) -> Record:
    """Read a certificate.

    Raises:
        UserError: If it is not JSON, not a certificate, of another version, or malformed.
    """
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content = json.loads(
            text,
            object_pairs_hook=_without_repetitions,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.msg.lower()} at {error.lineno}:{error.colno}",
            "is the file complete?",
        ) from None
    except (RecursionError, ValueError):
        raise UserError("the certificate is not JSON that can be read") from None
    return read_fields(content)


def read_fields(content: object) -> Record:
    """Read a certificate from its JSON object.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError("this is not a certificate of dipapprox", f'"format" is "{FORMAT}"')
    if content.get("version") != VERSION or isinstance(content.get("version"), bool):
        raise UserError(
            f"the certificate has format version {content.get('version')!r:.40}",
            f"this dipapprox reads version {VERSION}",
        )
    top = _object(
        content, "the certificate", "format", "version", "program", "params", "claim", "pairs",
        "verdict", "delta_enclosure", "evidence", "computed", "digest",
    )  # fmt: skip
    program = _object(top["program"], "program", "name", "language", "text", "sha256")
    claim = _object(top["claim"], "claim", "eps", "eps_prv", "delta")
    pairs = _object(top["pairs"], "pairs", "selection", "count", "list")
    computed = top["computed"]
    if not isinstance(computed, dict):
        _wrong("computed", "an object")
    answer = _text(top["verdict"], "verdict")
    if answer not in (Answer.DP.value, Answer.NOT_DP.value):
        _wrong("verdict", '"DP" or "Not_DP"')
    language = _text(program["language"], "program.language")
    if language not in (DPG, DIP):
        _wrong("program.language", f'"{DPG}" or "{DIP}"')
    params = top["params"]
    if not isinstance(params, dict):
        _wrong("params", "an object")
    return Record(
        fields=content,
        program=ProgramText(
            _text(program["name"], "program.name"), language, _text(program["text"], "program.text")
        ),
        sha256=_text(program["sha256"], "program.sha256"),
        parameters={name: _rational(v, f"params.{name}") for name, v in params.items()},
        claim=Claim(
            epsilon=_rational(claim["eps"], "claim.eps"),
            delta=_rational(claim["delta"], "claim.delta"),
            epsilon_prv=_rational(claim["eps_prv"], "claim.eps_prv"),
        ),
        pairs=_pairs(pairs),
        count=None if pairs["count"] is None else _whole(pairs["count"], "pairs.count"),
        answer=Answer(answer),
        delta=_enclosure(top["delta_enclosure"], "delta_enclosure"),
        evidence=_evidence(top["evidence"], Answer(answer)),
        engine=_text(computed.get("engine"), "computed.engine"),
        precision=_whole(computed.get("precision"), "computed.precision"),
        digest=_text(top["digest"], "digest"),
    )


def _pairs(pairs: Mapping[str, object]) -> tuple[tuple[PlainRow, PlainRow], ...] | None:
    match pairs["selection"]:
        case "adjacent" if pairs["list"] is None:
            return None
        case "listed":
            return _list(pairs["list"], "pairs.list", _pair)
        case _:
            return _wrong("pairs", '"adjacent" without a list, or "listed" with one')


def _pair(item: object, where: str) -> tuple[PlainRow, PlainRow]:
    rows = _list(item, where, _row)
    if len(rows) != 2:
        _wrong(where, "a list of two inputs")
    return rows[0], rows[1]


def _evidence(item: object, answer: Answer) -> Evidence:
    kind = item.get("kind") if isinstance(item, dict) else None
    wanted = ("witness",) if answer is Answer.NOT_DP else ("distributions", "summary")
    if kind not in wanted:
        _wrong("evidence.kind", f'"{" or ".join(wanted)}" for the verdict {answer.value}')
    if kind == "summary":
        return Summary(_whole(_object(item, "evidence", "kind", "rows")["rows"], "evidence.rows"))
    if kind == "distributions":
        found = _object(item, "evidence", "kind", "outputs", "probabilities", "rows")
        return RecordedDistributions(
            _list(found["outputs"], "evidence.outputs", _row),
            _list(found["probabilities"], "evidence.probabilities", _enclosure),
            _list(found["rows"], "evidence.rows", _recorded_row),
        )
    found = _object(item, "evidence", "kind", "input", "adjacent", "outputs", "delta_enclosure")
    return RecordedWitness(
        _row(found["input"], "evidence.input"),
        _row(found["adjacent"], "evidence.adjacent"),
        _list(found["outputs"], "evidence.outputs", _recorded_output),
        _enclosure(found["delta_enclosure"], "evidence.delta_enclosure"),
    )


def _recorded_row(item: object, where: str) -> tuple[PlainRow, tuple[int, ...]]:
    found = _object(item, where, "input", "probabilities")
    indices = _list(found["probabilities"], f"{where}.probabilities", _whole)
    return _row(found["input"], f"{where}.input"), indices


def _recorded_output(item: object, where: str) -> RecordedOutput:
    found = _object(item, where, "output", "probability", "adjacent_probability")
    return RecordedOutput(
        _row(found["output"], f"{where}.output"),
        _enclosure(found["probability"], f"{where}.probability"),
        _enclosure(found["adjacent_probability"], f"{where}.adjacent_probability"),
    )


# --- plain values -----------------------------------------------------------------------------


def _wrong(where: str, expected: str) -> NoReturn:
    raise UserError(f"the certificate is malformed: {where[:80]} should be {expected}")


def _object(item: object, where: str, *names: str) -> dict[str, object]:
    if not isinstance(item, dict) or set(item) != set(names):
        _wrong(where, f"an object with exactly the fields {', '.join(names)}")
    return item


def _list(item: object, where: str, of: Callable[[object, str], T]) -> tuple[T, ...]:
    if not isinstance(item, list):
        _wrong(where, "a list")
    return tuple([of(each, f"{where}[{k}]") for k, each in enumerate(item)])


def _text(item: object, where: str) -> str:
    if not isinstance(item, str):
        _wrong(where, "a string")
    return item


def _whole(item: object, where: str) -> int:
    if not isinstance(item, int) or isinstance(item, bool) or item < 0:
        _wrong(where, "a whole number")
    return item


def _rational(item: object, where: str) -> Fraction:
    text = _text(item, where)
    if len(text) > _LARGEST_NUMBER:
        _wrong(where, "a number of reasonable length")
    return parse_rational(text, f"the certificate's {where}")


def _enclosure(item: object, where: str) -> Enclosure:
    ends = _list(item, where, _rational)
    if len(ends) != 2 or ends[0] > ends[1]:
        _wrong(where, "a list of two numbers, the smaller one first")
    return Enclosure(ends[0], ends[1])


def _row(item: object, where: str) -> PlainRow:
    def value(each: object, place: str) -> int | str:
        if isinstance(each, bool) or not isinstance(each, int | str):
            _wrong(place, "a whole number or a string")
        return each

    return _list(item, where, value)


def _without_repetitions(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UserError("the certificate is malformed: a field occurs twice in one object")
    return found


def _no_number(text: str) -> NoReturn:
    raise UserError(f"the certificate is malformed: {text[:40]} is not a number that it may have")
