"""Choices among finitely many values, the largest of many samples, and orders."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import permutations, product
from math import factorial
from operator import ge, gt, le, lt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits, SourceError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.graphs import bits
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.limits import limited
from dipapprox.semantics import splitting
from dipapprox.semantics.evaluation import Knowledge
from dipapprox.semantics.execution import execute
from dipapprox.semantics.order import Order, Points, extension_share
from dipapprox.semantics.state import FinalStates, guards_of
from tests.cases import cases, check_answers, evaluated, template_of
from tests.semantics.interpreter import set_probability

ONE = ExponentialPolynomial.constant(1)


def program(body: str, inputs: str = "0, 1") -> core.Program:
    text = f"input q in {{{inputs}}}\noutput out in -5..9\nadjacent all\n{body}\n"
    return elaborate(parse(text), {}, "program")


def grown(rate: int | str) -> ExponentialPolynomial:
    """e^(rate * eps)"""
    return ExponentialPolynomial.monomial(1, 0, Fraction(rate))


def weight(text: str) -> ExponentialRatio:
    """The first weight of a choice: a function of eps."""
    (choice,) = execute(program(f"out <- choose {{0 : {text}, 1 : 1}}"), True).choices
    return choice.law.weights[0]


def test_weights_are_functions_of_eps() -> None:
    check_answers("choices", evaluated(globals()))


def test_outcomes_that_nothing_reads_are_no_faults() -> None:
    body = "x <- choose {0 : 1/2, 2 : 1/2}\nif x > 5 then out <- x + 9 else out <- 0 end"
    assert len(execute(program(body), True).states) == 1


# --- while loops ----------------------------------------------------------------------------------


def probabilities(states: FinalStates) -> dict[object, Fraction]:
    """Of the outputs, for programs without guards and conditions."""
    found: dict[object, Fraction] = {}
    for state in states.states:
        assert state.path is None
        assert not state.conditions
        probability = set_probability(states, state.chosen)
        found[state.outputs[0]] = found.get(state.outputs[0], Fraction(0)) + probability
    return found


RUIN = template_of("choices-ruin")


@pytest.mark.parametrize("merge", [True, False])
def test_gamblers_ruin(merge) -> None:
    """From 2, up with probability 2/3, until 0 or 4: Feller, volume 1, section XIV.2, gives 4/5."""
    states = execute(program(RUIN), merge)
    (choice,) = states.choices
    assert len(choice.law.transitions) == 5
    assert probabilities(states) == {Fraction(4): Fraction(4, 5), Fraction(0): Fraction(1, 5)}


@cases(
    "loop",
    "while n >= 0 do n <- n + 1 end",
    "b <- 1\nwhile b = 1 do n <- n + 1\nb <- choose {1 : 1/2, 0 : 1/2} end",
)
def test_endless_counting_runs_into_a_limit(loop) -> None:
    with pytest.raises(LimitReached, match="loop limit"), limited(Limits(states=50)):
        execute(program(f"n <- 0\n{loop}\nout <- 0"), True)


@pytest.mark.parametrize("merge", [True, False])
def test_faults_in_conditions_of_loops_belong_to_their_part_of_the_path(merge) -> None:
    """`y` is unassigned; it is read where r > 0 only, and the loop is entered where r < 0 only."""
    body = template_of("choices-faults")
    assert len(execute(program(body, "-1, 0"), merge).outputs) == 1
    with pytest.raises(SourceError, match="'y' is read before it is assigned"):
        execute(program(body, "-1, 1"), merge)


# --- The largest of many samples at once, against the branches one by one -------------------------

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

HEAD = template_of("choices-head")
LAST = template_of("choices-last")


def selecting(text: str, size: int = 5) -> core.Program:
    source = (
        read_source(PROGRAMS / text, {}).program
        if text.endswith(".dpg")
        else parse(text, "selected")
    )
    parameters = {"N": Fraction(size)} if text.endswith(".dpg") else {}
    return elaborate(source, parameters, "selected")


@contextmanager
def branch_by_branch() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "selections_in", lambda block: {})
        yield


def described(states: FinalStates) -> list[object]:
    """The states in order, with their guards in any order and strictness aside."""
    return [
        (
            tuple(state.outputs),
            state.conditions,
            frozenset(guard.form.normalised() for guard in guards_of(state.path)),
        )
        for state in states.states
    ]


SELECTING = {
    "argmax": HEAD + "out <- argmax(v)",
    "argmin": HEAD + "out <- argmin(v)",
    "written by hand": HEAD + LAST,
    "then compared": HEAD + "m <- max(v)\nif m > 1 then out <- 1 else out <- 0 end",
    "after a draw and a branch": HEAD
    + "r <- Lap(0, 1)\nout <- argmin(v)\nif r > q[1] and out = 2 then out <- 0 end",
    "of some of them": HEAD
    + "m <- min(v[1], v[2], v[4])\nif m < v[3] then out <- 1 else out <- 0 end",
    "after a choice": HEAD
    + "x <- choose {0 : 1/3, 1 : 2/3}\nout <- argmax(v)\nif x = 0 then out <- 0 end",
}


@pytest.mark.parametrize("name", SELECTING)
def test_the_states_are_those_of_the_branches(name) -> None:
    example = selecting(SELECTING[name])
    at_once = execute(example, True)
    with branch_by_branch():
        expected = execute(example, True)
    assert described(at_once) == described(expected)


MIXED = template_of("choices-mixed")
TIES = {
    "argmax": ("out <- argmax(v)", (">", ">", ">")),
    "argmin": ("out <- argmin(v)", ("<", "<", "<")),
    "ties go to the later one": (MIXED.format(">=", "<=", ">="), (">=", ">=", ">=")),
    "some ties do": (MIXED.format("<", ">=", "<"), ("<", "<=", "<")),
    "other ties do": (MIXED.format(">=", "<", ">"), (">=", ">", ">")),
}


@pytest.mark.parametrize("name", TIES)
def test_of_integers_every_point_has_the_state_that_the_branches_lead_to(name) -> None:
    text, relations = TIES[name]
    states = execute(selecting(HEAD.replace("Gauss", "DLap") + text), True)
    assert len(states.states) == 4
    for point in product(range(3), repeat=4):
        best, out = point[0], 1
        for number, (value, relation) in enumerate(zip(point[1:], relations, strict=True), 2):
            if {">": gt, ">=": ge, "<": lt, "<=": le}[relation](value, best):
                best, out = value, number
        samples = {number: Fraction(value) for number, value in enumerate(point)}
        found = [
            state.outputs
            for state in states.states
            if all(guard.form.at(samples).constant < 0 for guard in guards_of(state.path))
        ]
        assert found == [(out,)]


# --- Shares of linear extensions against brute force over all permutations ------------------------

_FREE = Points(Knowledge.of(()))  # no fixed points


def order_of(pairs: list[tuple[int, int]]) -> Order:
    """The closure of pairs that do not contradict each other."""
    order = Order()
    for pair in pairs:
        if order.decides(pair, _FREE) is None:
            order = order.assume(pair, _FREE)
    return order


def brute_force(order: Order, size: int) -> Fraction:
    pairs = [(small, large) for large, mask in order.below.items() for small in bits(mask)]
    count = sum(
        all(places[small] < places[large] for small, large in pairs)
        for places in permutations(range(size))
    )
    return Fraction(count, factorial(size))


_POINTS = st.integers(0, 5)
_PAIRS = st.lists(st.tuples(_POINTS, _POINTS).filter(lambda p: p[0] != p[1]), max_size=9)


@given(_PAIRS)
def test_shares_of_small_orders(pairs) -> None:
    order = order_of(pairs)
    assert extension_share(order) == brute_force(order, 6)


@given(_PAIRS)
def test_order_is_the_transitive_closure(pairs) -> None:
    order = order_of(pairs)
    for large, mask in order.below.items():
        assert mask and not mask >> large & 1
        for small in bits(mask):
            assert order.below.get(small, 0) & ~mask == 0
    assert order_of([(s, p) for p, m in order.covers().items() for s in bits(m)]) == order


def test_large_forests_by_hook_lengths() -> None:
    star = [(i, 50) for i in range(50)]
    assert extension_share(order_of(star)) == Fraction(1, 51)
    assert extension_share(order_of([(b, a) for a, b in star])) == Fraction(1, 51)
    chain = [(i, i + 1) for i in range(29)]
    assert extension_share(order_of(chain)) == Fraction(1, factorial(30))


def test_zigzags() -> None:
    """Alternating permutations: the zigzag of n points has E_n extensions (OEIS A000111)."""
    euler = {7: 272, 10: 50521, 15: 1903757312}
    for size, count in euler.items():
        pairs = [(i, i + 1) if i % 2 else (i + 1, i) for i in range(size - 1)]
        assert extension_share(order_of(pairs)) == Fraction(count, factorial(size))


def test_wide_orders_are_given_up() -> None:
    """Two layers of 12, all 4-cycles: no tree, and thousands of down-sets."""
    pairs = [(i, 20 + (i + k) % 12) for i in range(12) for k in range(3)]
    assert extension_share(order_of(pairs)) is None
