"""Violations of programs with real outputs, as steps: by the intervals of a witness."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

from dipapprox.errors import NoCertificate
from dipapprox.privacy.notation import NumberSet, finite
from dipapprox.privacy.verdict import Witness
from dipapprox.proof_steps.machines import Json, number_json, value_json

MOST_OUTPUTS = 20_000
"""Of a set of outputs."""

Cell = tuple[Fraction | None, Fraction | None]


def intervals(witness: Witness, first: int) -> tuple[list[list[Json]], list[Json]]:
    """Return the set of a witness: where to cut each real output, and the outputs then.

    Args:
        witness: With sets of numbers.
        first: How many finite outputs there are before the real ones.

    Raises:
        NoCertificate: If the set is none of intervals, or has too many.
    """
    columns = list(zip(*(row.output[first:] for row in witness.rows), strict=True))
    cuts: list[list[Fraction]] = []
    for column in columns:
        sets = [value for value in column if isinstance(value, NumberSet)]
        if any(value.about for value in sets):
            raise NoCertificate("the violating numbers are in no intervals of their own")
        ends = {end for value in sets for each in value.intervals for end in each}
        cuts.append(sorted(end for end in ends if end is not None))
    found: list[Json] = []
    for row in witness.rows:
        sides = [[value_json(value)] for value in finite(row.output[:first])]
        for value, own in zip(row.output[first:], cuts, strict=True):
            if isinstance(value, NumberSet):
                cells = pairwise([None, *own, None])
                sides.append([_name(cell) for cell in cells if _inside(cell, value)])
            else:
                sides.append([value_json(value)])
        found += [list(each) for each in product(*sides)]
        if len(found) > MOST_OUTPUTS:
            raise NoCertificate("the violating numbers are in too many intervals")
    return [[number_json(cut) for cut in own] for own in cuts], found


def _inside(cell: Cell, numbers: NumberSet) -> bool:
    (low, high), ends = cell, numbers.intervals
    return any(
        (first is None or (low is not None and first <= low))
        and (last is None or (high is not None and high <= last))
        for first, last in ends
    )


def _name(cell: Cell) -> Json:
    low, high = cell
    return {"name": f"{'-inf' if low is None else low} to {'inf' if high is None else high}"}
