"""Independent parts of programs."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.language import core
from dipapprox.semantics.parts import ProgramPart, independent_parts
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.strategies import programs


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
