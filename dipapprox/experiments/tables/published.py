"""The published tables, read from the CSV files beside this one."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.errors import UserError

Published = Mapping[str, str]
"""One printed row, by column."""

_FOLDER = Path(__file__).parent / "published"

LOST = {"T.O": "timeout", "O.M": "out of memory"}
"""What stands in the place of a time when the published tool had no answer."""


def published_rows(name: str) -> tuple[Published, ...]:
    """Return the rows of "table1" … "table8", "dipc_table1" … "dipc_table8"."""
    path = _FOLDER / f"{name}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None


def seconds_of(printed: str) -> Fraction | None:
    """Return a printed time in seconds; None for a lost row or none."""
    return None if printed in LOST or not printed else Fraction(printed)
