"""Inputs that are run together end as each does alone: where they part, what they forget."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, total
from dipapprox.kernel.expressions import value_of
from dipapprox.kernel.forms import UNTOLD
from dipapprox.kernel.forward import TOGETHER, Run
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.signs import Signs
from dipapprox.language.load import load
from dipapprox.proof_steps.liveness import machine_json
from kernel.machines import finite

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

U, V, X, Y, OUT = (["cell", name] for name in "uvxyo")

BODIES: dict[str, list[Any]] = {
    "read in a branch alone": [
        ["choose", X, [[0, 1], [1, 2]], True],
        ["if", ["=", X, 1], [["set", OUT, U]], [["set", OUT, 0]]],
    ],
    "assigned before it is read": [["set", U, 1], ["set", OUT, ["+", U, V]]],
    "read through an index": [
        ["set", ["cell", "a[1]"], 2],
        ["set", ["cell", "a[2]"], V],
        ["set", OUT, ["element", "a", 2, ["+", U, 1]]],
    ],
    "read on the right of an and": [
        ["set", OUT, 0],
        ["if", ["and", ["=", U, 1], ["<", V, 1]], [["set", OUT, 1]], []],
    ],
    "a mean, twice": [
        ["draw", X, "Lap", U, [1, -1]],
        ["draw", Y, "Lap", ["*", V, 2], [2, -1]],
        ["if", [">", X, Y], [["set", OUT, 1]], [["set", OUT, V]]],
    ],
    "a chance, and a loop that ends by it": [
        ["set", X, 0],
        ["while", ["=", X, 0], [["choose", X, [[0, ["+", U, 1]], [1, ["+", V, 2]]], True]]],
        ["set", OUT, ["+", X, U]],
    ],
    "forgotten, then set": [["forget", ["u"]], ["set", U, V], ["set", OUT, U]],
}


def machine(body: list[Any]) -> Any:
    inputs = [["u", [0, 1]], ["v", [0, 1]]]
    return read_machine(finite(body, inputs=inputs, outputs=[["o", [0, 1, 2]]]))


def outcomes(of: Any, batches: list[list[Any]]) -> dict[Any, dict[Any, Ratio]]:
    """Inputs, each with the outputs that it may have and their probabilities."""
    signs, graph = Signs.at(Fraction(1, 2)), Graph()
    run, found = Run(of, signs, graph), {}
    for batch in batches:
        found.update(run.outcomes(batch))
    scalars = {scalar for own in found.values() for each in own.values() for scalar in each}
    values = exact_values(graph, scalars, signs)
    return {
        input: {output: total(values[k] for k in each) for output, each in own.items()}
        for input, own in found.items()
    }


@pytest.mark.parametrize("name", BODIES)
def test_small_machines(name: str) -> None:
    of = machine(BODIES[name])
    inputs = list(product((0, 1), repeat=2))
    alone = outcomes(of, [[input] for input in inputs])
    assert outcomes(of, [inputs]) == alone
    assert outcomes(of, [inputs[::-1]]) == alone
    assert len({str(own) for own in alone.values()}) > 1


@pytest.mark.parametrize(("name", "size"), [("svt_laplace", 3), ("random_stopping", 2)])
def test_programs(name: str, size: int) -> None:
    of = read_machine(machine_json(load(PROGRAMS / f"{name}.dpg", {"N": Fraction(size)})))
    inputs = list(product(*of.domains))[:TOGETHER]
    alone = outcomes(of, [[input] for input in inputs])
    assert outcomes(of, [inputs]) == alone
    assert outcomes(of, [inputs[:2], inputs[2:]]) == alone


def test_what_is_not_told_is_not_read() -> None:
    with pytest.raises(NotProved, match="holds nothing"):
        value_of(("+", ("cell", "u"), 1), {"u": UNTOLD}, 0)
