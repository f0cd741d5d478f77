"""Choices, loops and integer noise in the checker, against counts, sums and the exact layer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking.chances import Chance
from dipapprox.checking.conditions import compared_integers
from dipapprox.checking.distributions import Distributions, NoBounds
from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import is_nothing, require_distribution
from dipapprox.distributions import Distribution, Family
from dipapprox.language.core import (
    Constant,
    Epsilon,
    Exponential,
    Inverse,
    Relation,
    Value,
    WeightProduct,
    WeightSum,
)
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.replays.result import Outcome
from tests.checking.certified import replaced, signed
from tests.checking.test_distributions import probability

LIMITS = Limits()
Q = Fraction
ONE, HALF = Q(1), Q(1, 2)


def derived(text: str, eps: Fraction, input: Sequence[Value]) -> dict[Value, Enclosure]:
    """The checker's distribution of the only output cell."""
    bounds = Distributions(dipapprox.parse(text), eps, LIMITS).at(60)
    found = bounds.for_input(tuple(input))
    unit = 1 << bounds.unit
    assert sum(a for a, _ in found.values()) <= unit <= sum(b for _, b in found.values())
    return {o[0]: Enclosure(Q(a, unit), Q(b, unit)) for o, (a, b) in found.items()}


def assert_near(found: Enclosure, reference: float) -> None:
    assert found.width < Q(1, 2**50)
    assert abs(float(found.lower) - reference) < 1e-13


RESPONSE = """
input q in {0, 1}
output out in 0..2
adjacent all
b <- choose {q : exp(eps) / (1 + exp(eps)), 1 - q : 1 / (1 + exp(eps))}
c <- choose {0 : 1/3, 1 : 2/3}
out <- b + c
"""


def test_randomised_response_and_a_coin() -> None:
    eps = Q(3, 4)
    found = derived(RESPONSE, eps, [ONE])
    truth = 1 / (1 + math.exp(-eps))
    assert_near(found[Q(0)], (1 - truth) / 3)
    assert_near(found[ONE], truth / 3 + (1 - truth) * 2 / 3)
    assert_near(found[Q(2)], truth * 2 / 3)


MECHANISM = """
input score[3] in {0, 1, 2}
output out in 1..3
adjacent all
out <- Exp(1/2 * eps, score)
"""


def test_the_exponential_mechanism() -> None:
    scores = [Q(2), Q(0), ONE]
    found = derived(MECHANISM, Q(3, 2), scores)
    weights = [math.exp(0.75 * score) for score in scores]
    for index, weight in enumerate(weights, start=1):
        assert_near(found[Q(index)], weight / sum(weights))


def test_weights_are_balls_with_proved_widths() -> None:
    eps = Constant(ONE)
    third = Inverse(WeightSum(Constant(Q(2)), Constant(ONE)))
    thirds = (third, WeightSum(third, third))
    for outcome, expected in enumerate((Q(1, 3), Q(2, 3))):
        found = Chance(thirds, outcome, False).enclose(ONE, 300)
        assert isinstance(found, Enclosure) and expected in found
        assert found.width <= Q(1, 2**300)
    shares = (Exponential(eps), Exponential(eps), Constant(Q(0)))
    found = Chance(shares, 1, True).enclose(ONE, 50)
    assert isinstance(found, Enclosure) and HALF in found and found.width <= Q(1, 2**50)
    assert is_nothing(Chance(shares, 2, True)) and not is_nothing(Chance(shares, 0, True))


