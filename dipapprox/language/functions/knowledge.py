"""What a path says of its conditions: which are decided already, and which values are left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.language import ast
from dipapprox.language.core import Relation, Value
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.symbols import negated

MOST_VALUATIONS = 4096

_SIGNS = {
    Relation.LESS: frozenset("<"),
    Relation.LESS_EQUAL: frozenset("<="),
    Relation.GREATER: frozenset(">"),
    Relation.GREATER_EQUAL: frozenset(">="),
    Relation.EQUAL: frozenset("="),
    Relation.NOT_EQUAL: frozenset("<>"),
}
"""What the sign of left - right may be."""

_MIRRORED = str.maketrans("<>", "><")


class Knowledge:
    """What is known on a path, at some place of it."""

    def __init__(self, domains: Mapping[str, tuple[Value, ...]]) -> None:
        """Begin with the values of the input cells that have finitely many."""
        self.domains = dict(domains)
        self._known: dict[ast.Expression, bool] = {}
        self._signs: dict[tuple[ast.Expression, ast.Expression], frozenset[str]] = {}
        self._compared: dict[ast.Expression, dict[Fraction, frozenset[str]]] = {}
        self._facts: list[tuple[Condition, bool]] = []

    def possible(self, quantity: Quantity) -> tuple[Value, ...] | None:
        """Return the values that a quantity may have on the path; None if not finitely many."""
        compute = quantity.compute
        if compute is None:
            return None
        found: dict[Value, None] = {}
        valuations = self._valuations(quantity.cells)
        if valuations is None:
            return None
        for given in valuations:
            found[compute(given)] = None
        return tuple(found)

    def implied(self, node: ast.Expression) -> bool | None:
        """Return whether a condition holds, as far as others say: whatever inputs may be."""
        if node in self._known:
            return self._known[node]
        match node:
            case ast.Comparison((left, right), (relation,)):
                meant = _SIGNS[Relation(relation)]
                signs = self._possible_signs(left, right)
                return True if signs <= meant else None if signs & meant else False
            case _:
                return None

    def learn(self, condition: Condition, holds: bool) -> None:
        """Note which way the path takes."""
        node = condition.node
        self._known[node] = holds
        self._known[negated(node)] = not holds
        if condition.compute is not None:
            self._facts.append((condition, holds))
        match node:
            case ast.Comparison((left, right), (relation,)):
                meant = _SIGNS[Relation(relation)]
                before = self._signs.get((left, right), frozenset("<=>"))
                now = before & meant if holds else before - meant
                mirrored = frozenset("".join(now).translate(_MIRRORED))
                self._signs[left, right] = now
                self._signs[right, left] = mirrored
                for one, other, signs in ((left, right, now), (right, left, mirrored)):
                    number = _number(other)
                    if number is not None:
                        self._compared.setdefault(one, {})[number] = signs
            case _:
                pass

    def _possible_signs(self, left: ast.Expression, right: ast.Expression) -> frozenset[str]:
        """The signs that left - right may have: where numbers are compared with others, too."""
        signs = self._signs.get((left, right), frozenset("<=>"))
        for one, other, mirror in ((left, right, False), (right, left, True)):
            number = _number(other)
            if number is None:
                continue
            for place, known in self._compared.get(one, {}).items():
                found = _signs_against(number, place, known)
                signs &= frozenset("".join(found).translate(_MIRRORED)) if mirror else found
        return signs

    def learn_forced(self, condition: Condition, holds: bool) -> None:
        """Note what all values that are left say."""
        self._known[condition.node] = holds
        self._known[negated(condition.node)] = not holds

    def forced(self, condition: Condition) -> bool | None:
        """Return what holds for all values that are left; None if both may be, or are too many."""
        if condition.compute is None:
            return None
        seen: set[bool] = set()
        valuations = self._valuations(condition.cells)
        if valuations is None:
            return None
        for given in valuations:
            seen.add(bool(condition.compute(given)))
            if len(seen) == 2:
                return None
        return next(iter(seen), None)

    def _valuations(self, cells: frozenset[str]) -> Iterator[dict[str, Value]] | None:
        """Yield the values of some variables that the path allows; None if they are too many."""
        facts = []
        left = list(self._facts)
        grown = True
        while grown:
            grown = False
            for fact in tuple(left):
                if fact[0].cells & cells:
                    cells |= fact[0].cells
                    facts.append(fact)
                    left = [each for each in left if each is not fact]  # `==` would ask the run
                    grown = True
        names = sorted(cells)
        domains = [self.domains[name] for name in names]
        if prod(map(len, domains)) > MOST_VALUATIONS:
            return None
        found = (dict(zip(names, values, strict=True)) for values in product(*domains))
        return (
            given
            for given in found
            if all(bool(c.compute(given)) == holds for c, holds in facts if c.compute is not None)
        )


def _number(node: ast.Expression) -> Fraction | None:
    """The number that an expression is; None for others."""
    match node:
        case ast.Number(value):
            return value
        case ast.Negative(operand):
            inner = _number(operand)
            return None if inner is None else -inner
        case ast.Product((ast.Number(above), ast.Number(below)), ("/",)) if below:
            return above / below
        case _:
            return None


def _signs_against(number: Fraction, place: Fraction, known: frozenset[str]) -> frozenset[str]:
    """The signs that x - number may have if x - place has one of those that are known."""
    if number == place:
        return known
    near, far = "<>" if number < place else "><"
    # x on the other side of the place is there for the number, too, and so is the place itself.
    return frozenset("<=>") if near in known else frozenset(far)
