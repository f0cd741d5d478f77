"""Cases: one question about one program, self-contained, and what became of it.

A case carries its program as text, so that it can be sent to any process. Its key is a hash of
all that determines its answer; a finished case is known by it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from dipapprox.experiments.sweep.spec import CaseGrid, CaseLimits, NamedProgram, Spec


@dataclass(frozen=True)  # slots exclude cached properties
class Case:
    """One question."""

    task: str
    program: NamedProgram
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


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What became of a case.

    Attributes:
        result: The answer's JSON without its running time; None if there is none.
    """

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
