"""Verdicts on intervals of epsilons for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dipapprox.cli.report import HEADLINES, STYLES, count, interval, seconds, verdict_report
from dipapprox.numerics.decimals import rounded_down, rounded_up
from dipapprox.privacy.intervals.verdict import IntervalVerdict

_MOST_PARTS = 10
_PLACES = 9


def interval_report(verdict: IntervalVerdict) -> RenderableType:
    """Lay out a verdict on an interval: panel, then the verdict at the epsilon of the witness."""
    parts: list[RenderableType] = [_panel(verdict)]
    if verdict.violation is not None:
        parts.append(verdict_report(verdict.violation))
    return Group(*parts)


def _panel(verdict: IntervalVerdict) -> Panel:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    claim = verdict.claim
    facts.add_row(
        "claim",
        f"(ε_prv, δ) = ({claim.budget_text}, {claim.delta_text}), program run at every ε in "
        f"[{verdict.lower}, {verdict.upper}]",
    )
    if verdict.parameters:
        parameters = ", ".join(f"{name} = {v}" for name, v in verdict.parameters.items())
        facts.add_row("parameters", parameters)
    if verdict.reason is not None:
        facts.add_row("reason", verdict.reason)
    if verdict.violation is not None:
        facts.add_row("violated at", f"ε = {verdict.violation.claim.epsilon}")
    elif verdict.delta_enclosure is not None:
        facts.add_row("largest δ", interval(verdict.delta_enclosure))
    if verdict.remaining:
        facts.add_row("undecided", _parts(verdict))
    outputs = count(verdict.outputs, "output")
    facts.add_row("checked", f"{count(verdict.pairs, 'ordered pair')}, {outputs}")
    points = count(verdict.points, "value") + " of ε"
    spent = seconds(verdict.seconds)
    facts.add_row("computed", f"{points}, {verdict.engine}, {verdict.precision} bits, {spent}")
    style = STYLES[verdict.answer]
    headline = Text(f"{verdict.program}: {HEADLINES[verdict.answer]}", style=f"bold {style}")
    return Panel(Group(headline, facts), title=verdict.answer.value, border_style=style)


def _parts(verdict: IntervalVerdict) -> str:
    shown = [
        f"[{rounded_down(low, _PLACES)}, {rounded_up(high, _PLACES)}]"
        for low, high in verdict.remaining[:_MOST_PARTS]
    ]
    more = len(verdict.remaining) - _MOST_PARTS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
