"""Sweep specs: TOML files that describe grids of cases, checked before anything runs.

    [limits]                            # for each case, in a process of its own
    timeout = 60                        # seconds
    memory = 2000                       # MiB

    [[grid]]
    task = "verify"                     # or profile, calibrate, decide
    programs = ["svt_gauss.dpg"]        # beside the spec; * and ** as in shells
    parameters = { N = [2, 5] }
    eps = { from = 0.1, to = 1, count = 10 }
    delta = [0.01, 0.05]

A grid's cases are all combinations of the values of its axes. A case carries its program as text,
so that it can be sent to any process; its key is a hash of all that determines its answer, by which
a finished case is known.

Axes. Axes of a grid: the values in a spec, as a list of texts whatever way they were written.

    value  |  [value, …]  |  { from = a, to = b, step = s }  |  { from = a, to = b, count = n }

Numbers are exact: TOML's 0.1 is 1/10 here. Ranges include both ends.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass as standard_dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path

from dipapprox.data_classes import Record
from dipapprox.errors import UserError, did_you_mean
from dipapprox.language.core import Program
from dipapprox.language.domains import parse_rational, read_domain
from dipapprox.language.load import PYTHON, check_known, language_of, read_text, read_toml
from dipapprox.limits import Limits
from dipapprox.privacy.description import ProgramText
from dipapprox.questions import kinds
from dipapprox.questions.arguments import Argument
from dipapprox.questions.decide import Decide
from dipapprox.questions.pipelines import Compose
from dipapprox.questions.profile import Calibrate, Profile
from dipapprox.questions.question import (
    Question,
    arguments_of,
    computing_arguments,
    read,
    read_options,
)
from dipapprox.questions.verify import Verify

Fields = Mapping[str, str]  # the fields of a case, as texts

TASKS: dict[str, type[Question]] = {
    question.name: question for question in (Verify, Profile, Calibrate, Decide, Compose)
}
"""The tasks by name."""

_WIDEN = Argument(
    "widen", read_domain, "DOMAIN", "a wider domain of the inputs", None, False, True, ""
)


def keys_of(task: str) -> tuple[Argument, ...]:
    """Return the keys of a task's grids, in the order of the columns of results."""
    question = TASKS[task]
    declared = (*arguments_of(question), *computing_arguments(question.computing))
    own = tuple(each for each in declared if each.swept)
    return (*own, _WIDEN)


def claimed_delta(task: str, fields: Fields) -> Fraction | None:
    """Return the exact δ that a case claims or asks about: what `delta` in a program is."""
    given = {name: fields[name] for name in ("eps", "delta") if name in fields}
    if "delta" not in given or "delta" not in {each.name for each in arguments_of(TASKS[task])}:
        return None
    if TASKS[task] is Verify and "eps" in given:
        return read(Verify, given, str).exact_delta
    delta = kinds.claimed_delta(given["delta"], "delta")
    return delta if isinstance(delta, Fraction) else None


def answer(program: Program, task: str, fields: Fields, limits: Limits) -> dict[str, object]:
    """Answer one case; return the fields of the answer's JSON object.

    Limits that are reached are raised where the task has no Unknown.
    """

    def spelled(name: str) -> str:
        return name

    options = read_options(fields, spelled, limits)
    return read(TASKS[task], fields, spelled).answer(program, options).to_dict()


MOST_VALUES = 100_000  # most values of one range
_RANGE = ("from", "to", "step", "count")


class Axis(Record):
    """One field of the cases, and the values that it takes, as texts, none twice."""

    name: str
    values: tuple[str, ...]


def read_axis(name: str, value: object, where: str) -> Axis:
    """Read the values of one axis, from TOML with floats as `Fraction`; `where` is for messages:
    "grid 1: eps"."""
    if isinstance(value, dict):
        values = _range(value, where)
    elif isinstance(value, list):
        values = [_text(each, where) for each in value]
    else:
        values = [_text(value, where)]
    if not values:
        raise UserError(f"{where} has no values", "leave the key out, or give it at least one")
    twice = [value for value, times in Counter(values).items() if times > 1]
    if twice:
        raise UserError(f"{where}: the value {twice[0]} comes twice")
    return Axis(name, tuple(values))


