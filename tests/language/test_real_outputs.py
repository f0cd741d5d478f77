"""Outputs that may be any real number: what is accepted, and what is said of what is not."""

from __future__ import annotations

import pytest

import dipapprox
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute

HEAD = "input q[2] in {0, 1}\nadjacent linf 1\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("output y in real\nif q[1] = 1 then\n  y <- 0\nend\n", "'y' is never assigned"),
        ("output y[2] in real\ny[1] <- 1\n", "'y[2]' is never assigned"),
        (
            "output y in real\ny <- Lap(0, 1 / eps)\ny <- Lap(0, 1 / eps)\n",
            "the real output 'y' is assigned twice",
        ),
        (
            "output y in real\na <- Lap(0, 1 / eps)\ny <- a * Lap(0, 1 / eps)\n",
            "product of two reals",
        ),
        ("output y in real\ny <- DLap(q[1], 1 / eps)\n", "'y' is real, but a random integer"),
        ("output y in real\noutput c in {a}\nc <- a\ny <- a\n", "but a named value is assigned"),
        ("output y in real 0..1\ny <- 0\n", "a real output has no bounds"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        program = dipapprox.parse(HEAD + text)
        execute(program, True, Limits(), real_outputs=True)
    assert said in str(error.value)
