"""Sums of Gaussian samples as single ones, against the engines and closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.checking.facts import Line
from dipapprox.checking.gaussians import fewest_samples, reduced
from dipapprox.checking.orders import General
from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event
from dipapprox.events.reduce import irredundant
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.closed_form import enclose_closed_form
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.gaussian_rank.engine import GaussianRank
from dipapprox.numerics.nested.engine import Nested
from dipapprox.semantics.linear import LinearForm
from tests.checking.test_distributions import probability
from tests.numerics.alone import alone

Q = Fraction
ONE = Q(1)
COEFFICIENTS = st.sampled_from([ONE, -ONE, Q(2), Q(-1, 3)])

normal = st.builds(
    Distribution,
    st.just(Family.GAUSSIAN),
    st.sampled_from([Q(0), ONE, Q(-1, 2)]),
    st.sampled_from([ONE, Q(2), Q(1, 3)]),
)


def event(laws: tuple[Distribution, ...], lines: list[Line]) -> Event:
    return Event(laws, tuple(LinearForm.of(dict(x.terms), x.constant) for x in lines))


@settings(deadline=None, max_examples=8)
@given(st.tuples(normal, normal, normal), st.data())
def test_half_spaces_are_as_in_closed_form(
    laws: tuple[Distribution, ...], data: st.DataObject
) -> None:
    line = Line(ONE, tuple((k, data.draw(COEFFICIENTS)) for k in range(3)))
    found = reduced(General(laws, (line,)))
    assert len(found.general.laws) == 1
    enclosure = probability(list(found.general.laws), list(found.general.lines), 60)
    closed = enclose_closed_form(event(laws, [line]), 80)
    assert (
        isinstance(closed, Enclosure) and enclosure.meets(closed) and enclosure.width < Q(1, 2**50)
    )


@settings(deadline=None, max_examples=8)
@given(st.tuples(normal, normal, normal), st.data())
def test_wedges_are_those_of_quadrature(
    laws: tuple[Distribution, ...], data: st.DataObject
) -> None:
    """The four wedges of two lines add up to 1, each a tree of two samples."""
    rows = st.tuples(*[COEFFICIENTS] * 3)
    lines = [
        Line(data.draw(st.sampled_from([Q(0), ONE])), tuple(enumerate(data.draw(rows))))
        for _ in range(2)
    ]
    low = high = Q(0)
    for a, b in product((ONE, -ONE), repeat=2):
        part = [lines[0].times(a), lines[1].times(b)]
        found = reduced(General(laws, tuple(part)))
        assert len(found.general.laws) <= 2
        each = probability(list(found.general.laws), list(found.general.lines), 60)
        low, high = low + each.lower, high + each.upper
        if a == b == 1:
            numerical = alone(Nested(Strategy.PAPER), event(laws, part), 16, Limits())
            assert isinstance(numerical, Enclosure) and numerical.meets(each)
    assert low <= 1 <= high and high - low < Q(1, 2**45)


@settings(deadline=None, max_examples=8)
@given(st.tuples(*[normal] * 5), st.data())
def test_fewer_samples_have_the_probability_of_all(
    laws: tuple[Distribution, ...], data: st.DataObject
) -> None:
    """Four lines of rank 2 in five samples, against the engine of the run."""
    rows = [data.draw(st.tuples(*[COEFFICIENTS] * 5)) for _ in range(2)]
    lines = [Line(Q(k - 2, 2), tuple(enumerate(row))) for k, row in enumerate(rows)]
    lines.append(lines[0] + lines[1].times(Q(2)) + Line(-ONE))
    lines = [line for line in lines if line.terms]
    found = fewest_samples(General(laws, tuple(lines)))
    assert len(found.general.laws) <= 2
    guards = irredundant(event(laws, lines).guards)
    other = event(found.general.laws, list(found.general.lines))
    if guards is None:
        assert irredundant(other.guards) is None
        return
    numerical = alone(Nested(Strategy.PAPER), other, 40, Limits())
    run = alone(GaussianRank(), Event(laws, guards), 40, Limits())
    assert isinstance(numerical, Enclosure) and isinstance(run, Enclosure)
    assert run.meets(numerical)


def test_square_roots_are_exact_where_they_can_be() -> None:
    laws = (Distribution(Family.GAUSSIAN, Q(0), Q(3)), Distribution(Family.GAUSSIAN, ONE, Q(4)))
    third = Distribution(Family.LAPLACE, Q(0), ONE)
    line = Line(Q(0), ((0, ONE), (1, ONE), (2, -ONE)))
    found = reduced(General((*laws, third), (line,)))
    assert found.errors == 0
    assert found.general.laws == (Distribution(Family.GAUSSIAN, ONE, Q(5)), third)
    near = reduced(General((laws[0], laws[0], third), (line,)))
    assert near.errors == 1
    square = near.general.laws[0].scale ** 2
    assert 0 < 18 - square < Q(1, 2**790)
