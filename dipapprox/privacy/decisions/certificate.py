"""Certificates of decisions are written: what was decided, and all that a check needs.

In: a decision, its program and the program's text. Out: the JSON object that
`certificates.decisions` defines. Unknown, and what rests on enclosures, has no certificate. Proofs
of signs are the evidence that the exact engine found.
"""

from __future__ import annotations

from typing import assert_never

from dipapprox.certificates.decisions import (
    FORMAT,
    VERSION,
    CertificateOfPrivacy,
    CertificateOfViolation,
    DecisionClaimed,
    Inequalities,
    Inequality,
    NonNegative,
    RecordedViolation,
    ViolationOutput,
)
from dipapprox.certificates.proofs import Ratio, form_of
from dipapprox.certificates.sign_evidence import proof_of
from dipapprox.certificates.statement import Computed, Ends
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.numerics.rounding import sound_arithmetic
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.products.program import execute_parts
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy.certificate import (
    Certificate,
    ProgramText,
    plain_values,
    statement,
    versions,
)
from dipapprox.privacy.decisions.decision import EXACT, Decision, Violation
from dipapprox.privacy.decisions.epsilons import closed_interval
from dipapprox.privacy.decisions.inequalities import find_inequalities
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.notation import finite
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.semantics.execution import execute


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
    private = decision.answer is Answer.DP
    interval = exact_text(lower), "inf" if upper is None else exact_text(upper)
    stated = {
        **statement(program, source, selection, decision.pairs if private else None),
        "format": FORMAT,
        "version": VERSION,
        "claim": DecisionClaimed(
            interval=interval, budget=decision.budget, delta=decision.delta.text
        ),
        "computed": Computed(engine=decision.engine, **versions()),
    }
    if decision.violation is not None:
        witness = _witness(decision.violation)
        return Certificate.of(CertificateOfViolation(**stated, verdict="Not_DP", evidence=witness))
    evidence = _inequalities(program, decision, selection, options)
    return Certificate.of(CertificateOfPrivacy(**stated, verdict="DP", evidence=evidence))


def without_evidence(decision: Decision) -> str | None:
    """Say why a decision has no evidence that could be recorded; None if it has some."""
    match decision.answer:
        case Answer.UNKNOWN:
            return "the decision is Unknown"
        case Answer.DP if decision.engine != EXACT:
            return "the decision rests on enclosures, not on exact forms"
        case Answer.NOT_DP if decision.violation is not None and not decision.violation.rows:
            return "no outputs of the violation are named"
        case Answer.DP | Answer.NOT_DP:
            return None
        case _:
            assert_never(decision.answer)


def _inequalities(
    program: Program, decision: Decision, selection: PairSelection, options: Options
) -> Inequalities:
    if execute_parts(program, options.merge, options.limits) is not None:
        raise UserError(
            "the outputs of independent parts are decided together: there is no certificate of it"
        )
    states = execute(program, options.merge, options.limits)
    question = DecisionQuestion(decision.budget, decision.delta, decision.epsilons)
    pairs = select_pairs(program, selection)
    found = find_inequalities(states, question, pairs, options.limits)
    outputs = states.outputs
    signs = [
        NonNegative(form=form_of(function), proof=proof_of(evidence))
        for function, evidence in found.signs
    ]
    inequalities = [
        Inequality(
            input=plain_values(each.pair[0]),
            adjacent=plain_values(each.pair[1]),
            outputs=tuple([plain_values(outputs[o]) for o in each.outputs]),
            form=form_of(each.function),
            proof=proof_of(each.evidence),
        )
        for each in found.inequalities
    ]
    return Inequalities(
        kind="inequalities",
        delta_below=found.delta_below,
        signs=tuple(signs),
        inequalities=tuple(inequalities),
    )


def _witness(violation: Violation) -> RecordedViolation:
    outputs = [
        ViolationOutput(
            output=plain_values(finite(row.output)),
            form=None if row.form is None else Ratio.of(row.form),
            adjacent_form=None if row.adjacent_form is None else Ratio.of(row.adjacent_form),
            probability=Ends.of(row.probability),
            adjacent_probability=Ends.of(row.adjacent_probability),
        )
        for row in violation.rows
    ]
    return RecordedViolation(
        kind="witness",
        eps=violation.eps,
        input=plain_values(violation.input),
        adjacent=plain_values(violation.adjacent),
        outputs=tuple(outputs),
        lhs_enclosure=Ends.of(violation.left),
        rhs_enclosure=Ends.of(violation.right),
    )
