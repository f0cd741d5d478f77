"""Claims about all eps of an interval, as proofs: closed forms and the signs that they need.

The kernel's own rules are run with a `Finder` in place of what premises say of signs; what it finds
stands before the steps that ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.exact.signs.zero import in_order
from dipapprox.kernel.balls import precision, upper_at
from dipapprox.kernel.claims import read_claim
from dipapprox.kernel.closed import Sums, closed_forms, growth_of, needs_meaning
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.judgements import ExactDistributions
from dipapprox.kernel.machine import Tree, read_machine, read_weight
from dipapprox.kernel.proofs import Proof, pairs_of
from dipapprox.kernel.signs import Epsilons, Sign, Signs
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.selections import OrderedPairs, PairSelection
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.proof_steps.sets import has_real_inputs, single_pairs
from dipapprox.proof_steps.shrinking import steps_by_shrinking
from dipapprox.proof_steps.signs import Finder, epsilons_json
from dipapprox.proof_steps.verdicts import MANY_PAIRS, WrittenProof

_MOST_CUTS = 400
"""Of an interval, where excesses change their signs."""

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
    pairs: Json = None
    inputs: Json = None
    if isinstance(selection, OrderedPairs):
        listed = dict.fromkeys(selection.pairs)
        pairs = [[input_json(u), input_json(v)] for u, v in listed]
        inputs = [input_json(each) for each in dict.fromkeys(u for pair in listed for u in pair)]
    stated = {"eps_prv": goal.eps_prv, "delta": goal.delta}
    claim: dict[str, Json] = {
        "verdict": "DP" if goal.broken is None else "Not_DP",
        "eps": epsilons_json(goal.epsilons),
        **stated,
        "pairs": pairs,
    }
    if goal.broken is None:
        many = (count_selected(program, selection) or 0) > MANY_PAIRS
        ways = [
            lambda: _served(machine, claim, goal.epsilons, limits),
            lambda: _kept(machine, claim, inputs, goal.epsilons, limits),
        ][:: 1 if many or program.real_outputs else -1]
        if pairs is None and has_real_inputs(read_machine(machine)):
            ways.append(lambda: steps_by_shrinking(program, claim, goal.epsilons, limits))
        yield from _first_written(machine, claim, ways)
        return
    before, premises = _meaning(machine, claim, inputs, goal.epsilons, limits)
    place = len(before)
    for run, violation in _violations(goal.broken, stated):
        violation["from"] = [-place - 1]
        somewhere: dict[str, Json] = {
            "rule": "violated somewhere",
            "from": [-place - 2, *premises],
            "eps": claim["eps"],
            **stated,
        }
        yield WrittenProof(machine, claim, (*before, run, violation, somewhere))


def _first_written(
    machine: Json, claim: dict[str, Json], ways: Iterable[Callable[[], list[Json] | None]]
) -> Iterator[WrittenProof]:
    """Yield the proofs that can be written, in turn; if there are none, say why.

    Raises:
        NoCertificate: What the last way says.
    """
    missing = NoCertificate("there is nothing to try")
    is_written = False
    for way in ways:
        try:
            steps = way()
        except NoCertificate as none:
            missing = none
        else:
            if steps is not None:
                is_written = True
                yield WrittenProof(machine, claim, tuple(steps))
    if not is_written:
        raise missing


def _served(
    machine: Json, claim: dict[str, Json], epsilons: Epsilons, limits: Limits
) -> list[Json] | None:
    """Steps to a claim that a budget keeps, if one is found: a multiple of eps, or a constant."""
    finder = Finder(epsilons, limits)
    try:
        eps_prv, delta = (formula_of(read_weight(claim[k]), finder) for k in ("eps_prv", "delta"))
        match eps_prv.numerator.terms, eps_prv.denominator:
            case (((0, 1), most),), ():
                budget = Fraction(most)
            case (((0, 0), most),), () if epsilons.upper is not None:
                budget = Fraction(most) / epsilons.upper
            case _:
                return None
        spare = eps_prv + Ratio(Sum.of([((Fraction(0), 1), -budget)]))
        if not all(finder.tell(each.numerator, positive=False) for each in (spare, delta)):
            return None
        step = served_step(machine, budget)
    except (NoCertificate, NotProved):
        return None
    stated = {name: claim[name] for name in ("eps", "eps_prv", "delta")}
    signs: list[Json] = [-number - 1 for number in range(len(finder.used))]
    return [*finder.used.values(), {**step, **stated, "from": signs}]


def _kept(
    machine: Json, claim: dict[str, Json], inputs: Json, epsilons: Epsilons, limits: Limits
) -> list[Json]:
    read = read_machine(machine)
    pairs = read_claim(claim, read)[1].pairs
    single: list[Json] = []
    if pairs is None and has_real_inputs(read):
        reduced = single_pairs(machine)
        if reduced is None:
            raise NoCertificate("a set of pairs of real inputs is bounded by none of them")
        single, pairs, inputs = [reduced.step], reduced.pairs, reduced.inputs
    proof = Proof(read, pairs)
    run: dict[str, Json] = {
        "rule": "exact distributions",
        "eps": claim["eps"],
        "inputs": inputs,
        "cuts": [],
    }
    first, second = Finder(epsilons, limits), Finder(epsilons, limits)
    try:
        found = closed_forms(proof, first, run)
        growth = growth_of(read_weight(claim["eps_prv"]), second)
        bound = formula_of(read_weight(claim["delta"]), second)
        cuts = _cuts(proof, found, second, growth)
        sums = Sums(found, second, (growth, bound), cuts)
        if not all(sums.hold(*pair) for pair in pairs_of(proof)):
            raise NoCertificate("no signs are found that bound delta")
    except NotProved as obstacle:
        raise NoCertificate(str(obstacle)) from None
    numbers: dict[Sign, int] = {}
    steps: list[Json] = []
    for finder in (first, second):
        for sign, step in finder.used.items():
            if numbers.setdefault(sign, len(steps)) == len(steps):
                steps.append(step)
    place = len(steps)
    # What is not asked for again is forgotten.
    before: list[Json] = [-n - 1 if s not in second.used else n for s, n in _of(first, numbers)]
    after: list[Json] = [-place - 1, *(-n - 1 for _, n in _of(second, numbers))]
    last: dict[str, Json] = {
        "rule": "every pair throughout",
        "from": [*after, *(-place - 2 for _ in single)],
        "eps_prv": claim["eps_prv"],
        "delta": claim["delta"],
        "cuts": [number_json(cut) for cut in cuts],
    }
    return [*steps, {**run, "from": before}, *single, last]


def _meaning(
    machine: Json, claim: dict[str, Json], inputs: Json, epsilons: Epsilons, limits: Limits
) -> tuple[list[Json], list[Json]]:
    """Write why the claim has a meaning on all of its interval, and which steps say so."""
    read = read_machine(machine)
    proof = read_claim(claim, read)[1]
    first, second = Finder(epsilons, limits), Finder(epsilons, limits)
    run: dict[str, Json] = {
        "rule": "exact distributions",
        "eps": claim["eps"],
        "inputs": inputs,
        "cuts": [],
    }
    try:
        if needs_meaning(read.body):
            closed_forms(proof, first, run)
        for name in ("eps_prv", "delta"):
            formula = formula_of(read_weight(claim[name]), second)
            second.tell(formula.numerator, positive=False)
    except NotProved as obstacle:
        raise NoCertificate(str(obstacle)) from None
    steps: list[Json] = [*first.used.values()]
    premises: list[Json] = []
    if needs_meaning(read.body):
        premises.append(-len(steps) - 1)
        steps.append({**run, "from": [-number - 1 for number in range(len(steps))]})
    premises += [-len(steps) - 1 - number for number in range(len(second.used))]
    return [*steps, *second.used.values()], premises


def _of(finder: Finder, numbers: dict[Sign, int]) -> list[tuple[Sign, int]]:
    return [(sign, numbers[sign]) for sign in finder.used]


def _cuts(proof: Proof, found: ExactDistributions, signs: Finder, growth: Ratio) -> list[Fraction]:
    """Return where excesses change their signs: at rational numbers, or on both sides of it."""
    turning: dict[Sum, None] = {}
    seen: set[tuple[int, int]] = set()
    for first, second in pairs_of(proof):
        for pair in zip(found.values[first], found.values[second], strict=True):
            if pair not in seen:
                seen.add(pair)
                p, q = (found.forms[k] for k in pair)
                excess = (p + (growth * q).scaled(-1)).numerator
                both = excess.scaled(Fraction(-1)), excess
                if not any(signs.tell(each, positive=False) for each in both):
                    turning[excess.parts()[1]] = None
    places = [(function, zero) for function in turning for zero in signs.zeros(function)]
    ordered = in_order([zero for _, zero in places], signs.limits)
    if len(ordered) > _MOST_CUTS:
        raise NoCertificate("excesses change their signs in too many places")
    on = signs.epsilons
    for function in turning:
        own = [p for p in ordered if any(places[k][0] == function for k in p.members)]
        lower = (on.lower, *(place.upper for place in own))
        upper = (*(place.lower for place in own), on.upper)
        ends = zip(lower, upper, strict=True)
        signs.prefer(function, [Epsilons(a, b) for a, b in ends if b is None or a < b])
    cuts = {end for place in ordered for end in (place.lower, place.upper)}
    return sorted(c for c in cuts if on.lower < c and (on.upper is None or c < on.upper))


def _violations(
    broken: Broken, stated: dict[str, Json]
) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
    eps, pair = broken.eps, [input_json(broken.input), input_json(broken.adjacent)]
    (eps_prv, *_), deltas = (_bounds(read_weight(each), eps) for each in stated.values())
    for delta in deltas:
        step: dict[str, Json] = {
            "eps_prv": number_json(eps_prv),
            "delta": number_json(delta),
            "input": pair[0],
            "adjacent": pair[1],
            "outputs": [input_json(each) for each in broken.outputs],
        }
        run: dict[str, Json] = {
            "from": [],
            "eps": number_json(eps),
            "inputs": list(pair),
            "cuts": [],
        }
        yield {**run, "rule": "exact distributions"}, {**step, "rule": "exact violation"}
        for bits in _BITS:
            yield {**run, "rule": "distributions", "bits": bits}, {**step, "rule": "violation"}


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
