"""Grids of real inputs: the largest delta of pairs that are looked at one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

from dipapprox.kernel.adjacency import Input, Range
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.rules import distributions
from dipapprox.proof_steps.machines import number_json


def largest_on_grid(
    machine: Machine, eps: Fraction, eps_prv: Fraction, step: Fraction, most: int = 2000
) -> float:
    """The largest delta of adjacent pairs on a grid, from below."""
    sides = []
    for _, domain in machine.inputs:
        if isinstance(domain, Range):
            assert domain.low is not None
            assert domain.high is not None
            count = min(int((domain.high - domain.low) / step), 16)
            sides.append([domain.low + k * step for k in range(count + 1)])
        else:
            assert isinstance(domain, tuple)
            sides.append(list(domain))
    inputs: list[Input] = list(product(*sides))
    if len(inputs) > most:
        return 0.0
    listed: list[Any] = [
        [{"name": v} if isinstance(v, str) else number_json(Fraction(v)) for v in each]
        for each in inputs
    ]
    proof = Proof(machine, None)
    found = distributions(
        proof, {"eps": number_json(eps), "inputs": listed, "bits": 30, "cuts": []}
    )
    unit, growth = 2**found.places, exp(eps_prv) + 1e-12
    bounds = {
        each: ([x / unit for x in low], [x / unit for x in high])
        for each, (low, high) in found.bounds.items()
    }
    return max(
        (
            sum(max(0.0, a - growth * b) for a, b in zip(bounds[u][0], bounds[v][1], strict=True))
            for u, v in product(inputs, inputs)
            if machine.adjacency.holds(u, v)
        ),
        default=0.0,
    )
