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
    relevant = [step for step in steps if fault.cell in _assigned(step.branch)]
    named = (relevant or steps)[:_MOST_STEPS][::-1]
    message = fault.message
    if named:
        message += " when " + " and ".join(_describe(step) for step in named)
    return Diagnostic(fault.kind, message, fault.span, fault.hint)


def _describe(step: Trail) -> str:
    outcome = "true" if step.taken else "false"
    span = step.branch.condition.span
    if span is None:
        return f"condition {step.number + 1} is {outcome}"
    return f"'{' '.join(span.text.split())}' at line {span.line} is {outcome}"


def _assigned(branch: core.If) -> Iterator[str]:
    blocks = [branch.then, branch.otherwise]
    while blocks:
        for statement in blocks.pop():
            match statement:
                case core.Assign(target=core.Variable(name=name)):
                    yield name
                case core.Draw(target=core.Variable(name=name)):
                    yield name
                case core.If():
                    blocks += [statement.then, statement.otherwise]
                case _:
                    pass
