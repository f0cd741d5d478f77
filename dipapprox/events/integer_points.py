"""Whether guards of integers hold together at some integer point: by linear programmes, exactly.

In: inequalities in integers. Out: a point, the proof that there is none, or neither.

    the point of least Σ |z_i| among the reals  -- none ----------->  no integer point
        |                                        -- integers ------>  a point
        some z_i is no integer: z_i <= ⌊z_i⌋ or z_i >= ⌈z_i⌉, each as before (Land, Doig 1960)

It ends where the reals are bounded; elsewhere, and where it takes long, it is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from dipapprox.cache import Cache
from dipapprox.events.inequalities import Inequality, integer_inequality
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.linear.programme import Infeasible, LinearProgramme, Side

_MOST_PROGRAMMES = 64
_MOST_WORK = 4_000
"""Samples times inequalities: more are not looked at."""

_REMEMBERED = 2_000

_known: Cache[tuple[Inequality, ...], bool | None] = Cache(_REMEMBERED)
"""Inputs change laws, and guards rarely."""


def meet(guards: Sequence[LinearForm]) -> bool | None:
    """Whether some integers have form <= 0 for all guards; None if that is not found out."""
    return have_integer_point([integer_inequality(guard) for guard in guards])


def have_integer_point(inequalities: Sequence[Inequality]) -> bool | None:
    """Whether some integers meet all inequalities; None if that is not found out."""
    system = tuple(inequalities)
    return _known.find(system, lambda: _searched(system))


def _searched(system: tuple[Inequality, ...]) -> bool | None:
    samples = sorted({sample for each in system for sample, _ in each.terms})
    if len(samples) * len(system) > _MOST_WORK:
        return None
    place = {sample: k for k, sample in enumerate(samples)}
    rows = [({place[sample]: a for sample, a in each.terms}, each.bound) for each in system]
    waiting = [rows]
    for _ in range(_MOST_PROGRAMMES):
        if not waiting:
            return False
        own = waiting.pop()
        size = len(samples)
        programme = LinearProgramme(
            [row for row, _ in own], (1,) * size, (Side.ANY,) * size, Limits()
        )
        found = programme.solve([bound for _, bound in own])
        if isinstance(found, Infeasible):
            continue
        broken = next((k for k, value in enumerate(found.shift) if value.denominator != 1), None)
        if broken is None:
            return True
        value = found.shift[broken]
        waiting.append([*own, ({broken: 1}, floor(value))])
        waiting.append([*own, ({broken: -1}, -ceil(value))])
    return False if not waiting else None
