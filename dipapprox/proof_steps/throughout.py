"""Claims about all eps of an interval, as proofs: which rules to use.

A run of the machine needs no hints, and signs need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import precision, upper_at
from dipapprox.kernel.closed import needs_meaning
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.machine import Tree, read_machine, read_weight
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.selections import OrderedPairs, PairSelection
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.proof_steps.sets import has_real_inputs, single_pairs
from dipapprox.proof_steps.shrinking import steps_by_shrinking
from dipapprox.proof_steps.verdicts import MANY_PAIRS, WrittenProof

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
        "eps": _epsilons_json(goal.epsilons),
        **stated,
        "pairs": pairs,
    }
    if goal.broken is None:
        many = (count_selected(program, selection) or 0) > MANY_PAIRS
        ways: list[Callable[[], Sequence[Json] | None]] = [lambda: _kept(machine, claim, inputs)]
        served = 0 if many or program.real_outputs else 1
        ways.insert(served, lambda: _served(machine, claim, goal.epsilons))
        if pairs is None and has_real_inputs(read_machine(machine)):
            ways.append(lambda: steps_by_shrinking(program, claim, goal.epsilons, limits))
        yield from _first_written(machine, claim, ways)
        return
    before = [_run(claim["eps"], inputs)] if needs_meaning(read_machine(machine).body) else []
    place = len(before)
    for run, violation in _violations(goal.broken, stated):
        violation["from"] = [-place - 1]
        somewhere: dict[str, Json] = {
            "rule": "violated somewhere",
            "from": [-3, -1] if before else [-2],
            "eps": claim["eps"],
            **stated,
        }
        yield WrittenProof(machine, claim, (*before, run, violation, somewhere))


def _first_written(
    machine: Json, claim: dict[str, Json], ways: Iterable[Callable[[], Sequence[Json] | None]]
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


def _kept(machine: Json, claim: dict[str, Json], inputs: Json) -> list[dict[str, Json]]:
    """Steps to a claim by closed forms."""
    read = read_machine(machine)
    single: list[dict[str, Json]] = []
    if claim["pairs"] is None and has_real_inputs(read):
        reduced = single_pairs(machine)
        if reduced is None:
            raise NoCertificate("a set of pairs of real inputs is bounded by none of them")
        single, inputs = [reduced.step], reduced.inputs
    last: dict[str, Json] = {
        "rule": "every exact pair",
        "from": [-1, -2] if single else [-1],
        "eps_prv": claim["eps_prv"],
        "delta": claim["delta"],
    }
    return [_run(claim["eps"], inputs), *single, last]


def _run(eps: Json, inputs: Json) -> dict[str, Json]:
    return {"rule": "exact distributions", "from": [], "eps": eps, "inputs": inputs, "cuts": []}


def _epsilons_json(on: Epsilons) -> Json:
    upper = None if on.upper is None else number_json(on.upper)
    return {"from": number_json(on.lower), "to": upper}


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
