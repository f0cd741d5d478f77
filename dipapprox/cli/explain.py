"""`dipapprox explain`: final states, guards, dependencies, and integrals before and after.

With `--closed-form`: every output's probability as a formula in ε.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, product

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.cli import asking, command
from dipapprox.cli.asking import add_program, load, program_of
from dipapprox.cli.command import Status
from dipapprox.cli.explanation import ExplainedState, Explanation, explain
from dipapprox.cli.output import Output
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exponentials import ExponentialRatio
from dipapprox.integrals import integral as plans
from dipapprox.integrals.integral import Plan
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import AllReals, parse_input
from dipapprox.privacy.description import parameter_fields, parameters_text
from dipapprox.privacy.notation import (
    as_latex,
    as_text,
    plain_factors,
    plain_terms,
    valuation,
    valuation_text,
    without_exponential_factors,
)
from dipapprox.privacy.run import Options
from dipapprox.questions import arguments
from dipapprox.questions.arguments import LIMITS
from dipapprox.questions.question import STRUCTURE
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import with_values
from dipapprox.semantics.state import FinalStates

_MOST_STATES = 50  # states shown in full as text; JSON has all of them


def explanation_text(explanation: Explanation) -> str:
    before, after = explanation.average_depth_unoptimised, explanation.average_depth
    depths = f"{_average(after)}, not optimised {_average(before)}"
    averages = f"averages: guards {_average(explanation.average_guards)}, depth {depths}"
    lines = [_headline(explanation), averages, f"integrals at ε = {explanation.eps}"]
    for number, state in enumerate(explanation.details[:_MOST_STATES], 1):
        lines += ["", *_state_lines(explanation, state, number)]
    if len(explanation.details) > _MOST_STATES:
        lines += ["", f"… {len(explanation.details) - _MOST_STATES} more states (--json has all)"]
    return "\n".join(lines)


def explanation_latex(explanation: Explanation) -> str:
    """Write each state's probability as its integral before and after optimisation."""
    blocks = [f"% {_headline(explanation)}", f"% integrals at ε = {explanation.eps}"]
    for number, state in enumerate(explanation.details, 1):
        output = _output(explanation, state)
        blocks.append(f"% state {number}: {output}: {' and '.join(state.guards) or 'true'}")
        if state.before is None or state.after is None:
            blocks.append(f"% {state.obstacle}")
            continue
        before = plans.latex(state.before, state.names)
        after = plans.latex(state.after, state.names)
        blocks.append(f"\\begin{{align*}}\n  & {before} \\\\\n  &= {after}\n\\end{{align*}}")
    return "\n".join(blocks)


def as_dot(explanation: Explanation) -> str:
    """Write the dependency graphs, an edge from the larger to the smaller sample."""
    lines = ["digraph dependencies {"]
    for number, state in enumerate(explanation.details, 1):
        output = _output(explanation, state)
        label = _quoted(f"state {number}: {output}")
        lines += [f"  subgraph cluster_{number} {{", f'    label="{label}";']
        names = enumerate(map(_quoted, state.names))
        lines += [f'    s{number}_{i} [label="{name}"];' for i, name in names]
        lines += [f"    s{number}_{a} -> s{number}_{b};" for a, b in state.dependencies]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def as_fields(
    program: Program, merged: bool, eps: Fraction, found: Explanation | None, reason: str | None
) -> dict[str, object]:
    """Return the fields of JSON; `reason` says why nothing is known of the states, if so."""
    averages: dict[str, object] = {}
    for name in ("average_guards", "average_depth", "average_depth_unoptimised"):
        value: Fraction | None = None if found is None else getattr(found, name)
        averages[name] = None if value is None else str(value)
        averages[f"{name}_decimal"] = None if value is None else round(float(value), 4)
    details = () if found is None else found.details
    return {
        "program": program.name,
        "params": parameter_fields(program.parameters),
        "merged": merged,
        "reason": reason,
        "final_states": None if found is None else found.final_states,
        **averages,
        "eps": str(eps),
        "states": [_state_fields(program, state) for state in details],
    }


