"""Order events in, their probabilities as integrals of univariate functions out: elimination.

In: an `OrderEvent`. Out: `Terms`, Σ coefficient * ∫ product of functions, each function a
restricted density or the running integral of such a product. Nothing numerical happens here.

Samples are integrated out one by one. Let r have the density f (times what was passed to it), the
lower neighbours l < r and the upper neighbours h > r in the reduced order. Split by which lower
neighbour is the largest (l*) and which upper one the smallest (h*): every part has the further
edges l < l*, h* < h, l* < h*, and the integral over r is

    G(h*) - G(l*)   with both,      G(h*)   with h* alone,      ∫_{l*}^∞ f   with l* alone,

where G(t) = ∫_{-∞}^t f: sums of products of univariate functions. The parts are disjoint and cover
the event up to probability 0. Equal states are collected: like samples give binomial coefficients.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import assert_never

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.events.event import Star
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.elements import BoundedElement, SumEvent
from dipapprox.numerics.elimination.order_event import BoundedSample, Edge, OrderEvent


@dataclass(frozen=True, slots=True)
class RestrictedDensity:
    """The density of a sample between its constants."""

    sample: BoundedSample


@dataclass(frozen=True, slots=True)
class Running:
    """The integral of a product of functions from the left, or from the right, end to t."""

    factors: Factors
    from_left: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """t -> f(t + offset), f a function by number."""

    number: int
    offset: Fraction


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """t -> upper(t) - lower(t), functions by number, where 0 <= lower <= upper."""

    upper: int
    lower: int


@dataclass(frozen=True, slots=True)
class Convolved:
    """The density of a sum of two independent variables.

    Attributes:
        left: The density of one, a product.
        right: That of the other, or its law.
    """

    left: Factors
    right: Factors | Distribution


@dataclass(frozen=True, slots=True)
class BetweenConstants:
    """A function, by number, between two constants (None: no bound), else 0."""

    number: int
    lower: Fraction | None
    upper: Fraction | None


Function = RestrictedDensity | Running | Moved | FunctionDifference | Convolved | BetweenConstants
"""Orders have the first two only; see `differences` and `sum_event` for the others."""

Factors = tuple[tuple[int, int], ...]
"""A product: (number in a `FunctionTable`, exponent), by ascending number."""

Terms = tuple[tuple[int, Factors], ...]
"""A plan: Σ coefficient * ∫ product."""


def parts(function: Function) -> tuple[int, ...]:
    """The numbers of the functions that a function is made of."""
    match function:
        case RestrictedDensity():
            return ()
        case Running(factors):
            return tuple([number for number, _ in factors])
        case Moved(number) | BetweenConstants(number):
            return (number,)
        case FunctionDifference(upper, lower):
            return upper, lower
        case Convolved():
            return tuple([number for factors in products_in(function) for number, _ in factors])
        case _:
            assert_never(function)


def products_in(function: Function) -> tuple[Factors, ...]:
    """The products that a function integrates."""
    match function:
        case Running(factors):
            return (factors,)
        case Convolved(left, right):
            return (left,) if isinstance(right, Distribution) else (left, right)
        case _:
            return ()


class FunctionTable:
    """The functions of many plans, each once, numbered; a function's factors come before it.

    Attributes:
        functions: By number.
        depths: Of each, one more than the greatest of its factors'.
    """

    __slots__ = ("_laws", "_leaves", "_numbers", "depths", "functions")

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.depths: list[int] = []
        self._numbers: dict[Function, int] = {}
        # Laws hash slowly; like samples mostly share their parts. Kept, so that ids stay theirs.
        self._leaves: Cache[tuple[int, int, int], tuple[BoundedSample, int]] = Cache(_LEAVES)
        self._laws: Cache[tuple[int, bool | None], tuple[Distribution, int]] = Cache(_LEAVES)

    def __len__(self) -> int:
        return len(self.functions)

    def number(self, function: Function) -> int:
        """Return the function's number; a new one is added."""
        number = self._numbers.setdefault(function, len(self.functions))
        if number == len(self.functions):
            self.functions.append(function)
            self.depths.append(1 + max([self.depths[n] for n in parts(function)], default=-1))
        return number

    def leaf(self, sample: BoundedSample) -> int:
        """Return the number of a sample's restricted density."""
        key = id(sample.law), id(sample.lower), id(sample.upper)
        known = self._leaves.get(key)
        if known is None:
            known = self._leaves.put(key, (sample, self.number(RestrictedDensity(sample))))
        return known[1]

    def law(self, law: Distribution, from_left: bool | None) -> int:
        """Return the number of a law's density (None) or of its integral from an end."""
        known = self._laws.get((id(law), from_left))
        if known is None:
            number = self.leaf(BoundedSample(law, None, None))
            if from_left is not None:
                number = self.number(Running(((number, 1),), from_left))
            known = self._laws.put((id(law), from_left), (law, number))
        return known[1]


