"""Certificates of decisions: JSON to a `DecisionRecord`, as `checking.record` does for verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.checking.decisions.claim import DecisionClaim
from dipapprox.checking.decisions.proofs import Interval, Proof
from dipapprox.checking.decisions.read_proofs import read_form, read_proof
from dipapprox.checking.json_values import (
    PlainRow,
    read_enclosure,
    read_list,
    read_object,
    read_rational,
    read_row,
    read_text,
    read_whole,
    wrong,
)
from dipapprox.checking.record import (
    ListedPairs,
    read_computed,
    read_pairs,
    read_parameters,
    read_program,
    read_version,
)
from dipapprox.checking.recorded_scope import RecordedScope, read_scope, read_widened
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.domains import Widening
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.certificate import ProgramText
from dipapprox.privacy.decisions.certificate import FORMAT, VERSION
from dipapprox.privacy.decisions.decision import Ruling


@dataclass(frozen=True, slots=True)
class RecordedSign:
    """A function that is >= 0 on the interval, and why."""

    form: ExponentialPolynomial
    proof: Proof


@dataclass(frozen=True, slots=True)
class RecordedInequality:
    """The same for one set of outputs of one pair, and for all that have the same form."""

    input: PlainRow
    adjacent: PlainRow
    outputs: tuple[PlainRow, ...]
    sign: RecordedSign


@dataclass(frozen=True, slots=True)
class RecordedInequalities:
    """Evidence of private; `delta_below` is at most δ, None: the inequalities are about δ."""

    delta_below: Fraction | None
    signs: tuple[RecordedSign, ...]
    inequalities: tuple[RecordedInequality, ...]


RecordedForm = tuple[ExponentialPolynomial, tuple[tuple[ExponentialPolynomial, int], ...]]
"""(numerator, factors of the denominator with their exponents)."""


@dataclass(frozen=True, slots=True)
class RecordedProbability:
    """One output of a witness; the forms are None outside the decidable class."""

    output: PlainRow
    forms: tuple[RecordedForm | None, RecordedForm | None]
    enclosures: tuple[Enclosure, Enclosure]


@dataclass(frozen=True, slots=True)
class RecordedViolation:
    """Evidence of violated."""

    epsilon: Fraction
    input: PlainRow
    adjacent: PlainRow
    outputs: tuple[RecordedProbability, ...]
    left: Enclosure
    right: Enclosure


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A certificate of a decision, read."""

    fields: Mapping[str, object]
    program: ProgramText
    sha256: str
    parameters: Mapping[str, Fraction]
    widening: Widening
    scope: RecordedScope
    claim: DecisionClaim
    pairs: ListedPairs
    count: int | None
    answer: Ruling
    evidence: RecordedInequalities | RecordedViolation
    digest: str


