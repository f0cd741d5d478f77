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
from math import lcm
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm, Symbol

if TYPE_CHECKING:
    from dipapprox.linear import programme
else:
    programme = Deferred("dipapprox.linear.programme")  # most systems are differences

_ZERO = Fraction(0)

Difference = tuple[int, int, Fraction]
"""(u, v, w) says x[v] < x[u] + w; the vertex -1 stands for the number 0."""


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
        return not _has_tight_cycle(found)
    return _have_common_slack(system)


def implies(forms: Iterable[LinearForm], conclusion: LinearForm) -> bool:
    """Return whether form <= 0 for every form entails conclusion <= 0, up to measure zero."""
    return not has_interior([*forms, -conclusion])


def difference(form: LinearForm) -> Difference | None:
    """Read form < 0 as a bound on a sample or on the difference of two; None if it is neither."""
    match form.terms:
        case ((int(x), a),):
            bound = -form.constant / abs(a)
            return (-1, x, bound) if a.numerator > 0 else (x, -1, bound)
        case ((int(x), a), (int(y), b)):
            # a == -b, in integers because this is asked of every guard of every event
            if a.numerator != -b.numerator or a.denominator != b.denominator:
                return None
            bound = -form.constant / abs(a) if form.constant.numerator else _ZERO
            return (y, x, bound) if a.numerator > 0 else (x, y, bound)
        case _:
            return None


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


def _has_tight_cycle(differences: Sequence[Difference]) -> bool:
    """Return whether some cycle of differences has weight <= 0, i.e. entails 0 < 0.

    With integer weights, a simple cycle has weight <= 0 exactly if it is negative after
    w -> w * (vertices + 1) - 1, because it has at most that many edges; Bellman and Ford find it.
    """
    vertices = {v for u, w, _ in differences for v in (u, w)}
    scale = lcm(*(weight.denominator for _, _, weight in differences)) * (len(vertices) + 1)
    edges = [(u, v, int(weight * scale) - 1) for u, v, weight in differences]
    distance = dict.fromkeys(vertices, 0)
    for _ in range(len(vertices)):
        changed = False
        for u, v, weight in edges:
            if distance[u] + weight < distance[v]:
                distance[v] = distance[u] + weight
                changed = True
        if not changed:
            return False
    return True


def _have_common_slack(system: Sequence[LinearForm]) -> bool:
    """Whether some point has form < 0 for every form, by a linear programme."""
    scale = ""  # no symbol of a form
    rows = [((scale, form.constant), *form.terms) for form in system]
    unknowns = dict.fromkeys([scale, *(s for form in system for s, _ in form.terms)])
    anywhere, positive = programme.Side.ANY, programme.Side.AT_LEAST_ZERO
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
    sides = dict.fromkeys(rates, programme.Side.ANY)
    rows = [form.terms for form in forms]
    nearest = programme.LinearProgramme(rows, rates, sides, limits)
    found = nearest.solve([-form.constant for form in forms])
    return found.shift if isinstance(found, programme.Optimum) else None
