"""Choices as events: factors of their own, equal when their probabilities are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from dipapprox.events.canonical import canonical
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen, Independent
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.test_choices import number, pick
from tests.semantics.test_integers import integer
from tests.semantics.test_loops import ALWAYS, add, coin, loop

NOTHING_DRAWN = Noise(Random(0))
"""For programs without draws."""

Q1 = core.Variable("q[1]")
FLIPPED = core.Sum(number(1), core.Product(number(-1), Q1))
TRUTHFUL = core.Choose(
    core.Variable("x"), ((Q1, number("2/3")), (FLIPPED, number("1/3"))), False, 10
)
"""x <- q[1] with probability 2/3"""


def response() -> core.Program:
    body = [TRUTHFUL, assign("out[1]", "x")]
    return program(cells("q", 1, (0, 1)), cells("out", 1, (0, 1)), body)


def noisy_response() -> core.Program:
    """The truth about q[1] decides which comparison is made, of reals or integers."""
    answers = [[assign("out[1]", k)] for k in range(4)]
    real = choose(compare("r", ">", "q[2]"), answers[0], answers[1])
    whole = choose(compare("z", "=", "y"), answers[2], answers[3])
    drawn = [draw("r", "q[2]", 0), integer("z", "q[2]", 1), integer("y", 0, 2)]
    again = choose(compare("q[2]", "=", 1), [coin("x", 11, "1/5")])
    body = [*drawn, TRUTHFUL, again, choose(compare("x", "=", 1), [real], [whole])]
    return program(cells("q", 2, (0, 1)), cells("out", 1, range(4)), body)


def integer_thresholds() -> core.Program:
    """Integers against inputs, alone and in differences: the guards vary with the input."""
    apart = core.Sum(core.Variable("z"), core.Variable("q[1]"))
    third = choose(compare("z", ">", "q[2]"), [assign("out[1]", 2)], [assign("out[1]", 3)])
    second = choose(compare("z", "=", "q[1]"), [assign("out[1]", 1)], [third])
    first = choose(compare(apart, "<", "y"), [assign("out[1]", 0)], [second])
    body = [integer("z", 0, 0), integer("y", "q[2]", 1), first]
    return program(cells("q", 2, (-1, 0, 1)), cells("out", 1, range(4)), body)


def walk() -> core.Program:
    """At most three rounds of a walk whose drift is an input; it may stop the program."""
    weights = [(1, number("1/4")), (-1, core.WeightProduct(Q1, number("1/4"))), (0, number(1))]
    step = pick("s", weights, 0, proportional=True)
    moved = assign("x", core.Sum(core.Variable("x"), core.Variable("s")))
    leave = choose(compare("x", ">=", 2), [assign("out[1]", 9), core.Exit()])
    rounds = loop(core.All((ALWAYS, compare("k", "<", 3))), step, moved, leave, add("k", 1))
    body = [assign("x", 0), assign("k", 0), rounds, assign("out[1]", "x")]
    return program(cells("q", 1, (0, 1, 2)), cells("out", 1, range(-5, 10)), body)


@pytest.mark.parametrize("example", [response(), noisy_response(), integer_thresholds(), walk()])
@pytest.mark.parametrize("merge", [True, False])
def test_the_catalogue_agrees_with_events_made_one_by_one(
    example: core.Program, merge: bool
) -> None:
    states = execute(example, merge, Limits())
    instantiator, catalogue = Instantiator(states, Fraction(2)), Catalogue(states, Fraction(2))
    for input in product(*(cell.domain for cell in example.inputs)):
        expected: Counter[object] = Counter()
        for output, event, chosen in instantiator.events(input):
            reduced = reduce(event)
            if isinstance(reduced, Independent):
                factors = [*map(canonical, reduced.factors), *([chosen] if chosen else [])]
                expected[output, frozenset(Counter(factors).items())] += 1
        found: Counter[object] = Counter()
        for output, numbers in catalogue.states([input])[0]:
            events = Counter(catalogue.events[each] for each in numbers)
            found[output, frozenset(events.items())] += 1
        assert found == expected


@pytest.mark.parametrize("example", [response(), walk()])
def test_probabilities_are_those_of_the_enumerated_runs(example: core.Program) -> None:
    states = execute(example, True, Limits())
    catalogue = Catalogue(states, Fraction(1))
    outputs = states.outputs
    for input in product(*(cell.domain for cell in example.inputs)):
        found: dict[tuple[core.Value, ...], Fraction] = {}
        for output, numbers in catalogue.states([input])[0]:
            probability = Fraction(1)
            for event in (catalogue.events[each] for each in numbers):
                assert isinstance(event, Chosen)
                value = chosen_probability(event, Limits()).numerator.as_constant()
                assert value is not None
                probability *= value
            found[outputs[output]] = found.get(outputs[output], Fraction(0)) + probability
        possible = {each: probability for each, probability in found.items() if probability}
        assert possible == distribution(example, input, NOTHING_DRAWN)
