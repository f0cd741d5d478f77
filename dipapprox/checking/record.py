"""Certificate files: JSON text to a `Record`, everything checked that needs no computation.

What is not a certificate of this version is a `UserError` (exit status 2); whether a well-formed
one is true is for `check` to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.checking.json_values import (
    PlainRow,
    no_number,
    read_enclosure,
    read_list,
    read_object,
    read_rational,
    read_row,
    read_text,
    read_whole,
    without_repetitions,
    wrong,
)
from dipapprox.checking.recorded_scope import RecordedScope, read_scope, read_widened
from dipapprox.errors import UserError
from dipapprox.language.domains import Widening
from dipapprox.language.load import DIP, DPG
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.certificate import FORMAT, VERSION, ProgramText
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.verdict import Answer

_LARGEST_FILE = 2**28


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
    widening: Widening
    scope: RecordedScope
    claim: Claim
    pairs: tuple[tuple[PlainRow, PlainRow], ...] | None
    count: int | None
    answer: Answer
    delta: Enclosure
    evidence: Evidence
    engine: str
    precision: int
    digest: str


def read_json(text: str) -> object:
    """Read the text of a file as JSON.

    Raises:
        UserError: If it is too large, or not JSON.
    """
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content: object = json.loads(
            text,
            object_pairs_hook=without_repetitions,
            parse_float=no_number,
            parse_constant=no_number,
        )
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.msg.lower()} at {error.lineno}:{error.colno}",
            "is the file complete?",
        ) from None
    except (RecursionError, ValueError):
        raise UserError("the certificate is not JSON that can be read") from None
    return content


def read_fields(content: object) -> Record:
    """Read a certificate from its JSON object.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError("this is not a certificate of dipapprox", f'"format" is "{FORMAT}"')
    read_version(content, VERSION)
    top = read_object(
        content, "the certificate", "format", "version", "program", "params", "widened", "scope",
        "caveat", "claim", "pairs", "verdict", "delta_enclosure", "evidence", "computed", "digest",
    )  # fmt: skip
    program, sha256 = read_program(top["program"])
    claim = read_object(top["claim"], "claim", "eps", "eps_prv", "delta")
    pairs, count = read_pairs(top["pairs"])
    computed = read_computed(top["computed"])
    answer = read_text(top["verdict"], "verdict")
    if answer not in (Answer.DP.value, Answer.NOT_DP.value):
        wrong("verdict", '"DP" or "Not_DP"')
    return Record(
        fields=content,
        program=program,
        sha256=sha256,
        parameters=read_parameters(top["params"]),
        widening=read_widened(top["widened"]),
        scope=read_scope(top),
        claim=Claim(
            epsilon=read_rational(claim["eps"], "claim.eps"),
            delta=read_rational(claim["delta"], "claim.delta"),
            epsilon_prv=read_rational(claim["eps_prv"], "claim.eps_prv"),
        ),
        pairs=pairs,
        count=count,
        answer=Answer(answer),
        delta=read_enclosure(top["delta_enclosure"], "delta_enclosure"),
        evidence=_evidence(top["evidence"], Answer(answer)),
        engine=read_text(computed.get("engine"), "computed.engine"),
        precision=read_whole(computed.get("precision"), "computed.precision"),
        digest=read_text(top["digest"], "digest"),
    )


def read_version(content: Mapping[str, object], known: int) -> None:
    """Refuse a certificate of another version of its format."""
    version = content.get("version")
    if version != known or isinstance(version, bool):
        raise UserError(
            f"the certificate has format version {version!r:.40}",
            f"this dipapprox reads version {known}",
        )


def read_program(item: object) -> tuple[ProgramText, str]:
    """Read a program's text, and the hash that is recorded for it."""
    program = read_object(item, "program", "name", "language", "text", "sha256")
    language = read_text(program["language"], "program.language")
    if language not in (DPG, DIP):
        wrong("program.language", f'"{DPG}" or "{DIP}"')
    name, text = (read_text(program[part], f"program.{part}") for part in ("name", "text"))
    return ProgramText(name, language, text), read_text(program["sha256"], "program.sha256")


