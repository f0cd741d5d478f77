"""Explanations as text, LaTeX, DOT and JSON fields."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.cli.explanation import ExplainedState, Explanation
from dipapprox.integrals import plan as plans
from dipapprox.integrals.integral import Plan
from dipapprox.language.core import Program
from dipapprox.privacy.description import parameter_fields, parameters_text
from dipapprox.privacy.notation import valuation, valuation_text

_MOST_STATES = 50
"""States shown in full as text; JSON has all of them."""


def as_text(explanation: Explanation) -> str:
    """Write everything, one block for each state."""
    at = f"integrals at ε = {explanation.eps}"
    lines = [_headline(explanation), _averages(explanation), at]
    for number, state in enumerate(explanation.details[:_MOST_STATES], 1):
        lines += ["", *_state_lines(explanation, state, number)]
    if len(explanation.details) > _MOST_STATES:
        lines += ["", f"… {len(explanation.details) - _MOST_STATES} more states (--json has all)"]
    return "\n".join(lines)


def as_latex(explanation: Explanation) -> str:
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


def as_fields(explanation: Explanation) -> dict[str, object]:
    """Return the fields of `explain --json`."""
    fields = unfinished_fields(
        explanation.states.program, explanation.states.merged, explanation.eps
    )
    for name, value in (
        ("average_guards", explanation.average_guards),
        ("average_depth", explanation.average_depth),
        ("average_depth_unoptimised", explanation.average_depth_unoptimised),
    ):
        fields[name] = str(value)
        fields[f"{name}_decimal"] = round(float(value), 4)
    fields["final_states"] = explanation.final_states
    fields["states"] = [_state_fields(explanation, state) for state in explanation.details]
    return fields


def unfinished_fields(
    program: Program, merged: bool, eps: Fraction, reason: str | None = None
) -> dict[str, object]:
    """Return the same fields with nothing known of the states, and the reason for that."""
    averages = ("average_guards", "average_depth", "average_depth_unoptimised")
    return {
        "program": program.name,
        "params": parameter_fields(program.parameters),
        "merged": merged,
        "reason": reason,
        "final_states": None,
        **{name + end: None for name in averages for end in ("", "_decimal")},
        "eps": str(eps),
        "states": [],
    }


def _state_fields(explanation: Explanation, state: ExplainedState) -> dict[str, object]:
    known = state.before is not None and state.after is not None
    return {
        "output": valuation(explanation.states.program.outputs, state.outputs),
        "conditions": list(state.conditions),
        "choices": list(state.choices),
        "guards": list(state.guards),
        "samples": list(state.samples),
        **({"numbers": list(state.numbers)} if state.numbers else {}),
        "sums": list(state.sums),
        "dependencies": [[state.names[a], state.names[b]] for a, b in state.dependencies],
        "depth": state.depth if known else None,
        "depth_unoptimised": state.depth_unoptimised,
        "input": None
        if state.input is None
        else valuation(explanation.states.program.inputs, state.input),
        "integral_before": _integral(state.before, state),
        "integral_after": _integral(state.after, state),
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


def _averages(explanation: Explanation) -> str:
    before, after = explanation.average_depth_unoptimised, explanation.average_depth
    depths = f"{_average(after)}, not optimised {_average(before)}"
    return f"averages: guards {_average(explanation.average_guards)}, depth {depths}"


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


def _output(explanation: Explanation, state: ExplainedState) -> str:
    finite = valuation_text(explanation.states.program.outputs, state.outputs)
    return ", ".join(filter(None, (finite, *state.numbers)))


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}" for line in text.split("\n"))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
