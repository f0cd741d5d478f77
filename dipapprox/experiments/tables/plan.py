"""What the tables show, read from `published/tables.toml`, and the printed figures beside it."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct, convert, field

from dipapprox.bundled import TABLES
from dipapprox.errors import UserError
from dipapprox.integrals.strategy import Strategy
from dipapprox.privacy.options import Engine

Printed = Mapping[str, str]
"""One printed row, by column."""


class RowQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about the program, or the automaton, of every row.

    Attributes:
        ask: At the printed eps, or at all of the program's interval, or about an automaton.
        pairs: "all", "single", or a pair with printed values in braces.
        eps: The column of eps; the claimed budget and delta are in `eps_prv` and `delta`.
        budget: For all epsilons: the claimed multiple of eps.
        queries: How many more the program has than are printed.
        engine: For one eps, as strategy.
        strategy: "none": states are not merged, either.
        seconds: Most that it may take.
    """

    ask: Literal["verify", "decide", "prove"]
    pairs: str = ""
    eps: str = "eps"
    budget: str = "1"
    queries: int = 0
    engine: Engine = Engine.AUTO
    strategy: Strategy = Strategy.LEAST_NESTING
    seconds: float = 120.0


class TableGrid(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of one answer over two columns of the figures.

    Attributes:
        down: The column whose values head the rows.
        head: Heading of these.
        across: The column whose values head the columns.
        heads: What stands before each of them.
        cell: The answer.
        time: The column of the printed time.
    """

    down: str
    head: str
    across: str
    heads: str
    cell: str
    time: str


class ColumnLayout(Struct, frozen=True, forbid_unknown_fields=True):
    """Columns that several tables may have.

    Attributes:
        program: The column that names the program.
        answers: By name.
        columns: Heading, kind, and what the kind needs: see `rows`.
        grid: Instead of columns.
        domain: Of every input, where not the program's own.
    """

    program: str
    answers: dict[str, RowQuestion]
    columns: tuple[tuple[str, ...], ...] = ()
    grid: TableGrid | None = None
    domain: tuple[str, ...] | None = None


class TablePlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A table, by its name on the command line, and that of the file of its figures.

    Attributes:
        quick: Greatest values of rows that take little time, by column; `every`: of a grid's rows.
        added: Rows that are not printed, each `after` the row of a program, or at the end.
    """

    name: str
    figures: str
    title: str
    layout: str
    quick: dict[str, int]
    added: tuple[dict[str, str], ...] = ()


class ProgramPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A program as a paper names it.

    Attributes:
        file: Below the folder of bundled programs, without the extension.
        parameters: But for N; {…} stands for a printed value.
        interval: Of eps, where all are asked about.
        words: Printed values of inputs that the program calls otherwise.
    """

    file: str
    parameters: dict[str, str] = field(default_factory=dict, name="with")
    interval: str = "0..inf"
    words: dict[str, str] = field(default_factory=dict)


class AutomatonPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """An automaton as a paper names it: its text."""

    text: str


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """Why cells, of tables and headings, differ from the printed ones, or what they mean.

    Attributes:
        when: Values that a row must have, by column.
        unless: Values that it must not have.
    """

    tables: tuple[str, ...]
    at: tuple[str, ...]
    text: str
    when: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unless: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_at(self, table: str, heading: str, row: Printed) -> bool:
        """Whether it belongs to a cell."""
        return (
            table in self.tables
            and heading in self.at
            and all(row[column] in values for column, values in self.when.items())
            and not any(row[column] in values for column, values in self.unless.items())
        )


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """All tables.

    Attributes:
        sources: Papers, by the beginning of their tables' names.
        tables: In the order of the papers.
        layouts: By name.
        programs: By printed name; `NAME, SEQ` before `NAME`.
        automata: Likewise, but those of a family and those with a text beside the figures.
        notes: The first that fits counts.
    """

    sources: dict[str, str]
    tables: tuple[TablePlan, ...]
    layouts: dict[str, ColumnLayout]
    programs: dict[str, ProgramPlan]
    automata: dict[str, AutomatonPlan]
    notes: tuple[Note, ...]

    def source_of(self, name: str) -> str:
        """Say which paper a table is from."""
        return self.sources[name.partition("-")[0] if "-" in name else ""]

    def chosen(self, names: Iterable[str]) -> tuple[TablePlan, ...]:
        """Return tables by their names; without any, all."""
        known = {table.name: table for table in self.tables}
        wanted = tuple(names)
        for name in wanted:
            if name not in known:
                raise UserError(f"there is no table '{name}'", f"tables: {', '.join(known)}")
        return tuple(known[name] for name in wanted) or self.tables


@cache
def plan() -> Plan:
    """Read the plan of all tables."""
    return convert(tomllib.loads(_text("tables.toml")), Plan)


def printed_rows(figures: str) -> tuple[Printed, ...]:
    """Return the rows of a CSV file of published figures."""
    return tuple(csv.DictReader(_text(f"{figures}.csv").splitlines()))


def _text(name: str) -> str:
    path = TABLES / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None
