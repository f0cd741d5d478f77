"""What claims of budgets are about, as JSON that `kernel.rounds` reads: programs."""

from __future__ import annotations

from dipapprox.errors import NoCertificate
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.domains import AllReals
from dipapprox.proof_steps.machines import Json, adjacency_json, block_json, number_json, value_json


def rounds_json(program: core.Program) -> dict[str, Json]:
    """Return a program whose inputs are any numbers, once or round after round."""
    if program.rounding is not None:
        raise NoCertificate("the program has irrational scales")
    rounds = program.rounds
    statements = (*program.body, *(() if rounds is None else rounds.body))
    draws = [each for each in statements_in(statements) if isinstance(each, core.Draw)]
    prefix = "" if rounds is None else core.NEXT
    inputs: list[Json] = []
    for cell in program.inputs:
        bounds = None
        if isinstance(cell.domain, AllReals):
            bounds = cell.domain.bounds
        elif any(isinstance(value, str) for value in cell.domain):
            raise NoCertificate(f"the input '{cell.name}' has named values")
        low, high = (None, None) if bounds is None else map(number_json, bounds)
        inputs.append([prefix + cell.name, {"low": low, "high": high}])
    padding: Json = None
    first: list[Json] = [cell.name for cell in program.published]
    shown: dict[str, Json] = {"whenever": [], "first": first, "each": []}
    if rounds is not None:
        each: list[Json] = list(rounds.each)
        shown = {"whenever": [core.PUBLISHED], "first": list(rounds.before), "each": each}
        if rounds.padding is not None and len(rounds.padding) == len(each):
            # Otherwise no round ends the program.
            padding = [value_json(value) for value in rounds.padding]
    return {
        "inputs": inputs,
        "whole": any(draw.family.is_discrete for draw in draws),
        "adjacency": adjacency_json(program.adjacency),
        "body": block_json(program.body),
        "round": None if rounds is None else block_json(rounds.body),
        "published": {**shown, "ends": True, "padding": padding},
    }
