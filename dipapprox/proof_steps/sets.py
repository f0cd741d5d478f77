"""Pairs of real inputs with the largest deltas of all: those that the kernel finds."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.sets import representatives
from dipapprox.proof_steps.machines import Json, value_json


def single_inputs(machine: Json) -> Json:
    """Return the inputs of pairs of which delta is largest; None if finitely many are not enough.

    Args:
        machine: As the kernel reads it.
    """
    try:
        pairs = representatives(read_machine(machine))
    except Refuted:
        return None
    inputs = dict.fromkeys(u for pair in pairs for u in pair)
    return [*map(values_json, inputs)]


def values_json(input: Input) -> Json:
    """Return an input of the kernel as it reads it."""
    return [value_json(each if isinstance(each, str) else Fraction(each)) for each in input]