_LEAVES = 4096


_NO_ONE = -1


@dataclass(frozen=True, slots=True)
class _State:
    """What is left: an order on some samples, and the functions on each of them.

    Attributes:
        factors: (sample, its functions), by sample.
        edges: The reduced order.
    """

    factors: tuple[tuple[int, Factors], ...]
    edges: frozenset[Edge]


def eliminate(event: OrderEvent, limits: Limits, table: FunctionTable) -> Terms | NotEnclosed:
    """Integrate out all samples of a connected order event.

    Args:
        event: At least one sample; connected.
        limits: The time is asked before every step, and how many pieces an event may have.
        table: The functions known so far; new ones are added.

    Returns:
        Terms, collected; none for an event of probability 0. Or why there are too many.

    Raises:
        LimitReached: If the time runs out.
    """
    # A tree of comparisons has no shortcuts to leave out.
    tree = len(event.edges) == len(event.samples) - 1
    edges = event.edges if tree else _reduced(event.edges)
    if edges is None:
        return ()
    start = [((table.leaf(sample), 1),) for sample in event.samples]
    return _integrated(start, edges, limits, table)


def eliminate_sums(
    event: SumEvent, limits: Limits, table: FunctionTable, kept: int | None = None
) -> Terms | NotEnclosed:
    """The same for an event of sums; every element's density is a function.

    Args:
        event: Connected.
        limits: As above.
        table: As above.
        kept: A root, by its place in `event.roots`, that is not integrated out: the products are
            then functions of it, and the terms add up to its density.
    """
    densities: list[Factors] = []
    for element in event.elements:
        limits.check()
        if isinstance(element.source, Distribution):
            leaf = table.leaf(BoundedSample(element.source, element.lower, element.upper))
            factors: Factors = ((leaf, 1),)
        else:
            factors = _density_of_sum(element, element.source, event, densities, table)
        for sides, from_left in ((element.below, True), (element.above, False)):
            for other in sides:
                factors = times(factors, table.number(Running(densities[other], from_left)))
        for other, offset in element.bands:
            factors = times(factors, _band(densities[other], offset, table))
        densities.append(factors)
    edges = _reduced(event.edges)
    if edges is None:
        return ()
    return _integrated([densities[root] for root in event.roots], edges, limits, table, kept)


def _band(density: Factors, offset: Fraction, table: FunctionTable) -> int:
    """The number of t -> ∫ from t to t + offset, in either order.

    As a difference of integrals from the end that is moved towards, which are 0 beyond it.
    """
    whole = table.number(Running(density, from_left=offset < 0))
    return table.number(FunctionDifference(whole, table.number(Moved(whole, offset))))


