"""Conditions on a path: which cases they split what has been assumed into.

For continuous samples `<` and `<=` need no distinction, and an equation has probability 0. Sums of
integer samples are at most m or at least m + 1.

Comparisons of integer samples as disjoint cases: a sum S of them is <= m or >= m + 1.

Only closed inequalities with whole bounds are assumed, so ties are on the side they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import assert_never

from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.values import Datum, Stuck, value_of
from dipapprox.distributions import Distribution, Family
from dipapprox.language import core

ANY_NUMBER = Distribution(Family.GAUSSIAN, Fraction(0), Fraction(1))
"""In place of the law of an input that is a symbol; it itself is what tells, not its value."""

Outcome = tuple[bool, Facts]
"""Whether a condition is true, and what is then assumed."""


def compared_integers(line: Line, relation: core.Relation, facts: Facts) -> list[Outcome]:
    """Split facts into disjoint cases in each of which line ~ 0 is true or false.

    Args:
        line: Over samples that are integers, at least one.
        relation: How it is compared with 0.
        facts: What has been assumed.
    """
    unit = Fraction(
        lcm(*(c.denominator for _, c in line.terms)), gcd(*(c.numerator for _, c in line.terms))
    )
    # The terms are now whole, without common divisor: S = Σ terms is an integer, compared with b.
    whole = line.times(unit)
    terms, b = Line(Fraction(0), whole.terms), -whole.constant
    match relation:
        case core.Relation.LESS_EQUAL | core.Relation.GREATER:
            cases = _cut(terms, floor(b), facts)
        case core.Relation.LESS | core.Relation.GREATER_EQUAL:
            cases = _cut(terms, ceil(b) - 1, facts)
        case core.Relation.EQUAL | core.Relation.NOT_EQUAL if b.denominator > 1:
            cases = [(False, facts)]
        case core.Relation.EQUAL | core.Relation.NOT_EQUAL:
            cases = []
            for at_most, rest in _cut(terms, int(b), facts):
                if at_most:
                    cases += [(not less, each) for less, each in _cut(terms, int(b) - 1, rest)]
                else:
                    cases.append((False, rest))
        case _:
            assert_never(relation)
    negated = core.Relation.GREATER, core.Relation.GREATER_EQUAL, core.Relation.NOT_EQUAL
    return [(truth != (relation in negated), rest) for truth, rest in cases]


def _cut(terms: Line, most: int, facts: Facts) -> list[Outcome]:
    """The cases terms <= most and terms >= most + 1, as far as they are open."""
    below, above = (
        terms + Line(Fraction(-most)),
        terms.times(Fraction(-1)) + Line(Fraction(most + 1)),
    )
    if facts.implies(below):
        return [(True, facts)]
    if facts.implies(above):
        return [(False, facts)]
    return [(True, facts.plus(below)), (False, facts.plus(above))]


def outcomes(
    condition: core.Condition,
    store: Mapping[str, Datum],
    laws: Sequence[Distribution],
    facts: Facts,
) -> list[Outcome]:
    """Split the facts into disjoint cases in each of which the condition is true or false.

    Raises:
        Stuck: If it cannot be evaluated.
    """
    match condition:
        case core.Comparison():
            return _compared(condition, store, laws, facts)
        case core.All(parts) | core.Any(parts):
            # `and` goes on while everything was true, `or` while everything was false.
            going = isinstance(condition, core.All)
            open_cases, decided = [facts], list[Outcome]()
            for part in parts:
                cases = [o for each in open_cases for o in outcomes(part, store, laws, each)]
                open_cases = [case for truth, case in cases if truth == going]
                decided += [(truth, case) for truth, case in cases if truth != going]
            return decided + [(going, case) for case in open_cases]
        case _:
            assert_never(condition)


def _compared(
    comparison: core.Comparison,
    store: Mapping[str, Datum],
    laws: Sequence[Distribution],
    facts: Facts,
) -> list[Outcome]:
    left, right = (value_of(side, store) for side in (comparison.left, comparison.right))
    relation = comparison.relation
    if isinstance(left, str) or isinstance(right, str):
        return [(_related(left == right, relation), facts)]
    line = left.minus(right)
    if not line.terms:
        return [(_ordered(line.constant, relation), facts)]
    if all(laws[symbol] is ANY_NUMBER for symbol, _ in line.terms):
        raise Stuck("inputs are compared without noise")
    integers = {laws[sample].family.is_discrete for sample, _ in line.terms}
    if len(integers) > 1:
        raise Stuck("a comparison of discrete with continuous samples")
    if integers == {True}:
        return compared_integers(line, relation, facts)
    match relation:
        case core.Relation.EQUAL | core.Relation.NOT_EQUAL:
            return [(relation is core.Relation.NOT_EQUAL, facts)]
        case core.Relation.GREATER | core.Relation.GREATER_EQUAL:
            line = line.times(Fraction(-1))
        case core.Relation.LESS | core.Relation.LESS_EQUAL:
            pass
        case _:
            assert_never(relation)
    opposite = line.times(Fraction(-1))
    if facts.implies(line):
        return [(True, facts)]
    if facts.implies(opposite):
        return [(False, facts)]
    return [(True, facts.plus(line)), (False, facts.plus(opposite))]


def _related(equal: bool, relation: core.Relation) -> bool:
    if relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
        raise Stuck("named values are compared by size")
    return equal == (relation is core.Relation.EQUAL)


def _ordered(difference: Fraction, relation: core.Relation) -> bool:
    match relation:
        case core.Relation.LESS:
            return difference < 0
        case core.Relation.LESS_EQUAL:
            return difference <= 0
        case core.Relation.GREATER:
            return difference > 0
        case core.Relation.GREATER_EQUAL:
            return difference >= 0
        case core.Relation.EQUAL:
            return difference == 0
        case core.Relation.NOT_EQUAL:
            return difference != 0
        case _:
            assert_never(relation)
