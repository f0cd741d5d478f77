"""Multisets as integers, and outputs that share columns: the same as one by one."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import read

from dipapprox.events.catalogue import Catalogue
from dipapprox.events.columns import FEW, Tallies
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute


@given(
    st.integers(1, 40).flatmap(
        lambda most: st.tuples(
            st.integers(most, 10**6),
            st.lists(st.lists(st.integers(0, 300), min_size=most, max_size=most), min_size=1),
        )
    )
)
def test_a_tally_has_the_entries_that_were_added(given: tuple[int, list[list[int]]]) -> None:
    """Few entries fit 64 bits, many do not: nothing else changes."""
    most, multisets = given
    tallies = Tallies(most)
    columns = np.array(multisets, np.int64).T
    total = np.zeros(len(multisets), np.int64)
    for column in columns:
        total = total + tallies.units(column)
    for multiset, tally in zip(multisets, total.tolist(), strict=True):
        assert tally == sum(map(tallies.unit, multiset))
        assert tallies.content(tally) == tuple(sorted(Counter(multiset).items()))


def sparse_vector(values: int) -> core.Program:
    """Leaves with so many laws on either side of the centre."""
    return read(f"""
        input q[8] in 0..{values - 1}
        output o[8] in {{0, 1}}
        adjacent all
        for i in 1..8 do o[i] <- 0 end
        t <- Gauss(0, 1 / eps)
        for i in 1..8 do
            r <- Gauss(q[i], 2 / eps)
            if r >= t then
                o[i] <- 1
                exit
            end
        end
    """)


@pytest.mark.parametrize("values", [2, 12])
def test_outputs_with_inputs_of_their_own_have_the_states_that_they_have_alone(
    values: int,
) -> None:
    program = sparse_vector(values)
    states = execute(program, True, Limits())
    chance = random.Random(values)
    domains = [cell.domain for cell in program.inputs]
    asked = [
        (output, [tuple(map(chance.choice, domains)) for _ in range(size)])
        for output, size in enumerate([3, FEW + 1, 400, 1, 60, 700, 30, 400, 90])
    ]
    shared, alone = Catalogue(states, Fraction(1, 2)), Catalogue(states, Fraction(1, 2))
    for (output, inputs), found in zip(asked, shared.columns_of(asked), strict=True):
        (group,) = found
        (row,) = group.solutions.tolist()
        for input, solution in zip(inputs, row, strict=True):
            (((_, numbers),),) = alone.states((input,), (output,))
            own = shared.solutions[solution]
            assert own is not None
            assert [shared.events[k] for k in own] == [alone.events[k] for k in numbers]
