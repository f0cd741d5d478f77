"""Named values may be called as the words of programs are, and are none all the same."""

from __future__ import annotations

import pytest

from dipapprox.kernel.replay import replay
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