def test_a_choice_is_a_distribution_exactly_or_refused() -> None:
    """Neither 10^-300 too much, nor a hole that would cancel, nor two errors that make up for each
    other."""
    tiny, half = Q(1, 10**300), Constant(HALF)
    less, more = Constant(HALF - tiny), Constant(HALF + tiny)
    none = Inverse(Constant(Q(0)))
    hole = WeightSum(Epsilon(), Constant(-ONE))
    cancelled = WeightProduct(half, WeightProduct(hole, Inverse(hole)))
    below = (WeightProduct(Constant(-tiny), Exponential(Epsilon())), Constant(ONE))
    tangled = Inverse(WeightSum(Constant(ONE), Exponential(WeightProduct(half, Epsilon()))))
    rest = WeightProduct(Exponential(WeightProduct(half, Epsilon())), tangled)
    for weights, proportional, reason in [
        ((half, more), False, "add up"),
        ((half, less), False, "add up"),
        ((tangled, WeightSum(rest, Constant(tiny))), False, "add up"),
        ((Constant(ONE + tiny), Constant(-tiny)), False, "below 0"),
        (below, True, "below 0"),
        ((none, Constant(ONE)), True, "division by 0"),
        ((cancelled, half), False, "divides by 0"),
        ((hole, hole), True, "all weights"),
    ]:
        with pytest.raises(Stuck, match=reason):
            require_distribution(Chance(weights, 0, proportional), ONE, LIMITS)
    for lawful in ((less, more), (tangled, rest), (half, half)):
        require_distribution(Chance(lawful, 0, False), ONE, LIMITS)
    require_distribution(Chance((cancelled, half), 0, False), Q(2), LIMITS)


LOOP = """
input q in 0..4
output out in 0..4
adjacent all
out <- q
going <- true
while going do
    if out = 0 then
        going <- false
    else
        going <- choose {true : HEADS, false : 1 - HEADS}
        if going then out <- out - 1 end
    end
end
"""


def test_loops_are_followed_round_by_round() -> None:
    found = derived(LOOP.replace("HEADS", "1/3"), ONE, [Q(2)])
    assert [Q(2, 3) in found[Q(2)], Q(2, 9) in found[ONE], Q(1, 9) in found[Q(0)]] == [True] * 3
    assert all(each.width < Q(1, 2**50) for each in found.values())


# --- integer noise --------------------------------------------------------------------------------

lines = st.builds(
    lambda a, b, k: Line(k, tuple((s, c) for s, c in ((0, a), (1, b)) if c)),
    st.sampled_from([ONE, -ONE, Q(2), Q(-1, 2)]),
    st.sampled_from([Q(0), ONE, -ONE, Q(3)]),
    st.fractions(-3, 3, max_denominator=3),
)
SIGNS = {
    Relation.LESS: (-1,),
    Relation.LESS_EQUAL: (-1, 0),
    Relation.GREATER: (1,),
    Relation.GREATER_EQUAL: (0, 1),
    Relation.EQUAL: (0,),
    Relation.NOT_EQUAL: (-1, 1),
}


@settings(deadline=None, max_examples=49)
@given(lines, st.sampled_from(list(Relation)), lines, st.sampled_from(list(Relation)))
def test_cases_of_integers_are_disjoint_and_true_to_ties(
    line: Line, relation: Relation, other: Line, second: Relation
) -> None:
    def value(form: Line, point: tuple[int, int]) -> Fraction:
        return form.constant + sum(c * point[s] for s, c in form.terms)

    def sign(number: Fraction) -> int:
        return (number > 0) - (number < 0)

    cases = [
        (first, again, facts)
        for first, between in compared_integers(line, relation, Facts())
        for again, facts in compared_integers(other, second, between)
    ]
    for point in product(range(-4, 5), repeat=2):
        inside = [case for case in cases if all(value(x, point) <= 0 for x in case[2].lines)]
        assert len(inside) == 1
        assert inside[0][0] == (sign(value(line, point)) in SIGNS[relation])
        assert inside[0][1] == (sign(value(other, point)) in SIGNS[second])


def integers(mean: int, scale: Fraction) -> Distribution:
    return Distribution(Family.DISCRETE_LAPLACE, Q(mean), scale)


