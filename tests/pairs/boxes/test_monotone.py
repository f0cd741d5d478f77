"""Pairs of real inputs that need most for δ = 0: no other pair of a grid needs more."""

from itertools import product

import pytest
from scipy.stats import norm

import dipapprox
from dipapprox.limits import Limits
from dipapprox.pairs.boxes.monotone import dearest_pairs
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.real_inputs import execute_for_declared


def dearest(adjacency: str, inputs: int, body: str) -> list[Pair]:
    text = f"input q[{inputs}] in real 0..2\noutput o[2] in real\noutput z in 0..2\n"
    program = dipapprox.parse(f"{text}adjacent {adjacency}\n{body}\n")
    return dearest_pairs(execute_for_declared(program, True, Limits()))


CLAMPED = """x <- Gauss({one}, 1)
y <- Gauss({two}, 1)
o[1] <- clamp(x, 1/2, 1)
o[2] <- clamp(y, 0, 3)
z <- 0"""


@pytest.mark.parametrize(
    ("inputs", "one", "two"),
    [(1, "q[1]", "-2*q[1]"), (2, "q[1]", "2*q[2] - 1"), (2, "q[1] - q[2]", "0")],
)
def test_no_pair_needs_more(inputs: int, one: str, two: str) -> None:
    def needed(pair: Pair) -> float:
        total = 0.0
        for mean, low, high in ((one, 0.5, 1.0), (two, 0.0, 3.0)):
            m, other = (eval(mean, {"q": [None, *map(float, u)]}) for u in pair)
            up = norm.logsf(high - m) - norm.logsf(high - other)
            down = norm.logcdf(low - m) - norm.logcdf(low - other)
            total += max(up, down)
        return total

    found = dearest("linf 1", inputs, CLAMPED.format(one=one, two=two))
    steps = [k / 4 for k in range(9)]
    grid = product(product(steps, repeat=inputs), repeat=2)
    near = [p for p in grid if all(abs(x - y) <= 1 for x, y in zip(*p, strict=True))]
    assert max(map(needed, found)) == pytest.approx(max(map(needed, near)), rel=1e-12)


@pytest.mark.parametrize(
    ("adjacency", "body"),
    [
        ("l1 1", CLAMPED.format(one="q[1]", two="q[2]")),  # both may have a part
        ("linf 1", CLAMPED.format(one="q[1] + q[2]", two="q[1] - q[2]")),
        ("linf 1", "x <- Gauss(q[1], 1)\no[1] <- abs(x)\no[2] <- 0\nz <- 0"),
        ("linf 1", "x <- Gauss(q[1], 1)\no[1] <- x\no[2] <- x + Gauss(0, 1)\nz <- 0"),
        ("linf 1", "x <- LapMinus(q[1], 1)\no[1] <- clamp(x, 3/2, 5)\no[2] <- 0\nz <- 0"),
        ("linf 1", "x <- LapPlus(q[1], 1)\no[1] <- clamp(x, 0, 1/2)\no[2] <- 0\nz <- 0"),
        (
            "linf 1",
            "x <- Gauss(q[1], 1)\nif x > 0 and x < 1 then z <- 1 else z <- 0 end\n"
            "o[1] <- 0\no[2] <- 0",
        ),
    ],
)
def test_what_is_not_covered(adjacency: str, body: str) -> None:
    assert dearest(adjacency, 2, body) == []
