"""A program whose inputs may be any numbers, and its final states.

The declared domains are replaced by all reals or, if there is integer noise, by all integers. An
execution that needs the value of an input asks for the values of its domain, and then there is no
answer: where inputs are compared without noise, are indices, outputs or weights. In guards with a
sample and in means inputs are symbols, and nothing else is known of them: the final states hold at
every row of inputs.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from dipapprox.data_classes import replace
from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.language.domains import AllIntegers, AllReals, has_names
from dipapprox.limits import Limits
from dipapprox.semantics.cells import cells_of, compared, read, statements_in, tainted, used
from dipapprox.semantics.execution import execute
from dipapprox.semantics.inputs import ValueOfAny
from dipapprox.semantics.state import FinalStates
from dipapprox.source import Span


class NotReal(Exception):
    """There is no answer for all inputs; `reason` says why, and where."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        self.reason = reason if span is None else f"line {span.line}: {reason}"
        super().__init__(self.reason)


def width_of(program: core.Program, integers: bool) -> Fraction | None:
    """Return the largest distance of the bounds of an input; None if some input has none."""
    widths = []
    for cell in program.inputs:
        bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
        if bounds is None:
            return None
        low, high = bounds
        widths.append(Fraction(floor(high) - ceil(low)) if integers else high - low)
    return max([*widths, Fraction(0)])


def are_bounded(program: core.Program) -> bool:
    """Whether some input lies between bounds."""
    return any(
        isinstance(cell.domain, AllReals) and cell.domain.bounds is not None
        for cell in program.inputs
    )


def has_integer_inputs(program: core.Program) -> bool:
    """Whether some noise is of integers: then inputs are integers, too."""
    return any(
        isinstance(each, core.Draw) and each.family.is_discrete
        for each in statements_in(program.body)
    )


def execute_for_all_inputs(program: core.Program, integers: bool, limits: Limits) -> FinalStates:
    """Execute a program for all real inputs, or for all integers.

    Returns:
        The merged final states, without conditions on inputs.

    Raises:
        NotReal: If an input has named values, its value is needed, or some inputs have no output.
        LimitReached: If a budget runs out.
    """
    for cell in program.inputs:
        if has_names(cell.domain):
            raise NotReal(f"the input '{cell.name}' has named values", cell.span)
    domain = AllIntegers() if integers else AllReals()
    inputs = tuple(replace(cell, domain=domain) for cell in program.inputs)
    try:
        return execute(replace(program, inputs=inputs), True, limits, real_outputs=True)
    except ValueOfAny as needed:
        raise NotReal(*_why(program, needed)) from None
    except SourceError as error:
        first = error.diagnostics[0]
        raise NotReal(f"for some inputs {first.message}", first.span) from None


def _why(program: core.Program, needed: ValueOfAny) -> tuple[str, Span | None]:
    """Say where the value of an input is likely to be needed."""
    holders = _holders(program)
    random = tainted(program.body)
    for each in statements_in(program.body):
        if not holders.isdisjoint(used(each)):
            match each:
                case core.If(condition=condition) | core.While(condition=condition):
                    if random.isdisjoint(compared(condition)):
                        return "inputs are compared without noise", condition.span or each.span
                case core.Choose():
                    return "finite noise depends on inputs, which may be any number", each.span
                case _:
                    pass
    return f"the value of the input '{needed.cell}' is needed, which may be any number", None


def _holders(program: core.Program) -> frozenset[str]:
    """Return the inputs and the variables that may hold forms over them."""
    found = {cell.name for cell in program.inputs}
    grown = True
    while grown:
        new = {
            name
            for each in statements_in(program.body)
            if isinstance(each, core.Assign) and not found.isdisjoint(read(each.value))
            for name in cells_of(each.target)
        }
        grown = not new <= found
        found |= new
    return frozenset(found)
