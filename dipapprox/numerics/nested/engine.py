"""The method `nested`, the reference: events in, enclosures by nested ball quadrature out.

    event -> plan (DiPApprox section 6) -> truncated tree -> ball -> [lower, upper + tails]
                                               ^                              |
                                               |                     narrow enough? yes -> done
                                               +-- more bits, finer tolerance -+ no, three times

It handles any linear guards, is the oracle of the other engines and the baseline of speed.

References:
    DiPApprox, section 6: Lemma 1 (tails), Lemma 2 (normal form), Theorem 5 (Algorithm 5).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, better, enclosing, sure
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.events.event import Connected, spelled_out
from dipapprox.integrals.integral import Integral, Plan, Strategy, parts
from dipapprox.integrals.optimizer import elimination_depth, plan
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import as_continuous
from dipapprox.numerics.methods import EventByEvent
from dipapprox.numerics.nested.evaluation import Effort, make_evaluator
from dipapprox.numerics.nested.nest import hoisted, open_ends, ranges, resolution, truncate, walk


class Nested(EventByEvent):
    """The method `nested`: events that need about more evaluations than `most` are refused."""

    name = "nested"

    def __init__(self, strategy: Strategy, most: int | None = None) -> None:
        self.strategy = strategy
        self._most = most

    @enclosing
    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure:
        continuous = as_continuous(event)
        if isinstance(continuous, NotEnclosed):
            return sure(continuous)
        plain = spelled_out(continuous)
        if self._most is not None:
            # Known before pieces are looked for; these may be many, too.
            least: int = _per_integral(bits) ** max(elimination_depth(plain) - 1, 0)
            if least > self._most:
                self._refuse(least)
        found = plan(plain, self.strategy, limits)
        if self._most is not None and evaluations(found, bits) > self._most:
            self._refuse(evaluations(found, bits))
        literal = self.strategy is Strategy.NONE
        return sure(enclose_plan(found, bits, limits, literal=literal))

    def _refuse(self, work: int) -> None:
        about = f"about 10^{len(str(work)) - 1} evaluations of integrands"
        sure(NotEnclosed(f"{about}, more than {self._most}"))


def _per_integral(bits: int) -> int:
    """Guess how many evaluations an integral around another takes: about 60 at 20 bits."""
    return 20 + 2 * bits


def evaluations(plan: Plan, bits: int) -> int:
    if isinstance(plan, Integral) and plan.body is None:
        return 1
    inside = sum(evaluations(part, bits) for part in parts(plan))
    return _per_integral(bits) * inside if isinstance(plan, Integral) else inside


_ATTEMPTS = 3
_OUTER_EVALUATIONS = 60_000
_INNER_EVALUATIONS = 6_000


def enclose_plan(
    plan: Plan, bits: int, limits: Limits, *, literal: bool = False
) -> Enclosure | NotEnclosed:
    """Enclose the value of a plan, a probability, to 2**-bits if possible.

    Args:
        plan: Its nested integrals must keep their promise lower <= upper.
        literal: Evaluate the integrals exactly as they are nested: the published tool's shape.
    """
    tree = hoisted(plan, literal=literal)
    best: Enclosure | NotEnclosed = NotEnclosed("the quadrature found no finite value")
    for attempt in range(_ATTEMPTS):
        limits.check()
        best = better(best, _attempt(tree, bits, attempt, limits), "nested")
        if isinstance(best, Enclosure) and best.width <= Fraction(1, 2**bits):
            break
    return best


@enclosing
def _attempt(tree: Plan, bits: int, attempt: int, limits: Limits) -> Enclosure:
    """One evaluation; each attempt works with more bits and a finer tolerance than the last."""
    count = open_ends(tree)
    tail_bits = bits + 2 + count.bit_length()
    truncated = truncate(tree, tail_bits)
    # Errors of equal factors and of terms add up; a node's position is known relative to the
    # size of the range only, but it matters relative to the narrowest scale.
    guard = len(list(walk(tree))).bit_length() + 8 + 16 * attempt
    levels = {each.level for each in ranges(truncated)}
    finest = resolution(levels)
    sizes = [
        max(abs(each.law.mean), each.law.scale, *(abs(end.constant) for end in each.ends()))
        for each in levels
    ]
    dynamics = ceil(max(sizes, default=Fraction(1)) / finest).bit_length()
    with precision(bits + guard + dynamics + 16):

        def check() -> None:
            limits.check()
            give_way()

        most = _OUTER_EVALUATIONS << attempt, _INNER_EVALUATIONS << attempt
        effort = Effort(bits + guard, to_ball(finest / 2**10).mid(), *most, check)
        start = [arb(0)] * (max([each.variable for each in levels], default=0) + 1)
        found = sure(to_enclosure(make_evaluator(truncated, effort).value(start)))
    # The module `nest` proves: truncated value <= probability <= truncated value + tails.
    whole = Enclosure(found.lower, found.upper + Fraction(count, 2**tail_bits))
    return whole.intersect(UNIT, "nested")
