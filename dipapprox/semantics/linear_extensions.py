"""The share of all total orders that agree with a partial order, exactly.

For n points in general position this is e / n!, e the number of linear extensions: the probability
of the order for independent uniform points. Hook-length formula for forests (Knuth, TAOCP 3,
5.1.4, exercise 20), integration of polynomials for orders whose diagram is a tree, dynamic
programming over down-sets for small ones; None for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import prod

from dipapprox.semantics.order import Order, bits

_LARGEST_TREE = 40  # points; the polynomials have this degree
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
    size = component.bit_count()
    if sum(covers[p].bit_count() for p in inner) == size - 1 and size <= _LARGEST_TREE:
        return _tree_share(covers, component)
    return _counted_share(order, component)


def _tree_share(covers: dict[int, int], component: int) -> Fraction:
    """The share of an order whose diagram is a tree; the same shapes come again and again."""
    larger = dict.fromkeys(bits(component), 0)
    for point in larger:
        for other in bits(covers.get(point, 0)):
            larger[other] += 1
    # Equal shapes mostly get equal numbers; where they do not, only time is lost.
    ranked = sorted(larger, key=lambda p: (covers.get(p, 0).bit_count(), larger[p], p))
    number = {point: k for k, point in enumerate(ranked)}
    return _tree_integral(
        tuple(sum(1 << number[other] for other in bits(covers.get(point, 0))) for point in ranked)
    )


@lru_cache(maxsize=4096)
def _tree_integral(below: tuple[int, ...]) -> Fraction:
    """Integrate out the leaves of a tree diagram over the unit cube.

    A point's polynomial is the measure of its subtree given its own position x. Passing it to a
    larger neighbour integrates from 0 to x, to a smaller one from x to 1.

    Args:
        below: For each point the mask of its lower covers.
    """
    smaller = dict(enumerate(below))
    larger = dict.fromkeys(smaller, 0)
    for point, mask in smaller.items():
        for other in bits(mask):
            larger[other] |= 1 << point
    polynomials = {p: [Fraction(1)] for p in smaller}
    leaves = [p for p in smaller if (smaller[p] | larger[p]).bit_count() == 1]
    last = leaves[0]
    while leaves:
        leaf = leaves.pop()
        (other,) = bits(smaller[leaf] | larger[leaf])
        integral = _integral(polynomials[leaf])
        if larger[leaf]:
            message = integral
            smaller[other] &= ~(1 << leaf)
        else:
            message = [-c for c in integral]
            message[0] += sum(integral)
            larger[other] &= ~(1 << leaf)
        smaller[leaf] = larger[leaf] = 0
        polynomials[other] = _product(polynomials[other], message)
        last = other
        if (smaller[other] | larger[other]).bit_count() == 1:
            leaves.append(other)
        elif not smaller[other] | larger[other]:
            break
    return sum(_integral(polynomials[last]), Fraction(0))


def _integral(polynomial: list[Fraction]) -> list[Fraction]:
    return [Fraction(0), *(c / (k + 1) for k, c in enumerate(polynomial))]


def _product(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            result[i + j] += a * b
    return result


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
