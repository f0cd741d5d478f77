"""Order events in, their probabilities as integrals of univariate functions out: elimination.

In: an `Order`, x_i <= x_j + w. Out: `Terms`, Σ coefficient * ∫ product of functions, each
function a restricted density or the running integral of such a product, maybe at a shifted place.
Nothing numerical happens here.

Orders. In: an `Event`, any linear guards. Out: an `OrderEvent`, if an affine change of the samples
makes one (`reduce.coordinates`). On a tree that always works; every further guard must fit. Where
only its constant does not, as with x - 1 <= y <= x + 3, comparisons with offsets are left. Elements
of an order are samples, bounded; or, as `sum_event` makes them, sums of others, compared with
others that are in no other comparison.

Elimination. Samples are integrated out one by one. Let r have the density f (times what was passed
to it), and the bounds l + a <= r for some l, r <= h + b for some h. Split by which bound is the
greatest below (l*, a*) and which the least above (h*, b*): every part has the further bounds

    l + a <= l* + a*,    h* + b* <= h + b,    l* + a* <= h* + b*,

and with G(t) = ∫_{-∞}^t f the integral over r is

    G(h* + b*) - G(l* + a*),    G(h* + b*) with h* alone,    ∫_{l* + a*}^∞ f with l* alone:

sums of products of univariate functions. If l* is h*, the difference is one function of it, a band:
a sample whose only neighbour bounds it on both sides is a leaf still, and trees of bands split into
no parts. The parts are disjoint and cover the event up to probability 0. Bounds that shortest paths
imply are dropped; a cycle of total <= 0 has probability 0. Equal states are collected: like samples
give binomial coefficients.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import EVERYWHERE, Event, Interval, Star, common
from dipapprox.events.reduce import SAME, Change, coordinates, is_plain
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.limits import check_limits, current
from dipapprox.linear import zones
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.plan import (
    BetweenConstants,
    Convolved,
    Factors,
    FunctionDifference,
    FunctionTable,
    Moved,
    RestrictedDensity,
    Running,
    Terms,
    times,
)

Edge = tuple[int, int]  # (i, j): x[i] is bounded by x[j]


class BoundedElement(Record):
    """A random variable between two constants (None: none), and what it is compared with."""

    source: Distribution | tuple[int, ...]  # its law, or the elements whose sum it is
    lower: Fraction | None  # least value
    upper: Fraction | None  # greatest value
    below: tuple[int, ...] = ()  # elements that are at most it, in no other comparison
    above: tuple[int, ...] = ()  # elements that are at least it, likewise
    # (element, offset) for elements between it and it + offset, likewise
    bands: tuple[tuple[int, Fraction], ...] = ()

    @property
    def law(self) -> Distribution | None:
        """The law of a sample that is bounded and compared nowhere."""
        if self.below or self.above or self.bands or not (self.lower is self.upper is None):
            return None
        return self.source if isinstance(self.source, Distribution) else None


Bound = tuple[int, int, Fraction]  # (i, j, w): x[i] <= x[j] + w


class OrderEvent(Record):
    """Elements within their bounds and comparisons, and comparisons x_i <= x_j + w of roots."""

    # all independent but for sums; each after those that it is made of
    elements: tuple[BoundedElement, ...]
    roots: tuple[int, ...]  # elements that are part of no other
    # (i, j, w) for the roots i and j; a pair may have two, one in each direction
    bounds: frozenset[Bound]
    # the probability differs from the event's by at most this: deviations are rounded
    error: Fraction = Fraction(0)

    @property
    def has_offsets(self) -> bool:
        """Whether it is more than an order: some w is not 0."""
        return any(w for _, _, w in self.bounds)

    def order_of(self, parts: Sequence[int]) -> list[int]:
        """Return the parts of a sum in the order in which they are added up.

        What is smooth and known everywhere comes last.
        """

        def ease(part: int) -> int:
            law = self.elements[part].law
            return 0 if law is None else 2 if law.family.is_normal else 1

        return sorted(parts, key=lambda part: (ease(part), part))

    def partial_sums(self) -> list[tuple[Distribution, ...]]:
        """The laws of the samples in each sum on the way to each sum, sorted.

        Every one of them is a function on the grid: what it has beyond is lost.
        """
        sources = {e.source for e in self.elements if isinstance(e.source, Distribution)}
        ranked = sorted(sources, key=law_order)
        # By rank: laws take long to compare.
        rank = {law: k for k, law in enumerate(ranked)}
        ranks: list[list[int]] = []
        found: list[tuple[Distribution, ...]] = []
        for element in self.elements:
            if isinstance(element.source, Distribution):
                ranks.append([rank[element.source]])
                continue
            first, *others = self.order_of(element.source)
            reached = ranks[first]
            for part in others:
                reached = sorted([*reached, *ranks[part]])
                found.append(tuple([ranked[k] for k in reached]))
            ranks.append(reached)
        return found


def order_event(event: Event) -> OrderEvent | NotEnclosed:
    """Turn an event into comparisons, with offsets only if no shifts make them plain."""
    for guard in event.guards:
        if len(guard.terms) > 2:
            return NotEnclosed(f"a guard compares {len(guard.terms)} samples at once")
    size = len(event.samples)
    change = [SAME] * size if all(map(is_plain, event.guards)) else coordinates(size, event.guards)
    ranges: list[Interval] = [EVERYWHERE] * size
    bounds: dict[Edge, Fraction] = {}
    for guard in event.guards:
        if len(guard.terms) == 2:
            found = compared(guard, change)
            if found is None:
                return NotEnclosed("guards round a cycle of samples compare different multiples")
            edge, offset = found
            bounds[edge] = min(bounds.get(edge, offset), offset)
            continue
        ((i, a),) = [(int(s), c) for s, c in guard.terms]
        slope, shift = change[i]
        bound = -(guard.constant + a * shift) / (a * slope)
        ranges[i] = common(ranges[i], (None, bound) if a * slope > 0 else (bound, None))
    laws = [
        law if each is SAME else law.affine(1 / each[0], -each[1] / each[0])  # of (x - q) / p
        for law, each in zip(event.samples, change, strict=True)
    ]
    samples = [BoundedElement(law, *ends) for law, ends in zip(laws, ranges, strict=True)]
    offsets = frozenset((i, j, w) for (i, j), w in bounds.items())
    return OrderEvent(tuple(samples), tuple(range(size)), offsets)


_NOTHING = Fraction(0)


def compared(guard: LinearForm, change: Sequence[Change]) -> tuple[Edge, Fraction] | None:
    """Read a guard about two samples as z_i <= z_j + w; None if it compares multiples."""
    (i, a), (j, b) = [(int(s), c) for s, c in guard.terms]
    if change[i] is SAME and change[j] is SAME and is_plain(guard):
        return ((i, j) if a > 0 else (j, i)), _NOTHING
    (p, q), (r, s) = change[i], change[j]
    if a * p + b * r:
        return None
    offset = -(guard.constant + a * q + b * s) / (a * p)
    return ((i, j), offset) if a * p > 0 else ((j, i), -offset)


Order = OrderEvent | Star


class _State(Record):
    """What is left: some samples with the functions on each of them, and bounds."""

    factors: tuple[tuple[int, Factors], ...]  # (sample, its functions), by sample
    bounds: frozenset[tuple[Edge, int]]  # ((i, j), w): x_i <= x_j + w units; tight


def eliminate(event: Order, table: FunctionTable, kept: int | None = None) -> Terms | NotEnclosed:
    """Integrate out all samples of a connected event; new functions are added to the table.

    Args:
        kept: A root, by its place in `event.roots`, that is not integrated out: the products are
            then functions of it, and the terms add up to its density.

    Returns:
        Terms, collected; none for an event of probability 0. Or why there are too many.
    """
    if isinstance(event, Star):  # its leaves, then its centre: one term
        numbers = [(table.leaf(event.centre), 1)]
        for leaves, from_left in ((event.below, True), (event.above, False)):
            numbers += [(table.law(law, from_left), count) for law, count in leaves]
        return ((1, tuple(sorted(numbers))),)
    densities: list[Factors] = []
    for element in event.elements:
        if isinstance(element.source, Distribution):
            factors: Factors = ((table.leaf(element.source, element.lower, element.upper), 1),)
        else:
            check_limits()
            factors = _density_of_sum(element, element.source, event, densities, table)
        for sides, from_left in ((element.below, True), (element.above, False)):
            for other in sides:
                factors = times(factors, table.number(Running(densities[other], from_left)))
        for other, offset in element.bands:
            # ∫ from t to t + offset, in either order, as a difference of integrals from the end
            # that is moved towards, which are 0 beyond it.
            whole = table.number(Running(densities[other], from_left=offset < 0))
            moved = table.number(Moved(whole, offset))
            factors = times(factors, table.number(FunctionDifference(whole, moved)))
        densities.append(factors)
    roots = [densities[root] for root in event.roots]
    unit = lcm(*{w.denominator for _, _, w in event.bounds})
    bounds = {(i, j): w.numerator * (unit // w.denominator) for i, j, w in event.bounds}
    # A tree of comparisons has nothing to leave out.
    tied = bounds if len(bounds) == len(roots) - 1 else zones.tight(bounds)
    if tied is None:
        return ()
    elimination = _Elimination(table, unit, kept)
    start = _State(tuple(enumerate(roots)), frozenset(tied.items()))
    pending: dict[int, dict[_State, int]] = defaultdict(lambda: defaultdict(int))
    pending[len(roots)][start] = 1
    created = 0
    for count in range(len(roots), 1, -1):
        for state, coefficient in pending.pop(count, {}).items():
            check_limits()
            for after, sign in elimination.step(state):
                created += 1
                pending[len(after.factors)][after] += sign * coefficient
            if created > current().pieces:
                return NotEnclosed(
                    f"its {len(roots)} samples and {len(tied)} comparisons split into "
                    f"more than {current().pieces} pieces"
                )
    return tuple((c, state.factors[0][1]) for state, c in pending[1].items() if c)


def _density_of_sum(
    element: BoundedElement,
    parts: Sequence[int],
    event: OrderEvent,
    densities: Sequence[Factors],
    table: FunctionTable,
) -> Factors:
    """Convolve the densities of some parts, those of samples without bounds last."""
    order = event.order_of(parts)
    factors = densities[order[0]]
    for part in order[1:]:
        law = event.elements[part].law
        right = densities[part] if law is None else law
        number = table.number(Convolved(factors, right))
        if part == order[-1] and not (element.lower is element.upper is None):
            number = table.number(BetweenConstants(number, element.lower, element.upper))
        factors = ((number, 1),)
    return factors


_Sides = dict[int, dict[int, int]]
"""For every sample those that bound it: with `below` l + a <= r, with `above` r <= h + b."""


class _Elimination(Record):
    """Integrates out one sample after the other."""

    table: FunctionTable
    unit: int  # offsets are multiples of 1 / unit
    kept: int | None  # a sample that comes last; None: none

    def step(self, state: _State) -> Iterator[tuple[_State, int]]:
        """Integrate out all leaves but `kept`; if there is none, the cheapest sample."""
        factors = dict(state.factors)
        below: _Sides = {v: {} for v in factors}
        above: _Sides = {v: {} for v in factors}
        for (i, j), w in state.bounds:
            below[j][i] = -w
            above[i][j] = w
        leaves = deque(v for v in factors if v != self.kept and _is_leaf(below[v], above[v]))
        if leaves:
            yield self._stripped(factors, below, above, leaves), 1
            return
        # Of equals that with the fewest functions: then what is moved is mostly a law.
        vertex = min(
            (v for v in factors if v != self.kept),
            key=lambda v: (*_parts(below[v], above[v]), len(factors[v]), v),
        )
        own = factors.pop(vertex)
        rest = {pair: w for pair, w in state.bounds if vertex not in pair}
        yield from self._split(factors, rest, own, below[vertex], above[vertex])

    def _stripped(
        self, factors: dict[int, Factors], below: _Sides, above: _Sides, leaves: deque[int]
    ) -> _State:
        """Integrate out leaves until none but `kept` is left, or one sample; in linear time."""
        while leaves:
            leaf = leaves.popleft()
            low, high = below[leaf], above[leaf]
            if not _is_leaf(low, high):
                continue  # the last sample
            (other,) = low or high
            ends = [(other, side[other]) if side else None for side in (low, high)]
            ((_, number, _),) = self._messages(factors.pop(leaf), *ends)
            factors[other] = times(factors[other], number)
            del below[leaf], above[leaf]
            below[other].pop(leaf, None)
            above[other].pop(leaf, None)
            if _is_leaf(below[other], above[other]) and other != self.kept:
                leaves.append(other)
        bounds = (((i, j), w) for i, highs in above.items() for j, w in highs.items())
        return _State(tuple(sorted(factors.items())), frozenset(bounds))

    def _split(
        self,
        factors: Mapping[int, Factors],
        rest: Mapping[Edge, int],
        own: Factors,
        lows: Mapping[int, int],
        highs: Mapping[int, int],
    ) -> Iterator[tuple[_State, int]]:
        """Split by the greatest lower and the least upper bound of a sample."""
        tops: list[_Bound] = [*sorted(lows.items())] or [None]
        bottoms: list[_Bound] = [*sorted(highs.items())] or [None]
        for low, high in product(tops, bottoms):
            bounds = dict(rest)
            more = [((other, low[0]), low[1] - a) for other, a in lows.items() if low]
            more += [((high[0], other), b - high[1]) for other, b in highs.items() if high]
            if low and high:
                more.append(((low[0], high[0]), high[1] - low[1]))
            for (i, j), w in more:
                if i != j:
                    bounds[i, j] = min(bounds.get((i, j), w), w)
            # What is left of tight bounds is tight.
            reduced = bounds if bounds == rest else zones.tight(bounds)
            if reduced is None:
                continue
            kept = frozenset(reduced.items())
            for target, number, sign in self._messages(own, low, high):
                left = {**factors, target: times(factors[target], number)}
                yield _State(tuple(sorted(left.items())), kept), sign

    def _messages(self, own: Factors, low: _Bound, high: _Bound) -> Iterator[tuple[int, int, int]]:
        """Yield (neighbour, number of the function passed to it, sign)."""
        number = self.table.number
        if high is None:
            assert low is not None
            yield low[0], self._moved(number(Running(own, from_left=False)), low[1]), 1
            return
        running = number(Running(own, from_left=True))
        upper = self._moved(running, high[1])
        if low and low[0] == high[0]:
            lower = self._moved(running, low[1])
            yield high[0], number(FunctionDifference(upper, lower)), 1
            return
        yield high[0], upper, 1
        if low:
            yield low[0], self._moved(running, low[1]), -1

    def _moved(self, function: int, offset: int) -> int:
        """t -> f(t + offset); for a sample by itself it is that of the shifted sample."""
        if not offset:
            return function
        by, table = Fraction(offset, self.unit), self.table
        integral = table.functions[function]
        if isinstance(integral, Running) and len(integral.factors) == 1:
            ((leaf, exponent),) = integral.factors
            density = table.functions[leaf]
            if isinstance(density, RestrictedDensity) and exponent == 1:
                own = table.number(density.shifted(-by))
                return table.number(replace(integral, factors=((own, 1),)))
        return table.number(Moved(function, by))


_Bound = tuple[int, int] | None  # (sample, offset)


def _is_leaf(lows: Mapping[int, int], highs: Mapping[int, int]) -> bool:
    """Whether a sample has one neighbour."""
    count = len(lows) + len(highs)
    return count == 1 or (count == 2 and lows.keys() == highs.keys())


def _parts(lows: Mapping[int, int], highs: Mapping[int, int]) -> tuple[int, int]:
    """How many states integrating a sample out makes, and how many bounds it has."""
    states = sum(1 if low == high else 2 for low in lows for high in highs)
    return states or len(lows) + len(highs), len(lows) + len(highs)
