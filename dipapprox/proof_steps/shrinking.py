"""Claims about real inputs on an interval of eps, as proofs at the greatest eps of its parts.

Parts for which that fails are halved. The kernel decides whether a smaller eps is as good as
smaller inputs, and whether the claim of a part is as strong; here they are only looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import lower_at, precision
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.machine import read_weight
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.intervals.search import between
from dipapprox.privacy.intervals.ties import inputs_at_ties
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.proved import replayed
from dipapprox.proof_steps.verdicts import Goal, written
from dipapprox.semantics.real_inputs import execute_for_declared

_MOST_PARTS = 400

_BITS = 96


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
    with precision(2 * _BITS):
        return Fraction(lower_at(formula.ball(eps), _BITS), 1 << _BITS)


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
