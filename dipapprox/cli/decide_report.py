"""Decisions for people: a panel, and the violation beneath it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from dipapprox.cli.report import count, interval, pair_table, panel, seconds
from dipapprox.digits import exact_text
from dipapprox.privacy.decisions.closed_form import as_text
from dipapprox.privacy.decisions.decision import EXACT, Decision, LeastUniformDelta, Violation
from dipapprox.privacy.decisions.epsilons import claim_words, interval_words
from dipapprox.privacy.decisions.range_words import ranges_text
from dipapprox.privacy.notation import parameters_text, valuation_text
from dipapprox.privacy.verdict import Answer

STYLES = {Answer.DP: "green", Answer.NOT_DP: "red", Answer.UNKNOWN: "yellow"}

_HEADLINES = {
    Answer.DP: "the claim holds",
    Answer.NOT_DP: "the claim is violated",
    Answer.UNKNOWN: "not decided",
}

_LONGEST_FORMULA = 400


def decision_report(decision: Decision) -> RenderableType:
    """Lay out a decision: panel, then the violation."""
    answer = decision.answer
    parts: list[RenderableType] = [
        panel(_headline(decision), answer.value, STYLES[answer], _facts(decision))
    ]
    if decision.violation is not None:
        parts.append(_violation(decision, decision.violation))
    return Group(*parts)


def _facts(decision: Decision) -> Iterator[tuple[str, str]]:
    yield "claim", claim_words(decision.budget, decision.delta.text, decision.epsilons)
    yield from decision.scope.rows()
    if decision.parameters:
        yield "parameters", parameters_text(decision.parameters)
    if decision.cause is not None:
        yield "reason", f"{decision.cause.value}: {decision.detail}"
    elif decision.detail:
        yield "note", decision.detail
    if decision.violated_on is not None:
        yield "violated for", ranges_text(decision.violated_on)
    elif decision.violation is not None and decision.violation.ranges is not None:
        yield "violated for", f"{ranges_text(decision.violation.ranges)} by this witness"
    if decision.least_delta is not None:
        yield "least δ", _least(decision, decision.least_delta)
    yield "checked", _checked(decision)
    yield "computed", f"{decision.engine}, {seconds(decision.seconds)}"


def _checked(decision: Decision) -> str:
    pairs, outputs = (
        count(decision.pairs, "ordered pair"),
        count(decision.number_of_outputs, "output"),
    )
    if decision.engine == EXACT:
        word = "inequality" if decision.inequalities == 1 else "inequalities"
        return f"{pairs}, {outputs}, {decision.inequalities} {word}, {decision.distinct} distinct"
    where = ""
    if decision.violation is not None:
        where = f" at ε = {decision.violation.eps}"
    elif decision.answer is Answer.DP:
        where = f" for {interval_words(decision.epsilons)}"
    return f"{pairs}, {outputs}, by enclosures{where}"


def _headline(decision: Decision) -> str:
    words = _HEADLINES[decision.answer]
    if decision.answer is Answer.DP:
        words += f" for {interval_words(decision.epsilons)}"
    return f"{decision.program}: {words}{decision.scope.restriction}"


def _least(decision: Decision, least: LeastUniformDelta) -> str:
    exact = least.exact
    number = interval(least.enclosure) if exact is None else f"exactly {exact_text(exact)}"
    if least.pair is None:
        return number
    first, second = (valuation_text(decision.inputs, row) for row in least.pair)
    return f"{number}, {least.where}, for {first} against {second}"


def _violation(decision: Decision, violation: Violation) -> RenderableType:
    first = valuation_text(decision.inputs, violation.input)
    second = valuation_text(decision.inputs, violation.adjacent)
    title = f"Witness at ε = {exact_text(violation.eps)}"
    table = pair_table(title, (first, second), decision.output_cells, violation.rows)
    factor = "e^ε" if decision.budget == 1 else f"e^({decision.budget} ε)"
    left = right = ""
    if violation.left is not None and violation.right is not None:
        left, right = f" in {interval(violation.left)}", f" in {interval(violation.right)}"
    lines = [f"Pr[O | input]{left} > {factor} Pr[O | adjacent] + δ{right}"]
    if violation.not_enclosed is not None:
        lines[0] += f": {violation.not_enclosed}"
    if len(violation.rows) == 1:
        (row,) = violation.rows
        for name, form in (("input", row.form), ("adjacent", row.adjacent_form)):
            text = "" if form is None else as_text(form)
            if text and len(text) <= _LONGEST_FORMULA:
                lines.append(f"Pr[O | {name}] = {text}")
    return Group(table, *map(Text, lines))
