"""Final states partition inputs and samples, and agree with a direct interpreter."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from dipapprox.errors import LimitReached
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
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
