"""True claims are proved, and claims a hair away from them, which are false, are not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.judgements import Private, Violated
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
