"""TOML files with exact numbers: 0.1 is 1/10."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language.lexer import read_decimal
from dipapprox.language.load import read_text

_LARGEST = 2**20


def read_toml(path: Path) -> dict[str, object]:
    """Read a file; decimals become `Fraction`."""
    text = read_text(path, _LARGEST)
    try:
        return tomllib.loads(text, parse_float=_exact)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: not TOML: nested too deeply") from None
    except ValueError as error:  # from parse_float
        raise UserError(f"{path}: {error}") from None


def check_known(table: Mapping[str, object], allowed: Collection[str], where: str) -> None:
    """Refuse keys that mean nothing."""
    for key in table:
        if key not in allowed:
            hint = did_you_mean(key, list(allowed), f"known keys: {', '.join(allowed)}")
            raise UserError(f"{where}: unknown key '{key}'", hint)


def _exact(text: str) -> Fraction:
    digits = text.replace("_", "").removeprefix("+")
    negative = digits.startswith("-")
    if not digits.removeprefix("-")[:1].isdigit():
        raise ValueError(f"{text} is no number")  # nan, inf
    value = read_decimal(digits.removeprefix("-"))
    if value is None:
        raise ValueError(f"{shorten(text)} is too long or too extreme")
    return -value if negative else value
