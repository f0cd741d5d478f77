"""Machines that read numbers round after round, or once, in JSON."""

from __future__ import annotations

from typing import Any

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
    return {
        "inputs": [["next q", {"low": None, "high": None}]],
        "whole": False,
        "adjacency": {"norm": "linf", "radius": 1},
        "body": body,
        "round": turn,
        "published": {
            "whenever": ["out"],
            "first": [],
            "each": [],
            "ends": True,
            "padding": None,
        },
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
