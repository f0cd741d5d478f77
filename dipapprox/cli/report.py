"""Verdicts and distributions for people: a panel, and tables beneath it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dipapprox.language.core import Cell
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import parameters_text, valuation_text
from dipapprox.privacy.probabilities import OutputDistribution
from dipapprox.privacy.verdict import Answer, Verdict, Witness, WitnessRow, delta_name

if TYPE_CHECKING:
    from dipapprox.privacy.intervals.verdict import IntervalVerdict

STYLES = {Answer.DP: "green", Answer.NOT_DP: "red", Answer.UNKNOWN: "yellow"}
_MOST_ROWS = 20


def interval(enclosure: Enclosure) -> str:
    """Write an enclosure as "[lower, upper]", or as the number if it is one."""
    lower, upper = short(enclosure)
    return lower if lower == upper else f"[{lower}, {upper}]"


def verdict_report(verdict: Verdict) -> RenderableType:
    """Lay out a verdict: panel, then the witness."""
    parts: list[RenderableType] = [verdict_panel(verdict, _facts(verdict))]
    if verdict.witness is not None:
        parts.append(_witness_table(verdict, verdict.witness))
    return Group(*parts)


def verdict_panel(verdict: Verdict | IntervalVerdict, facts: Iterable[tuple[str, str]]) -> Panel:
    """Frame the headline of a verdict and what is known."""
    headline = f"{verdict.program}: {HEADLINES[verdict.answer]}{verdict.scope.restriction}"
    return panel(headline, verdict.answer.value, STYLES[verdict.answer], facts)


def panel(headline: str, title: str, style: str, facts: Iterable[tuple[str, str]]) -> Panel:
    """Frame a headline and what is known, as names and values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, value in facts:
        grid.add_row(name, value)
    words = Text(headline, style=f"bold {style}")
    return Panel(Group(words, grid), title=title, border_style=style)


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    claimed = f"(ε_prv, δ) = ({verdict.eps_prv_text}, {verdict.delta_text})"
    yield "claim", f"{claimed}, program run at ε = {verdict.claim.eps}"
    yield from verdict.scope.rows()
    if verdict.parameters:
        yield "parameters", parameters_text(verdict.parameters)
    if verdict.reason is not None:
        yield "reason", verdict.reason
    if verdict.delta_enclosure is not None:
        yield delta_name(verdict.answer), interval(verdict.delta_enclosure)
    yield "checked", _checked(verdict)
    yield "computed", f"{verdict.engine}, {verdict.precision} bits, {seconds(verdict.seconds)}"


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
    title = "Witness: these outputs are too likely" if certain else "Closest pair"
    first = valuation_text(verdict.inputs, witness.input)
    second = valuation_text(verdict.inputs, witness.adjacent)
    table = pair_table(title, (first, second), verdict.output_cells, witness.rows)
    relation = f" > {verdict.delta_text} = δ" if certain else ""
    if witness.argument is not None:
        relation += f": {witness.argument}"
    examples = f"S: the output above{witness.others()}\n" if witness.at_least is not None else ""
    total = Text(
        f"{examples}Pr[S | input] - e^({verdict.eps_prv_text}) Pr[S | adjacent] in "
        f"{interval(witness.delta_enclosure)}{relation}"
    )
    return Group(table, total)


def pair_table(
    title: str, pair: tuple[str, str], cells: tuple[Cell, ...], rows: Sequence[WitnessRow]
) -> Table:
    """Lay out the first outputs of a witness, with their probabilities for its two inputs."""
    table = Table(title=title, title_justify="left")
    table.add_column("output")
    table.add_column(f"Pr[·] for input {pair[0]}", overflow="fold")
    table.add_column(f"Pr[·] for adjacent {pair[1]}", overflow="fold")
    for row in rows[:_MOST_ROWS]:
        table.add_row(
            valuation_text(cells, row.output),
            interval(row.probability),
            interval(row.adjacent_probability),
        )
    if len(rows) > _MOST_ROWS:
        table.add_row(f"… {len(rows) - _MOST_ROWS} more", "", "")
    return table


def distribution_report(distribution: OutputDistribution) -> RenderableType:
    """Lay out the output distribution of one input."""
    row = valuation_text(distribution.inputs, distribution.input)
    where = f" for {row}" if row else ""
    table = Table(
        title=f"{distribution.program}{where}, ε = {distribution.eps}", title_justify="left"
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
