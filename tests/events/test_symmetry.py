"""Swaps of cells: every one that is found is true, and those of the shipped programs are found."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import UNEVEN_MAX, read
from scrambled import Scrambled

from dipapprox.events.symmetry import CellSymmetry
from dipapprox.language.core import Input, Listed, Program
from dipapprox.limits import Limits
from dipapprox.pairs.counters import plan_counters
from dipapprox.pairs.walk import plan_walk
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.texts import text_of


def swapped(input: Input, first: int, second: int) -> Input:
    values = list(input)
    values[first], values[second] = values[second], values[first]
    return tuple(values)


@st.composite
def alike(draw: st.DrawFn) -> Program:
    """Three or four queries that are treated nearly alike: some swaps hold, some nearly do."""
    size = draw(st.integers(3, 4))
    odd = st.sampled_from([1, 1, 1, 1, 1, 2])
    lines = [f"input q[{size}] in {{0, 1}}", "output out[2] in 0..9", "adjacent all"]
    lines += ["out[1] <- 0", "out[2] <- 0", "t <- Gauss(0, 1 / eps)"]
    for i in range(1, size + 1):
        lines.append(f"r[{i}] <- Gauss({draw(odd)} * q[{i}], {draw(odd)} / eps)")
    index = st.integers(1, size)
    depth = 0
    for number in range(1, draw(st.integers(1, 5)) + 1):
        left = f"r[{draw(index)}] {draw(st.sampled_from(['>=', '<']))}"
        right = draw(st.sampled_from(["t", "1", f"r[{draw(index)}]", f"q[{draw(index)}]"]))
        condition = draw(st.sampled_from([f"{left} {right}", f"q[{draw(index)}] = 1"]))
        lines += [f"if {condition} then", f"out[{draw(st.integers(1, 2))}] <- {number}"]
        if draw(st.booleans()):
            lines.append("else")
        depth += 1
        if draw(st.booleans()):
            lines.append("end")
            depth -= 1
    if draw(st.booleans()):
        lines.append("out[2] <- argmax(r)")
    return read("\n".join(lines + ["end"] * depth) + "\n")


@given(alike(), st.booleans())
def test_what_is_found_in_random_programs_is_true(program: Program, merge: bool) -> None:
    check_swaps(execute(program, merge, Limits()))


def check_swaps(states: FinalStates) -> None:
    """Made-up probabilities of events agree only where the events do."""
    cells = states.program.inputs
    source, symmetry = Scrambled(states, 3), CellSymmetry(states)
    law = {input: source.distribution(input, 0) for input in product(*(c.domain for c in cells))}
    for first, second in combinations(range(len(cells)), 2):
        swap = symmetry.swap(first, second)
        if swap is None:
            assert cells[first].domain != cells[second].domain
            continue
        matched = [output for output, found in enumerate(swap.matched) if found]
        before = sorted(tuple(law[input][o].lower for input in law) for o in matched)
        after = sorted(
            tuple(law[swapped(input, first, second)][o].lower for input in law) for o in matched
        )
        assert before == after
        for output in (output for output, found in enumerate(swap.fixed) if found):
            for input in law:
                assert law[input][output] == law[swapped(input, first, second)][output]
    for output, relevant in enumerate(symmetry.relevant):
        for input in law:
            values = [v if k in relevant else cells[k].domain[0] for k, v in enumerate(input)]
            assert law[input][output] == law[tuple(values)][output]


RESPONSES = text_of("pairs/symmetry-5")
"""Randomised response: every state needs choices of three sites."""

INTEGER_VECTOR = text_of("pairs/symmetry-6")
"""Sparse vector with discrete noise."""

MIXED = """
input  q[3] in {0, 1}
output out in 0..3
adjacent all
for i in 1..3 do
    b[i] <- choose { q[i] : 2 / 3, 0 : 1 / 3 }
    z[i] <- DLap(q[i], 1 / eps)
end
if b[1] + b[2] >= 2 then
    out <- 1
elif z[1] = z[3] or b[3] = 1 then
    out <- 2
elif z[2] < z[3] then
    out <- 3
else
    out <- 0
end
"""
"""Some swaps hold for some outputs only."""


@pytest.mark.parametrize("source", [RESPONSES, INTEGER_VECTOR, MIXED])
@pytest.mark.parametrize("merge", [True, False])
def test_what_is_found_with_choices_and_integers_is_true(source: str, merge: bool) -> None:
    check_swaps(execute(read(source), merge, Limits()))


def test_too_many_counters_are_refused() -> None:
    program = read(UNEVEN_MAX)
    assert not isinstance(program.adjacency, Listed)
    walk = plan_walk(program.inputs, program.adjacency)
    assert walk is not None
    symmetry = CellSymmetry(execute(program, True, Limits()))
    assert plan_counters(symmetry, program.inputs, walk, 50) is None
    assert plan_counters(symmetry, program.inputs, walk, 80) is not None
