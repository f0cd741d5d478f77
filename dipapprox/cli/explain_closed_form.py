"""`dipapprox explain --closed-form`: every output's probability as a formula in ε."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cli.command import Status
from dipapprox.cli.output import show_json, write
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Input, Program
from dipapprox.limits import Limits, limited
from dipapprox.privacy.decisions.closed_form import (
    as_latex,
    as_text,
    without_exponential_factors,
)
from dipapprox.privacy.notation import plain_factors, plain_terms, valuation, valuation_text
from dipapprox.privacy.parameters import parameter_fields
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from rich.console import Console

_MOST_INPUTS = 16
"""Inputs that are shown when none is named."""


def run_closed_forms(
    program: Program,
    input: Input | None,
    layout: str,
    *,
    merge: bool,
    limits: Limits,
    json: bool,
    console: Console,
) -> int:
    """Print the closed forms of one input, or of all if there are few.

    Args:
        program: The program.
        input: The input; None for all of them.
        layout: "text" or "latex".
        merge: Whether final states are merged.
        limits: Asked throughout.
        json: Whether to print one JSON object.
        console: Where to print.

    Returns:
        The exit status: 0, or 3 if some probability has no closed form.

    Raises:
        UserError: If there are too many inputs, or formulas cannot be laid out like that.
    """
    if layout not in _LAYOUTS:
        raise UserError(f"closed forms are written as {' or '.join(_LAYOUTS)}, not as {layout}")
    inputs = [input] if input is not None else _inputs(program)
    missing: NotEnclosed | None = None
    found = []
    states: FinalStates | None = None
    with EarlyEnd() as end, limited(limits):
        states = execute(program, merge, limits)
        source = ExactDistributions(states, None, limits)
        for each in inputs:
            forms = source.distribution(each)
            if isinstance(forms, NotEnclosed):
                missing = forms
                break
            found.append((each, forms))
    reason = end.reason if missing is None else missing.reason
    if json:
        show_json(console, _fields(program, states, found, reason))
    elif found and states is not None:
        write(console, _LAYOUTS[layout](program, states, found))
    if reason is None:
        return 0
    print(f"unknown: {reason}", file=sys.stderr)
    return Status.INTERRUPTED if end.interrupted else Status.UNKNOWN


_Forms = Sequence[tuple[Input, tuple[ExponentialRatio, ...]]]
"""Inputs with the probabilities of all outputs."""


def _inputs(program: Program) -> list[Input]:
    inputs = list(islice(product(*(cell.domain for cell in program.inputs)), _MOST_INPUTS + 1))
    if len(inputs) > _MOST_INPUTS:
        raise UserError(
            f"the program has more than {_MOST_INPUTS} inputs",
            "choose one, for example --input 0,1",
        )
    return inputs


def _text(program: Program, states: FinalStates, found: _Forms) -> str:
    outputs = [valuation_text(program.outputs, output) for output in states.outputs]
    width = max(map(len, outputs))
    lines = []
    for input, forms in found:
        given = valuation_text(program.inputs, input)
        lines.append(f"{program.name} for {given}" if given else program.name)
        for output, form in zip(outputs, forms, strict=True):
            lines.append(f"    Pr[{output}]{' ' * (width - len(output))} = {as_text(form)}")
    return "\n".join(lines) + "\n"


def _latex(program: Program, states: FinalStates, found: _Forms) -> str:
    outputs = [_escaped(valuation_text(program.outputs, each)) for each in states.outputs]
    lines = []
    for input, forms in found:
        given = _escaped(valuation_text(program.inputs, input))
        lines.append(r"\begin{align*}")
        condition = rf" \mid \text{{{given}}}" if given else ""
        lines += [
            rf"  \Pr[\text{{{output}}}{condition}] &= {as_latex(form)} \\"
            for output, form in zip(outputs, forms, strict=True)
        ]
        lines.append(r"\end{align*}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")


def _fields(
    program: Program, states: FinalStates | None, found: _Forms, reason: str | None
) -> dict[str, object]:
    outputs = () if states is None else states.outputs
    return {
        "program": program.name,
        "params": parameter_fields(program.parameters),
        "closed_forms": [
            {
                "input": valuation(program.inputs, input),
                "outputs": [
                    {
                        "output": valuation(program.outputs, output),
                        "text": as_text(form),
                        "latex": as_latex(form),
                        **_terms(form),
                    }
                    for output, form in zip(outputs, forms, strict=True)
                ],
            }
            for input, forms in found
        ],
        "reason": reason,
    }


def _terms(form: ExponentialRatio) -> dict[str, object]:
    """The formula as data, arranged as its text is: a sum, perhaps over a product of sums."""
    shown = without_exponential_factors(form)
    return {"terms": plain_terms(shown.numerator), "denominator": plain_factors(shown)}


_LAYOUTS = {"text": _text, "latex": _latex}
