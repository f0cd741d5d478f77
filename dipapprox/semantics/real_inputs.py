"""Programs with inputs that may be any numbers, and their final states.

An execution that needs the value of such an input asks for the values of its domain, and then there
is no answer: where inputs are compared without noise, are indices, outputs or weights. In guards
with a sample and in means inputs are symbols, and nothing else is known of them: the final states
hold at every input. Either inputs declared as real are such, or all are, whatever their
domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from dipapprox.data_classes import replace
from dipapprox.errors import SourceError, UserError
from dipapprox.language import core
from dipapprox.language.cells import cells_of, reached, read, statements_in, tainted, used
from dipapprox.language.domains import AllIntegers, AllReals, Domain, has_names
from dipapprox.language.symbols import ABSOLUTE, CLAMP
from dipapprox.semantics.clamps import without_clamps
from dipapprox.semantics.evaluation import ValueOfAny
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from dipapprox.source import Diagnostic, Span


class NotReal(Exception):
    """There is no answer for all inputs; `reason` says why, and where."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        self.reason = reason if span is None else f"line {span.line}: {reason}"
        super().__init__(self.reason)


def bounds_of(domain: Domain, integers: bool) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of real inputs, of whole ones the least and the greatest that there is."""
    bounds = domain.bounds if isinstance(domain, AllReals) else None
    if bounds is None or not integers:
        return bounds
    return Fraction(ceil(bounds[0])), Fraction(floor(bounds[1]))


def width_of(cell: core.Cell, integers: bool) -> Fraction | None:
    """Return the distance of the bounds of an input; None if it has none.

    Raises:
        NotReal: If no integer lies between the bounds of an integer input.
    """
    bounds = bounds_of(cell.domain, integers)
    if bounds is None:
        return None
    low, high = bounds
    if high < low:
        message = f"the noise is of integers, and none lies between the bounds of '{cell.name}'"
        raise NotReal(message, cell.span)
    return high - low


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


def execute_for_all_inputs(program: core.Program, integers: bool) -> FinalStates:
    """Execute a program for all real inputs, or for all integers.

    Returns:
        The merged final states, without conditions on inputs.

    Raises:
        NotReal: If an input has named values, its value is needed, or some inputs have no output.
    """
    for cell in program.inputs:
        if has_names(cell.domain):
            raise NotReal(f"the input '{cell.name}' has named values", cell.span)
    kind = AllIntegers if integers else AllReals
    inputs = tuple(
        replace(
            cell, domain=kind(cell.domain.bounds if isinstance(cell.domain, AllReals) else None)
        )
        for cell in program.inputs
    )
    names = [cell.name for cell in inputs]
    try:
        return execute(replace(program, inputs=inputs), True, real_outputs=True)
    except ValueOfAny as needed:
        raise NotReal(*_why(program, names, needed)) from None
    except SourceError as error:
        first = error.diagnostics[0]
        raise NotReal(f"for some inputs {first.message}", first.span) from None


def with_values(
    program: core.Program, pairs: Sequence[tuple[core.Input, core.Input]]
) -> core.Program:
    """Return the program with the values that real inputs have in some pairs, and no others."""
    inputs = []
    for place, cell in enumerate(program.inputs):
        if isinstance(cell.domain, AllReals):
            values = dict.fromkeys(input[place] for pair in pairs for input in pair)
            cell = replace(cell, domain=tuple(values))
        inputs.append(cell)
    return replace(program, inputs=tuple(inputs))


def execute_for_declared(program: core.Program, merge: bool) -> FinalStates:
    """Execute a program for all values of the inputs that are declared as real.

    Returns:
        The final states, without conditions on such inputs.

    Raises:
        UserError: If the value of such an input is needed, with the place where one can be told.
    """
    try:
        return execute(without_clamps(program), merge, real_outputs=True)
    except ValueOfAny as needed:
        names = [cell.name for cell in program.inputs if isinstance(cell.domain, AllReals)]
        reason, span = _why(program, names, needed)
        hint = "add noise first, or read the input through one 'clamp(q, -1, 1)' and nowhere else, "
        hint += "or declare the smaller range, 'real -1..1', or finitely many values"
        if span is None:
            raise UserError(reason, hint) from None
        raise SourceError([Diagnostic("type error", reason, span, hint)]) from None


def _why(
    program: core.Program, names: Sequence[str], needed: ValueOfAny
) -> tuple[str, Span | None]:
    """Say where the value of an input, one of some names, is likely to be needed."""
    holders = reached(program.body, names)
    random = tainted(program.body)
    finite = {cell.name for cell in program.outputs}
    for each in statements_in(program.body):
        if not holders.isdisjoint(used(each)):
            match each:
                case core.If(condition=condition) | core.While(condition=condition):
                    if random.isdisjoint(read(condition)):
                        span = condition.span or each.span
                        word = "" if span is None else span.text.partition("(")[0].strip()
                        if word in (ABSOLUTE, CLAMP):
                            return f"'{word}' of an input, which has no noise yet", span
                        return "inputs are compared without noise", span
                case core.Draw(family=family) if family.is_discrete:
                    return "noise of integers around an input, which may be any number", each.span
                case core.Assign(target=target, value=value):
                    takes = not holders.isdisjoint(read(value))
                    if takes and not finite.isdisjoint(cells_of(target)):
                        return "a finite output is an input, which may be any number", each.span
                case core.Choose():
                    return "finite noise depends on inputs, which may be any number", each.span
    return f"the value of the input '{needed.cell}' is needed, which may be any number", None