def _text(value: object, where: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Fraction():
            return str(value)
        case str():
            if not value.strip():
                raise UserError(f"{where}: a value is empty")
            return value.strip()
        case _:
            raise UserError(
                f"{where} must be a number, a text, a list of those or a range, got {_kind(value)}",
                'a range is { from = 1, to = 5, step = 1 } or { from = "0", to = "1", count = 11 }',
            )


def _range(table: dict[str, object], where: str) -> list[str]:
    for key in table:
        if key not in _RANGE:
            hint = did_you_mean(key, _RANGE, f"a range has the keys {', '.join(_RANGE)}")
            raise UserError(f"{where}: unknown key '{key}'", hint)
    if "from" not in table or "to" not in table:
        raise UserError(f"{where}: a range needs 'from' and 'to'")
    if "step" in table and "count" in table:
        raise UserError(f"{where}: a range has either 'step' or 'count', not both")
    first, last = _number(table["from"], where), _number(table["to"], where)
    if last < first:
        raise UserError(f"{where}: the range ends at {last}, before its start {first}")
    if "count" in table:
        points = _number(table["count"], where)
        if points.denominator != 1 or points < 1 or (points == 1 and first != last):
            raise UserError(f"{where}: 'count' must be a whole number >= 2, got {points}")
        count = int(points)
        step = (last - first) / (count - 1) if count > 1 else Fraction(0)
    else:
        step = _number(table.get("step", 1), where)
        if step <= 0:
            raise UserError(f"{where}: 'step' must be > 0, got {step}")
        count = int((last - first) / step) + 1
    if count > MOST_VALUES:
        raise UserError(f"{where}: a range of {count} values; at most {MOST_VALUES} are allowed")
    return [str(first + k * step) for k in range(count)]


def _number(value: object, where: str) -> Fraction:
    match value:
        case bool():
            raise UserError(f"{where}: a range is of numbers, got a truth value")
        case int() | Fraction():
            return Fraction(value)
        case str():
            return parse_rational(value, where)
        case _:
            raise UserError(f"{where}: a range is of numbers, got {_kind(value)}")


def _kind(value: object) -> str:
    match value:
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return f"{type(value).__name__} {value}"


MOST_CASES = 1_000_000
_LIMITS = {"timeout": (600, 10**7), "memory": (2000, 2**30)}
"""Default and largest value: seconds (a season) and MiB (a pebibyte)."""


class CaseGrid(Record):
    """All combinations of programs, parameters and the other axes."""

    task: str  # a key of `TASKS`
    programs: tuple[ProgramText, ...]
    parameters: tuple[Axis, ...]  # axes named like the programs' parameters
    axes: tuple[Axis, ...]  # the other fields, in the order of the task

    @property
    def size(self) -> int:
        return len(self.programs) * prod(len(a.values) for a in (*self.parameters, *self.axes))


class CaseLimits(Record):
    """What one case may use: seconds of wall-clock time, MiB of memory."""

    seconds: Fraction
    memory: int


class Spec(Record):
    """A sweep: limits, and at least one grid."""

    limits: CaseLimits
    grids: tuple[CaseGrid, ...]

    @property
    def size(self) -> int:
        return sum(grid.size for grid in self.grids)


def read_spec(path: Path) -> Spec:
    """Read and check a spec file, of at most `MOST_CASES` cases."""
    content = read_toml(path)
    check_known(content, ("limits", "grid"), f"{path}")
    grids = content.get("grid", [])
    if not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise UserError(f"{path}: 'grid' must be tables", "write [[grid]] above each")
    if not grids:
        raise UserError(f"{path}: there is no grid", 'begin with [[grid]] and task = "verify"')
    spec = Spec(
        _limits(content.get("limits", {}), path),
        tuple(_grid(grid, path, f"{path}: grid {k}") for k, grid in enumerate(grids, 1)),
    )
    _check_size(spec.size, str(path))
    return spec


def _check_size(size: int, where: str) -> None:
    if size > MOST_CASES:
        raise UserError(f"{where}: {size} cases; at most {MOST_CASES} are allowed")


def _limits(table: object, path: Path) -> CaseLimits:
    if not isinstance(table, dict):
        raise UserError(f"{path}: 'limits' must be a table", "write [limits] above its keys")
    check_known(table, ("timeout", "memory"), f"{path}: limits")
    found: dict[str, Fraction] = {}
    for key, (default, most) in _LIMITS.items():
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or value <= 0:
            raise UserError(f"{path}: limits: {key} must be a number > 0, got {value}")
        if value > most:
            raise UserError(f"{path}: limits: {key} is at most {most}")
        found[key] = Fraction(value)
    if found["memory"].denominator != 1:
        raise UserError(f"{path}: limits: memory must be whole MiB, got {found['memory']}")
    return CaseLimits(found["timeout"], int(found["memory"]))


def _grid(table: dict[str, object], path: Path, where: str) -> CaseGrid:
    task = table.get("task")
    if task is None:
        raise UserError(f"{where} has no task", f"one of {', '.join(TASKS)}")
    if not isinstance(task, str) or task not in TASKS:
        hint = did_you_mean(str(task), list(TASKS), f"one of {', '.join(TASKS)}")
        raise UserError(f"{where}: unknown task '{task}'", hint)
    keys = keys_of(task)
    check_known(table, ("task", "programs", "parameters", *(key.name for key in keys)), where)
    axes = [
        read_axis(key.name, table[key.name], f"{where}: {key.name}")
        for key in keys
        if key.name in table
    ]
    given = {axis.name for axis in axes}
    for key in keys:
        if key.required and key.name not in given:
            raise UserError(f"{where}: '{key.name}' is missing", f"{task} needs {key.help}")
    TASKS[task].check(given, lambda name: f"{where}: {name}")
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict):
        raise UserError(f"{where}: 'parameters' must be a table", "parameters = { N = [2, 5] }")
    grid = CaseGrid(
        task,
        _programs(table.get("programs"), path.parent, where),
        tuple(read_axis(k, v, f"{where}: parameter '{k}'") for k, v in parameters.items()),
        tuple(axes),
    )
    _check_size(grid.size, where)
    named = {key.name: key for key in keys}
    for axis in axes:
        key, place = named[axis.name], f"{where}: {axis.name}"
        for value in axis.values:  # as far as can be without a program
            # Files would have to exist wherever a case runs.
            if key.read is kinds.pairs and value not in ("all", "single") and "~" not in value:
                hint = 'use all, single or "0,0~0,1; 0,0~1,0"'
                raise UserError(f"{place}: '{value}' names no pairs", hint)
            key.read(value, place)
    return grid


