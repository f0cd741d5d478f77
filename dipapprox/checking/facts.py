"""What a path has assumed: linear inequalities over samples, and what follows from them.

A `Line` is an exact linear form over the samples of one path. `Facts` are lines that are <= 0; it
answers only whether a further one follows from comparisons of two samples, or of one sample with a
constant, by shortest paths. "No" means "not seen": then both branches are kept, which is always
right.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass, field

_ZERO = Fraction(0)

GROUND = -1
"""Stands for the constant 0 among the samples."""

Difference = tuple[int, int, Fraction]
"""(a, b, w): x_a - x_b <= w; a or b may be GROUND."""


@dataclass(frozen=True, slots=True)
class Line:
    """constant + Σ coefficient * x_sample; samples ascend, no coefficient is 0."""

    constant: Fraction
    terms: tuple[tuple[int, Fraction], ...] = ()

    def __add__(self, other: Line) -> Line:
        if not other.terms:
            return Line(self.constant + other.constant, self.terms)
        total = dict(self.terms)
        for sample, coefficient in other.terms:
            total[sample] = total.get(sample, _ZERO) + coefficient
        kept = tuple(sorted((s, c) for s, c in total.items() if c))
        return Line(self.constant + other.constant, kept)

    def times(self, factor: Fraction) -> Line:
        """Return factor * self."""
        if not factor:
            return Line(_ZERO)
        return Line(self.constant * factor, tuple((s, c * factor) for s, c in self.terms))

    def minus(self, other: Line) -> Line:
        """Return self - other."""
        return self + other.times(Fraction(-1))

    def in_unit(self) -> Line:
        """Divide by the size of the first coefficient; the sign stays."""
        size = abs(self.terms[0][1])
        return self if size == 1 else self.times(1 / size)


def difference_of(line: Line) -> Difference | None:
    """Read `line <= 0` as a difference of two samples or a bound of one; None if it is neither."""
    if len(line.terms) == 1:
        ((sample, c),) = line.terms
        bound = -line.constant / c
        return (sample, GROUND, bound) if c > 0 else (GROUND, sample, -bound)
    if len(line.terms) == 2:
        (first, c), (second, d) = line.terms
        if c == -d:
            bound = -line.constant / abs(c)
            return (first, second, bound) if c > 0 else (second, first, bound)
    return None


@dataclass(frozen=True, slots=True)
class Facts:
    """Lines that are <= 0, in the order in which they were assumed. Immutable."""

    lines: tuple[Line, ...] = ()
    _edges: dict[int, tuple[tuple[int, Fraction], ...]] = field(default_factory=dict)

    def implies(self, line: Line) -> bool:
        """Whether `line` <= 0 was assumed or follows from differences. False: not seen."""
        found = difference_of(line)
        if found is None:
            return line.in_unit() in self.lines
        first, second, bound = found
        shortest = distance(self._edges, first, second)
        return shortest is not None and shortest <= bound

    def plus(self, line: Line) -> Facts:
        """Assume `line` <= 0."""
        return Facts((*self.lines, line.in_unit()), self.knowing(line)._edges)

    def knowing(self, line: Line) -> Facts:
        """Let `line` <= 0 count for what follows; it is no assumption, as it always holds."""
        found = difference_of(line)
        if found is None:
            return self
        first, second, bound = found
        edges = {**self._edges, first: (*self._edges.get(first, ()), (second, bound))}
        return Facts(self.lines, edges)


class Contradiction(Exception):
    """Some inequalities add up to 0 < 0."""


def distance(
    edges: dict[int, tuple[tuple[int, Fraction], ...]], start: int, end: int
) -> Fraction | None:
    """Return the least w for which x_start - x_end <= w follows; None if none does.

    Bellman and Ford's relaxation: without a negative cycle every round makes some vertex final.

    Raises:
        Contradiction: If there is a negative cycle.
    """
    best = {start: _ZERO}
    waiting = [start]
    rounds = 0
    while waiting:
        following = set()
        for vertex in waiting:
            length = best[vertex]
            for neighbour, weight in edges.get(vertex, ()):
                reached = length + weight
                known = best.get(neighbour)
                if known is None or reached < known:
                    best[neighbour] = reached
                    following.add(neighbour)
        waiting = sorted(following)
        rounds += 1
        if rounds > len(best):
            raise Contradiction
    return best.get(end)
