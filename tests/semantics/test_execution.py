"""Final states partition inputs and samples, agree with a direct interpreter; parts multiply."""

import random
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from dipapprox.bundled import BUNDLED
from dipapprox.errors import LimitReached
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import ProgramPart, independent_parts
from dipapprox.semantics.structure import Structure, measure_structure
from tests.semantics.interpreter import Noise, distribution, distribution_of_states
from tests.semantics.strategies import programs
from tests.thorough import examples


def check_partition(
    program: core.Program,
    merge: bool,
    seed: int,
    rounds: int,
    fewer: bool = False,
    few_inputs: bool = False,
) -> None:
    """For every input and random samples the states have the outputs' probabilities.

    Without choices, exactly one state holds, with the right outputs. Odd seeds may look at a few
    inputs only.

    Args:
        program: The program.
        merge: Whether states are merged.
        seed: Of the samples.
        rounds: How often they are drawn.
        fewer: Whether choices may depend on the input.
        few_inputs: Whether odd seeds look at a few inputs only.
    """
    generator = random.Random(seed)
    inputs = list(product(*(cell.domain for cell in program.inputs)))
    asked = None
    if few_inputs and seed % 2:
        asked = inputs = generator.sample(inputs, min(generator.randint(1, 5), len(inputs)))
    try:
        states = execute(program, merge, Limits(states=5_000), compared=fewer, inputs=asked)
    except LimitReached:  # a loop in a loop in a loop
        reject()
    assert len(states.outputs) == len({state.outputs for state in states.states})
    for _ in range(rounds):
        noise = Noise(generator)
        for input in generator.sample(inputs, min(12, len(inputs))):
            found, held = distribution_of_states(states, input, noise)
            assert found == distribution(program, input, noise)
            if not states.choices:
                assert len(held) == 1


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(), seed=st.integers(0, 2**32))
def test_states_partition_and_agree_with_the_interpreter(
    merge: bool, program: core.Program, seed: int
) -> None:
    check_partition(program, merge, seed, 3, few_inputs=True)


@given(program=programs(orders_only=True), seed=st.integers(0, 2**32))
def test_merged_orders_partition_and_agree_with_the_interpreter(
    program: core.Program, seed: int
) -> None:
    check_partition(program, True, seed, 6, few_inputs=True)


@pytest.mark.parametrize("merge", [False, True])
@examples(4)
@given(program=programs(integers=True), seed=st.integers(0, 2**32))
def test_states_of_integers_partition_ties_included(
    merge: bool, program: core.Program, seed: int
) -> None:
    check_partition(program, merge, seed, 6, few_inputs=True)


@pytest.mark.parametrize("merge", [False, True])
@examples(4)
@given(program=programs(choices=True), seed=st.integers(0, 2**32))
def test_states_with_choices_and_loops_have_the_right_probabilities(
    merge: bool, program: core.Program, seed: int
) -> None:
    check_partition(program, merge, seed, 2, few_inputs=True)


@given(program=programs(choices=True), seed=st.integers(0, 2**32))
def test_states_whose_choices_depend_on_the_input_have_the_right_probabilities(
    program: core.Program, seed: int
) -> None:
    check_partition(program, True, seed, 2, fewer=True, few_inputs=True)


@given(programs(choices=True), st.randoms(use_true_random=False))
def test_parts_multiply(whole: core.Program, random_: random.Random) -> None:
    """For fixed samples and inputs, choices are the only randomness left."""
    check_product(whole, random_)


def check_product(whole: core.Program, random_: random.Random) -> None:
    noise = Noise(random_)
    input = tuple(random_.choice(cell.domain) for cell in whole.inputs)
    parts = independent_parts(whole)
    assert sorted(k for part in parts for k in part.outputs) == list(range(len(whole.outputs)))
    found: dict[tuple[core.Value, ...], Fraction] = {}
    each = [
        list(distribution(part.program, tuple(input[k] for k in part.inputs), noise).items())
        for part in parts
    ]
    for chosen in product(*each):
        values = joined(parts, [outputs for outputs, _ in chosen])
        found[values] = prod((p for _, p in chosen), start=Fraction(1))
    assert found == distribution(whole, input, noise)


def joined(
    parts: tuple[ProgramPart, ...], outputs: list[tuple[core.Value, ...]]
) -> tuple[core.Value, ...]:
    places = {
        place: value
        for part, values in zip(parts, outputs, strict=True)
        for place, value in zip(part.outputs, values, strict=True)
    }
    return tuple(places[k] for k in range(len(places)))


@pytest.mark.parametrize(
    ("domain", "body"),
    [
        ("0, 2", "z <- DLap(q/2, 1/eps)\nif z > 0 then out <- 1 else out <- 0 end"),
        ("0, 1/2", "z <- DLap(0, 1/eps)\nif z <= q then out <- 1 else out <- 0 end"),
    ],
)
def test_inputs_that_are_no_integers_are_told_apart(domain: str, body: str) -> None:
    text = f"input q in {{{domain}}}\noutput out in {{0, 1}}\nadjacent all\n{body}\n"
    check_partition(elaborate(parse(text), {}, "program"), True, 1, 20)


def test_structure_is_that_of_states_that_are_not_merged() -> None:
    """Table 6 of DiPApprox (CCS 2025), SVT-Gauss with N = 2; Table 7 is made by `tables`."""
    program = load(BUNDLED / "svt_gauss.dpg", {"N": Fraction(2)})
    found = measure_structure(execute(program, False, Limits()))
    assert found == Structure(3, Fraction(5, 3), Fraction(7, 3), 3, Fraction(8, 3), 3)
    with pytest.raises(ValueError, match="not merged"):
        measure_structure(execute(program, True, Limits()))