def _programs(value: object, folder: Path, where: str) -> tuple[ProgramText, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise UserError(f"{where}: 'programs' must name files", 'programs = ["svt_gauss.dpg"]')
    found: dict[str, ProgramText] = {}
    for name in names:
        matches = [os.path.normpath(name)]  # ./a.dpg is a.dpg
        if any(c in name for c in "*?["):
            if Path(name).is_absolute():
                raise UserError(f"{where}: '{name}': a pattern must be relative to the spec")
            matches = sorted(str(p.relative_to(folder)) for p in folder.glob(name) if p.is_file())
            if not matches:
                raise UserError(f"{where}: no program matches '{name}'")
        for match in matches:
            path = folder / match
            if language_of(path) == PYTHON:
                message = f"{where}: '{match}' is Python: the programs of a grid are .dpg files"
                raise UserError(message, "'dipapprox show module.py:name' writes one")
            try:
                found[match] = ProgramText(match, language_of(path), read_text(path))
            except UserError as error:
                raise UserError(f"{where}: {error.message}", error.hint) from None
    return tuple(found.values())


@standard_dataclass(frozen=True)  # slots exclude cached properties
class Case:
    task: str
    program: ProgramText
    parameters: Mapping[str, str]
    fields: Mapping[str, str]
    limits: CaseLimits

    @cached_property
    def key(self) -> str:
        """A hash of the question, of the program's text and of the limits."""
        content = {
            **self.describe(),
            "text": self.program.text,
            "limits": [str(self.limits.seconds), self.limits.memory],
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def describe(self) -> dict[str, object]:
        """Return the fields that begin a line of results."""
        return {
            "task": self.task,
            "program": self.program.name,
            "params": dict(self.parameters),
            **self.fields,
        }


class CaseOutcome(Record):
    # The answer's JSON without its running time; None if there is none.
    result: dict[str, object] | None
    failure: str | None  # why there is none: a limit, or an error of the case
    seconds: float


Answered = tuple[Case, CaseOutcome]


def cases_of(spec: Spec) -> Iterator[Case]:
    """Yield the cases of a sweep, each once, in the order of the spec."""
    seen: set[str] = set()
    for grid in spec.grids:
        for case in _cases(grid, spec.limits):
            if case.key not in seen:
                seen.add(case.key)
                yield case


def _cases(grid: CaseGrid, limits: CaseLimits) -> Iterator[Case]:
    parameters = [axis.name for axis in grid.parameters]
    fields = [axis.name for axis in grid.axes]
    for program in grid.programs:
        for outer in product(*(axis.values for axis in grid.parameters)):
            chosen = dict(zip(parameters, outer, strict=True))
            for inner in product(*(axis.values for axis in grid.axes)):
                own = dict(zip(fields, inner, strict=True))
                yield Case(grid.task, program, chosen, own, limits)


def record(case: Case, outcome: CaseOutcome) -> dict[str, object]:
    """Return a line of results (`ledger`); all but "seconds" is the same on every run."""
    return {
        "case": case.key,
        **case.describe(),
        "result": outcome.result,
        "failure": outcome.failure,
        "seconds": round(outcome.seconds, 6),
    }
