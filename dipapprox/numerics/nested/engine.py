"""The method `nested`, the reference: events in, enclosures by nested ball quadrature out.

    event -> plan (DiPApprox section 6) -> truncated tree -> ball -> [lower, upper + tails]
                                               ^                              |
                                               |                     narrow enough? yes -> done
                                               +-- more bits, finer tolerance -+ no, three times

It handles any linear guards, is the oracle of the other engines and the baseline of speed.

Hoisting. Plans in the shape the quadrature wants, exactly. In: a `Plan` (DiPApprox section 6, after
Algorithm 5) over the samples of an event. Out: a plan in which a variable is named by the number of
integral signs around its own, so that factors that differ in the names of their variables only are
equal, and

    ∫ f(x) A B(x) dx               becomes  A ∫ f(x) B(x) dx          where A does not mention x
    ∫ f(x) dx                      becomes  a mass: a difference of distribution functions.

Truncation, exact, too. In: such a plan. Out: the same with cut-offs for infinite ends, a bound of
what they cost, and where to begin new panels. A *nest*, an integral with something inside, needs
finite ends. Write V for a plan's value and V' for its value after replacing the infinite ends of
some of its nests by cut-offs.

Claim: V' <= V <= V' + Σ over the cut ends of the mass the law has beyond the cut-off.

Proof. On its domain a sub-plan is the conditional probability, given the outer variables, that the
inner ones lie in one of several disjoint ranges: a number in [0, 1]. Cutting one end of one nest at
c takes ∫ beyond c of f·body away, which lies in [0, tail mass] because 0 <= body <= 1 - provided
that c lies beyond the nest's other end for all values of the outer variables, as otherwise the
range would be inverted. That body is in [0, 1] needs lower <= upper wherever the outer variables
lie, also after hoisting, which takes ranges away from around a nest. It holds: the constraint
lower <= upper mentions only variables that the nest's bounds mention. The builder put it on them,
or left it out as implied by the other constraints; eliminating a variable that is jumped over
projects the constraints onto the rest, and what they implied about the rest the projection still
implies. What stands around the nest multiplies by probabilities and adds over
disjoint ranges, so it passes the error on with a factor in [0, 1]. One end at a time gives the sum.

Hence each cut-off is moved out beyond the range of the nest's other end, which is affine, over the
box of the outer variables: exact interval arithmetic from the outermost variable inwards. The
inner domains only shrink, so lower <= upper stays true wherever the plan guaranteed it.

References:
    DiPApprox, section 6: Lemma 1 (tails), Lemma 2 (normal form), Theorem 5 (Algorithm 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil
from typing import assert_never

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, better, enclosing, sure
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.data_classes import replace
from dipapprox.events.event import Connected, spelled_out
from dipapprox.integrals.integral import Add, Integral, Level, Multiply, Plan, parts
from dipapprox.integrals.optimizer import elimination_depth, plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import cutoff_interval
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.methods import EventByEvent, as_continuous
from dipapprox.numerics.nested.evaluation import Effort, make_evaluator


def hoisted(plan: Plan, *, literal: bool = False) -> Plan:
    """Rename and hoist; see the module's rules. If `literal`, nothing is hoisted."""
    return _hoisted(plan, {}, 0, literal)


def _hoisted(plan: Plan, depths: Mapping[int, int], depth: int, literal: bool) -> Plan:
    match plan:
        case Multiply(factors):
            own = [_hoisted(each, depths, depth, literal) for each in factors]
            return _product([factor for each in own for factor in _factors(each)])
        case Add(terms):
            own = [_hoisted(each, depths, depth, literal) for each in terms]
            return Add(tuple(t for e in own for t in (e.terms if isinstance(e, Add) else (e,))))
        case Integral(level, body):
            lower, upper = (
                None if end is None else end.renamed(lambda symbol: depths[int(symbol)])
                for end in (level.lower, level.upper)
            )
            mass = replace(level, variable=_NAMELESS, lower=lower, upper=upper)
            if body is None:
                return Integral(mass, None)
            nest = replace(mass, variable=depth)
            inner = _hoisted(body, {**depths, level.variable: depth}, depth + 1, literal)
            if literal:
                return Integral(nest, inner)
            inside = [factor for factor in _factors(inner) if depth in variables(factor)]
            outside = [factor for factor in _factors(inner) if depth not in variables(factor)]
            core = Integral(nest, _product(inside)) if inside else Integral(mass, None)
            return _product([core, *outside])
        case _:
            assert_never(plan)


def _factors(plan: Plan) -> tuple[Plan, ...]:
    return plan.factors if isinstance(plan, Multiply) else (plan,)


def _product(factors: Sequence[Plan]) -> Plan:
    return factors[0] if len(factors) == 1 else Multiply(tuple(factors))


_NAMELESS = -1  # the variable of a mass


def variables(plan: Plan) -> frozenset[int]:
    """The depths of the free variables."""
    found = frozenset(chain.from_iterable(map(variables, parts(plan))))
    if not isinstance(plan, Integral):
        return found
    return found - {plan.level.variable} | plan.level.mentioned


Interval = tuple[Fraction, Fraction]


def walk(plan: Plan) -> Iterator[Plan]:
    """Yield a plan and all inside, as often as it is there."""
    yield plan
    for each in parts(plan):
        yield from walk(each)


def open_ends(plan: Plan) -> int:
    """Count the infinite ends of nests: the cut-offs that are needed."""
    return sum(2 - len(each.level.ends()) for each in ranges(plan) if each.body is not None)


def ranges(plan: Plan) -> list[Integral]:
    """Return the nests and masses inside: a range of a variable each."""
    return [each for each in walk(plan) if isinstance(each, Integral)]


