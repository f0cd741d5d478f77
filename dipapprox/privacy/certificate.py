"""Certificates are written: a verdict with everything that is needed to check it again.

In: a verdict, its program and the program's text. Out: the JSON object that `certificates` defines.
Rationals are strings "p/q", enclosures pairs of decimals rounded outward, inputs and outputs lists
in the order of the program's cells. Unknown has no certificate.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from math import prod
from typing import Any, assert_never

from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.reading import AnyCertificate
from dipapprox.certificates.statement import (
    AdjacentPairs,
    Ends,
    ListedPairs,
    Pairs,
    PlainValues,
    RecordedProgram,
)
from dipapprox.certificates.verdicts import (
    FORMAT,
    VERSION,
    CertificateOfDP,
    CertificateOfNotDP,
    Claimed,
    RecordedBoxes,
    RecordedDistributions,
    RecordedDivergence,
    RecordedDivergences,
    RecordedInput,
    RecordedWitness,
    Summary,
    VerdictComputed,
    WitnessOutput,
)
from dipapprox.certificates.writing import UNSIGNED, signed_fields
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import NoCertificate, UserError
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import Widening, domain_text, has_real_inputs
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import Source, parse_program
from dipapprox.numerics.bulk import ProbabilitySource
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.rounding import sound_arithmetic
from dipapprox.pairs.products.program import execute_parts
from dipapprox.pairs.products.source import MOST_LISTED
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.box_certificate import all_real_inputs, stated_delta
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.notation import finite, html_table, plain_value
from dipapprox.privacy.options import Options
from dipapprox.privacy.published.certificate import (
    Cuts,
    divergence,
    divergences,
    finite_violation,
)
from dipapprox.privacy.rounded_scales import slack
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.sources import open_probabilities, open_product_source
from dipapprox.privacy.verdict import BY_BUDGET, Answer, Verdict, Witness
from dipapprox.semantics.execution import execute

MOST_ENTRIES = 400_000
"""Most references to probabilities in one file, a few bytes each."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as it was written; `language` is "dpg" or "dip"."""

    name: str
    language: str
    text: str


def text_of(source: Source) -> ProgramText:
    """Return the text of a program that was read; of a Python function, of the program it is."""
    return ProgramText(source.name, source.language, source.text)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate; `fields` is the JSON object, digest included."""

    fields: Mapping[str, object]

    @classmethod
    def of(cls, record: AnyCertificate) -> Certificate:
        """Sign a record."""
        return cls(signed_fields(record))

    def to_json(self) -> str:
        """Return the text of the file: one line."""
        return json.dumps(self.fields, ensure_ascii=False) + "\n"

    def _repr_html_(self) -> str:
        shown = ("verdict", "claim", "scope", "caveat", "params", "computed", "digest")
        return html_table((name, self.fields[name]) for name in shown if name in self.fields)


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
    given = verdict
    if verdict.answer is Answer.UNKNOWN:
        raise UserError("an Unknown verdict has no certificate: there is nothing to check")
    if verdict.claim.growth.multiple != 1:
        raise NoCertificate("the claimed eps_prv is no rational number")
    if verdict.engine == BY_BUDGET:
        raise NoCertificate("a budget for every eps proves it, which 'prove --certificate' records")
    written, verdict = program, _of_rational_scales(program, verdict)
    program = program.with_rational_scales()
    claimed = given.claim
    cuts: Cuts | None = None
    pair: RecordedDivergence | None = None
    if program.real_outputs and verdict.answer is Answer.NOT_DP:
        try:
            verdict, cuts = finite_violation(program, verdict, options)
        except NoCertificate as none:
            pair = divergence(verdict)
            if pair is None:
                raise none
    private = verdict.answer is Answer.DP
    evidence = _evidence_of_dp(program, verdict, selection, options) if private else None
    # A search that found a violation stopped there: its count says nothing about the selection.
    stated = {
        **statement(written, source, selection, verdict.pairs if private else None),
        "format": FORMAT,
        "version": VERSION,
        "claim": Claimed(eps=claimed.eps, eps_prv=claimed.eps_prv, delta=claimed.delta),
        "delta_enclosure": Ends.of(
            stated_delta(verdict, evidence)
            if isinstance(evidence, RecordedBoxes)
            else verdict.delta_enclosure
        ),
        "computed": VerdictComputed(
            engine=verdict.engine, precision=verdict.precision, **versions()
        ),
    }
    if evidence is not None:
        return Certificate.of(CertificateOfDP(**stated, verdict="DP", evidence=evidence))
    if pair is not None:
        return Certificate.of(CertificateOfNotDP(**stated, verdict="Not_DP", evidence=pair))
    assert verdict.witness is not None, "Not_DP comes with a witness"
    witness = _witness(verdict.witness, cuts)
    return Certificate.of(CertificateOfNotDP(**stated, verdict="Not_DP", evidence=witness))


def _of_rational_scales(program: Program, verdict: Verdict) -> Verdict:
    """Return what is found of the rational scales of a program; see `rounded_scales`."""
    claim = verdict.claim
    by = slack(program, claim.growth)
    if not by:
        return verdict
    delta = claim.delta - by if verdict.answer is Answer.DP else min(claim.delta + by, Fraction(1))
    return replace(verdict, claim=Claim(claim.eps, delta, claim.growth))


def statement(
    program: Program, source: ProgramText, selection: PairSelection, count: int | None
) -> dict[str, Any]:
    """Return the fields that say what a certificate is about; it is not signed yet.

    Args:
        program: What was verified or decided.
        source: Its text.
        selection: The pairs that were selected.
        count: Their number, if all were looked at.

    Raises:
        UserError: If `source` is not the text of `program`.
    """
    scope = scope_of(program, selection)
    return {
        **recorded_program(program, source),
        "scope": scope.text,
        "caveat": scope.caveat,
        "pairs": _pairs(selection, count),
        "digest": UNSIGNED,
    }


def recorded_program(program: Program, source: ProgramText) -> dict[str, Any]:
    """Return the fields of a program: its text, parameters, and domains.

    Raises:
        UserError: If `source` is not the text of `program`.
    """
    read = parse_program(source.text, source.language, source.name)
    widened = {c.variable: c.domain for c in program.inputs if c.variable in program.declared}
    parameters = dict(program.parameters)
    found = elaborate(read, parameters, program.name, Widening(named=widened), irrational=True)
    if found != program:
        raise UserError("the program's text is not that of the program that was verified")
    return {
        "program": RecordedProgram(
            name=source.name,
            language=source.language,
            text=source.text,
            sha256=text_hash(source.text),
        ),
        "params": parameters,
        "widened": {name: domain_text(domain) for name, domain in widened.items()},
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes, as arguments."""
    names = ("dipapprox", "python-flint", "numpy")
    found = {name.replace("-", "_"): _version(name) for name in names}
    return {"python": platform.python_version(), **found}


