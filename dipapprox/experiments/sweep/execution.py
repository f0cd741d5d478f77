"""Running one case, in whatever process this is called in.

Cases that follow one another mostly ask about the same program: the last few are remembered.
"""

from __future__ import annotations

import time
from functools import lru_cache

from dipapprox.errors import NO_MEMORY, LimitReached, UserError
from dipapprox.experiments.sweep.spec import Case, CaseOutcome, NamedProgram, answer, claimed_delta
from dipapprox.language import ast
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, parse_program
from dipapprox.language.symbols import DELTA, needs_delta
from dipapprox.language.values import parse_rational, widening_of
from dipapprox.limits import Limits
from dipapprox.privacy.scope import widening_by_pairs


def run_case(case: Case) -> CaseOutcome:
    """Answer a case within its limits; errors are outcomes, too."""
    limits = Limits(seconds=float(case.limits.seconds), memory=case.limits.memory)
    started = time.monotonic()
    result: dict[str, object] | None = None
    failure: str | None = None
    try:
        program = program_of(case)
        result = answer(program, case.task, case.fields, limits)
        result.pop("seconds", None)
    except UserError as error:
        failure = "error: " + error.render().removeprefix("error: ")
    except LimitReached as limit:
        failure = limit.reason
    except MemoryError:
        failure = NO_MEMORY
    except Exception as bug:  # one bad case must not end a sweep of thousands
        failure = f"internal error: {type(bug).__name__}: {bug} (a bug, please report)"
    return CaseOutcome(result, failure, time.monotonic() - started)


def program_of(case: Case) -> Program:
    """Return the program that a case asks about, the same object as long as it is remembered.

    The pairs asked about extend the domain of a `.dip` program; its undeclared `delta` is that of
    the case.
    """
    pairs = case.fields.get("pairs", "all") if case.program.language == DIP else None
    parameters = tuple(case.parameters.items())
    delta = claimed_delta(case.task, case.fields) if needs_delta(_parsed(case.program)) else None
    if delta is not None and DELTA not in case.parameters:
        parameters += ((DELTA, str(delta)),)
    return _elaborated(case.program, parameters, case.fields.get("widen"), pairs)


@lru_cache(maxsize=4)
def _elaborated(
    program: NamedProgram,
    parameters: tuple[tuple[str, str], ...],
    widen: str | None,
    pairs: str | None,
) -> Program:
    values = {name: parse_rational(value, f"parameter '{name}'") for name, value in parameters}
    name = program.name.rpartition("/")[2].rpartition(".")[0] or program.name
    found = elaborate(_parsed(program), values, name, widening_of(widen), irrational=True)
    wider = AS_DECLARED if pairs is None else widening_by_pairs(pairs, found)
    if wider is AS_DECLARED:
        return found
    return elaborate(_parsed(program), values, name, wider, irrational=True)


@lru_cache(maxsize=4)
def _parsed(program: NamedProgram) -> ast.Program:
    return parse_program(program.text, program.language, program.name)