def _density_of_sum(
    element: BoundedElement,
    parts: Sequence[int],
    event: SumEvent,
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


def _integrated(
    densities: Sequence[Factors],
    edges: frozenset[Edge],
    limits: Limits,
    table: FunctionTable,
    kept: int | None = None,
) -> Terms | NotEnclosed:
    """Integrate out all samples of an order in its transitive reduction; `kept` comes last."""
    start = tuple(enumerate(densities))
    pending: dict[int, dict[_State, int]] = defaultdict(lambda: defaultdict(int))
    pending[len(start)][_State(start, edges)] = 1
    created = 0
    for count in range(len(start), 1, -1):
        for state, coefficient in pending.pop(count, {}).items():
            limits.check()
            for after, sign in _integrate(state, table, kept):
                created += 1
                pending[len(after.factors)][after] += sign * coefficient
            if created > limits.pieces:
                return NotEnclosed(
                    f"its {len(start)} samples and {len(edges)} comparisons split into "
                    f"more than {limits.pieces} pieces"
                )
    return tuple((c, state.factors[0][1]) for state, c in pending[1].items() if c)


def eliminate_star(star: Star, table: FunctionTable) -> Terms:
    """Integrate out the leaves of a star, then its centre: one term."""
    factors = [(table.law(star.centre, None), 1)]
    for leaves, from_left in ((star.below, True), (star.above, False)):
        factors += [(table.law(law, from_left), count) for law, count in leaves]
    return ((1, tuple(sorted(factors))),)


def times(factors: Factors, number: int) -> Factors:
    """Multiply a product by one more function."""
    place = bisect_left(factors, (number, 0))
    if place < len(factors) and factors[place][0] == number:
        grown = (number, factors[place][1] + 1)
        return (*factors[:place], grown, *factors[place + 1 :])
    return (*factors[:place], (number, 1), *factors[place:])


def _integrate(state: _State, table: FunctionTable, kept: int | None) -> list[tuple[_State, int]]:
    """Integrate out all leaves but `kept`; if there is none, the cheapest sample."""
    below: dict[int, set[int]] = {v: set() for v, _ in state.factors}
    above: dict[int, set[int]] = {v: set() for v, _ in state.factors}
    for low, high in state.edges:
        below[high].add(low)
        above[low].add(high)
    factors = dict(state.factors)
    leaves = [v for v in factors if len(below[v]) + len(above[v]) == 1 and v != kept]
    if leaves:
        return [(_strip(factors, below, above, leaves, table, kept), 1)]
    others = (v for v in factors if v != kept)
    vertex = min(others, key=lambda v: (_parts(below[v], above[v]), v))
    return _split(factors, state.edges, vertex, below[vertex], above[vertex], table)


def _strip(
    factors: dict[int, Factors],
    below: dict[int, set[int]],
    above: dict[int, set[int]],
    ends: list[int],
    table: FunctionTable,
    kept: int | None,
) -> _State:
    """Integrate out leaves until none but `kept` is left, or one sample only; in linear time."""
    gained = dict(factors)
    leaves = deque(ends)
    while leaves:
        leaf = leaves.popleft()
        if len(below[leaf]) + len(above[leaf]) != 1:
            continue  # the last sample
        to_left = bool(above[leaf])
        (other,) = above[leaf] or below[leaf]
        gained[other] = times(gained[other], table.number(Running(gained.pop(leaf), to_left)))
        (below if to_left else above)[other].discard(leaf)
        del below[leaf], above[leaf]
        if len(below[other]) + len(above[other]) == 1 and other != kept:
            leaves.append(other)
    edges = frozenset((low, high) for high, lows in below.items() for low in lows)
    return _State(tuple(sorted(gained.items())), edges)


def _parts(below: set[int], above: set[int]) -> int:
    """How many states integrating a sample out makes, and (times 1000) how many edges."""
    lows, highs = max(len(below), 1), max(len(above), 1)
    return lows * highs * (2 if below and above else 1) * 1000 + len(below) + len(above)


def _split(
    factors: dict[int, Factors],
    edges: Iterable[Edge],
    vertex: int,
    below: set[int],
    above: set[int],
    table: FunctionTable,
) -> list[tuple[_State, int]]:
    """Split by the largest lower and the smallest upper neighbour of `vertex`."""
    rest = {edge for edge in edges if vertex not in edge}
    own = factors[vertex]
    parts: list[tuple[_State, int]] = []
    for top, bottom in product(sorted(below) or [_NO_ONE], sorted(above) or [_NO_ONE]):
        order = rest | {(low, top) for low in below if low != top}
        order |= {(bottom, high) for high in above if high != bottom}
        targets = [(top, False, 1)] if bottom == _NO_ONE else [(bottom, True, 1)]
        if below and above:
            order.add((top, bottom))
            targets.append((top, True, -1))
        reduced = _reduced(frozenset(order))
        if reduced is None:
            continue
        for target, from_left, sign in targets:
            left = {v: f for v, f in factors.items() if v != vertex}
            left[target] = times(left[target], table.number(Running(own, from_left)))
            parts.append((_State(tuple(sorted(left.items())), reduced), sign))
    return parts


def _reduced(edges: frozenset[Edge]) -> frozenset[Edge] | None:
    """The transitive reduction of an order; None if the edges have a cycle."""
    above: dict[int, set[int]] = defaultdict(set)
    for low, high in edges:
        above[low].add(high)
    reach: dict[int, set[int]] = {}
    active: set[int] = set()
    for start in list(above):
        stack = [start]
        while stack:
            vertex = stack[-1]
            if vertex in reach:
                stack.pop()
                continue
            if vertex not in active:
                active.add(vertex)
                for high in above.get(vertex, ()):
                    if high in active and high not in reach:
                        return None
                    if high not in reach:
                        stack.append(high)
                continue
            reach[vertex] = set(above.get(vertex, ())).union(
                *(reach[high] for high in above.get(vertex, ()))
            )
            stack.pop()
    return frozenset(
        (low, high)
        for low, highs in above.items()
        for high in highs
        if not any(high in reach[other] for other in highs if other != high)
    )
