"""Polyhedra, one variable at a time: the check's exact integrals and sums over any inequalities.

    lines <= 0  ->  x between the largest lower and the smallest upper bound, case by case
                ->  primitive at both ends  ->  the other variables, with the lines of the case

For each lower bound l and upper bound u the case is: l >= every other lower bound, u <= every other
upper bound, l <= u. Cases overlap in sets of measure 0; between integers ties go to the first one.
What is integrated is for a `Calculus` to know. Its terms decay wherever x has no bound: each is a
polynomial times the density at a point of the region, whose exponent is linear, and falls, where
all samples keep to one side of their means (`sides`). Cases without room end in 0 < 0.

A variable may be left, in the lines and in the terms of every case that remains: then what is found
is a function of it, case by case (`left_over`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import floor, gcd, lcm
from typing import Protocol, TypeVar

from dipapprox.checking.facts import Line
from dipapprox.checking.values import Stuck
from dipapprox.distributions import Distribution
from dipapprox.limits import Limits

_MOST_CASES = 5_000

T = TypeVar("T")


class Calculus(Protocol[T]):
    """Sums of terms in the variables that are left."""

    integers: bool

    def density(self, sides: Sequence[int]) -> T:
        """The density where every sample is on a side of its mean: -1 below, 1 at it or above."""

    def between(self, terms: T, variable: int, lower: Line | None, upper: Line | None) -> T:
        """Integrate over a variable, or sum; both ends included."""

    def plus(self, left: T, right: T) -> T:
        """left + right."""


def integrated(
    laws: Sequence[Distribution],
    lines: Sequence[Line],
    calculus: Calculus[T],
    nothing: T,
    limits: Limits,
) -> T:
    """Integrate the density of independent samples where all lines are <= 0.

    Raises:
        Stuck: If there are too many cases, or integers with coefficients that leave remainders.
        LimitReached: If `limits` run out.
    """
    total = nothing
    starts = by_sides(laws, lines, calculus)
    for _, terms in left_over(starts, frozenset(range(len(laws))), calculus, limits):
        total = calculus.plus(total, terms)
    return total


Case = tuple[tuple[Line, ...], T]
"""Lines <= 0, and terms where they hold."""


def by_sides(
    laws: Sequence[Distribution], lines: Sequence[Line], calculus: Calculus[T]
) -> Iterator[Case[T]]:
    """Yield the density for each way in which samples lie on sides of their means."""
    for sides in product(*(law.family.sides for law in laws)):
        kinks = [
            _kink(k, law.mean, side, calculus.integers)
            for k, (law, side) in enumerate(zip(laws, sides, strict=True))
        ]
        yield (*lines, *kinks), calculus.density(sides)


def left_over(
    starts: Iterable[Case[T]], variables: frozenset[int], calculus: Calculus[T], limits: Limits
) -> Iterator[Case[T]]:
    """Integrate over some variables; what is left is a sum of cases over the others.

    Raises:
        Stuck: If there are too many cases, or integers with coefficients that leave remainders.
        LimitReached: If `limits` run out.
    """
    cases = 0
    waiting = [(lines, variables, terms) for lines, terms in starts]
    while waiting:
        limits.check()
        known, variables, terms = waiting.pop()
        reduced = _reduced(known, calculus.integers)
        if reduced is None:
            continue
        if not variables:
            yield reduced, terms
            continue
        x = _cheapest(reduced, variables, calculus.integers)
        for case, lower, upper in _cases(reduced, x, calculus.integers):
            cases += 1
            if cases > _MOST_CASES:
                raise Stuck(f"inequalities with more than {_MOST_CASES} cases for the check")
            left = _reduced(case, calculus.integers)
            if left is not None:
                waiting.append((left, variables - {x}, calculus.between(terms, x, lower, upper)))


def _kink(variable: int, mean: Fraction, side: int, integers: bool) -> Line:
    """The side as a line that is <= 0."""
    if side > 0:
        return Line(mean, ((variable, Fraction(-1)),))
    return Line(-mean + (1 if integers else 0), ((variable, Fraction(1)),))


def _reduced(lines: Sequence[Line], integers: bool) -> tuple[Line, ...] | None:
    """The lines in lowest terms, of parallel ones the strongest; None: no room is left."""
    strongest: dict[tuple[tuple[int, Fraction], ...], Fraction] = {}
    for line in lines:
        if not line.terms:
            if line.constant > 0:
                return None
            continue
        unit = Fraction(
            lcm(*(c.denominator for _, c in line.terms)), gcd(*(c.numerator for _, c in line.terms))
        )
        whole = line.times(unit)
        constant = Fraction(-floor(-whole.constant)) if integers else whole.constant
        known = strongest.get(whole.terms)
        strongest[whole.terms] = constant if known is None else max(known, constant)
    for terms, constant in strongest.items():
        other = strongest.get(tuple((s, -c) for s, c in terms))
        if other is not None and (constant + other > 0 or (constant + other == 0 and not integers)):
            return None
    return tuple(Line(constant, terms) for terms, constant in strongest.items())


def _cheapest(lines: Sequence[Line], variables: frozenset[int], integers: bool) -> int:
    """The variable with the fewest cases; between integers with coefficients 1 or -1 only."""
    counts = {x: [0, 0] for x in variables}
    for line in lines:
        for sample, c in line.terms:
            if sample in counts:
                counts[sample][c > 0] += 1
    if integers:
        mixed = {s for line in lines for s, c in line.terms if abs(c) != 1}
        counts = {x: count for x, count in counts.items() if x not in mixed}
        if not counts:
            raise Stuck("sums of integers with coefficients that leave remainders")
    return min(counts, key=lambda x: (max(counts[x][0], 1) * max(counts[x][1], 1), x))


def _cases(
    lines: Sequence[Line], x: int, integers: bool
) -> Iterator[tuple[tuple[Line, ...], Line | None, Line | None]]:
    """Yield (lines without x, the lower and the upper bound of x) for every case."""
    lowers: list[Line] = []
    uppers: list[Line] = []
    others: list[Line] = []
    for line in lines:
        c = dict(line.terms).get(x)
        if c is None:
            others.append(line)
            continue
        rest = Line(line.constant, tuple((s, d) for s, d in line.terms if s != x))
        (uppers if c > 0 else lowers).append(rest.times(-1 / c))
    for j, lower in enumerate(lowers or [None]):
        for k, upper in enumerate(uppers or [None]):
            case = list(others)
            if lower is not None:
                case += _before(lowers, j, lower, integers, Fraction(1))
            if upper is not None:
                case += _before(uppers, k, upper, integers, Fraction(-1))
            if lower is not None and upper is not None:
                case.append(lower.minus(upper))
            yield tuple(case), lower, upper


def _before(
    bounds: Sequence[Line], place: int, chosen: Line, integers: bool, sign: Fraction
) -> Iterator[Line]:
    """That sign * chosen is the largest of the bounds: of equal integers the first."""
    for k, other in enumerate(bounds):
        if k != place:
            tie = Fraction(1 if integers and k < place else 0)
            yield other.minus(chosen).times(sign) + Line(tie)