def _state_fields(program: Program, state: ExplainedState) -> dict[str, object]:
    known = state.before is not None and state.after is not None
    return {
        "output": valuation(program.outputs, state.outputs),
        "conditions": list(state.conditions),
        "choices": list(state.choices),
        "guards": list(state.guards),
        "samples": list(state.samples),
        **({"numbers": list(state.numbers)} if state.numbers else {}),
        "sums": list(state.sums),
        "dependencies": [[state.names[a], state.names[b]] for a, b in state.dependencies],
        "depth": state.depth if known else None,
        "depth_unoptimised": state.depth_unoptimised,
        "input": None if state.input is None else valuation(program.inputs, state.input),
        "integral_before": _integral(state.before, state),
        "integral_after": _integral(state.after, state),
        "elimination": list(state.elimination),
        "obstacle": state.obstacle,
    }


def _integral(plan: Plan | None, state: ExplainedState) -> list[str] | None:
    return None if plan is None else plans.text(plan, state.names).split("\n")


def _headline(explanation: Explanation) -> str:
    program = explanation.states.program
    how = "merged" if explanation.states.merged else "not merged"
    parameters = parameters_text(program.parameters)
    shown = f" ({parameters})" if parameters else ""
    number = explanation.final_states
    return f"{program.name}{shown}: {number} final state{'' if number == 1 else 's'}, {how}"


def _average(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{value} ≈ {float(value):.2f}"


def _state_lines(explanation: Explanation, state: ExplainedState, number: int) -> Iterator[str]:
    program = explanation.states.program
    output = _output(explanation, state)
    yield f"state {number}: {output or 'no outputs'}"
    if state.conditions:
        yield f"  inputs   {' and '.join(state.conditions)}"
    if state.choices:
        yield f"  choices  {' and '.join(state.choices)}"
    yield f"  guards   {' and '.join(state.guards) or 'true'}"
    if state.samples:
        yield f"  samples  {', '.join(state.samples)}"
    for text in state.sums:
        yield f"  sum      {text}"
    if state.dependencies:
        edges = (f"{state.names[a]} -> {state.names[b]}" for a, b in state.dependencies)
        yield f"  depends  {', '.join(edges)}"
    if state.before is None or state.after is None:
        yield f"  integral none: {state.obstacle}"
        return
    input = "" if state.input is None else valuation_text(program.inputs, state.input)
    yield f"  at       {input or 'no inputs'}"
    yield f"  before   depth {state.depth_unoptimised}"
    yield from _indented(plans.text(state.before, state.names))
    yield f"  after    depth {state.depth}"
    yield from _indented(plans.text(state.after, state.names))
    yield "  plan     of elimination, functions of t"
    yield from (f"    {line}" for line in state.elimination)


def _output(explanation: Explanation, state: ExplainedState) -> str:
    finite = valuation_text(explanation.states.program.outputs, state.outputs)
    return ", ".join(filter(None, (finite, *state.numbers)))


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}" for line in text.split("\n"))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_MOST_IN_FORMULAS = 16  # inputs that are shown when none is named


def _run_closed_forms(
    program: Program,
    inputs: Sequence[Input],
    words: argparse.Namespace,
    options: Options,
    out: Output,
) -> int:
    """Print the closed forms of inputs; the exit status is 3 if some probability has none."""
    layout = words.format
    if layout not in _LAYOUTS:
        raise UserError(f"closed forms are written as {' or '.join(_LAYOUTS)}, not as {layout}")
    missing: NotEnclosed | None = None
    found = []
    states: FinalStates | None = None
    with EarlyEnd() as end:
        states = execute(program, options.merge)
        source = ExactDistributions(states, None)
        for each in inputs:
            forms = source.distribution(each)
            if isinstance(forms, NotEnclosed):
                missing = forms
                break
            found.append((each, forms))
    reason = end.reason if missing is None else missing.reason
    if words.json:
        out.show_json(_fields(program, states, found, reason))
    elif found and states is not None:
        out.write(_LAYOUTS[layout](program, states, found))
    return _status(reason, end)


