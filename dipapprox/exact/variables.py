"""Variables of linear systems are integrated out, or summed out, one after the other: exactly.

A piece is a system Σ a_i u_i <= b between the variables that are left, a_i integers, with a weight,
a function of them. To get rid of one variable x,

    (system, weight) -- which side of its mean, which bounds are active --> (system, weight)

    from l to h = G(h) - G(l)  for every choice of active bounds (`linear.half_spaces.active`)

with an antiderivative, or antidifference, G of the weight times the density of x. Pieces with equal
systems are added up; how many there may be is counted, so the work is bounded on every machine
alike. Variables that make few pieces come first.

What reals and integers are is in `laplace.polyhedra` and `integers.elimination`.

References:
    DiPC paper, Lemma 18 (Appendix E), for sums Lemma 17; sections 3.5 and 7.3 (c).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import Generic, NamedTuple, TypeVar

from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.limits import check_limits, current
from dipapprox.linear.half_spaces import active, in_integers

Row = tuple[int, ...]
Bounds = tuple[tuple[Row, Fraction | int], ...]
"""(a, b): Σ a_i u_i <= b; rows without common divisor, each once, ascending."""

M = TypeVar("M")
C = TypeVar("C")
Residues = tuple[tuple[int, int], ...]
"""(A, r) for every variable: what stands for it in the system and the weight is (u - r) / A."""

Piece = tuple[Bounds, Residues]


class TooMuch(Exception):
    """There are too many pieces, or they are too long; it says how many."""


class AffineEnd(NamedTuple):
    """(Σ coefficients[i] · u_i + constant) / divisor, an end of a variable's range."""

    coefficients: Row
    constant: Fraction | int
    divisor: int = 1

    def at_most(self, other: AffineEnd, *, strictly: bool = False) -> tuple[Row, Fraction | int]:
        """self <= other, or in integers self < other."""
        p, q = other.divisor, self.divisor
        row = tuple(
            [p * a - q * b for a, b in zip(self.coefficients, other.coefficients, strict=True)]
        )
        return row, q * other.constant - p * self.constant - int(strictly)


