"""Tables 1 to 8 of the DiPApprox paper (CCS 2025, long version), rerun.

Tables 1, 2 and 3 are selections of 7, 6 and 5. The programs are those of its appendix A; where the
text leaves a choice, a note says what was taken.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.errors import BrokenInvariant
from dipapprox.experiments.tables.cells import (
    one_decimal,
    published_cell,
    ratio_cell,
    seconds_cell,
)
from dipapprox.experiments.tables.published import Published, published_rows
from dipapprox.experiments.tables.runs import (
    TERNARY,
    AllEpsilons,
    Found,
    Question,
    Runs,
    Subject,
)
from dipapprox.experiments.tables.table import Notes, Table
from dipapprox.integrals.strategy import Strategy
from dipapprox.privacy.options import Engine

SOURCE = "DiPApprox, CCS 2025, long version"

_LEAKY_2 = (
    "The listing gives 0…0 and 0…01 the same distribution: whether the first output is positive "
    "depends on the sign of the threshold alone, and a threshold below 0 is below every query. So "
    "δ = 0 for this pair, exactly; the printed verdict belongs to the other reading of the "
    "comparison, under which the plain Leaky-2 would be DP instead."
)
_LEAKY_1_EPSILON = (
    "Run at ε = 8, as the plain Leaky-1: the caption names only that one, but at ε = 1/2 the "
    "single pair has δ = 0 and the printed verdict could not be."
)
_RANGE_DEPTH = (
    "No average of whole numbers over the 7 final states of N = 1 rounds to the printed 2.5, and "
    "no natural measure of depth gives all three printed values; states and guards agree. Ours "
    "are layers of the dependency graph over feasible states, as everywhere else."
)
_RANGE_INPUTS = (
    "The inputs are m queries that every round reads again ({0,1}^2 for every N), which is what "
    "the printed ratio of all pairs to one pair points to."
)
_TWICE_LESS_NOISE = (
    "Not in the printed table: deviation 2/ε instead of the listing's 4Δ/ε, as the published "
    "artifact has it. The published tool found no answer at N = 5 within its limit."
)
_TERNARY = (
    "Inputs range over {-1, 0, 1} with every query changing by at most 1, the DiPC paper's "
    "setting; the table does not say."
)
_LITERAL = "3 s"


def subject_of(row: Published) -> Subject:
    """Return the program of a row."""
    file = row["example"].lower().replace("-", "_")
    parameters = [("N", Fraction(row["n"]))]
    if file.startswith("m_range"):
        parameters.append(("fresh", Fraction(0)))
    return Subject(file, tuple(parameters))


def main_table(runs: Runs, number: int, *, quick: bool) -> Table:
    """Tables 1 and 7: structure, verdicts and times for one pair and for all."""
    notes = Notes()
    rows = []
    for row in _chosen(f"table{number}", quick):
        subject = subject_of(row)
        structure = runs.structure(subject)
        where = f"{row['example']} N = {row['n']}"
        epsilon = Fraction(row["eps_resolved"])
        note = _LEAKY_1_EPSILON if row["eps"] != row["eps_resolved"] else None
        if row["example"].startswith("m-Range"):
            note = _RANGE_INPUTS
        claim = epsilon, Fraction(row["eps_prv"]), Fraction(row["delta"])
        one = runs.verify(Question(subject, *claim, "single"))
        every = runs.verify(Question(subject, *claim, "all"))
        leaky = _LEAKY_2 if row["example"] == "SVT-Gauss-Ge-Leaky-2" else None
        depth = _RANGE_DEPTH if row["example"].startswith("m-Range") else None
        rows.append(
            (
                notes.mark(row["example"], note),
                row["n"],
                notes.compare(str(structure.final_states), row["final_states"], None, where),
                notes.compare(
                    one_decimal(structure.average_guards), row["avg_guards"], None, where
                ),
                notes.compare(one_decimal(structure.average_depth), row["avg_depth"], depth, where),
                *_answer(notes, one, row, "single_pair", leaky, where),
                *_answer(notes, every, row, "all_pairs", None, where),
            )
        )
    if not quick:
        rows.append(_less_noise(runs, notes))
    columns = (
        "example", "N", "states", "avg |G|", "avg depth",
        "one pair", "published", "s", "published s", "ratio",
        "all pairs", "published", "s", "published s", "ratio",
    )  # fmt: skip
    title = f"Table {number}: verdicts, structure and times"
    return notes.table(str(number), title, columns, rows)


def _less_noise(runs: Runs, notes: Notes) -> tuple[str, ...]:
    """Noisy-Max-Gauss, N = 5, with the artifact's deviation."""
    subject = Subject("noisy_max_gauss", (("N", Fraction(5)), ("Delta", Fraction(1, 2))))
    claim = Fraction(1, 2), Fraction(1, 2), Fraction(1, 100)
    structure = runs.structure(subject)
    answers = []
    for pairs in ("single", "all"):
        found = runs.verify(Question(subject, *claim, pairs))
        answers += [found.answer, "–", seconds_cell(found), "timeout", "answered"]
    return (
        notes.mark("Noisy-Max-Gauss, deviation 2/ε", _TWICE_LESS_NOISE),
        "5",
        str(structure.final_states),
        one_decimal(structure.average_guards),
        one_decimal(structure.average_depth),
        *answers,
    )