def is_decision(content: object) -> bool:
    """Whether a JSON value says that it is a certificate of a decision."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_decision(content: object) -> DecisionRecord:
    """Read a certificate of a decision from its JSON object.

    Raises:
        UserError: If it is of another version, or malformed.
    """
    assert isinstance(content, dict), "asked before"
    read_version(content, VERSION)
    top = read_object(
        content, "the certificate", "format", "version", "program", "params", "widened", "scope",
        "caveat", "claim", "pairs", "verdict", "evidence", "computed", "digest",
    )  # fmt: skip
    program, sha256 = read_program(top["program"])
    pairs, count = read_pairs(top["pairs"])
    read_computed(top["computed"])
    match read_text(top["verdict"], "verdict"):
        case Ruling.PRIVATE.value:
            answer = Ruling.PRIVATE
            evidence: RecordedInequalities | RecordedViolation = _inequalities(top["evidence"])
        case Ruling.VIOLATED.value:
            if count is not None:
                wrong("pairs.count", "null for the verdict violated: the search ended there")
            answer = Ruling.VIOLATED
            evidence = _violation(top["evidence"])
        case _:
            wrong("verdict", '"private" or "violated"')
    return DecisionRecord(
        fields=content,
        program=program,
        sha256=sha256,
        parameters=read_parameters(top["params"]),
        widening=read_widened(top["widened"]),
        scope=read_scope(top),
        claim=_claim(top["claim"]),
        pairs=pairs,
        count=count,
        answer=answer,
        evidence=evidence,
        digest=read_text(top["digest"], "digest"),
    )


def _claim(item: object) -> DecisionClaim:
    claim = read_object(item, "claim", "interval", "budget", "delta")
    ends = read_list(claim["interval"], "claim.interval", read_text)
    if len(ends) != 2:
        wrong("claim.interval", "a list of two ends")
    lower = read_rational(ends[0], "claim.interval[0]")
    upper = None if ends[1] == "inf" else read_rational(ends[1], "claim.interval[1]")
    if lower < 0 or (upper is not None and (upper < lower or not upper)):
        wrong("claim.interval", "an interval with an eps > 0")
    budget = read_rational(claim["budget"], "claim.budget")
    if budget < 0:
        wrong("claim.budget", "a number >= 0")
    return DecisionClaim(Interval(lower, upper), budget, read_text(claim["delta"], "claim.delta"))


def _inequalities(item: object) -> RecordedInequalities:
    found = read_object(item, "evidence", "kind", "delta_below", "signs", "inequalities")
    if found["kind"] != "inequalities":
        wrong("evidence.kind", '"inequalities" for the verdict private')
    below = found["delta_below"]
    return RecordedInequalities(
        None if below is None else read_rational(below, "evidence.delta_below"),
        read_list(found["signs"], "evidence.signs", _sign),
        read_list(found["inequalities"], "evidence.inequalities", _inequality),
    )


def _sign(item: object, where: str) -> RecordedSign:
    found = read_object(item, where, "form", "proof")
    return RecordedSign(
        read_form(found["form"], f"{where}.form"), read_proof(found["proof"], f"{where}.proof")
    )


def _inequality(item: object, where: str) -> RecordedInequality:
    found = read_object(item, where, "input", "adjacent", "outputs", "form", "proof")
    return RecordedInequality(
        read_row(found["input"], f"{where}.input"),
        read_row(found["adjacent"], f"{where}.adjacent"),
        read_list(found["outputs"], f"{where}.outputs", read_row),
        _sign({name: found[name] for name in ("form", "proof")}, where),
    )


def _violation(item: object) -> RecordedViolation:
    found = read_object(
        item, "evidence", "kind", "eps", "input", "adjacent", "outputs", "lhs_enclosure",
        "rhs_enclosure",
    )  # fmt: skip
    if found["kind"] != "witness":
        wrong("evidence.kind", '"witness" for the verdict violated')
    return RecordedViolation(
        read_rational(found["eps"], "evidence.eps"),
        read_row(found["input"], "evidence.input"),
        read_row(found["adjacent"], "evidence.adjacent"),
        read_list(found["outputs"], "evidence.outputs", _probability),
        read_enclosure(found["lhs_enclosure"], "evidence.lhs_enclosure"),
        read_enclosure(found["rhs_enclosure"], "evidence.rhs_enclosure"),
    )


def _probability(item: object, where: str) -> RecordedProbability:
    found = read_object(
        item, where, "output", "form", "adjacent_form", "probability", "adjacent_probability"
    )
    return RecordedProbability(
        read_row(found["output"], f"{where}.output"),
        (_ratio(found["form"], where), _ratio(found["adjacent_form"], where)),
        (
            read_enclosure(found["probability"], f"{where}.probability"),
            read_enclosure(found["adjacent_probability"], f"{where}.adjacent_probability"),
        ),
    )


def _ratio(item: object, where: str) -> RecordedForm | None:
    if item is None:
        return None
    found = read_object(item, where, "numerator", "denominator")
    return (
        read_form(found["numerator"], f"{where}.numerator"),
        read_list(found["denominator"], f"{where}.denominator", _factor),
    )


def _factor(item: object, where: str) -> tuple[ExponentialPolynomial, int]:
    if not isinstance(item, list) or len(item) != 2:
        wrong(where, "a form and an exponent")
    form, exponent = read_form(item[0], where), read_whole(item[1], where)
    if not form or not exponent:
        wrong(where, "a form that is not 0 and an exponent >= 1")
    return form, exponent
