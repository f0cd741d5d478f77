"""Independent parts of programs."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from enum import Enum
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.laws.distribution import Scale
from dipapprox.laws.family import Family
from dipapprox.semantics.parts import ProgramPart, independent_parts
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.strategies import programs


@given(programs(choices=True), st.randoms(use_true_random=False))
def test_parts_multiply(whole: core.Program, random_: random.Random) -> None:
    """For fixed samples and inputs, choices are the only randomness left."""
    check_product(whole, random_)


@given(programs(choices=True), programs(), st.randoms(use_true_random=False))
def test_programs_side_by_side_are_parts(
    first: core.Program, second: core.Program, random_: random.Random
) -> None:
    """One after the other, with the same scratch variables and outputs of their own."""
    second = renamed(second)
    outputs = (*first.outputs, *second.outputs)
    body = (*first.body, *second.body)
    both = core.Program("both", {}, first.inputs, outputs, body, core.Everyone())
    assume(not any(isinstance(each, core.Exit) for each in statements_in(first.body)))
    for part in independent_parts(both):
        assert len({place < len(first.outputs) for place in part.outputs}) <= 1
    check_product(both, random_)


def renamed(node: Any) -> Any:
    """Call the outputs `two` instead of `out`."""
    match node:
        case str():
            return node.replace("out", "two")
        case tuple():
            return tuple(map(renamed, node))
        case Enum() | Family() | Scale() | Fraction() | int() | None | dict():
            return node
        case _:
            names = [each.name for each in fields(node) if each.init and each.name != "span"]
            return replace(node, **{name: renamed(getattr(node, name)) for name in names})


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
