"""True claims are proved, and claims a hair away from them, which are false, are not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.kernel.adjacency import adjacent_pairs
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.judgements import Private, Violated
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.replay import replay
from kernel.small import CLOSED, LISTED, SMALL, Small
from tests.thorough import part


@pytest.mark.parametrize("small", [*part(SMALL, 2), *LISTED], ids=lambda small: small.name)
def test_enclosures_tell_a_hair(small: Small) -> None:
    machine = small.machine
    private, violated = (
        replay(machine, *small.private(small.above())),
        replay(machine, *small.violated(small.below())),
    )
    assert isinstance(private, Private)
    assert isinstance(violated, Violated)
    assert private.eps == violated.eps == Fraction(1, 2)
    with pytest.raises(Refuted):
        replay(machine, *small.private(small.below()))
    with pytest.raises(Refuted):
        replay(machine, *small.violated(small.above()))


@pytest.mark.parametrize("small", CLOSED, ids=lambda small: small.name)
def test_closed_forms_tell_a_hair(small: Small) -> None:
    replay(small.machine, *small.private(small.above(), exactly=True))
    with pytest.raises(Refuted):
        replay(small.machine, *small.private(small.below(), exactly=True))


def test_a_violation_of_a_pair_that_is_not_meant_is_refuted() -> None:
    small = LISTED[0]
    claim, steps = small.violated(small.below())
    first, second = small.pairs[0]
    for pairs in ([[second, first]], [[first, first]]):
        with pytest.raises(Refuted):
            replay(small.machine, {**claim, "pairs": pairs}, steps)


def test_inputs_without_a_distribution_and_premises_of_runs_are_refused() -> None:
    for small in (SMALL[0], CLOSED[0]):
        exactly = small is CLOSED[0]
        claim, (run, step) = small.private(small.above(), exactly)
        with pytest.raises(Refuted):
            replay(small.machine, claim, [{**run, "inputs": [small.worst[0]]}, step])
        with pytest.raises(BadProof):
            replay(small.machine, claim, [run, {**run, "from": [0]}, step])
        found = replay(small.machine, claim, [run, step])
        assert isinstance(found, Private)
        machine = read_machine(small.machine)
        assert found.count == len(list(adjacent_pairs(machine.adjacency, machine.domains)))
