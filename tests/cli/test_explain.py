"""`explain` and `show --core`: the papers' columns, equal integrals, machines in words."""

import copy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scrambled import raw_events

from dipapprox import Enclosure, LimitReached, Limits
from dipapprox.cli.app import build_parser
from dipapprox.cli.explanation import explain
from dipapprox.cli.flags import limits_of
from dipapprox.events.instantiate import Instantiator
from dipapprox.integrals.integral import Strategy
from dipapprox.kernel.errors import BadProof
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load, read_source
from dipapprox.language.parser import parse
from dipapprox.numerics.nested.engine import enclose_plan
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.rounds import rounds_json
from dipapprox.replays.words import machine_text
from dipapprox.semantics.execution import execute
from tests.cli.conftest import SIGNED, SVT
from tests.cli.running import run, run_json
from tests.thorough import part

_LAWS_OF_TWO = {
    "Gauss + Gauss": "Gauss(3, sqrt(8))",
    "Gauss - Gauss": "Gauss(-1, sqrt(8))",
    "Gauss + Lap": "Gauss(1, 2) + Lap(2, 2)",
    "Gauss - Lap": "Gauss(1, 2) + Lap(-2, 2)",
    "Gauss + LapPlus": "Gauss(1, 2) + LapPlus(2, 2)",
    "Gauss - LapPlus": "Gauss(1, 2) + LapMinus(-2, 2)",
    "Gauss - LapMinus": "Gauss(1, 2) + LapPlus(-2, 2)",
    "Lap + Gauss": "Gauss(2, 2) + Lap(1, 2)",
    "Lap - Lap": "Lap(1, 2) + Lap(-2, 2)",
    "Lap - LapPlus": "Lap(1, 2) + LapMinus(-2, 2)",
    "Lap + LapMinus": "Lap(1, 2) + LapMinus(2, 2)",
    "LapPlus + LapPlus": "LapPlus(1, 2) + LapPlus(2, 2)",
    "LapPlus - LapPlus": "Lap(-1, 2)",
    "LapPlus + LapMinus": "Lap(3, 2)",
    "LapPlus - LapMinus": "LapPlus(1, 2) + LapPlus(-2, 2)",
    "LapMinus - LapMinus": "Lap(-1, 2)",
    "DLap + DLap": "DLap(1, 2) + DLap(2, 2)",
    "DLap - DGauss": "DLap(1, 2) + DGauss(-2, 2)",
    "DGauss - DGauss": "DGauss(1, 2) + DGauss(-2, 2)",
}
"""Of x with mean 1 and y with mean 2, both of scale 2."""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("case", part([*_LAWS_OF_TWO], 3))
def test_two_samples_used_only_together_are_a_sum(case) -> None:
    """In one guard, in a band of two guards, and in what is published."""
    first, sign, second = case.split()
    head = "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
    draws = f"x <- {first}(q, 2)\ny <- {second}(2, 2)\nout <- 0\n"
    form = f"x {sign} y"
    bodies = [
        f"{head}{draws}if {form} >= 1 then out <- 1 end\n",
        f"{head}{draws}if {form} >= 1 and {form} <= 3 then out <- 1 end\n",
    ]
    if not first.startswith("D"):
        bodies.append(f"{head}output z in real\n{draws}z <- {form}\n")
    for body in bodies:
        Path("two.dpg").write_text(body, encoding="utf-8")
        _, fields = run_json("explain", "two.dpg", "--input", "1")
        wanted = [f"{form} ~ {_LAWS_OF_TWO[case]}"]
        assert fields["states"]
        assert all(state["sums"] == wanted for state in fields["states"])


@pytest.mark.parametrize("text", [SVT, SIGNED])
@pytest.mark.parametrize("strategy", list(Strategy))
def test_shown_integrals_have_one_value(text, strategy) -> None:
    limits = Limits()
    program = elaborate(parse(text, "program"), {}, "program")
    states = execute(program, merge=False, limits=limits)
    input = tuple(cell.domain[0] for cell in program.inputs)
    explanation = explain(states, Fraction(1), [input], strategy, limits)
    instantiator = Instantiator(states, Fraction(1))
    events = [event for _, event, _ in raw_events(instantiator, states, input)]
    total = Enclosure.exact(0)
    for state, event in zip(explanation.details, events, strict=True):
        assert state.before is not None
        assert state.after is not None
        before, after = (enclose_plan(event, p, 30, limits) for p in (state.before, state.after))
        assert before.meets(after)
        assert after.width < Fraction(1, 2**25)
        total = total + after
    assert 1 in total


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [(LimitReached("time limit: 1 s"), 3, "time limit: 1 s"), (KeyboardInterrupt(), 130, "interr")],
)
def test_stopped_explanations_are_whole(error, status, reason, monkeypatch, capsys) -> None:
    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr("dipapprox.cli.explain.explain", stop)
    found, fields = run_json("explain", "svt.dpg")
    assert (found, fields["final_states"], fields["states"]) == (status, None, [])
    assert fields["reason"].startswith(reason)
    assert run("explain", "svt.dpg") == (status, "")
    assert f"unknown: {reason}" in capsys.readouterr().err


def test_explanations_end_after_a_minute_unless_told_otherwise() -> None:
    def seconds(*words: str) -> float | None:
        given = ["explain", "svt.dpg", *words]
        return limits_of(build_parser(given).parse_args(given)).seconds

    assert seconds() == 60
    assert seconds("--timeout", "5") == 5


# --- `dipapprox show --core` ----------------------------------------------------------------------

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
def test_every_word_and_number_of_a_machine_is_in_its_text(name, parameters) -> None:
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
def test_machines_with_rounds(path) -> None:
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
