"""The values of --pairs: which ordered pairs of inputs to check."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from dipapprox.errors import UserError
from dipapprox.language.core import Cell, InputRow, Program, Value
from dipapprox.language.values import parse_rational, parse_row
from dipapprox.privacy.notation import row_text
from dipapprox.privacy.pairs.adjacency import (
    AllPairs,
    OrderedPairs,
    Pair,
    PairSelection,
    in_both_orders,
)

_USAGE = 'use all, single, "0,0~0,1; 0,0~1,0" or the name of a JSON file [[[0,0],[0,1]], …]'
_LARGEST_FILE = 2**28


def select(text: str, program: Program) -> PairSelection:
    """Read --pairs.

    Named pairs are meant in both orders; a file's pairs are taken as they stand.

    Raises:
        UserError: If a pair is malformed or not in the domains of the inputs.
    """
    match text.strip():
        case "all":
            return AllPairs()
        case "single":
            return OrderedPairs(in_both_orders((_single(program),)))
        case "":
            raise UserError("--pairs is empty", _USAGE)
        case named if "~" in named:
            return OrderedPairs(in_both_orders(_named(named, program)))
        case path:
            return OrderedPairs(_from_file(Path(path), program))


def _single(program: Program) -> Pair:
    """Return the papers' pair (0…0, 0…01)."""
    if not program.inputs:
        raise UserError("--pairs single needs an input, but the program has none")
    zero, one = Fraction(0), Fraction(1)
    for cell in program.inputs:
        wanted = (zero, one) if cell is program.inputs[-1] else (zero,)
        for value in wanted:
            if value not in cell.domain:
                raise UserError(
                    f"--pairs single needs {value} in the domain of '{cell.name}'",
                    "name the pairs instead: " + _USAGE,
                )
    zeros = (zero,) * (len(program.inputs) - 1)
    return (*zeros, zero), (*zeros, one)


def _named(text: str, program: Program) -> tuple[Pair, ...]:
    pairs = []
    for part in text.split(";"):
        if not part.strip():
            continue
        rows = part.split("~")
        if len(rows) != 2:
            raise UserError(f"--pairs: '{part.strip()}' is not a pair of inputs", _USAGE)
        first, second = (parse_row(row, program) for row in rows)
        pairs.append((first, second))
    return tuple(pairs)


def _from_file(path: Path, program: Program) -> tuple[Pair, ...]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UserError(f"{path}: too large for a list of pairs")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"--pairs: cannot read '{path}': {error.strerror}", _USAGE) from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file", _USAGE) from None
    try:
        # Decimals stay exact: 0.1 is 1/10.
        content = json.loads(text, parse_float=Fraction, parse_int=Fraction, parse_constant=str)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg.lower()}", _USAGE
        ) from None
    except (RecursionError, ValueError):
        raise UserError(f"{path}: not a list of pairs", _USAGE) from None
    if not isinstance(content, list):
        raise UserError(f"{path}: expected a list of pairs", _USAGE)
    if not content:
        raise UserError(f"{path}: the list of pairs is empty: there is nothing to check", _USAGE)
    return tuple(_pair(item, number, path, program) for number, item in enumerate(content, 1))


def _pair(item: object, number: int, path: Path, program: Program) -> Pair:
    if not isinstance(item, list) or len(item) != 2:
        raise UserError(f"{path}: pair {number} is not a list of two inputs", _USAGE)
    first, second = (
        _row(row, f"{path}: pair {number}, input {k}", program) for k, row in enumerate(item, 1)
    )
    return first, second


def _row(item: object, where: str, program: Program) -> InputRow:
    cells = program.inputs
    if not isinstance(item, list):
        raise UserError(f"{where}: expected a list of values", _USAGE)
    if len(item) != len(cells):
        raise UserError(f"{where}: expected {len(cells)} values, got {len(item)}")
    row: list[Value] = []
    for cell, value in zip(cells, item, strict=True):
        if isinstance(value, bool) or not isinstance(value, Fraction | str):
            raise UserError(f"{where}: '{cell.name}' is neither a number nor a name")
        if isinstance(value, str) and value not in cell.domain and _is_numeric(cell):
            value = parse_rational(value, f"{where}: '{cell.name}'")
        if value not in cell.domain:
            raise UserError(
                f"{where}: {value} is not in the domain of '{cell.name}'",
                f"allowed: {row_text(cell.domain)}",
            )
        row.append(value)
    return tuple(row)


def _is_numeric(cell: Cell) -> bool:
    return all(isinstance(value, Fraction) for value in cell.domain)
