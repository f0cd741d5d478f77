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
from dipapprox.integrals.integral import Strategy
from dipapprox.privacy.options import Engine

Printed = Mapping[str, str]  # one printed row, by column


class RowQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about the program, or the automaton, of every row."""

    # At the printed eps, or at all of the program's interval, or about an automaton.
    ask: Literal["verify", "decide", "prove"]
    pairs: str = ""  # "all", "single", or a pair with printed values in braces
    eps: str = "eps"  # the column of eps; the claimed budget and delta are in `eps_prv` and `delta`
    budget: str = "1"  # for all epsilons: the claimed multiple of eps
    queries: int = 0  # how many more the program has than are printed
    engine: Engine = Engine.AUTO  # for one eps, as strategy
    strategy: Strategy = Strategy.LEAST_NESTING  # "none": states are not merged, either
    seconds: float = 120.0  # most that it may take


class TableGrid(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of one answer over two columns of the figures."""

    down: str  # the column whose values head the rows
    head: str  # heading of these
    across: str  # the column whose values head the columns
    heads: str  # what stands before each of them
    cell: str  # the answer
    time: str  # the column of the printed time


class ColumnLayout(Struct, frozen=True, forbid_unknown_fields=True):
    """Columns that several tables may have."""

    program: str  # the column that names the program
    answers: dict[str, RowQuestion]  # by name
    columns: tuple[tuple[str, ...], ...] = ()  # heading, kind, and what the kind needs: see `rows`
    grid: TableGrid | None = None  # instead of columns
    domain: tuple[str, ...] | None = None  # of every input, where not the program's own


class TablePlan(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    figures: str
    title: str
    layout: str
    # Greatest values of rows that take little time, by column; `every`: of a grid's rows.
    quick: dict[str, int]
    # Rows that are not printed, each `after` the row of a program, or at the end.
    added: tuple[dict[str, str], ...] = ()


class ProgramPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A program as a paper names it."""

    file: str  # below the folder of bundled programs, without the extension
    # But for N; {…} stands for a printed value.
    parameters: dict[str, str] = field(default_factory=dict, name="with")
    interval: str = "0..inf"  # of eps, where all are asked about
    # Printed values of inputs that the program calls otherwise.
    words: dict[str, str] = field(default_factory=dict)


class AutomatonPlan(Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """Why cells, of tables and headings, differ from the printed ones, or what they mean."""

    tables: tuple[str, ...]
    at: tuple[str, ...]
    text: str
    # Values that a row must have, by column.
    when: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unless: dict[str, tuple[str, ...]] = field(default_factory=dict)  # values that it must not have

    def is_at(self, table: str, heading: str, row: Printed) -> bool:
        """Whether it belongs to a cell."""
        return (
            table in self.tables
            and heading in self.at
            and all(row[column] in values for column, values in self.when.items())
            and not any(row[column] in values for column, values in self.unless.items())
        )


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]  # papers, by the beginning of their tables' names
    tables: tuple[TablePlan, ...]  # in the order of the papers
    layouts: dict[str, ColumnLayout]  # by name
    programs: dict[str, ProgramPlan]  # by printed name; `NAME, SEQ` before `NAME`
    # Likewise, but those of a family and those with a text beside the figures.
    automata: dict[str, AutomatonPlan]
    notes: tuple[Note, ...]  # the first that fits counts

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