_Forms = Sequence[tuple[Input, tuple[ExponentialRatio, ...]]]
"""Inputs with the probabilities of all outputs."""


def _inputs(program: Program) -> Iterator[Input]:
    return product(*(cell.domain for cell in program.inputs))


def _all_inputs(program: Program) -> list[Input]:
    inputs = list(islice(_inputs(program), _MOST_IN_FORMULAS + 1))
    if len(inputs) > _MOST_IN_FORMULAS:
        hint = "choose one, for example --input 0,1"
        raise UserError(f"the program has more than {_MOST_IN_FORMULAS} inputs", hint)
    return inputs


def _text(program: Program, states: FinalStates, found: _Forms) -> str:
    outputs = [valuation_text(program.outputs, output) for output in states.outputs]
    width = max(map(len, outputs))
    lines = []
    for input, forms in found:
        given = valuation_text(program.inputs, input)
        lines.append(f"{program.name} for {given}" if given else program.name)
        for output, form in zip(outputs, forms, strict=True):
            gap = " " * (width - len(output))
            lines.append(f"    Pr[{output}]{gap} = {as_text(form)}")
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
_MOST_INPUTS = 1_000  # of which each state looks for the first one that leads to it
_SECONDS = "60"
"""Of the command, if it is not told: plans of integrals may take time beyond any patience."""

_FORMATS = {"text": explanation_text, "latex": explanation_latex, "dot": as_dot}


def add_words(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("--eps", default="1", metavar="E", help="the program's ε (default: 1)")
    parser.add_argument("--input", metavar="ROW", help="values of all input cells: 0,1")
    help = "show every output's probability as a formula in ε instead, valid for all ε > 0"
    parser.add_argument("--closed-form", action="store_true", help=help)
    asking.add_computing(parser, (*STRUCTURE, *LIMITS), timeout=_SECONDS)
    help = "(default: %(default)s)"
    parser.add_argument("--format", choices=list(_FORMATS), default="text", help=help)
    command.add_output(parser)


@sound_arithmetic()
def run(words: argparse.Namespace, out: Output) -> int:
    given, eps = program_of(words), arguments.positive(words.eps, "--eps")
    options = asking.options_of(words)
    program = load(given, reals=True)
    chosen = None if words.input is None else parse_input(words.input, program, "--input")
    program = _listed(program) if chosen is None else with_values(program, [(chosen, chosen)])
    if words.closed_form:
        inputs = _all_inputs(program) if chosen is None else [chosen]
        return _run_closed_forms(program, inputs, words, options, out)
    first = islice(_inputs(program), _MOST_INPUTS) if chosen is None else [chosen]
    found: Explanation | None = None
    with EarlyEnd() as end:
        states = execute(program, options.merge, real_outputs=True)
        found = explain(states, eps, first, options.strategy)
    if words.json:
        merged = options.merge if found is None else found.states.merged
        why = end.reason if found is None else None
        out.show_json(as_fields(program, merged, eps, found, why))
    elif found is not None:
        out.write(f"{_FORMATS[words.format](found)}\n")
    return _status(end.reason, end)


def _status(reason: str | None, end: EarlyEnd) -> int:
    """Say why not all could be shown, if so; return the exit status."""
    if reason is None:
        return 0
    print(f"unknown: {reason}", file=sys.stderr)
    return Status.INTERRUPTED if end.interrupted else Status.UNKNOWN


def _listed(program: Program) -> Program:
    """Return the program for the bounds of its real inputs, or 0."""
    domains, zero = [cell.domain for cell in program.inputs], (Fraction(0),)
    reals = [(d.bounds or zero) if isinstance(d, AllReals) else zero for d in domains]
    least, greatest = (tuple(each[end] for each in reals) for end in (0, -1))
    return with_values(program, [(least, greatest)])
