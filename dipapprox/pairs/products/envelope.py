"""One list of atoms above several pairs: what an adversary can do who may choose among them.

The delta of a pair, from above, is a convex function of x >= 0 that consists of lines

    x -> sum of P_j over the first atoms - x * sum of Q_j over them,    atoms in the order of P : Q.

The largest of several such functions is the upper hull of all their lines; it is convex again, and
the differences of its neighbouring lines are its atoms. They are above every pair (`measures`), so
in a product they stand for any choice. Exact, in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise

from dipapprox.pairs.products.measures import Atoms

_Line = tuple[int, int]
"""P and Q of x -> P - x Q."""


def envelope(choices: Iterable[Atoms]) -> Atoms:
    """Return atoms above all pairs of some choices; they count no outputs.

    Args:
        choices: Atoms above pairs, of one scale, each list in the order of P : Q; at least one.
    """
    lines = {(0, 0)}
    scale = 0
    for choice in choices:
        scale = choice.scale
        first = accumulate(p for p, _, _ in choice.atoms)
        second = accumulate(q for _, q, _ in choice.atoms)
        lines.update(zip(first, second, strict=True))
    hull = _hull(lines)
    differences = [(p - r, q - s, 0) for (p, q), (r, s) in pairwise([*hull, (0, 0)])]
    return Atoms(tuple(each for each in reversed(differences) if each[0]), True, scale)


def _hull(lines: Iterable[_Line]) -> list[_Line]:
    """Return the lines of the upper hull on x >= 0, steepest first: Q and P descend."""
    hull: list[_Line] = []
    for line in sorted(lines, key=lambda each: (-each[1], each[0])):
        p, q = line
        if hull and hull[-1][1] == q:
            hull.pop()  # of parallel lines the last one is the highest
        while hull and hull[-1][0] <= p:
            hull.pop()  # lower at 0, and falling faster
        while len(hull) >= 2 and not _is_needed(hull[-2], hull[-1], line):
            hull.pop()
        hull.append(line)
    return hull


def _is_needed(steep: _Line, middle: _Line, flat: _Line) -> bool:
    """Whether the middle line is above both others somewhere: it takes over before it is left."""
    (p1, q1), (p2, q2), (p3, q3) = steep, middle, flat
    return (p1 - p2) * (q2 - q3) < (p2 - p3) * (q1 - q2)
