"""The share of all total orders that agree with a partial order, exactly.

For n points in general position this is e / n!, e the number of linear extensions: the probability
of the order for independent uniform points. Hook-length formula for forests (Knuth, TAOCP 3,
5.1.4, exercise 20), dynamic programming over down-sets for small orders; None for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import prod

from dipapprox.semantics.order import Order, bits

_MOST_DOWN_SETS = 2000


def extension_share(order: Order) -> Fraction | None:
    """Return e(order) / n!, or None where it is not computed."""
    hooks = nested_hooks(order)
    if hooks is not None:
        return Fraction(1, hooks)
    covers = order.covers()
    total = Fraction(1)
    for component in _components(covers):
        share = _component_share(order, covers, component)
        if share is None:
            return None
        total *= share
    return total


_FEW_MASKS = 4


def nested_hooks(order: Order) -> int | None:
    """Return n! / e if few points have smaller ones, in pairwise nested or disjoint sets.

    Then no point has two upper covers: if z is below p and q, one of these is below the other. So
    the hook-length formula holds, and the covers need not be found.
    """
    below = order.below
    if len(below) > _FEW_MASKS:
        return None
    for (point, mask), (other, others) in combinations(below.items(), 2):
        if not (mask >> other & 1 or others >> point & 1 or not (mask & others)):
            return None
    return prod([mask.bit_count() + 1 for mask in below.values()])


def _are_disjoint(masks: Iterable[int]) -> bool:
    seen = 0
    for mask in masks:
        if seen & mask:
            return False
        seen |= mask
    return True


def _components(covers: dict[int, int]) -> list[int]:
    """The masks of the connected parts of the diagram."""
    parts: list[int] = []
    for point, mask in covers.items():
        whole = mask | 1 << point
        apart = []
        for part in parts:
            if part & whole:
                whole |= part
            else:
                apart.append(part)
        parts = [*apart, whole]
    return parts


def _component_share(order: Order, covers: dict[int, int], component: int) -> Fraction | None:
    inner = [p for p in covers if component >> p & 1]
    if _are_disjoint(covers[p] for p in inner):
        # No point has two upper covers: Π 1 / |points up to and including p|.
        return Fraction(1, prod(order.below[p].bit_count() + 1 for p in inner))
    if all(covers[p].bit_count() == 1 for p in inner):
        # No point has two lower covers: the hook-length formula upside down. Points with more
        # smaller ones come first, so that a point's own count is complete when it is passed on.
        above: dict[int, int] = defaultdict(lambda: 1)
        for point in sorted(inner, key=lambda p: -order.below[p].bit_count()):
            above[covers[point].bit_length() - 1] += above[point]
        return Fraction(1, prod(above.values()))
    return _counted_share(order, component)


def _counted_share(order: Order, component: int) -> Fraction | None:
    """Count the ways to list the points of a component from below; None if there are too many."""
    points = [(1 << p, order.below.get(p, 0)) for p in bits(component)]
    layer = {0: 1}
    visited = 0
    for _ in points:
        following: dict[int, int] = {}
        for listed, ways in layer.items():
            for bit, needed in points:
                if not listed & bit and needed & ~listed == 0:
                    following[listed | bit] = following.get(listed | bit, 0) + ways
        visited += len(following)
        if visited > _MOST_DOWN_SETS:
            return None
        layer = following
    factorial = prod(range(1, len(points) + 1))
    return Fraction(layer[component], factorial)
