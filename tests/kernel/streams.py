"""Machines that read numbers round after round, or once, in JSON."""

from typing import Any

from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay

Json = Any


def read(cell: str, name: str = "next q") -> Json:
    """Read the next number of a stream, or one of the inputs."""
    return ["set", ["cell", cell], ["cell", name]]


def draw(cell: str, mean: Json, size: Json = 1, family: str = "Lap") -> Json:
    return ["draw", ["cell", cell], family, mean, [size, -1]]


def say(value: Json) -> Json:
    return ["set", ["cell", "out"], value]


def stream(body: list[Json], turn: list[Json] | None, **changed: Json) -> Json:
    """A machine that publishes what "out" gets, and whose input changes by 1 at most."""
    seen = {"whenever": ["out"], "first": [], "each": [], "ends": True, "padding": None}
    return {
        "inputs": [["next q", {"low": None, "high": None}]],
        "whole": False,
        "adjacency": {"norm": "linf", "radius": 1},
        "body": body,
        "round": turn,
        "published": seen,
        **changed,
    }


def once(adjacency: Json, *names: str, **changed: Json) -> Json:
    """One sample around each input; whether all are above 0 is published."""
    inputs = [[name, {"low": None, "high": None}] for name in names]
    body = [draw(f"x {name}", ["cell", name]) for name in names]
    above: Json = [say(1)]
    for name in names:
        above = [["if", [">", ["cell", f"x {name}"], 0], above, [say(0)]]]
    machine = stream([*body, *above], None, inputs=inputs, adjacency=adjacency)
    return {**machine, **changed}


RAY = {"rule": "ray", "from": [], "eps": "every", "paths": [0, 0], "parts": []}
"""A step, but for inputs, noise and multipliers."""


def lost(machine: Json, step: Json, budget: Json = 0) -> Budgets:
    """Replay that more is lost than a budget, by one step."""
    found = replay(machine, {"verdict": "Not_DP", "budget": budget}, [step])
    assert isinstance(found, Budgets)
    return found
