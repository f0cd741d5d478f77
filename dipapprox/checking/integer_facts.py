"""Comparisons of integer samples as disjoint cases: a sum S of them is <= m or >= m + 1.

Only closed inequalities with whole bounds are assumed, so ties are on the side they belong to.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import assert_never

from dipapprox.checking.facts import Facts, Line
from dipapprox.language import core

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
