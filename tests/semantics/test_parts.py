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
from dipapprox.semantics.parts import ProgramPart, independent_parts, is_seen_whole
from tests.semantics.examples import assign, cells, choose, compare, draw, program, sparse_vector
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.strategies import programs
from tests.semantics.test_choices import coin

BITS = cells("q", 3, (0, 1))
OUTS = cells("out", 3, (0, 1, 2))


def split(body: list[core.Statement]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(p.inputs, p.outputs) for p in independent_parts(program(BITS, OUTS, body))]


def publish(k: int, name: str) -> core.Statement:
    return choose(compare(name, ">", 0), [assign(f"out[{k}]", 1)], [assign(f"out[{k}]", 0)])


def test_scratch_variables_are_used_again() -> None:
    body: list[core.Statement] = []
    for k in (1, 2, 3):
        body += [draw("x", f"q[{k}]", k), publish(k, "x")]
    assert split(body) == [((0,), (0,)), ((1,), (1,)), ((2,), (2,))]


def test_a_shared_sample_ties() -> None:
    body = [
        draw("t", 0, 0),
        draw("x", "q[1]", 1),
        publish(1, "t"),
        publish(2, "x"),
        publish(3, "t"),
    ]
    assert split(body) == [((), (0, 2)), ((0,), (1,))]


def test_what_is_not_random_is_copied() -> None:
    """One input decides two constants; the noise is independent."""
    table = choose(
        compare("q[2]", "=", 1),
        [assign("a", 1), assign("b", 2)],
        [assign("a", 2), assign("b", 1)],
    )
    body = [table, draw("x", "a", 0), publish(1, "x"), draw("y", "b", 1), publish(3, "y")]
    body.append(assign("out[2]", "a"))
    assert split(body) == [((1,), (0,)), ((1,), (2,)), ((1,), (1,))]


def test_a_conditional_assignment_keeps_what_was_before() -> None:
    body = [coin("out[1]", 0), coin("c", 1)]
    body += [choose(compare("c", "=", 1), [assign("out[1]", 2)]), assign("out[2]", "c")]
    body.append(assign("out[3]", 0))
    assert split(body) == [((), (0, 1)), ((), (2,))]


def test_an_exit_ties_what_comes_after_it() -> None:
    body = [
        coin("out[3]", 0),
        assign("out[1]", 0),
        assign("out[2]", 0),
        coin("c", 1),
        choose(compare("c", "=", 1), [core.Exit()]),
        coin("out[1]", 2),
        coin("out[2]", 3),
    ]
    assert split(body) == [((), (2,)), ((), (0, 1))]


def test_sparse_vector_is_one_part() -> None:
    assert is_seen_whole(sparse_vector(4))
    assert len(independent_parts(sparse_vector(4))) == 1


@given(programs(choices=True), programs(choices=True))
def test_what_is_seen_to_be_whole_has_one_part(first: core.Program, second: core.Program) -> None:
    end = (choose(compare("q[1]", "=", 0), [core.Exit()]), *renamed(second).body)
    outputs = (*first.outputs, *renamed(second).outputs)
    for body, own in ((first.body, first.outputs), ((*first.body, *end), outputs)):
        both = core.Program("both", {}, first.inputs, own, body, core.Everyone())
        if is_seen_whole(both):
            parts = independent_parts(both)
            assert sum(part.random and bool(part.outputs) for part in parts) == 1


def test_statements_that_no_output_needs_are_kept() -> None:
    """Their faults and laws are those of the program."""
    body = [coin("idle", 0), assign("useless", 1), *(assign(f"out[{k}]", 0) for k in (1, 2, 3))]
    parts = independent_parts(program(BITS, OUTS, body))
    kept = {id(statement) for part in parts for statement in part.program.body}
    assert kept == {id(statement) for statement in body}


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
