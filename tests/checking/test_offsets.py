"""The check's own method for comparisons with offsets: bands in trees, and what cycles become."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given, settings

import dipapprox
from dipapprox.checking.check import check
from dipapprox.checking.decisions.piecewise import ExactFunctions
from dipapprox.checking.facts import Line
from dipapprox.checking.orders import General, factors
from dipapprox.checking.trees import Forest, Messages, TreeValues
from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event
from dipapprox.events.reduce import connected_parts
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.integers.sums import IntegerSums
from dipapprox.replays.result import Outcome
from tests.event_strategies import CONTINUOUS, difference_events, less
from tests.numerics.alone import alone

ONE = Enclosure.exact(1)


def lines_of(event: Event) -> list[Line]:
    return [Line(g.constant, tuple((int(s), c) for s, c in g.terms)) for g in event.guards]


def times(left: Enclosure, right: Enclosure | NotEnclosed) -> Enclosure:
    """Both in [0, 1], up to what sums lose."""
    assert isinstance(right, Enclosure)
    ends = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return Enclosure(min(ends), max(ends))


def by_the_check(event: Event, bits: int) -> Enclosure:
    """Multiply the check's factors: signed sums of products of trees."""
    found = factors(event.samples, lines_of(event), Limits())
    if found is None:
        return Enclosure.exact(0)
    forest = Forest()
    whole = ONE
    for factor in found:
        assert not isinstance(factor, General)
        total = Enclosure.exact(0)
        for sign, trees in factor:
            values = [TreeValues(forest, bits, Limits()).value(forest.plant(t)) for t in trees]
            total = total + times(Enclosure.exact(sign), reduce(times, values, ONE))
        whole = times(whole, total)
    return whole


@given(event=difference_events(CONTINUOUS))
@settings(deadline=None, max_examples=20)
def test_the_check_and_the_run_agree(event: Event) -> None:
    run = ONE
    parts = connected_parts(event)
    for _, part in parts or ():
        found = alone(Eliminated(), part, 40, Limits())
        run = times(run, found)
    check = by_the_check(event, 40)
    assert check.width < Fraction(1, 2**30)
    assert check.meets(Enclosure.exact(0) if parts is None else run)


@given(event=difference_events(tuple(f for f in CONTINUOUS if not f.is_gaussian)))
@settings(deadline=None, max_examples=20)
def test_closed_forms_of_the_check_are_those_of_the_run(event: Event) -> None:
    one = ExponentialPolynomial.constant(1)
    run = one
    parts = connected_parts(event)
    for _, part in parts or ():
        form = integrate(part, Limits())
        assert isinstance(form, ExponentialPolynomial)
        run = run * form
    found = factors(event.samples, lines_of(event), Limits())
    if found is None or parts is None:
        # The check looks at the supports of laws at once.
        assert found is None and (parts is None or not run)
        return
    forest = Forest()
    sums = [
        [(sign, [forest.plant(tree) for tree in trees]) for sign, trees in factor]
        for factor in found
        if not isinstance(factor, General)
    ]
    functions = ExactFunctions(node.sample for node in forest.nodes)
    messages = Messages(forest, functions, Limits())
    check = one
    for terms in sums:
        total = one + one.scaled(-1)
        for sign, trees in terms:
            values = (functions.total(messages.weighted(tree)) for tree in trees)
            total = total + reduce(ExponentialPolynomial.__mul__, values, one).scaled(sign)
        check = check * total
    assert check == run


@pytest.mark.parametrize("family", [Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_bands_of_integers_have_both_ends(family: Family, width: int) -> None:
    """y - width <= x <= y and z within 1 of x."""
    half = Fraction(1, 2)
    samples = tuple(Distribution(family, Fraction(m), Fraction(2)) for m in (0, 1, -1))
    pairs = ((0, 1, 0), (1, 0, width), (0, 2, 1), (2, 0, 1))
    cut = tuple(less(i, j, -w - half) for i, j, w in pairs)
    run = alone(IntegerSums(), Event(samples, cut), 40, Limits())
    assert isinstance(run, Enclosure)
    whole = tuple(less(i, j, -w) for i, j, w in pairs)
    check = by_the_check(Event(samples, whole), 40)
    assert check.width < Fraction(1, 2**30) and check.meets(run)


@pytest.mark.parametrize("family", ["Lap", "Gauss"])
def test_an_output_that_sums_of_samples_exclude_may_be_missing(family: str) -> None:
    """y <= 2/3 and y > 1 where y is a sum."""
    text = (
        f"input q in 0..1\noutput out in 0..2\nadjacent all\nx <- {family}(0, 1)\n"
        f"z <- {family}(q, 1/2)\ny <- 0 - z - x\nout <- 0\nif 3 * y <= 2 then\n"
        "if y > 1 then\nif 3 * y >= z - 2 * x then out <- 1 else out <- 2 end\nend\nend\n"
    )
    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, eps="1", eps_prv="2", delta="1/20")
    result = check(json.loads(dipapprox.certify(program, text, verdict).to_json()))
    assert result.outcome is Outcome.CONFIRMED, result.reason
