"""Verdicts and distributions for people: a panel, and tables beneath it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import valuation_text
from dipapprox.privacy.probabilities import OutputDistribution
from dipapprox.privacy.verdict import Answer, Verdict, Witness

STYLES = {Answer.DP: "green", Answer.NOT_DP: "red", Answer.UNKNOWN: "yellow"}
_MOST_ROWS = 20


def interval(enclosure: Enclosure) -> str:
    """Write an enclosure as "[lower, upper]", or as the number if it is one."""
    lower, upper = short(enclosure)
    return lower if lower == upper else f"[{lower}, {upper}]"


def verdict_report(verdict: Verdict) -> RenderableType:
    """Lay out a verdict: panel, then the witness."""
    parts: list[RenderableType] = [_panel(verdict)]
    if verdict.witness is not None:
        parts.append(_witness_table(verdict, verdict.witness))
    return Group(*parts)


def _panel(verdict: Verdict) -> Panel:
    claim = verdict.claim
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    facts.add_row(
        "claim",
        f"(ε_prv, δ) = ({verdict.budget_text}, {verdict.delta_text}), "
        f"program run at ε = {claim.epsilon}",
    )
    if verdict.parameters:
        parameters = ", ".join(f"{name} = {v}" for name, v in verdict.parameters.items())
        facts.add_row("parameters", parameters)
    if verdict.reason is not None:
        facts.add_row("reason", verdict.reason)
    if verdict.delta_enclosure is not None:
        what = "δ of this pair" if verdict.answer is Answer.NOT_DP else "largest δ"
        facts.add_row(what, interval(verdict.delta_enclosure))
    facts.add_row("checked", _checked(verdict))
    facts.add_row(
        "computed", f"{verdict.engine}, {verdict.precision} bits, {seconds(verdict.seconds)}"
    )
    style = STYLES[verdict.answer]
    headline = Text(f"{verdict.program}: {HEADLINES[verdict.answer]}", style=f"bold {style}")
    return Panel(Group(headline, facts), title=verdict.answer.value, border_style=style)


HEADLINES = {
    Answer.DP: "the claim holds",
    Answer.NOT_DP: "the claim is violated",
    Answer.UNKNOWN: "not decided",
}


def _checked(verdict: Verdict) -> str:
    if verdict.pairs == 0 and verdict.answer is Answer.DP:
        return "no two different inputs are adjacent: nothing to tell apart"
    pairs = count(verdict.pairs, "ordered pair")
    outputs, states = count(verdict.outputs, "output"), count(verdict.final_states, "final state")
    return f"{pairs}, {outputs}, {states}"


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seconds(spent: float) -> str:
    """Write a run time."""
    return f"{spent:.3g} s" if spent >= 0.001 else "< 1 ms"


def _witness_table(verdict: Verdict, witness: Witness) -> RenderableType:
    certain = verdict.answer is Answer.NOT_DP
    first = valuation_text(verdict.inputs, witness.input)
    second = valuation_text(verdict.inputs, witness.adjacent)
    title = "Witness" if certain else "Closest pair"
    table = Table(title=f"{title}: these outputs are too likely" if certain else title)
    table.title_justify = "left"
    table.add_column("output")
    table.add_column(f"Pr[·] for input {first}", overflow="fold")
    table.add_column(f"Pr[·] for adjacent {second}", overflow="fold")
    for row in witness.rows[:_MOST_ROWS]:
        table.add_row(
            valuation_text(verdict.output_cells, row.output),
            interval(row.probability),
            interval(row.adjacent_probability),
        )
    if len(witness.rows) > _MOST_ROWS:
        table.add_row(f"… {len(witness.rows) - _MOST_ROWS} more", "", "")
    relation = f" > {verdict.delta_text} = δ" if certain else ""
    total = Text(
        f"Pr[S | input] - e^({verdict.budget_text}) Pr[S | adjacent] in "
        f"{interval(witness.delta_enclosure)}{relation}"
    )
    return Group(table, total)


def distribution_report(distribution: OutputDistribution) -> RenderableType:
    """Lay out the output distribution of one input."""
    row = valuation_text(distribution.inputs, distribution.row)
    where = f" for {row}" if row else ""
    table = Table(
        title=f"{distribution.program}{where}, ε = {distribution.epsilon}", title_justify="left"
    )
    table.add_column("output")
    table.add_column("probability", overflow="fold")
    table.add_column("final states", justify="right")
    for each in distribution.outputs:
        table.add_row(
            valuation_text(distribution.output_cells, each.output),
            interval(each.probability),
            str(each.final_states),
        )
    return table