def _answer(
    notes: Notes, found: Found, row: Published, which: str, note: str | None, where: str
) -> tuple[str, ...]:
    printed, time = row[f"{which}_verdict"], row[f"{which}_time_s"]
    return (
        notes.compare(found.answer, printed, note, f"{where}, {which}"),
        printed or "–",
        seconds_cell(found),
        published_cell(time),
        ratio_cell(time, found),
    )


def optimisation_table(runs: Runs, number: int, *, quick: bool) -> Table:
    """Tables 2 and 6: the effect of reordering the integrals."""
    notes = Notes()
    rows = []
    for row in _chosen(f"table{number}", quick):
        subject = subject_of(row)
        where = f"{row['example']} N = {row['n']}"
        structure = runs.structure(subject)
        claim = Fraction(row["eps"]), Fraction(row["eps_prv"]), Fraction(row["delta"])
        literal = runs.verify(
            Question(subject, *claim, "single", Engine.NESTED, Strategy.NONE, seconds=3.0)
        )
        nested = runs.verify(Question(subject, *claim, "single", Engine.NESTED))
        ours = runs.verify(Question(subject, *claim, "single"))
        if not {literal.answer, nested.answer} <= {ours.answer, "Unknown"}:
            raise BrokenInvariant(f"{where}: engines contradict each other")
        depths = (
            (str(structure.maximum_variables), "unoptimized_max_depth"),
            (
                _as_printed(structure.average_variables, row["unoptimized_avg_depth"]),
                "unoptimized_avg_depth",
            ),
            (str(structure.maximum_depth), "optimized_max_depth"),
            (
                _as_printed(structure.average_depth, row["optimized_avg_depth"]),
                "optimized_avg_depth",
            ),
        )
        rows.append(
            (
                row["example"],
                row["n"],
                *(notes.compare(cell, row[key], None, where) for cell, key in depths),
                ours.answer,
                seconds_cell(literal) if literal.answer != "Unknown" else f"> {_LITERAL}",
                published_cell(row["unoptimized_time_s"]),
                seconds_cell(nested),
                published_cell(row["optimized_time_s"]),
                seconds_cell(ours),
                ratio_cell(row["optimized_time_s"], ours),
            )
        )
    columns = (
        "example", "N", "max depth, unoptimised", "avg", "max depth, optimised", "avg", "verdict",
        "nested unoptimised, s", "published s", "nested, s", "published s", "default engine, s",
        "ratio",
    )  # fmt: skip
    title = f"Table {number}: nested integrals before and after optimisation, single pair"
    return notes.table(str(number), title, columns, rows)


def _as_printed(value: Fraction, printed: str) -> str:
    """Round to as many decimals as are printed, halves to even."""
    decimals = len(printed.partition(".")[2])
    return f"{float(round(value, decimals)):.{decimals}f}"


