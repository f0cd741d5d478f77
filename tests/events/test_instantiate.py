"""From final states to events, one by one and in bulk: both ways agree."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from dipapprox.events.canonical import canonical
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Independent
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.language.core import Cell, Everyone, Program, Value
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.state import FinalState, FinalStates, Guard, Path, Sample

ZERO, ONE = Fraction(0), Fraction(1)


def path(*forms: LinearForm) -> Path | None:
    found: Path | None = None
    for form in forms:
        found = Path(found, Guard(form, False), 1 if found is None else found.length + 1)
    return found


def final_states(
    samples: tuple[Sample, ...], states: list[FinalState], cells: int, domain: tuple[Value, ...]
) -> FinalStates:
    inputs = tuple(Cell(f"q[{k}]", "q", k, domain) for k in range(1, cells + 1))
    outputs = (Cell("out", "out", None, tuple(Fraction(k) for k in range(len(states)))),)
    program = Program("example", {}, inputs, outputs, (), Everyone())
    return FinalStates(program, samples, tuple(states), tuple(s.outputs for s in states), False)


def sparse_vector(size: int, noisy_guards: bool) -> FinalStates:
    """SVT; the queries enter the means, or, if `noisy_guards`, the guards."""
    threshold = Sample(LAPLACE, LinearForm.constant_form(0), Scale(Fraction(2), -1), 0, "rT")
    queries = [LinearForm.symbol(f"q[{k}]") for k in range(1, size + 1)]
    nothing = LinearForm.constant_form(0)
    samples = [threshold] + [
        Sample(LAPLACE, nothing if noisy_guards else q, Scale(Fraction(4), -1), k, f"r{k}")
        for k, q in enumerate(queries, 1)
    ]
    above = [
        LinearForm.symbol(0) - LinearForm.symbol(k) - (q if noisy_guards else nothing)
        for k, q in enumerate(queries, 1)
    ]
    states = [
        FinalState((Fraction(k),), (), path(*(-form for form in above[:k]), *above[k : k + 1]))
        for k in range(size + 1)
    ]
    return final_states(tuple(samples), states, size, (ZERO, ONE))


def bare_queries(size: int) -> FinalStates:
    """SVT without query noise: one sample against several inputs, which no shift can absorb."""
    threshold = Sample(GAUSSIAN, LinearForm.constant_form(0), Scale(ONE, -1), 0, "rT")
    above = [LinearForm.symbol(0) - LinearForm.symbol(f"q[{k}]") for k in range(1, size + 1)]
    states = [
        FinalState((Fraction(k),), (), path(*(-form for form in above[:k]), *above[k : k + 1]))
        for k in range(size + 1)
    ]
    return final_states((threshold,), states, size, (ZERO, ONE))


@pytest.mark.parametrize(
    ("states", "distinct"),
    [
        # It only matters how many of the k leaves below the threshold have mean 1: k + 1 cases,
        # twice where one leaf is above.
        (sparse_vector(4, noisy_guards=False), 2 * (1 + 2 + 3 + 4) + 5),
        (sparse_vector(4, noisy_guards=True), 2 * (1 + 2 + 3 + 4) + 5),
        # rT <= 0, rT <= 1, rT >= 0, rT >= 1, 0 <= rT <= 1: the first and third are mirror images
        (bare_queries(4), 4),
    ],
    ids=["means", "guards", "bare"],
)
def test_the_catalogue_agrees_with_events_made_one_by_one(
    states: FinalStates, distinct: int
) -> None:
    eps = Fraction(1, 2)
    instantiator, catalogue = Instantiator(states, eps), Catalogue(states, eps)
    for input in product((ZERO, ONE), repeat=4):
        expected = []
        for output, event, _ in instantiator.events(input):
            reduced = reduce(event)
            if isinstance(reduced, Independent):
                expected.append((output, Counter(map(canonical, reduced.factors))))
        found = [
            (output, Counter(catalogue.events[number] for number in numbers))
            for output, numbers in catalogue.states([input])[0]
        ]
        assert found == expected
    assert len(catalogue.events) == distinct
