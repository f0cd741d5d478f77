"""Whether guards of integers hold together at some integer point: by linear programmes, exactly.

In: inequalities in integers. Out: whether they have a point, if that is found out. A guard with
rational coefficients is multiplied up and its constant rounded down, which no integer point
notices; so it does not matter where between two values of its form a guard was cut.

    the point of least Σ |z_i| among the reals  -- none ----------->  no integer point
        |                                        -- integers ------>  a point
        some z_i is no integer: z_i <= ⌊z_i⌋ or z_i >= ⌈z_i⌉, each as before (Land, Doig 1960)

It ends where the reals are bounded; elsewhere, and where it takes long, it is given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor

from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol, content
from dipapprox.linear.half_spaces import nearest_point

_MOST_PROGRAMMES = 64
_MOST_WORK = 4_000
"""Samples times inequalities: more are not looked at."""

_REMEMBERED = 2_000


@dataclass(frozen=True, slots=True)
class Inequality:
    """Σ a_i z_i <= bound.

    Attributes:
        terms: (i, a_i), ascending, every a_i != 0, without common divisor.
    """

    terms: tuple[tuple[int, int], ...]
    bound: int


def in_integers(guard: LinearForm) -> tuple[tuple[tuple[int, int], ...], Fraction]:
    """Read form <= 0 as Σ a_i z_i <= bound: its terms as in `Inequality`, and the bound."""
    if not guard.terms:
        raise BrokenInvariant("a guard mentions no sample")
    unit = content(a for _, a in guard.terms)
    terms = []
    for sample, a in guard.terms:
        if not isinstance(sample, int):
            raise BrokenInvariant("a guard of an event mentions an input")
        terms.append((sample, int(a / unit)))
    return tuple(terms), -guard.constant / unit


def integer_inequality(guard: LinearForm) -> Inequality:
    """form <= 0, for integers."""
    terms, bound = in_integers(guard)
    return Inequality(terms, floor(bound))


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
    waiting = [[LinearForm(_fractions(each.terms), Fraction(-each.bound)) for each in system]]
    for _ in range(_MOST_PROGRAMMES):
        if not waiting:
            return False
        own = waiting.pop()
        found = nearest_point(own, samples, Limits())
        if found is None:
            continue
        broken = next((k for k, value in found.items() if value.denominator != 1), None)
        if broken is None:
            return True
        symbol, value = LinearForm.symbol(broken), found[broken]
        waiting.append([*own, symbol - LinearForm.constant_form(floor(value))])
        waiting.append([*own, LinearForm.constant_form(ceil(value)) - symbol])
    return False if not waiting else None


def _fractions(terms: Iterable[tuple[int, int]]) -> tuple[tuple[Symbol, Fraction], ...]:
    return tuple([(sample, Fraction(a)) for sample, a in terms])