def pmf(law: Distribution, x: int) -> float:
    q = math.exp(-1 / law.scale)
    return (1 - q) / (1 + q) * q ** abs(x - int(law.mean))


@settings(deadline=None, max_examples=8)
@given(
    st.lists(
        st.builds(integers, st.integers(-2, 2), st.sampled_from([HALF, ONE])),
        min_size=3,
        max_size=3,
    ),
    st.lists(st.integers(-2, 2), min_size=3, max_size=3),
    st.booleans(),
)
def test_trees_of_integers_are_sums(
    laws: list[Distribution], shifts: list[int], star: bool
) -> None:
    """x0 <= x1 + a, x1 or x0 <= x2 + b, x2 <= c: ties count."""
    centre = 0 if star else 1
    guards = [
        Line(Q(-shifts[0]), ((0, ONE), (1, -ONE))),
        Line(Q(-shifts[1]), ((centre, ONE), (2, -ONE))),
        Line(Q(-shifts[2]), ((2, ONE),)),
    ]
    expected = sum(
        pmf(laws[0], x) * pmf(laws[1], y) * pmf(laws[2], z)
        for x, y, z in product(range(-28, 29), repeat=3)
        if x <= y + shifts[0] and (x, y)[centre] <= z + shifts[1] and z <= shifts[2]
    )
    found = probability(laws, guards, 60)
    assert found.width < Q(1, 2**50)
    assert abs(float(found.lower) - expected) < 1e-10


GEOMETRIC = """
input q in 0..2
output out in {low, tie, high, far}
adjacent linf 1
a <- DLap(q, 2 / eps)
b <- DLap(1, 3 / eps)
if a < b then
    out <- low
elif a = b then
    out <- tie
else
    out <- high
end
if a >= 3 then out <- far end
"""


def test_a_program_with_integer_noise() -> None:
    found = derived(GEOMETRIC, Q(2), [Q(2)])
    a, b = integers(2, ONE), integers(1, Q(3, 2))
    points = [(x, y, pmf(a, x) * pmf(b, y)) for x in range(-40, 45) for y in range(-60, 62)]
    assert_near(found["far"], sum(p for x, _, p in points if x >= 3))
    assert_near(found["low"], sum(p for x, y, p in points if x < y and x < 3))
    assert_near(found["tie"], sum(p for x, y, p in points if y == x < 3))
    assert_near(found["high"], sum(p for x, y, p in points if y < x < 3))


@pytest.mark.parametrize("text", [RESPONSE, GEOMETRIC, LOOP.replace("HEADS", "1/2")])
def test_certificates_are_confirmed(text: str) -> None:
    program = dipapprox.parse(text)
    claim = dipapprox.Claim(eps=ONE, eps_prv=Q(2), delta=Q(9, 10))
    verdict = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    found = dipapprox.check(dipapprox.certify(program, text, verdict).to_json())
    assert found.outcome is Outcome.CONFIRMED, (found.reason, found.differences)


def test_what_leaves_remainders_is_refused() -> None:
    text = GEOMETRIC.replace("a >= 3", "2 * a + 3 * b >= 3")
    with pytest.raises(NoBounds, match="cannot sum"):
        derived(text, ONE, [ONE])


@pytest.mark.parametrize("text", [RESPONSE, GEOMETRIC])
def test_false_probabilities_are_refuted(text: str) -> None:
    program = dipapprox.parse(text)
    claim = dipapprox.Claim(eps=ONE, eps_prv=Q(2), delta=Q(9, 10))
    fields = json.loads(
        dipapprox.certify(
            program,
            text,
            dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta),
        ).to_json()
    )
    said = fields["evidence"]["probabilities"]
    moved = [[str(Q(end) + Q(1, 10**9)) for end in said[0]], *said[1:]]
    forged = signed(replaced(fields, ("evidence", "probabilities"), moved))
    assert dipapprox.check(forged).outcome is Outcome.REFUTED
