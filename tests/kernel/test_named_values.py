"""Named values may be called as the words of programs are, and are none all the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.forward import Run
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.signs import Signs

X = ["cell", "x"]
A, B = {"name": "a"}, {"name": "b"}


@pytest.mark.parametrize(
    ("relation", "left", "right", "holds"),
    [
        ("=", A, A, True),
        ("=", A, B, False),
        ("!=", A, 1, True),
        ("=", 1, A, False),
        ("<", A, B, None),
        (">=", 1, A, None),
        ("=", X, A, None),
        ("!=", A, X, None),
    ],
)
def test_named_values_are_only_equal_or_not(
    relation: str, left: object, right: object, holds: bool | None
) -> None:
    """And no samples, which are real numbers."""
    machine = {
        "inputs": [],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [
            ["draw", X, "Lap", 0, [1, 0]],
            ["set", ["cell", "o"], 0],
            ["if", [relation, left, right], [["set", ["cell", "o"], 1]], []],
        ],
    }
    run = Run(read_machine(machine), Signs.at(Fraction(1)), Graph())
    if holds is not None:
        assert list(run.outcomes([()])[()]) == [(int(holds),)]
        return
    with pytest.raises(NotProved):
        run.outcomes([()])