def resolution(levels: Iterable[Level]) -> Fraction:
    """The length on which something changes: the least scale, seen from any outer variable."""
    found = []
    for level in levels:
        steepest = [abs(c) for end in level.ends() for _, c in end.terms]
        found.append(level.law.scale / max([Fraction(1), *steepest]))
    return min(found, default=Fraction(1))


def truncate(plan: Plan, bits: int, boxes: tuple[Interval, ...] = ()) -> Plan:
    """Replace the infinite ends of nests by cut-offs with tails of at most 2**-bits each.

    The value then drops by at most open_ends(plan) * 2**-bits, by the module's claim. Breaks are
    put round the places where something is much narrower than the range of the variable. The plan
    is over variables 0 … len(boxes) - 1, whose exact ranges are the boxes.
    """
    match plan:
        case Multiply(inside) | Add(inside):
            cut = {each: truncate(each, bits, boxes) for each in set(inside)}
            return type(plan)(tuple([cut[each] for each in inside]))
        case Integral(_, None):
            return plan
        case Integral(level, body):
            assert body is not None
            level, box = _cut(level, bits, boxes)
            # A hoisted nest can be less deep than its name: the boxes between are never asked for.
            padded = boxes + ((Fraction(0), Fraction(0)),) * (level.variable - len(boxes))
            nest = Integral(level, truncate(body, bits, (*padded[: level.variable], box)))
            return replace(nest, breaks=_breaks(nest, box))
        case _:
            assert_never(plan)


def _cut(level: Level, bits: int, boxes: tuple[Interval, ...]) -> tuple[Level, Interval]:
    """Make both ends finite and return the exact hull of the range."""
    low, high = cutoff_interval(level.law, bits)
    lower = None if level.lower is None else level.lower.extent(lambda k: boxes[int(k)])
    upper = None if level.upper is None else level.upper.extent(lambda k: boxes[int(k)])
    if lower is None:
        end = low if upper is None else min(low, upper[0])
        level = replace(level, lower=LinearForm.constant_form(end))
        lower = (end, end)
    if upper is None:
        end = max(high, lower[1])
        level = replace(level, upper=LinearForm.constant_form(end))
        upper = (end, end)
    return level, (min(lower[0], upper[0]), max(lower[1], upper[1]))


_NARROW = 64  # a place needs breaks if the range is this many times wider than what happens there
_REACH = 8  # breaks are put this many scales to either side of a place


def _breaks(nest: Integral, box: Interval) -> tuple[Fraction, ...]:
    points = {
        point
        for place, scale in _places(nest)
        if scale * _NARROW < box[1] - box[0]
        for point in (place - _REACH * scale, place + _REACH * scale)
        if box[0] < point < box[1]
    }
    return tuple(sorted(points))


def _places(nest: Integral) -> set[tuple[Fraction, Fraction]]:
    """Where, as a function of the nest's variable, and on which length the integrand changes."""
    law, variable = nest.level.law, nest.level.variable
    found = {(law.mean, law.scale)}
    for each in () if nest.body is None else set(ranges(nest.body)):
        for end in each.level.ends():
            if end.samples() != (variable,):
                continue
            slope = end.coefficient(variable)
            found |= {((p - end.constant) / slope, s / abs(slope)) for p, s in _places(each)}
    return found


class Nested(EventByEvent):
    """The method `nested`: events that need about more evaluations than `most` are refused."""

    name = "nested"

    def __init__(self, strategy: Strategy, most: int | None = None) -> None:
        self.strategy = strategy
        self._most = most

    @enclosing
    def one(self, event: Connected, bits: int) -> Enclosure:
        continuous = as_continuous(event)
        if isinstance(continuous, NotEnclosed):
            return sure(continuous)
        plain = spelled_out(continuous)
        if self._most is not None:
            # Known before pieces are looked for; these may be many, too.
            least: int = _per_integral(bits) ** max(elimination_depth(plain) - 1, 0)
            if least > self._most:
                self._refuse(least)
        found = plan(plain, self.strategy)
        if self._most is not None and evaluations(found, bits) > self._most:
            self._refuse(evaluations(found, bits))
        literal = self.strategy is Strategy.NONE
        return sure(enclose_plan(found, bits, literal=literal))

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


def enclose_plan(plan: Plan, bits: int, *, literal: bool = False) -> Enclosure | NotEnclosed:
    """Enclose the value of a plan, a probability, to 2**-bits if possible.

    Args:
        plan: Its nested integrals must keep their promise lower <= upper.
        literal: Evaluate the integrals exactly as they are nested: the published tool's shape.
    """
    tree = hoisted(plan, literal=literal)
    best: Enclosure | NotEnclosed = NotEnclosed("the quadrature found no finite value")
    for attempt in range(_ATTEMPTS):
        check_limits()
        best = better(best, _attempt(tree, bits, attempt), "nested")
        if isinstance(best, Enclosure) and best.width <= Fraction(1, 2**bits):
            break
    return best


@enclosing
def _attempt(tree: Plan, bits: int, attempt: int) -> Enclosure:
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
            check_limits()
            give_way()

        most = _OUTER_EVALUATIONS << attempt, _INNER_EVALUATIONS << attempt
        effort = Effort(bits + guard, to_ball(finest / 2**10).mid(), *most, check)
        start = [arb(0)] * (max([each.variable for each in levels], default=0) + 1)
        found = sure(to_enclosure(make_evaluator(truncated, effort).value(start)))
    # As the module proves: truncated value <= probability <= truncated value + tails.
    whole = Enclosure(found.lower, found.upper + Fraction(count, 2**tail_bits))
    return whole.intersect(UNIT, "nested")
