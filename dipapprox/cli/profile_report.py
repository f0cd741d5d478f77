"""Answers about privacy profiles, and calibrations, for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dipapprox.cli.report import interval
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import parameters_text, valuation_text
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.privacy.profiles.extended import Extended
from dipapprox.privacy.profiles.profile_result import (
    LeastDelta,
    LeastEpsPrv,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
    Run,
)
from dipapprox.privacy.verdict import Witness

_MOST_POINTS = 21
_MOST_OUTPUTS = 8


def profile_report(answer: ProfileAnswer) -> RenderableType:
    """Lay out an answer: what was asked, what is certain, which pair attains it."""
    run = answer.run
    match answer:
        case LeastDelta():
            headline = f"least δ for ε_prv = {answer.eps_prv}: {interval(answer.delta_enclosure)}"
            facts = _witness_facts(run, answer.witness)
            return _panel(run, headline, facts)
        case LeastEpsPrv():
            headline = f"least ε_prv for δ = {answer.delta}: {extended(answer.eps_prv_enclosure)}"
            if answer.eps_prv_enclosure.infinite:
                headline += " (no ε_prv is enough)"
            return _panel(run, headline, _witness_facts(run, answer.witness))
        case PrivacyCurve():
            first, last = answer.envelope.points[0], answer.envelope.points[-1]
            count = len(answer.envelope.points)
            gap = short(Enclosure(answer.largest_gap, answer.largest_gap), 3)[1]
            headline = f"privacy profile for ε_prv from {first.eps_prv} to {last.eps_prv}"
            facts = [
                ("certified", f"at {count} points; between them to within {gap}"),
                *_witness_facts(run, answer.witness),
            ]
            return Group(_panel(run, headline, facts), _curve_table(answer))
        case RenyiProfile():
            facts = [(f"D_{each.order}", extended(each.divergence)) for each in answer.orders]
            facts.append(("zCDP ρ", f"{extended(answer.rho)} for all orders > 1"))
            return _panel(run, "largest Rényi divergences, in nats", facts)


def calibration_report(found: Calibration) -> RenderableType:
    """Lay out a calibration."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in (*found.run.scope.rows(), *found.rows()):
        facts.add_row(name, Text(value))
    facts.add_row("computed", f"{found.queries} values of ε tried, {_seconds(found.seconds)}")
    restriction = found.run.scope.restriction
    headline = Text(f"{found.run.program}: calibration{restriction}", style="bold")
    return Panel(Group(headline, facts), title="calibrate")


def extended(value: Extended) -> str:
    """Write bounds of a number that may be infinite."""
    if value.infinite:
        return "∞"
    if value.lower is not None and value.upper is not None:
        return interval(Enclosure(value.lower, value.upper))
    low, _ = value.ends()
    return f"at least {low}"


def _panel(run: Run, headline: str, rows: Iterable[tuple[str, str]]) -> Panel:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in run.scope.rows():
        facts.add_row(name, Text(value))
    if run.parameters:
        facts.add_row("parameters", parameters_text(run.parameters))
    for name, value in rows:
        facts.add_row(name, Text(value))
    if run.reason is not None:
        facts.add_row("reason", run.reason)
    pairs = "too many to count" if run.pairs is None else str(run.pairs)
    facts.add_row("pairs", f"{pairs} ordered pairs, {run.outputs} outputs")
    facts.add_row("computed", f"{run.engine}, {run.precision} bits, {_seconds(run.seconds)}")
    subject = f"{run.program} at ε = {run.eps}{run.scope.restriction}"
    title = Text(f"{subject}: {headline}", style="bold")
    return Panel(Group(title, facts), title="profile")


def _witness_facts(run: Run, witness: Witness | None) -> list[tuple[str, str]]:
    if witness is None:
        return []
    first, second = run.witness_text(witness)
    shown = [valuation_text(run.output_cells, row.output) for row in witness.rows]
    more = f"; … {len(shown) - _MOST_OUTPUTS} more" if len(shown) > _MOST_OUTPUTS else ""
    return [
        ("attained by", f"input {first}; adjacent {second}"),
        ("outputs", "; ".join(shown[:_MOST_OUTPUTS]) + more + witness.others()),
    ]


def _curve_table(curve: PrivacyCurve) -> Table:
    points = curve.envelope.points
    table = Table()
    table.add_column("ε_prv", justify="right")
    table.add_column("least δ", overflow="fold")
    rows = min(len(points), _MOST_POINTS)
    for k in (row * (len(points) - 1) // (rows - 1) for row in range(rows)):
        eps_prv = short(Enclosure.exact(points[k].eps_prv), 6)[0]
        table.add_row(eps_prv, interval(points[k].delta))
    return table


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.001 else "< 1 ms"
