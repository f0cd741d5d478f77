"""The check's exact integrals and sums over any inequalities, against engines, counts and laws."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking.conditions import compared_integers
from dipapprox.checking.decisions.quotients import constant
from dipapprox.checking.exact_probability import exact_probability
from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.orders import General
from dipapprox.checking.values import Stuck
from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Relation
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.nested.engine import Nested
from dipapprox.replays.result import Outcome
from dipapprox.semantics.linear import LinearForm
from tests.checking.test_discrete import integers, pmf
from tests.checking.test_distributions import less, probability
from tests.numerics.alone import alone

LIMITS = Limits()
Q = Fraction
ONE = Q(1)

laws = st.builds(
    Distribution,
    st.sampled_from([Family.LAPLACE, Family.EXPONENTIAL, Family.REFLECTED_EXPONENTIAL]),
    st.sampled_from([Q(0), ONE, Q(-1, 2)]),
    st.sampled_from([ONE, Q(2), Q(1, 3)]),
)
COEFFICIENTS = [ONE, -ONE, Q(2), Q(-1, 3)]


def enclosed(samples: tuple[Distribution, ...], lines: tuple[Line, ...]) -> Enclosure:
    found = exact_probability(General(samples, lines), LIMITS).enclose(60)
    assert isinstance(found, Enclosure) and found.width < Q(1, 2**50)
    return found


def drawn_lines(data: st.DataObject, size: int, count: int) -> list[Line]:
    lines = []
    for _ in range(count):
        terms = tuple((k, data.draw(st.sampled_from(COEFFICIENTS))) for k in range(size))
        lines.append(Line(data.draw(st.sampled_from([Q(0), ONE, Q(-3, 2)])), terms))
    return lines


@settings(deadline=None, max_examples=8)
@given(st.tuples(laws, laws, laws), st.data())
def test_halves_of_space_add_up_and_agree_with_quadrature(
    samples: tuple[Distribution, ...], data: st.DataObject
) -> None:
    """Exactly, for every ε; quadrature is asked about one of the four parts."""
    first, second = drawn_lines(data, 3, 2)
    total = constant(0)
    for a, b in product((ONE, -ONE), repeat=2):
        part = General(samples, (first.times(a), second.times(b)))
        total = total.plus(exact_probability(part, LIMITS).as_quotient())
    assert total == constant(1)
    guard = LinearForm.of(dict(first.terms), first.constant)
    numerical = alone(Nested(Strategy.PAPER), Event(samples, (guard,)), 20, LIMITS)
    assert isinstance(numerical, Enclosure) and numerical.meets(enclosed(samples, (first,)))


@settings(deadline=None, max_examples=8)
@given(st.tuples(laws, laws, laws), st.sampled_from([Q(0), ONE, Q(-5, 2)]))
def test_trees_are_integrated_as_before(samples: tuple[Distribution, ...], shift: Fraction) -> None:
    lines = [less(0, 1, shift), less(2, 1), Line(-shift, ((1, ONE),))]
    assert probability(list(samples), lines, 60).meets(enclosed(samples, tuple(lines)))


def test_an_irwin_hall_like_sum_has_a_closed_form() -> None:
    """Pr[E1 + E2 + E3 <= t] = 1 - e^-t (1 + t + t²/2)."""
    samples = (Distribution(Family.EXPONENTIAL, Q(0), ONE),) * 3
    line = Line(Q(-2), tuple((k, ONE) for k in range(3)))
    form = exact_probability(General(samples, (line,)), LIMITS).as_quotient()
    expected = {(0, Q(0)): ONE, (0, Q(-2)): -ONE, (1, Q(-2)): Q(-2), (2, Q(-2)): Q(-2)}
    assert dict(form.top.terms) == expected and form.bottom.as_constant() == 1
    impossible = Line(ONE, tuple((k, ONE) for k in range(3)))
    assert not exact_probability(General(samples, (impossible,)), LIMITS).as_quotient().top


noises = st.builds(integers, st.integers(-1, 1), st.sampled_from([Q(1, 2), Q(2, 5)]))


@settings(deadline=None, max_examples=4)
@given(st.tuples(noises, noises, noises), st.data())
def test_sums_of_integers_are_exact(samples: tuple[Distribution, ...], data: st.DataObject) -> None:
    """Cases of two inequalities add up to exactly 1; one is compared with its definition."""
    signs = st.sampled_from([ONE, -ONE])
    shifts = st.sampled_from([Q(0), ONE, Q(-3, 2)])
    first = Line(data.draw(shifts), tuple((k, data.draw(signs)) for k in range(3)))
    second = Line(data.draw(shifts), ((0, data.draw(signs)), (1, data.draw(signs))))
    relation = data.draw(st.sampled_from([Relation.LESS, Relation.LESS_EQUAL, Relation.EQUAL]))
    cases = [
        facts
        for _, between in compared_integers(first, relation, Facts())
        for _, facts in compared_integers(second, Relation.LESS, between)
    ]
    try:
        found = [exact_probability(General(samples, c.lines), LIMITS) for c in cases]
    except Stuck:
        return  # 2 x + y: remainders
    total = constant(0)
    for each in found:
        total = total.plus(each.as_quotient())
    assert total == constant(1)
    reach = range(-12, 13)
    masses = [[pmf(law, x) for x in reach] for law in samples]
    whole = [(line, [int(dict(line.terms).get(k, 0)) for k in range(3)]) for line in cases[0].lines]
    expected = sum(
        masses[0][x + 12] * masses[1][y + 12] * masses[2][z + 12]
        for x, y, z in product(reach, repeat=3)
        if all(a * x + b * y + c * z + int(line.constant) <= 0 for line, (a, b, c) in whole)
    )
    assert abs(float(enclosed(samples, cases[0].lines).lower) - expected) < 1e-7


def test_gaussian_noise_is_left_to_others() -> None:
    samples = (Distribution(Family.GAUSSIAN, Q(0), ONE),) * 3
    line = Line(Q(0), tuple((k, ONE) for k in range(3)))
    with pytest.raises(Stuck, match="Gaussian"):
        exact_probability(General(samples, (line,)), LIMITS)


SUM = """
input q in {0, 1}
output out in 0..2
adjacent all
a <- NOISE(q, 1 / eps)
b <- NOISE(0, 2 / eps)
c <- NOISE(1, 1 / eps)
out <- 0
if a + b >= c + 1 then out <- 1 end
if a + b + c >= 4 then out <- 2 end
"""


@pytest.mark.parametrize("noise", ["LapPlus", "DLap"])
def test_sums_of_three_samples_are_confirmed_without_the_engines(noise: str) -> None:
    text = SUM.replace("NOISE", noise)
    program = dipapprox.parse(text)
    claim = dipapprox.Claim(eps=ONE, eps_prv=Q(2), delta=Q(1, 2))
    verdict = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    fields = json.loads(dipapprox.certify(program, text, verdict).to_json())
    result = dipapprox.check(fields)
    assert result.outcome is Outcome.CONFIRMED and result.shared == ()
    assert result.delta_enclosure is not None and result.delta_enclosure.width < Q(1, 2**50)
