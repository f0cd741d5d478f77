"""Claims about all eps of an interval, as proofs that the kernel replays: which rules to use.

A run of the machine needs no hints, and signs need none.

Without closed forms a claim is proved at both ends of parts, which are halved as long as the kernel
does not know probabilities to bend little enough between them; or, of real inputs, at the greatest
eps of parts, where a smaller one is as good as smaller inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import chain
from math import prod
from typing import TypeVar

from dipapprox.data_classes import Record, replace
from dipapprox.errors import NoCertificate, SourceError, UserError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.kernel.balls import lower_at, precision, upper_at
from dipapprox.kernel.closed import CHANCES, lowest
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.intervals import between_eps, multiple_below
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.machine import Tree, mentions, read_machine, read_weight
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.kernel.walk import formula_of
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.language.formula import Formula, FormulaCall, Negation, Operation, Operator, names_of
from dipapprox.privacy.decisions.decision import Cause, Decision, Violation
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.intervals.formula_verifier import inputs_at_ties
from dipapprox.privacy.intervals.search import between
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.notation import finite
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import AtEpsPrv, LeastDelta
from dipapprox.privacy.run import Options, Replayed, Setting, Witness
from dipapprox.privacy.verdict import Answer, Claim
from dipapprox.proof_steps import verdicts
from dipapprox.proof_steps.composed_steps import premises_of
from dipapprox.proof_steps.independent_parts import parts_proof
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json, numbers_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.proof_steps.verdicts import Goal, NoProof, WrittenProof
from dipapprox.semantics.real_inputs import execute_for_declared

_MOST_PARTS = 400
_PART_BITS = 96
_FINE = 1_000  # as a part of this of what is claimed the least delta is looked for
_SHARE = 8  # of the gap that the least delta leaves, one part is for enclosures


def steps_between(setting: Setting, claim: dict[str, Json], epsilons: Epsilons) -> list[Json]:
    """Return the steps to a claim on an interval, from its ends and some eps between."""
    machine = read_machine(machine_json(setting.program))
    plain = Setting(setting.program, setting.selection, Options())
    eps_prv, delta = read_weight(claim["eps_prv"]), _function(claim["delta"], Signs(epsilons))
    parts: list[tuple[Goal, Goal]] = []

    @cache
    def goal(eps: Fraction, rate: Fraction) -> Goal:
        most = _below(delta, eps)
        question = AtEpsPrv(rate, max(most / _FINE, Fraction(1, 1 << _PART_BITS)))
        found = profile(plain, eps, question)
        assert isinstance(found, LeastDelta)
        # Most of what is left is for what happens between.
        gap = (most - found.delta_enclosure.upper) / _SHARE
        if gap <= 0:
            raise NoCertificate(f"delta is nearly attained at {eps}")
        return Goal(Claim(eps, most - (_SHARE - 1) * gap, rate), None, gap, found.run.outputs)

    def rate(eps: Fraction, on: Epsilons) -> Fraction:
        multiple, power = multiple_below(eps_prv, on)
        return max(multiple * eps**power, Fraction(0))

    def kept(low: Fraction, high: Fraction) -> bool:
        on = Epsilons(low, high)
        try:
            first, then = (goal(eps, rate(eps, on)) for eps in (low, high))
        except (NoCertificate, NotProved):
            # Of a long part little is known, perhaps; what fails at one eps fails for good.
            for eps in (low, high):
                goal(eps, rate(eps, Epsilons(eps, eps)))
            return False
        claims = [each.claim for each in (first, then)]
        known = [Private(each.eps, each.eps_prv, each.delta, None) for each in claims]
        try:
            between_eps(Proof(machine, None), {**claim, "eps": _epsilons_json(on)}, *known)
        except Refuted:
            return False
        parts.append((first, then))
        return True

    list(_halved(epsilons, kept))
    proofs = (verdicts.replayed(setting, each).proof for each in dict.fromkeys(chain(*parts)))
    return _followed_by({"rule": "between eps", **verdicts.stated_in(claim)}, proofs)


def steps_by_shrinking(setting: Setting, claim: dict[str, Json], epsilons: Epsilons) -> list[Json]:
    """Return the steps to a claim about all pairs of real inputs: at the greatest eps of parts.

    The kernel decides whether a smaller eps is as good as smaller inputs.
    """
    program = setting.program
    point = inputs_at_ties(execute_for_declared(program, True))
    if point is None:
        raise NoCertificate("without noise no inputs make all comparisons ties")
    signs, proofs = Signs(epsilons), list[object]()
    formulas = _formulas(claim, signs)

    def kept(low: Fraction, high: Fraction) -> bool:
        values = [min(_below(formula, low), _below(formula, high)) for formula in formulas]
        goal = Goal(Claim(high, values[1], max(values[0], Fraction(0))), None, None, 1)
        slacks = (f + Ratio.constant(-value) for f, value in zip(formulas, values, strict=True))
        part = Epsilons(low, high)
        if not all(signs.tell(each.numerator, positive=False, on=part) for each in slacks):
            return False
        try:
            proofs.append(verdicts.replayed(setting, goal).proof)
        except (NotProved, NoCertificate):
            return False
        return True

    list(_halved(epsilons, kept))
    values = [number_json(point[cell.name]) for cell in program.inputs]
    stated = verdicts.stated_in(claim)
    return _followed_by({"rule": "smaller eps", **stated, "point": values}, proofs)


def _followed_by(last: dict[str, Json], proofs: Iterable[object]) -> list[Json]:
    """Return the steps of some proofs, and one of which their last ones are the premises."""
    steps: list[Json] = []
    single: list[Json] = []
    for proof in proofs:
        assert isinstance(proof, WrittenProof)
        before = len(steps)
        for step in proof.steps:
            assert isinstance(step, dict)
            moved: list[Json] = [k - before if k < 0 else k + before for k in premises_of(step)]
            steps.append({**step, "from": moved})
        single.append(-len(steps))
    return [*steps, {**last, "from": single}]


def _halved(epsilons: Epsilons, kept: Callable[[Fraction, Fraction], bool]) -> Iterator[Fraction]:
    """Yield the right ends of parts of an interval, ascending, that are kept; others are halved."""
    if epsilons.upper is None or not epsilons.lower:
        raise NoCertificate("the interval has no two ends above 0")
    waiting = [(epsilons.lower, epsilons.upper)]
    for _ in range(_MOST_PARTS):
        low, high = waiting.pop()
        if kept(low, high):
            yield high
            if not waiting:
                return
        else:
            middle = between(low, high)
            waiting += [(middle, high), (low, middle)]
    raise NoCertificate(f"more than {_MOST_PARTS} parts of the interval are needed")


def _formulas(claim: dict[str, Json], signs: Signs) -> tuple[Ratio, Ratio]:
    """Return what eps_prv and delta are."""
    return _function(claim["eps_prv"], signs), _function(claim["delta"], signs)


def _function(json: Json, signs: Signs) -> Ratio:
    return formula_of(read_weight(json), signs)


def _below(formula: Ratio, eps: Fraction) -> Fraction:
    """A number that is hardly below the value of a formula."""
    with precision(2 * _PART_BITS):
        return Fraction(lower_at(formula.ball(eps), _PART_BITS), 1 << _PART_BITS)


_BITS = (40, 80, 160, 320)  # of the distributions that show a violation without closed forms
_PLACES = (32, 64, 128, 256, 512)
"""Of delta at the eps of a violation, rounded up, where it is no rational number."""

Broken = tuple[Fraction, Violation | Witness]
"""At which eps a claim is violated, and by what: the pair, and the set of outputs."""


class GoalThroughout(Record):
    """What the kernel shall confirm."""

    epsilons: Epsilons  # all that are meant
    eps_prv: Json  # as a weight of machines
    delta: Json  # a weight: for DP at most what is claimed, for Not_DP at least
    broken: Broken | None  # where it is violated; None if it holds


def ways_throughout(setting: Setting, goal: GoalThroughout) -> Iterator[Callable[[], WrittenProof]]:
    """Yield what writes proofs; the first that the kernel confirms will do."""
    program, epsilons = setting.program, goal.epsilons
    machine = machine_json(program)
    pairs, inputs = verdicts.listed(setting.selection)
    stated = {"eps_prv": goal.eps_prv, "delta": goal.delta}
    claim: dict[str, Json] = {
        "verdict": "DP" if goal.broken is None else "Not_DP",
        "eps": _epsilons_json(epsilons),
        **stated,
        "pairs": pairs,
    }
    if goal.broken is None:
        many = (setting.count() or 0) > verdicts.MANY_PAIRS
        ways: list[Callable[[], Sequence[Json]]] = [
            lambda: verdicts.kept(program, machine, claim, inputs, verdicts.IN_CLOSED_FORM)
        ]
        served = 0 if many or program.real_outputs else 1
        ways.insert(served, lambda: _served(machine, claim, epsilons))
        if pairs is None and has_real_inputs(program):
            ways.append(lambda: steps_by_shrinking(setting, claim, epsilons))
        ways.append(lambda: steps_between(setting, claim, epsilons))
        yield from ((lambda way=way: WrittenProof(machine, claim, tuple(way()))) for way in ways)
        return
    before: list[Json] = []
    if mentions(read_machine(machine).body, *CHANCES):
        before = [verdicts.run_step(claim, inputs, verdicts.IN_CLOSED_FORM)]
    for steps in _violations(program, machine, goal.broken, claim):
        premises: list[Json] = [-len(steps) - k for k in range(1 + len(before))]
        last: Json = {"rule": "violated somewhere", "from": premises, "eps": claim["eps"], **stated}
        yield partial(WrittenProof, machine, claim, (*steps, *before, last))


def _served(machine: Json, claim: dict[str, Json], epsilons: Epsilons) -> list[Json]:
    """Steps to a claim that a budget keeps, if one is found: a multiple of eps, or a constant."""
    signs = Signs(epsilons)
    eps_prv, delta = _formulas(claim, signs)
    match eps_prv.numerator.terms, eps_prv.denominator:
        case (((0, 1), most),), ():
            budget = Fraction(most)
        case (((0, 0), most),), () if epsilons.upper is not None:
            budget = Fraction(most) / epsilons.upper
        case _:
            raise NoCertificate("no budget is claimed")
    if not signs.tell(delta.numerator, positive=False):
        raise NoCertificate("a negative delta is claimed")
    step = served_step(machine, budget, None)
    return [step | verdicts.stated_in(claim)]


def _epsilons_json(on: Epsilons) -> Json:
    upper = None if on.upper is None else number_json(on.upper)
    return {"from": number_json(on.lower), "to": upper}


def _violations(
    program: Program, machine: Json, broken: Broken, claim: dict[str, Json]
) -> Iterator[Sequence[Json]]:
    eps, found = broken
    pair = found.input, found.adjacent
    rows = [] if program.real_outputs else [input_json(finite(row.output)) for row in found.rows]
    (eps_prv, *_), deltas = (_bounds(read_weight(claim[n]), eps) for n in ("eps_prv", "delta"))
    for delta in deltas:
        said = numbers_json(eps=eps, eps_prv=eps_prv, delta=delta)
        if prod([len(cell.domain) for cell in program.outputs]) > verdicts.MANY_OUTPUTS:
            with suppress(NoCertificate, NotProved):
                yield parts_proof(machine, {**claim, **said}, pair)
        if not (program.real_outputs or found.rows):
            raise NoCertificate("no outputs of the violation are named")
        for bits in (verdicts.IN_CLOSED_FORM, *_BITS):
            if not program.real_outputs:
                yield verdicts.violation(said, pair, rows, bits)
            elif bits:
                yield [verdicts.published_violation(said, pair, bits)]


def _bounds(formula: Tree, eps: Fraction) -> list[Fraction]:
    """Return the value of a formula at one eps if it is rational, else numbers just above it."""
    if mentions(formula, "sqrt", "log"):
        return [lowest(formula, Epsilons(eps, eps)) + Fraction(1, 1 << _PART_BITS // 2)]
    try:
        value = formula_of(formula, Signs.at(eps)).at(eps)
    except NotProved as obstacle:
        raise NoCertificate(str(obstacle)) from None
    match value.numerator.terms, value.denominator:
        case (), _:
            return [Fraction(0)]
        case ((((0, 0), number),), ()):
            return [Fraction(number)]
        case _:
            found = []
            for places in _PLACES:
                with precision(places + 64):
                    found.append(Fraction(upper_at(value.ball(eps), places), 1 << places))
            return found


# --- answers, and what they say -------------------------------------------------------------------


Found = TypeVar("Found", bound=Decision | IntervalVerdict)


def proved_throughout(setting: Setting, found: Found) -> Found:
    """Return an answer with what the kernel says; Unknown where it does not follow."""
    if found.answer is Answer.UNKNOWN:
        return found
    said = verdicts.attempted(lambda: replayed_throughout(setting, goals_of(found)))
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
    if isinstance(found, Decision):
        on = Epsilons(found.epsilons.lower, found.epsilons.upper)
        eps_prv, delta = times_eps(found.budget), found.delta
    else:
        on, growth = Epsilons(found.lower, found.upper), found.claim.eps_prv
        try:
            eps_prv = _formula_json(growth, found.claim.delta)
            delta = read_delta(found.claim.delta_text)
        except (SourceError, UserError) as error:
            said = error.message.partition("\n")[0]
            raise NoCertificate(f"the kernel has no such claims: {said}") from None
    for low, high in delta.brackets():
        bound = low if found.answer is Answer.DP else high
        yield GoalThroughout(on, eps_prv, ratio_json(bound), broken)


def replayed_throughout(setting: Setting, goals: Iterable[GoalThroughout]) -> Replayed:
    """Replay proofs of goals until one holds."""
    failed: NotProved | NoCertificate = NoCertificate("there is nothing to try")
    for goal in goals:
        try:
            return verdicts.first_replayed(ways_throughout(setting, goal))
        except (NoCertificate, NotProved) as obstacle:
            failed = obstacle
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


_MOST_FACTORS = 64


def _formula_json(formula: Formula, delta: Formula) -> Json:
    """Write a formula in eps and delta; a `UserError` if one that says the same is not found."""
    with suppress(SourceError, UserError):
        if "delta" not in names_of(formula):
            return ratio_json(as_ratio(formula))
    match formula:
        case Number(value):
            return number_json(value)
        case Name(name):
            return ["eps"] if name == "eps" else _formula_json(delta, delta)
        case Negation(operand):
            return ["*", -1, _formula_json(operand, delta)]
        case FormulaCall(function, operand):
            return [function.value, _formula_json(operand, delta)]
        case Operation(left, Operator.POWER, Number(power)) if power in range(1, _MOST_FACTORS):
            return reduce(lambda x, y: ["*", x, y], [_formula_json(left, delta)] * int(power))
        case Operation(left, operator, right):
            one, other = (_formula_json(each, delta) for each in (left, right))
            match operator:
                case Operator.SUBTRACT:
                    return ["+", one, ["*", -1, other]]
                case Operator.DIVIDE:
                    return ["*", one, ["inverse", other]]
                case Operator.ADD | Operator.MULTIPLY:
                    return [operator.value, one, other]
    raise UserError("powers are written in other words")


def times_eps(multiple: Fraction) -> Json:
    """Write multiple * eps."""
    return ["eps"] if multiple == 1 else ["*", number_json(multiple), ["eps"]]


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
