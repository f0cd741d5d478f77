"""The tables by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from dipapprox.errors import UserError
from dipapprox.experiments.tables import dipapprox_tables as dipapprox
from dipapprox.experiments.tables import dipc_tables as dipc
from dipapprox.experiments.tables.runs import Runs
from dipapprox.experiments.tables.table import Table


class Maker(Protocol):
    """Makes a table."""

    def __call__(self, runs: Runs, *, quick: bool) -> Table:
        """Run all rows, or with `quick` those that take least time."""


TABLES: dict[str, Maker] = {
    "1": partial(dipapprox.main_table, number=1),
    "2": partial(dipapprox.optimisation_table, number=2),
    "3": partial(dipapprox.dipc_comparison, number=3),
    "4": dipapprox.grid_table,
    "5": partial(dipapprox.dipc_comparison, number=5),
    "6": partial(dipapprox.optimisation_table, number=6),
    "7": partial(dipapprox.main_table, number=7),
    "8": dipapprox.checkdp_table,
    "dipc-1": partial(dipc.verdict_table, number=1),
    "dipc-2": partial(dipc.counterexample_table, number=2),
    "dipc-3": partial(dipc.verdict_table, number=3),
    "dipc-4": dipc.fixed_epsilon_table,
    "dipc-5": partial(dipc.counterexample_table, number=5),
    "dipc-6": dipc.growth_table,
    "dipc-7": dipc.pairs_table,
    "dipc-8": dipc.sparse_table,
}


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of tables; without any, of all.

    Raises:
        UserError: If there is no such table.
    """
    wanted = tuple(names)
    for name in wanted:
        if name not in TABLES:
            raise UserError(f"there is no table '{name}'", f"tables: {', '.join(TABLES)}")
    return wanted or tuple(TABLES)


def make_tables(
    names: Sequence[str], *, quick: bool, progress: Callable[[int, int | None], None]
) -> Iterator[Table]:
    """Make tables that exist; rows that several have in common are run once."""
    runs = Runs()
    for done, name in enumerate(names):
        progress(done, len(names))
        yield TABLES[name](runs, quick=quick)


SOURCES = {"": dipapprox.SOURCE, "dipc": dipc.SOURCE}


def source_of(name: str) -> str:
    """Say which paper a table is from."""
    return SOURCES["dipc" if name.startswith("dipc") else ""]
