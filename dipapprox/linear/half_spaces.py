"""Does a system of linear inequalities contain an open set? Exact, over the rationals.

Events and the domains of integrals are systems { form <= 0 }; a system whose strict version has no
solution has measure zero, and conversely. Variables that are bounded on one side only are
dropped first; what is left is decided as shortest paths when it consists of differences, and by
a linear programme otherwise. Let the forms be a_g·x + c_g. Some x has a_g·x + c_g < 0 for all g
exactly if some x and s >= 0 have

    a_g·x + c_g·s <= -1   for all g.

Proof. From such an x, (x·s, s) is one for large s. From (x, s): x / s, or, if s = 0, t·x for
large t.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.cache import Cache
from dipapprox.deferred import Deferred
from dipapprox.graphs import is_forest
from dipapprox.limits import Limits
from dipapprox.linear.differences import are_open, needed
from dipapprox.linear.form import LinearForm, Symbol, difference

if TYPE_CHECKING:
    from dipapprox.linear import programme
else:
    programme = Deferred("dipapprox.linear.programme")  # most systems are differences


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
        return are_open(found)
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


def _have_common_slack(system: Sequence[LinearForm]) -> bool:
    """Whether some point has form < 0 for every form, by a linear programme."""
    scale = ""  # no symbol of a form
    rows = [((scale, form.constant), *form.terms) for form in system]
    unknowns = dict.fromkeys([scale, *(s for form in system for s, _ in form.terms)])
    anywhere, positive = programme.UnknownSide.ANY, programme.UnknownSide.AT_LEAST_ZERO
    sides = dict.fromkeys(unknowns, anywhere) | {scale: positive}
    slack = programme.LinearProgramme(rows, dict.fromkeys(unknowns, 1), sides, Limits())
    return isinstance(slack.solve([-1] * len(rows)), programme.Optimum)


def nearest_point(
    forms: Sequence[LinearForm], unknowns: Iterable[Symbol], limits: Limits
) -> Mapping[Symbol, Fraction] | None:
    """Return the point of least Σ |x| that has form <= 0 for every form; None if there is none.

    Args:
        forms: Any.
        unknowns: At least the symbols in the forms.
        limits: Asked again and again.
    """
    rates = dict.fromkeys(unknowns, 1)
    sides = dict.fromkeys(rates, programme.UnknownSide.ANY)
    rows = [form.terms for form in forms]
    nearest = programme.LinearProgramme(rows, rates, sides, limits)
    found = nearest.solve([-form.constant for form in forms])
    return found.shift if isinstance(found, programme.Optimum) else None


def irredundant(guards: Iterable[LinearForm]) -> tuple[LinearForm, ...] | None:
    """Drop the guards that the others imply; None if they hold together with probability 0.

    A guard is form <= 0. The kept guards are `normalised()` and in their first order.
    """
    forms = tuple(guard.normalised() for guard in guards)
    if _is_forest_of_differences(forms):
        return forms
    tightest: dict[tuple[tuple[Symbol, Fraction], ...], Fraction] = {}
    for form in forms:
        known = tightest.get(form.terms)
        if known is None or known < form.constant:
            tightest[form.terms] = form.constant
    forms = tuple(LinearForm(terms, constant) for terms, constant in tightest.items())
    differences = [d for d in map(difference, forms) if d is not None]
    if len(differences) < len(forms):
        return _irredundant_linear(forms)
    if not has_interior(forms):
        return None
    kept = needed({(u, v): w for u, v, w in differences})
    return tuple([f for f, (u, v, _) in zip(forms, differences, strict=True) if (u, v) in kept])


def _is_forest_of_differences(forms: Sequence[LinearForm]) -> bool:
    """Whether all forms are differences without undirected cycle (0 being a vertex, too).

    Then no bound is implied by others and all can hold: there is nothing to do.
    """
    differences = [d for d in map(difference, forms) if d is not None]
    return len(differences) == len(forms) and is_forest((u, v) for u, v, _ in differences)


_systems: Cache[tuple[LinearForm, ...], tuple[LinearForm, ...]] = Cache(2_000)
"""Irredundant systems by system: inputs change laws, and guards rarely. Empty: impossible."""


def _irredundant_linear(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...] | None:
    """The general case: one linear program for each guard."""
    return _systems.find(forms, lambda: _without_implied(forms)) or None


def _without_implied(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...]:
    if not has_interior(forms):
        return ()
    kept = list(forms)
    for form in forms:
        others = [other for other in kept if other is not form]
        if implies(others, form):
            kept = others
    return tuple(kept)
