"""Results as a Markdown page: tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench import commands
from bench.automata import CHECKED, PROVED, READ
from bench.comparison import AFRESH, CERTIFIED, ELIMINATION, LITERAL, NESTED, PLAIN, PREPARED
from bench.figures import judge
from bench.polyhedra import ENCLOSED, SCIPY
from bench.published import published
from bench.real_inputs import VERIFIED
from bench.replays import FOUND, REPLAYED, WRITTEN
from bench.suite import Results
from bench.sweeping import Swept
from bench.timing import Outcome, Ratio, Timing

_INTRODUCTION = """# Benchmarks

Written by `make bench`; everything below was measured in one run, in milliseconds of wall-clock
time unless said otherwise, medians of the runs in brackets. Contestants of a row took turns.
"> x" marks a run that was stopped after x: its ratio is a lower bound."""

_ENGINES = """## Engines side by side

A whole verification of the papers' pair (0…0, 0…01) in one process: execution, events,
probabilities, verdict, at 40 bits. `elimination` is the default engine. The last contestant has the
published method's shape: every final state as one literal nest of integrals, states not merged.
A chain's probability is enclosed to a relative width of 1e-6."""

_PLAIN = """## Certified float64 tier beside plain numpy

The probabilities of the same distinct events, every enclosure at most 2^-40 wide asked. Plain numpy
is Gauss-Legendre quadrature without any error bound (`plain.py`), NOT rigorous. Both begin with the
events and end with their probabilities. "read" is what plain numpy takes when it knows beforehand
what is in the events. The engine remembers nothing, but the process knows grids with the node
values of laws, as in any run after the first; "afresh" is without them: then the node values of all
densities and distribution functions are proved again, which plain numpy has no need of.
"distance" is the largest one of a plain value from its enclosure's midpoint."""

_POLYHEDRA = """## Linear guards beside scipy

All events of a row together; scipy knows no sums of Laplace samples. The enclosures are at most
2^-40 wide; scipy's multivariate normal distribution function is asked for 1e-6, an error that it
estimates, NOT rigorous. "distance" is the largest one of its value from the enclosure."""

_PUBLISHED = """## Published numbers beside scipy

The divergence at eps_prv 1/2 of two inputs that publish real numbers, nothing remembered but grids.
Scipy integrates max(0, f - e^eps_prv g), with inner quadratures where densities need them; its
errors are estimates, NOT rigorous. "times": how many times longer the enclosure took."""

_AUTOMATA = """## Least budgets of automata

For every ε, inputs of every length, all real numbers. "check" is that of the certificate, from the
text: "times" compares it with a proof from the text. Published seconds: DiPAut (CCS 2023), Tables 1
to 3, on a quad-core laptop, about 0.22 s of start-up included; it finds a budget, not the least."""

_REAL_INPUTS = """## All real inputs

A verdict about infinitely many pairs, and the check of its certificate, a proof that the kernel
replays: "times" compares the two."""

_PROOFS = """## Finding, writing and replaying

A verdict at one ε without a proof, the file of its proof, and the kernel's replay of the file. The
program is read before. "times": how many times longer replaying took than finding, and writing."""

_COMMANDS = """## Whole commands with proofs

An answer, the same with the proof that the kernel has replayed, and `check` of its file; profiles
have no file. Processor time, the start of Python included. "added": what proving adds, in times of
finding; "times": how many times longer checking took than finding."""

_COMPOSITIONS = """## What many runs cost

Certified intervals of the least ε for a δ, with all grids that were needed for them, and one
pessimistic value of dp_accounting on the last grid, in doubles."""

_SERVICES = """## Least budgets of services

The query server of Tschantz, Kaynar and Datta with t slots of v points, or one pool of memory: for
every ε and every sequence of calls. From the elaborated service to the bounds; the paper reports no
run."""

_ALONE = """## Time and memory against N

Every case in a fresh process. "first" is the first verification in it, "median" that of all runs.
Memory is the peak resident set in MiB, before and after. Published seconds: DiPApprox (CCS 2025),
Tables 6 and 7, on a quad-core laptop; "again": the published tool on a 2-core server."""

BUSY = (
    "The machine was busy: more processes wanted a processor than there are, so times are too "
    "long; ratios suffer less, since the contestants of a row took turns."
)


