"""Inputs at which every comparison of a program is a tie, were there no noise.

    final states with real inputs -> a point of the inputs' ranges, or None

The point c, with every sample at its mean there, makes both sides of every guard equal, and gives
all final states with the same finite outputs the same published numbers. These are linear equations
in c; whether the ranges hold a solution is a linear programme, solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import nearest_point
from dipapprox.semantics.state import FinalStates, guards_of


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
    own = list[LinearForm]()
    for form in dict.fromkeys(_vanishing(states, limits)):
        if form.is_constant:
            if form.constant:
                return None
            continue
        own += (form, -form)
    for cell in cells:
        bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
        if bounds is not None:
            value = LinearForm.symbol(cell.name)
            low, high = map(LinearForm.constant_form, bounds)
            own += (value - high, low - value)
    found = nearest_point(own, [cell.name for cell in cells], limits)
    return None if found is None else {cell.name: found[cell.name] for cell in cells}


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
