"""Weights of tree-shaped integer systems: one function of one integer after the other.

If the graph of the comparisons z_i - z_j <= b and z_i + z_j <= b is a forest, summing a leaf out
leaves a function of its neighbour, piecewise Σ c k^m Y^{ek} with cuts at integers. Every sample is
summed once, however many there are; the cost grows with the number of different cuts.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.integers.lattice_ratios import ONE, ZERO, LatticeRatio
from dipapprox.exact.integers.sums import (
    Function,
    IntegerForm,
    added,
    antidifference,
    exponential,
    multiplied,
    negated,
    one,
    substituted,
)
from dipapprox.exact.integers.systems import IntegerSystem
from dipapprox.graphs import leaves_first
from dipapprox.limits import Limits

_CONSTANT = ((0,), (0,))  # the monomial 1 of one variable


@dataclass(frozen=True, slots=True)
class RangePiece:
    """A function on the integers low <= k <= high; None: no bound. Not empty."""

    low: int | None
    high: int | None
    function: Function


Piecewise = tuple[RangePiece, ...]
"""Disjoint pieces, ascending; 0 elsewhere."""


@dataclass(frozen=True, slots=True)
class _Link:
    """z_child - slope * z_parent lies between low and high (None: no bound); slope is 1 or -1."""

    slope: int
    low: int | None
    high: int | None


def tree_weight(system: IntegerSystem, limits: Limits) -> LatticeRatio | None:
    """Sum Π Y^{rates[i] |z_i - means[i]|} over the solutions; None if the system is no forest.

    Raises:
        LimitReached: If the limits run out.
        SumTooLong: If the sum has too many terms.
    """
    size = len(system.rates)
    links: dict[tuple[int, int], _Link] = {}
    ranges: list[tuple[int | None, int | None]] = [(None, None)] * size
    for inequality in system.inequalities:
        match inequality.terms:
            case ((i, a),):
                low, high = ranges[i]
                ranges[i] = _met((low, high), a, inequality.bound)
            case ((i, a), (j, b)) if abs(a) == abs(b) == 1:
                # a x + b y <= k is x <= -ab y + k or x >= -ab y - k
                link = links.get((i, j), _Link(-a * b, None, None))
                if link.slope != -a * b:
                    return None
                links[i, j] = _Link(link.slope, *_met((link.low, link.high), a, inequality.bound))
            case _:
                return None
    return _forest_weight(system, links, ranges, limits)


def _met(
    bounds: tuple[int | None, int | None], sign: int, bound: int
) -> tuple[int | None, int | None]:
    """Add sign * x <= bound, sign 1 or -1, to low <= x <= high."""
    low, high = bounds
    if sign > 0:
        return low, bound if high is None else min(high, bound)
    return -bound if low is None else max(low, -bound), high


def _forest_weight(
    system: IntegerSystem,
    links: dict[tuple[int, int], _Link],
    ranges: Sequence[tuple[int | None, int | None]],
    limits: Limits,
) -> LatticeRatio | None:
    size = len(system.rates)
    neighbours: list[dict[int, _Link]] = [{} for _ in range(size)]
    for (i, j), link in links.items():
        neighbours[j][i] = link  # x_i in terms of x_j
        neighbours[i][j] = _reversed(link)
    order = leaves_first(neighbours)
    if len(order) < size:
        return None
    functions = [
        _restricted(_weight(rate, mean), *bounds)
        for rate, mean, bounds in zip(system.rates, system.means, ranges, strict=True)
    ]
    total = ONE
    for vertex, parent in order:
        limits.check()
        below = cumulative(functions[vertex])
        if parent is None:
            total = total * _value_at_infinity(below)
        else:
            message = _message(below, neighbours[parent][vertex])
            functions[parent] = _times(functions[parent], message)
    return total


def _reversed(link: _Link) -> _Link:
    """Solve for the parent: x = s y + d means y = s x - s d."""
    if link.slope < 0:
        return link
    return _Link(
        1,
        None if link.high is None else -link.high,
        None if link.low is None else -link.low,
    )


def _weight(rate: int, mean: int) -> Piecewise:
    """Y^{rate |k - mean|}."""
    return (
        RangePiece(None, mean - 1, exponential(1, 0, -rate, rate * mean)),
        RangePiece(mean, None, exponential(1, 0, rate, -rate * mean)),
    )


def _restricted(function: Piecewise, low: int | None, high: int | None) -> Piecewise:
    if low is not None and high is not None and low > high:
        return ()
    return _times(function, (RangePiece(low, high, one(1)),))


def _message(below: Piecewise, link: _Link) -> Piecewise:
    """Sum over the child, as a function of the parent y: Σ of s y + low <= x <= s y + high."""
    if link.low is not None and link.high is not None and link.low > link.high:
        return ()
    if link.high is None:
        upper: Piecewise = (RangePiece(None, None, {_CONSTANT: _value_at_infinity(below)}),)
    else:
        upper = _moved(below, link.slope, link.high)
    if link.low is None:
        return upper
    lower = _moved(below, link.slope, link.low - 1)
    return _plus(upper, tuple(RangePiece(p.low, p.high, negated(p.function)) for p in lower))


def cumulative(function: Piecewise) -> Piecewise:
    """k -> Σ of function(x) over x <= k; the last piece has no upper bound."""
    pieces: list[RangePiece] = []
    total: Function = {}
    end: int | None = None
    for piece in function:
        if end is not None and piece.low is not None and end + 1 < piece.low:
            pieces.append(RangePiece(end + 1, piece.low - 1, total))
        sums = antidifference(piece.function, 0)
        if piece.low is not None:
            total = added((total, negated(_at(sums, piece.low - 1))))
        elif not all(rate < 0 for _, (rate,) in piece.function):
            raise BrokenInvariant("a sum over integers does not converge")
        pieces.append(RangePiece(piece.low, piece.high, added((total, sums))))
        end = piece.high
        if end is not None:
            total = added((total, _at(sums, end)))
    if pieces and end is not None:
        pieces.append(RangePiece(end + 1, None, total))
    return tuple(pieces)


def _at(function: Function, place: int) -> Function:
    return substituted(function, 0, IntegerForm((0,), place))


def _value_at_infinity(below: Piecewise) -> LatticeRatio:
    """The limit of a cumulative sum: what is left when all decaying terms are gone."""
    if not below:
        return ZERO
    function = below[-1].function
    if not all(rate > 0 or (powers, (rate,)) == _CONSTANT for powers, (rate,) in function):
        raise BrokenInvariant("a sum over integers does not converge")
    return function.get(_CONSTANT, ZERO)


def _moved(function: Piecewise, slope: int, shift: int) -> Piecewise:
    """y -> function(slope * y + shift), slope 1 or -1."""
    form = IntegerForm((slope,), shift)
    moved = []
    for piece in function:
        ends = [None if end is None else slope * (end - shift) for end in (piece.low, piece.high)]
        low, high = ends[::slope]
        moved.append(RangePiece(low, high, substituted(piece.function, 0, form)))
    return tuple(moved[::slope])


def _times(left: Piecewise, right: Piecewise) -> Piecewise:
    """The product: 0 where a factor has no piece."""
    pieces = [
        RangePiece(low, high, multiplied(found[0], found[1]))
        for low, high, found in _overlaid(left, right)
        if len(found) == 2
    ]
    return tuple(piece for piece in pieces if piece.function)


def _plus(left: Piecewise, right: Piecewise) -> Piecewise:
    pieces = [RangePiece(low, high, added(found)) for low, high, found in _overlaid(left, right)]
    return tuple(piece for piece in pieces if piece.function)


def _overlaid(
    left: Piecewise, right: Piecewise
) -> list[tuple[int | None, int | None, list[Function]]]:
    """Cut the integers where either function is cut; list the intervals with what they have."""
    starts = {piece.low for piece in (*left, *right) if piece.low is not None}
    starts |= {piece.high + 1 for piece in (*left, *right) if piece.high is not None}
    cuts = sorted(starts)
    lows: list[int | None] = [None, *cuts]
    highs: list[int | None] = [*(cut - 1 for cut in cuts), None]
    found = []
    for low, high in zip(lows, highs, strict=True):
        functions = [p.function for p in (*left, *right) if _covers(p, low, high)]
        if functions:
            found.append((low, high, functions))
    return found


def _covers(piece: RangePiece, low: int | None, high: int | None) -> bool:
    """Whether a piece contains an interval of which no cut is inside."""
    above = piece.low is None or (low is not None and piece.low <= low)
    below = piece.high is None or (high is not None and high <= piece.high)
    return above and below
