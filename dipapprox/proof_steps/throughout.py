"""Claims about all eps of an interval, as proofs: which rules to use.

A run of the machine needs no hints, and signs need none.

Shrinking. Claims about real inputs on an interval of eps, as proofs at the greatest eps of its
parts.

Parts for which that fails are halved. The kernel decides whether a smaller eps is as good as
smaller inputs, and whether the claim of a part is as strong; here they are only looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import lower_at, precision, upper_at
from dipapprox.kernel.closed import needs_meaning
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.machine import Tree, read_machine, read_weight
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.intervals.nested_inputs import inputs_at_ties
from dipapprox.privacy.intervals.search import between
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json
from dipapprox.proof_steps.proved import replayed
from dipapprox.proof_steps.serving import served_step
from dipapprox.proof_steps.verdicts import (
    IN_CLOSED_FORM,
    MANY_PAIRS,
    Goal,
    WrittenProof,
    kept,
    listed,
    run_step,
    violation,
    written,
)
from dipapprox.semantics.real_inputs import execute_for_declared

_MOST_PARTS = 400

_PART_BITS = 96


def steps_by_shrinking(
    program: Program, claim: dict[str, Json], epsilons: Epsilons, limits: Limits
) -> list[Json]:
    """Return the steps to a claim about all pairs on an interval.

    Raises:
        NoCertificate: If none are found.
        LimitReached: If a limit is reached.
    """
    upper = epsilons.upper
    if upper is None or not epsilons.lower:
        raise NoCertificate("the interval has no two ends above 0")
    states = execute_for_declared(program, True, limits)
    point = inputs_at_ties(states, limits)
    if point is None:
        raise NoCertificate("without noise no inputs make all comparisons ties")
    signs = Signs(epsilons)
    formulas = [formula_of(read_weight(claim[name]), signs) for name in ("eps_prv", "delta")]
    steps: list[Json] = []
    single: list[Json] = []
    for part, rest in _parts(program, formulas, signs, (epsilons.lower, upper), limits):
        steps += [_moved(step, len(steps)) for step in rest]
        single.append(-len(steps))
        assert part.upper is not None
    last: dict[str, Json] = {
        "rule": "smaller eps",
        "from": list(single),
        "eps": claim["eps"],
        "eps_prv": claim["eps_prv"],
        "delta": claim["delta"],
        "point": [number_json(point[cell.name]) for cell in program.inputs],
    }
    return [*steps, last]


def _parts(
    program: Program,
    formulas: list[Ratio],
    signs: Signs,
    ends: tuple[Fraction, Fraction],
    limits: Limits,
) -> Iterator[tuple[Epsilons, tuple[Json, ...]]]:
    """Yield the parts of an interval, ascending, each with the proof at its greatest eps."""
    waiting, count = [ends], 0
    while waiting:
        low, high = waiting.pop()
        count += 1
        if count > _MOST_PARTS:
            raise NoCertificate(f"more than {_MOST_PARTS} parts of the interval are needed")
        part = Epsilons(low, high)
        values = [min(_below(formula, low), _below(formula, high)) for formula in formulas]
        slacks = [
            formula + Ratio.constant(-value)
            for formula, value in zip(formulas, values, strict=True)
        ]
        eps_prv, delta = max(values[0], Fraction(0)), values[1]
        try:
            if not all(signs.tell(each.numerator, positive=False, on=part) for each in slacks):
                raise NoCertificate("a part is too long")
            goal = Goal(Claim(high, delta, eps_prv), None, None, 1)
            found = replayed(program, goal, AllPairs(), limits)
        except (NotProved, NoCertificate):
            middle = between(low, high)
            waiting += [(middle, high), (low, middle)]
        else:
            yield part, written(program, goal, AllPairs(), found.bits).steps


def _below(formula: Ratio, eps: Fraction) -> Fraction:
    """A number that is hardly below the value of a formula."""
    with precision(2 * _PART_BITS):
        return Fraction(lower_at(formula.ball(eps), _PART_BITS), 1 << _PART_BITS)


def _moved(step: Json, places: int) -> Json:
    """A step whose premises stand some places later."""
    assert isinstance(step, dict)
    premises = step["from"]
    assert isinstance(premises, list)
    moved: list[Json] = []
    for number in premises:
        assert isinstance(number, int)
        moved.append(number - places if number < 0 else number + places)
    return {**step, "from": moved}


_BITS = (40, 80, 160, 320)
"""Of the distributions that show a violation without closed forms."""

_PLACES = (32, 64, 128, 256, 512)
"""Of delta at the eps of a violation, rounded up, where it is no rational number."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a claim is violated: the pair, and the set of outputs."""

    eps: Fraction
    input: Input
    adjacent: Input
    outputs: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class GoalThroughout:
    """What the kernel shall confirm.

    Attributes:
        epsilons: All that are meant.
        eps_prv: As a weight of machines.
        delta: A weight: for DP at most what is claimed, for Not_DP at least.
        broken: Where it is violated; None if it holds.
    """

    epsilons: Epsilons
    eps_prv: Json
    delta: Json
    broken: Broken | None