def dipc_comparison(runs: Runs, number: int, *, quick: bool) -> Table:
    """Tables 3 and 5: against DiPC, at one epsilon and (where ours can) at all."""
    notes = Notes()
    rows = []
    for row in _chosen(f"table{number}", quick):
        base = subject_of(row)
        subject = Subject(base.file, base.parameters, TERNARY)
        claim = Fraction(row["eps"]), Fraction(row["eps_prv"]), Fraction(row["delta"])
        ours = runs.verify(Question(subject, *claim, "all"))
        every, _ = runs.decide(AllEpsilons(subject))
        where = f"{row['example']} N = {row['n']}"
        rows.append(
            (
                notes.mark(row["example"], _TERNARY),
                row["n"],
                row["eps"],
                notes.compare(ours.answer, row["verdict"], None, where),
                row["verdict"],
                seconds_cell(ours),
                row["dipc_time_s"],
                ratio_cell(row["dipc_time_s"], ours),
                row["dipapprox_time_s"],
                ratio_cell(row["dipapprox_time_s"], ours),
                every.answer,
                seconds_cell(every),
            )
        )
    columns = (
        "example", "N", "ε", "verdict", "published", "s", "DiPC s", "ratio", "DiPApprox s",
        "ratio", "all ε > 0", "s",
    )  # fmt: skip
    title = f"Table {number}: pure privacy (δ = 0, ε_prv = ε), all pairs, against DiPC"
    return notes.table(str(number), title, columns, rows)


def grid_table(runs: Runs, *, quick: bool) -> Table:
    """Table 4: SVT-Gauss-Ge with N = 5 over a grid of epsilon and delta."""
    notes = Notes()
    printed = published_rows("table4")
    epsilons = list(dict.fromkeys(row["eps"] for row in printed))
    deltas = list(dict.fromkeys(row["delta"] for row in printed))
    if quick:
        epsilons = epsilons[::6]
    times = {(row["eps"], row["delta"]): row["time_s"] for row in printed}
    rows = []
    for epsilon in epsilons:
        cells = []
        for delta in deltas:
            subject = Subject("svt_gauss_ge", (("N", Fraction(5)),))
            value = Fraction(epsilon)
            found = runs.verify(Question(subject, value, value, Fraction(delta), "single"))
            cells.append(f"{found.answer} {seconds_cell(found)} ({times[epsilon, delta]})")
        rows.append((epsilon, *cells))
    title = "Table 4: SVT-Gauss-Ge, N = 5, single pair, ε_prv = ε: verdict, s (published s)"
    return notes.table("4", title, ("ε", *(f"δ = {delta}" for delta in deltas)), rows)


def checkdp_table(runs: Runs, *, quick: bool) -> Table:
    """Table 8: against CheckDP, which proves pure privacy for all epsilons."""
    notes = Notes()
    rows = []
    for row in _chosen("table8", quick):
        subject = subject_of(row)
        claim = Fraction(row["eps"]), Fraction(row["eps_prv"]), Fraction(row["delta"])
        ours = runs.verify(Question(subject, *claim, "all"))
        every, _ = runs.decide(AllEpsilons(subject))
        rows.append(
            (
                row["example"],
                row["n"],
                ours.answer,
                seconds_cell(ours),
                row["dipapprox_time_s"],
                ratio_cell(row["dipapprox_time_s"], ours),
                every.answer,
                seconds_cell(every),
                published_cell(row["checkdp_time_s"]),
                ratio_cell(row["checkdp_time_s"], every),
            )
        )
    columns = (
        "example", "N", "ε = 1/2", "s", "DiPApprox s", "ratio", "all ε > 0", "s", "CheckDP s",
        "ratio",
    )  # fmt: skip
    title = "Table 8: pure privacy, all pairs, against CheckDP (no verdicts printed)"
    return notes.table("8", title, columns, rows)


def _chosen(name: str, quick: bool) -> tuple[Published, ...]:
    rows = published_rows(name)
    return tuple(row for row in rows if int(row["n"]) <= 3) if quick else rows
