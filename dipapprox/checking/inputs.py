"""Inputs and pairs as a certificate names them, looked up in its program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import assert_never

from dipapprox.certificates.statement import AdjacentPairs, ListedPairs, Pairs, PlainValues
from dipapprox.checking import pairs
from dipapprox.checking.values import Stuck
from dipapprox.errors import UserError
from dipapprox.language.core import Cell, Program, Value
from dipapprox.language.domains import admits
from dipapprox.language.values import parse_rational
from dipapprox.privacy.notation import values_text

MOST_INPUTS = 20_000
"""Most inputs whose distributions a check derives again."""


def inputs_to_derive(
    program: Program, listed: Sequence[pairs.Pair] | None
) -> list[tuple[Value, ...]]:
    """Return the inputs of listed pairs, or all there are.

    Raises:
        Stuck: If there are more than `MOST_INPUTS`; they are counted before they are made.
    """
    found = None
    if listed is None:
        number = prod(len(cell.domain) for cell in program.inputs)
    else:
        found = list(dict.fromkeys(input for pair in listed for input in pair))
        number = len(found)
    if number > MOST_INPUTS:
        raise Stuck(f"{number} inputs would have to be derived again; the limit is {MOST_INPUTS}")
    return pairs.all_inputs(program) if found is None else found


def neighbours(
    program: Program, inputs: Sequence[tuple[Value, ...]], listed: Sequence[pairs.Pair] | None
) -> pairs.Neighbours:
    """Yield the places of the pairs to check: those listed, or all that are adjacent."""
    if listed is None:
        return pairs.adjacent_indices(program, inputs)
    return pairs.listed_indices(listed, inputs)


def listed_pairs(recorded: Pairs, program: Program) -> list[pairs.Pair] | None:
    """Read listed pairs; None: all adjacent ones.

    Raises:
        UserError: If an input is no input of the program.
    """
    match recorded:
        case AdjacentPairs():
            return None
        case ListedPairs(list=listed):
            cells = program.inputs
            return [(values_of(u, cells), values_of(v, cells)) for u, v in listed]
        case _:
            assert_never(recorded)


def values_of(plain: PlainValues, cells: Sequence[Cell]) -> tuple[Value, ...]:
    """Read the values of some cells: strings are names of a cell's domain, or rationals.

    Raises:
        UserError: If a value is not in the domain of its cell.
    """
    if len(plain) != len(cells):
        raise UserError(f"{len(plain)} values for {len(cells)} cells")
    values: list[Value] = []
    for item, cell in zip(plain, cells, strict=True):
        value: Value = item if isinstance(item, str) else Fraction(item)
        if not admits(cell.domain, value) and isinstance(item, str):
            value = parse_rational(item, f"a value of '{cell.name}'")
        if not admits(cell.domain, value):
            raise UserError(f"{item} is not in the domain of '{cell.name}'")
        values.append(value)
    return tuple(values)


def pair_text(pair: pairs.Pair) -> str:
    """Name a pair for people."""
    return f"the pair {values_text(pair[0])} ~ {values_text(pair[1])}"
