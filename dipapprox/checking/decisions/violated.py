"""A decision Not_DP is checked: both sides of its inequality are derived and enclosed again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from dipapprox.certificates.decisions import (
    CertificateOfViolation,
    RecordedViolation,
    ViolationOutput,
)
from dipapprox.certificates.proofs import Ratio, function_of
from dipapprox.checking import pairs
from dipapprox.checking.chains import require_ending
from dipapprox.checking.claims import DecisionClaim
from dipapprox.checking.decisions.delta import read_delta
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.meaning import chooses, require_meaning
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.factor import factor_of
from dipapprox.checking.inputs import inputs_to_derive, listed_pairs, pair_text, values_of
from dipapprox.checking.partial_result import PartialResult, interval_text
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import require_distribution
from dipapprox.errors import UserError
from dipapprox.exponentials import ONE, ExponentialPolynomial
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.precision import precision, to_ball, to_enclosure
from dipapprox.privacy.notation import values_text

_BITS = (128, 512, 2048, 8192)
_NUMERICAL_BITS = (60, 120, 240, 480)

_Output = tuple[Value, ...]


def examine(
    record: CertificateOfViolation,
    claim: DecisionClaim,
    program: Program,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what is recorded of a decision Not_DP, and compare.

    Raises:
        Stuck, NoBounds: If the check cannot follow or enclose something.
        UserError: If an input is none of the program's.
        LimitReached: If `limits` run out.
    """
    evidence = record.evidence
    listed = listed_pairs(record.pairs, program)
    pair = values_of(evidence.input, program.inputs), values_of(evidence.adjacent, program.inputs)
    selected = pairs.are_adjacent(program, *pair) if listed is None else pair in listed
    if not selected:
        partial.differ("evidence", f"{pair_text(pair)} is not among the pairs to check")
        return
    if evidence.eps not in claim.interval:
        partial.differ("evidence.eps", "it is not in the interval")
        return
    outputs = [values_of(each.output, program.outputs) for each in evidence.outputs]
    if len(set(outputs)) < len(outputs):
        partial.differ("evidence.outputs", "an output is listed twice")
        return
    if all(form is None for each in evidence.outputs for form in (each.form, each.adjacent_form)):
        _by_bounds(evidence, claim, program, pair, outputs, partial, limits)
    else:
        try:
            _by_forms(evidence, claim, program, pair, outputs, partial, limits)
        except Stuck as obstacle:
            # The forms cannot be compared, but what is said about this ε can.
            _by_bounds(evidence, claim, program, pair, outputs, partial, limits)
            partial.reason = partial.reason or f"the violation is true, but {obstacle}"
    if not partial.differences:
        _examine_meaning(program, listed, claim, partial, limits)


def _examine_meaning(
    program: Program,
    listed: Sequence[pairs.Pair] | None,
    claim: DecisionClaim,
    partial: PartialResult,
    limits: Limits,
) -> None:
    # Of real inputs those are known that are listed.
    real = any(isinstance(cell.domain, AllReals) for cell in program.inputs)
    inputs = inputs_to_derive(program, listed if real else None) if chooses(program) else []
    try:
        require_meaning(program, inputs, claim, limits)
    except UserError as error:
        partial.differ("claim.interval", error.message)


def _by_forms(
    evidence: RecordedViolation,
    claim: DecisionClaim,
    program: Program,
    pair: pairs.Pair,
    outputs: Sequence[_Output],
    partial: PartialResult,
    limits: Limits,
) -> None:
    eps = evidence.eps
    forms = Forms(program, list(dict.fromkeys(pair)), limits)
    for chance in forms.chances:
        require_distribution(chance, eps, limits)
    at_epsilon = Distributions(program, eps, limits)
    for chain in forms.chains:
        require_ending(chain, forms.is_possible, at_epsilon.is_possible)
    nothing = constant(0)
    first, second = (
        [forms.for_input(input).get(output, nothing) for output in outputs] for input in pair
    )
    for output, each, p, q in zip(outputs, evidence.outputs, first, second, strict=True):
        for where, said, own in (
            ("form", each.form, p),
            ("adjacent_form", each.adjacent_form, q),
        ):
            if said is None or not own.equals(function_of(said.numerator), _denominator(said)):
                partial.differ(
                    f"{where} of {values_text(output)}", "it is not the probability's closed form"
                )
    growth = Quotient(ExponentialPolynomial.monomial(1, rate=claim.budget))
    delta = read_delta(claim.delta)
    total, adjacent = (reduce(Quotient.plus, each, nothing) for each in (first, second))
    for bits in _BITS:
        left = _enclose(total, eps, bits)
        scaled = _scaled(_enclose(adjacent, eps, bits), _enclose(growth, eps, bits))
        right = scaled + delta.enclose(eps, bits)
        partial.bits = bits
        if left.lower > right.upper or left.upper <= right.lower:
            break
    for each, p, q in zip(evidence.outputs, first, second, strict=True):
        enclosed = _enclose(p, eps, bits), _enclose(q, eps, bits)
        _compare_probabilities(each, enclosed, partial)
    _compare_sides(evidence, left, right, partial)


