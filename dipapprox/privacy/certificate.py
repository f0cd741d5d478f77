"""Certificates: a verdict with everything that is needed to check it again, as one JSON object.

    {"format": "dipapprox certificate", "version": 2,
     "program":  {"name", "language": "dpg" | "dip", "text", "sha256"},
     "params":   {"N": "2"},
     "widened":  {"q": "-5..5"},
     "scope":    "for inputs q[1..2] in -5..5 (widened from {0, 1}), adjacent linf 1",
     "caveat":   null | what the verdict does not say,
     "claim":    {"eps": "1/2", "eps_prv": "31/25", "delta": "1/100"},
     "pairs":    {"selection": "adjacent" | "listed", "count": 12 | null, "list": null | [[u, v]]},
     "verdict":  "DP" | "Not_DP",
     "delta_enclosure": ["0", "0"],
     "evidence": see below,
     "computed": {"engine", "precision", and the versions of what computed it},
     "digest":   "sha256:…"}

Evidence of DP is the output distribution of every input in a checked pair, "distributions": equal
enclosures are listed once, and every row refers to them by index, one per output. Beyond
`MOST_ENTRIES` only their number is recorded, "summary". Evidence of Not_DP is the "witness": a
pair, an output set, and both probabilities of each output. Unknown has no certificate.

Rationals are strings "p/q", enclosures pairs of decimals rounded outward, inputs and outputs lists
in the order of the program's cells. The digest is the SHA-256 of the object without it, written as
JSON with sorted keys, no blanks, UTF-8: it notices every change that does not renew it. A renewed
digest proves nothing; what the file says is then judged by itself (`checking`).
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from math import prod
from typing import assert_never

from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import InputRow, Program, Value
from dipapprox.language.domains import Widening, domain_text
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import parse_program
from dipapprox.numerics.arithmetic import sound_arithmetic
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.pairs.adjacency import AllPairs, OrderedPairs, PairSelection
from dipapprox.pairs.search import ProbabilitySource
from dipapprox.privacy.notation import (
    PlainValue,
    ends,
    html_table,
    parameter_fields,
    plain_value,
)
from dipapprox.privacy.options import Options
from dipapprox.privacy.products.program import execute_parts
from dipapprox.privacy.products.source import MOST_LISTED, ProductSource
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.sources import open_source
from dipapprox.privacy.verdict import Answer, Verdict, Witness
from dipapprox.semantics.execution import execute

FORMAT = "dipapprox certificate"
VERSION = 2

MOST_ENTRIES = 400_000
"""Most references to probabilities in one file, a few bytes each."""

Fields = dict[str, object]

_SMALLEST = Fraction(1, 10**900)


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as it was written; `language` is "dpg" or "dip"."""

    name: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate; `fields` is the JSON object, digest included."""

    fields: Mapping[str, object]

    def to_json(self) -> str:
        """Return the text of the file: one line."""
        return json.dumps(self.fields, ensure_ascii=False) + "\n"

    def _repr_html_(self) -> str:
        shown = ("verdict", "claim", "scope", "caveat", "params", "computed", "digest")
        return html_table((name, self.fields[name]) for name in shown)


def digest(fields: Mapping[str, object]) -> str:
    """Return the digest of a certificate's fields, whatever they say under "digest"."""
    content = {name: value for name, value in fields.items() if name != "digest"}
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{text_hash(canonical)}"


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@sound_arithmetic()
def certify(
    program: Program,
    source: ProgramText,
    verdict: Verdict,
    selection: PairSelection,
    options: Options,
) -> Certificate:
    """Record a verdict.

    Args:
        program: What was verified.
        source: Its text.
        verdict: The result.
        selection: The pairs that were selected.
        options: Those of the verification; distributions are computed again as they say.

    Raises:
        UserError: If the verdict is Unknown, `source` is not the text of `program`, or too many
            outputs are needed to show a violation.
        LimitReached: If `options.limits` run out.
    """
    if verdict.answer is Answer.UNKNOWN:
        raise UserError("an Unknown verdict has no certificate: there is nothing to check")
    if verdict.claim.multiple != 1:
        raise UserError("no certificate: the claimed budget is no rational number")
    fields: Fields = {
        "format": FORMAT,
        "version": VERSION,
        **program_fields(program, source, verdict.parameters),
        **scope_fields(program, selection),
        "claim": {
            "eps": exact_text(verdict.claim.epsilon),
            "eps_prv": exact_text(verdict.claim.budget),
            "delta": exact_text(verdict.claim.delta),
        },
        # A search that found a violation stopped there: its count says nothing about the selection.
        "pairs": pair_fields(selection, verdict.pairs if verdict.answer is Answer.DP else None),
        "verdict": verdict.answer.value,
        "delta_enclosure": recorded_ends(verdict.delta_enclosure),
        "evidence": _evidence(program, verdict, selection, options),
        "computed": {
            "engine": verdict.engine,
            "precision": verdict.precision,
            **versions(),
        },
    }
    return Certificate({**fields, "digest": digest(fields)})


