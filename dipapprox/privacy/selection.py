"""The values of --pairs: which ordered pairs of inputs to check."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path

from dipapprox.errors import UserError, did_you_mean
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.declarations import LARGEST_DOMAIN, describe_domain
from dipapprox.language.domains import AS_DECLARED, Widening, admits, has_names
from dipapprox.language.values import parse_input, parse_rational
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, PairSelection, in_both_orders

_USAGE = 'use all, single, "0,0~0,1; 0,0~1,0" or the name of a JSON file [[[0,0],[0,1]], …]'
_LARGEST_FILE = 2**28


def select(text: str, program: Program, name: str = "--pairs") -> PairSelection:
    """Read the pairs that are asked about; `name` is what messages call them.

    Named pairs are meant in both orders; a file's pairs are taken as they stand.

    Raises:
        UserError: If a pair is malformed or not in the domains of the inputs.
    """
    match text.strip():
        case "all":
            return AllPairs()
        case "single":
            return OrderedPairs(in_both_orders((_single(program, name),)))
        case "":
            raise UserError(f"{name} is empty", _USAGE)
        case named if "~" in named:
            return OrderedPairs(in_both_orders(_named(named, program, name)))
        case path:
            items = enumerate(_read(Path(path), name), 1)
            return OrderedPairs(tuple(_pair(item, k, Path(path), program) for k, item in items))


def widening_by_pairs(text: str, program: Program) -> Widening:
    """Return domains that contain the values of the pairs in a file.

    For `.dip` programs, which say how many inputs they have and not their values: those of the
    pairs come to {0, 1}. A `.dpg` program declares its domains, and they stay.

    Raises:
        UserError: If it is a file that cannot be read, or has too many values.
    """
    if text.strip() in ("all", "single", "") or "~" in text:
        return AS_DECLARED
    pairs = (pair for pair in _read(Path(text.strip()), "--pairs") if isinstance(pair, list))
    inputs = (input for pair in pairs for input in pair if isinstance(input, list))
    mentioned = {value for input in inputs for value in input if isinstance(value, Fraction)}
    wider = {}
    for cell in program.inputs:
        values = [value for value in {*cell.domain, *mentioned} if isinstance(value, Fraction)]
        wider[cell.variable] = tuple(sorted(values))
    if any(len(values) > LARGEST_DOMAIN for values in wider.values()):
        raise UserError(f"{text.strip()}: the pairs have more than {LARGEST_DOMAIN} values")
    return Widening(named=wider)


def _single(program: Program, name: str) -> Pair:
    """Return the papers' pair (0…0, 0…01)."""
    if not program.inputs:
        raise UserError(f"{name} single needs an input, but the program has none")
    zero, one = Fraction(0), Fraction(1)
    for cell in program.inputs:
        wanted = (zero, one) if cell is program.inputs[-1] else (zero,)
        for value in wanted:
            if not admits(cell.domain, value):
                raise UserError(
                    f"{name} single needs {value} in the domain of '{cell.name}'",
                    "name the pairs instead: " + _USAGE,
                )
    zeros = (zero,) * (len(program.inputs) - 1)
    return (*zeros, zero), (*zeros, one)


def _named(text: str, program: Program, name: str) -> tuple[Pair, ...]:
    pairs = []
    for part in text.split(";"):
        if not part.strip():
            continue
        inputs = part.split("~")
        if len(inputs) != 2:
            raise UserError(f"{name}: '{part.strip()}' is not a pair of inputs", _USAGE)
        first, second = (parse_input(input, program, name) for input in inputs)
        pairs.append((first, second))
    return tuple(pairs)


def _read(path: Path, name: str) -> list[object]:
    """Read the items of a file, which should be pairs."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UserError(f"{path}: too large for a list of pairs")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        hint = did_you_mean(str(path), ("all", "single"), _USAGE)
        raise UserError(f"{name}: cannot read '{path}': {error.strerror}", hint) from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file", _USAGE) from None
    except ValueError as error:
        raise UserError(f"{name} is no name of a file: {error}", _USAGE) from None
    try:
        # Decimals stay exact: 0.1 is 1/10.
        number = partial(parse_rational, what=f"{path}: a number")
        content = json.loads(text, parse_float=number, parse_int=number, parse_constant=str)
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
    return content


def _pair(item: object, number: int, path: Path, program: Program) -> Pair:
    if not isinstance(item, list) or len(item) != 2:
        raise UserError(f"{path}: pair {number} is not a list of two inputs", _USAGE)
    first, second = (
        _input(given, f"{path}: pair {number}, input {k}", program)
        for k, given in enumerate(item, 1)
    )
    return first, second


def _input(item: object, where: str, program: Program) -> Input:
    cells = program.inputs
    if not isinstance(item, list):
        raise UserError(f"{where}: expected a list of values", _USAGE)
    if len(item) != len(cells):
        raise UserError(f"{where}: expected {len(cells)} values, got {len(item)}")
    input: list[Value] = []
    for cell, value in zip(cells, item, strict=True):
        if isinstance(value, bool) or not isinstance(value, Fraction | str):
            raise UserError(f"{where}: '{cell.name}' is neither a number nor a name")
        if isinstance(value, str) and not admits(cell.domain, value) and not has_names(cell.domain):
            value = parse_rational(value, f"{where}: '{cell.name}'")
        if not admits(cell.domain, value):
            raise UserError(
                f"{where}: {value} is not in the domain of '{cell.name}'",
                f"allowed: {describe_domain(cell.domain)}",
            )
        input.append(value)
    return tuple(input)