def read_parameters(item: object) -> dict[str, Fraction]:
    """Read the values of a program's parameters."""
    if not isinstance(item, dict):
        wrong("params", "an object")
    return {
        read_text(name, "a name in params"): read_rational(value, f"params.{name}")
        for name, value in item.items()
    }


def read_computed(item: object) -> Mapping[str, object]:
    """Read what computed the certificate; nothing is made of it but a report."""
    if not isinstance(item, dict):
        wrong("computed", "an object")
    for name, value in item.items():
        read_text(name, "a name in computed")
        if name != "precision":
            read_text(value, f"computed.{name}")
    return item


ListedPairs = tuple[tuple[PlainRow, PlainRow], ...] | None
"""None: every adjacent pair."""


def read_pairs(item: object) -> tuple[ListedPairs, int | None]:
    """Read the selection of pairs, and their number if it is recorded."""
    pairs = read_object(item, "pairs", "selection", "count", "list")
    count = None if pairs["count"] is None else read_whole(pairs["count"], "pairs.count")
    return _listed(pairs), count


def _listed(pairs: Mapping[str, object]) -> ListedPairs:
    match pairs["selection"]:
        case "adjacent" if pairs["list"] is None:
            return None
        case "listed":
            listed = read_list(pairs["list"], "pairs.list", _pair)
            return listed or wrong("pairs.list", "a list of pairs that is not empty")
        case _:
            return wrong("pairs", '"adjacent" without a list, or "listed" with one')


def _pair(item: object, where: str) -> tuple[PlainRow, PlainRow]:
    rows = read_list(item, where, read_row)
    if len(rows) != 2:
        wrong(where, "a list of two inputs")
    return rows[0], rows[1]


def _evidence(item: object, answer: Answer) -> Evidence:
    kind = item.get("kind") if isinstance(item, dict) else None
    wanted = ("witness",) if answer is Answer.NOT_DP else ("distributions", "summary")
    if kind not in wanted:
        wrong("evidence.kind", f'"{" or ".join(wanted)}" for the verdict {answer.value}')
    if kind == "summary":
        return Summary(
            read_whole(read_object(item, "evidence", "kind", "rows")["rows"], "evidence.rows")
        )
    if kind == "distributions":
        found = read_object(item, "evidence", "kind", "outputs", "probabilities", "rows")
        return RecordedDistributions(
            read_list(found["outputs"], "evidence.outputs", read_row),
            read_list(found["probabilities"], "evidence.probabilities", read_enclosure),
            read_list(found["rows"], "evidence.rows", _recorded_row),
        )
    found = read_object(item, "evidence", "kind", "input", "adjacent", "outputs", "delta_enclosure")
    return RecordedWitness(
        read_row(found["input"], "evidence.input"),
        read_row(found["adjacent"], "evidence.adjacent"),
        read_list(found["outputs"], "evidence.outputs", _recorded_output),
        read_enclosure(found["delta_enclosure"], "evidence.delta_enclosure"),
    )


def _recorded_row(item: object, where: str) -> tuple[PlainRow, tuple[int, ...]]:
    found = read_object(item, where, "input", "probabilities")
    indices = read_list(found["probabilities"], f"{where}.probabilities", read_whole)
    return read_row(found["input"], f"{where}.input"), indices


def _recorded_output(item: object, where: str) -> RecordedOutput:
    found = read_object(item, where, "output", "probability", "adjacent_probability")
    return RecordedOutput(
        read_row(found["output"], f"{where}.output"),
        read_enclosure(found["probability"], f"{where}.probability"),
        read_enclosure(found["adjacent_probability"], f"{where}.adjacent_probability"),
    )
