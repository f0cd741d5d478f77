"""`dipapprox show --core`: the machine that a program means, in words and as JSON."""

import copy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load, read_source
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.rounds import rounds_json
from dipapprox.replays.core_text import machine_text
from tests.cli.running import run, run_json

PROGRAMS = Path(__file__).parent.parent.parent / "programs"


def leaves(json: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values and words."""
    if isinstance(json, dict | list):
        for key, inner in json.items() if isinstance(json, dict) else enumerate(json):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(json: Any, path: tuple[Any, ...]) -> Any:
    """A machine with another value at a place."""
    found = copy.deepcopy(json)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    match value:
        case bool():
            inner[path[-1]] = not value
        case int():
            inner[path[-1]] = value + 1
        case str():
            others = {"+": "*", "*": "+", "<": ">", ">=": "<=", "and": "or", "or": "and"}
            others |= {"Gauss": "Lap", "Lap": "Gauss", "linf": "l1", "inverse": "exp"}
            inner[path[-1]] = others.get(value, f"{value}0")
        case None:
            inner[path[-1]] = 1
    return found


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("svt_gauss", {"N": 40}),
        ("exponential_mechanism", {}),
        ("literature/truncated_geometric", {}),
        ("dipc/rand1", {}),
    ],
)
def test_every_word_and_number_of_a_machine_is_in_its_text(
    name: str, parameters: dict[str, int]
) -> None:
    given = {each: Fraction(value) for each, value in parameters.items()}
    machine: Any = machine_json(load(PROGRAMS / f"{name}.dpg", given))
    text, seen = machine_text(machine), 0
    for path in leaves(machine):
        try:
            other = machine_text(changed(machine, path))
        except BadProof:
            continue
        seen += 1
        assert other != text, path
    assert seen > 20


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("streams/*.dpg")), ids=lambda p: p.stem)
def test_machines_with_rounds(path: Path) -> None:
    source = read_source(path, {})
    program = elaborate(source.program, {}, source.name, irrational=True)
    machine: Any = rounds_json(program)
    assert run_json("show", str(path), "--core") == (0, machine)
    text = machine_text(machine)
    assert run("show", str(path), "--core") == (0, text)
    for place in leaves(machine):
        try:
            other = machine_text(changed(machine, place))
        except BadProof:
            continue
        assert other != text, place
