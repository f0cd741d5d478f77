"""What went wrong on a path, said with the decisions that led there."""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.language import core
from dipapprox.semantics.configuration import Trail
from dipapprox.semantics.evaluation import PathFault
from dipapprox.source import Diagnostic

_MOST_STEPS = 3  # decisions that a message names


def describe_fault(fault: PathFault, trail: Trail | None) -> Diagnostic:
    """Return a fault as a diagnostic that names the path.

    Of the decisions, those that assign the cell at fault in one of their branches are named; if
    there are none, the last ones.
    """
    steps = list(trail.steps()) if trail is not None else []
    relevant = [step for step in steps if fault.cell in _assigned(step.statement)]
    named = (relevant or steps)[:_MOST_STEPS][::-1]
    message = fault.message
    if named:
        message += " when " + " and ".join(_describe(step) for step in named)
    return Diagnostic(fault.kind, message, fault.span, fault.hint)


def _describe(step: Trail) -> str:
    statement = step.statement
    choice = isinstance(statement, core.Choose)
    span = statement.span if isinstance(statement, core.Choose) else statement.condition.span
    outcome = str(step.outcome).lower() if isinstance(step.outcome, bool) else str(step.outcome)
    if span is None:
        return f"{'choice' if choice else 'condition'} {step.number + 1} is {outcome}"
    verb = "gives" if choice else "is"
    return f"'{' '.join(span.text.split())}' at line {span.line} {verb} {outcome}"


def _assigned(statement: core.Statement) -> Iterator[str]:
    waiting = [statement]
    while waiting:
        match waiting.pop():
            case (
                core.Assign(target=core.Variable(name=name))
                | core.Draw(target=core.Variable(name=name))
                | core.Choose(target=core.Variable(name=name))
            ):
                yield name
            case core.If(then=then, otherwise=otherwise):
                waiting += [*then, *otherwise]
            case core.While(body=body):
                waiting += body
            case _:
                pass