class VariableElimination(ABC, Generic[M, C]):
    """What reals, or integers, have to say; weights are sums of monomials M times coefficients C.

        irredundant     what implies all of a system; None if it holds with probability 0
        difficulty      about how many pieces it makes to get rid of a variable
        sides           pieces on which the weight times the density has an antiderivative
        primitive       that antiderivative, or antidifference
        at              its terms at the upper end, or (sign -1) those of its negative at the lower
        growth          the sign of the exponent with which a monomial grows in a variable
        summed          the sum of some coefficients, at least one; false if it is 0

    Args:
        size: How many variables there are.
    """

    are_integers: bool

    def __init__(self, size: int) -> None:
        self.size = size
        self._count = 0

    @abstractmethod
    def irredundant(self, tightest: Mapping[Row, Fraction | int]) -> Bounds | None: ...

    @abstractmethod
    def difficulty(self, variable: int, systems: Iterable[Bounds]) -> tuple[int, int]: ...

    @abstractmethod
    def sides(
        self, variable: int, piece: Piece, weight: Mapping[M, C]
    ) -> Iterator[tuple[Piece, Mapping[M, C]]]: ...

    @abstractmethod
    def primitive(self, weight: Mapping[M, C], variable: int) -> Mapping[M, C]: ...

    @abstractmethod
    def at(
        self, primitive: Mapping[M, C], variable: int, end: AffineEnd, sign: int
    ) -> Iterable[tuple[M, C]]: ...

    @abstractmethod
    def growth(self, monomial: M, variable: int) -> Fraction | int: ...

    @abstractmethod
    def summed(self, coefficients: Sequence[C]) -> C: ...

    def total(
        self, inequalities: Iterable[tuple[Row, Fraction | int]], weight: Mapping[M, C]
    ) -> Mapping[M, C]:
        """Return the weight of all that meets some inequalities, without variables; or TooMuch."""
        bounds = self.tightened(inequalities)
        pieces = {} if bounds is None else {(bounds, ((1, 0),) * self.size): weight}
        left = set(range(self.size))
        while left and pieces:
            variable = min(left, key=lambda v: (self.difficulty(v, [b for b, _ in pieces]), v))
            left.discard(variable)
            pieces = self._without(variable, pieces)
        return self._added(term for weight in pieces.values() for term in weight.items())

    def tightened(self, inequalities: Iterable[tuple[Row, Fraction | int]]) -> Bounds | None:
        """Bring a system into its short form; None if it is seen to hold with probability 0.

        Rows are divided by their common divisor; bounds of integers are rounded down.
        """
        tightest: dict[Row, Fraction | int] = {}
        for row, bound in inequalities:
            divisor = gcd(*row)
            if divisor == 0:
                if bound < 0 or not (bound or self.are_integers):
                    return None
                continue
            if divisor > 1:
                row = tuple([a // divisor for a in row])
            if self.are_integers:
                bound = bound // divisor
            elif divisor > 1:
                bound = Fraction(bound) / divisor
            known = tightest.get(row)
            if known is None or bound < known:
                tightest[row] = bound
        return self.irredundant(tightest)

    def spend(self, weight: Mapping[M, C], inequalities: int) -> None:
        """Count a piece that is tried, whether or not it is empty."""
        check_limits()

    def _without(
        self, variable: int, pieces: Mapping[Piece, Mapping[M, C]]
    ) -> dict[Piece, Mapping[M, C]]:
        self._count = 0
        found: dict[Piece, list[tuple[M, C]]] = {}
        for piece, weight in pieces.items():
            for (bounds, names), weighted in self.sides(variable, piece, weight):
                primitive = self.primitive(weighted, variable)
                for where, terms in self._between(variable, bounds, primitive):
                    found.setdefault((where, names), []).extend(terms)
        totals = ((where, self._added(terms)) for where, terms in found.items())
        return {where: total for where, total in totals if total}

    def _added(self, terms: Iterable[tuple[M, C]]) -> dict[M, C]:
        alike: dict[M, list[C]] = {}
        for monomial, c in terms:
            alike.setdefault(monomial, []).append(c)
        return {monomial: c for monomial, cs in alike.items() if (c := self.summed(cs))}

    def _between(
        self, variable: int, bounds: Bounds, primitive: Mapping[M, C]
    ) -> Iterator[tuple[Bounds, Iterable[tuple[M, C]]]]:
        """Differences of an antiderivative between all pairs of ends that may be active."""
        rest = [(row, bound) for row, bound in bounds if not row[variable]]
        lowers, uppers = list[AffineEnd](), list[AffineEnd]()
        for row, bound in bounds:
            a = row[variable]
            if a:
                sign = 1 if a > 0 else -1
                others = [-sign * c for c in row]
                others[variable] = 0
                (uppers if a > 0 else lowers).append(AffineEnd(tuple(others), sign * bound, abs(a)))
        for lower, upper, where_active in active(lowers, uppers):
            conditions = list(rest)
            for one, other, first in where_active:
                conditions.append(one.at_most(other, strictly=self.are_integers and first))
            self.spend(primitive, len(conditions))
            where = self.tightened(conditions)
            if where is not None:
                self._count += 1
                if self._count > current().pieces:
                    raise TooMuch(f"{current().pieces} pieces")
                for end, sign in ((upper, 1), (lower, -1)):
                    if end is not None:
                        yield where, self.at(primitive, variable, end, sign)
                    elif not all(sign * self.growth(each, variable) < 0 for each in primitive):
                        raise BrokenInvariant("a weight that must be finite does not converge")


def rows_of(event: Event) -> list[tuple[Row, Fraction]]:
    """The guards of an event as inequalities: rows of integers, without common divisor."""
    found = []
    for guard in event.guards:
        terms, bound = in_integers(guard)
        row = [0] * len(event.samples)
        for sample, a in terms:
            row[sample] = a
        found.append((tuple(row), bound))
    return found
