"""Running one case, in whatever process this is called in."""

from __future__ import annotations

import time
from fractions import Fraction

from dipapprox.errors import NO_MEMORY, LimitReached, UserError
from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.tasks import answer
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, parse_program
from dipapprox.language.values import parse_rational
from dipapprox.language.widening import widening_of
from dipapprox.limits import Limits
from dipapprox.privacy.pairs.selection import widening_by_pairs


def run_case(case: Case) -> Outcome:
    """Answer a case within its limits; errors are outcomes, too."""
    limits = Limits(seconds=float(case.limits.seconds), memory=case.limits.memory)
    started = time.monotonic()
    result: dict[str, object] | None = None
    failure: str | None = None
    try:
        result = answer(_program(case), case.task, case.fields, limits)
        result.pop("seconds", None)
    except UserError as error:
        failure = "error: " + error.render().removeprefix("error: ")
    except LimitReached as limit:
        failure = limit.reason
    except MemoryError:
        failure = NO_MEMORY
    except Exception as bug:  # one bad case must not end a sweep of thousands
        failure = f"internal error: {type(bug).__name__}: {bug} (a bug, please report)"
    return Outcome(result, failure, time.monotonic() - started)


def _program(case: Case) -> Program:
    """Make a case's program; a file of pairs extends the domain of a `.dip` one.

    Raises:
        UserError: If the program, its parameters or domains, or the file are wrong.
    """
    source = case.program
    parsed = parse_program(source.text, source.language, source.name)
    parameters = parameters_of(case)
    name = source.name.rpartition("/")[2].rpartition(".")[0] or source.name
    program = elaborate(parsed, parameters, name, widening_of(case.fields.get("widen")))
    if source.language != DIP:
        return program
    wider = widening_by_pairs(case.fields.get("pairs", "all"), program)
    return program if wider is AS_DECLARED else elaborate(parsed, parameters, name, wider)


def parameters_of(case: Case) -> dict[str, Fraction]:
    """Return the program's parameters.

    Raises:
        UserError: If one is no number.
    """
    return {
        name: parse_rational(value, f"parameter '{name}'")
        for name, value in case.parameters.items()
    }
