"""Programs that publish numbers and nothing else: finitely many pairs stand for all real ones.

**Theorem.** Let all that a program publishes be y = A X + B u + c, X independent Gaussian, with no
guard and no random choice. Then delta_{u,u'} depends on the difference t = u - u' only, and does
not fall as the norm of B t for the covariance of A X grows (Balle and Wang 2018, theorem 8: it is
Φ(m/2 - ε/m) - e^ε Φ(-m/2 - ε/m) for the norm m; if B t is not in the range of A the laws are
singular, which no norm exceeds). Norms are convex: over a polytope of differences the largest is at
a vertex.

**One number.** y = a·X + b·u + c with X independent of log-concave densities, as all real noise
has: a·X has one, too, so the likelihood ratio is monotone, half-lines are optimal sets, and their
probabilities move apart with the shift: delta does not fall as b·t moves away from 0 to either
side. So a largest one is at an end of the values of b·t, which a vertex attains.

Differences of real inputs are adjacent if they lie in a box, for all adjacencies but l1, whose
vertices are corners. For l1 they lie in a box and their absolute values add up to at most the
radius: at a vertex every input changes as far as the box goes or not at all, but for one at most,
which changes by what is left of the radius. Finite inputs are gone through. An input without bounds
whose changes a radius limits has the differences that it has in a range as wide as the radius.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.language.core import Norm, Program, Within
from dipapprox.language.domains import AllReals
from dipapprox.pairs.boxes.cells import PairSet, pairs_of
from dipapprox.pairs.boxes.polygons import Point, Polygon
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

MOST_VERTICES = 10_000

LEMMA = "largest at vertices of the inputs' differences"
"""The words in reports."""


def vertex_pairs(states: FinalStates) -> list[Pair]:
    """Return pairs of which one has the largest delta of all; see the module.

    Args:
        states: Of a program with real inputs and real outputs.

    Raises:
        UserError: If the adjacency does not suit the inputs.
        LimitReached: If the theorems do not cover the program, or there are too many vertices.
    """
    _require_numbers(states)
    return difference_pairs(states.program)


def difference_pairs(program: Program) -> list[Pair]:
    """Return pairs whose differences are the vertices of all; of each difference one pair.

    Args:
        program: With real inputs.

    Raises:
        UserError: If the adjacency does not suit the inputs.
        LimitReached: If there are too many vertices.
    """
    found: dict[Pair, None] = {}
    for root in pairs_of(_bounded(program)):
        for corners in _vertices(root):
            pair = root.pair(corners)
            if pair[0] != pair[1]:
                found[pair] = None
            if len(found) > MOST_VERTICES:
                raise LimitReached(f"pair limit: more than {MOST_VERTICES} vertices")
    return list(found)


def _bounded(program: Program) -> Program:
    """Bound real inputs that have no bounds, with the same differences, if a radius limits them."""
    adjacency = program.adjacency
    if not isinstance(adjacency, Within) or adjacency.norm is Norm.L0:
        return program
    domain = AllReals((Fraction(0), adjacency.radius))
    inputs = tuple(
        replace(cell, domain=domain)
        if isinstance(cell.domain, AllReals) and cell.domain.bounds is None
        else cell
        for cell in program.inputs
    )
    return replace(program, inputs=inputs)


def _require_numbers(states: FinalStates) -> None:
    """Raise LimitReached unless one of the theorems covers the program."""
    alone = len(states.states) == 1
    state = states.states[0]
    if not alone or state.path is not None or state.conditions or states.choices:
        raise LimitReached(
            "numbers published beside guards or random choices are not covered for real inputs"
            + _otherwise(states)
        )
    families = [states.samples[k].family for form in state.reals for k in form.samples()]
    alone = len(state.reals) == 1 and not any(family.is_discrete for family in families)
    if not alone and not all(family.is_normal for family in families):
        raise LimitReached(
            "for real inputs only numbers with Gaussian noise, or one number, are covered"
            + _otherwise(states)
        )


def _otherwise(states: FinalStates) -> str:
    """Name the question that may have an answer."""
    pure = all(
        sample.family.is_exponential and not sample.family.is_discrete and sample.scale.power == -1
        for sample in states.samples
    )
    return "; for δ = 0 there is 'prove'" if pure and not states.choices else ""


def _vertices(pairs: PairSet) -> Iterator[Sequence[Point]]:
    """Yield points of the polygons for all vertices of the set of differences."""
    if not pairs.is_bound or pairs.budget is None:
        yield from product(*map(_ends, pairs.polygons))
        return
    still = [(polygon[0][0], polygon[0][0]) for polygon in pairs.polygons]
    ends = [[end for end in _ends(polygon) if end[0] != end[1]] for polygon in pairs.polygons]
    for changed in _within(ends, pairs.budget):
        corners = [end or rest for end, rest in zip(changed, still, strict=True)]
        left = pairs.budget - sum(abs(x - y) for x, y in corners)
        if not left or all(end or not own for end, own in zip(changed, ends, strict=True)):
            yield corners
        for place, end in enumerate(changed):
            for x, y in ends[place] if end is None else ():
                if 0 < left < abs(x - y):
                    last = (y + (left if x > y else -left), y)
                    yield [*corners[:place], last, *corners[place + 1 :]]


def _within(
    ends: Sequence[Sequence[Point]], budget: Fraction
) -> Iterator[tuple[Point | None, ...]]:
    """Yield for every input one of its ends or None, such that changes are within a budget."""
    if not ends:
        yield ()
        return
    for end in (None, *ends[0]):
        left = budget if end is None else budget - abs(end[0] - end[1])
        if left >= 0:
            for others in _within(ends[1:], left):
                yield (end, *others)


def _ends(polygon: Polygon) -> tuple[Point, ...]:
    """Return corners with the least and the greatest difference."""

    def difference(corner: Point) -> Fraction:
        return corner[0] - corner[1]

    return tuple(dict.fromkeys((min(polygon, key=difference), max(polygon, key=difference))))
