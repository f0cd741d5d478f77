"""Does a system of linear inequalities contain an open set? Exact, over the rationals.

Events and the domains of integrals are systems { form <= 0 }; a system whose strict version has no
solution has measure zero, and conversely. Variables that are bounded on one side only are
dropped first; what is left is decided as shortest paths when it consists of differences, and by
the simplex method otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.linear.form import LinearForm, Symbol

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
    return _greatest_slack_is_positive(system)


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


def _greatest_slack_is_positive(system: Sequence[LinearForm]) -> bool:
    """Return whether max { t <= 1 : form + t <= 0 for every form } is positive.

    The simplex method on dictionaries with exact rationals and Bland's rule, which ends. Columns:
    the constant, the variables of the forms (free: once basic they never leave), the slack that
    took the place of t. `rows[i]` expresses the i-th slack; rows of free variables are not kept.
    """
    symbols = sorted({s for form in system for s, _ in form.terms}, key=str)
    width = len(symbols)
    # slack = -constant - form - t >= 0, and the last one: slack = 1 - t >= 0
    rows = [[-f.constant, *(-f.coefficient(s) for s in symbols), _ZERO] for f in system]
    rows.append([Fraction(1), *([_ZERO] * width), _ZERO])
    # Raise t until the first slack is 0; that slack becomes the last column: t = row - slack.
    start = min(range(len(rows)), key=lambda i: rows[i][0])
    objective = [*rows[start][:-1], Fraction(-1)]
    rows = [[a - b for a, b in zip(r, objective, strict=True)] for r in rows]
    names = [-1] * width + [start]  # names of the columns: -1 for free variables
    owners: list[int] = list(range(len(rows)))
    del rows[start], owners[start]
    while objective[0] <= 0:
        candidates = [
            (names[j], j)
            for j in range(width + 1)
            if objective[j + 1] > 0 or (names[j] < 0 and objective[j + 1])
        ]
        if not candidates:
            return False
        column = min(candidates)[1] + 1
        sign = 1 if objective[column] > 0 else -1
        blocking = [
            (row[0] / -(sign * row[column]), owners[i], i)
            for i, row in enumerate(rows)
            if sign * row[column] < 0
        ]
        leaving = min(blocking)[2]  # t <= 1 guarantees that there is one
        pivot = rows[leaving]
        entering = _solve(pivot, column)
        objective = _insert(objective, entering, column)
        free = names[column - 1] < 0
        names[column - 1], owners[leaving] = owners[leaving], names[column - 1]
        rows = [
            _insert(row, entering, column) if i != leaving else entering
            for i, row in enumerate(rows)
        ]
        if free:  # a free variable is now basic and bounded by nothing
            del rows[leaving], owners[leaving]
    return True


def _solve(row: Sequence[Fraction], column: int) -> list[Fraction]:
    """Turn slack = row into an expression of the column's variable; the slack takes its place."""
    pivot = row[column]
    solved = [-value / pivot for value in row]
    solved[column] = 1 / pivot
    return solved


def _insert(row: Sequence[Fraction], entering: Sequence[Fraction], column: int) -> list[Fraction]:
    """Substitute the solved variable into another row."""
    factor = row[column]
    if not factor:
        return list(row)
    result = [a + factor * b for a, b in zip(row, entering, strict=True)]
    result[column] = factor * entering[column]
    return result
