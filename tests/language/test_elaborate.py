"""Surface to core: unrolling, expansion of sugar, folding, scales, domains, adjacency."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.language import core
from dipapprox.language.core import (
    Everyone,
    Listed,
    Norm,
    Within,
)  # fmt: skip
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import core_of


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- 2\nout <- m", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k <- 2\nout <- v[1]", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nk, v[k] <- 2\nout <- v[2]", 2),
        ("b[1] <- q[1] > 5\nk <- 1\nb[k], c <- q[1] < 5\nif b[1] and c then out <- 2 end", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- max(v)\nout <- m + v[1]", 16),
    ],
)
def test_targets_are_assigned_from_left_to_right(body: str, expected: int) -> None:
    header = "input q[2] in {0, 1}\noutput out in 0..20\nadjacent linf 1\n"
    states = execute(core_of(header + body + "\n"), True, Limits())
    assert states.outputs == ((Fraction(expected),),)


@pytest.mark.parametrize(
    ("written", "adjacency"),
    [
        ("", Everyone()),
        ("adjacent all", Everyone()),
        ("adjacent l1 3/2", Within(Norm.L1, Fraction(3, 2))),
        ("adjacent l0 1", Within(Norm.L0, Fraction(1))),
        ("adjacent { 0 ~ 1 }", Listed((((Fraction(0),), (Fraction(1),)),))),
        ("adjacent { 0 ~ 3/2 }", Listed((((Fraction(0),), (Fraction(3, 2),)),))),
        ("adjacent { -3/2 ~ 1 }", Listed((((Fraction(-3, 2),), (Fraction(1),)),))),
    ],
)
def test_adjacency(written: str, adjacency: core.Adjacency) -> None:
    program = core_of(
        f"input q in {{-3/2, 0, 1, 3/2}}\noutput out in {{0, 1}}\n{written}\nout <- 0"
    )
    assert program.adjacency == adjacency