def _by_bounds(
    evidence: RecordedViolation,
    claim: DecisionClaim,
    program: Program,
    pair: pairs.Pair,
    outputs: Sequence[_Output],
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Without closed forms: by the check's enclosures at this ε."""
    eps = evidence.eps
    derived = Distributions(program, eps, limits)
    delta = read_delta(claim.delta)
    for bits in _NUMERICAL_BITS:
        bounds = derived.at(bits)
        scale = 1 << bounds.unit
        first, second = (
            [
                Enclosure(*(Fraction(end, scale) for end in found.get(output, (0, 0))))
                for output in outputs
            ]
            for found in map(bounds.for_input, pair)
        )
        factor = factor_of(claim.budget * eps, bits)
        if factor.upper is None:
            raise Stuck("e^(budget * eps) is too large to be enclosed")
        left, below = (reduce(Enclosure.__add__, each, _NOTHING) for each in (first, second))
        scaled = _scaled(below, Enclosure(factor.lower, factor.upper))
        right = scaled + delta.enclose(eps, bits)
        partial.bits = bits
        if left.lower > right.upper or left.upper <= right.lower:
            break
    for each, p, q in zip(evidence.outputs, first, second, strict=True):
        _compare_probabilities(each, (p, q), partial)
    _compare_sides(evidence, left, right, partial)
    if derived.leaning:
        partial.shared.append(
            f"{len(derived.leaning)} of {derived.distinct} factors, whose inequalities are no "
            "comparisons of two samples: engine nested, the paper's order"
        )


def _scaled(probability: Enclosure, growth: Enclosure) -> Enclosure:
    """Enclose the product of a number >= 0 and a number > 0."""
    return Enclosure(
        max(probability.lower, Fraction(0)) * growth.lower, probability.upper * growth.upper
    )


_NOTHING = Enclosure(Fraction(0), Fraction(0))


def _compare_probabilities(
    recorded: ViolationOutput, own: tuple[Enclosure, Enclosure], partial: PartialResult
) -> None:
    said = recorded.probability, recorded.adjacent_probability
    for each, found, name in zip(said, own, ("probability", "adjacent_probability"), strict=True):
        partial.compare(f"{name} of {recorded.output}", each.enclosure, found)


def _compare_sides(
    evidence: RecordedViolation, left: Enclosure, right: Enclosure, partial: PartialResult
) -> None:
    partial.inputs, partial.pairs = 2, 1
    partial.compare("evidence.lhs_enclosure", evidence.lhs_enclosure.enclosure, left)
    partial.compare("evidence.rhs_enclosure", evidence.rhs_enclosure.enclosure, right)
    if left.upper <= right.lower:
        partial.differ(
            "verdict",
            f"the sides are {interval_text(left)} and {interval_text(right)}: no violation",
        )
    elif left.lower <= right.upper:
        partial.reason = f"the two sides cannot be told apart at {partial.bits} bits"
    elif evidence.lhs_enclosure.lower <= evidence.rhs_enclosure.upper:
        partial.reason = "the recorded enclosures are true, but too wide to imply the verdict"


def _denominator(ratio: Ratio) -> ExponentialPolynomial:
    factors = (function_of(form) ** exponent for form, exponent in ratio.denominator)
    return reduce(ExponentialPolynomial.__mul__, factors, ONE)


def _enclose(quotient: Quotient, eps: Fraction, bits: int) -> Enclosure:
    with precision(bits):
        top, bottom = (
            sum((to_ball(c) * to_ball(q).exp() for (_, q), c in f.at(eps).terms), to_ball(0))
            for f in (quotient.top, quotient.bottom)
        )
        found = to_enclosure(top / bottom)
    if not isinstance(found, Enclosure):
        raise Stuck(f"a probability is not enclosed at {bits} bits")
    return found