def page(
    results: Results, machine: Mapping[str, str], plot: str | None, notes: Sequence[str]
) -> str:
    """Return the page.

    Args:
        results: What was measured.
        machine: Its description.
        plot: File name of the plot; None if there is none.
        notes: What a reader should know about this run.
    """
    parts = [_INTRODUCTION, "\n".join(f"- {name}: {text}" for name, text in machine.items())]
    parts += [*notes, "## Figures to reach", _figures(results)]
    if results.compared:
        parts += [_ENGINES, _engines(results)]
    if results.batches:
        parts += [_PLAIN, _plain(results)]
    if results.polyhedra:
        parts += [_POLYHEDRA, _polyhedra(results)]
    if results.published:
        parts += [_PUBLISHED, _published(results)]
    if results.automata:
        parts += [_AUTOMATA, _automata(results)]
    if results.real_inputs:
        parts += [_REAL_INPUTS, _real_inputs(results)]
    if results.proofs:
        parts += [_PROOFS, _proofs(results)]
    if results.commands:
        parts += [_COMMANDS, _commands(results)]
    if results.services:
        parts += [_SERVICES, _services(results)]
    if results.compositions:
        parts += [_COMPOSITIONS, _compositions(results)]
    if results.alone:
        parts += [_ALONE, _alone(results)]
        parts += [] if plot is None else [f"![time against N]({plot})"]
    if results.command is not None:
        parts += ["## The whole command", _command(results)]
    if results.swept is not None:
        parts += ["## A sweep", _sweep(results.swept)]
    return "\n\n".join(parts) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; the first column is text, the others are numbers."""
    rule = ("---", *("---:" for _ in heads[1:]))
    lines = [heads, rule, *rows]
    for cells in lines:
        if len(cells) != len(heads):
            raise ValueError(f"{len(cells)} cells in a table of {len(heads)} columns")
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines
    )


def milliseconds(timing: Timing) -> str:
    """Write a median, and how many runs it is of."""
    match timing.outcome:
        case Outcome.FAILED:
            return f"no answer: {timing.reason}"
        case Outcome.CAPPED:
            return f"> {1000 * timing.median:.0f}"
        case Outcome.ANSWERED:
            return f"{_plainly(1000 * timing.median)} ({len(timing.seconds)})"


def _plainly(number: float) -> str:
    """Write three significant digits without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _times(found: Ratio | None) -> str:
    return "" if found is None else str(found)


def _figures(results: Results) -> str:
    rows = [
        (figure.name, figure.goal, figure.found, figure.standing.value) for figure in judge(results)
    ]
    return table(("case", "goal", "found", "standing"), rows)


def _engines(results: Results) -> str:
    rows = []
    for _, comparison in results.compared:
        timings, ratios = comparison.timings, comparison.ratios()
        rows.append(
            (
                comparison.name,
                milliseconds(timings[ELIMINATION]),
                milliseconds(timings[NESTED]),
                _times(ratios[NESTED]),
                milliseconds(timings[LITERAL]),
                _times(ratios[LITERAL]),
            )
        )
    return table(("case", ELIMINATION, NESTED, "times", LITERAL, "times"), rows)


def _plain(results: Results) -> str:
    rows = [
        (
            batch.name,
            str(batch.events),
            milliseconds(batch.timings[CERTIFIED]),
            milliseconds(batch.timings[AFRESH]),
            milliseconds(batch.timings[PLAIN]),
            milliseconds(batch.timings[PREPARED]),
            _times(batch.ratio()),
            _times(batch.ratio_afresh()),
            _scientific(batch.width),
            _scientific(batch.distance),
        )
        for batch in results.batches
    ]
    clocks = (CERTIFIED, "afresh", PLAIN, "read", "times", "times afresh")
    heads = ("case", "events", *clocks, "widest enclosure", "distance")
    return table(heads, rows)


def _polyhedra(results: Results) -> str:
    rows = [
        (
            each.name,
            milliseconds(each.timings[ENCLOSED]),
            milliseconds(each.timings[SCIPY]),
            _times(each.ratio()),
            _scientific(each.distance),
        )
        for each in results.polyhedra
    ]
    return table(("case", ENCLOSED, SCIPY, "times", "distance"), rows)


