"""Programs that compare integer noise with offsets, against sums over all that it may be."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import dipapprox
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute

REACH = 32
VALUES = np.arange(-REACH, REACH + 1)
Grid = list[NDArray[np.int64]]

TOP_TWO = """
param N = 3
input q[N] in {0, 1}
output first in 1..N
output second in 1..N
for i in 1..N do
    v[i] <- DLap(q[i], 1 / eps)
end
first <- argmax(v)
v[first] <- v[first] - 2
second <- argmax(v)
"""

BAND = """
input q[2] in {0, 1}
output out[2] in {below, near, above}
t <- DLap(0, 1 / eps)
for i in 1..2 do
    r <- DLap(q[i], 1 / eps)
    if r < t - 2 then
        out[i] <- below
    else
        if r <= t + 1 then
            out[i] <- near
        else
            out[i] <- above
        end
    end
end
"""


def top_two(noise: Grid) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    """Ties go to the first."""
    stack = np.stack(noise)
    first = stack.argmax(axis=0)
    after = stack - 2 * (np.arange(len(noise))[:, None, None, None] == first)
    second = after.argmax(axis=0)
    pairs = product(range(3), repeat=2)
    return {(str(a + 1), str(b + 1)): (first == a) & (second == b) for a, b in pairs}


def band(noise: Grid) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    threshold, *others = noise
    places = [
        {"below": r < threshold - 2, "near": (r >= threshold - 2) & (r <= threshold + 1),
         "above": r > threshold + 1}
        for r in others
    ]  # fmt: skip
    return {pair: places[0][pair[0]] & places[1][pair[1]] for pair in product(places[0], repeat=2)}


@pytest.mark.parametrize(
    ("text", "outcomes", "means"),
    [(TOP_TWO, top_two, lambda q: q), (BAND, band, lambda q: (0, *q))],
    ids=["top two", "band"],
)
def test_probabilities_are_those_of_all_integers(
    text: str,
    outcomes: Callable[[Grid], dict[tuple[str, ...], NDArray[np.bool_]]],
    means: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> None:
    program = dipapprox.parse(text)
    for chosen in ((0, 1, 1), (1, 0, 1)):
        q = chosen[: len(program.inputs)]
        laws = [np.exp(-np.abs(VALUES - mean)) for mean in means(q)]
        laws = [law / law.sum() for law in laws]
        weight = np.einsum("i,j,k->ijk", *laws)
        grid = list(np.meshgrid(*[VALUES] * len(laws), indexing="ij"))
        found = dipapprox.probability(program, eps="1", input=[Fraction(x) for x in q])
        expected = {key: float(weight[where].sum()) for key, where in outcomes(grid).items()}
        for output in found.outputs:
            key = tuple(str(value) for value in output.output)
            about = expected.pop(key)
            assert float(output.probability.lower) - 1e-12 < about
            assert about < float(output.probability.upper) + 1e-12
        assert not any(expected.values())


def test_integers_have_one_state_for_each_output() -> None:
    states = execute(dipapprox.parse(TOP_TWO), True, Limits())
    assert len(states.states) <= 12
