"""Does a system of linear inequalities contain an open set? Exact, over the rationals.

Events and the domains of integrals are systems { form <= 0 }; a system whose strict version has no
solution has measure zero, and conversely. Variables that are bounded on one side only are
dropped first; what is left is decided as shortest paths when it consists of differences, and by
a linear programme otherwise. Let the forms be a_g·x + c_g. Some x has a_g·x + c_g < 0 for all g
exactly if some x and s >= 0 have

    a_g·x + c_g·s <= -1   for all g.

Proof. From such an x, (x·s, s) is one for large s. From (x, s): x / s, or, if s = 0, t·x for
large t.

Whether guards of integers hold together at some integer point is found by linear programmes, too,
exactly, if it is. A guard with rational coefficients is multiplied up and its constant rounded
down, which no integer point notices; so it does not matter where between two values of its form a
guard was cut.

    the point of least Σ |z_i| among the reals  -- none ----------->  no integer point
        |                                        -- integers ------>  a point
        some z_i is no integer: z_i <= ⌊z_i⌋ or z_i >= ⌈z_i⌉, each as before (Land, Doig 1960)

It ends where the reals are bounded; elsewhere, and where it takes long, it is given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import TypeVar

from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import is_forest
from dipapprox.linear import programme, zones
from dipapprox.linear.form import LinearForm, Symbol, content, difference

# most systems are differences


def has_interior(forms: Iterable[LinearForm]) -> bool:
    """Return whether some point has form < 0 for every form."""
    system = []
    for form in forms:
        if form.terms:
            system.append(form)
        elif form.constant >= 0:
            return False
    system = _without_free_variables(system)
    if not system:
        return True
    differences = [difference(form) for form in system]
    found = [d for d in differences if d is not None]
    if len(found) == len(system):
        return zones.are_open(found)
    return _have_common_slack(system)


def implies(forms: Iterable[LinearForm], conclusion: LinearForm) -> bool:
    """Return whether form <= 0 for every form entails conclusion <= 0, up to measure zero."""
    return not has_interior([*forms, -conclusion])


def _without_free_variables(system: list[LinearForm]) -> list[LinearForm]:
    """Drop the forms with a variable that has the same sign everywhere: it can make them true."""
    while True:
        signs: dict[Symbol, int] = {}
        for form in system:
            for symbol, coefficient in form.terms:
                signs[symbol] = signs.get(symbol, 0) | (1 if coefficient.numerator > 0 else 2)
        kept = [form for form in system if all(signs[s] == 3 for s, _ in form.terms)]
        if len(kept) == len(system):
            return kept
        system = kept


def _unasked() -> None:
    """Systems are small: their pivots are no steps of those who ask about them."""


def _have_common_slack(system: Sequence[LinearForm]) -> bool:
    """Whether some point has form < 0 for every form, by a linear programme."""
    scale = ""  # no symbol of a form
    rows = [((scale, form.constant), *form.terms) for form in system]
    unknowns = dict.fromkeys([scale, *(s for form in system for s, _ in form.terms)])
    anywhere, positive = programme.UnknownSide.ANY, programme.UnknownSide.AT_LEAST_ZERO
    sides = dict.fromkeys(unknowns, anywhere) | {scale: positive}
    slack = programme.LinearProgramme(rows, dict.fromkeys(unknowns, 1), sides)
    return isinstance(slack.solve([-1] * len(rows), _unasked), programme.Optimum)


def nearest_point(
    forms: Sequence[LinearForm], unknowns: Iterable[Symbol]
) -> Mapping[Symbol, Fraction] | None:
    """Return the point of least Σ |x| that has form <= 0 for every form; None if there is none."""
    sides = dict.fromkeys(unknowns, programme.UnknownSide.ANY)
    rows = [form.terms for form in forms]
    nearest = programme.LinearProgramme(rows, dict.fromkeys(sides, 1), sides)
    found = nearest.solve([-form.constant for form in forms], _unasked)
    return found.shift if isinstance(found, programme.Optimum) else None


def irredundant(guards: Iterable[LinearForm]) -> tuple[LinearForm, ...] | None:
    """Drop the guards that the others imply; None if they hold together with probability 0.

    A guard is form <= 0. The kept guards are `normalised()` and in their first order.
    """
    forms = tuple(guard.normalised() for guard in guards)
    differences = [d for d in map(difference, forms) if d is not None]
    if len(differences) == len(forms) and is_forest((u, v) for u, v, _ in differences):
        return forms  # no undirected cycle, 0 being a vertex, too: all can hold, none is implied
    tightest: dict[tuple[tuple[Symbol, Fraction], ...], Fraction] = {}
    for form in forms:
        known = tightest.get(form.terms)
        if known is None or known < form.constant:
            tightest[form.terms] = form.constant
    forms = tuple(LinearForm(terms, constant) for terms, constant in tightest.items())
    differences = [d for d in map(difference, forms) if d is not None]
    if len(differences) < len(forms):
        return _systems.find(forms, lambda: _without_implied(forms)) or None
    if not has_interior(forms):
        return None
    kept = zones.needed({(u, v): w for u, v, w in differences})
    return tuple([f for f, (u, v, _) in zip(forms, differences, strict=True) if (u, v) in kept])


_systems: Cache[tuple[LinearForm, ...], tuple[LinearForm, ...]] = Cache(2_000)
"""Irredundant systems by system: inputs change laws, and guards rarely. Empty: impossible."""


def _without_implied(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...]:
    """The general case: one linear program for each guard."""
    if not has_interior(forms):
        return ()
    kept = list(forms)
    for form in forms:
        others = [other for other in kept if other is not form]
        if implies(others, form):
            kept = others
    return tuple(kept)


Bound = LinearForm | None  # none: there is none
End = TypeVar("End")


def solved_for(
    variable: int, forms: Iterable[LinearForm]
) -> tuple[tuple[LinearForm, ...], tuple[LinearForm, ...]]:
    """Solve form <= 0 for the variable: lower bounds and upper bounds, each once.

    Forms that do not mention it are passed over.
    """
    sides: tuple[dict[LinearForm, None], ...] = {}, {}
    for form in forms:
        coefficient = form.coefficient(variable)
        if coefficient:
            rest = LinearForm(tuple(t for t in form.terms if t[0] != variable), form.constant)
            sides[coefficient > 0][rest.scaled(Fraction(-1) / coefficient)] = None
    return tuple(sides[0]), tuple(sides[1])


def active(
    lowers: Sequence[End], uppers: Sequence[End]
) -> Iterator[tuple[End | None, End | None, list[tuple[End, End, bool]]]]:
    """Yield every choice of a greatest lower bound l and a least upper bound h, and where it holds:

        l' <= l,   h <= h',   l <= h      for all other lower bounds l' and upper bounds h',

    as pairs (Fourier-Motzkin elimination as a decomposition). These parts fill the projection of a
    polyhedron and overlap in null sets only; of integers they are disjoint if the pairs with True
    are strict: a tie goes to the first bound. Without bounds l, or h, is None.
    """
    for (i, lower), (j, upper) in product(
        enumerate(lowers or (None,)), enumerate(uppers or (None,))
    ):
        where: list[tuple[End, End, bool]] = []
        if lower is not None:
            where += [(other, lower, k < i) for k, other in enumerate(lowers) if k != i]
        if upper is not None:
            where += [(upper, other, k < j) for k, other in enumerate(uppers) if k != j]
            if lower is not None:
                where.append((lower, upper, False))
        yield lower, upper, where


_MOST_PROGRAMMES = 64
_MOST_WORK = 4_000  # samples times inequalities: more are not looked at
_REMEMBERED = 2_000


class Inequality(Record):
    """Σ a_i z_i <= bound: (i, a_i), ascending, a_i != 0, without common divisor."""

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
    terms, bound = in_integers(guard)
    return Inequality(terms, floor(bound))


_known: Cache[tuple[Inequality, ...], bool | None] = Cache(_REMEMBERED)
"""Inputs change laws, and guards rarely."""


def have_integer_point(inequalities: Iterable[Inequality]) -> bool | None:
    """Whether some integers meet all inequalities; None if that is not found out."""
    system = tuple(inequalities)
    return _known.find(system, lambda: _searched(system))


def _searched(system: tuple[Inequality, ...]) -> bool | None:
    samples = sorted({sample for each in system for sample, _ in each.terms})
    if len(samples) * len(system) > _MOST_WORK:
        return None
    waiting = [
        [
            LinearForm(tuple([(k, Fraction(a)) for k, a in each.terms]), Fraction(-each.bound))
            for each in system
        ]
    ]
    for _ in range(_MOST_PROGRAMMES):
        if not waiting:
            return False
        own = waiting.pop()
        found = nearest_point(own, samples)
        if found is None:
            continue
        broken = next((k for k, value in found.items() if value.denominator != 1), None)
        if broken is None:
            return True
        symbol, value = LinearForm.symbol(broken), found[broken]
        waiting.append([*own, symbol - LinearForm.constant_form(floor(value))])
        waiting.append([*own, LinearForm.constant_form(ceil(value)) - symbol])
    return False if not waiting else None
