"""Verdicts on intervals of epsilons for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from dipapprox.cli.report import count, interval, seconds, verdict_panel, verdict_report
from dipapprox.numerics.decimals import rounded_down, rounded_up
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.notation import parameters_text
from dipapprox.privacy.verdict import delta_name

_MOST_PARTS = 10
_PLACES = 9


def interval_report(verdict: IntervalVerdict) -> RenderableType:
    """Lay out a verdict on an interval: panel, then the verdict at the epsilon of the witness."""
    parts: list[RenderableType] = [verdict_panel(verdict, _facts(verdict))]
    if verdict.violation is not None:
        parts.append(verdict_report(verdict.violation))
    return Group(*parts)


def _facts(verdict: IntervalVerdict) -> Iterator[tuple[str, str]]:
    claimed = f"(ε_prv, δ) = ({verdict.claim.eps_prv_text}, {verdict.claim.delta_text})"
    yield "claim", f"{claimed}, program run at every ε in [{verdict.lower}, {verdict.upper}]"
    yield from verdict.scope.rows()
    if verdict.parameters:
        yield "parameters", parameters_text(verdict.parameters)
    if verdict.reason is not None:
        yield "reason", verdict.reason
    if verdict.violation is not None:
        yield "violated at", f"ε = {verdict.violation.claim.eps}"
    elif verdict.delta_enclosure is not None:
        yield delta_name(verdict.answer), interval(verdict.delta_enclosure)
    if verdict.remaining:
        yield "undecided", _parts(verdict)
    outputs = count(verdict.outputs, "output")
    yield "checked", f"{count(verdict.pairs, 'ordered pair')}, {outputs}"
    points = count(verdict.points, "value") + " of ε"
    spent = seconds(verdict.seconds)
    yield "computed", f"{points}, {verdict.engine}, {verdict.precision} bits, {spent}"


def _parts(verdict: IntervalVerdict) -> str:
    shown = [
        f"[{rounded_down(low, _PLACES)}, {rounded_up(high, _PLACES)}]"
        for low, high in verdict.remaining[:_MOST_PARTS]
    ]
    more = len(verdict.remaining) - _MOST_PARTS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