def program_fields(
    program: Program, source: ProgramText, parameters: Mapping[str, Fraction]
) -> Fields:
    """Return the fields about a program: its text, its parameters, wider domains.

    Raises:
        UserError: If `source` with `parameters` is not the text of `program`.
    """
    read = parse_program(source.text, source.language, source.name)
    widened = {c.variable: c.domain for c in program.inputs if c.variable in program.declared}
    if elaborate(read, parameters, program.name, Widening(named=widened)) != program:
        raise UserError("the program's text is not that of the program that was verified")
    return {
        "program": {
            "name": source.name,
            "language": source.language,
            "text": source.text,
            "sha256": text_hash(source.text),
        },
        "params": parameter_fields(parameters),
        "widened": {name: domain_text(domain) for name, domain in widened.items()},
    }


def scope_fields(program: Program, selection: PairSelection) -> Fields:
    """Return what a record is about, in words that its reader compares with his own."""
    scope = scope_of(program, selection)
    return {"scope": scope.text, "caveat": scope.caveat}


def versions() -> Fields:
    """Return the versions of what computes."""
    names = ("dipapprox", "python-flint", "numpy")
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


def recorded_ends(enclosure: Enclosure | None) -> list[str]:
    """Return ends as a certificate has them: none so small that a reader refuses its digits."""
    if enclosure is None:
        return ends(None)
    lower, upper = enclosure.lower, enclosure.upper
    if 0 < abs(lower) < _SMALLEST:
        lower = Fraction(0) if lower > 0 else -_SMALLEST
    if 0 < abs(upper) < _SMALLEST:
        upper = Fraction(0) if upper < 0 else _SMALLEST
    return ends(Enclosure(lower, upper))


def plain_row(row: InputRow) -> list[PlainValue]:
    """Return a row as JSON has it."""
    return [plain_value(value) for value in row]


def pair_fields(selection: PairSelection, count: int | None) -> Fields:
    """Return the pairs that were selected, each once, with their number where it is known."""
    match selection:
        case AllPairs():
            return {"selection": "adjacent", "count": count, "list": None}
        case OrderedPairs(pairs):
            listed = [[plain_row(u), plain_row(v)] for u, v in dict.fromkeys(pairs)]
            known = None if count is None else len(listed)
            return {"selection": "listed", "count": known, "list": listed}
        case _:
            assert_never(selection)


def _evidence(
    program: Program, verdict: Verdict, selection: PairSelection, options: Options
) -> Fields:
    if verdict.answer is Answer.NOT_DP:
        assert verdict.witness is not None, "Not_DP comes with a witness"
        if verdict.witness.at_least is not None:
            raise UserError(
                "the violating outputs are too many to be recorded: this verdict has no certificate"
            )
        return _witness(verdict.witness)
    match selection:
        case AllPairs():
            count = prod(len(cell.domain) for cell in program.inputs)
        case OrderedPairs(pairs):
            listed = dict.fromkeys(row for pair in pairs for row in pair)
            count = len(listed)
        case _:
            assert_never(selection)
    if count * verdict.outputs > MOST_ENTRIES:
        return {"kind": "summary", "rows": count}
    if isinstance(selection, OrderedPairs):
        return _distributions(program, list(listed), verdict, options)
    rows = product(*(cell.domain for cell in program.inputs))
    return _distributions(program, list(rows), verdict, options)


def _witness(witness: Witness) -> Fields:
    return {
        "kind": "witness",
        "input": plain_row(witness.input),
        "adjacent": plain_row(witness.adjacent),
        "outputs": [
            {
                "output": plain_row(row.output),
                "probability": recorded_ends(row.probability),
                "adjacent_probability": recorded_ends(row.adjacent_probability),
            }
            for row in witness.rows
        ],
        "delta_enclosure": recorded_ends(witness.delta_enclosure),
    }


def _distributions(
    program: Program, rows: list[InputRow], verdict: Verdict, options: Options
) -> Fields:
    epsilon = verdict.claim.epsilon
    parts = execute_parts(program, options)
    source: ProbabilitySource
    outputs: Sequence[Sequence[Value]]
    if parts is not None:
        source = whole = ProductSource(parts, epsilon, options)
        outputs = whole.outputs() if parts.outputs <= MOST_LISTED else ()
    else:
        states = execute(program, options.merge, options.limits)
        source, outputs = open_source(states, epsilon, options), states.outputs()
    numbers: dict[tuple[Fraction, Fraction], int] = {}
    texts: list[list[str]] = []
    recorded = []
    for row in rows:
        options.limits.check()
        (found,) = source.distributions((row,), verdict.precision)
        if isinstance(found, NotEnclosed):
            return {"kind": "summary", "rows": len(rows)}
        references = []
        for each in found:
            key = each.lower, each.upper
            if key not in numbers:
                numbers[key] = len(texts)
                texts.append(recorded_ends(each))
            references.append(numbers[key])
        recorded.append({"input": plain_row(row), "probabilities": references})
    return {
        "kind": "distributions",
        "outputs": [plain_row(tuple(output)) for output in outputs],
        "probabilities": texts,
        "rows": recorded,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
