"""Numbers that are written as formulas: log(3), eps^2/100."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dipapprox.data_classes import dataclass
from dipapprox.language.formula import Formula, parse_formula

_FORMULA = re.compile(r"[*^()]|.[-+]|\b(?:eps|delta|sqrt|log|exp)\b", re.ASCII)
"""What numbers never contain; the sign of an exponent is taken out first."""

_EXPONENT = re.compile(r"(?<=[\d.])[eE][-+]?\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Written:
    """A formula, and the text that it was read from."""

    formula: Formula
    text: str


def is_formula(text: str) -> bool:
    """Tell formulas from what is, or was meant to be, a number."""
    return bool(_FORMULA.search(_EXPONENT.sub("", text.strip())))


def written(text: str, name: str, names: Sequence[str]) -> Written:
    """Read a formula in some names.

    Raises:
        SourceError: If it is none; `name` is where.
    """
    return Written(parse_formula(text, name, names), " ".join(text.split()))