def _published(results: Results) -> str:
    rows = [
        (
            each.case.name,
            milliseconds(each.timings[ENCLOSED]),
            milliseconds(each.timings[SCIPY]),
            _times(each.ratio()),
            _scientific(each.width),
            _scientific(each.distance),
        )
        for each in results.published
    ]
    return table(("case", ENCLOSED, SCIPY, "times", "width", "distance"), rows)


def _automata(results: Results) -> str:
    rows = []
    for each in results.automata:
        checked = each.timings.get(CHECKED)
        rows.append(
            (
                each.case.name,
                each.bounds,
                milliseconds(each.timings[PROVED]),
                milliseconds(each.timings[READ]),
                "" if checked is None else milliseconds(checked),
                _times(each.ratio()),
                _seconds(each.case.published),
            )
        )
    return table(("case", "least D", PROVED, "text read", CHECKED, "times", "published, s"), rows)


def _real_inputs(results: Results) -> str:
    rows = [
        (
            each.case.name,
            milliseconds(each.timings[VERIFIED]),
            milliseconds(each.timings[CHECKED]),
            _times(each.ratio()),
        )
        for each in results.real_inputs
    ]
    return table(("claim", VERIFIED, CHECKED, "times"), rows)


def _proofs(results: Results) -> str:
    rows = []
    for each in results.proofs:
        rows.append(
            (
                each.name,
                milliseconds(each.timings[FOUND]),
                milliseconds(each.timings[WRITTEN]),
                _times(each.writing()),
                milliseconds(each.timings[REPLAYED]),
                _times(each.replaying()),
                str(each.size),
            )
        )
    return table(("claim", FOUND, WRITTEN, "times", REPLAYED, "times", "bytes"), rows)


def _commands(results: Results) -> str:
    rows = []
    for each in results.commands:
        added, checked = each.proving(), each.timings.get(commands.CHECKED)
        rows.append(
            (
                each.name,
                milliseconds(each.timings[commands.FOUND]),
                milliseconds(each.timings[commands.PROVED]),
                "" if added is None else f"{added:.2g}",
                "" if checked is None else milliseconds(checked),
                _times(each.checking()),
                str(each.size or ""),
            )
        )
    heads = (commands.FOUND, commands.PROVED, "added", commands.CHECKED, "times", "bytes")
    return table(("command", *heads), rows)


def _services(results: Results) -> str:
    rows = [
        (each.case.name, each.bounds, str(each.pairs), milliseconds(each.timing))
        for each in results.services
    ]
    return table(("server", "least D", "pairs", "prove"), rows)


def _compositions(results: Results) -> str:
    rows = [
        (
            each.case.name,
            each.interval,
            each.step,
            milliseconds(each.timing),
            "" if each.other is None else milliseconds(each.other),
        )
        for each in results.compositions
    ]
    return table(("runs", "least ε", "step", "compose", "dp_accounting"), rows)


def _alone(results: Results) -> str:
    rows = []
    for _, case, growth in results.alone:
        known = published(case)
        answered = growth.timing.outcome is Outcome.ANSWERED
        rows.append(
            (
                growth.name,
                _plainly(1000 * growth.timing.first) if answered else "",
                milliseconds(growth.timing),
                f"{growth.idle} / {growth.memory}",
                _seconds(None if known is None else known.printed),
                _seconds(None if known is None else known.repeated),
            )
        )
    heads = ("case", "first", "median", "memory", "published, s", "again, s")
    return table(heads, rows)


def _scientific(number: float | None) -> str:
    return "" if number is None else f"{number:.1e}"


def _seconds(known: float | str | None) -> str:
    return "" if known is None else str(known)


def _command(results: Results) -> str:
    command = results.command
    assert command is not None
    rows = [
        ("time, start-up included", milliseconds(command.timing)),
        ("peak memory, MiB", str(command.memory)),
        *(
            (f"`{name}` in times of importing numpy and flint", f"{ratio:.2f}")
            for name, ratio in command.starts.items()
        ),
    ]
    return table(("svt_gauss N=5, all pairs, one new process each", "found"), rows)


def _sweep(swept: Swept) -> str:
    rows = [
        ("the sweep, seconds", _plainly(swept.seconds)),
        ("its processor time, seconds", _plainly(swept.processor)),
        ("that of the same cases in one process", _plainly(swept.bare)),
        ("times", _plainly(swept.times)),
    ]
    return table((swept.name, "found"), rows)
