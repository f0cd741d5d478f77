"""Booleans: cells, variables, and conditions that are assigned."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import core_of

HEADER = """\
input a, b in bool
input n in {0, 1}
output out in bool
output bit in {0, 1}
adjacent l0 1
"""


def body_of(text: str) -> core.Block:
    return core_of(HEADER + text).body


Computed = Callable[[bool, bool, int], bool]
"""What a program computes from a, b and n."""

VALUES = {"true": True, "false": False}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out <- a", lambda a, b, n: a),
        ("out <- not a or n = 1", lambda a, b, n: not a or n == 1),
        ("x <- a and b\ny <- x\nout <- not y", lambda a, b, n: not (a and b)),
        ("x <- n = 1\nif x then out <- b else out <- a end", lambda a, b, n: b if n else a),
        ("x <- n\nx <- a\nout <- x = 1", lambda a, b, n: a),
        ("v[1] <- a\nv[2] <- b\nout <- v[n + 1]", lambda a, b, n: b if n else a),
        ("x <- 1\nx <- a\nx <- x + 2 * x\nout <- x >= 3", lambda a, b, n: a),
        ("v[1] <- 0\nv[2] <- a\nv[1] <- b\nx <- max(v)\nout <- x = 1", lambda a, b, n: a or b),
        ("out <- a = b", lambda a, b, n: a == b),
        ("out <- true = a", lambda a, b, n: a),
        ("x, y <- a\nout <- x != (not y)", None),
        ("x <- 0\nwhile a and x < 3 do x <- x + 1 end\nout <- x = 3", lambda a, b, n: a),
        ("x <- b\nwhile x do x <- a and not b end\nout <- x or n = 1", lambda a, b, n: n == 1),
    ],
)
def test_programs_compute_with_truth_values(text: str, expected: Computed | None) -> None:
    if expected is None:
        with pytest.raises(Exception, match="conditions cannot be compared"):
            body_of(text + "\nbit <- 0")
        return
    states = execute(core_of(HEADER + text + "\nbit <- out"), True, Limits()).states
    for input in product(VALUES, VALUES, (0, 1)):
        cells = dict(zip(("a", "b", "n"), input, strict=True))
        reached = [
            state.outputs
            for state in states
            if all(cells[str(c.cell)] in (c.values or ()) for c in state.conditions)
        ]
        truth = expected(VALUES[input[0]], VALUES[input[1]], input[2])
        assert reached == [("true" if truth else "false", Fraction(truth))]
