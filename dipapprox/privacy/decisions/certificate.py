"""Certificates of decisions: what was decided, and all that an independent check needs.

In: a decision, its program and the program's text. Out: one JSON object. Text, pairs, digest and
spellings are those of `privacy.certificate`; the claim is an interval of ε, a budget t and δ.

Evidence of "private" is every distinct inequality as the exact form that is >= 0, with one pair of
inputs and the outputs that it stands for, and the proof of its sign (`exact.signs.evidence`); the
reader enumerates all pairs himself. "signs" are further functions that are >= 0: `inequalities`
says what they are for. Evidence of "violated" is the witness: exact forms of both probabilities of
every output, and both sides of the inequality enclosed at one rational ε.

A form is a list of [power, rate, coefficient]: the sum of coefficient * ε^power * e^(rate ε).
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.exact.signs.evidence import Evidence, evidence_json
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Program
from dipapprox.numerics.arithmetic import sound_arithmetic
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.adjacency import PairSelection, select_pairs
from dipapprox.privacy.certificate import (
    Certificate,
    Fields,
    ProgramText,
    digest,
    pair_fields,
    plain_row,
    program_fields,
    recorded_ends,
    scope_fields,
    versions,
)
from dipapprox.privacy.decisions.decision import EXACT, Decision, Ruling, Violation
from dipapprox.privacy.decisions.epsilons import closed_interval
from dipapprox.privacy.decisions.inequalities import find_inequalities
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.notation import plain_factors, plain_terms
from dipapprox.privacy.options import Options
from dipapprox.privacy.products.program import execute_parts
from dipapprox.semantics.execution import execute

FORMAT = "dipapprox decision certificate"
VERSION = 2


@sound_arithmetic()
def certify_decision(
    program: Program,
    source: ProgramText,
    decision: Decision,
    selection: PairSelection,
    options: Options,
) -> Certificate:
    """Record a decision.

    Args:
        program: What was decided.
        source: Its text.
        decision: The result.
        selection: The pairs that were selected.
        options: Those of the decision; inequalities are proved again as they say.

    Raises:
        UserError: If there is no evidence to record, or `source` is not the text of `program`.
        LimitReached: If `options.limits` run out.
    """
    missing = without_evidence(decision)
    if missing is not None:
        raise UserError(f"no certificate: {missing}")
    lower, upper = decision.epsilons.lower, decision.epsilons.upper
    if decision.epsilons != closed_interval(lower, upper):
        raise UserError("only decisions about closed intervals have certificates")
    private = decision.ruling is Ruling.PRIVATE
    fields: Fields = {
        "format": FORMAT,
        "version": VERSION,
        **program_fields(program, source, decision.parameters),
        **scope_fields(program, selection),
        "claim": {
            "interval": [exact_text(lower), "inf" if upper is None else exact_text(upper)],
            "budget": exact_text(decision.budget),
            "delta": decision.delta.text,
        },
        "pairs": pair_fields(selection, decision.pairs if private else None),
        "verdict": decision.ruling.value,
        "evidence": _evidence(program, decision, selection, options),
        "computed": {"engine": decision.engine, **versions()},
    }
    return Certificate({**fields, "digest": digest(fields)})


def without_evidence(decision: Decision) -> str | None:
    """Say why a decision has no evidence that could be recorded; None if it has some."""
    match decision.ruling:
        case Ruling.UNKNOWN:
            return "the decision is unknown"
        case Ruling.PRIVATE if decision.engine != EXACT:
            return "the decision rests on enclosures, not on exact forms"
        case Ruling.PRIVATE | Ruling.VIOLATED:
            return None
        case _:
            assert_never(decision.ruling)


def _evidence(
    program: Program, decision: Decision, selection: PairSelection, options: Options
) -> Fields:
    if decision.violation is not None:
        return _witness(decision.violation)
    return _inequalities(program, decision, selection, options)


def _inequalities(
    program: Program, decision: Decision, selection: PairSelection, options: Options
) -> Fields:
    if execute_parts(program, options) is not None:
        raise UserError(
            "the outputs of independent parts are decided together: there is no certificate of it"
        )
    states = execute(program, options.merge, options.limits)
    question = DecisionQuestion(decision.budget, decision.delta, decision.epsilons)
    pairs = select_pairs(program, selection)
    found = find_inequalities(states, question, pairs, options.limits)
    outputs = states.outputs()
    return {
        "kind": "inequalities",
        "delta_below": None if found.delta_below is None else exact_text(found.delta_below),
        "signs": [_proved(function, evidence) for function, evidence in found.signs],
        "inequalities": [
            {
                "input": plain_row(each.pair[0]),
                "adjacent": plain_row(each.pair[1]),
                "outputs": [plain_row(tuple(outputs[o])) for o in each.outputs],
                **_proved(each.function, each.evidence),
            }
            for each in found.inequalities
        ],
    }


def _proved(function: ExponentialPolynomial, evidence: Evidence) -> Fields:
    return {"form": plain_terms(function), "proof": evidence_json(evidence)}


def _witness(violation: Violation) -> Fields:
    return {
        "kind": "witness",
        "eps": exact_text(violation.epsilon),
        "input": plain_row(violation.input),
        "adjacent": plain_row(violation.adjacent),
        "outputs": [
            {
                "output": plain_row(row.output),
                "form": _ratio(row.form),
                "adjacent_form": _ratio(row.adjacent_form),
                "probability": recorded_ends(row.probability),
                "adjacent_probability": recorded_ends(row.adjacent_probability),
            }
            for row in violation.rows
        ],
        "lhs_enclosure": recorded_ends(violation.left),
        "rhs_enclosure": recorded_ends(_not_negative(violation.right)),
    }


def _not_negative(value: Enclosure | None) -> Enclosure | None:
    """Cut off what rounding put below 0."""
    return None if value is None else Enclosure(max(value.lower, Fraction(0)), value.upper)


def _ratio(form: ExponentialRatio | None) -> Fields | None:
    if form is None:
        return None
    return {
        "numerator": plain_terms(form.numerator),
        "denominator": plain_factors(form),
    }