def written_throughout(
    program: Program, goal: GoalThroughout, selection: PairSelection, limits: Limits
) -> Iterator[WrittenProof]:
    """Yield proofs; the first that the kernel confirms will do.

    Raises:
        NoCertificate: If the kernel has no rules for it.
        LimitReached: If a limit is reached.
    """
    machine = machine_json(program)
    if program.real_outputs and goal.broken is not None:
        raise NoCertificate("outputs are real numbers")
    pairs, inputs = listed(selection)
    stated = {"eps_prv": goal.eps_prv, "delta": goal.delta}
    claim: dict[str, Json] = {
        "verdict": "DP" if goal.broken is None else "Not_DP",
        "eps": _epsilons_json(goal.epsilons),
        **stated,
        "pairs": pairs,
    }
    if goal.broken is None:
        many = (count_selected(program, selection) or 0) > MANY_PAIRS
        ways: list[Callable[[], Sequence[Json] | None]] = [
            lambda: kept(program, machine, claim, inputs, IN_CLOSED_FORM)
        ]
        served = 0 if many or program.real_outputs else 1
        ways.insert(served, lambda: _served(machine, claim, goal.epsilons))
        if pairs is None and has_real_inputs(program):
            ways.append(lambda: steps_by_shrinking(program, claim, goal.epsilons, limits))
        yield from _first_written(machine, claim, ways)
        return
    before: list[Json] = []
    if needs_meaning(read_machine(machine).body):
        before = [run_step(claim, inputs, IN_CLOSED_FORM)]
    premises: list[Json] = [-2, -3] if before else [-2]
    last: Json = {"rule": "violated somewhere", "from": premises, "eps": claim["eps"], **stated}
    for steps in _violations(goal.broken, stated):
        yield WrittenProof(machine, claim, (*steps, *before, last))


def _first_written(
    machine: Json, claim: dict[str, Json], ways: Iterable[Callable[[], Sequence[Json] | None]]
) -> Iterator[WrittenProof]:
    """Yield the proofs that can be written, in turn; if there are none, say why.

    Raises:
        NoCertificate: What the last way says.
    """
    missing: Exception = NoCertificate("there is nothing to try")
    is_written = False
    for way in ways:
        try:
            steps = way()
        except (NoCertificate, NotProved) as none:
            missing = none
        else:
            if steps is not None:
                is_written = True
                yield WrittenProof(machine, claim, tuple(steps))
    if not is_written:
        raise missing


def _served(
    machine: Json, claim: dict[str, Json], epsilons: Epsilons
) -> list[dict[str, Json]] | None:
    """Steps to a claim that a budget keeps, if one is found: a multiple of eps, or a constant."""
    signs = Signs(epsilons)
    try:
        eps_prv, delta = (formula_of(read_weight(claim[k]), signs) for k in ("eps_prv", "delta"))
        match eps_prv.numerator.terms, eps_prv.denominator:
            case (((0, 1), most),), ():
                budget = Fraction(most)
            case (((0, 0), most),), () if epsilons.upper is not None:
                budget = Fraction(most) / epsilons.upper
            case _:
                return None
        if not signs.tell(delta.numerator, positive=False):
            return None
        step = served_step(machine, budget)
    except (NoCertificate, NotProved):
        return None
    return [{**step, **{name: claim[name] for name in ("eps", "eps_prv", "delta")}}]


def _epsilons_json(on: Epsilons) -> Json:
    upper = None if on.upper is None else number_json(on.upper)
    return {"from": number_json(on.lower), "to": upper}


def _violations(broken: Broken, stated: dict[str, Json]) -> Iterator[list[Json]]:
    pair = input_json(broken.input), input_json(broken.adjacent)
    outputs = [input_json(each) for each in broken.outputs]
    (eps_prv, *_), deltas = (_bounds(read_weight(each), broken.eps) for each in stated.values())
    for delta in deltas:
        numbers = {"eps": broken.eps, "eps_prv": eps_prv, "delta": delta}
        said = {name: number_json(each) for name, each in numbers.items()}
        for bits in (IN_CLOSED_FORM, *_BITS):
            yield violation(said, pair, outputs, bits)


def _bounds(formula: Tree, eps: Fraction) -> list[Fraction]:
    """Return the value of a formula at one eps if it is rational, else numbers just above it."""
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
