"""Plans: every point counted once, depths of the paper, and how they are written."""

from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

from event_strategies import CONTINUOUS, contains, events, gauss, laplace, less, points, value
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits
from dipapprox.events.event import Event
from dipapprox.integrals import integral as plans
from dipapprox.integrals.integral import Add, Integral, Level, Multiply, Plan, nesting
from dipapprox.integrals.optimizer import build_integrals, plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, REFLECTED_EXPONENTIAL
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from tests.cases import check_answers, evaluated

Point = tuple[Fraction, ...]


def in_range(event: Event, level: Level, point: Point, has_body: bool) -> bool:
    """Whether the point's coordinate is within the level's bounds; checks what `Level` promises.

    All coordinates of outer levels must be within theirs.
    """
    law = event.samples[level.variable]
    assert level.law == law
    lower = None if level.lower is None else value(level.lower, point)
    upper = None if level.upper is None else value(level.upper, point)
    assert lower is None or upper is None or lower <= upper
    if law.family is not GAUSSIAN:
        if has_body:
            assert level.lower_side == level.upper_side
        if lower is None:
            assert level.lower_side == -1
        else:
            assert (lower - law.mean) * level.lower_side >= 0
        if upper is None:
            assert level.upper_side == 1
        else:
            assert (upper - law.mean) * level.upper_side >= 0
        if has_body:
            assert (lower if level.upper_side > 0 else upper) is not None
    x = point[level.variable]
    return (lower is None or lower <= x) and (upper is None or x <= upper)


def in_support(event: Event, point: Point) -> Point:
    """Reflect coordinates at means, so that every density is positive: plans need say no more."""
    sides = {EXPONENTIAL: 1, REFLECTED_EXPONENTIAL: -1}
    return tuple(
        law.mean + sides[law.family] * abs(x - law.mean) if law.family in sides else x
        for law, x in zip(event.samples, point, strict=True)
    )


def count(event: Event, found: Plan, point: Point) -> int:
    """The plan with every density replaced by a unit mass at the point's coordinate."""
    match found:
        case Integral(level, body):
            if not in_range(event, level, point, body is not None):
                return 0
            return 1 if body is None else count(event, body, point)
        case Multiply(factors):
            product = 1
            for factor in factors:
                product *= count(event, factor, point)
            return product
        case Add(terms):
            return sum(count(event, term, point) for term in terms)
        case _:
            assert_never(found)


@given(st.data(), events(most=4, families=CONTINUOUS), st.booleans())
def test_pieces_are_disjoint_and_cover_for_any_order(data, event, literal) -> None:
    order = data.draw(st.permutations(range(len(event.samples))))
    pieces = build_integrals(event, order, literal=literal)
    for piece in pieces:
        assert [level.variable for level in piece] == list(order)
    for _ in range(6):
        point = in_support(event, data.draw(points(len(event.samples))))
        inside = 0
        for piece in pieces:
            used = {s for level in piece for s in level.mentioned}
            inside += all(
                in_range(
                    event, lv, point, lv.variable in used or (literal and lv.variable != order[-1])
                )
                for lv in piece
            )
        assert inside == contains(event, point)


def star(
    size: int, make: Callable[[int, int], Distribution] = gauss, into_centre: bool = True
) -> Event:
    samples = (make(0, 2), *(make(k % 2, 4) for k in range(size)))
    return Event(
        samples, tuple(less(0, k) if into_centre else less(k, 0) for k in range(1, size + 1))
    )


def chain(size: int) -> Event:
    return Event((gauss(0),) * size, tuple(less(k, k + 1) for k in range(size - 1)))


CYCLE = Event((gauss(0),) * 4, tuple(less(a, b) for a in (0, 1) for b in (2, 3)))
RANGE = Event((gauss(0),) * 6, tuple(g for k in range(2, 6) for g in (less(0, k), less(k, 1))))
LINEAR = Event(
    (gauss(0),) * 3,
    (LinearForm.of({0: Fraction(2), 1: Fraction(-1, 2), 2: Fraction(-1)}, Fraction(1)),),
)


DENSE = Event(
    tuple(laplace(k) for k in range(8)), tuple(less(a, b) for a in range(4) for b in range(4, 8))
)
SURE = Event((gauss(0),), ())
NEVER = Event((gauss(0), gauss(0)), (less(0, 1), less(1, 0)))
LABELS = ("t", "r[1]", "r[2]")
EXAMPLE = Event((gauss(0, 4), gauss(0, 8), gauss(1, 8)), (less(1, 0), less(0, 2)))
"""DiPApprox Example 6: G = {r1 < rT, r2 >= rT}"""


MANY = st.sampled_from([EXAMPLE, CYCLE, RANGE, star(3), star(4, laplace), chain(5)])
"""Events whose plans have products."""


@given(st.data(), events(most=4, families=CONTINUOUS) | MANY, st.sampled_from(Strategy))
def test_plans_count_every_point_once(data, event, strategy) -> None:
    found = plan(event, strategy)
    for _ in range(8):
        point = in_support(event, data.draw(points(len(event.samples))))
        assert count(event, found, point) == contains(event, point)


def depths(event: Event) -> list[int]:
    """Of the least nesting, of the paper's order, of one literal nest."""
    return [nesting(plan(event, strategy)) for strategy in Strategy]


def planned(event: Event, **limits: int) -> Plan:
    with limited(Limits(**limits)):
        return plan(event, Strategy.NONE)


def test_depths_limits_and_words() -> None:
    """Algorithm 5 nests every leaf above a centre, as all of them are sources."""
    asked = {"plans": plans, "Multiply": Multiply, "Level": Level, "LINEAR": LINEAR}
    check_answers("plans", evaluated(globals() | asked, LimitReached))
