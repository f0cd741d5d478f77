"""Cases and outcomes as JSON, between processes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.spec import CaseLimits, ProgramFile


def case_fields(case: Case) -> dict[str, object]:
    """Return a case as JSON; the inverse of `case_of`."""
    return {
        "task": case.task,
        "program": [case.program.name, case.program.language, case.program.text],
        "parameters": dict(case.parameters),
        "fields": dict(case.fields),
        "limits": [str(case.limits.seconds), case.limits.memory],
    }


def case_of(fields: Mapping[str, Any]) -> Case:
    """Return the case that `case_fields` described."""
    name, language, text = fields["program"]
    seconds, memory = fields["limits"]
    return Case(
        fields["task"],
        ProgramFile(name, language, text),
        fields["parameters"],
        fields["fields"],
        CaseLimits(Fraction(seconds), memory),
    )


def outcome_fields(outcome: Outcome) -> dict[str, object]:
    """Return an outcome as JSON; the inverse of `outcome_of`."""
    return {"result": outcome.result, "failure": outcome.failure, "seconds": outcome.seconds}


def outcome_of(fields: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `outcome_fields` described."""
    return Outcome(fields["result"], fields["failure"], fields["seconds"])
