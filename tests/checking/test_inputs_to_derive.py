"""How many inputs a check derives again is known before they are made."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.checking.inputs import MOST_INPUTS, inputs_to_derive
from dipapprox.checking.values import Stuck

PROGRAM = """
param N = 3
input  q[N] in {0, 1}
output out in {0, 1}
adjacent linf 1
out <- q[1]
"""


def test_inputs_of_listed_pairs_come_once() -> None:
    zero, one = Fraction(0), Fraction(1)
    u, v, w = (zero, zero, zero), (zero, zero, one), (one, one, one)
    program = dipapprox.parse(PROGRAM)
    assert inputs_to_derive(program, [(u, v), (v, u), (u, w)]) == [u, v, w]
    assert len(inputs_to_derive(program, None)) == 8


def test_too_many_are_counted_and_not_made() -> None:
    program = dipapprox.parse(PROGRAM, {"N": 200})
    with pytest.raises(Stuck, match=rf"{2**200} inputs .* limit is {MOST_INPUTS}"):
        inputs_to_derive(program, None)
