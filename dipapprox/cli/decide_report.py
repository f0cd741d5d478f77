"""Decisions for people: a panel, and the violation beneath it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dipapprox.cli.report import count, interval, seconds
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.numerics.decimals import rounded_down
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.decisions.closed_form import as_text
from dipapprox.privacy.decisions.decision import Decision, LeastUniformDelta, Ruling, Violation
from dipapprox.privacy.decisions.epsilons import interval_words
from dipapprox.privacy.notation import valuation_text

STYLES = {Ruling.PRIVATE: "green", Ruling.VIOLATED: "red", Ruling.UNKNOWN: "yellow"}

_HEADLINES = {
    Ruling.PRIVATE: "the claim holds",
    Ruling.VIOLATED: "the claim is violated",
    Ruling.UNKNOWN: "not decided",
}

_MOST_ROWS = 20
_LONGEST_FORMULA = 400
_PLACES = 9


def decision_report(decision: Decision) -> RenderableType:
    """Lay out a decision: panel, then the violation."""
    parts: list[RenderableType] = [_panel(decision)]
    if decision.violation is not None:
        parts.append(_violation(decision, decision.violation))
    return Group(*parts)


def _panel(decision: Decision) -> Panel:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    budget = "ε" if decision.budget == 1 else f"{decision.budget} ε"
    facts.add_row(
        "claim", f"({budget}, {decision.delta.text})-DP for {interval_words(decision.epsilons)}"
    )
    if decision.parameters:
        parameters = ", ".join(f"{name} = {v}" for name, v in decision.parameters.items())
        facts.add_row("parameters", parameters)
    if decision.cause is not None:
        facts.add_row("reason", f"{decision.cause.value}: {decision.detail}")
    elif decision.detail:
        facts.add_row("note", decision.detail)
    if decision.violated_on is not None:
        facts.add_row("violated for", ranges_text(decision.violated_on))
    elif decision.violation is not None and decision.violation.ranges is not None:
        facts.add_row("violated for", f"{ranges_text(decision.violation.ranges)} by this witness")
    if decision.least_delta is not None:
        facts.add_row("least δ", _least(decision, decision.least_delta))
    pairs, outputs = count(decision.pairs, "ordered pair"), count(len(decision.outputs), "output")
    word = "inequality" if decision.inequalities == 1 else "inequalities"
    inequalities = f"{decision.inequalities} {word}, {decision.distinct} distinct"
    facts.add_row("checked", f"{pairs}, {outputs}, {inequalities}")
    facts.add_row("computed", f"{decision.engine}, {seconds(decision.seconds)}")
    style = STYLES[decision.ruling]
    words = _HEADLINES[decision.ruling]
    if decision.ruling is Ruling.PRIVATE:
        words += f" for {interval_words(decision.epsilons)}"
    headline = Text(f"{decision.program}: {words}", style=f"bold {style}")
    return Panel(Group(headline, facts), title=decision.ruling.value, border_style=style)


def ranges_text(ranges: tuple[NegativeRange, ...]) -> str:
    """Write ranges of ε."""
    if not ranges:
        return "no ε"
    return ", ".join(map(_range, ranges))


def _range(each: NegativeRange) -> str:
    lower = _end(each.lower)
    if each.upper is None:
        return f"ε {'>=' if each.lower_included else '>'} {lower}"
    if each.lower == each.upper:
        return f"ε = {lower}"
    below, above = (
        "<=" if included else "<" for included in (each.lower_included, each.upper_included)
    )
    return f"{lower} {below} ε {above} {_end(each.upper)}"


def _end(end: Enclosure) -> str:
    """Write an exact end as it is, another one as the decimals that are certain, if there are."""
    if not end.width:
        return str(end.lower)
    for places in range(_PLACES, 0, -1):
        digits = rounded_down(end.lower, places)
        if digits != "0" and digits == rounded_down(end.upper, places):
            return f"{digits}…"
    return interval(end)


def _least(decision: Decision, least: LeastUniformDelta) -> str:
    number = interval(least.enclosure) if least.exact is None else f"exactly {least.exact}"
    if least.pair is None:
        return number
    first, second = (valuation_text(decision.inputs, row) for row in least.pair)
    return f"{number}, {least.where}, for {first} against {second}"


def _violation(decision: Decision, violation: Violation) -> RenderableType:
    first = valuation_text(decision.inputs, violation.input)
    second = valuation_text(decision.inputs, violation.adjacent)
    table = Table(title=f"Witness at ε = {violation.epsilon}", title_justify="left")
    table.add_column("output")
    table.add_column(f"Pr[·] for input {first}", overflow="fold")
    table.add_column(f"Pr[·] for adjacent {second}", overflow="fold")
    for row in violation.rows[:_MOST_ROWS]:
        table.add_row(
            valuation_text(decision.output_cells, row.output),
            interval(row.probability),
            interval(row.adjacent_probability),
        )
    if len(violation.rows) > _MOST_ROWS:
        table.add_row(f"… {len(violation.rows) - _MOST_ROWS} more", "", "")
    factor = "e^ε" if decision.budget == 1 else f"e^({decision.budget} ε)"
    lines = [
        f"Pr[O | input] in {interval(violation.left)} > "
        f"{factor} Pr[O | adjacent] + δ in {interval(violation.right)}"
    ]
    if len(violation.rows) == 1:
        (row,) = violation.rows
        for name, form in (("input", row.form), ("adjacent", row.adjacent_form)):
            text = "" if form is None else as_text(form)
            if text and len(text) <= _LONGEST_FORMULA:
                lines.append(f"Pr[O | {name}] = {text}")
    return Group(table, *map(Text, lines))
