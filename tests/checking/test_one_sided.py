"""One-sided noise in the checker's own evaluator: closed forms, mirror images, the engines."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking.facts import Line
from dipapprox.distributions import MIRRORED, Distribution, Family
from dipapprox.events.event import Event
from dipapprox.limits import Limits
from dipapprox.numerics.closed_form import enclose_closed_form
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.replays.result import Outcome
from dipapprox.semantics.linear import LinearForm
from tests.checking.test_distributions import less, probability
from tests.event_strategies import CONTINUOUS
from tests.numerics.alone import alone

ONE = Fraction(1)


def plus(mean: Fraction | int, scale: Fraction | int = 1) -> Distribution:
    return Distribution(Family.EXPONENTIAL, Fraction(mean), Fraction(scale))


laws = st.builds(
    Distribution,
    st.sampled_from(CONTINUOUS),
    st.sampled_from([Fraction(0), ONE, Fraction(-1, 2)]),
    st.sampled_from([ONE, Fraction(1, 3), Fraction(4)]),
)


@settings(deadline=None, max_examples=18)
@given(st.lists(laws, min_size=2, max_size=4), st.data())
def test_trees_agree_with_the_engine_and_their_mirror_images(
    samples: list[Distribution], data: st.DataObject
) -> None:
    slopes = st.sampled_from([ONE, Fraction(-2), Fraction(1, 2)])
    shifts = st.sampled_from([Fraction(0), ONE, Fraction(-1, 2)])
    lines = []
    for j in range(1, len(samples)):
        other = data.draw(st.integers(0, j - 1))
        terms = tuple(sorted([(other, data.draw(slopes)), (j, -data.draw(slopes))]))
        lines.append(Line(data.draw(shifts), terms))
    if data.draw(st.booleans()):
        lines.append(Line(data.draw(shifts), ((0, data.draw(slopes)),)))
    found = probability(samples, lines, 50)
    assert found.width < Fraction(1, 2**40)
    flipped = [Distribution(MIRRORED[law.family], -law.mean, law.scale) for law in samples]
    mirrored = [Line(line.constant, line.times(-ONE).terms) for line in lines]
    assert found.meets(probability(flipped, mirrored, 50))
    guards = tuple(LinearForm.of(dict(line.terms), line.constant) for line in lines)
    engine = alone(Eliminated(), Event(tuple(samples), guards), 40, Limits())
    assert isinstance(engine, Enclosure) and found.meets(engine)


@pytest.mark.parametrize("d", [Fraction(0), Fraction(1, 3), Fraction(7)])
def test_comparisons_of_two_have_closed_forms(d: Fraction) -> None:
    """Pr[E1 >= E2 + d] = e^-d / 2; at the edge of the support nothing is lost."""
    found = probability([plus(0), plus(0)], [less(1, 0, -d)], 60)
    assert found.width < Fraction(1, 2**50)
    assert abs(found.lower - Fraction(math.exp(-d) / 2)) < Fraction(1, 10**14)
    event = Event((plus(0), plus(0)), (LinearForm.of({1: ONE, 0: -ONE}, d),))
    closed = enclose_closed_form(event, 80)
    assert isinstance(closed, Enclosure) and found.meets(closed)
    whole = probability([plus(d)], [Line(d, ((0, -ONE),))], 60)
    assert 1 in whole and whole.width < Fraction(1, 2**50)


@pytest.mark.parametrize("count", [2, 30])
def test_the_least_of_many(count: int) -> None:
    """x <= every y: rates add up."""
    samples = [plus(0, Fraction(1, 2)), *[plus(0)] * count]
    found = probability(samples, [less(0, k) for k in range(1, count + 1)], 50)
    assert Fraction(2, 2 + count) in found
    assert found.width < Fraction(1, 2**40)


IMPOSSIBLE = """
input q in {0, 1}
output out in 0..4
adjacent all
x <- LapPlus(0, 1 / eps)
y <- LapMinus(q, 2 / eps)
z <- LapPlus(2, 1)
out <- 0
if q = 1 and x < 0 then out <- 1 end
if q = 1 and y > x + 1 then out <- 2 end
if q = 1 and z <= y then out <- 3 end
if q = 1 and 3 * x + 5 <= y then out <- 4 end
"""


def test_what_lies_on_the_empty_side_is_impossible() -> None:
    """Its probability is 0, not a tail: δ = 0 is confirmed for every budget."""
    program = dipapprox.parse(IMPOSSIBLE)
    for budget in (Fraction(0), ONE):
        claim = dipapprox.Claim(eps=ONE, eps_prv=budget, delta=Fraction(0))
        verdict = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
        result = dipapprox.check(dipapprox.certify(program, IMPOSSIBLE, verdict).to_json())
        assert verdict.answer is dipapprox.Answer.DP
        assert result.outcome is Outcome.CONFIRMED, result.reason
        assert result.delta_enclosure == Enclosure(Fraction(0), Fraction(0))
