"""Inputs at which every comparison of a program is a tie, were there no noise.

    final states with real inputs -> a point of the inputs' ranges, or None

The point c, with every sample at its mean there, makes both sides of every guard equal, and gives
all final states with the same finite outputs the same published numbers. These are linear equations
in c; whether the ranges hold a solution is a linear programme, solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm

from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.programme import Infeasible, LinearProgramme, Side
from dipapprox.semantics.state import FinalStates, guards_of

Row = tuple[dict[int, int], int]
"""Coefficients a_i by the number of the input, and h: Σ a_i c_i <= h."""


def inputs_at_ties(states: FinalStates, limits: Limits) -> Mapping[str, Fraction] | None:
    """Find inputs within their ranges at which all comparisons are ties without noise.

    Args:
        states: Of a program whose inputs are all real.
        limits: Asked throughout.

    Returns:
        Such inputs by name, exact; None if there are none.

    Raises:
        LimitReached: If a limit is reached.
    """
    cells = states.program.inputs
    numbers = {cell.name: k for k, cell in enumerate(cells)}
    rows = list[Row]()
    for form in dict.fromkeys(_vanishing(states, limits)):
        if form.is_constant:
            if form.constant:
                return None
            continue
        rows += (_row(form, numbers), _row(-form, numbers))
    if not rows:
        # Any inputs will do; the programme below needs a row.
        return {
            cell.name: cell.domain.bounds[0]
            if isinstance(cell.domain, AllReals) and cell.domain.bounds
            else Fraction(0)
            for cell in cells
        }
    for cell in cells:
        bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
        if bounds is not None:
            own = LinearForm.symbol(cell.name)
            low, high = map(LinearForm.constant_form, bounds)
            rows += (_row(own - high, numbers), _row(low - own, numbers))
    count = len(cells)
    programme = LinearProgramme(
        [coefficients for coefficients, _ in rows], (1,) * count, (Side.ANY,) * count, limits
    )
    found = programme.solve([right for _, right in rows])
    if isinstance(found, Infeasible):
        return None
    return {cell.name: value for cell, value in zip(cells, found.shift, strict=True)}


def _vanishing(states: FinalStates, limits: Limits) -> Iterator[LinearForm]:
    """Yield forms over inputs that have to be 0."""
    means: dict[Symbol, LinearForm] = {k: each.mean for k, each in enumerate(states.samples)}
    published = dict[object, tuple[LinearForm, ...]]()
    for state in states.states:
        limits.check()
        for guard in guards_of(state.path):
            yield guard.form.substitute(means)
        own = tuple(form.substitute(means) for form in state.reals)
        first = published.setdefault(state.outputs, own)
        for form, other in zip(own, first, strict=True):
            yield form - other


def _row(form: LinearForm, numbers: Mapping[str, int]) -> Row:
    """Write form <= 0 in integers."""
    unit = lcm(form.constant.denominator, *(c.denominator for _, c in form.terms))
    coefficients = {numbers[name]: int(form.coefficient(name) * unit) for name in form.inputs()}
    return coefficients, -int(form.constant * unit)
