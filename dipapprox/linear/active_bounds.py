"""One variable out of linear inequalities: which of its bounds are active, and where.

Fourier-Motzkin elimination as a decomposition: the part of a polyhedron where l is the greatest of
a variable's lower bounds and h the least of its upper ones is given by

    l' <= l,   h <= h',   l <= h      for all other lower bounds l' and upper bounds h',

which do not mention the variable. The parts fill the projection of the polyhedron, and overlap in
null sets only. The bounds of integers tie (`exact.variables`); with bounds that are
differences there are fewer parts where l and h are about one variable
(`numerics.elimination.differences`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.linear.form import LinearForm

Bound = LinearForm | None  # none: there is none


def solved_for(
    variable: int, forms: Iterable[LinearForm]
) -> tuple[tuple[LinearForm, ...], tuple[LinearForm, ...]]:
    """Solve form <= 0 for the variable: lower bounds and upper bounds, each once.

    Forms that do not mention it are passed over.
    """
    lowers: dict[LinearForm, None] = {}
    uppers: dict[LinearForm, None] = {}
    for form in forms:
        coefficient = form.coefficient(variable)
        if not coefficient:
            continue
        rest = LinearForm(tuple(t for t in form.terms if t[0] != variable), form.constant)
        side = uppers if coefficient > 0 else lowers
        side[rest.scaled(Fraction(-1) / coefficient)] = None
    return tuple(lowers), tuple(uppers)


def active(
    lowers: Sequence[LinearForm], uppers: Sequence[LinearForm]
) -> Iterator[tuple[Bound, Bound, list[LinearForm]]]:
    """Yield every choice of active bounds with the constraints (form <= 0) that it means."""
    lower_choices: Sequence[Bound] = lowers or (None,)
    upper_choices: Sequence[Bound] = uppers or (None,)
    for lower, upper in product(lower_choices, upper_choices):
        outer: list[LinearForm] = []
        if lower is not None:
            outer += [other - lower for other in lowers if other is not lower]
        if upper is not None:
            outer += [upper - other for other in uppers if other is not upper]
            if lower is not None:
                outer.append(lower - upper)
        yield lower, upper, outer
