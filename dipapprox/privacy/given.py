"""What a Python program gives: rows, pairs and formulas, checked and made exact."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dipapprox.language.core import InputRow, Program
from dipapprox.language.values import exact_rational
from dipapprox.pairs.adjacency import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.probabilities import check_row

Number = int | Fraction
Row = Iterable[Number | str]


def given_pairs(program: Program, pairs: Iterable[tuple[Row, Row]] | None) -> PairSelection:
    """Take ordered pairs; None: all that the program calls adjacent.

    Raises:
        UserError: If there are none, or an input is not in the domains.
    """
    if pairs is None:
        return AllPairs()
    return OrderedPairs(tuple((given_row(program, u), given_row(program, v)) for u, v in pairs))


def given_row(program: Program, values: Row) -> InputRow:
    """Take an input.

    Raises:
        UserError: If it is not in the domains.
    """
    row = tuple(v if isinstance(v, str) else exact_rational(v, "an input value") for v in values)
    check_row(program, row)
    return row


def given_formula(value: Number | str, what: str) -> str:
    """Take a number or the text of a formula; `what` it is for begins messages."""
    return value if isinstance(value, str) else str(exact_rational(value, what))
