"""Named values may be called as the words of programs are, and are none all the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.forward import Run
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Signs
from dipapprox.proof_steps.independent_parts import parts_proof
from dipapprox.proof_steps.liveness import machine_json
from kernel.small import program_of

CLAIM = {"verdict": "DP", "eps": 1, "eps_prv": 2, "delta": "1/4", "pairs": None}


@pytest.mark.parametrize("word", ["forget", "cell", "moving", "set", "draw", "element", "option"])
def test_values_are_no_words(word: str) -> None:
    """Options that begin with such a value, and a weight that mentions a cell, or eps."""
    text = f"""
    input q[2] in {{0, 1}}
    output out[2] in {{{word}, stay}}
    adjacent linf 1
    for i in 1..2 do
        if q[i] = 0 then
            out[i] <- choose {{{word} : 1 / (1 + exp(-eps)), stay : exp(-eps) / (1 + exp(-eps))}}
        else
            out[i] <- choose {{{word} : q[i] / 2, stay : 1 - q[i] / 2}}
        end
    end
    """
    machine = machine_json(program_of(text))
    assert replay(machine, CLAIM, parts_proof(machine, CLAIM, None))


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
        assert list(run.outcomes(())) == [(int(holds),)]
        return
    with pytest.raises(NotProved):
        run.outcomes(())