def plain_values(values: Sequence[Value]) -> PlainValues:
    """Return the values of some cells as JSON has them."""
    return tuple([plain_value(value) for value in values])


def _pairs(selection: PairSelection, count: int | None) -> Pairs:
    """Return the pairs that were selected, each once, with their number where it is known."""
    match selection:
        case AllPairs():
            return AdjacentPairs(count=count, list=None)
        case OrderedPairs(pairs):
            listed = tuple([(plain_values(u), plain_values(v)) for u, v in dict.fromkeys(pairs)])
            return ListedPairs(count=None if count is None else len(listed), list=listed)
        case _:
            assert_never(selection)


def _evidence_of_dp(
    program: Program, verdict: Verdict, selection: PairSelection, options: Options
) -> RecordedDistributions | RecordedDivergences | RecordedBoxes | Summary:
    match selection:
        case AllPairs() if has_real_inputs(program):
            return all_real_inputs(program, verdict, options)
        case AllPairs():
            count = prod(len(cell.domain) for cell in program.inputs)
        case OrderedPairs(pairs):
            listed = dict.fromkeys(input for pair in pairs for input in pair)
            count = len(listed)
        case _:
            assert_never(selection)
    if program.real_outputs:
        return divergences(program, verdict, selection, verdict.pairs, count, options)
    if count * verdict.run.outputs > MOST_ENTRIES:
        return Summary(inputs=count)
    if isinstance(selection, OrderedPairs):
        return _distributions(program, list(listed), verdict, options)
    inputs = product(*(cell.domain for cell in program.inputs))
    return _distributions(program, list(inputs), verdict, options)


def _witness(witness: Witness, cuts: Cuts | None) -> RecordedWitness:
    if witness.at_least is not None:
        raise NoCertificate("the violating outputs are too many to be recorded")
    outputs = [
        WitnessOutput(
            output=plain_values(finite(row.output)),
            probability=Ends.of(row.probability),
            adjacent_probability=Ends.of(row.adjacent_probability),
        )
        for row in witness.rows
    ]
    return RecordedWitness(
        input=plain_values(witness.input),
        adjacent=plain_values(witness.adjacent),
        outputs=tuple(outputs),
        delta_enclosure=Ends.of(witness.delta_enclosure),
        **({} if cuts is None else {"cuts": cuts}),
    )


def _distributions(
    program: Program, inputs: list[Input], verdict: Verdict, options: Options
) -> RecordedDistributions | Summary:
    eps = verdict.claim.eps
    parts = execute_parts(program, options.merge, options.limits)
    source: ProbabilitySource
    outputs: Sequence[Sequence[Value]]
    if parts is not None:
        source = whole = open_product_source(parts, eps, options)
        outputs = whole.outputs if parts.outputs <= MOST_LISTED else ()
    else:
        states = execute(program, options.merge, options.limits)
        source, outputs = open_probabilities(states, eps, options), states.outputs
    numbers: dict[tuple[Fraction, Fraction], int] = {}
    enclosures: list[Ends] = []
    recorded = []
    for input in inputs:
        options.limits.check()
        (found,) = source.distributions((input,), verdict.precision)
        if isinstance(found, NotEnclosed):
            return Summary(inputs=len(inputs))
        references = []
        for each in found:
            key = each.lower, each.upper
            if key not in numbers:
                numbers[key] = len(enclosures)
                enclosures.append(Ends.of(each))
            references.append(numbers[key])
        recorded.append(RecordedInput(input=plain_values(input), probabilities=tuple(references)))
    return RecordedDistributions(
        outputs=tuple([plain_values(output) for output in outputs]),
        probabilities=tuple(enclosures),
        inputs=tuple(recorded),
    )


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
