"""What a path says of its conditions: which are decided already, and which values are left."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from dipapprox.language import ast
from dipapprox.language.constants import Wrong, evaluate
from dipapprox.language.core import Relation, Value
from dipapprox.language.functions.symbols import Compute, Condition, Quantity, negated

MOST_VALUATIONS = 4096

_SIGNS = {
    relation: frozenset(
        sign
        for sign, left in zip("<=>", (-1, 0, 1), strict=True)
        if relation.holds(Fraction(left), Fraction(0))
    )
    for relation in Relation
}
"""What the sign of left - right may be."""

_ANY = frozenset("<=>")
_MIRRORED = str.maketrans("<>", "><")


class PathKnowledge:
    """What is known at some place of a path: conditions that it decides, values that are left."""

    def __init__(self, domains: Mapping[str, tuple[Value, ...]]) -> None:
        """Begin with the values of the input cells that have finitely many."""
        self.domains = dict(domains)
        self._known: dict[ast.Expression, bool] = {}
        self._signs: dict[ast.Expression, dict[ast.Expression | Fraction, frozenset[str]]] = {}
        self._facts: list[tuple[Condition, bool]] = []

    def copy(self) -> PathKnowledge:
        """Return the same, of which nothing is learned with it."""
        found = PathKnowledge(self.domains)
        vars(found).update((name, held.copy()) for name, held in vars(self).items())
        return found

    def possible(self, quantity: Quantity) -> tuple[Value, ...] | None:
        """Return the values that a quantity may have on the path; None if not finitely many."""
        return None if quantity.compute is None else self._values(quantity.compute, quantity.cells)

    def forced(self, condition: Condition) -> bool | None:
        """Return what holds for all values that are left; None if both may be, or are too many."""
        if condition.compute is None:
            return None
        values = self._values(condition.compute, condition.cells, 2)
        return bool(values[0]) if values is not None and len(values) == 1 else None

    def implied(self, node: ast.Expression) -> bool | None:
        """Return whether a condition holds, as far as others say: whatever inputs may be."""
        if node in self._known:
            return self._known[node]
        left, right, meant = _sides(node)
        if not meant:
            return None
        known = self._signs.get(left, {})
        signs = known.get(right, _ANY)
        if isinstance(right, Fraction):
            for place, other in known.items():
                if isinstance(place, Fraction):
                    signs &= _signs_against(right, place, other)
        return True if signs <= meant else None if signs & meant else False

    def learn(self, condition: Condition, holds: bool) -> None:
        self.learn_forced(condition, holds)
        if condition.compute is not None:
            self._facts.append((condition, holds))
        left, right, meant = _sides(condition.node)
        if not meant:
            return
        known = self._signs.get(left, {})
        before = known.get(right, _ANY)
        now = before & meant if holds else before - meant
        self._signs[left] = {**known, right: now}
        if not isinstance(right, Fraction):
            mirrored = frozenset("".join(now).translate(_MIRRORED))
            self._signs[right] = {**self._signs.get(right, {}), left: mirrored}

    def learn_forced(self, condition: Condition, holds: bool) -> None:
        """Note what all values that are left say."""
        self._known[condition.node] = holds
        self._known[negated(condition.node)] = not holds

    def _values(
        self, compute: Compute, cells: frozenset[str], most: int = MOST_VALUATIONS
    ) -> tuple[Any, ...] | None:
        """Return values for what the path allows of variables; None if these are too many."""
        facts: list[tuple[Condition, bool]] = []
        left = self._facts
        while near := [fact for fact in left if fact[0].cells & cells]:
            facts += near
            left = [fact for fact in left if not fact[0].cells & cells]
            cells = cells.union(*(fact[0].cells for fact in near))
        names = sorted(cells)
        domains = [self.domains[name] for name in names]
        if prod(map(len, domains)) > MOST_VALUATIONS:
            return None
        found: dict[Any, None] = {}
        for values in product(*domains):
            given = dict(zip(names, values, strict=True))
            if all(bool(c.compute(given)) == holds for c, holds in facts if c.compute is not None):
                found[compute(given)] = None
                if len(found) == most:
                    break
        return tuple(found)


def _sides(
    node: ast.Expression,
) -> tuple[ast.Expression, ast.Expression | Fraction, frozenset[str]]:
    """Return two sides, a number the second, and which signs of their difference a condition has:
    what is no comparison says nothing of signs."""
    match node:
        case ast.Comparison((left, right), (relation,)):
            meant, number = _SIGNS[Relation(relation)], _number(right)
            if number is None and (number := _number(left)) is not None:
                return right, number, _SIGNS[Relation(relation).mirrored()]
            return left, right if number is None else number, meant
        case _:
            return node, node, frozenset()


def _number(node: ast.Expression) -> Fraction | None:
    """The number that an expression is; None for others."""
    try:
        return evaluate(node, {})
    except Wrong:
        return None


def _signs_against(number: Fraction, place: Fraction, known: frozenset[str]) -> frozenset[str]:
    """The signs that x - number may have if x - place has one of those that are known."""
    if number == place:
        return known
    near, far = "<>" if number < place else "><"
    # x on the other side of the place is there for the number, too, and so is the place itself.
    return _ANY if near in known else frozenset(far)
