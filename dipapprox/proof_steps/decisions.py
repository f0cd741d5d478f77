"""Answers about all ε of an interval that the kernel has replayed proofs of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from time import perf_counter
from typing import TypeVar, assert_never

from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate, SourceError, UserError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.kernel.errors import NotProved, Refuted, asking
from dipapprox.kernel.machine import read_weight
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.kernel.walk import formula_of
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
    rational_value,
)
from dipapprox.privacy.decisions.decision import Cause, Decision
from dipapprox.privacy.decisions.delta import Delta, read_delta
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Replayed
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.throughout import Broken, GoalThroughout, written_throughout
from dipapprox.proof_steps.verdicts import NoProof, attempted

Found = TypeVar("Found", bound=Decision | IntervalVerdict)


def proved_throughout(setting: Setting, found: Found) -> Found:
    """Return an answer with what the kernel says; Unknown where it does not follow."""
    if found.answer is Answer.UNKNOWN:
        return found
    said = attempted(lambda: replayed_throughout(setting, goals_of(found)))
    if not isinstance(said, NoProof):
        return replace(found, replayed=said)
    run, unknown = replace(found.run, reason=said.to(found.answer)), Answer.UNKNOWN
    if isinstance(found, Decision):
        cause = Cause.INTERRUPTED if said.interrupted else Cause.NO_PROOF
        found = replace(found, cause=cause, note="", violated_on=None)
    else:
        left = ((found.lower, found.upper),)
        found = replace(found, remaining=left, interrupted=said.interrupted)
    return replace(found, run=run, answer=unknown, violation=None)


def goals_of(found: Decision | IntervalVerdict) -> Iterator[GoalThroughout]:
    """Yield what an answer, DP or Not_DP, says: with bounds of δ, one closer than the other."""
    broken = _broken(found)
    private = found.answer is Answer.DP
    if isinstance(found, Decision):
        on = Epsilons(found.epsilons.lower, found.epsilons.upper)
        eps_prv, delta = times_eps(found.budget), found.delta
    else:
        on = Epsilons(found.lower, found.upper)
        try:
            eps_prv, delta = formula_json(found.claim.eps_prv), read_delta(found.claim.delta_text)
        except (SourceError, UserError) as error:
            raise NoCertificate(f"the kernel has no such claims: {error.message}") from None
    for bound in _deltas(delta, on, private):
        yield GoalThroughout(on, eps_prv, bound, broken)


def replayed_throughout(setting: Setting, goals: Iterable[GoalThroughout]) -> Replayed:
    """Replay proofs of goals until one holds."""
    failed: NotProved | NoCertificate = Refuted("there is nothing to try")
    for goal in goals:
        try:
            with asking(setting.limits.check):
                for proof in written_throughout(setting, goal):
                    start = perf_counter()
                    try:
                        replay(proof.machine, proof.claim, proof.steps)
                    except NotProved as obstacle:
                        failed = obstacle
                    else:
                        return Replayed(len(proof.steps), perf_counter() - start, 0, proof)
        except NoCertificate as none:
            failed = none
    raise failed


def _broken(found: Decision | IntervalVerdict) -> Broken | None:
    if found.answer is Answer.DP:
        return None
    if isinstance(found, Decision):
        if found.violation is None:
            raise NoCertificate("there is no violation")
        return found.violation.eps, found.violation
    if found.violation is None or found.witness is None or found.witness.at_least is not None:
        raise NoCertificate("the violating outputs are too many to be recorded")
    return found.violation.claim.eps, found.witness


def _deltas(delta: Delta, on: Epsilons, below: bool) -> Iterator[Json]:
    """Yield δ, or bounds of a δ with irrational constants."""
    if delta.exact is None:
        for low, high in delta.brackets():
            yield ratio_json(low if below else high)
        return
    try:
        found = formula_json(delta.formula)
        formula_of(read_weight(found), Signs(on))
    except (NotProved, NoCertificate):
        # As it was written it has more divisors.
        found = ratio_json(delta.exact)
    yield found


_LARGEST_POWER = 100


def times_eps(multiple: Fraction) -> Json:
    """Write multiple * eps."""
    return ["eps"] if multiple == 1 else ["*", number_json(multiple), ["eps"]]


def formula_json(formula: Formula) -> Json:
    """Write a formula."""
    match formula:
        case Number(value):
            return number_json(value)
        case Name("eps"):
            return ["eps"]
        case Name(name):
            raise NoCertificate(f"'{name}' is no name that the kernel knows")
        case Negation(operand):
            return ["*", -1, formula_json(operand)]
        case FormulaCall(FormulaFunction.EXP, argument):
            return ["exp", formula_json(argument)]
        case FormulaCall(function):
            raise NoCertificate(f"the kernel has no rule for '{function.value}'")
        case Operation(left, Operator.POWER, right):
            return _power(left, right)
        case Operation(left, Operator.SUBTRACT, right):
            return ["+", formula_json(left), ["*", -1, formula_json(right)]]
        case Operation(left, Operator.DIVIDE, right):
            return ["*", formula_json(left), ["inverse", formula_json(right)]]
        case Operation(left, operator, right):
            return [operator.value, formula_json(left), formula_json(right)]
        case _:
            assert_never(formula)


def _power(base: Formula, power: Formula) -> Json:
    exponent = rational_value(power, {})
    if exponent is None or exponent.denominator != 1 or abs(exponent) > _LARGEST_POWER:
        raise NoCertificate("the kernel has no rule for such a power")
    found: Json = 1
    for _ in range(abs(int(exponent))):
        found = ["*", found, formula_json(base)]
    return ["inverse", found] if exponent < 0 else found


def ratio_json(ratio: ExponentialRatio) -> Json:
    """Write an exponential ratio."""
    found = _sum_json(ratio.numerator)
    for factor, exponent in ratio.denominator:
        for _ in range(exponent):
            found = ["*", found, ["inverse", _sum_json(factor)]]
    return found


def _sum_json(function: ExponentialPolynomial) -> Json:
    found: Json = None
    for (power, rate), c in function.terms:
        term: Json = number_json(c)
        for _ in range(power):
            term = ["*", term, ["eps"]]
        if rate:
            term = ["*", term, ["exp", times_eps(rate)]]
        found = term if found is None else ["+", found, term]
    return 0 if found is None else found
